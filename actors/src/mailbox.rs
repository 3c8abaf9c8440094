//! The **mailbox** actor, one for each mailbox that somebody uses: it hands messages out one after the other, so that no two
//! callers get the same, and keeps what is in hand until it is confirmed.
//!
//! What was delivered stands in the store, written when its receiver has it and not before. An actor that fails forgets only what
//! was in hand, and that waits again. It decides nothing about to whom a message goes.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
    time::Duration,
};

use frith_store::{
    error::Failure,
    id::MachineId,
    model::{Mailbox, OutboxEntry, Recipient, Stage},
    time::Timestamp,
    view::{Placed, View},
};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::watch;

use crate::{
    api::agents::Letters,
    call::Failed,
    db::Db,
    handlers::mail::{Boxes, Wanted, found, letters},
    local::server::Handed,
    push::{Sender, Waiting, pushed, sender_of},
    task::Owned,
};

/// How many waiting messages are looked at for one push; of the rest only the number counts.
const LOOKED_AT: usize = 128;
/// The most messages an agent takes over at once of those that wait in its place.
const TAKEN_AT_ONCE: usize = 128;
/// How long nobody may have asked before a mailbox's actor ends.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// What a mailbox does.
pub enum MailboxMsg {
    /// Hands out what fits into so many bytes, to be pushed; none where nothing is to be said.
    Push(usize, RpcReplyPort<Option<Pushed>>),
    /// Hands out what its owner asks for.
    Read(Wanted, RpcReplyPort<Result<Returned, Failed>>),
    /// What was in hand under this number is no longer, and whether it arrived.
    Released(u64, bool),
    /// Time to look whether anybody still asks.
    Look,
}

/// What is pushed, and who waits to hear whether it arrived.
pub struct Pushed {
    /// The frames, and how many more there are.
    pub text: String,
    /// Who waits.
    pub handed: Box<dyn Handed>,
}

/// What is returned to the owner of a mailbox, and who waits to hear whether it arrived.
pub struct Returned {
    /// The messages.
    pub letters: Letters,
    /// Who waits.
    pub handed: Box<dyn Handed>,
}

/// The actor.
pub struct MailboxActor;

/// Its state.
pub struct MailboxState {
    db: Db,
    mailbox: Mailbox,
    in_hand: BTreeMap<u64, InHand>,
    next: u64,
    /// How many messages the mailbox had when it was last said, and heard, that more wait.
    told: Option<u64>,
    /// Changes with every write; none of them since the last look means that nothing can have come.
    written: watch::Receiver<()>,
    was_empty: bool,
    used: bool,
    _looks: Owned,
}

/// What one caller has and did not confirm.
struct InHand {
    messages: Vec<OutboxEntry>,
    senders: BTreeSet<Sender>,
    /// How many messages the mailbox had when this was handed out to be pushed.
    of: Option<u64>,
}

impl InHand {
    /// Whether a reader has it. What a hook has in hand does not keep a reader from it: pushed is not read.
    fn is_read(&self) -> bool {
        self.of.is_none()
    }
}

/// What waits in a mailbox.
struct Found {
    waiting: Vec<Waiting>,
    count: u64,
    /// How many messages the mailbox has in all.
    all: u64,
    /// Whether more waits in the place of the agent whose mailbox it is.
    in_place: bool,
}

impl Actor for MailboxActor {
    type Msg = MailboxMsg;
    type State = MailboxState;
    type Arguments = (Db, Mailbox);

    async fn pre_start(&self, myself: ActorRef<MailboxMsg>, (db, mailbox): (Db, Mailbox)) -> Result<MailboxState, ActorProcessingErr> {
        let looks = Owned::spawn(async move {
            loop {
                tokio::time::sleep(IDLE).await;
                if myself.cast(MailboxMsg::Look).is_err() {
                    return;
                }
            }
        });
        let written = db.written();
        Ok(MailboxState {
            db,
            mailbox,
            in_hand: BTreeMap::new(),
            next: 0,
            told: None,
            written,
            was_empty: false,
            used: true,
            _looks: looks,
        })
    }

