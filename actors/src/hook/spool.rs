//! Events that hooks told while no node listened: one small file for each session and kind of news, in the home.
//!
//! A file is written beside its place and renamed into it, so events of one session replace each other and nobody needs a
//! lock; one that was whole when its hook was killed counts. A node takes a file away before it reads it, so what comes in the
//! meantime is another file; it removes what it recorded, and finds again what it did not. What cannot be read is put aside and
//! never looked at again.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use frith_store::{hosts::EventClass, id::CallId, model::ProcessRef, time::Timestamp};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::api::agents::Event;

/// The most files that wait; an event of one more session is not kept.
pub const FILES_MOST: usize = 4096;
/// The most bytes of a file.
const BYTES_MOST: u64 = 64 * 1024;
/// The most damaged files that are put aside; further ones are removed.
const ASIDE_MOST: usize = 100;
/// The first byte of a file: the form of what follows. It counts up with each change that an older side would misread.
const FORM: u8 = 1;

/// An event as it was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spooled {
    /// The call in which the hook told it too, if a node was there and answered too late.
    pub call: CallId,
    /// When it happened.
    pub at: Timestamp,
    /// What the hook told.
    pub event: Event,
    /// The host's process.
    pub process: Option<ProcessRef>,
    /// The nearest processes above the hook that are no shells.
    pub ancestors: Vec<ProcessRef>,
}

/// Whether an event says that somebody is there or that somebody is gone: the later of each is kept, since one does not
/// stand for the other.
fn is_over(class: EventClass) -> bool {
    matches!(class, EventClass::End | EventClass::SubStop)
}

