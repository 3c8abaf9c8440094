//! Sites: shared, listed, taken away.

use frith_actors::api::site::{SiteChange, Sites};
use frith_store::model::Site;

use super::paper::{Paper, by};
use crate::shell::quoted;

/// A site that was shared, changed or taken away.
pub fn site_is(reply: &SiteChange, is_there: bool, paper: &mut Paper) {
    let (url, place) = (&reply.site.url, &reply.place.name);
    if paper.look.quiet {
        return paper.line(url);
    }
    paper.line(match (is_there, reply.was_there, reply.unchanged) {
        (false, ..) => format!("{url} is shared no more in {place}"),
        (true, false, _) => format!("{url} is shared in {place}"),
        (true, true, false) => format!("{url} is shared in {place}, with another note"),
        (true, true, true) => format!("{url} is shared in {place} already"),
    });
}

/// The sites of a workspace.
pub fn sites(reply: &Sites, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.sites.iter().for_each(|site| paper.line(&site.url));
    }
    if reply.sites.is_empty() {
        let place = quoted(&reply.place.name);
        return paper.line(format!("no sites in {}; share one: frith site add -w {place} <url>", reply.place.name));
    }
    let rows: Vec<_> = reply.sites.iter().map(|site| row(site, paper)).collect();
    paper.table(["URL", "NOTE", "BY", "CHANGED"], rows);
}

fn row(site: &Site, paper: &Paper) -> [String; 4] {
    [site.url.clone(), site.note.clone(), by(&site.by), paper.ago(site.at)]
}
