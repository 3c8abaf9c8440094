//! Mail: to whom a message goes, and what a mailbox shows of it. Who gets it when is the mailbox's own business.

use std::collections::BTreeSet;

use frith_store::{
    error::{Failure, StoreError},
    id::{AgentId, AgentRef, CallId, MachineId, MachineRef, MessageId, PlaceId, PlaceRef, TaskId},
    model::{Agent, By, HeldFor, HeldMessage, MailState, Mailbox, Place, Presence, Recipient, Stage},
    refusal::{Refusal, What},
    rules::{
        mail::{can_leave_for, can_limit, can_look_into, can_reach, can_reach_all, can_send, is_shown, is_surely_shown, person, state},
        mailbox::may_take,
        named,
    },
    text::PathText,
    time::Timestamp,
    tx::{NewMail, Tx},
    view::{Placed, View},
};

use super::{agents as agent_handlers, task};
use crate::{
    api::agents::{self, Letter, Letters, SentMail, SentMessage},
    caller::{Caller, Who},
    frame::frame,
    push::{Sender, sender_of},
};

/// What a terminal is called where a host has its name.
const TERMINAL: &str = "terminal";

/// The id of a message: of one call and recipient always the same, so that a retry is the same message.
fn message_id(call: CallId, to: &Recipient) -> Result<MessageId, StoreError> {
    let bytes = postcard::to_stdvec(&(call, to)).map_err(|source| StoreError::Row { space: "messages", source })?;
    let hash = blake3::derive_key("frith message id 1", &bytes);
    Ok(MessageId::from_derived(std::array::from_fn(|i| hash[i])))
}

/// Sends a message. A person's is held back first where the settings of the recipient's place say so. `all` are the live agents
/// of the sender's repository, for a message to all; `user` is this machine's.
///
/// # Errors
/// The text or a recipient is refused, or the caller may not see the task.
pub fn send(
    tx: &mut Tx<'_>,
    caller: &Caller,
    request: &agents::Send,
    call: CallId,
    user: &str,
    all: &[AgentId],
) -> Result<SentMail, Failure> {
    let text = can_send(&request.text)?.into_string();
    let task = request.task.as_ref().map(|named| task::find(tx, caller, named)).transpose()?.map(|standing| standing.task.id);
    let sender = caller.agent();
    let recipients: Vec<Recipient> = match (&request.to, request.all_live) {
        (Some(to), false) => vec![recipient(tx, caller, to, user)?],
        (None, true) => can_reach_all(all.iter().copied(), sender)?.into_iter().map(Recipient::Agent).collect(),
        _ => return Err(Refusal::OneOrAll.into()),
    };
    let mut messages = Vec::with_capacity(recipients.len());
    for to in recipients {
        let mail = NewMail { id: message_id(call, &to)?, to, task, text: text.clone() };
        messages.push(send_or_hold(tx, caller, mail)?);
    }
    Ok(SentMail { messages, left_out: Vec::new() })
}

fn send_or_hold(tx: &mut Tx<'_>, caller: &Caller, mail: NewMail) -> Result<SentMessage, Failure> {
    let delay = match caller.who {
        Who::Person(_) => send_delay(tx, &mail.to)?,
        _ => 0,
    };
    let (id, to, recipient) = (mail.id, mail.to.clone(), agent_handlers::recipient_in_words(tx, &mail.to)?);
    let held = if delay == 0 {
        tx.send(&mail, &caller.by())?;
        None
    } else {
        let NewMail { id, to, task, text } = mail;
        Some(task::hold(tx, caller, HeldFor::Mail { to, task }, &text, delay, id)?)
    };
    let sent = if held.is_some() { None } else { tx.mail(id)? };
    let state = sent.map(|placed| how_far(tx, &placed, caller.here, tx.now())).transpose()?;
    Ok(SentMessage { id, to, recipient, state, due: held.map(|held| held.due), unreachable_since: None })
}

