//! What a change does to files, told apart from when it does it: the paths, modes and changed lines of one commit, or of a
//! whole branch taken as one, as a number that is the same wherever the same was done.
//!
//! As in git's own patch ids, line numbers count for nothing and the three lines on each side of a change count: one line
//! changed alike at two places is two changes. White space counts here, so that less is taken for the same. Nothing here decides
//! whether the same was done; it is compared elsewhere.

use std::ops::Range;

use gix::bstr::BString;
use gix::diff::blob::{Algorithm, Diff, InternedInput, Token};
use gix::diff::tree::recorder::Change;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryMode;

/// Larger files are compared as a whole.
const DIFFED_BYTES: u64 = 4 << 20;
/// How far a file is searched for the zero that makes it a binary one, as git does.
const BINARY_WITHIN: usize = 8000;
/// How many lines on each side tell the place of a change, as in git's patches.
const CONTEXT: u32 = 3;

/// A file at one side of a change.
pub(super) type File = (EntryMode, gix::ObjectId);

/// One path that a change touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) path: BString,
    pub(super) old: Option<File>,
    pub(super) new: Option<File>,
}

/// What a change does, whatever stands further away in the files it does it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PatchId([u8; 32]);

/// What differs between two trees, in the order of paths. A renamed file is one that went and one that came.
pub(super) fn touched(repository: &gix::Repository, old: gix::ObjectId, new: gix::ObjectId) -> Result<Vec<Touched>, gix::Error> {
    let (old, new) = (repository.find_tree(old)?, repository.find_tree(new)?);
    let mut found = gix::diff::tree::Recorder::default();
    let hash = repository.object_hash();
    let (before, after) = (TreeRefIter::from_bytes(&old.data, hash), TreeRefIter::from_bytes(&new.data, hash));
    gix::diff::tree(before, after, gix::diff::tree::State::default(), &repository.objects, &mut found).map_err(gix::Error::from_error)?;
    let mut touched: Vec<Touched> = found.records.into_iter().map(Touched::from).filter(Touched::is_of_files).collect();
    touched.sort_by(|one, other| one.path.cmp(&other.path).then(one.new.is_some().cmp(&other.new.is_some())));
    Ok(touched)
}

/// The number of a change. Paths come in their order, as [`touched`] gives them.
pub(super) fn id(repository: &gix::Repository, touched: &[Touched]) -> Result<PatchId, gix::Error> {
    let mut hash = blake3::Hasher::new();
    for one in touched {
        field(&mut hash, &one.path);
        for side in [one.old, one.new] {
            let mode = side.map_or(0, |(mode, _)| mode.value());
            hash.update(&mode.to_le_bytes());
        }
        match texts(repository, one)? {
            Some((before, after)) => lines(&mut hash, &before, &after),
            None => {
                for side in [one.old, one.new].into_iter().flatten() {
                    field(&mut hash, side.1.as_slice());
                }
            }
        }
    }
    Ok(PatchId(*hash.finalize().as_bytes()))
}

impl Touched {
    /// Folders are told of, too, by the files in them.
    fn is_of_files(&self) -> bool {
        ![self.old, self.new].into_iter().flatten().any(|(mode, _)| mode.is_tree())
    }
}

impl From<Change> for Touched {
    fn from(change: Change) -> Self {
        match change {
            Change::Addition { entry_mode, oid, path, .. } => Self { path, old: None, new: Some((entry_mode, oid)) },
            Change::Deletion { entry_mode, oid, path, .. } => Self { path, old: Some((entry_mode, oid)), new: None },
            Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
                Self { path, old: Some((previous_entry_mode, previous_oid)), new: Some((entry_mode, oid)) }
            }
        }
    }
}

/// What a file held before and after.
type Texts = (Vec<u8>, Vec<u8>);

/// Both texts of a path, where lines of both can be compared.
fn texts(repository: &gix::Repository, touched: &Touched) -> Result<Option<Texts>, gix::Error> {
    let (Some(old), Some(new)) = (touched.old, touched.new) else { return Ok(None) };
    if !old.0.is_blob() || !new.0.is_blob() {
        return Ok(None);
    }
    for (_, id) in [old, new] {
        if repository.find_header(id)?.size() > DIFFED_BYTES {
            return Ok(None);
        }
    }
    let (before, after) = (repository.find_object(old.1)?.detach().data, repository.find_object(new.1)?.detach().data);
    let binary = |data: &[u8]| data.iter().take(BINARY_WITHIN).any(|byte| *byte == 0);
    Ok((!binary(&before) && !binary(&after)).then_some((before, after)))
}