    async fn handle(&self, myself: ActorRef<MailboxMsg>, message: MailboxMsg, state: &mut MailboxState) -> Result<(), ActorProcessingErr> {
        state.used |= !matches!(message, MailboxMsg::Look);
        match message {
            // What a caller that went away was to get is in nobody's hands once the answer is dropped.
            MailboxMsg::Push(room, reply) => {
                let pushed = state.push(&myself, room).await.unwrap_or_else(|failure| {
                    tracing::warn!(%failure, "what waits in a mailbox could not be read, and nothing is pushed");
                    None
                });
                let _ = reply.send(pushed);
            }
            MailboxMsg::Read(wanted, reply) => {
                let _ = reply.send(state.read(&myself, wanted).await.map_err(Failed::from));
            }
            MailboxMsg::Released(number, arrived) => state.released(number, arrived),
            MailboxMsg::Look if !state.used && state.in_hand.is_empty() => myself.stop(None),
            MailboxMsg::Look => state.used = false,
        }
        Ok(())
    }
}

impl MailboxState {
    async fn push(&mut self, myself: &ActorRef<MailboxMsg>, room: usize) -> Result<Option<Pushed>, Failure> {
        if self.was_empty && !self.written.has_changed().unwrap_or(true) {
            return Ok(None);
        }
        self.written.mark_unchanged();
        let mut found = self.look().await?;
        if found.in_place {
            self.take_over(TAKEN_AT_ONCE, None).await?;
            found = self.look().await?;
        }
        self.was_empty = found.count == 0;
        if self.was_empty {
            return Ok(None);
        }
        // What is on its way to the host counts as said; if it does not arrive, it is said again.
        let is_on_its_way = self.in_hand.values().any(|hand| hand.of == Some(found.all));
        let is_new = self.told != Some(found.all) && !is_on_its_way;
        let held = self.senders_in_hand(|_| true);
        let batch = pushed(&found.waiting, found.count, &held, room, is_new);
        if batch.text.is_empty() {
            return Ok(None);
        }
        let senders = found.waiting.iter().filter(|one| batch.messages.contains(&one.entry)).map(Waiting::sender).collect();
        let handed = self.hand(myself, InHand { messages: batch.messages, senders, of: Some(found.all) });
        Ok(Some(Pushed { text: batch.text, handed }))
    }

    async fn read(&mut self, myself: &ActorRef<MailboxMsg>, wanted: Wanted) -> Result<Returned, Failure> {
        if self.look().await?.in_place {
            self.take_over(wanted.limit, Some(wanted.clone())).await?;
        }
        let (boxes, mailbox) = (Boxes::of(self.mailbox.clone(), self.senders_in_hand(InHand::is_read)), self.mailbox.clone());
        let (here, now) = (self.db.store().machine(), self.db.now());
        let (unread, letters) = self
            .db
            .read(move |view| {
                let (found, more) = found(view, &boxes, &wanted, now)?;
                let more = more + left_in_place(view, &mailbox, &wanted)?;
                let unread: Vec<_> = found.iter().filter(|placed| placed.at.stage != Stage::Read).cloned().collect();
                Ok((unread, Letters { messages: letters(view, found, here, now)?, more }))
            })
            .await?;
        let senders = unread.iter().map(|placed| sender_of(&placed.mail)).collect();
        let messages = unread.iter().map(|placed| placed.mail.entry).collect();
        let handed = self.hand(myself, InHand { messages, senders, of: None });
        Ok(Returned { letters, handed })
    }

    async fn look(&self) -> Result<Found, Failure> {
        let (mailbox, in_hand) = (self.mailbox.clone(), self.messages_in_hand());
        let (here, now) = (self.db.store().machine(), self.db.now());
        self.db.read(move |view| look(view, &mailbox, &in_hand, here, now)).await
    }

    /// Takes over what waits in the agent's place, if the agent is the one to have it: durably, before it is handed out.
    async fn take_over(&self, most: usize, wanted: Option<Wanted>) -> Result<(), Failure> {
        let Mailbox::Agent(agent) = self.mailbox else { return Ok(()) };
        let is_wanted = move |placed: &Placed| wanted.as_ref().is_none_or(|wanted| wanted.is_about(placed));
        let taken = self.db.write(move |tx| Ok(tx.take_mail(agent, most, &is_wanted)?)).await?;
        if taken > 0 {
            tracing::info!(%agent, taken, "an agent took over what waited in its place");
        }
        Ok(())
    }

    fn senders_in_hand(&self, counts: impl Fn(&InHand) -> bool) -> BTreeSet<Sender> {
        self.in_hand.values().filter(|hand| counts(hand)).flat_map(|hand| hand.senders.iter().cloned()).collect()
    }

