//! The rows that follow from the entries of logs, each from its entry alone and from what earlier entries of that log said.

use super::Deriver;
use crate::{
    docs::log::{Entry, Fact},
    error::StoreError,
    id::{AgentId, MachineId, PlaceId},
    model::{Agent, AgentEnd, By, Checkout, Claimed, EndHow, Fired, Launched, MailEvent, MailHappened, Merged, Seat, WorktreeId},
    rows::{Table, get_as},
    time::Timestamp,
    view::{MergedRow, ReplacedRow, SeatRow, Space, TakenRow, claim_key, fired_key, session_key},
};

impl Deriver<'_> {
    /// Derives what an entry of `machine`'s log says; `hash` is the entry's.
    pub(crate) fn entry(&self, machine: MachineId, entry: &Entry<Fact>, hash: [u8; 32]) -> Result<(), StoreError> {
        let at = entry.at;
        match entry.fact.clone() {
            Fact::Seat { place, epoch, home, electorate } => {
                self.seat(place, &SeatRow { seat: Seat { epoch, home, electorate }, entry: hash })
            }
            Fact::Folder { place, folder } => self.folder(machine, place, folder.as_ref()),
            Fact::Checkout { fork, path, start_in, kind } => {
                self.checkout(Checkout { fork, machine, path, start_in, kind, made: at, removed: None })
            }
            Fact::CheckoutRemoved { fork } => self.checkout_removed(fork, machine, at),
            Fact::Launch { agent, kind, place, epoch, by, model, effort, folder } => {
                let launch = Launched { epoch, by, command: Vec::new(), model, effort, process: None };
                let ended = self.view().replaced(machine)?.map(|row| lost(row.at));
                let agent = Agent { place: Some(place), folder, ended, launch: Some(launch), ..begun(agent, kind, machine, at) };
                self.agent(&agent)
            }
            Fact::Started { agent, process, command, folder } => self.change_agent(agent, |agent| {
                agent.folder = Some(folder);
                if let Some(launch) = &mut agent.launch {
                    launch.process = Some(process);
                    launch.command = command;
                }
            }),
            Fact::End { agent, how } => self.change_agent(agent, |agent| agent.ended = Some(AgentEnd { at, how })),
            Fact::Taken { task, holder, call, token, .. } => {
                let row = TakenRow { task, holder, since: at, call };
                self.put(Space::Taken, &Space::Taken.key().bytes(token.as_bytes()), &row)?;
                self.holder(task)
            }
            Fact::Released { .. } => Ok(()),
            Fact::Merge { fork, parent, epoch, by, moved } => {
                let merged = Merged { into: parent, at, by, moved_tasks: moved };
                self.merge(fork, &MergedRow { merged, epoch, entry: hash })
            }
            Fact::Replaces { machine: gone, .. } => self.replaced(gone, &ReplacedRow { by: machine, at, entry: hash }),
            Fact::Fired { template, slot, outcome, .. } => {
                self.put(Space::Fired, &fired_key(template, slot).bytes(machine.as_bytes()), &Fired { slot, outcome, machine, at })
            }
            Fact::Registered { agent, session, parent, model, folder, place } => {
                let said =
                    Agent { session: Some(session.clone()), parent, model, folder, place, ..begun(agent, session.host, machine, at) };
                self.registered(said)
            }
            Fact::Took { agent, messages } => {
                self.happened(&messages, &MailEvent { at, machine, number: entry.number, what: MailHappened::Took(agent) })
            }
            Fact::Delivered { mailbox, messages, read } => {
                let what = MailHappened::Delivered { mailbox, read };
                self.happened(&messages, &MailEvent { at, machine, number: entry.number, what })
            }
            Fact::WorktreeClaimed { claim } => self.claimed(Claimed { claim, machine, at }),
            Fact::WorktreeReleased { worktree } => self.released(machine, &worktree),
        }
    }

    /// Of two machines that go on for one, each knowing nothing of the other, the one with the lower entry counts. The agents
    /// of the one that is gone ended without a word, unless its own log says how.
    fn replaced(&self, gone: MachineId, new: &ReplacedRow) -> Result<(), StoreError> {
        let key = Space::Replaced.key().bytes(gone.as_bytes());
        let old = self.view().replaced(gone)?;
        if old.as_ref().is_some_and(|old| old.entry <= new.entry) {
            return Ok(());
        }
        self.put(Space::Replaced, &key, new)?;
        let before = old.map(|old| lost(old.at));
        for agent in self.view().agents()?.into_iter().filter(|agent| agent.machine == gone && agent.ended == before) {
            self.agent(&Agent { ended: Some(lost(new.at)), ..agent })?;
        }
        Ok(())
    }

    /// A session registered, or again. What is not said now stays as it was; the place and the end of an agent that a node
    /// launched follow from its launch and its process alone.
    fn registered(&self, said: Agent) -> Result<(), StoreError> {
        if let Some(session) = &said.session {
            self.put(Space::Session, &session_key(said.machine, session)?, &said.id)?;
        }
        let known = self.view().agent(said.id)?;
        let ended = self.view().replaced(said.machine)?.map(|row| lost(row.at));
        let Some(known) = known else { return self.agent(&Agent { ended, ..said }) };
        let is_launched = known.launch.is_some();
        let place = if is_launched || said.folder.is_none() { known.place } else { said.place };
        self.agent(&Agent {
            session: said.session,
            parent: said.parent.or(known.parent),
            model: said.model.or(known.model),
            folder: said.folder.or(known.folder),
            place,
            ended: if is_launched { known.ended } else { ended },
            ..known
        })
    }

    fn change_agent(&self, id: AgentId, change: impl FnOnce(&mut Agent)) -> Result<(), StoreError> {
        let Some(mut agent) = self.view().agent(id)? else { return Ok(()) };
        change(&mut agent);
        self.agent(&agent)
    }

    /// Writes an agent's rows, and what follows for the tasks it has in hand and for its mail.
    fn agent(&self, agent: &Agent) -> Result<(), StoreError> {
        let before = self.view().agent(agent.id)?;
        self.put(Space::Agent, &Space::Agent.key().bytes(agent.id.as_bytes()), agent)?;
        let live = Space::LiveAgent.key().bytes(agent.id.as_bytes());
        let launched_in = agent.launch.as_ref().and(agent.place);
        let inside = launched_in.map(|place| Space::AgentIn.key().bytes(place.as_bytes()).bytes(agent.id.as_bytes()));
        for key in [Some(live), inside].into_iter().flatten() {
            if agent.ended.is_none() { self.mark(&key)? } else { self.delete(&key)? }
        }
        for task in self.view().held_by(&By::Agent(agent.id))? {
            self.holder(task.id)?;
        }
        let bearing = |agent: &Agent| (agent.ended.is_some(), agent.place);
        if before.as_ref().map(bearing) == Some(bearing(agent)) { Ok(()) } else { self.settle_mail_of(agent.id) }
    }

    fn claimed(&self, claimed: Claimed) -> Result<(), StoreError> {
        self.put(Space::Claim, &claim_key(claimed.machine, &claimed.claim.worktree.record), &claimed)
    }

    fn released(&self, machine: MachineId, worktree: &WorktreeId) -> Result<(), StoreError> {
        match self.view().claim(machine, worktree)? {
            Some(_) => self.delete(&claim_key(machine, &worktree.record)),
            None => Ok(()),
        }
    }

    fn checkout_removed(&self, fork: PlaceId, machine: MachineId, at: Timestamp) -> Result<(), StoreError> {
        match self.checkout_on(fork, machine)? {
            Some(checkout) => self.checkout(Checkout { removed: Some(at), ..checkout }),
            None => Ok(()),
        }
    }

    fn checkout_on(&self, fork: PlaceId, machine: MachineId) -> Result<Option<Checkout>, StoreError> {
        let key = Space::Checkout.key().bytes(fork.as_bytes()).bytes(machine.as_bytes());
        get_as(self.rows, Table::Views, &key, Space::Checkout.word())
    }

    fn checkout(&self, checkout: Checkout) -> Result<(), StoreError> {
        let Checkout { fork, machine, .. } = checkout;
        if let Some(old) = self.checkout_on(fork, machine)? {
            self.delete(&super::place::path_key(machine, &old.path, fork))?;
        }
        if checkout.removed.is_none() {
            self.mark(&super::place::path_key(machine, &checkout.path, fork))?;
        }
        self.put(Space::Checkout, &Space::Checkout.key().bytes(fork.as_bytes()).bytes(machine.as_bytes()), &checkout)
    }
}

/// What is known of an agent that has just begun.
fn begun(id: AgentId, host: String, machine: MachineId, started: Timestamp) -> Agent {
    Agent { id, host, model: None, session: None, parent: None, machine, place: None, folder: None, started, ended: None, launch: None }
}

/// The end of an agent whose machine is gone.
fn lost(at: Timestamp) -> AgentEnd {
    AgentEnd { at, how: EndHow::Lost }
}
