//! Entering into a repository what has a host's new worktrees adopted, and taking it out again.
//!
//! Its files are the repository's: git is the undo, so no backup is made; nothing in it leads a write out of it; and one entry
//! serves every host that reads the same file. What is to change is planned from texts (`adoption`).

use std::path::{Path, PathBuf};

use frith_store::{
    hosts::{self, Host, PostCreate, PostCreateEntry},
    text::PathText,
};

use crate::install::{
    adoption::{self, AdoptionError, AdoptionPlan},
    carry::{FileDone, HostDone, How, Note, PartDone, TRIES, Task, diff, missing_folders, sweep},
    file::{self, FileError, Rights, Seen, Terms},
    ground::Ground,
    record::{EnteredFile, Held, Piece, Record},
    wanted::What,
};

/// Why a repository's files cannot be changed.
#[derive(Debug, thiserror::Error)]
enum RepositoryError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is no text.
    #[error("`{}`: it is no UTF-8 text", .0.display())]
    NoText(PathBuf),
    /// A file lies elsewhere.
    #[error("`{}` leads out of the repository, to `{}`", file.display(), real.display())]
    Outside {
        /// The file.
        file: PathBuf,
        /// Where it leads.
        real: PathBuf,
    },
    /// A text cannot be changed.
    #[error("`{}`: {error}", file.display())]
    Plan {
        /// The file.
        file: PathBuf,
        /// Why.
        error: AdoptionError,
    },
    /// The record cannot be written.
    #[error("`{}` cannot be written: {error}", path.display())]
    Record {
        /// Where it lies.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Somebody writes a file all the time.
    #[error("`{}` is changed by somebody else again and again", .0.display())]
    Restless(PathBuf),
}

/// Does it for one host in the checkout of this top folder, which has no links in it.
pub fn carry_out(ground: &Ground<'_>, top: &Path, host: &'static Host, task: Task, how: How, held: &mut Held) -> HostDone {
    let mut done = HostDone { host: host.id, name: host.name, files: Vec::new(), notes: Vec::new(), fault: None };
    let Some(way) = host.worktrees.post_create.known() else { return done };
    let carried = (Work { ground, top, way, task, how }).run(held, &mut done);
    done.fault = carried.err().map(|error| error.to_string());
    if done.is_changed() {
        let shares = |it: &&'static Host| it.id != host.id && it.worktrees.post_create.known().is_some_and(|it| it.files == way.files);
        let others: Vec<_> = hosts::all().iter().copied().filter(shares).map(|it| it.id).collect();
        done.notes.extend((!others.is_empty()).then_some(Note::SharedWith(others)));
        done.notes.extend((task == Task::Enter).then_some(Note::BySearchPath));
    }
    done
}

struct Work<'w> {
    ground: &'w Ground<'w>,
    top: &'w Path,
    way: &'w PostCreate,
    task: Task,
    how: How,
}

/// A file, looked at and planned.
struct Planned {
    task: Task,
    seen: Seen,
    text: Option<String>,
    plan: AdoptionPlan,
}

impl Planned {
    fn changes(&self) -> bool {
        self.plan.text != self.text
    }
}

