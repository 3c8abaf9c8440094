//! Sites: shared, listed, taken away. They are kept under the workspace; a fork's are its parent's.

use frith_store::{
    error::Failure,
    model::Site,
    refusal::{Refusal, What},
    rules::site::{can_note_site, can_share},
    tx::Tx,
    view::View,
};

use super::{
    memory::{keeper, writable_keeper},
    task::name,
};
use crate::{
    api::site::{self, SiteChange, Sites},
    caller::Caller,
};

/// Shares a site; one that is there gets the new note.
///
/// # Errors
/// The address or the note is none, or the place takes no writes.
pub fn add(tx: &mut Tx<'_>, caller: &Caller, request: &site::Add) -> Result<SiteChange, Failure> {
    let url = can_share(&request.url)?;
    let note = request.note.as_deref().map(can_note_site).transpose()?;
    let place = writable_keeper(tx, caller, request.workspace.as_ref())?;
    let before = find(tx, place.id, url.as_str())?;
    let note = note.unwrap_or_else(|| before.as_ref().map(|site| site.note.clone()).unwrap_or_default());
    let unchanged = before.as_ref().is_some_and(|site| site.note == note);
    if !unchanged {
        tx.set_site(place.id, url.as_str(), Some(&note), &caller.by())?;
    }
    let site = require(tx, place.id, url.as_str())?;
    Ok(SiteChange { place: name(&place), site, was_there: before.is_some(), unchanged })
}

/// Lists the sites.
///
/// # Errors
/// No place is meant, or the caller may not see it.
pub fn list(view: &View<'_>, caller: &Caller, request: &site::List) -> Result<Sites, Failure> {
    let place = keeper(view, caller, request.workspace.as_ref())?;
    Ok(Sites { place: name(&place), sites: view.sites(place.id)? })
}

/// Takes a site away.
///
/// # Errors
/// The address is none or not shared, or the place takes no writes.
pub fn remove(tx: &mut Tx<'_>, caller: &Caller, request: &site::Remove) -> Result<SiteChange, Failure> {
    let url = can_share(&request.url)?;
    let place = writable_keeper(tx, caller, request.workspace.as_ref())?;
    let site = require(tx, place.id, url.as_str())?;
    tx.set_site(place.id, url.as_str(), None, &caller.by())?;
    Ok(SiteChange { place: name(&place), site, was_there: true, unchanged: false })
}

fn find(view: &View<'_>, place: frith_store::id::PlaceId, url: &str) -> Result<Option<Site>, Failure> {
    Ok(view.sites(place)?.into_iter().find(|site| site.url == url))
}

fn require(view: &View<'_>, place: frith_store::id::PlaceId, url: &str) -> Result<Site, Failure> {
    Ok(find(view, place, url)?.ok_or_else(|| Refusal::Unknown { what: What::Site, given: url.to_owned() })?)
}
