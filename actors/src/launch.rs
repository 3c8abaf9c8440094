//! Launching an agent, from the decision to its running process, as steps that a restart can finish or undo.
//!
//! What can be refused is refused before anything exists. Then the launch is recorded, the fork's folder is made, the
//! process is started, and what runs is recorded; a node that ends in between leaves a record without an end, by which
//! the next one finds what is left and ends it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use frith_store::{
    docs::log::Fact,
    error::Failure,
    git::{FolderPlan, Limits, MadeFolder, PlanError, Way, command_line},
    id::{AgentId, MachineId, PlaceId, TaskId},
    model::{By, CheckoutKind, EndHow, Place, PlaceKind, ProcessRef},
    refusal::Refusal,
    rules::{
        launch::{LaunchPlan, Slots, can_launch, can_run_fork},
        seat::can_decide,
    },
    text::PathText,
    view::View,
};
use ractor::{ActorRef, RpcReplyPort, rpc::CallResult};
use tokio::sync::mpsc;

use crate::{
    call::{Failed, Progress},
    caller::{mark, parent_of},
    config::Kind,
    ctx::Ctx,
    entry::{self, EntryGiven, Telling},
    env::{
        launch_env::launch_env,
        process::{Launch, LaunchToken, TerminalSize},
        world::{Purpose, blocking},
    },
    fork::{Cancel, ForkMsg, MakeFault, Told},
    fresh_context, given,
    permission::{Given, given},
    roster::Member,
    terminal::{Patterns, TerminalError},
    terminals::{self, TerminalRef, Terminals},
};

/// What a launch was asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The place.
    pub place: PlaceId,
    /// The kind; the one last launched there when absent.
    pub kind: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The effort.
    pub effort: Option<String>,
    /// Who asks.
    pub by: By,
    /// The environment of whoever asks.
    pub environment: Vec<(OsString, OsString)>,
    /// The size of their terminal.
    pub size: TerminalSize,
    /// The task it is launched for, when that is known before the place is.
    pub task: Option<TaskId>,
}

/// What a launch needs, found before anything is recorded.
#[derive(Debug)]
struct Prepared {
    agent: AgentId,
    token: LaunchToken,
    ready: Ready,
    folder: Folder,
}

/// Where the agent will start.
#[derive(Debug)]
enum Folder {
    Chosen(PathBuf),
    Planned(Box<FolderPlan>),
}

/// Finds out whether a launch can begin, and with what. Nothing is made or recorded.
async fn prepare(ctx: &Ctx, asked: &Asked) -> Result<Prepared, Failed> {
    let (here, limit, place) = (ctx.db.store().machine(), ctx.config.now().max_agents, asked.place);
    let (plan, place) = ctx.db.read(move |view| decide(view, here, place, limit)).await?;
    let agent = AgentId::from_random(ctx.fresh_id());
    let token = LaunchToken::from_random(ctx.env.random.bytes(Purpose::Secrets));
    let ready = ready(ctx, asked, &place, &ours(ctx, agent, &token)).await?;
    let folder = if plan.makes_folder() {
        Folder::Planned(Box::new(plan_folder(ctx, &ready, plan.folder(), &place.id).await?))
    } else {
        let folder = chosen_folder(ctx, plan.folder()).await?;
        if let Some(file) = &ready.rules.file {
            given::require_room(ctx, &place, &folder, file).await?;
        }
        Folder::Chosen(folder)
    };
    Ok(Prepared { agent, token, ready, folder })
}

/// A kind that this machine can run, and what it is started with.
#[derive(Debug)]
struct Ready {
    name: String,
    kind: Kind,
    environment: Vec<(OsString, OsString)>,
    line: Vec<String>,
    patterns: Option<Patterns>,
    rules: Given,
}

