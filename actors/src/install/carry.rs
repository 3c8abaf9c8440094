//! Carrying out what is planned for a host, file by file. Everything is looked at and planned, and every file that is to change
//! found open to writing, before anything is written: what can be known before keeps all files of a host as they are. What
//! fails only while a file is written is told beside the files that are written already.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use frith_store::{
    hosts::{Host, Trust},
    text::PathText,
};
use serde::Serialize;
use similar::TextDiff;

use crate::{
    edit::EditError,
    install::{
        file::{self, FileError, Rights, Seen, Terms},
        find::{Found, find},
        ground::Ground,
        ours::{Basis, State, standing},
        plan::{self, Act, FilePlan},
        record::{Entered, EnteredFile, Held, Piece, Record},
        wanted::{self, Wanted, What},
    },
};

/// How often a file is planned anew that others change meanwhile.
pub(super) const TRIES: usize = 20;

/// What is to be done with hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Our things are entered.
    Enter,
    /// They are taken out.
    TakeOut,
}

/// How it is to be done.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    /// Nothing is written.
    pub dry_run: bool,
    /// Also what somebody changed.
    pub replace: bool,
    /// What does not stand there is not entered: what does is mended.
    pub standing_only: bool,
}

/// What became of a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostDone {
    /// Its id.
    pub host: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Its files.
    pub files: Vec<FileDone>,
    /// What a person has to know or do besides.
    pub notes: Vec<Note>,
    /// Why it was not done, or not to its end.
    pub fault: Option<String>,
}

impl HostDone {
    /// Whether any of its files is another one now, or would be.
    pub fn is_changed(&self) -> bool {
        self.files.iter().flat_map(|file| &file.parts).any(|part| part.act.changes())
    }
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDone {
    /// The file.
    pub file: PathText,
    /// What became of each thing in it.
    pub parts: Vec<PartDone>,
    /// The change, line by line.
    pub diff: Option<String>,
    /// Where the file lies as it was.
    pub backup: Option<PathText>,
}

/// What became of one thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartDone {
    /// The thing.
    pub what: What,
    /// What became of it.
    pub act: Act,
}

/// What a person has to know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Note {
    /// Hooks run only after a person has reviewed them in the host, by this command.
    Review(&'static str),
    /// Hooks run only in folders that are trusted in the host.
    TrustedFolder,
    /// Sessions that run go on without until they are started anew.
    Restart,
    /// No hook tells of its agents, so they are known by their server alone and nothing is pushed to them.
    NoHooks,
    /// The entry does not carry this home: the host uses the one that its own environment names.
    OtherHome(PathText),
    /// The program is entered by its path, since no search path has its name.
    ByPath(PathText),
    /// What is said of the host and was not seen to be so.
    Unverified(Vec<&'static str>),
    /// The entry of a repository finds the program on the search path alone.
    BySearchPath,
    /// These hosts run the same entry.
    SharedWith(Vec<&'static str>),
    /// The program that a key names is nobody's to change: a person adds this line to it.
    ByHand {
        /// The file.
        file: PathText,
        /// The key in it.
        key: Option<String>,
        /// What is to be added.
        line: String,
    },
}

/// Why a host's files cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is no text.
    #[error("`{}`: it is no UTF-8 text", .0.display())]
    NoText(PathBuf),
    /// A text cannot be changed.
    #[error("`{}`: {error}", file.display())]
    Edit {
        /// The file.
        file: PathBuf,
        /// Why.
        error: EditError,
    },
    /// The record or a folder cannot be written.
    #[error("`{}` cannot be written: {error}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody writes a file all the time.
    #[error("`{}` is changed by somebody else again and again", .0.display())]
    Restless(PathBuf),
}

/// A file, looked at and planned.
struct Planned {
    seen: Seen,
    text: Option<String>,
    plan: FilePlan,
}

/// A file with what belongs into it, or could stand there.
struct Group {
    path: PathBuf,
    wanted: Vec<Wanted>,
    task: Task,
}

impl Planned {
    fn changes(&self) -> bool {
        self.plan.text != self.text
    }
}

/// Does it for one host, which is here if something is to be entered.
pub fn carry_out(ground: &Ground<'_>, host: &'static Host, task: Task, how: How, held: &mut Held) -> HostDone {
    let found = find(ground, host);
    let mut done = HostDone { host: host.id, name: host.name, files: Vec::new(), notes: Vec::new(), fault: None };
    let carried = (Work { ground, host, found: &found, task, how }).run(held, &mut done.files);
    done.fault = carried.err().map(|error| error.to_string());
    if task == Task::Enter && done.fault.is_none() {
        done.notes = notes(ground, host, &done);
    }
    done
}

struct Work<'w> {
    ground: &'w Ground<'w>,
    host: &'static Host,
    found: &'w Found,
    task: Task,
    how: How,
}

