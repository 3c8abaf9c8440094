//! Files that are attached to tasks: their names, their size, and which one is meant (forks.md, "Task").

use super::in_the_way;
use crate::{
    id::{AttachmentRef, BlobHash, NoPrefix, Prefix},
    model::{Attachment, Task},
    refusal::{ATTACHMENT_MOST, ATTACHMENTS_MOST, AttachmentFault, Refusal, What},
};

/// The most characters the name of an attachment may have.
const NAME_MOST: usize = 255;

/// Whether a file of this name and this many bytes may be attached. A name is one part of a path and draws nothing foreign.
///
/// # Errors
/// The name is none, or the file is too large.
pub fn can_attach(name: &str, size: u64) -> Result<(), Refusal> {
    let bad = |fault| Err(Refusal::BadAttachment { name: name.to_owned(), fault });
    let is_name = !matches!(name, "" | "." | "..") && name.chars().count() <= NAME_MOST;
    if !is_name || name.chars().any(|c| c.is_control() || c == '/') {
        return bad(AttachmentFault::Name);
    }
    if size > ATTACHMENT_MOST { bad(AttachmentFault::TooLarge(size)) } else { Ok(()) }
}

/// Whether a task to which so many files are attached may get so many more. The runs of a template get what it has, so without
/// a bound one could grow until it makes none.
///
/// # Errors
/// They would be too many.
pub fn can_have_more(task: &Task, there: usize, added: usize) -> Result<(), Refusal> {
    if added > 0 && there + added > ATTACHMENTS_MOST {
        return Err(Refusal::TooManyAttachments { task: in_the_way(task), there, added });
    }
    Ok(())
}

/// The attachment that somebody named: by its name, which wins, by its hash or by the beginning of its hash.
///
/// # Errors
/// The name is too short to be a hash's beginning, unknown, or meant by several.
pub fn can_find<'a>(attachments: &'a [Attachment], named: &AttachmentRef) -> Result<&'a Attachment, Refusal> {
    let (what, given) = (What::Attachment, named.0.clone());
    let by_name: Vec<_> = attachments.iter().filter(|one| one.name == named.0).collect();
    let found = match named.0.parse::<BlobHash>() {
        _ if !by_name.is_empty() => by_name,
        Ok(hash) => attachments.iter().filter(|one| one.hash == hash).collect(),
        Err(_) => by_prefix(attachments, &given)?,
    };
    let first = *found.first().ok_or_else(|| Refusal::Unknown { what, given: given.clone() })?;
    // The same bytes under two names are one and the same to whoever wants them.
    if found.iter().all(|one| one.hash == first.hash) {
        return Ok(first);
    }
    Err(Refusal::Ambiguous { what, given, ids: found.iter().map(|one| one.hash.to_string()).collect() })
}

fn by_prefix<'a>(attachments: &'a [Attachment], given: &str) -> Result<Vec<&'a Attachment>, Refusal> {
    let what = What::Attachment;
    match Prefix::parse(given) {
        Ok(prefix) => Ok(attachments.iter().filter(|one| prefix.matches(one.hash.as_bytes())).collect()),
        Err(NoPrefix::TooShort) => Err(Refusal::TooShort { what, given: given.to_owned() }),
        Err(NoPrefix::NotAnId) => Err(Refusal::Unknown { what, given: given.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::MachineId,
        model::{By, Status},
        rules::samples::{place, task},
        time::Timestamp,
    };

    fn attached(name: &str, n: u8) -> Attachment {
        Attachment {
            name: name.into(),
            hash: BlobHash::from_bytes([n; 32]),
            size: 1,
            by: By::Node,
            machine: MachineId::from_bytes([1; 8]),
            at: Timestamp::default(),
        }
    }

    #[test]
    fn a_name_is_one_part_of_a_path_and_the_size_has_a_bound() {
        for name in ["", ".", "..", "a/b", "../x", "a\nb", "a\u{1b}[2J", &"x".repeat(256)] {
            assert!(matches!(can_attach(name, 1), Err(Refusal::BadAttachment { fault: AttachmentFault::Name, .. })), "{name:?}");
        }
        for name in ["log.txt", ".hidden", "größe 2.png", "..."] {
            assert_eq!(can_attach(name, ATTACHMENT_MOST), Ok(()), "{name}");
        }
        let large = can_attach("x", ATTACHMENT_MOST + 1);
        assert!(matches!(large, Err(Refusal::BadAttachment { fault: AttachmentFault::TooLarge(_), .. })));
    }

    #[test]
    fn a_task_has_so_many_attachments_and_no_more_and_what_is_there_already_is_never_too_much() {
        let task = task(1, &place(1, "app"), Status::NotStarted);
        for (there, added) in [(0, ATTACHMENTS_MOST), (ATTACHMENTS_MOST - 1, 1), (ATTACHMENTS_MOST * 2, 0)] {
            assert_eq!(can_have_more(&task, there, added), Ok(()), "{there} and {added}");
        }
        let refused = can_have_more(&task, ATTACHMENTS_MOST - 1, 2);
        assert!(matches!(refused, Err(Refusal::TooManyAttachments { added: 2, .. })));
    }

    #[test]
    fn a_name_wins_over_a_hash_and_two_of_one_name_are_told_apart() {
        let all = [attached("a.txt", 0xaa), attached("a.txt", 0xab), attached("aaaa", 0xcc), attached("copy", 0xcc)];
        let find = |named: &str| can_find(&all, &AttachmentRef(named.to_owned()));
        assert_eq!(find("aaaa").unwrap().hash, all[2].hash, "a name wins");
        assert_eq!(find("cccc").unwrap().hash, all[2].hash, "the same bytes twice are no question");
        assert_eq!(find(&all[1].hash.to_string()).unwrap().hash, all[1].hash);
        assert!(matches!(find("a.txt"), Err(Refusal::Ambiguous { ids, .. }) if ids.len() == 2));
        assert!(matches!(find("abc"), Err(Refusal::TooShort { .. })));
        assert!(matches!(find("b.txt"), Err(Refusal::Unknown { .. })));
    }
}
