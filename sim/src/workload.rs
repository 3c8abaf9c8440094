//! Requests to a store, made up from a seed over what was made up before. Each is data, so that two stores can be given the
//! same ones and compared.

use frith_store::{
    docs::log::Fact,
    error::Failure,
    id::{AgentId, CallId, MessageId, OpenToken, PlaceId, TaskId, TeamId},
    model::{
        Assignee, By, CheckoutKind, Claim, EndHow, HostSession, Mailbox, Missed, PlaceKind, Recipient, Schedule, Stage, Status, WorktreeId,
    },
    open::Tx,
    rules::{
        schedule::{Look, Template, can_fire},
        seat::can_decide,
    },
    text::PathText,
    time::Timestamp,
    tx::{NewMail, NewPlace, NewTask, PlaceEdit, TaskEdit},
};

use crate::dice::Dice;

/// The workspace that is there from the beginning.
pub const FIRST: [u8; 16] = [1; 16];

/// The person whose mailbox is used.
const PERSON: &str = "ada@laptop";

/// One request.
#[derive(Debug, Clone)]
pub enum Request {
    /// Found the team.
    Found(TeamId),
    /// Make a workspace, or a fork of the first one.
    Place {
        /// Its id.
        id: PlaceId,
        /// Whether it is a fork.
        fork: bool,
    },
    /// Rename a place.
    Rename(PlaceId, u64),
    /// Change a setting of a place.
    SendDelay(PlaceId, u32),
    /// Put a place into the trash or take it back.
    Trash(PlaceId, bool),
    /// Make a task.
    Task(Box<NewTask>),
    /// Change a task's registers.
    Edit(TaskId, TaskEdit),
    /// Set a task's status.
    Status(TaskId, Status, OpenToken),
    /// Move a task.
    Move(TaskId, PlaceId),
    /// Add a message of this many bytes.
    Message(TaskId, usize),
    /// Have what came of a template's slots recorded, with its run.
    Fire(TaskId),
    /// Add to the log.
    Fact(Box<Fact>),
    /// Record the reply to a call.
    Call(CallId),
    /// Send a message, from an agent or the person.
    Mail(Box<NewMail>, By),
    /// Let an agent take over what waits in its place.
    Take(AgentId),
    /// Hand out up to so many messages of a mailbox: pushed, or because they were asked for.
    Deliver(Mailbox, usize, bool),
}

/// Who asks for everything that no agent does.
pub fn person() -> By {
    By::Person("ada".into())
}

/// Carries a request out.
///
/// # Errors
/// What the store says.
pub fn carry_out(tx: &mut Tx<'_>, request: Request) -> Result<(), Failure> {
    let by = person();
    match request {
        Request::Found(team) => tx.found_team(team, "laptop", &by)?,
        Request::Place { id, fork } => tx.create_place(new_place(id, fork), &by)?,
        Request::Rename(id, n) => {
            tx.set_place(id, PlaceEdit { name: Some(format!("renamed-{n}")), ..PlaceEdit::default() }, &by)?;
        }
        Request::SendDelay(id, seconds) => {
            let mut settings = tx.require_place(id)?.settings;
            settings.send_delay_seconds = seconds;
            settings.self_learning_note = "n".repeat(seconds as usize * 400);
            tx.set_place(id, PlaceEdit { settings: Some(settings), ..PlaceEdit::default() }, &by)?;
        }
        Request::Trash(id, away) => {
            let deleted = Some(away.then(|| tx.now()));
            tx.set_place(id, PlaceEdit { deleted, ..PlaceEdit::default() }, &by)?;
        }
        Request::Task(task) => tx.create_task(*task, &by)?,
        Request::Edit(id, edit) => tx.edit_task(id, edit, &by)?,
        Request::Status(id, status, token) => tx.set_status(id, status, token, &by)?,
        Request::Move(id, to) => tx.move_task(id, to, &by)?,
        Request::Message(id, length) => tx.add_message(id, &"m".repeat(length), &by)?,
        Request::Fire(id) => fire(tx, id)?,
        Request::Fact(fact) => tx.append(*fact)?,
        Request::Call(call) => tx.record_call(call, b"reply")?,
        Request::Mail(mail, from) => tx.send(&mail, &from)?,
        Request::Take(agent) => drop(tx.take_mail(agent, 3, &|_| true)?),
        Request::Deliver(mailbox, most, read) => deliver(tx, &mailbox, most, read)?,
    }
    Ok(())
}