/// Sends a message whose time to be taken back is over. Whatever became of its recipient meanwhile, it is not lost.
///
/// # Errors
/// Something could not be written.
pub fn send_held(tx: &mut Tx<'_>, message: &HeldMessage, to: &Recipient, task: Option<TaskId>) -> Result<(), Failure> {
    Ok(tx.send(&NewMail { id: message.id, to: to.clone(), task, text: message.text.clone() }, &message.by)?)
}

fn send_delay(view: &View<'_>, to: &Recipient) -> Result<u32, Failure> {
    let place = match to {
        Recipient::Agent(agent) => view.agent(*agent)?.and_then(|agent| agent.place),
        Recipient::Place(place) => Some(*place),
        Recipient::Person(_) => None,
    };
    let place = place.map(|place| view.place(place)).transpose()?.flatten();
    Ok(place.map(|place| view.effective_settings(&place)).transpose()?.map_or(0, |settings| settings.send_delay_seconds))
}

/// Whom somebody means: a place by its name, an agent or a place by its id, or a person as `user@machine`.
fn recipient(view: &View<'_>, caller: &Caller, given: &str, user: &str) -> Result<Recipient, Failure> {
    let given = given.trim().trim_end_matches('/');
    if let Some((who, machine)) = given.split_once('@') {
        if who.is_empty() || machine.is_empty() {
            return Err(Refusal::NoRecipient { given: given.to_owned() }.into());
        }
        return place_or_person(view, caller, given, (who, machine), user);
    }
    let place = PlaceRef(given.to_owned());
    if !view.places_named(given)?.is_empty() {
        return to_place(view, view.find_place(&place)?);
    }
    match (view.find_agent(&AgentRef(given.to_owned())), view.find_place(&place)) {
        (Ok(agent), Ok(place)) => {
            Err(Refusal::Ambiguous { what: What::Agent, given: given.to_owned(), ids: vec![agent.to_string(), place.to_string()] }.into())
        }
        (Ok(agent), Err(_)) => to_agent(view, view.require_agent(agent)?, caller.agent()),
        (Err(_), Ok(place)) => to_place(view, place),
        (Err(failure), Err(_)) => Err(nobody(failure, given)),
    }
}

/// `name@machine` is the label of a place or a person's address; what could be both is neither.
fn place_or_person(view: &View<'_>, caller: &Caller, given: &str, (who, machine): (&str, &str), user: &str) -> Result<Recipient, Failure> {
    let place = view.find_place(&PlaceRef(given.to_owned()));
    let machine = match view.find_machine(&MachineRef(machine.to_owned())) {
        Ok(machine) => machine,
        Err(unknown) => return place.map_or(Err(unknown), |place| to_place(view, place)),
    };
    let left = can_leave_for(who, (machine, &machine_name(view, machine)?), caller.here, user);
    match (place, left) {
        (Ok(place), Ok(_)) => {
            Err(Refusal::Ambiguous { what: What::Place, given: given.to_owned(), ids: vec![place.to_string(), given.to_owned()] }.into())
        }
        (Ok(place), Err(_)) => to_place(view, place),
        (Err(Failure::Refused(refusal)), Err(_)) if matches!(*refusal, Refusal::Ambiguous { .. }) => Err(refusal.into()),
        (Err(_), left) => Ok(left?),
    }
}

fn to_agent(view: &View<'_>, agent: Agent, sender: Option<AgentId>) -> Result<Recipient, Failure> {
    let place = agent.place.map(|place| view.resolve(place).and_then(|place| view.place(place))).transpose()?.flatten();
    let there =
        place.filter(|_| agent.ended.is_some()).map(|place| Ok::<_, StoreError>((named(&place), present(view, place.id)?))).transpose()?;
    Ok(can_reach(&agent, sender, there)?)
}

fn to_place(view: &View<'_>, place: PlaceId) -> Result<Recipient, Failure> {
    let place = view.require_place(view.resolve(place)?)?;
    if place.deleted.is_some() {
        return Err(Refusal::InTrash { place: named(&place) }.into());
    }
    Ok(Recipient::Place(place.id))
}

