//! From an operation to its handler: reads on a view, writes in a transaction, and what a place alone decides to its actor.

mod attachment;
mod shared;

use std::{ffi::OsString, time::Duration};

use frith_store::{
    error::Failure,
    id::{AgentId, MachineId, PlaceId, TaskId},
    model::{Agent, By, Notice, Place, Status},
    refusal::{FolderFault, Refusal},
    text::PathText,
    tx::Tx,
    view::View,
};
use ractor::{ActorRef, RpcReplyPort, rpc::CallResult};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::mpsc;

use crate::{
    api::{
        Operation, agents, fork,
        task::{self, DeletedTasks, MovedTasks, RestoredTasks, TaskInfo},
        workspace,
    },
    backup,
    call::{Envelope, Failed, Progress},
    caller::{Caller, Who, identify},
    env::{
        process::{Pid, TerminalSize},
        world::blocking,
    },
    handlers::{self, task::Fresh, workspace::RealFolder},
    launch,
    local::server::{Answer, Answering, Answers},
    merge,
    node::Node,
    notice::{self, Event},
    place::PlaceMsg,
    schedule::ScheduleMsg,
    status,
    terminal::Look,
    terminals,
};

impl Answers for Node {
    fn call(&self, peer: Option<u32>, envelope: Envelope, progress: mpsc::Sender<Progress>) -> Answering<'_> {
        Box::pin(self.answer(peer, envelope, progress))
    }
}

impl Node {
    /// Answers one call. `peer` is the calling process as the kernel told.
    ///
    /// # Errors
    /// The refusal, or what broke.
    pub async fn answer(&self, peer: Option<u32>, envelope: Envelope, progress: mpsc::Sender<Progress>) -> Result<Answer, Failed> {
        let info = envelope.operation.info();
        let who = self.who(peer).await?;
        let caller = Caller { who, folder: envelope.folder.clone(), here: self.here() };
        caller.may_ask(info)?;
        dispatch(self, caller, peer, envelope, progress).await
    }

    async fn who(&self, peer: Option<u32>) -> Result<Who, Failed> {
        let running = self.ctx().running.all();
        if running.is_empty() && peer.is_some() {
            return Ok(Who::Person(self.ctx().env.user.to_string()));
        }
        let (processes, user) = (self.ctx().env.processes.clone(), self.ctx().env.user.clone());
        let own = self.ctx().env.itself.facts().pid;
        blocking(&self.ctx().env.blocking, move || identify(&*processes, &running, peer.map(Pid::new), own, &user))
            .await
            .map_err(Failed::from_work)
    }
}

/// How long a launched agent is looked at before its launch is said to be done.
const MOMENT: Duration = Duration::from_millis(300);

/// One call on its way to its handler.
struct Call<'a> {
    node: &'a Node,
    caller: Caller,
    peer: Option<u32>,
    envelope: Envelope,
    progress: mpsc::Sender<Progress>,
}

async fn dispatch(
    node: &Node,
    caller: Caller,
    peer: Option<u32>,
    envelope: Envelope,
    progress: mpsc::Sender<Progress>,
) -> Result<Answer, Failed> {
    use Operation as Op;
    let operation = envelope.operation.clone();
    let call = Call { node, caller, peer, envelope, progress };
    match operation {
        of_node @ (Op::NodeStatus(_) | Op::NodeDown(_) | Op::NodeCheck(_) | Op::NodeBackup(_)) => call.of_node(of_node).await,
        workspace @ (Op::WorkspaceCreate(_)
        | Op::WorkspaceList(_)
        | Op::WorkspaceShow(_)
        | Op::WorkspaceSet(_)
        | Op::WorkspaceArchive(_)
        | Op::WorkspaceUnarchive(_)
        | Op::WorkspaceDelete(_)
        | Op::WorkspaceAllow(_)
        | Op::WorkspaceStats(_)) => call.workspace(workspace).await,
        fork @ (Op::ForkCreate(_) | Op::ForkSpinUp(_) | Op::ForkMerge(_)) => call.fork(fork).await,
        task @ (Op::TaskAdd(_)
        | Op::TaskList(_)
        | Op::TaskShow(_)
        | Op::TaskEdit(_)
        | Op::TaskStatus(_)
        | Op::TaskMove(_)
        | Op::TaskReply(_)
        | Op::TaskNext(_)
        | Op::TaskDelete(_)
        | Op::TaskRestore(_)) => call.task(task).await,
        agent @ (Op::AgentLaunch(_)
        | Op::AgentStop(_)
        | Op::AgentAttach(_)
        | Op::AgentSessions(_)
        | Op::AgentShow(_)
        | Op::AgentWhoami(_)
        | Op::AgentUnsend(_)) => call.agent(agent).await,
        attachment @ (Op::AttachmentSend(_) | Op::TaskAttach(_) | Op::AttachmentGet(_) | Op::AttachmentRemove(_)) => {
            call.attachment(attachment).await
        }
        shared @ (Op::MemoryList(_)
        | Op::MemoryLoad(_)
        | Op::MemorySave(_)
        | Op::MemoryDelete(_)
        | Op::SkillAdd(_)
        | Op::SkillList(_)
        | Op::SkillLoad(_)
        | Op::SkillOn(_)
        | Op::SkillOff(_)
        | Op::SkillRemove(_)
        | Op::SiteAdd(_)
        | Op::SiteList(_)
        | Op::SiteRemove(_)) => call.shared(shared).await,
    }
}