    fn messages_in_hand(&self) -> BTreeSet<OutboxEntry> {
        self.in_hand.values().flat_map(|hand| hand.messages.iter().copied()).collect()
    }

    fn hand(&mut self, myself: &ActorRef<MailboxMsg>, hand: InHand) -> Box<dyn Handed> {
        let (db, mailbox, messages, read) = (self.db.clone(), self.mailbox.clone(), hand.messages.clone(), hand.is_read());
        let number = self.next;
        self.next += 1;
        self.in_hand.insert(number, hand);
        Box::new(Handing { db, mailbox, messages, read, release: Release { actor: myself.clone(), number, arrived: false } })
    }

    fn released(&mut self, number: u64, arrived: bool) {
        if let Some(hand) = self.in_hand.remove(&number)
            && arrived
            && hand.of.is_some()
        {
            self.told = hand.of;
        }
        // What did not arrive waits again.
        self.was_empty = false;
    }
}

/// Messages in somebody's hands.
struct Handing {
    db: Db,
    mailbox: Mailbox,
    messages: Vec<OutboxEntry>,
    read: bool,
    release: Release,
}

/// Tells the mailbox that something is in nobody's hands any more, whatever becomes of who had it.
struct Release {
    actor: ActorRef<MailboxMsg>,
    number: u64,
    arrived: bool,
}

impl Drop for Release {
    fn drop(&mut self) {
        // A mailbox that is gone has forgotten what was in hand.
        let _ = self.actor.cast(MailboxMsg::Released(self.number, self.arrived));
    }
}

impl Handed for Handing {
    fn written(self: Box<Self>, is_written: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let Self { db, mailbox, messages, read, mut release } = *self;
            if !is_written {
                return;
            }
            if messages.is_empty() {
                release.arrived = true;
                return;
            }
            match db.write(move |tx| Ok(tx.deliver_mail(&mailbox, &messages, read)?)).await {
                Ok(_) => release.arrived = true,
                Err(failure) => tracing::warn!(%failure, "that messages arrived could not be written down, and they are handed out again"),
            }
        })
    }
}

fn look(view: &View<'_>, mailbox: &Mailbox, in_hand: &BTreeSet<OutboxEntry>, here: MachineId, now: Timestamp) -> Result<Found, Failure> {
    let whose = Recipient::from(mailbox.clone());
    let counts = view.mail_counts(&whose)?;
    let mut placed = view.mail_in(&whose, Stage::Waiting, LOOKED_AT + in_hand.len())?;
    let looked_at = placed.len() as u64;
    placed.retain(|placed| !in_hand.contains(&placed.mail.entry));
    let count = counts.waiting.saturating_sub(looked_at - placed.len() as u64);
    let senders: Vec<_> = placed.iter().map(|placed| (placed.mail.entry, placed.mail.from.clone())).collect();
    let framed = letters(view, placed, here, now)?.into_iter().map(|letter| letter.framed);
    let waiting = senders.into_iter().zip(framed).map(|((entry, from), framed)| Waiting { entry, from, framed }).collect();
    let in_place = match mailbox {
        Mailbox::Agent(agent) => view.may_have_mail_to_take(*agent, LOOKED_AT)?,
        Mailbox::Person(_) => false,
    };
    Ok(Found { waiting, count, all: counts.all(), in_place })
}

/// How much waits in an agent's place that it could take over and did not.
fn left_in_place(view: &View<'_>, mailbox: &Mailbox, wanted: &Wanted) -> Result<u64, Failure> {
    let Mailbox::Agent(agent) = mailbox else { return Ok(0) };
    Ok(view.mail_to_take(*agent, usize::MAX, &|placed| wanted.is_about(placed))?.len() as u64)
}

#[cfg(test)]
mod tests {
    use frith_store::{
        id::{AgentId, MessageId},
        invariants::mail_is_delivered_once,
        model::{By, MailCounts},
        tx::NewMail,
    };
    use ractor::rpc::CallResult;

    use super::*;
    use crate::{db::tests::db, push::PUSH_MOST};

    const ROOM: usize = 1024;

    fn me() -> Mailbox {
        Mailbox::Agent(AgentId::from_bytes([1; 16]))
    }

    async fn mailbox(db: &Db) -> ActorRef<MailboxMsg> {
        Actor::spawn(None, MailboxActor, (db.clone(), me())).await.unwrap().0
    }