impl Work<'_> {
    fn run(&self, held: &mut Held, done: &mut HostDone) -> Result<(), RepositoryError> {
        let planned = self.planned(&held.record)?;
        planned.iter().filter(|it| it.changes()).try_for_each(|it| file::require_open(&it.seen))?;
        let by_hand = |it: &Planned| {
            let file: PathText = it.seen.path.as_path().into();
            let note = move |(key, line): &(Option<&str>, String)| Note::ByHand {
                file: file.clone(),
                key: key.map(str::to_owned),
                line: line.clone(),
            };
            it.plan.by_hand.iter().map(note).collect::<Vec<_>>()
        };
        done.notes.extend(planned.iter().flat_map(by_hand));
        if self.how.dry_run {
            done.files.extend(planned.iter().filter_map(shown));
            return Ok(());
        }
        self.note_before(held, &planned)?;
        for it in planned {
            let written = self.write(it, &held.record)?;
            done.files.extend(shown(&written));
            sweep(&written.seen.path, &held.record.folders);
            self.note_after(held, &written)?;
        }
        Ok(())
    }

    /// The files of the row: what is entered goes into the one that the host reads, and is nowhere else then.
    fn planned(&self, record: &Record) -> Result<Vec<Planned>, RepositoryError> {
        let paths: Vec<_> = self.way.files.iter().map(|file| self.top.join(file)).collect();
        let mut in_use = None;
        for path in &paths {
            let is_in_use = adoption::is_in_use(self.look(path)?.1.as_deref(), self.way);
            let is_in_use = is_in_use.map_err(|error| RepositoryError::Plan { file: path.clone(), error })?;
            in_use = in_use.or_else(|| is_in_use.then_some(path));
        }
        let chosen = in_use.or(paths.first());
        let task = |path| if Some(path) == chosen { self.task } else { Task::TakeOut };
        paths.iter().map(|path| self.plan(path, task(path), record)).collect()
    }

    fn look(&self, path: &Path) -> Result<(Seen, Option<String>), RepositoryError> {
        let seen = file::look(path)?;
        if !seen.real.starts_with(self.top) {
            return Err(RepositoryError::Outside { file: path.to_owned(), real: seen.real });
        }
        let text = seen.bytes.clone().map(String::from_utf8).transpose().map_err(|_| RepositoryError::NoText(path.to_owned()))?;
        Ok((seen, text))
    }

    fn plan(&self, path: &Path, task: Task, record: &Record) -> Result<Planned, RepositoryError> {
        let (seen, text) = self.look(path)?;
        let recorded: &[Piece] = record.repositories.iter().find(|it| it.file.as_path() == path).map_or(&[], |it| &it.pieces);
        let plan = match task {
            Task::Enter => adoption::enter(text.as_deref(), self.way, recorded, self.how.replace),
            Task::TakeOut => adoption::take_out(text.as_deref(), self.way, recorded, self.how.replace),
        };
        let plan = plan.map_err(|error| RepositoryError::Plan { file: path.to_owned(), error })?;
        Ok(Planned { task, seen, text, plan })
    }

    /// Notes what will stand where before it is written: a command that is killed then leaves nothing that is not known.
    fn note_before(&self, held: &mut Held, planned: &[Planned]) -> Result<(), RepositoryError> {
        for it in planned.iter().filter(|it| it.task == Task::Enter && it.changes()) {
            if it.text.is_none() {
                held.record.folders.extend(missing_folders(&it.seen.path));
            }
            note(&mut held.record, it);
        }
        self.save(held)
    }

    fn note_after(&self, held: &mut Held, written: &Planned) -> Result<(), RepositoryError> {
        held.record.folders.retain(|folder| folder.exists());
        note(&mut held.record, written);
        self.save(held)
    }

    fn save(&self, held: &mut Held) -> Result<(), RepositoryError> {
        held.save().map_err(|error| RepositoryError::Record { path: super::record::file(&self.ground.home), error })
    }

    fn write(&self, mut planned: Planned, record: &Record) -> Result<Planned, RepositoryError> {
        let is_program = self.way.entry == PostCreateEntry::MarkedLines;
        let rights = if is_program { Rights::Program } else { Rights::Shared };
        let terms = Terms { now: self.ground.now, backups: 0, rights, ours: None, keeps_removed: false, faults: self.ground.faults };
        for _ in 0..TRIES {
            if !planned.changes() {
                return Ok(planned);
            }
            match file::write_on(&planned.seen, planned.plan.text.as_deref(), terms) {
                Ok(_) => return Ok(planned),
                Err(FileError::Changed { .. }) => planned = self.plan(&planned.seen.path, planned.task, record)?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(RepositoryError::Restless(planned.seen.path))
    }
}

fn note(record: &mut Record, planned: &Planned) {
    let noted = EnteredFile { file: planned.seen.path.as_path().into(), pieces: planned.plan.pieces.clone() };
    record.repositories.retain(|it| it.file != noted.file);
    record.repositories.extend((!noted.pieces.is_empty()).then_some(noted));
}

fn shown(planned: &Planned) -> Option<FileDone> {
    let Planned { seen, text, plan, .. } = planned;
    let parts: Vec<_> = plan.acts.iter().map(|act| PartDone { what: What::Adoption, act: *act }).collect();
    let diff = diff(&seen.path, text.as_deref(), plan.text.as_deref());
    (!parts.is_empty()).then(|| FileDone { file: seen.path.as_path().into(), parts, diff, backup: None })
}