/// What a mailbox does when its owner was given something: what was not handed out is, and what is asked for counts as read.
fn deliver(tx: &mut Tx<'_>, mailbox: &Mailbox, most: usize, read: bool) -> Result<(), Failure> {
    let whose = Recipient::from(mailbox.clone());
    let mut found = tx.mail_in(&whose, Stage::Waiting, most)?;
    if read {
        found.extend(tx.mail_in(&whose, Stage::Pushed, most)?);
    }
    let entries: Vec<_> = found.into_iter().map(|placed| placed.mail.entry).collect();
    tx.deliver_mail(mailbox, &entries, read)?;
    Ok(())
}

/// What a node does when a slot has come.
fn fire(tx: &mut Tx<'_>, id: TaskId) -> Result<(), Failure> {
    let task = tx.task(id)?.filter(|task| task.schedule.is_some());
    let place = task.as_ref().map(|task| tx.resolve(task.place)).transpose()?;
    let (Some(task), Some(place)) = (task, place.map(|place| tx.place(place)).transpose()?.flatten()) else { return Ok(()) };
    let last = tx.fired(id, Timestamp::from_ms(i64::MAX), 1)?;
    let template = Template { task: &task, place: &place, parent: None, last: last.first() };
    let plan = can_fire(template, can_decide(&place, tx.machine())?, Look::at(tx.now()))?;
    tx.fire(&plan)
}

fn new_place(id: PlaceId, fork: bool) -> NewPlace {
    let kind = if fork { PlaceKind::Fork { parent: PlaceId::from_bytes(FIRST) } } else { PlaceKind::Workspace };
    NewPlace {
        id,
        kind,
        name: format!("p-{}", id.short()),
        description: "made up".into(),
        icon: String::new(),
        folder: (!fork).then(|| PathText::from_bytes(format!("/home/ada/{id}").into_bytes())),
        spun_up_for: None,
    }
}

/// A host's session that registers, or that is there again.
fn session(agent: AgentId, place: PlaceId) -> Fact {
    let session = HostSession { host: "played".into(), id: Some(agent.short()), sub_agent: None };
    let folder = PathText::from_bytes(format!("/home/ada/{place}").into_bytes());
    Fact::Registered { agent, session, parent: None, model: None, folder: Some(folder), place: Some(place) }
}

/// Makes up requests, and knows what it made up.
#[derive(Debug, Clone)]
pub struct Workload {
    dice: Dice,
    places: Vec<PlaceId>,
    forks: Vec<PlaceId>,
    tasks: Vec<TaskId>,
    agents: Vec<AgentId>,
    ended: Vec<AgentId>,
}

impl Workload {
    /// The requests of `seed`.
    pub fn new(seed: u64) -> Self {
        let places = vec![PlaceId::from_bytes(FIRST)];
        Self { dice: Dice::new(seed, "workload"), places, forks: Vec::new(), tasks: Vec::new(), agents: Vec::new(), ended: Vec::new() }
    }

    /// What the others rest on.
    pub fn beginning() -> Vec<Request> {
        vec![Request::Found(TeamId::from_bytes([9; 16])), Request::Place { id: PlaceId::from_bytes(FIRST), fork: false }]
    }

    /// One to four requests.
    pub fn batch(&mut self) -> Vec<Request> {
        (0..=self.dice.below(4)).map(|_| self.request()).collect()
    }

