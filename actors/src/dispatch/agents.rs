//! Agents and forks: what a place alone decides is asked of its actor.

use std::{ffi::OsString, time::Duration};

use frith_store::{
    error::Failure,
    id::{AgentId, MachineId, PlaceId},
    model::{Agent, By, Notice},
    refusal::Refusal,
    view::View,
};

use super::{Call, reply, serialised};
use crate::{
    api::{Operation, agents, fork},
    call::Failed,
    env::process::TerminalSize,
    handlers, launch,
    local::server::Answer,
    merge,
    notice::{self, Event},
    place::PlaceMsg,
    schedule::ScheduleMsg,
    status,
    terminal::Look,
    terminals,
};

/// How long a launched agent is looked at before its launch is said to be done.
const MOMENT: Duration = Duration::from_millis(300);

impl Call<'_> {
    pub(super) async fn agent(self, operation: Operation) -> Result<Answer, Failed> {
        let node = self.node;
        match operation {
            Operation::AgentLaunch(request) => self.launch(request).await,
            Operation::AgentStop(request) => self.stop(request).await,
            Operation::AgentAttach(request) => self.attach(request).await,
            Operation::AgentSessions(request) => {
                node.look_for_agents().await?;
                let eyes = node.ctx().eyes();
                let agents = node.ctx().db.read(move |view| handlers::agents::list(view, &request, &eyes)).await?;
                reply(&agents::Agents { agents: status::with_viewers(node, agents.agents).await })
            }
            Operation::AgentShow(request) => {
                node.look_for_agents().await?;
                let found = node.ctx().db.read(move |view| handlers::agents::find(view, &request.agent)).await?;
                reply(&status::agent(node, found.id).await?)
            }
            Operation::AgentWhoami(_) => self.read(handlers::agents::whoami).await,
            Operation::AgentUnsend(request) => {
                let answer = self.write(move |tx, _| handlers::agents::unsend(tx, &request)).await;
                node.ctx().held.notify_one();
                answer
            }
            Operation::AgentSetStatus(request) => self.say_status(&request).await,
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn say_status(self, request: &agents::SetStatus) -> Result<Answer, Failed> {
        let (agent, status) = handlers::agents::can_set_status(&self.caller, request)?;
        let roster = &self.node.ctx().roster;
        roster.see(agent, |member| member.sighting.status.clone_from(&status));
        if let Some(seen) = roster.take_unwritten(agent) {
            let written = self.node.ctx().db.write(move |tx| Ok(tx.note_sighting(agent, &seen)?)).await;
            written.inspect_err(|_| self.write_later(agent))?;
        }
        reply(&agents::StatusSet { agent, status })
    }

    /// What could not be written is in memory, and is written with what is seen next.
    fn write_later(&self, agent: AgentId) {
        self.node.ctx().roster.see(agent, |_| ());
        self.node.saw(agent);
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
        let mut ends = ctx.roster.ends();
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

    async fn stop(self, request: agents::Stop) -> Result<Answer, Failed> {
        let agent: Agent = self.node.ctx().db.read(move |view| handlers::agents::find(view, &request.agent)).await?;
        let (id, ended) = (agent.id, agent.ended.is_some());
        if ended {
            return Err(Refusal::AgentEnded { agent: id }.into());
        }
        let (Some(place), Some(_)) = (agent.place, &agent.launch) else {
            return Err(Refusal::NotLaunched { agent: id, host: agent.host }.into());
        };
        let by = self.caller.by();
        let ended: Agent = self.ask(place, move |reply| PlaceMsg::Stop { by, agent: Some(id), reply }).await?;
        reply(&status::agent(self.node, ended.id).await?)
    }

    async fn attach(self, request: agents::Attach) -> Result<Answer, Failed> {
        let named = request.agent.clone();
        let eyes = self.node.ctx().eyes();
        let info = self.node.ctx().db.read(move |view| handlers::agents::info(view, handlers::agents::find(view, &named)?, &eyes)).await?;
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

    pub(super) async fn fork(self, operation: Operation) -> Result<Answer, Failed> {
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
