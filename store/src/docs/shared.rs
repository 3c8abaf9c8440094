//! What a workspace shares with its forks beside notes: which skills are on, and its sites. Registers at the root of its
//! document, one for each skill and each site.

use std::collections::BTreeSet;

use automerge::{
    AutomergeError, ROOT,
    transaction::{Transactable as _, Transaction},
};

use super::Document;
use crate::{id::BlobHash, model::Site};

const SKILL: &str = "skill/";
const SITE: &str = "site/";

/// The names of the skills that are on, whether or not the team has them.
pub fn skills_on(document: &Document) -> BTreeSet<String> {
    let root = document.root();
    let keys = root.keys().filter(|key| root.flag(key) == Some(true));
    keys.filter_map(|key| key.strip_prefix(SKILL).map(str::to_owned)).collect()
}

/// The sites, in order of their addresses.
pub fn sites(document: &Document) -> Vec<Site> {
    let root = document.root();
    let records = root.keys().filter(|key| key.starts_with(SITE)).filter_map(|key| root.record::<Option<Site>>(&key)?);
    let mut sites: Vec<_> = records.collect();
    sites.sort_by(|a, b| a.url.cmp(&b.url));
    sites
}

pub(crate) fn set_skill_on(tx: &mut Transaction<'_>, name: &str, on: bool) -> Result<(), AutomergeError> {
    tx.put(ROOT, format!("{SKILL}{name}"), on)
}

/// `record` are the bytes of an optional [`Site`]: none takes it away.
pub(crate) fn set_site(tx: &mut Transaction<'_>, url: &str, record: Vec<u8>) -> Result<(), AutomergeError> {
    tx.put(ROOT, format!("{SITE}{}", BlobHash::of(url.as_bytes())), record)
}