fn reply<T: Serialize>(value: &T) -> Result<Answer, Failed> {
    serialised(value).map(Answer::Reply)
}

fn serialised<T: Serialize>(value: &T) -> Result<Vec<u8>, Failed> {
    postcard::to_stdvec(value).map_err(|error| Failed::broken_by("the reply could not be written down", &error))
}

impl Call<'_> {
    async fn read<T: Serialize + Send + 'static>(
        self,
        read: impl FnOnce(&View<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let caller = self.caller;
        reply(&self.node.ctx().db.read(move |view| read(view, &caller)).await?)
    }

    async fn write<T: Serialize + DeserializeOwned + Send + 'static>(
        self,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let caller = self.caller;
        reply(&self.node.ctx().db.write_once(self.envelope.call, move |tx| write(tx, &caller)).await?)
    }

    /// As [`Self::write`]; the schedules are told which tasks it may have touched.
    async fn write_touching<T: Serialize + DeserializeOwned + Send + 'static>(
        self,
        touched: impl FnOnce(&T) -> Vec<TaskId>,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let (node, caller) = (self.node, self.caller);
        let answer = node.ctx().db.write_once(self.envelope.call, move |tx| write(tx, &caller)).await?;
        for task in touched(&answer) {
            node.tell_schedules(ScheduleMsg::Changed(task)).await;
        }
        reply(&answer)
    }

    /// As [`Self::write`] of something that every schedule of a place depends on.
    async fn write_place<T: Serialize + DeserializeOwned + Send + 'static>(
        self,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let node = self.node;
        let answer = self.write(write).await?;
        node.tell_schedules(ScheduleMsg::AllChanged).await;
        Ok(answer)
    }

    /// This machine's time zone, where it is needed.
    fn zone(&self, schedule: Option<&String>) -> String {
        schedule.map(|_| self.node.ctx().env.clock.time_zone()).unwrap_or_default()
    }

    async fn of_node(self, operation: Operation) -> Result<Answer, Failed> {
        match operation {
            Operation::NodeStatus(_) => reply(&status::status(self.node).await?),
            Operation::NodeDown(_) => reply(&status::down(self.node).await?),
            Operation::NodeCheck(_) => reply(&status::check(self.node).await?),
            Operation::NodeBackup(request) => reply(&backup::back_up(self.node, request, self.caller.folder, self.progress).await?),
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn fork(self, operation: Operation) -> Result<Answer, Failed> {
        match operation {
            Operation::ForkCreate(request) => {
                let id = self.node.ctx().fresh_id();
                self.write(move |tx, caller| handlers::fork::create(tx, caller, &request, id)).await
            }
            Operation::ForkSpinUp(request) => self.spin_up(request).await,
            Operation::ForkMerge(request) => self.merge(request).await,
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn workspace(self, operation: Operation) -> Result<Answer, Failed> {
        use handlers::{stats, workspace as place};
        match operation {
            Operation::WorkspaceCreate(request) => self.create_workspace(request).await,
            Operation::WorkspaceList(request) => self.read(move |view, caller| place::list(view, caller, &request)).await,
            Operation::WorkspaceShow(request) => self.read(move |view, caller| place::show(view, caller, &request)).await,
            Operation::WorkspaceSet(request) => self.set_workspace(request).await,
            Operation::WorkspaceArchive(request) => self.write_place(move |tx, caller| place::archive(tx, caller, &request)).await,
            Operation::WorkspaceUnarchive(request) => self.write_place(move |tx, caller| place::unarchive(tx, caller, &request)).await,
            Operation::WorkspaceDelete(request) if request.dry_run => {
                self.read(move |view, caller| place::deletion(view, caller, &request)).await
            }
            Operation::WorkspaceDelete(request) => self.write_place(move |tx, caller| place::delete(tx, caller, &request)).await,
            Operation::WorkspaceAllow(request) => self.change_workspace(move |tx, caller| place::allow(tx, caller, &request)).await,
            Operation::WorkspaceStats(request) => {
                let now = self.node.ctx().db.now();
                self.read(move |view, caller| stats::stats(view, caller, &request, now)).await
            }
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn task(self, operation: Operation) -> Result<Answer, Failed> {
        use handlers::{task, trash};
        let (fresh, call, now) = (self.node.ctx().fresh(), self.envelope.call, self.node.ctx().env.clock.now());
        match operation {
            Operation::TaskAdd(request) => {
                let zone = self.zone(request.schedule.as_ref());
                self.write_touching(template_in, move |tx, caller| task::add(tx, caller, &request, fresh, &zone)).await
            }
            Operation::TaskList(request) => self.read(move |view, caller| task::list(view, caller, &request, now)).await,
            Operation::TaskShow(request) => self.read(move |view, caller| task::show(view, caller, &request, now)).await,
            Operation::TaskEdit(request) => {
                let zone = self.zone(request.schedule.as_ref());
                self.write_touching(|edited: &TaskInfo| vec![edited.task.id], move |tx, caller| task::edit(tx, caller, &request, &zone))
                    .await
            }
            Operation::TaskStatus(request) => self.set_status(request, fresh).await,
            Operation::TaskMove(request) => self.write_touching(tasks_in, move |tx, caller| task::move_to(tx, caller, &request)).await,
            Operation::TaskDelete(request) if request.dry_run => {
                self.read(move |view, caller| trash::deletion(view, caller, &request)).await
            }
            Operation::TaskDelete(request) => self.write_touching(deleted_in, move |tx, caller| trash::delete(tx, caller, &request)).await,
            Operation::TaskRestore(request) => {
                self.write_touching(restored_in, move |tx, caller| trash::restore(tx, caller, &request)).await
            }
            Operation::TaskReply(request) => {
                let held = self.node.ctx().held.clone();
                let answer = self.write(move |tx, caller| task::reply(tx, caller, &request, fresh.id)).await;
                held.notify_one();
                answer
            }
            Operation::TaskNext(request) => {
                let kinds = &self.node.ctx().config.now().kinds;
                let cleared: Vec<String> = kinds.iter().filter(|(_, kind)| kind.can_be_cleared()).map(|(name, _)| name.clone()).collect();
                self.write(move |tx, caller| task::next(tx, caller, &request, call, fresh, &cleared)).await
            }
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn agent(self, operation: Operation) -> Result<Answer, Failed> {
        let node = self.node;
        match operation {
            Operation::AgentLaunch(request) => self.launch(request).await,
            Operation::AgentStop(request) => self.stop(request).await,
            Operation::AgentAttach(request) => self.attach(request).await,
            Operation::AgentSessions(request) => {
                let agents = node.ctx().db.read(move |view| handlers::agents::list(view, &request)).await?;
                reply(&agents::Agents { agents: status::with_viewers(node, agents.agents).await })
            }
            Operation::AgentShow(request) => {
                let agent = node.ctx().db.read(move |view| handlers::agents::info(view, handlers::agents::find(view, &request.agent)?));
                reply(&status::with_viewers(node, vec![agent.await?]).await.swap_remove(0))
            }
            Operation::AgentWhoami(_) => self.read(handlers::agents::whoami).await,
            Operation::AgentUnsend(request) => {
                let answer = self.write(move |tx, _| handlers::agents::unsend(tx, &request)).await;
                node.ctx().held.notify_one();
                answer
            }
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn set_status(self, request: task::SetStatus, fresh: Fresh) -> Result<Answer, Failed> {
        let (caller, by) = (self.caller.clone(), self.caller.by());
        let ctx = self.node.ctx();
        let set = ctx.db.write_once(self.envelope.call, move |tx| handlers::task::set_status(tx, &caller, &request, fresh)).await?;
        let notice = match set.task.status {
            status if status.is_finished() => Some(Notice::TaskFinished),
            Status::Blocked => Some(Notice::TaskWaiting),
            _ => None,
        };
        if let Some(notice) = notice {
            let what = format!("{} {}: {}", set.task.id.short(), set.task.title, set.task.status.word());
            notice::raise(ctx, Event { place: set.place.id, notice, by: Some(by), what });
        }
        reply(&set)
    }

    async fn create_workspace(self, request: workspace::Create) -> Result<Answer, Failed> {
        let folder = self.look(request.folder.as_ref()).await?;
        let id = self.node.ctx().fresh_id();
        self.write(move |tx, caller| handlers::workspace::create(tx, caller, &request, folder.as_ref(), id)).await
    }

    async fn set_workspace(self, request: workspace::Set) -> Result<Answer, Failed> {
        let folder = self.look(request.folder.as_ref()).await?;
        self.change_workspace(move |tx, caller| handlers::workspace::set(tx, caller, &request, folder.as_ref())).await
    }

    /// Changes what agents may get to feel at once: those that run in the place and its forks are told.
    async fn change_workspace(
        self,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<workspace::PlaceInfo, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let (caller, ctx) = (self.caller.clone(), self.node.ctx());
        let changed = ctx.db.write_once(self.envelope.call, move |tx| write(tx, &caller)).await?;
        let id = changed.id;
        let places = ctx.db.read(move |view| {
            let forks = view.forks_of(id)?.into_iter().filter(Place::is_live).map(|fork| fork.id);
            let mut places = Vec::new();
            for place in std::iter::once(id).chain(forks) {
                if view.agent_in(place)?.is_some() {
                    places.push(place);
                }
            }
            Ok(places)
        });
        for place in places.await? {
            if let Some(actor) = self.node.place(place).await {
                // One that failed gives its agent the rules when it is started again.
                let _ = actor.cast(PlaceMsg::SettingsChanged);
            }
        }
        reply(&changed)
    }

    /// A folder that was named, from where the caller stands.
    async fn look(&self, named: Option<&PathText>) -> Result<Option<RealFolder>, Failed> {
        let Some(named) = named else { return Ok(None) };
        if named.as_bytes().is_empty() {
            return Err(Refusal::BadFolder { path: named.clone(), fault: FolderFault::Gone }.into());
        }
        let path = match &self.caller.folder {
            Some(folder) => folder.as_path().join(named.as_path()),
            None => named.as_path().to_owned(),
        };
        let folders = self.node.ctx().env.folders.clone();
        let shown = PathText::from(path.as_path());
        let looked = blocking(&self.node.ctx().env.blocking, move || folders.look(&path)).await.map_err(Failed::from_work)?;
        match looked {
            Ok(folder) => Ok(Some(RealFolder(folder))),
            Err(fault) => Err(Refusal::BadFolder { path: shown, fault }.into()),
        }
    }

    async fn launch(self, request: agents::Launch) -> Result<Answer, Failed> {
        let caller = self.caller.clone();
        let (named, on) = (request.place.clone(), request.on.clone());
        let place = self.node.ctx().db.read(move |view| {
            require_here(view, caller.here, on.as_ref())?;
            Ok(caller.place(view, named.as_ref())?.id)
        });
        let place = place.await?;
        let asked = self.asked(place, request.kind, request.model, request.effort);
        let agent = match self.launched(asked).await {
            Err(Failed::Refused(refusal)) => return Err(self.launch_refused(place, refusal)),
            launched => launched?,
        };
        self.require_well(agent).await?;
        reply(&status::agent(self.node, agent).await?)
    }

    fn launch_refused(&self, place: PlaceId, refusal: Box<Refusal>) -> Failed {
        let (by, what) = (Some(self.caller.by()), refusal.to_string());
        notice::raise(self.node.ctx(), Event { place, notice: Notice::LaunchRefused, by, what });
        Failed::Refused(refusal)
    }

    fn asked(&self, place: PlaceId, kind: Option<String>, model: Option<String>, effort: Option<String>) -> launch::Asked {
        let environment = self.envelope.environment.iter().cloned();
        launch::Asked {
            place,
            kind,
            model,
            effort,
            by: self.caller.by(),
            environment: environment.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect(),
            size: self.size(),
            task: None,
        }
    }

    fn size(&self) -> TerminalSize {
        self.envelope.size.map_or(TerminalSize::DEFAULT, |(columns, rows)| TerminalSize::new(rows, columns))
    }

    async fn launched(&self, asked: launch::Asked) -> Result<AgentId, Failed> {
        let place = asked.place;
        let progress = self.progress.clone();
        self.ask(place, move |reply| PlaceMsg::Launch { asked: Box::new(asked), progress, reply }).await
    }

    /// Looks for a moment whether an agent that has just started fails at once, as one that is badly configured does.
    ///
    /// # Errors
    /// [`Refusal::EndedAtOnce`] with the last it said.
    async fn require_well(&self, id: AgentId) -> Result<(), Failed> {
        let ctx = self.node.ctx();
        let mut ends = ctx.running.ends();
        let deadline = tokio::time::Instant::now() + MOMENT;
        loop {
            let agent = ctx.db.read(move |view| Ok(view.agent(id)?)).await?;
            let Some(end) = agent.and_then(|agent| agent.ended) else {
                match tokio::time::timeout_at(deadline, ends.changed()).await {
                    Ok(Ok(())) => continue,
                    _ => return Ok(()),
                }
            };
            let Some(how) = end.how.failure() else { return Ok(()) };
            let terminal = status::open_terminals(self.node).await.and_then(|terminals| terminals.get(id));
            let said = match terminal {
                Some(terminal) => terminals::screen(&terminal).await,
                None => vec![],
            };
            return Err(Refusal::EndedAtOnce { agent: id, how, said }.into());
        }
    }

    /// Asks a place's actor, and waits for its answer however long that takes.
    async fn ask<T: Send + 'static>(
        &self,
        place: PlaceId,
        message: impl FnOnce(RpcReplyPort<Result<T, Failed>>) -> PlaceMsg,
    ) -> Result<T, Failed> {
        let actor: Option<ActorRef<PlaceMsg>> = self.node.place(place).await;
        let asked = match actor {
            Some(actor) => actor.call(message, None).await.ok(),
            None => None,
        };
        match asked {
            Some(CallResult::Success(answer)) => answer,
            _ => Err(self.failing(place).await),
        }
    }

    async fn failing(&self, place: PlaceId) -> Failed {
        let found = self.node.ctx().db.read(move |view| view.require_place(place)).await;
        match found {
            Ok(place) => {
                let place = frith_store::rules::named(&place);
                Refusal::Busy { place, what: "its actor failed and is being started again; `frith status` shows why".into() }.into()
            }
            Err(failure) => failure.into(),
        }
    }

    async fn stop(self, request: agents::Stop) -> Result<Answer, Failed> {
        let agent: Agent = self.node.ctx().db.read(move |view| handlers::agents::find(view, &request.agent)).await?;
        let (Some(place), None) = (agent.place, &agent.ended) else {
            return Err(Refusal::AgentEnded { agent: agent.id }.into());
        };
        let by = self.caller.by();
        let ended: Agent = self.ask(place, move |reply| PlaceMsg::Stop { by, reply }).await?;
        reply(&status::agent(self.node, ended.id).await?)
    }

    async fn attach(self, request: agents::Attach) -> Result<Answer, Failed> {
        let named = request.agent.clone();
        let info = self.node.ctx().db.read(move |view| handlers::agents::info(view, handlers::agents::find(view, &named)?)).await?;
        let id = info.agent.id;
        let terminal = status::open_terminals(self.node).await.and_then(|terminals| terminals.get(id));
        let Some(terminal) = terminal else {
            let refusal = match info.agent.ended {
                Some(_) => Refusal::AgentEnded { agent: id },
                None => Refusal::NoTerminal { agent: id },
            };
            return Err(refusal.into());
        };
        let look = self.envelope.size.map_or(Look::Follow, |_| Look::Terminal(self.size()));
        let attached = terminals::attach(&terminal, look, request.read_only).await;
        let (shown, typed) = attached.ok_or_else(|| Failed::from(Refusal::AgentEnded { agent: id }))?;
        let reply = serialised(&agents::Attached { agent: id, place: info.place })?;
        Ok(Answer::Terminal { reply, shown, typed })
    }

    async fn spin_up(self, request: fork::SpinUp) -> Result<Answer, Failed> {
        let (caller, asked) = (self.caller.clone(), request.clone());
        let from = self.node.ctx().db.read(move |view| {
            require_here(view, caller.here, asked.on.as_ref())?;
            Ok((handlers::fork::spin_up_from(view, &caller, &asked)?, view.find_task(&asked.task)?))
        });
        let (parent, task) = from.await?;
        let mut trial = self.asked(parent.id, request.kind.clone(), request.model.clone(), request.effort.clone());
        trial.task = Some(task);
        launch::can_run_fork_of(self.node.ctx(), &parent, &trial).await?;
        let (caller, asked, id) = (self.caller.clone(), request, self.node.ctx().fresh_id());
        let made =
            self.node.ctx().db.write_once(self.envelope.call, move |tx| handlers::fork::fork_for_task(tx, &caller, &asked, id)).await?;
        trial.place = made.fork;
        let launched = match self.launched(trial).await {
            Err(Failed::Refused(refusal)) if made.continued => agent_there(*refusal),
            Ok(agent) => self.require_well(agent).await.map(|()| agent),
            Err(failed) => Err(failed),
        };
        let agent = launched.map_err(|failed| match not_launched(&made, failed) {
            Failed::Refused(refusal) => self.launch_refused(made.fork, refusal),
            broken @ Failed::Broken { .. } => broken,
        })?;
        let (fork, here) = (made.fork, self.node.here());
        let fork = self.node.ctx().db.read(move |view| handlers::workspace::info(view, here, &view.require_place(fork)?)).await?;
        reply(&fork::SpunUp { fork, task: made.task, agent: status::agent(self.node, agent).await?, continued: made.continued })
    }

    async fn merge(self, request: fork::Merge) -> Result<Answer, Failed> {
        let (caller, named) = (self.caller.clone(), request.workspace_id.clone());
        let place = self.node.ctx().db.read(move |view| Ok(handlers::fork::find(view, &caller, &named)?.id)).await?;
        let by: By = self.caller.by();
        let asked = merge::Asked { fork: place, by, delete_folder: request.delete_folder, dry_run: request.dry_run, caller: self.peer };
        let by = asked.by.clone();
        let merged: fork::Merged = self.ask(place, move |reply| PlaceMsg::Merge { asked: Box::new(asked), reply }).await?;
        self.node.tell_schedules(ScheduleMsg::AllChanged).await;
        if merged.done {
            let what = format!("{} is merged into {}, {} tasks moved", merged.fork, merged.parent, merged.moved_tasks);
            notice::raise(self.node.ctx(), Event { place: merged.parent_id, notice: Notice::MergeDone, by: Some(by), what });
        }
        reply(&merged)
    }
}

/// The template that was made, if it is one.
fn template_in(added: &TaskInfo) -> Vec<TaskId> {
    added.schedule.iter().map(|schedule| schedule.task).collect()
}

fn tasks_in(moved: &MovedTasks) -> Vec<TaskId> {
    moved.tasks.iter().map(|task| task.id).collect()
}

fn deleted_in(deleted: &DeletedTasks) -> Vec<TaskId> {
    deleted.tasks.iter().map(|task| task.id).collect()
}

fn restored_in(restored: &RestoredTasks) -> Vec<TaskId> {
    restored.tasks.iter().map(|task| task.id).collect()
}

/// The fork stays and is said to be there, with what kept its agent from starting.
fn not_launched(made: &handlers::fork::TaskFork, failed: Failed) -> Failed {
    let place = frith_store::refusal::PlaceNamed { id: made.fork, name: made.name.clone() };
    match failed {
        Failed::Refused(why) => Refusal::SpunUpWithoutAgent { fork: place, task: made.task, why }.into(),
        broken @ Failed::Broken { .. } => broken,
    }
}

/// The agent that an earlier try had launched already.
fn agent_there(refusal: Refusal) -> Result<AgentId, Failed> {
    match refusal {
        Refusal::AgentRuns { agent, .. } => Ok(agent),
        other => Err(other.into()),
    }
}

/// What is named must be this machine: there is no other in reach.
fn require_here(view: &View<'_>, here: MachineId, on: Option<&frith_store::id::MachineRef>) -> Result<(), Failure> {
    let Some(named) = on else { return Ok(()) };
    let machine = view.find_machine(named)?;
    if machine == here { Ok(()) } else { Err(Refusal::MachineAway { machine }.into()) }
}