async fn ready(ctx: &Ctx, asked: &Asked, place: &Place, ours: &[(OsString, OsString)]) -> Result<Ready, Failed> {
    let (id, named, task) = (place.id, asked.kind.clone(), asked.task);
    let (named, settings, allows_all) = ctx
        .db
        .read(move |view| {
            let place = view.require_place(id)?;
            let named = named.map_or_else(|| last_kind(view, &place), |kind| Ok(Some(kind)))?;
            let settings = view.effective_settings(&place)?;
            let allows_all = settings.allow_all_commands || task_allows_all(view, &place, task)?;
            Ok((named, settings, allows_all))
        })
        .await?;
    let name = named.map_or_else(|| only_kind(ctx), Ok)?;
    let kind = kind(ctx, &name, asked)?;
    if allows_all && kind.allow_all_args.is_empty() {
        return Err(unknown_option(&name, "flag", "allow-all-commands", &[]).into());
    }
    let rules = given(kind.rules.as_ref(), &settings.auto_allowed_tools);
    let mut ours = ours.to_vec();
    ours.extend(rules.variable.iter().map(|(name, value)| (name.into(), value.into())));
    let environment = launch_env(&asked.environment, &kind.environment, &ours);
    let mut line = kind.command_line(asked.model.as_deref(), asked.effort.as_deref(), allows_all);
    line.extend(rules.args.iter().cloned());
    require_command(ctx, &name, &line, &environment).await?;
    let patterns = Patterns::of(&kind).map_err(|error| tracing::warn!(kind = name, %error, "the screens of a kind are not read")).ok();
    Ok(Ready { name, kind, environment, line, patterns, rules })
}

/// Whether the task for which the agent is launched lets it run every command: the one its fork was made for, while that
/// is there and unfinished.
fn task_allows_all(view: &View<'_>, place: &Place, task: Option<TaskId>) -> Result<bool, Failure> {
    let Some(task) = task.or(place.spun_up_for).map(|task| view.task(task)).transpose()?.flatten() else { return Ok(false) };
    Ok(task.allow_all_commands && task.status.is_unfinished())
}

/// Whether a fork of `parent` could be launched as asked: what can be known before the fork is made.
///
/// # Errors
/// What would stand in the way.
pub async fn can_run_fork_of(ctx: &Ctx, parent: &Place, asked: &Asked) -> Result<(), Failed> {
    let (here, limit, id) = (ctx.db.store().machine(), ctx.config.now().max_agents, parent.id);
    let folder = ctx.db.read(move |view| fork_folder(view, here, id, limit)).await?;
    let ready = ready(ctx, asked, parent, &[]).await?;
    let untaken = PlaceId::from_random(ctx.fresh_id());
    plan_folder(ctx, &ready, &folder, &untaken).await.map(|_| ())
}

fn fork_folder(view: &View<'_>, here: MachineId, parent: PlaceId, limit: usize) -> Result<PathText, Failure> {
    let parent = view.require_place(parent)?;
    let folder = view.folder(parent.id, here)?;
    let slots = slots(view, here, limit)?;
    Ok(can_run_fork(&parent, folder, slots)?)
}

fn slots(view: &View<'_>, here: MachineId, limit: usize) -> Result<Slots, Failure> {
    let running = view.live_agents()?.iter().filter(|agent| agent.machine == here && agent.launch.is_some()).count();
    Ok(Slots { running, limit })
}

fn decide(view: &View<'_>, here: MachineId, place: PlaceId, limit: usize) -> Result<(LaunchPlan, Place), Failure> {
    let place = view.require_place(place)?;
    let parent = parent_of(view, &place)?;
    let decides = can_decide(&place, here)?;
    let agent = view.agent_in(place.id)?;
    let folder = view.folder(parent.as_ref().unwrap_or(&place).id, here)?;
    let plan = can_launch(&place, parent.as_ref(), decides, agent.as_ref(), folder.as_ref(), slots(view, here, limit)?)?;
    Ok((plan, place))
}

fn last_kind(view: &View<'_>, place: &Place) -> Result<Option<String>, Failure> {
    let places = [Some(place.id), place.parent()];
    for place in places.into_iter().flatten() {
        let launched = view.agents_of(place)?.into_iter().filter(|agent| agent.launch.is_some());
        let last = launched.max_by_key(|agent| agent.started);
        if let Some(agent) = last {
            return Ok(Some(agent.host));
        }
    }
    Ok(None)
}

/// Without a launch to follow, the one kind there is a choice of.
fn only_kind(ctx: &Ctx) -> Result<String, Refusal> {
    let known: Vec<String> = ctx.config.now().kinds.keys().cloned().collect();
    match known.as_slice() {
        [only] => Ok(only.clone()),
        _ => Err(Refusal::NoKind { known }),
    }
}