/// The agent that would take over now what waits for whoever works in a place.
fn present(view: &View<'_>, place: PlaceId) -> Result<Option<AgentId>, StoreError> {
    let launched = view.agent_in(place)?.map(|agent| agent.id);
    let mut there = view.live_agents()?;
    there.retain(|agent| agent.place == Some(place) && may_take(agent, launched));
    Ok(there.into_iter().max_by_key(|agent| agent.started).map(|agent| agent.id))
}

/// The mailbox of whoever calls.
///
/// # Errors
/// The caller cannot be placed.
pub fn own_mailbox(view: &View<'_>, caller: &Caller) -> Result<Mailbox, Failure> {
    match &caller.who {
        Who::Agent { id, .. } => Ok(Mailbox::Agent(*id)),
        Who::Person(user) => Ok(Mailbox::Person(person(user, &machine_name(view, caller.here)?))),
        Who::Unplaced => Err(Refusal::UnplacedCaller.into()),
        Who::OneOf { agents, .. } => Err(Refusal::SeveralAgents { agents: agents.clone() }.into()),
    }
}

/// Which messages of a mailbox are wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Only those that were not read.
    pub unread: bool,
    /// The most that are returned.
    pub limit: usize,
    /// Only those about this task.
    pub task: Option<TaskId>,
}

impl Wanted {
    /// What a request asks for.
    ///
    /// # Errors
    /// The limit is out of its bounds, or the caller may not see the task.
    pub fn of(view: &View<'_>, caller: &Caller, request: &agents::Inbox) -> Result<Self, Failure> {
        let task = request.task.as_ref().map(|named| task::find(view, caller, named)).transpose()?;
        Ok(Self { unread: request.unread, limit: can_limit(request.limit)?, task: task.map(|standing| standing.task.id) })
    }

    /// Whether a message is about the task that is asked for, if one is.
    pub fn is_about(&self, placed: &Placed) -> bool {
        self.task.is_none_or(|task| placed.mail.task == Some(task))
    }
}

/// Mailboxes that are looked into together.
#[derive(Debug, Clone, Default)]
pub struct Boxes {
    /// Whose they are.
    pub whose: Vec<Recipient>,
    /// Senders of whom something is in a reader's hands just now: nothing else of theirs goes out before that arrived, or waits again.
    pub held: BTreeSet<Sender>,
    /// Only what this agent has, or left there unread.
    pub only: Option<AgentId>,
}

impl Boxes {
    /// One mailbox.
    pub fn of(mailbox: Mailbox, held: BTreeSet<Sender>) -> Self {
        Self { whose: vec![mailbox.into()], held, only: None }
    }

    fn has(&self, placed: &Placed) -> bool {
        self.only.is_none_or(|agent| placed.at.with == Recipient::Agent(agent) || placed.at.passed_from == Some(agent))
    }
}

/// What some mailboxes together have of what is wanted, oldest first: what was not read before anything else, then the latest
/// that was. Also answers how many more there are that were not read.
///
/// # Errors
/// The rows cannot be read.
pub fn found(view: &View<'_>, boxes: &Boxes, wanted: &Wanted, now: Timestamp) -> Result<(Vec<Placed>, u64), Failure> {
    let (unread, more) = unread(view, boxes, wanted)?;
    let room = if wanted.unread { 0 } else { wanted.limit - unread.len() };
    let mut found = [read(view, boxes, wanted, room, now)?, unread].concat();
    found.sort_by_key(Placed::order);
    Ok((found, more))
}

fn unread(view: &View<'_>, boxes: &Boxes, wanted: &Wanted) -> Result<(Vec<Placed>, u64), Failure> {
    // Only what is told by the message itself needs more to be looked at than is returned.
    let picks = wanted.task.is_some() || boxes.only.is_some();
    let most = if picks || !boxes.held.is_empty() { usize::MAX } else { wanted.limit };
    let (mut unread, mut count) = (Vec::new(), 0);
    for whose in &boxes.whose {
        count += view.mail_counts(whose)?.unread();
        for stage in [Stage::Waiting, Stage::Pushed] {
            unread.extend(view.mail_in(whose, stage, most)?.into_iter().filter(|placed| wanted.is_about(placed) && boxes.has(placed)));
        }
    }
    if picks {
        count = unread.len() as u64;
    }
    unread.retain(|placed| !boxes.held.contains(&sender_of(&placed.mail)));
    unread.sort_by_key(Placed::order);
    unread.truncate(wanted.limit);
    let more = count.saturating_sub(unread.len() as u64);
    Ok((unread, more))
}