    /// Sends a message of so many bytes from an agent to the mailbox.
    async fn send(db: &Db, n: u16, from: u8, length: usize) {
        let mut id = [0; 16];
        id[..2].copy_from_slice(&n.to_be_bytes());
        let mail = NewMail { id: MessageId::from_bytes(id), to: me().into(), task: None, text: format!("{n}:{}", "x".repeat(length)) };
        db.write(move |tx| Ok(tx.send(&mail, &By::Agent(AgentId::from_bytes([from; 16])))?)).await.unwrap();
    }

    async fn push(mailbox: &ActorRef<MailboxMsg>, room: usize) -> Option<Pushed> {
        match mailbox.call(|reply| MailboxMsg::Push(room, reply), None).await {
            Ok(CallResult::Success(pushed)) => pushed,
            _ => panic!("the mailbox is gone"),
        }
    }

    async fn read(mailbox: &ActorRef<MailboxMsg>, limit: usize) -> Returned {
        let wanted = Wanted { unread: true, limit, task: None };
        match mailbox.call(|reply| MailboxMsg::Read(wanted, reply), None).await {
            Ok(CallResult::Success(Ok(returned))) => returned,
            _ => panic!("the mailbox is gone"),
        }
    }

    /// The numbers of the messages in a push.
    fn numbers(text: &str) -> Vec<u16> {
        let first = |line: &str| line.strip_prefix("> ")?.split_once(':')?.0.parse().ok();
        text.lines().filter_map(first).collect()
    }

    async fn counts(db: &Db) -> MailCounts {
        db.read(|view| Ok(view.mail_counts(&me().into())?)).await.unwrap()
    }

    async fn is_sound(db: &Db) {
        assert_eq!(db.read(|view| Ok(mail_is_delivered_once(view)?)).await.unwrap(), []);
    }

    #[tokio::test]
    async fn two_hooks_at_once_never_get_the_same_and_a_killed_one_loses_nothing() {
        let db = db();
        let mailbox = mailbox(&db).await;
        for n in 0..3 {
            send(&db, n, 7, 100).await;
        }
        send(&db, 3, 8, 100).await;
        let first = push(&mailbox, 700).await.unwrap();
        assert_eq!(numbers(&first.text), [0, 1]);
        let second = push(&mailbox, ROOM).await.unwrap();
        assert_eq!(numbers(&second.text), [3], "what one sent after what is in hand waits for that");
        assert_eq!(counts(&db).await, MailCounts { waiting: 4, ..MailCounts::default() }, "nothing arrived yet");
        drop(first);
        let again = push(&mailbox, ROOM).await.unwrap();
        assert_eq!(numbers(&again.text), [0, 1, 2]);
        again.handed.written(true).await;
        second.handed.written(false).await;
        assert_eq!(counts(&db).await, MailCounts { waiting: 1, pushed: 3, read: 0 });
        assert_eq!(numbers(&push(&mailbox, ROOM).await.unwrap().text), [3]);
        is_sound(&db).await;
    }

    #[tokio::test]
    async fn how_many_more_wait_is_not_said_twice_while_the_first_is_on_its_way() {
        let db = db();
        let mailbox = mailbox(&db).await;
        for n in 0..3 {
            send(&db, n, 7, 500).await;
        }
        let first = push(&mailbox, ROOM).await.unwrap();
        assert!(first.text.contains("2 more"), "{}", first.text);
        assert!(push(&mailbox, 10).await.is_none());
        drop(first);
        assert!(push(&mailbox, ROOM).await.unwrap().text.contains("2 more"), "what did not arrive is said again");
    }

    #[tokio::test]
    async fn c10_what_is_returned_is_read_only_once_it_was_written() {
        let db = db();
        let mailbox = mailbox(&db).await;
        for n in 0..3 {
            send(&db, n, 7, 10).await;
        }
        let unheard = read(&mailbox, 2).await;
        assert_eq!((unheard.letters.messages.len(), unheard.letters.more), (2, 1));
        let beside = read(&mailbox, 10).await;
        assert_eq!((beside.letters.messages.len(), beside.letters.more), (0, 3), "what a sender has in hand goes before the rest of it");
        unheard.handed.written(false).await;
        drop(beside);
        let all = read(&mailbox, 10).await;
        assert_eq!(all.letters.messages.len(), 3);
        all.handed.written(true).await;
        assert_eq!(counts(&db).await, MailCounts { read: 3, ..MailCounts::default() });
        assert!(push(&mailbox, ROOM).await.is_none());
        is_sound(&db).await;
    }