fn kind(ctx: &Ctx, name: &str, asked: &Asked) -> Result<Kind, Refusal> {
    let config = ctx.config.now();
    let known = || config.kinds.keys().cloned().collect();
    let kind = config.kinds.get(name).cloned().ok_or_else(|| Refusal::UnknownKind { kind: name.to_owned(), known: known() })?;
    if let Some(model) = asked.model.as_ref().filter(|model| !kind.models.contains(model)) {
        return Err(unknown_option(name, "model", model, &kind.models));
    }
    if let Some(effort) = asked.effort.as_ref().filter(|effort| !kind.efforts.contains(effort)) {
        return Err(unknown_option(name, "effort", effort, &kind.efforts));
    }
    Ok(kind)
}

fn unknown_option(kind: &str, option: &str, given: &str, known: &[String]) -> Refusal {
    Refusal::UnknownOption { kind: kind.to_owned(), option: option.to_owned(), given: given.to_owned(), known: known.to_vec() }
}

/// The variables a launched agent gets from its node.
fn ours(ctx: &Ctx, agent: AgentId, token: &LaunchToken) -> Vec<(OsString, OsString)> {
    let (mark, token) = (mark(agent), token.mark());
    vec![(mark.name, mark.value), (token.name, token.value), ("FRITH_HOME".into(), ctx.env.home.as_os_str().to_owned())]
}

async fn require_command(ctx: &Ctx, kind: &str, line: &[String], environment: &[(OsString, OsString)]) -> Result<(), Refusal> {
    let command = line.first().cloned().unwrap_or_default();
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    let found = ctx.env.processes.find_command(command.clone().into(), path).await;
    found.map(|_| ()).map_err(|_| Refusal::NoCommand { kind: kind.to_owned(), command })
}

async fn chosen_folder(ctx: &Ctx, folder: &PathText) -> Result<PathBuf, Failed> {
    let (folders, path) = (ctx.env.folders.clone(), folder.clone());
    let looked = blocking(&ctx.env.blocking, move || folders.look(path.as_path())).await.map_err(Failed::from_work)?;
    let looked = looked.map_err(|fault| Refusal::BadFolder { path: folder.clone(), fault })?;
    Ok(looked.as_path().to_owned())
}

async fn plan_folder(ctx: &Ctx, ready: &Ready, source: &PathText, fork: &PlaceId) -> Result<FolderPlan, Failed> {
    let limits = Limits { making: ctx.config.now().checkout_timeout, ..Limits::default() };
    let (folders, source, id, file) = (ctx.env.folders.clone(), source.clone(), fork.to_string(), ready.kind.project_file.clone());
    let looked = blocking(&ctx.env.blocking, move || {
        let plan = folders.plan(source.as_path(), &id, limits)?;
        let found = file.map(|file| folders.project_file(&plan, &file).map(|found| (file, found))).transpose()?;
        Ok((plan, found))
    });
    let looked = looked.await.map_err(Failed::from_work)?;
    let (plan, found) = looked.map_err(|fault: PlanError| fault_refusal("plan", &fault, fault.hint()))?;
    if let Some((file, Some((path, bytes)))) = found {
        entry::require_own(&file, &path, &bytes, fork)?;
    }
    Ok(plan)
}

fn fault_refusal(code: &str, fault: &dyn std::fmt::Display, hint: Option<String>) -> Refusal {
    Refusal::ForkFolderFault { code: code.to_owned(), fact: fault.to_string(), way_out: hint }
}

/// Records the launch: from here on the place has an agent, which ends if anything fails.
///
/// # Errors
/// What was decided before does not hold any more.
async fn record(ctx: &Ctx, asked: &Asked, prepared: &Prepared) -> Result<AgentId, Failed> {
    let (here, limit) = (ctx.db.store().machine(), ctx.config.now().max_agents);
    let (place, agent, kind) = (asked.place, prepared.agent, prepared.ready.name.clone());
    let (by, model, effort) = (asked.by.clone(), asked.model.clone(), asked.effort.clone());
    let (oversees, record) = ctx
        .db
        .write(move |tx| {
            let (plan, place) = decide(tx, here, place, limit)?;
            tx.append(Fact::Launch { agent, kind, place: place.id, epoch: plan.epoch(), by, model, effort, folder: None })?;
            Ok((place.kind == PlaceKind::Supervisor, tx.require_agent(agent)?))
        })
        .await?;
    let token = Some(prepared.token.clone());
    ctx.roster.insert(Member { oversees, token, is_told: false, ..Member::of(&record, None) });
    ctx.env.faults.reached("launch.recorded");
    Ok(agent)
}