    /// One request.
    pub fn request(&mut self) -> Request {
        let task = self.dice.pick(&self.tasks);
        let place = self.dice.pick(&self.places).unwrap_or(PlaceId::from_bytes(FIRST));
        match (self.dice.below(22), task) {
            (0, _) => self.new_place(),
            (1, _) => Request::SendDelay(place, self.dice.below(9) as u32),
            (2, _) => Request::Call(CallId::from_random(self.dice.bytes())),
            (3, Some(task)) => Request::Move(task, place),
            (4, Some(task)) => Request::Message(task, self.length()),
            (5, Some(task)) => Request::Edit(task, self.edit()),
            (6 | 7, Some(task)) => {
                let status = Status::ALL[self.dice.below(5) as usize].0;
                Request::Status(task, status, OpenToken::from_random(self.dice.bytes()))
            }
            (8, Some(task)) => self.take(task, place),
            (9, _) => self.log(place),
            (10, _) => Request::Rename(place, self.dice.below(3)),
            (11, _) => Request::Trash(place, self.dice.below(2) == 0),
            (14 | 15, Some(task)) => Request::Fire(task),
            (16..=18, _) => self.mail(place, task),
            (19, _) => Request::Take(self.agent()),
            (20 | 21, _) => {
                let mailbox = [Mailbox::Agent(self.agent()), Mailbox::Person(PERSON.into())][self.dice.below(2) as usize].clone();
                Request::Deliver(mailbox, 1 + self.dice.below(3) as usize, self.dice.below(2) == 0)
            }
            _ => self.new_task(place),
        }
    }

    /// An agent that runs or that ended; one that nobody knows where there is none.
    fn agent(&mut self) -> AgentId {
        let of = if self.dice.below(3) == 0 { &self.ended } else { &self.agents };
        self.dice.pick(of).unwrap_or(AgentId::from_bytes([0xee; 16]))
    }

    fn mail(&mut self, place: PlaceId, task: Option<TaskId>) -> Request {
        let to = match self.dice.below(4) {
            0 => Recipient::Place(place),
            1 => Recipient::Person(PERSON.into()),
            _ => Recipient::Agent(self.agent()),
        };
        let from = if self.dice.below(3) == 0 { person() } else { By::Agent(self.agent()) };
        let (id, text) = (MessageId::from_random(self.dice.bytes()), "m".repeat(self.length()));
        Request::Mail(Box::new(NewMail { id, to, task, text }), from)
    }

    fn length(&mut self) -> usize {
        [10, 3_000][self.dice.below(2) as usize]
    }

    fn new_place(&mut self) -> Request {
        let (id, fork) = (PlaceId::from_random(self.dice.bytes()), self.dice.below(2) == 0);
        self.places.push(id);
        if fork {
            self.forks.push(id);
        }
        Request::Place { id, fork }
    }

    fn new_task(&mut self, place: PlaceId) -> Request {
        let id = TaskId::from_random(self.dice.bytes());
        self.tasks.push(id);
        Request::Task(Box::new(NewTask {
            id,
            place,
            title: format!("task {}", id.short()),
            body: "b".repeat(self.length()),
            assignee: Assignee::ALL[self.dice.below(2) as usize].0,
            position: Some(self.dice.below(3) as i64 - 1),
            allow_all_commands: false,
            clear_context: None,
            token: OpenToken::from_random(self.dice.bytes()),
            schedule: self.schedule(),
        }))
    }

    /// Mostly none; else one whose slots lie in the past of any clock, or in its future.
    fn schedule(&mut self) -> Option<Schedule> {
        let from = [-40 * 86_400_000, 0][self.dice.below(2) as usize];
        let missed = Missed::ALL[self.dice.below(2) as usize].0;
        let paused = (self.dice.below(4) == 0).then(|| Timestamp::from_ms(from));
        let expression = format!("{} 9 * * *", self.dice.below(60));
        let schedule = Schedule { expression, time_zone: "Europe/Berlin".into(), missed, from: Timestamp::from_ms(from), paused };
        (self.dice.below(3) == 0).then_some(schedule)
    }