impl Work<'_> {
    /// Does it, and adds each file that is done.
    fn run(&self, held: &mut Held, files: &mut Vec<FileDone>) -> Result<(), CarryError> {
        let groups = self.groups(&held.record);
        let planned = groups.iter().map(|group| self.plan(group, &held.record)).collect::<Result<Vec<_>, _>>()?;
        planned.iter().filter(|it| it.changes()).try_for_each(|it| file::require_open(&it.seen))?;
        if self.how.dry_run {
            files.extend(planned.iter().filter_map(|it| shown(it, None)));
            return Ok(());
        }
        self.note_before(held, &planned)?;
        let mut carried = Vec::new();
        let written = groups.iter().zip(planned).try_for_each(|(group, planned)| {
            let (planned, backup) = self.write(group, planned, held)?;
            files.extend(shown(&planned, backup));
            carried.push(planned);
            Ok(())
        });
        for group in groups.iter().filter(|group| group.task == Task::TakeOut) {
            sweep(&group.path, &held.record.folders);
        }
        written.and(self.note_after(held, &carried))
    }

    /// The host's files with what belongs into each, in the order of its row; then files that the record alone knows, and
    /// those into which only an earlier version entered something.
    fn groups(&self, record: &Record) -> Vec<Group> {
        let all = match self.task {
            Task::Enter => wanted::wanted(self.ground, self.host, self.found),
            Task::TakeOut => wanted::possible(self.ground, self.host),
        };
        let mut groups: Vec<Group> = Vec::new();
        for it in &all {
            match groups.iter_mut().find(|group| group.path == it.file) {
                Some(group) => group.wanted.push(it.clone()),
                None => groups.push(Group { path: it.file.clone(), wanted: vec![it.clone()], task: self.task }),
            }
        }
        let entered = record.hosts.get(self.host.id).filter(|_| self.task == Task::TakeOut);
        for file in entered.into_iter().flat_map(|entered| &entered.files) {
            let path = file.file.as_path().to_owned();
            if groups.iter().all(|known| known.path != path) {
                let is_in = |it: &&Wanted| file.pieces.iter().any(|piece| piece.what == it.what);
                let wanted = all.iter().filter(is_in).map(|it| Wanted { file: path.clone(), ..it.clone() }).collect();
                groups.push(Group { path, wanted, task: self.task });
            }
        }
        let former = wanted::former(self.ground, self.host).into_iter().filter(|_| self.task == Task::Enter);
        groups.extend(former.map(|it| Group { path: it.file.clone(), wanted: vec![it], task: Task::TakeOut }));
        groups
    }

    fn plan(&self, group: &Group, record: &Record) -> Result<Planned, CarryError> {
        let path = &group.path;
        let seen = file::look(path)?;
        let text = match &seen.bytes {
            None => None,
            Some(bytes) => Some(String::from_utf8(bytes.clone()).map_err(|_| CarryError::NoText(path.clone()))?),
        };
        let entered = record.hosts.get(self.host.id).and_then(|entered| entered.file(path));
        let recorded: &[Piece] = entered.map_or(&[], |file| &file.pieces);
        let basis = Basis { host: self.host.id, recorded, runs: &|program| self.ground.runs(program) };
        let stands = |it: &&Wanted| standing(text.as_deref(), it, &basis).is_ok_and(|it| it.state != State::Missing);
        let wanted: Vec<_> = group.wanted.iter().filter(|it| !self.how.standing_only || stands(it)).cloned().collect();
        let plan = match group.task {
            Task::Enter => plan::enter(text.as_deref(), &wanted, &basis, self.how.replace),
            Task::TakeOut => plan::take_out(text.as_deref(), &wanted, &basis, self.how.replace),
        };
        let mut plan = plan.map_err(|error| CarryError::Edit { file: path.clone(), error })?;
        // Somebody's own file of a name that ours had once is of no concern to whoever installs.
        plan.acts.retain(|(_, act)| group.task == self.task || *act != Act::LeftForeign);
        Ok(Planned { seen, text, plan })
    }

    /// Notes what will stand where before it is written: a command that is killed then leaves nothing that is not known.
    fn note_before(&self, held: &mut Held, planned: &[Planned]) -> Result<(), CarryError> {
        let known = held.record.hosts.get(self.host.id);
        let is_of_ours = known.is_some() || planned.iter().any(|it| it.plan.acts.iter().any(|(_, act)| act.changes()));
        if self.task == Task::TakeOut && !is_of_ours {
            return Ok(());
        }
        let installed = self.task == Task::Enter;
        let mut entered = known.cloned().unwrap_or_else(|| self.entered(installed));
        if entered.installed != installed {
            entered = Entered { files: entered.files, ..self.entered(installed) };
        }
        if installed {
            planned.iter().filter(|it| !it.plan.pieces.is_empty()).for_each(|it| note_file(&mut entered, it));
        }
        let is_new = |it: &&Planned| it.text.is_none() && it.plan.text.is_some();
        held.record.folders.extend(planned.iter().filter(is_new).flat_map(|it| missing_folders(&it.seen.path)));
        self.save(held, entered)
    }

    fn entered(&self, installed: bool) -> Entered {
        Entered { installed, since: self.ground.now, files: Vec::new() }
    }

    /// What was taken out is forgotten only once it is out, and so are the folders that went. What was left stays known.
    fn note_after(&self, held: &mut Held, carried: &[Planned]) -> Result<(), CarryError> {
        held.record.folders.retain(|folder| folder.exists());
        held.record.backups.retain(|backup| backup.exists());
        match held.record.hosts.get(self.host.id).cloned() {
            Some(mut entered) => {
                carried.iter().for_each(|it| note_file(&mut entered, it));
                entered.files.retain(|file| !file.pieces.is_empty());
                self.save(held, entered)
            }
            None => Ok(()),
        }
    }

    fn save(&self, held: &mut Held, entered: Entered) -> Result<(), CarryError> {
        held.record.hosts.insert(self.host.id.to_owned(), entered);
        held.save().map_err(|error| CarryError::Io { path: super::record::file(&self.ground.home), error })
    }

    /// Writes a file; answers with what was planned for it at last, and with the backup.
    fn write(&self, group: &Group, mut planned: Planned, held: &mut Held) -> Result<(Planned, Option<PathBuf>), CarryError> {
        let Ground { now, backups, faults, .. } = *self.ground;
        for _ in 0..TRIES {
            if !planned.changes() {
                return Ok((planned, None));
            }
            let rights = if planned.plan.is_program { Rights::Program } else { Rights::Private };
            let ours = held.record.backups.clone();
            let terms = Terms { now, backups, rights, ours: Some(&ours), keeps_removed: planned.plan.loses_edit, faults };
            match file::write_on(&planned.seen, planned.plan.text.as_deref(), terms) {
                Ok(written) => {
                    held.record.backups.extend(written.backup.clone());
                    return Ok((planned, written.backup));
                }
                Err(FileError::Changed { .. }) => {
                    planned = self.plan(group, &held.record)?;
                    if let (Task::Enter, Some(mut entered)) = (group.task, held.record.hosts.get(self.host.id).cloned()) {
                        note_file(&mut entered, &planned);
                        self.save(held, entered)?;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(CarryError::Restless(group.path.clone()))
    }
}

fn note_file(entered: &mut Entered, planned: &Planned) {
    let file: PathText = planned.seen.path.as_path().into();
    let noted = EnteredFile { file, pieces: planned.plan.pieces.clone() };
    match entered.files.iter_mut().find(|it| it.file == noted.file) {
        Some(there) => *there = noted,
        None if noted.pieces.is_empty() => {}
        None => entered.files.push(noted),
    }
}

/// Takes away what is left around a file: what a command wrote beside it that was killed, and, when it is gone, the folders
/// that were made for it.
pub(super) fn sweep(path: &Path, made: &BTreeSet<PathBuf>) {
    file::forget_begun(path);
    if path.exists() {
        return;
    }
    for folder in path.ancestors().skip(1).take_while(|folder| made.contains(*folder)) {
        // One in which something else stands stays, and goes with that if it is ours.
        let _ = fs::remove_dir(folder);
    }
}

/// The folders above a file that are not there.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

fn shown(planned: &Planned, backup: Option<PathBuf>) -> Option<FileDone> {
    let Planned { seen, text, plan, .. } = planned;
    let parts: Vec<_> = plan.acts.iter().map(|(what, act)| PartDone { what: what.clone(), act: *act }).collect();
    let file = seen.path.as_path().into();
    let done = FileDone {
        file,
        parts,
        diff: diff(&seen.path, text.as_deref(), plan.text.as_deref()),
        backup: backup.map(|it| it.as_path().into()),
    };
    (!done.parts.is_empty()).then_some(done)
}

/// The difference of two texts of a file, as `diff -u` tells it.
pub(super) fn diff(path: &Path, before: Option<&str>, after: Option<&str>) -> Option<String> {
    if before == after {
        return None;
    }
    let name = |text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| path.display().to_string());
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    Some(diff.unified_diff().context_radius(3).header(&name(before), &name(after)).to_string())
}

fn notes(ground: &Ground<'_>, host: &'static Host, done: &HostDone) -> Vec<Note> {
    let hooks = host.hooks.known().filter(|hooks| hooks.installed);
    let mut notes = Vec::new();
    match hooks.map(|hooks| hooks.trust) {
        Some(Trust::Review(command)) => notes.push(Note::Review(command)),
        Some(Trust::Folder) => notes.push(Note::TrustedFolder),
        Some(Trust::Free) => {}
        None => notes.push(Note::NoHooks),
    }
    if done.is_changed() {
        notes.push(Note::Restart);
    }
    if !ground.is_usual_home() {
        notes.push(Note::OtherHome(ground.home.as_path().into()));
    }
    if !ground.is_named() {
        notes.push(Note::ByPath(ground.program.as_path().into()));
    }
    if !host.unverified.is_empty() {
        notes.push(Note::Unverified(host.unverified.to_vec()));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        env::world::Faults,
        install::{
            ground::tests::{bare, program},
            record,
        },
    };

    /// Puts a folder where a host's second file is to be, once its first one is written.
    struct Spoils(PathBuf);

    impl Faults for Spoils {
        fn reached(&self, point: &'static str) {
            if point == "install.renamed" {
                let _ = fs::create_dir_all(&self.0);
            }
        }
    }

    #[test]
    fn what_was_written_before_a_fault_is_told_beside_it_and_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let spoils = Spoils(folder.path().join(".claude/settings.json"));
        let nothing = |_: &str| None;
        let ground = Ground { faults: &spoils, ..bare(folder.path(), &nothing) };
        program(&folder.path().join("bin/claude"));
        fs::create_dir_all(&ground.home).unwrap();
        fs::write(folder.path().join(".claude.json"), "{}").unwrap();
        let host = frith_store::hosts::host("claude").unwrap();
        let mut held = record::hold(&ground.home).unwrap();
        let done = carry_out(&ground, host, Task::Enter, How::default(), &mut held);
        assert!(done.fault.as_ref().is_some_and(|fault| fault.contains("settings.json` is a folder")), "{done:?}");
        assert!(done.is_changed() && done.files.len() == 1 && done.files[0].backup.is_some(), "{done:?}");
        fs::remove_dir(&spoils.0).unwrap();
        let mended = Ground { faults: &crate::env::world::NoFaults, ..ground };
        let done = carry_out(&mended, host, Task::TakeOut, How::default(), &mut held);
        assert_eq!(done.fault, None);
        assert_eq!(fs::read_to_string(folder.path().join(".claude.json")).unwrap(), "{}");
    }
}
