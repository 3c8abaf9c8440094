//! What was entered where: `installs.json` in the node's home.
//!
//! It lets an uninstallation give back the bytes that were there before, and a host that was taken out stay out. Nothing
//! depends on it for good: without it what is ours is known by what it says. It is written before the files that it tells of,
//! so that a command that is killed leaves nothing unrecorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use frith_store::{text::PathText, time::Timestamp};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    edit::{Match, Step},
    install::{file::look as look_at, wanted::What},
};

/// Everything that was entered, by host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The hosts.
    pub hosts: BTreeMap<String, Entered>,
    /// Folders that were made for files of hosts, and go with the last of them.
    #[serde(default)]
    pub folders: BTreeSet<PathBuf>,
    /// Files that lie beside those of hosts as these were: what else has such a name is somebody's.
    #[serde(default)]
    pub backups: BTreeSet<PathBuf>,
    /// Files of repositories into which something was entered, by whichever host.
    #[serde(default)]
    pub repositories: Vec<EnteredFile>,
}

/// What was entered into one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entered {
    /// Whether it is installed; one that is not was, and is not installed by anything but a person.
    pub installed: bool,
    /// Since when it is so.
    pub since: Timestamp,
    /// Its files.
    #[serde(default)]
    pub files: Vec<EnteredFile>,
}

/// What was entered into one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnteredFile {
    /// The file.
    pub file: PathText,
    /// What, in the order in which it was entered.
    pub pieces: Vec<Piece>,
}

/// One thing that was entered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Piece {
    /// What it is.
    pub what: What,
    /// The steps to it.
    #[serde(with = "steps")]
    pub at: Vec<Step>,
    /// What it said.
    pub value: Value,
    /// How many containers on the way were made for it.
    pub made: usize,
}

/// The record of a home, held against another command.
#[derive(Debug)]
pub struct Held {
    /// What it says.
    pub record: Record,
    /// What the file says.
    saved: Record,
    /// Where one that was damaged was put, in the place of which this one is.
    pub aside: Option<PathBuf>,
    file: PathBuf,
    // The lock ends with it.
    _lock: Option<File>,
}

/// Where the record lies.
pub fn file(home: &Path) -> PathBuf {
    home.join("installs.json")
}

/// What was entered; nothing where there is no record, or a damaged one.
///
/// # Errors
/// There may be one, and it cannot be read.
pub fn read(home: &Path) -> io::Result<Record> {
    Ok(whole(home)?.unwrap_or_default())
}

/// The record; none when it is damaged.
fn whole(home: &Path) -> io::Result<Option<Record>> {
    let seen = look_at(&file(home)).map_err(io::Error::other)?;
    Ok(seen.bytes.map_or_else(|| Some(Record::default()), |bytes| serde_json::from_slice(&bytes).ok()))
}

/// The record of a home as it is, for one who only looks.
///
/// # Errors
/// As [`read`].
pub fn look(home: &Path) -> io::Result<Held> {
    let record = read(home)?;
    Ok(Held { saved: record.clone(), record, aside: None, file: file(home), _lock: None })
}

/// Waits until no other command changes the record, and reads it. A damaged one, which may still tell somebody what was in
/// it, is put aside.
///
/// # Errors
/// The home cannot be written, or the record cannot be read.
pub fn hold(home: &Path) -> io::Result<Held> {
    // A pipe of that name would wait for its reader.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let lock =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).custom_flags(flags).open(home.join("installs.lock"))?;
    while let Err(error) = flock(&lock, FlockOperation::LockExclusive) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    let (record, aside) = match whole(home)? {
        Some(record) => (record, None),
        None => (Record::default(), Some(home.join("installs.json.damaged"))),
    };
    if let Some(aside) = &aside {
        fs::rename(file(home), aside)?;
    }
    Ok(Held { saved: record.clone(), record, aside, file: file(home), _lock: Some(lock) })
}

impl Held {
    /// Writes the record, if it says something new.
    ///
    /// # Errors
    /// It cannot be written; the one that was there stays.
    pub fn save(&mut self) -> io::Result<()> {
        if self.record == self.saved {
            return Ok(());
        }
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let begun = folder.join("installs.json.new");
        let mut text = serde_json::to_vec_pretty(&self.record)?;
        text.push(b'\n');
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&begun)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&begun, &self.file)?;
        self.saved = self.record.clone();
        File::open(folder)?.sync_all()
    }
}

impl Entered {
    /// What was entered into a file.
    pub fn file(&self, path: &Path) -> Option<&EnteredFile> {
        self.files.iter().find(|file| file.file.as_path() == path)
    }
}

/// Steps as they are kept.
mod steps {
    use super::{Match, Step, Value};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kept {
        Key(String),
        Field { key: String, is: String },
        Equal(Value),
    }

    pub fn serialize<S: Serializer>(steps: &[Step], serializer: S) -> Result<S::Ok, S::Error> {
        let kept = steps.iter().map(|step| match step {
            Step::Key(key) => Kept::Key(key.clone()),
            Step::Item(Match::Field { key, is }) => Kept::Field { key: key.clone(), is: is.clone() },
            Step::Item(Match::Equal(value)) => Kept::Equal(value.clone()),
        });
        serializer.collect_seq(kept)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Step>, D::Error> {
        let kept = Vec::<Kept>::deserialize(deserializer)?;
        let step = |kept| match kept {
            Kept::Key(key) => Step::Key(key),
            Kept::Field { key, is } => Step::Item(Match::Field { key, is }),
            Kept::Equal(value) => Step::Item(Match::Equal(value)),
        };
        Ok(kept.into_iter().map(step).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece() -> Piece {
        let at = vec![Step::Key("hooks".into()), Step::Item(Match::Equal(serde_json::json!({"a": [1]})))];
        Piece { what: What::Hook("Stop".into()), at, value: serde_json::json!({"a": [1]}), made: 2 }
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let mut held = hold(home.path()).unwrap();
        let file = EnteredFile { file: "/u/x.json".parse().unwrap(), pieces: vec![piece()] };
        let entered = Entered { installed: true, since: Timestamp::from_ms(0), files: vec![file] };
        held.record.hosts.insert("claude".into(), entered);
        held.save().unwrap();
        assert_eq!(read(home.path()).unwrap(), held.record);
    }

    #[test]
    fn one_that_cannot_be_read_is_not_taken_for_none() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(file(home.path())).unwrap();
        assert!(read(home.path()).is_err() && look(home.path()).is_err() && hold(home.path()).is_err());
        assert!(file(home.path()).is_dir());
    }

    #[test]
    fn a_pipe_in_its_place_is_refused_and_not_waited_for() {
        for name in ["installs.json", "installs.lock"] {
            let home = tempfile::tempdir().unwrap();
            assert!(std::process::Command::new("mkfifo").arg(home.path().join(name)).status().unwrap().success());
            assert!(hold(home.path()).is_err(), "{name}");
        }
    }

    #[test]
    fn one_that_is_lost_or_damaged_is_none_and_a_damaged_one_is_kept() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read(home.path()).unwrap(), Record::default());
        fs::write(file(home.path()), "{\"hosts\": ").unwrap();
        let mut held = hold(home.path()).unwrap();
        assert_eq!(held.record, Record::default());
        held.record.folders.insert("/u/a".into());
        held.save().unwrap();
        assert_eq!(fs::read_to_string(held.aside.as_ref().unwrap()).unwrap(), "{\"hosts\": ");
        assert_eq!(read(home.path()).unwrap(), held.record);
    }
}