/// What carries a launch out.
pub struct Carrying {
    /// The node.
    pub ctx: Ctx,
    /// The place.
    pub place: Place,
    /// Makes the folder of a fork.
    pub fork: Option<ActorRef<ForkMsg>>,
    /// The terminals of this machine.
    pub terminals: Terminals,
    /// Stops the launch.
    pub cancel: Cancel,
    /// Hears how far it is.
    pub progress: mpsc::Sender<Progress>,
}

/// A launch that came to nothing.
#[derive(Debug, Clone)]
pub struct NotLaunched {
    /// The agent, when it was recorded already: its end is to be recorded too.
    pub agent: Option<AgentId>,
    /// What stood in the way.
    pub failed: Failed,
}

impl From<Failed> for NotLaunched {
    fn from(failed: Failed) -> Self {
        Self { agent: None, failed }
    }
}

/// Launches an agent.
///
/// # Errors
/// What stands in the way, or why the agent did not start. Nothing of it is left then but its record.
pub async fn run(carrying: &Carrying, asked: &Asked) -> Result<AgentId, NotLaunched> {
    let ctx = &carrying.ctx;
    let prepared = prepare(ctx, asked).await?;
    let agent = record(ctx, asked, &prepared).await?;
    let started = match carrying.terminals.open(ctx, asked.place, agent, asked.size, prepared.ready.patterns.clone()).await {
        Ok(terminal) => carry_out(carrying, &terminal, prepared).await,
        Err(_) => Err(Refusal::NotStarted { fact: "its terminal could not be opened".into() }.into()),
    };
    match started {
        Ok(()) => Ok(agent),
        Err(failed) => {
            carrying.terminals.close(agent);
            Err(NotLaunched { agent: Some(agent), failed })
        }
    }
}

/// Makes the folder, starts the process and records it.
async fn carry_out(carrying: &Carrying, terminal: &TerminalRef, mut prepared: Prepared) -> Result<(), Failed> {
    let ctx = &carrying.ctx;
    let start_in = match &prepared.folder {
        Folder::Chosen(folder) => folder.clone(),
        Folder::Planned(plan) => {
            let made = make_folder(carrying, terminal, prepared.agent, plan).await?;
            require_own_entry(carrying, &prepared.ready, &made).await?;
            made
        }
    };
    require_not_stopped(carrying, prepared.agent)?;
    give_rules(carrying, terminal, &prepared, &start_in).await?;
    give_entry(carrying, terminal, &mut prepared, &start_in).await?;
    terminals::opening_line(terminal, &format!("{}$ {}", start_in.display(), command_line(&prepared.ready.line)));
    let launch = Launch {
        command: prepared.ready.line[0].clone().into(),
        args: prepared.ready.line[1..].iter().map(Into::into).collect(),
        env: prepared.ready.environment,
        folder: start_in.clone(),
    };
    let process = start(terminal, prepared.agent, launch).await?;
    ctx.roster.started(prepared.agent, process.clone());
    ctx.env.faults.reached("launch.spawned");
    let (agent, stamp, command) = (prepared.agent, process, prepared.ready.line);
    let folder = PathText::from(start_in.as_path());
    ctx.db.write(move |tx| Ok(tx.append(Fact::Started { agent, process: stamp, command, folder })?)).await?;
    ctx.env.faults.reached("launch.running");
    Ok(())
}

/// Gives the agent its place's permission rules, and tells of those that its kind cannot be told.
async fn give_rules(carrying: &Carrying, terminal: &TerminalRef, prepared: &Prepared, folder: &Path) -> Result<(), Failed> {
    let rules = &prepared.ready.rules;
    if let Some(file) = rules.file.clone() {
        given::give(&carrying.ctx, &carrying.place, prepared.agent, folder, file).await?;
    }
    if !rules.left_out.is_empty() {
        let note =
            format!("kind `{}` cannot be given these permission rules, so it will ask: {}", prepared.ready.name, rules.left_out.join(", "));
        tell_note(carrying, terminal, note);
    }
    Ok(())
}

