//! What a launched agent is given in files of its folder, its permission rules and the entry by which it is told of frith's
//! tools: written before it starts, taken back when it ended. The rules are kept as its place has them while it runs.
//!
//! What is about to be written is recorded first, with what was there before, so that a node that starts anew takes back
//! what one before it left. Entries that somebody else wrote are never touched.

use std::{io, path::Path};

use frith_store::{
    error::Failure,
    hosts::Format,
    id::{AgentId, PlaceId},
    model::{By, Place},
    refusal::Refusal,
    rules::{
        named,
        place::{can_allow, can_be_rule},
    },
    text::PathText,
    tx::PlaceEdit,
    view::StepRow,
};
use serde::{Deserialize, Serialize};

use crate::{
    call::Failed,
    caller::parent_of,
    ctx::Ctx,
    edit::{self, EditError, Put, Step},
    env::{host_files::HostFiles, world::blocking},
    kinds::RulesWay,
    permission::{self, EntriesFault, GivenFile, given},
};

/// What an agent was given, and what was there before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct GivenStep {
    agent: AgentId,
    folder: PathText,
    given: GivenFile,
    /// The file as it was; none when it was not there.
    before: Option<String>,
    made_folder: bool,
}

/// Under which keys steps are kept, by what is given: an agent has at most one of each.
const RULES: &[u8] = b"rules/";
const ENTRY: &[u8] = b"entry/";

impl GivenStep {
    fn key(agent: AgentId, given: &GivenFile) -> Vec<u8> {
        let prefix = match given {
            GivenFile::Entries { .. } | GivenFile::Whole { .. } => RULES,
            GivenFile::Entry { .. } => ENTRY,
        };
        [prefix, agent.as_bytes()].concat()
    }

    fn keys(agent: AgentId) -> [Vec<u8>; 2] {
        [RULES, ENTRY].map(|prefix| [prefix, agent.as_bytes()].concat())
    }

    /// The file as it would be without what was given; none when it would not be there.
    fn without(&self, now: &str) -> Result<Option<String>, GivingFault> {
        match &self.given {
            GivenFile::Whole { .. } => Ok(None),
            GivenFile::Entries { key_path, rules, .. } => {
                let (written, added) = permission::with_entries(self.before.as_deref().unwrap_or_default(), key_path, rules)?;
                let as_written = now == written;
                if as_written { Ok(self.before.clone()) } else { Ok(Some(permission::without_entries(now, key_path, &added)?)) }
            }
            GivenFile::Entry { key_path, entry, .. } => self.without_entry(now, &steps(key_path), entry),
        }
    }

    /// An entry that was there before, or that somebody changed since, is not the one that was given.
    fn without_entry(&self, now: &str, at: &[Step], entry: &str) -> Result<Option<String>, GivingFault> {
        let (before, given) = (self.before.as_deref(), json(entry)?);
        if edit::read(Format::Jsonc, before, at)?.is_some() || edit::read(Format::Jsonc, Some(now), at)?.as_ref() != Some(&given) {
            return Ok(Some(now.to_owned()));
        }
        let Put { text: written, made } = edit::put(Format::Jsonc, before, at, &given)?;
        if now == written { Ok(self.before.clone()) } else { Ok(edit::take(Format::Jsonc, Some(now), at, made)?) }
    }
}

fn steps(key_path: &[String]) -> Vec<Step> {
    key_path.iter().cloned().map(Step::Key).collect()
}

fn json(text: &str) -> Result<serde_json::Value, GivingFault> {
    serde_json::from_str(text).map_err(|error| GivingFault::Io(error.into()))
}