    #[tokio::test]
    async fn b09_three_hundred_messages_and_fifty_prompts_do_not_fill_the_context() {
        let db = db();
        let mailbox = mailbox(&db).await;
        for n in 0..300 {
            send(&db, n, 7, 600).await;
        }
        let (mut all, mut told) = (Vec::new(), 0);
        for _ in 0..50 {
            let Some(pushed) = push(&mailbox, ROOM).await else { continue };
            assert!(pushed.text.len() <= ROOM);
            all.extend(numbers(&pushed.text));
            told += usize::from(pushed.text.contains(" more: "));
            pushed.handed.written(true).await;
        }
        assert_eq!((all, told), ((0..50).collect(), 1), "each once, in order; and once that there are more");
        send(&db, 300, 7, 600).await;
        assert!(push(&mailbox, ROOM).await.unwrap().text.ends_with("… and 250 more: `agent_inbox` reads them"));
        is_sound(&db).await;
    }

    #[tokio::test]
    async fn b09_messages_that_are_never_pushed_are_told_of_once_and_again_when_one_comes() {
        let db = db();
        let mailbox = mailbox(&db).await;
        send(&db, 0, 7, 2_000).await;
        let unheard = push(&mailbox, ROOM).await.unwrap();
        assert_eq!(unheard.text, "… and 1 more: `agent_inbox` reads them");
        drop(unheard);
        push(&mailbox, ROOM).await.unwrap().handed.written(true).await;
        for _ in 0..50 {
            assert!(push(&mailbox, ROOM).await.is_none());
        }
        send(&db, 1, 8, 2_000).await;
        assert!(push(&mailbox, ROOM).await.unwrap().text.starts_with("… and 2 more"));
        assert_eq!(counts(&db).await, MailCounts { waiting: 2, ..MailCounts::default() }, "what was only counted was not delivered");
    }

    #[tokio::test]
    async fn b10_fifty_messages_of_two_kilobytes_are_never_cut() {
        let db = db();
        let mailbox = mailbox(&db).await;
        for n in 0..50 {
            send(&db, n, 7, 2_000).await;
        }
        let pushed = push(&mailbox, 65_536).await.unwrap();
        assert!(pushed.text.len() <= PUSH_MOST && pushed.text.chars().count() < 10_000);
        assert_eq!(numbers(&pushed.text), [0, 1, 2, 3]);
        assert_eq!(pushed.text.matches("[end of message ").count(), 4);
        assert!(pushed.text.ends_with("… and 46 more: `agent_inbox` reads them"));
    }

    #[tokio::test]
    async fn a_mailbox_that_failed_hands_out_again_what_was_in_hand_and_the_ledger_has_it_once() {
        let db = db();
        let first = mailbox(&db).await;
        send(&db, 0, 7, 10).await;
        let pushed = push(&first, ROOM).await.unwrap();
        first.kill_and_wait(None).await.unwrap();
        let second = mailbox(&db).await;
        let again = push(&second, ROOM).await.unwrap();
        assert_eq!(numbers(&again.text), [0]);
        pushed.handed.written(true).await;
        again.handed.written(true).await;
        assert_eq!(counts(&db).await, MailCounts { pushed: 1, ..MailCounts::default() });
        is_sound(&db).await;
    }

    #[tokio::test]
    async fn a_thousand_hooks_that_end_at_any_moment_lose_nothing_and_deliver_nothing_twice() {
        let db = db();
        let mailbox = mailbox(&db).await;
        let mut arrived = Vec::new();
        for n in 0..1_000_u16 {
            send(&db, n, (n % 3) as u8, 20).await;
            let Some(pushed) = push(&mailbox, ROOM).await else { continue };
            match n % 4 {
                0 => drop(pushed),
                1 => pushed.handed.written(false).await,
                _ => {
                    arrived.extend(numbers(&pushed.text));
                    pushed.handed.written(true).await;
                }
            }
        }
        while let Some(pushed) = push(&mailbox, ROOM).await {
            arrived.extend(numbers(&pushed.text));
            pushed.handed.written(true).await;
        }
        for sender in 0..3 {
            let its: Vec<u16> = arrived.iter().copied().filter(|n| n % 3 == sender).collect();
            assert_eq!(its, (0..1_000).filter(|n| n % 3 == sender).collect::<Vec<_>>());
        }
        is_sound(&db).await;
    }
}