/// Keeps an event. A home that is not there is not made.
///
/// # Errors
/// It cannot be written, or too many wait.
pub fn write(home: &Path, spooled: &Spooled) -> io::Result<()> {
    let folder = home.join("spool");
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let name = name_of(spooled);
    let place = folder.join(&name);
    if place.symlink_metadata().is_err() && fs::read_dir(&folder)?.take(FILES_MOST).count() == FILES_MOST {
        return Err(io::ErrorKind::QuotaExceeded.into());
    }
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let bytes = postcard::to_extend(spooled, vec![FORM]).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(no_follow()).open(&beside)?;
    file.write_all(&bytes).and_then(|()| put(&beside, &place)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Puts a file into its place. What stands there goes first: some file systems write a file to disk before it replaces another,
/// which takes milliseconds that a hook does not have.
fn put(file: &Path, place: &Path) -> io::Result<()> {
    match fs::remove_file(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(file, place),
    }
}

/// The same for every event of one session, or of one process of a host that tells no session, that says the same kind of news.
fn name_of(spooled: &Spooled) -> String {
    let event = &spooled.event;
    let process = if event.session.is_none() { spooled.process.as_ref() } else { None };
    let whose = (&event.host, &event.session, &event.sub_agent, process, is_over(event.class));
    let bytes = postcard::to_stdvec(&whose).unwrap_or_default();
    blake3::hash(&bytes).to_hex()[..32].to_owned()
}

/// Whether anything waits there that was not taken yet.
pub fn holds_any(home: &Path) -> bool {
    names_in(&home.join("spool")).is_ok_and(|names| names.iter().any(|name| !name.starts_with('.') && name != "taken"))
}

/// Every event that waits, in the order in which they happened, each with the file to remove once it is recorded.
///
/// # Errors
/// The folder cannot be read. That it is not there is no error: then nothing waits.
pub fn take_all(home: &Path) -> io::Result<Vec<(PathBuf, Spooled)>> {
    let spool = home.join("spool");
    let taken = spool.join("taken");
    let names = match names_in(&spool) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    make_folder(&taken)?;
    for name in names {
        match name.strip_prefix('.') {
            Some(hidden) if is_left_behind(hidden) => take_left_behind(&spool.join(&name), &taken, hidden)?,
            Some(_) => {}
            None => take_away(&spool.join(&name), &taken, &name)?,
        }
    }
    let mut found = Vec::new();
    for name in names_in(&taken)? {
        let path = taken.join(name);
        match read(&path) {
            Some(spooled) => found.push((path, spooled)),
            None => put_aside(&spool, &path)?,
        }
    }
    found.sort_by_key(|(_, spooled)| (spooled.at, is_over(spooled.event.class)));
    Ok(found)
}

/// The names of what is in a folder but folders.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Moves a file to where no hook replaces it, beside those of the same name that were not recorded yet.
fn take_away(file: &Path, taken: &Path, name: &str) -> io::Result<()> {
    let places = (0_u32..).map(|number| taken.join(format!("{name}-{number}")));
    let mut free = places.filter(|place| place.symlink_metadata().is_err());
    let place = free.next().expect("there are more numbers than files");
    match fs::rename(file, place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether the hook that was writing a file of this name is gone.
fn is_left_behind(name: &str) -> bool {
    let writer = name.rsplit_once('.').and_then(|(_, pid)| rustix::process::Pid::from_raw(pid.parse().ok().filter(|pid| *pid > 0)?));
    writer.is_none_or(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Takes what a hook that is gone had written, if that was all of it.
fn take_left_behind(file: &Path, taken: &Path, name: &str) -> io::Result<()> {
    match read(file) {
        Some(_) => take_away(file, taken, name),
        None => fs::remove_file(file),
    }
}

fn read(path: &Path) -> Option<Spooled> {
    let mut bytes = Vec::new();
    let file = File::options().read(true).custom_flags(no_follow()).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.take(BYTES_MOST).read_to_end(&mut bytes).ok()?;
    let (form, rest) = bytes.split_first()?;
    if *form == FORM { postcard::from_bytes(rest).ok() } else { None }
}

/// Puts a file aside whose event cannot be recorded.
///
/// # Errors
/// It stays where it is.
pub fn give_up(home: &Path, file: &Path) -> io::Result<()> {
    put_aside(&home.join("spool"), file)
}

/// Keeps a damaged file for whoever wants to look at it, or removes it when there are enough of them.
fn put_aside(spool: &Path, path: &Path) -> io::Result<()> {
    let aside = spool.join("aside");
    make_folder(&aside)?;
    let is_full = fs::read_dir(&aside)?.take(ASIDE_MOST).count() == ASIDE_MOST;
    match path.file_name().filter(|_| !is_full) {
        Some(name) => fs::rename(path, aside.join(name)),
        None => fs::remove_file(path),
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// A link is never followed, and what is no file is never waited for.
fn no_follow() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn spooled(session: &str, class: EventClass, at: i64) -> Spooled {
        let event = Event {
            host: "some".into(),
            class,
            event: "SessionStart".into(),
            session: Some(session.into()),
            sub_agent: None,
            folder: None,
            model: None,
            activity: None,
            source: None,
            tool_use: None,
            takes_context: true,
        };
        let process = ProcessRef { pid: 7, started: "boot/1".into() };
        Spooled {
            call: CallId::from_random([9; 16]),
            at: Timestamp::from_ms(at),
            event,
            process: Some(process.clone()),
            ancestors: vec![process],
        }
    }

    fn taken(home: &Path) -> Vec<Spooled> {
        take_all(home).unwrap().into_iter().map(|(_, spooled)| spooled).collect()
    }

    #[test]
    fn the_later_event_of_a_session_replaces_the_earlier_and_an_end_stands_beside() {
        let home = tempfile::tempdir().unwrap();
        let kept = [spooled("a", EventClass::Tool, 2), spooled("a", EventClass::End, 3), spooled("b", EventClass::Start, 4)];
        write(home.path(), &spooled("a", EventClass::Start, 1)).unwrap();
        kept.iter().rev().for_each(|event| write(home.path(), event).unwrap());
        assert_eq!(taken(home.path()), kept);
        let mode = |path: &str| fs::metadata(home.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("spool"), 0o700);
    }

    #[test]
    fn what_was_not_recorded_is_found_again_also_when_more_came() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &spooled("a", EventClass::Start, 1)).unwrap();
        assert_eq!(taken(home.path()).len(), 1);
        write(home.path(), &spooled("a", EventClass::Tool, 2)).unwrap();
        let found = take_all(home.path()).unwrap();
        assert_eq!(found.iter().map(|(_, it)| it.at.ms()).collect::<Vec<_>>(), [1, 2]);
        found.iter().for_each(|(path, _)| fs::remove_file(path).unwrap());
        assert_eq!(taken(home.path()), []);
    }

    #[test]
    fn c17_a_damaged_file_is_put_aside_once_and_the_rest_is_taken() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &spooled("a", EventClass::Start, 1)).unwrap();
        let spool = home.path().join("spool");
        for (name, bytes) in [("x", &b"\x01nonsense"[..]), ("y", b""), ("z", b"\xffof another form")] {
            fs::write(spool.join(name), bytes).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", spool.join("w")).unwrap();
        for no_process in [".x.999999999", ".x.-1", ".x.0"] {
            fs::write(spool.join(no_process), "half").unwrap();
        }
        assert_eq!(taken(home.path()).len(), 1);
        assert_eq!(taken(home.path()).len(), 1);
        assert_eq!(fs::read_dir(spool.join("aside")).unwrap().count(), 4);
        for no_process in [".x.999999999", ".x.-1", ".x.0"] {
            assert!(!spool.join(no_process).exists());
        }
    }

    #[test]
    fn c17_what_was_given_up_is_kept_and_never_taken_again() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &spooled("a", EventClass::Start, 1)).unwrap();
        let (file, _) = take_all(home.path()).unwrap().remove(0);
        give_up(home.path(), &file).unwrap();
        assert_eq!(taken(home.path()), []);
        assert_eq!(fs::read_dir(home.path().join("spool/aside")).unwrap().count(), 1);
    }

    #[test]
    fn an_event_whose_hook_was_killed_before_it_was_in_its_place_is_taken() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &spooled("a", EventClass::Start, 1)).unwrap();
        let spool = home.path().join("spool");
        let name = name_of(&spooled("a", EventClass::Start, 1));
        fs::rename(spool.join(&name), spool.join(format!(".{name}.999999999"))).unwrap();
        let own = spool.join(format!(".{name}.{}", std::process::id()));
        fs::write(&own, "being written").unwrap();
        assert_eq!(taken(home.path()).len(), 1);
        assert!(own.exists(), "whoever writes it lives");
    }

    #[test]
    fn a_home_that_is_not_there_is_not_made_and_nothing_waits_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("none");
        write(&home, &spooled("a", EventClass::Start, 1)).unwrap_err();
        assert!(!home.exists());
        assert_eq!(taken(&home), []);
    }

    #[test]
    fn one_session_too_many_is_not_kept_and_one_that_is_kept_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &spooled("a", EventClass::Start, 1)).unwrap();
        for number in 1..FILES_MOST {
            fs::write(home.path().join(format!("spool/{number}")), "").unwrap();
        }
        write(home.path(), &spooled("b", EventClass::Start, 2)).unwrap_err();
        write(home.path(), &spooled("a", EventClass::Tool, 3)).unwrap();
    }

    #[test]
    fn the_form_of_a_file_stays() {
        let bytes = postcard::to_extend(&spooled("a", EventClass::Prompt, 5), vec![FORM]).unwrap();
        assert_eq!(blake3::hash(&bytes).to_hex()[..16], *"0640e5afbafe93fd");
    }
}
