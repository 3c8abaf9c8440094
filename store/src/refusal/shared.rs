//! Refusals about what a workspace shares with its forks, and about what is attached to tasks: their faults as data, their
//! sentences, and what would help.

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::{id::VersionHash, model::By, text::PathText, time::Timestamp};

/// The most bytes a note may have.
pub const NOTE_MOST: usize = 16 * 1024;
/// The most bytes an attachment may have.
pub const ATTACHMENT_MOST: u64 = 25 * 1024 * 1024;
/// The most files that are attached to a task.
pub const ATTACHMENTS_MOST: usize = 100;
/// The most characters a note's name may have, its ending counted.
pub const NOTE_NAME_MOST: usize = 32;

/// The most files a skill may have.
pub const SKILL_FILES_MOST: usize = 64;
/// The most bytes a file of a skill may have.
pub const SKILL_FILE_MOST: usize = 64 * 1024;
/// The most bytes the note of a site may have.
pub const SITE_NOTE_MOST: usize = 1_024;

/// Why a folder cannot be a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkillFault {
    /// It has no `SKILL.md`.
    NoSkillFile,
    /// Its `SKILL.md` is no text.
    NoText,
    /// Its `SKILL.md` does not begin with a head between two lines `---`.
    NoHead,
    /// The head is no YAML.
    Head(String),
    /// The head has no name that a skill may have.
    Name(String),
    /// The head has no description, or a too long one.
    Description,
    /// It has more than [`SKILL_FILES_MOST`] files.
    TooManyFiles,
    /// A file has more than [`SKILL_FILE_MOST`] bytes.
    LongFile(String),
    /// Something in it is a symbolic link.
    Link(String),
    /// Something in it is a FIFO, a socket or a device.
    Special(String),
    /// Something in it has a path that no file of a skill may have.
    OddPath(PathText),
    /// Two files have paths that differ in case only.
    SamePath(String),
}

/// Why an address cannot be a site's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UrlFault {
    /// It begins neither with `http://` nor with `https://`.
    Scheme,
    /// It has a user or a password in it.
    Credentials,
    /// It has no host, or a port that is none.
    Host,
    /// It has characters that an address must not have.
    Characters,
    /// It is too long.
    TooLong,
}

/// Why a note cannot be called so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoteNameFault {
    /// Nothing of it can be part of a name.
    Blank,
    /// More than [`NOTE_NAME_MOST`] characters.
    TooLong,
    /// Letters outside `a` to `z`.
    Letters,
}

/// Why a file cannot be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttachmentFault {
    /// It has no name that an attachment may have.
    Name,
    /// It has this many bytes, which are more than [`ATTACHMENT_MOST`].
    TooLarge(u64),
    /// It is not there.
    Gone,
    /// It is a folder.
    Folder,
    /// It is a FIFO, a socket or a device.
    Special,
    /// It cannot be read.
    Unreadable,
    /// It changed while it was read.
    Changed,
}

/// A version of a note that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionNamed {
    /// Its hash.
    pub version: VersionHash,
    /// Who saved it.
    pub by: By,
    /// When.
    pub at: Timestamp,
}

pub(super) fn note_name_fault(given: &str, fault: NoteNameFault) -> String {
    match fault {
        NoteNameFault::Blank => format!("`{given}` has no letter or digit that a note's name could have"),
        NoteNameFault::TooLong => format!("`{given}` makes a name of more than {NOTE_NAME_MOST} characters"),
        NoteNameFault::Letters => format!("`{given}` has letters outside `a` to `z`, which no note's name has"),
    }
}

pub(super) fn skill_fault(folder: &PathText, fault: &SkillFault) -> String {
    match fault {
        SkillFault::NoSkillFile => format!("`{folder}` has no `SKILL.md`"),
        SkillFault::NoText => format!("`SKILL.md` of `{folder}` is no UTF-8 text"),
        SkillFault::NoHead => format!("`SKILL.md` of `{folder}` does not begin with a head between two lines `---`"),
        SkillFault::Head(why) => format!("the head of `SKILL.md` of `{folder}` is no YAML: {why}"),
        SkillFault::Name(name) => format!("the head of `SKILL.md` of `{folder}` has the name `{name}`, which no skill has"),
        SkillFault::Description => format!("the head of `SKILL.md` of `{folder}` has no description of 1 to 1024 characters"),
        SkillFault::TooManyFiles => format!("`{folder}` has more than {SKILL_FILES_MOST} files"),
        SkillFault::LongFile(path) => format!("`{path}` of `{folder}` has more than {} KiB", SKILL_FILE_MOST >> 10),
        SkillFault::Link(path) => format!("`{path}` of `{folder}` is a symbolic link"),
        SkillFault::Special(path) => format!("`{path}` of `{folder}` is no file but a FIFO, a socket or a device"),
        SkillFault::OddPath(path) => format!("`{path}` of `{folder}` is no path that a file of a skill may have"),
        SkillFault::SamePath(path) => format!("`{path}` of `{folder}` stands there twice, in upper and in lower case"),
    }
}

