//! Notes: listing, reading, saving and deleting. They are kept under the workspace; a fork works on its parent's.

use frith_store::{
    error::Failure,
    id::{NoPrefix, PlaceRef, Prefix, VersionHash, VersionRef},
    model::{NoteHead, Place},
    refusal::{Refusal, What},
    rules::{
        note::{NoteName, can_call_note, can_note, can_save},
        place::can_write,
    },
    tx::Tx,
    view::View,
};

use super::task::name;
use crate::{
    api::memory::{self, Note, Notes, Saved},
    caller::{Caller, parent_of},
};

/// The workspace under which what a place shares with its forks is kept: its own, or its parent's.
///
/// # Errors
/// No place is meant, or the caller may not touch it.
pub fn keeper(view: &View<'_>, caller: &Caller, named: Option<&PlaceRef>) -> Result<Place, Failure> {
    let place = caller.place(view, named)?;
    Ok(parent_of(view, &place)?.unwrap_or(place))
}

/// The same, which must take writes, as the place that was named must.
///
/// # Errors
/// As [`keeper`], or one of the two takes no writes.
pub fn writable_keeper(view: &View<'_>, caller: &Caller, named: Option<&PlaceRef>) -> Result<Place, Failure> {
    let place = caller.place(view, named)?;
    let parent = parent_of(view, &place)?;
    can_write(&place, parent.as_ref())?;
    let Some(parent) = parent else { return Ok(place) };
    can_write(&parent, None)?;
    Ok(parent)
}

/// Lists the notes that are there.
///
/// # Errors
/// No place is meant, or the caller may not see it.
pub fn list(view: &View<'_>, caller: &Caller, request: &memory::List) -> Result<Notes, Failure> {
    let place = keeper(view, caller, request.workspace.as_ref())?;
    let mut notes = view.notes(place.id)?;
    notes.retain(frith_store::model::NoteInfo::is_there);
    Ok(Notes { place: name(&place), notes })
}

/// Reads a note. One that was never written is no error.
///
/// # Errors
/// The name is none, or no place is meant.
pub fn load(view: &View<'_>, caller: &Caller, request: &memory::Load) -> Result<Note, Failure> {
    let note = can_call_note(&request.name)?;
    let place = keeper(view, caller, request.workspace.as_ref())?;
    let versions = view.note(place.id, note.as_str())?;
    let text = match versions.as_slice() {
        [one] => one.text.clone(),
        _ => None,
    };
    Ok(Note { place: name(&place), name: note.as_str().to_owned(), text, versions })
}

/// Saves a note.
///
/// # Errors
/// The name or the text is none, the place takes no writes, a base is not known, or none was named where one has to be.
pub fn save(tx: &mut Tx<'_>, caller: &Caller, request: &memory::Save) -> Result<Saved, Failure> {
    let note = can_call_note(&request.name)?;
    can_note(&request.text)?;
    let place = writable_keeper(tx, caller, request.workspace.as_ref())?;
    write(tx, caller, &place, &note, &request.base, Some(&request.text))
}

/// Deletes a note: a save of nothing. One that is not there is no error.
///
/// # Errors
/// As [`save`].
pub fn delete(tx: &mut Tx<'_>, caller: &Caller, request: &memory::Delete) -> Result<Saved, Failure> {
    let note = can_call_note(&request.name)?;
    let place = writable_keeper(tx, caller, request.workspace.as_ref())?;
    write(tx, caller, &place, &note, &request.base, None)
}

fn write(
    tx: &mut Tx<'_>,
    caller: &Caller,
    place: &Place,
    note: &NoteName,
    bases: &[VersionRef],
    text: Option<&str>,
) -> Result<Saved, Failure> {
    let current = tx.note_heads(place.id, note.as_str())?;
    let bases = bases.iter().map(|base| find_version(tx, place, note, &current, base)).collect::<Result<Vec<_>, _>>()?;
    let saved = |version, replaced, implied, unchanged, beside| Saved {
        place: name(place),
        name: note.as_str().to_owned(),
        version,
        replaced,
        implied,
        unchanged,
        beside,
    };
    if let Some(same) = says_so_already(tx, place, note, &current, &bases, text)? {
        return Ok(saved(same, Vec::new(), false, true, Vec::new()));
    }
    let plan = can_save(note, &current, &bases, &caller.by())?;
    let (replaced, beside) = current.into_iter().partition(|head| plan.replaces().contains(&head.version));
    let version = tx.save_note(place.id, note.as_str(), text, plan.replaces().to_vec(), &caller.by())?;
    Ok(saved(Some(version), replaced, plan.is_implied(), false, beside))
}

/// The version that says already what is to be said, when it is the only one that counts and no other base is named;
/// `Some(None)` when nothing is there to be deleted.
fn says_so_already(
    view: &View<'_>,
    place: &Place,
    note: &NoteName,
    current: &[NoteHead],
    bases: &[VersionHash],
    text: Option<&str>,
) -> Result<Option<Option<VersionHash>>, Failure> {
    let one = match current {
        [] if text.is_none() => return Ok(Some(None)),
        [one] if bases.iter().all(|base| *base == one.version) => one,
        _ => return Ok(None),
    };
    if one.bytes != text.map(|text| text.len() as u64) {
        return Ok(None);
    }
    // A text that cannot be read is no reason against one that replaces it.
    let there = view.note(place.id, note.as_str()).unwrap_or_default();
    let same = there.first().is_some_and(|version| version.text.as_deref() == text);
    Ok(same.then_some(Some(one.version)))
}

/// The version that somebody named: one that counts, else one that was replaced.
fn find_version(tx: &mut Tx<'_>, place: &Place, note: &NoteName, current: &[NoteHead], named: &VersionRef) -> Result<VersionHash, Failure> {
    let (what, given) = (What::Version, named.0.clone());
    let prefix = Prefix::parse(&given).map_err(|fault| match fault {
        NoPrefix::TooShort => Refusal::TooShort { what, given: given.clone() },
        NoPrefix::NotAnId => Refusal::Unknown { what, given: given.clone() },
    })?;
    let mut found: Vec<_> = current.iter().map(|head| head.version).filter(|version| prefix.matches(version.as_bytes())).collect();
    if found.is_empty() {
        found = tx.all_versions(place.id, note.as_str())?;
        found.retain(|version| prefix.matches(version.as_bytes()));
    }
    match found.as_slice() {
        [] => Err(Refusal::Unknown { what, given }.into()),
        [one] => Ok(*one),
        several => Err(Refusal::Ambiguous { what, given, ids: several.iter().map(ToString::to_string).collect() }.into()),
    }
}