    fn edit(&mut self) -> TaskEdit {
        match self.dice.below(5) {
            4 => TaskEdit { schedule: Some(self.schedule()), ..TaskEdit::default() },
            0 => TaskEdit { title: Some(format!("title {}", self.dice.below(99))), ..TaskEdit::default() },
            1 => TaskEdit { body: Some("e".repeat(self.length())), ..TaskEdit::default() },
            2 => TaskEdit { position: Some(self.dice.below(5) as i64), ..TaskEdit::default() },
            _ => TaskEdit {
                assignee: Some(Assignee::ALL[self.dice.below(2) as usize].0),
                allow_all_commands: Some(self.dice.below(2) == 0),
                clear_context: Some([None, Some(true)][self.dice.below(2) as usize]),
                ..TaskEdit::default()
            },
        }
    }

    fn take(&mut self, task: TaskId, place: PlaceId) -> Request {
        let holder = self.dice.pick(&self.agents).map_or_else(person, By::Agent);
        let (call, token) = (CallId::from_random(self.dice.bytes()), OpenToken::from_random(self.dice.bytes()));
        Request::Fact(Box::new(match self.dice.below(4) {
            0 => Fact::Released { task, place, epoch: 1 },
            _ => Fact::Taken { task, place, epoch: 1, holder, call, token },
        }))
    }

    /// A claim on one of three worktrees, some of which were made twice.
    fn claim(&mut self) -> Claim {
        let task = format!("w{}", self.dice.below(3));
        let path = |text: String| PathText::from_bytes(text.into_bytes());
        Claim {
            worktree: WorktreeId {
                record: path(format!("/home/ada/app/.git/worktrees/{task}")),
                stamp: i64::from(self.dice.below(4) == 0),
            },
            path: path(format!("/home/ada/worktrees/app-{task}")),
            repository: path("/home/ada/app".into()),
            branch: Some(task.clone()),
            agent: self.dice.pick(&self.agents),
            owner: None,
            origin: "frith".into(),
            history: None,
            task,
        }
    }

    fn log(&mut self, place: PlaceId) -> Request {
        let agent = AgentId::from_random(self.dice.bytes());
        Request::Fact(Box::new(match self.dice.below(10) {
            4 => {
                let path = PathText::from_bytes(format!("/home/ada/forks/{}", place.short()).into_bytes());
                Fact::Checkout { fork: place, start_in: path.clone(), path, kind: CheckoutKind::Copy }
            }
            5 => Fact::CheckoutRemoved { fork: place },
            0 if !self.agents.is_empty() => {
                let agent = self.agents.remove(0);
                self.ended.push(agent);
                Fact::End { agent, how: EndHow::Exited(0) }
            }
            6 if !self.ended.is_empty() => {
                let agent = self.ended.remove(0);
                self.agents.push(agent);
                session(agent, place)
            }
            7 => {
                self.agents.push(agent);
                session(agent, place)
            }
            1 if !self.forks.is_empty() => {
                let (fork, parent) = (self.forks.remove(0), PlaceId::from_bytes(FIRST));
                Fact::Merge { fork, parent, epoch: 1, by: person(), moved: 0 }
            }
            2 => {
                let folder = format!("/home/ada/{}", self.dice.below(3)).into_bytes();
                Fact::Folder { place, folder: (self.dice.below(3) > 0).then(|| PathText::from_bytes(folder)) }
            }
            8 => Fact::WorktreeClaimed { claim: self.claim() },
            9 => Fact::WorktreeReleased { worktree: self.claim().worktree },
            _ => {
                self.agents.push(agent);
                let (kind, by) = ("worker".into(), person());
                Fact::Launch { agent, kind, place, epoch: 1, by, model: None, effort: None, folder: None }
            }
        }))
    }
}