pub(super) fn url_fault(url: &str, fault: UrlFault) -> String {
    match fault {
        UrlFault::Scheme => format!("`{url}` begins neither with `https://` nor with `http://`"),
        UrlFault::Credentials => format!("`{url}` has a user or a password in it, which everybody would read"),
        UrlFault::Host => format!("`{url}` has no host, or a port that is none"),
        UrlFault::Characters => format!("`{url}` has characters that an address must not have"),
        UrlFault::TooLong => format!("the address has {} bytes, and 2048 is the most", url.len()),
    }
}

pub(super) fn attachment_fault(name: &str, fault: AttachmentFault) -> String {
    match fault {
        AttachmentFault::Name => format!("`{name}` is no name that an attachment may have"),
        AttachmentFault::TooLarge(size) => format!("`{name}` has {size} bytes, and {} MiB are the most", ATTACHMENT_MOST >> 20),
        AttachmentFault::Gone => format!("`{name}` is not there"),
        AttachmentFault::Folder => format!("`{name}` is a folder"),
        AttachmentFault::Special => format!("`{name}` is no file but a FIFO, a socket or a device"),
        AttachmentFault::Unreadable => format!("`{name}` cannot be read"),
        AttachmentFault::Changed => format!("`{name}` changed while it was read, so nothing was attached"),
    }
}

/// Who did something, in a sentence.
pub(super) fn who(by: &By) -> String {
    match by {
        By::Person(name) => name.clone(),
        By::Agent(agent) => format!("agent {}", agent.short()),
        By::Node => "the node".into(),
    }
}

pub(super) fn versions(versions: &[VersionNamed]) -> String {
    versions.iter().map(|one| format!("{} by {}", one.version.short(), who(&one.by))).collect::<Vec<_>>().join(" and ")
}

impl Refusal {
    pub(super) fn shared_hint(&self) -> Option<String> {
        Some(match self {
            Self::BadNoteName { .. } => "a note is called by words of `a-z0-9` joined by hyphens, such as `build-steps.md`".into(),
            Self::LongNote { .. } => "split it into several notes that `memory.md` names".into(),
            Self::NoBase { note, version } => {
                format!("read it (`frith memory get {note}`), then name what was read: `--base {}`", version.version.short())
            }
            Self::SeveralVersions { note, versions } => {
                let bases: Vec<_> = versions.iter().map(|one| one.version.short()).collect();
                format!("read them (`frith memory get {note}`), then save one text for all: `--base {}`", bases.join(","))
            }
            Self::BadAttachment { fault, .. } => attachment_hint(*fault).into(),
            Self::UploadLost { .. } => "run it again".into(),
            Self::BadSkill { fault, .. } => skill_hint(fault).into(),
            Self::SkillOff { skill, place } => format!("a person switches it on: `frith skill on {skill} -w {}`", place.name),
            Self::SkillSwitch { parent, skill, .. } => format!("switch it there: `frith skill on {skill} -w {}`, or `off`", parent.name),
            Self::BadUrl { fault: UrlFault::Credentials, .. } => "leave it out: whoever opens the site logs in there".into(),
            Self::BadUrl { .. } => "give the whole address, such as `https://example.org/board`".into(),
            Self::TooManyAttachments { task, .. } => {
                format!("pack them into one file, or take one away: `frith task detach {} <name>`", task.id.short())
            }
            Self::LongSiteNote { .. } => "put it into a note: `frith memory set <name>`".into(),
            _ => return None,
        })
    }
}

fn skill_hint(fault: &SkillFault) -> &'static str {
    match fault {
        SkillFault::NoSkillFile | SkillFault::NoText | SkillFault::NoHead | SkillFault::Head(_) => {
            "`SKILL.md` begins with `---`, `name: <name>`, `description: <when it is of use>`, `---`, each on a line"
        }
        SkillFault::Name(_) => "a skill is called by up to 64 letters `a` to `z` and digits, with single hyphens between",
        SkillFault::Description => "say in a sentence when it is of use",
        SkillFault::TooManyFiles | SkillFault::LongFile(_) => "keep in it what an agent has to read; the rest fits into a repository",
        SkillFault::Link(_) | SkillFault::Special(_) => "put a copy of the file in its place",
        SkillFault::OddPath(_) | SkillFault::SamePath(_) => "rename it",
    }
}

fn attachment_hint(fault: AttachmentFault) -> &'static str {
    match fault {
        AttachmentFault::Name => "give the file a name of 1 to 255 characters without control characters",
        AttachmentFault::TooLarge(_) => "put it where the task's agent can read it, and name the place in the task",
        AttachmentFault::Gone => "name a file that is there",
        AttachmentFault::Folder => "pack it into one file first: `tar -czf <name>.tar.gz <folder>`",
        AttachmentFault::Special => "copy what it gives into a file first",
        AttachmentFault::Unreadable => "make it readable for this user",
        AttachmentFault::Changed => "run it again once the file is complete",
    }
}