fn read(view: &View<'_>, boxes: &Boxes, wanted: &Wanted, room: usize, now: Timestamp) -> Result<Vec<Placed>, Failure> {
    let mut read = Vec::new();
    for whose in boxes.whose.iter().filter(|_| room > 0) {
        let mut left = room;
        view.mail_read(whose, &mut |placed| {
            if wanted.is_about(&placed) && boxes.has(&placed) && is_shown(&placed.at, now) {
                read.push(placed);
                left -= 1;
            }
            left > 0
        })?;
    }
    read.sort_by_key(|placed| std::cmp::Reverse(placed.order()));
    read.truncate(room);
    Ok(read)
}

/// Another mailbox: an agent's, or what waits in a place with the mailbox of the agent that was launched there. Marks nothing.
///
/// # Errors
/// Nothing is meant, or the caller may not look into it.
pub fn look_into(view: &View<'_>, caller: &Caller, named: &AgentRef, request: &agents::Inbox, now: Timestamp) -> Result<Letters, Failure> {
    let wanted = Wanted::of(view, caller, request)?;
    let by_name = view.places_named(&named.0)?;
    let agent = if by_name.is_empty() { view.find_agent(named).ok() } else { None };
    let boxes = match agent {
        Some(agent) => agents_mailbox(view, caller, view.require_agent(agent)?)?,
        None => match view.find_place(&PlaceRef(named.0.clone())) {
            Ok(place) => places_mailboxes(view, caller, &view.require_place(place)?)?,
            // A person reads what was left for one, also under the name of a machine in whose place this one goes on.
            Err(_) if named.0.contains('@') => match caller.who {
                Who::Person(_) => Boxes { whose: vec![Recipient::Person(named.0.clone())], ..Boxes::default() },
                _ => return Err(Refusal::PersonsOnly { what: "read what was sent to a person".into() }.into()),
            },
            Err(_) => agents_mailbox(view, caller, agent_handlers::find(view, named).map_err(|failure| nobody(failure, &named.0))?)?,
        },
    };
    let (found, more) = found(view, &boxes, &wanted, now)?;
    Ok(Letters { messages: letters(view, found, caller.here, now)?, more })
}

/// A name under which there is nothing may have been meant for an agent's, a place's or a person's.
fn nobody(failure: Failure, given: &str) -> Failure {
    match failure {
        Failure::Refused(refusal) if matches!(*refusal, Refusal::Unknown { .. }) => Refusal::NoRecipient { given: given.to_owned() }.into(),
        other => other,
    }
}

/// An agent's mailbox, and where it ended, what it left unread in its place.
fn agents_mailbox(view: &View<'_>, caller: &Caller, agent: Agent) -> Result<Boxes, Failure> {
    let reader = caller.agent().map(|reader| view.require_agent(reader)).transpose()?;
    if !caller.oversees() {
        can_look_into(&agent, reader.as_ref())?;
    }
    let ended = agent.ended.is_some();
    let left_in = agent.place.filter(|_| ended).map(Recipient::Place);
    let whose = std::iter::once(Recipient::Agent(agent.id)).chain(left_in).collect();
    Ok(Boxes { whose, only: ended.then_some(agent.id), ..Boxes::default() })
}

fn places_mailboxes(view: &View<'_>, caller: &Caller, place: &Place) -> Result<Boxes, Failure> {
    caller.may_touch(view, place)?;
    let places = view.mail_places(place.id)?.into_iter().map(Recipient::Place);
    let agent = view.agent_in(place.id)?.map(|agent| Recipient::Agent(agent.id));
    Ok(Boxes { whose: places.chain(agent).collect(), ..Boxes::default() })
}