/// Adds the changed lines and those around them. Changes whose surroundings meet are one hunk.
fn lines(hash: &mut blake3::Hasher, before: &[u8], after: &[u8]) {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    // Which of several equal lines is the changed one is told by what is near, not by the rest of the file.
    diff.postprocess_lines(&input);
    let mut add = |sign: &[u8], side: &[Token], range: Range<u32>| {
        for token in &side[range.start as usize..range.end as usize] {
            hash.update(sign);
            field(hash, input.interner[*token]);
        }
    };
    let whole = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let mut last: Option<u32> = None;
    for hunk in diff.hunks() {
        let start = hunk.before.start;
        match last {
            Some(end) if start - end <= 2 * CONTEXT => add(b" ", &input.before, end..start),
            _ => {
                if let Some(end) = last {
                    add(b" ", &input.before, end..whole.min(end + CONTEXT));
                }
                // These have a sign of their own, so that a hunk begins where it begins.
                add(b"@", &input.before, start.saturating_sub(CONTEXT)..start);
            }
        }
        last = Some(hunk.before.end);
        add(b"-", &input.before, hunk.before);
        add(b"+", &input.after, hunk.after);
    }
    if let Some(end) = last {
        add(b" ", &input.before, end..whole.min(end + CONTEXT));
    }
}

/// Adds bytes so that where they end is part of what is added.
fn field(hash: &mut blake3::Hasher, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(before: &str, after: &str) -> [u8; 32] {
        let mut hash = blake3::Hasher::new();
        lines(&mut hash, before.as_bytes(), after.as_bytes());
        *hash.finalize().as_bytes()
    }

    #[test]
    fn a17_the_same_lines_elsewhere_are_the_same_change() {
        let (before, after) = ("1\n2\n3\nb\n4\n5\n6\n", "1\n2\n3\nB\n4\n5\n6\n");
        assert_eq!(number(before, after), number(&format!("new\n{before}more\n"), &format!("new\n{after}more\n")));
        assert_ne!(number(before, after), number(before, "1\n2\n3\nB \n4\n5\n6\n"), "a space is a change");
        assert_ne!(number(before, after), number(after, before), "undoing is another change than doing");
        assert_ne!(number("a\nb\n", "a\nb"), number("a\nb\n", "a\nb\n"), "so is the last line's end");
        assert_ne!(number("", "ab\nc\n"), number("", "a\nbc\n"), "lines end where they end");
        assert_ne!(number("m\n", "x\nm\ny\n"), number("m\n", "x\ny\nm\n"), "two changes are not one");
    }

    #[test]
    fn a17_a_line_changed_alike_at_another_place_is_another_change() {
        let file = |a: &str, b: &str| format!("a:\n  on: {a}\n1\n2\n3\n4\n5\n6\n7\nb:\n  on: {b}\n");
        let none = file("no", "no");
        assert_ne!(number(&none, &file("yes", "no")), number(&none, &file("no", "yes")));
        assert_eq!(number(&none, &file("yes", "no")), number(&file("no", "yes"), &file("yes", "yes")));
        assert_ne!(number(&none, &file("yes", "yes")), number(&none, &file("yes", "no")));
    }

    proptest! {
        #[test]
        fn only_three_lines_on_each_side_of_a_change_count(
            above in prop::collection::vec("[a-z]{0,3}\n", 0..8),
            near in prop::collection::vec("#[a-z]{0,3}\n", 6),
            removed in prop::collection::vec("[0-4]{1,2}\n", 0..6),
            added in prop::collection::vec("[5-9]{1,2}\n", 0..6),
            below in prop::collection::vec("[A-Z]{0,3}\n", 0..8),
            other in 0..6_usize,
        ) {
            let text = |near: &[String], changed: &[String]| [&near[..3], changed, &near[3..]].concat().concat();
            let around = |changed: &[String]| format!("{}{}{}", above.concat(), text(&near, changed), below.concat());
            let expected = number(&text(&near, &removed), &text(&near, &added));
            prop_assert_eq!(number(&around(&removed), &around(&added)), expected);
            let mut elsewhere = near.clone();
            elsewhere[other] = "# another place\n".into();
            let there = number(&text(&elsewhere, &removed), &text(&elsewhere, &added));
            prop_assert_eq!(there == expected, removed.is_empty() && added.is_empty());
        }

        #[test]
        fn another_line_is_another_change(kept in "[a-z]{1,9}\n", one in "[0-4]{1,9}\n", other in "[5-9]{1,9}\n") {
            prop_assert_ne!(number(&kept, &format!("{kept}{one}")), number(&kept, &format!("{kept}{other}")));
            prop_assert_ne!(number(&kept, &format!("{kept}{one}")), number(&kept, &kept));
        }
    }
}