/// Gives the agent the entry by which it is told of frith's tools. Only a fork's folder is written to: a workspace's is a person's.
async fn give_entry(carrying: &Carrying, terminal: &TerminalRef, prepared: &mut Prepared, folder: &Path) -> Result<(), Failed> {
    let (ctx, place, is_fork) = (&carrying.ctx, carrying.place.id, matches!(prepared.folder, Folder::Planned(_)));
    let committed = if is_fork { committed_file(ctx, &prepared.ready, folder).await? } else { None };
    let program = ctx.env.itself.program();
    let Some(program) = program.to_str().filter(|_| prepared.ready.kind.entry.is_some()) else { return Ok(()) };
    let (name, kind, environment) = (&prepared.ready.name, &prepared.ready.kind, &prepared.ready.environment);
    let telling = Telling { name, kind, program, place, may_write: is_fork && committed.is_none() };
    let variable =
        |name: &str| environment.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str().map(str::to_owned));
    let Some(EntryGiven { args, variable, file }) = entry::entry_given(&telling, variable) else {
        if let Some(file) = committed {
            let note = format!("`{file}` is committed, so frith's tools are not entered into it: what is installed into {name} counts");
            tell_note(carrying, terminal, note);
        }
        return Ok(());
    };
    if let Some(file) = file {
        given::give(ctx, &carrying.place, prepared.agent, folder, file).await?;
    }
    prepared.ready.line.extend(args);
    if let Some((name, value)) = variable {
        prepared.ready.environment.retain(|(known, _)| known != name.as_str());
        prepared.ready.environment.push((name.into(), value.into()));
    }
    Ok(())
}

/// The file into which the kind's entry would be written, where the repository has committed it.
async fn committed_file(ctx: &Ctx, ready: &Ready, folder: &Path) -> Result<Option<String>, Failed> {
    let is_written = ready.kind.entry.as_ref().is_some_and(|way| way.with_file.is_some());
    let Some(file) = ready.kind.project_file.as_ref().filter(|_| is_written).map(|file| file.path.clone()) else { return Ok(None) };
    let (files, folder) = (ctx.env.host_files.clone(), folder.to_owned());
    let looked = blocking(&ctx.env.blocking, move || {
        let is_committed = files.is_committed(&folder, &file).unwrap_or_else(|error| {
            tracing::warn!(folder = %folder.display(), file, %error, "whether a file is committed cannot be told, so it is not written to");
            true
        });
        is_committed.then_some(file)
    });
    looked.await.map_err(Failed::from_work)
}

fn tell_note(carrying: &Carrying, terminal: &TerminalRef, note: String) {
    tell(carrying, terminal, Told::Line(note.clone()));
    tell(carrying, terminal, Told::Progress(Progress { what: note, part: None }));
}

/// The rule of the project file once more, on the folder as it is: what a link in it leads to, or a branch that was there
/// before brought along, was not in the commit that was looked at.
async fn require_own_entry(carrying: &Carrying, ready: &Ready, folder: &Path) -> Result<(), Failed> {
    let Some(file) = ready.kind.project_file.clone() else { return Ok(()) };
    let (folders, folder, looked_for) = (carrying.ctx.env.folders.clone(), folder.to_owned(), file.clone());
    let found = blocking(&carrying.ctx.env.blocking, move || folders.project_file_in(&folder, &looked_for)).await;
    match found.map_err(Failed::from_work)? {
        Some((path, bytes)) => Ok(entry::require_own(&file, &path, &bytes, &carrying.place.id)?),
        None => Ok(()),
    }
}

async fn start(terminal: &TerminalRef, agent: AgentId, launch: Launch) -> Result<ProcessRef, Failed> {
    let not_started = |fact: String| Failed::from(Refusal::NotStarted { fact });
    match terminals::start(terminal, launch).await {
        Some(Ok(process)) => Ok(process),
        Some(Err(TerminalError::StoppedBeforeStart)) => Err(Refusal::StoppedBeforeStart { agent }.into()),
        Some(Err(fault)) => Err(not_started(fault.to_string())),
        None => Err(not_started("its terminal is gone".into())),
    }
}