/// Why something could not be given.
#[derive(Debug, thiserror::Error)]
enum GivingFault {
    #[error(transparent)]
    Entries(#[from] EntriesFault),
    #[error(transparent)]
    Entry(#[from] EditError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl GivingFault {
    fn failed(self, place: &Place, file: PathText, is_entry: bool) -> Failed {
        match self {
            Self::Io(fault) if is_entry => Failed::Broken {
                facts: vec![
                    format!("the entry for frith's tools cannot be written to `{file}`, or git cannot be told to pass over it"),
                    fault.to_string(),
                ],
                hint: Some("make room for it: `frith doctor` looks at the disk".to_owned()),
            },
            fault => fault.refusal(place, file).into(),
        }
    }

    fn refusal(self, place: &Place, file: PathText) -> Refusal {
        match self {
            Self::Entries(fault) => {
                Refusal::ProjectFileBroken { file, format: "JSON with a list of rules".into(), fault: fault.to_string() }
            }
            Self::Entry(fault) => Refusal::ProjectFileBroken { file, format: "JSON with an entry".into(), fault: fault.to_string() },
            Self::Io(fault) => Refusal::RulesNotWritten { place: named(place), file, fault: fault.to_string() },
        }
    }
}

/// Whether a file in a folder can take rules; nothing is written.
///
/// # Errors
/// The refusal that names the file and what is wrong with it.
pub async fn require_room(ctx: &Ctx, place: &Place, folder: &Path, file: &GivenFile) -> Result<(), Failed> {
    let (files, at, wanted) = (ctx.env.host_files.clone(), folder.to_owned(), file.clone());
    let looked = blocking(&ctx.env.blocking, move || -> Result<(), GivingFault> {
        let before = files.read(&at, wanted.file())?;
        with(&wanted, before.as_deref()).map(|_| ())
    });
    let looked = looked.await.map_err(Failed::from_work)?;
    let is_entry = matches!(file, GivenFile::Entry { .. });
    looked.map_err(|fault| fault.failed(place, PathText::from(folder.join(file.file()).as_path()), is_entry))
}

/// The file with what is given; none when there is nothing to give and no file.
fn with(file: &GivenFile, before: Option<&str>) -> Result<Option<String>, GivingFault> {
    match file {
        GivenFile::Entries { rules, .. } if rules.is_empty() => Ok(before.map(str::to_owned)),
        GivenFile::Entries { key_path, rules, .. } => Ok(Some(permission::with_entries(before.unwrap_or_default(), key_path, rules)?.0)),
        GivenFile::Whole { text, .. } => Ok(Some(text.clone())),
        GivenFile::Entry { key_path, entry, .. } => {
            let at = steps(key_path);
            // One that is there speaks for this place, or the launch would have been refused.
            let is_there = edit::read(Format::Jsonc, before, &at)?.is_some();
            Ok(if is_there { before.map(str::to_owned) } else { Some(edit::put(Format::Jsonc, before, &at, &json(entry)?)?.text) })
        }
    }
}

/// Gives an agent its rules, or its entry, in the place of what it was given before.
///
/// # Errors
/// The refusal that names the file and what is wrong with it.
pub async fn give(ctx: &Ctx, place: &Place, agent: AgentId, folder: &Path, file: GivenFile) -> Result<(), Failed> {
    let path = PathText::from(folder.join(file.file()).as_path());
    let is_entry = matches!(file, GivenFile::Entry { .. });
    let refuse = |fault: GivingFault| fault.failed(place, path.clone(), is_entry);
    let key = GivenStep::key(agent, &file);
    let earlier = ctx.db.read(move |view| Ok(view.step(&key)?)).await?.and_then(|bytes| read_step(&bytes));
    let (files, at, wanted) = (ctx.env.host_files.clone(), folder.to_owned(), file);
    let planned = blocking(&ctx.env.blocking, move || -> Result<Planned, GivingFault> {
        let now = files.read(&at, wanted.file())?;
        let before = match (&earlier, &now) {
            (Some(earlier), Some(now)) => earlier.without(now)?,
            _ => now.clone(),
        };
        let made_folder = earlier.is_some_and(|earlier| earlier.made_folder);
        let text = with(&wanted, before.as_deref())?;
        let step = GivenStep { agent, folder: PathText::from(at.as_path()), given: wanted, before, made_folder };
        Ok(Planned { step, changes: now != text, text })
    });
    let Planned { mut step, changes, text } = planned.await.map_err(Failed::from_work)?.map_err(refuse)?;
    record(ctx, &step).await?;
    if !changes {
        return Ok(());
    }
    ctx.env.faults.reached("given.recorded");
    let (files, at, given, made_folder) = (ctx.env.host_files.clone(), folder.to_owned(), step.given.clone(), step.made_folder);
    let written = blocking(&ctx.env.blocking, move || {
        keep_out_of_git(&*files, &at, &given)?;
        write(&*files, &at, given.file(), text.as_deref(), made_folder)
    });
    if written.await.map_err(Failed::from_work)?.map_err(|error| refuse(error.into()))? {
        step.made_folder = true;
        record(ctx, &step).await?;
    }
    ctx.env.faults.reached("given.written");
    Ok(())
}

/// What is to be written, and how the file will be.
struct Planned {
    step: GivenStep,
    changes: bool,
    text: Option<String>,
}

/// Answers whether a folder was made for the file.
fn write(files: &dyn HostFiles, folder: &Path, file: &str, text: Option<&str>, and_folder: bool) -> io::Result<bool> {
    match text {
        Some(text) => files.write(folder, file, text),
        None => files.remove(folder, file, and_folder).map(|()| false),
    }
}

/// Has git pass over a file before it is written. A fork's entry that came into a commit would make others speak for the fork:
/// where git cannot be told, it is not written.
fn keep_out_of_git(files: &dyn HostFiles, folder: &Path, given: &GivenFile) -> io::Result<()> {
    match files.keep_out_of_git(folder, given.file()) {
        Err(error) if matches!(given, GivenFile::Entry { .. }) => Err(error),
        Err(error) => {
            tracing::warn!(folder = %folder.display(), file = given.file(), %error, "git may show a file that frith writes for an agent");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

async fn record(ctx: &Ctx, step: &GivenStep) -> Result<(), Failed> {
    let (key, bytes) = (GivenStep::key(step.agent, &step.given), postcard::to_stdvec(step));
    let bytes = bytes.map_err(|error| Failed::broken_by("what an agent is given could not be written down", &error))?;
    Ok(ctx.db.write(move |tx| Ok(tx.set_step(&key, &bytes)?)).await?)
}

fn read_step(bytes: &[u8]) -> Option<GivenStep> {
    postcard::from_bytes(bytes).map_err(|error| tracing::error!(%error, "what an agent was given cannot be read, and stays")).ok()
}

/// Takes back what an agent was given that has ended.
pub async fn take_back(ctx: &Ctx, agent: AgentId) {
    for key in GivenStep::keys(agent) {
        match ctx.db.read(move |view| Ok(view.step(&key)?)).await {
            Ok(Some(bytes)) => take_back_step(ctx, &bytes).await,
            Ok(None) => {}
            Err(failure) => tracing::error!(%agent, %failure, "what an agent was given could not be looked up"),
        }
    }
}

async fn take_back_step(ctx: &Ctx, bytes: &[u8]) {
    let Some(step) = read_step(bytes) else { return };
    let (agent, key) = (step.agent, GivenStep::key(step.agent, &step.given));
    let (files, folder, file) = (ctx.env.host_files.clone(), step.folder.clone(), step.given.file().to_owned());
    let taken = blocking(&ctx.env.blocking, move || -> Result<(), GivingFault> {
        let folder = step.folder.as_path();
        let Some(now) = files.read(folder, step.given.file())? else { return Ok(()) };
        let before = step.without(&now)?;
        if before.as_ref() != Some(&now) {
            write(&*files, folder, step.given.file(), before.as_deref(), step.made_folder)?;
        }
        Ok(())
    });
    match taken.await {
        Ok(Ok(())) => {}
        // What is recorded stays, so that it is tried again once somebody has mended the file.
        Ok(Err(fault)) => {
            return tracing::warn!(%agent, folder = %folder, file, %fault, "what an agent was given is not taken back yet");
        }
        Err(lost) => return tracing::error!(%agent, %lost, "taking back what an agent was given failed"),
    }
    if let Err(failure) = ctx.db.write(move |tx| Ok(tx.clear_step(&key)?)).await {
        tracing::error!(%agent, %failure, "that what an agent was given was taken back could not be written down");
    }
}

/// Takes back what the agents of a node that is gone were given.
///
/// # Errors
/// The store broke.
pub async fn take_back_all(ctx: &Ctx) -> Result<(), Failure> {
    for (_, bytes) in all_steps(ctx).await? {
        take_back_step(ctx, &bytes).await;
    }
    Ok(())
}

/// Every step with its key.
async fn all_steps(ctx: &Ctx) -> Result<Vec<StepRow>, Failure> {
    ctx.db.read(|view| Ok([view.steps_of(RULES)?, view.steps_of(ENTRY)?].concat())).await
}

/// Takes back what agents were given that have ended and whose file could not be changed then.
pub async fn take_back_left(ctx: &Ctx) {
    let steps = match all_steps(ctx).await {
        Ok(steps) => steps,
        Err(failure) => return tracing::error!(%failure, "what agents were given could not be looked up"),
    };
    let running: Vec<AgentId> = ctx.roster.all().into_iter().map(|agent| agent.id).collect();
    for (_, bytes) in &steps {
        if read_step(bytes).is_some_and(|step| !running.contains(&step.agent)) {
            take_back_step(ctx, bytes).await;
        }
    }
}

/// Gives a running agent the rules that its place has now, as far as its kind takes them while it runs.
pub async fn renew(ctx: &Ctx, place: &Place, agent: AgentId) {
    let id = place.id;
    let read = ctx.db.read(move |view| {
        let rules = view.effective_settings(&view.require_place(id)?)?.auto_allowed_tools;
        Ok((rules, view.agent(agent)?))
    });
    let (rules, Some(agent)) = (match read.await {
        Ok(read) => read,
        Err(failure) => return tracing::error!(%agent, %failure, "the rules of a running agent could not be read"),
    }) else {
        return;
    };
    let way = ctx.config.now().kinds.get(&agent.host).and_then(|kind| kind.rules.clone());
    let (Some(folder), Some(way)) = (&agent.folder, way) else { return };
    let Some(file) = given(Some(&way), &rules).file.or_else(|| none_of(&way)) else { return };
    if let Err(failed) = give(ctx, place, agent.id, folder.as_path(), file).await {
        tracing::warn!(agent = %agent.id, %failed, "a running agent keeps the permission rules it was launched with");
    }
}

/// No rules at all, which takes back those that were given.
fn none_of(way: &RulesWay) -> Option<GivenFile> {
    match way {
        RulesWay::List { file, key_path } => Some(GivenFile::Entries { file: file.clone(), key_path: key_path.clone(), rules: vec![] }),
        _ => None,
    }
}

/// The rules in the file of a running agent, whoever wrote them; none where its kind has no such file.
pub async fn in_file(ctx: &Ctx, agent: AgentId) -> Option<Vec<String>> {
    let agent = ctx.db.read(move |view| Ok(view.agent(agent)?)).await.ok()??;
    let way = ctx.config.now().kinds.get(&agent.host)?.rules.clone();
    let (folder, RulesWay::List { file, key_path }) = (agent.folder?, way?) else { return None };
    let files = ctx.env.host_files.clone();
    let read = blocking(&ctx.env.blocking, move || files.read(folder.as_path(), &file));
    let text = read.await.ok()?.ok()?.unwrap_or_default();
    permission::entries(&text, &key_path).ok()
}

/// Adds rules that a person allowed in a fork's agent to those of its parent. Answers false where the place is no fork.
///
/// # Errors
/// The parent takes no writes, or the store broke.
pub async fn allow_in_fork(ctx: &Ctx, place: PlaceId, rules: Vec<String>) -> Result<bool, Failure> {
    let by = By::Person(ctx.env.user.to_string());
    let rules: Vec<String> = rules.into_iter().filter(|rule| can_be_rule(rule).is_ok()).collect();
    ctx.db
        .write(move |tx| {
            let fork = tx.require_place(place)?;
            if fork.parent().is_none() {
                return Ok(false);
            }
            for rule in &rules {
                let plan = can_allow(&fork, parent_of(tx, &fork)?.as_ref(), rule, false)?;
                let holder = plan.place();
                if let Some(settings) = plan.into_settings() {
                    tx.set_place(holder, PlaceEdit { settings: Some(settings), ..PlaceEdit::default() }, &by)?;
                }
            }
            Ok(true)
        })
        .await
}