/// What the caller sent, the latest of it, oldest first.
///
/// # Errors
/// The caller cannot be placed, or the rows cannot be read.
pub fn sent(view: &View<'_>, caller: &Caller, request: &agents::Inbox, now: Timestamp) -> Result<Letters, Failure> {
    own_mailbox(view, caller)?;
    let wanted = Wanted::of(view, caller, request)?;
    let (mut found, mut more) = (Vec::new(), 0);
    for (sent, entry) in view.mail_sent_by(&caller.by())? {
        let is_full = found.len() == wanted.limit;
        // Of what is only counted, most need not be read.
        if is_full && wanted.task.is_none() && is_surely_shown(sent, now) {
            more += 1;
            continue;
        }
        match view.mail_entry(entry)?.filter(|placed| wanted.is_about(placed) && is_shown(&placed.at, now)) {
            Some(_) if is_full => more += 1,
            Some(placed) => found.push(placed),
            None => {}
        }
    }
    found.reverse();
    Ok(Letters { messages: letters(view, found, caller.here, now)?, more })
}

/// Messages as replies have them.
///
/// # Errors
/// The rows cannot be read.
pub fn letters(view: &View<'_>, found: Vec<Placed>, here: MachineId, now: Timestamp) -> Result<Vec<Letter>, Failure> {
    found.into_iter().map(|placed| letter(view, placed, here, now)).collect()
}

fn letter(view: &View<'_>, placed: Placed, here: MachineId, now: Timestamp) -> Result<Letter, Failure> {
    let state = how_far(view, &placed, here, now)?;
    let Placed { mail, at } = placed;
    let host = match &mail.from {
        By::Agent(agent) => view.agent(*agent)?.map_or_else(|| "unknown".to_owned(), |agent| agent.host),
        By::Person(_) | By::Node => TERMINAL.to_owned(),
    };
    let mut letter = Letter {
        id: mail.id,
        host,
        machine: machine_name(view, mail.entry.machine)?,
        recipient: agent_handlers::recipient_in_words(view, &mail.to)?,
        from: mail.from,
        to: mail.to,
        passed_from: at.passed_from,
        task: mail.task,
        sent: mail.sent,
        delivered: at.delivered,
        read: at.read,
        state,
        text: mail.text,
        framed: String::new(),
    };
    letter.framed = frame(&letter);
    Ok(letter)
}

fn how_far(view: &View<'_>, placed: &Placed, here: MachineId, now: Timestamp) -> Result<MailState, Failure> {
    let (recipient, machine) = match &placed.mail.to {
        Recipient::Agent(agent) => {
            let agent = view.agent(*agent)?;
            let machine = agent.as_ref().map_or(here, |agent| agent.machine);
            (agent, machine)
        }
        Recipient::Place(place) => (None, view.place(*place)?.map_or(here, |place| place.seat.home)),
        Recipient::Person(person) => {
            let named = person.rsplit_once('@').map(|(_, machine)| machine);
            let machine = view.machines()?.into_iter().find(|machine| Some(machine.name.as_str()) == named);
            (None, machine.map_or(here, |machine| machine.id))
        }
    };
    Ok(state(&placed.mail, &placed.at, recipient.as_ref(), machine, here, now))
}

fn machine_name(view: &View<'_>, machine: MachineId) -> Result<String, StoreError> {
    Ok(view.machine(machine)?.map_or_else(|| machine.short(), |machine| machine.name))
}

/// A live agent of this machine, and where it works.
#[derive(Debug, Clone)]
pub struct Live {
    /// The agent.
    pub id: AgentId,
    /// Its folder.
    pub folder: Option<PathText>,
    /// Its place.
    pub place: Option<PlaceId>,
}

/// Those to whom a message to all may go: the live main agents of this machine.
///
/// # Errors
/// The rows cannot be read.
pub fn live_here(view: &View<'_>, caller: &Caller, eyes: &agent_handlers::Eyes) -> Result<Vec<Live>, Failure> {
    let mut live = Vec::new();
    for agent in view.live_agents()?.into_iter().filter(|agent| agent.machine == caller.here && agent.parent.is_none()) {
        let found = Live { id: agent.id, folder: agent.folder.clone(), place: agent.place };
        if agent_handlers::info(view, agent, eyes)?.presence == Presence::Live {
            live.push(found);
        }
    }
    Ok(live)
}