async fn make_folder(carrying: &Carrying, terminal: &TerminalRef, agent: AgentId, plan: &FolderPlan) -> Result<PathBuf, Failed> {
    let ctx = &carrying.ctx;
    let (told, mut telling) = mpsc::unbounded_channel();
    if let (Way::NewBranch, Some(base)) = (plan.way(), plan.base()) {
        let note = format!("starts at commit {base}; uncommitted changes of {} are not in it", plan.source().display());
        tell(carrying, terminal, Told::Line(note));
    }
    let request = |reply: RpcReplyPort<Result<MadeFolder, MakeFault>>| ForkMsg::Make {
        plan: Box::new(plan.clone()),
        cancel: carrying.cancel.clone(),
        told,
        reply,
    };
    let Some(fork) = &carrying.fork else {
        return Err(Refusal::NotStarted { fact: "the fork's folder has nobody to make it".into() }.into());
    };
    let making = fork.call(request, None);
    tokio::pin!(making);
    let made = loop {
        tokio::select! {
            biased;
            Some(told) = telling.recv() => tell(carrying, terminal, told),
            made = &mut making => break made,
        }
    };
    while let Ok(told) = telling.try_recv() {
        tell(carrying, terminal, told);
    }
    let made = match made {
        Ok(CallResult::Success(Ok(made))) => made,
        Ok(CallResult::Success(Err(fault))) => return Err(not_made(carrying, agent, &fault)),
        _ => return Err(Refusal::NotStarted { fact: "making the fork's folder failed".into() }.into()),
    };
    ctx.env.faults.reached("launch.folder-made");
    record_checkout(carrying, plan, &made).await?;
    ctx.env.faults.reached("launch.folder-recorded");
    Ok(made.start_in)
}

fn not_made(carrying: &Carrying, agent: AgentId, fault: &MakeFault) -> Failed {
    if carrying.cancel.is_cancelled() {
        return Refusal::StoppedBeforeStart { agent }.into();
    }
    let hint = match fault {
        MakeFault::Make(fault) => fault.hint(),
        MakeFault::Lost(_) => None,
    };
    fault_refusal("make", fault, hint).into()
}

async fn record_checkout(carrying: &Carrying, plan: &FolderPlan, made: &MadeFolder) -> Result<(), Failed> {
    let kind = match (&made.branch, made.way) {
        (_, Way::Copy) | (None, _) => CheckoutKind::Copy,
        (Some(branch), _) => {
            CheckoutKind::Worktree { branch: branch.clone(), base: plan.base().or(made.commit.as_deref()).unwrap_or_default().to_owned() }
        }
    };
    let (fork, path, start_in) = (carrying.place.id, PathText::from(made.path.as_path()), PathText::from(made.start_in.as_path()));
    let recorded = carrying.ctx.db.write(move |tx| {
        let here = tx.machine();
        let known = tx.checkouts(fork)?.into_iter().find(|one| one.machine == here && one.removed.is_none());
        if let (Some(CheckoutKind::Worktree { branch, .. }), CheckoutKind::Copy) = (known.as_ref().map(|known| &known.kind), &kind) {
            let fact = format!("what stands at `{path}` is no worktree of this fork: its branch is `{branch}`");
            let way_out = Some(format!("move `{path}` away, then launch again"));
            return Err(Refusal::ForkFolderFault { code: "other".into(), fact, way_out }.into());
        }
        if known.is_none_or(|known| known.path != path || known.start_in != start_in) {
            tx.append(Fact::Checkout { fork, path, start_in, kind })?;
        }
        Ok(())
    });
    Ok(recorded.await?)
}

fn tell(carrying: &Carrying, terminal: &TerminalRef, told: Told) {
    match told {
        Told::Line(text) => terminals::opening_line(terminal, &text),
        // Whoever waits is told when there is room; a missed step of a count is no loss.
        Told::Progress(progress) => drop(carrying.progress.try_send(progress)),
    }
}

fn require_not_stopped(carrying: &Carrying, agent: AgentId) -> Result<(), Refusal> {
    if carrying.cancel.is_cancelled() { Err(Refusal::StoppedBeforeStart { agent }) } else { Ok(()) }
}

/// Records that an agent ended, once, and its sub-agents with it.
///
/// # Errors
/// The store broke.
pub async fn record_end(ctx: &Ctx, agent: AgentId, how: EndHow) -> Result<(), Failure> {
    let seen = ctx.roster.take_unwritten(agent);
    ctx.roster.remove(agent);
    let roster = ctx.roster.clone();
    let recorded = ctx
        .db
        .write(move |tx| {
            if let Some(seen) = seen {
                tx.note_sighting(agent, &seen)?;
            }
            tx.end_agent(agent, &how)?;
            fresh_context::forget(tx, agent)?;
            Ok(roster.turn())
        })
        .await;
    // What a hook of it wrote before may be told only now.
    let recorded = recorded.map(|turn| ctx.roster.end(turn, agent));
    ctx.roster.end_recorded();
    recorded
}
