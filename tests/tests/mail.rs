//! Mail in the store: sent once and in order, in one mailbox at a time, taken over by one, kept until it was read, and there again
//! when views are built anew.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::sync::Arc;

use frith_sim::{
    disk::SimDisk,
    workload::{FIRST, Request, Workload, carry_out},
};
use frith_store::{
    blobs::MemoryBlobs,
    database::{Database, WriteRows},
    docs::log::{Fact, SEGMENT_ENTRIES},
    error::{Failure, StoreError},
    id::{AgentId, MachineId, MessageId, PlaceId},
    model::{By, EndHow, HostSession, MailCounts, Mailbox, OutboxEntry, Recipient, Stage},
    open::{Disk, Identity, Options, Store, Tx},
    rows::Table,
    rules::mail::KEPT_MS,
    time::Timestamp,
    tx::NewMail,
    view::Placed,
};
use frith_tests::signer::Plain;

fn identity() -> Identity {
    Identity { machine: MachineId::of_key(&[7; 32]), incarnation: [1; 8], signer: Arc::new(Plain(7)) }
}

fn here() -> MachineId {
    identity().machine
}

fn open(disk: Disk) -> Store {
    Store::open(disk, identity(), Options::at("store.redb".as_ref())).unwrap()
}

/// A store with a workspace.
fn store() -> Store {
    let store = open(SimDisk::new(1).mount());
    for request in Workload::beginning() {
        write(&store, 1, move |tx| carry_out(tx, request));
    }
    store
}

fn app() -> PlaceId {
    PlaceId::from_bytes(FIRST)
}

fn agent(n: u8) -> AgentId {
    AgentId::from_bytes([n; 16])
}

fn own(n: u8) -> Recipient {
    Recipient::Agent(agent(n))
}

fn write<T: Send + 'static>(store: &Store, at: i64, work: impl FnOnce(&mut Tx<'_>) -> Result<T, Failure> + Send + 'static) -> T {
    store.write(Timestamp::from_ms(at), work).unwrap()
}

/// A session that works in the workspace, or that is there again.
fn register(store: &Store, at: i64, n: u8) {
    let session = HostSession { host: "played".into(), id: Some(n.to_string()), sub_agent: None };
    let fact = Fact::Registered { agent: agent(n), session, parent: None, model: None, folder: "/src".parse().ok(), place: Some(app()) };
    write(store, at, move |tx| Ok(tx.append(fact)?));
}

fn end(store: &Store, at: i64, n: u8) {
    write(store, at, move |tx| Ok(tx.append(Fact::End { agent: agent(n), how: EndHow::SessionOver })?));
}

fn mail(n: u16, to: Recipient) -> NewMail {
    let mut id = [0xc0; 16];
    id[..2].copy_from_slice(&n.to_be_bytes());
    NewMail { id: MessageId::from_bytes(id), to, task: None, text: format!("message {n}") }
}

fn send(store: &Store, at: i64, n: u16, from: u8, to: Recipient) {
    write(store, at, move |tx| Ok(tx.send(&mail(n, to), &By::Agent(agent(from)))?));
}

fn take(store: &Store, at: i64, n: u8) -> usize {
    write(store, at, move |tx| Ok(tx.take_mail(agent(n), 100, &|_| true)?))
}

/// Hands out all that waits in an agent's mailbox, or all that it did not read.
fn hand_out(store: &Store, at: i64, n: u8, read: bool) -> Vec<String> {
    write(store, at, move |tx| {
        let mut found = tx.mail_in(&own(n), Stage::Waiting, 100)?;
        if read {
            found.extend(tx.mail_in(&own(n), Stage::Pushed, 100)?);
            found.sort_by_key(Placed::order);
        }
        let entries: Vec<OutboxEntry> = found.iter().map(|placed| placed.mail.entry).collect();
        tx.deliver_mail(&Mailbox::Agent(agent(n)), &entries, read)?;
        Ok(found.into_iter().map(|placed| placed.mail.text).collect())
    })
}

fn texts(store: &Store, whose: Recipient, stage: Stage) -> Vec<String> {
    let found = store.read::<_, StoreError>(|view| view.mail_in(&whose, stage, 100)).unwrap();
    found.into_iter().map(|placed| placed.mail.text).collect()
}

fn passed_from(store: &Store, n: u16) -> Option<AgentId> {
    let placed = store.read::<_, StoreError>(|view| view.mail(mail(n, own(1)).id)).unwrap();
    placed.unwrap().at.passed_from
}

fn counts(store: &Store, whose: Recipient) -> MailCounts {
    store.read::<_, StoreError>(|view| view.mail_counts(&whose)).unwrap()
}

fn is_sound(store: &Store) {
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn messages_keep_the_order_in_which_they_were_sent_though_the_clock_is_set_back() {
    let store = store();
    for (at, n) in [(500, 1), (100, 2), (100, 3), (600, 4)] {
        send(&store, at, n, 9, own(1));
    }
    assert_eq!(texts(&store, own(1), Stage::Waiting), ["message 1", "message 2", "message 3", "message 4"]);
    assert_eq!(hand_out(&store, 50, 1, false).len(), 4, "handed out before they were sent, by that clock");
    is_sound(&store);
}

#[test]
fn a_message_that_is_sent_again_is_the_same_message() {
    let store = store();
    send(&store, 1, 1, 9, own(1));
    send(&store, 2, 1, 9, own(1));
    assert_eq!(counts(&store, own(1)), MailCounts { waiting: 1, ..MailCounts::default() });
    is_sound(&store);
}

#[test]
fn c10_what_is_read_stays_and_what_is_looked_at_stays_unread() {
    let store = store();
    send(&store, 1, 1, 9, own(1));
    assert_eq!(texts(&store, own(1), Stage::Waiting), texts(&store, own(1), Stage::Waiting));
    assert_eq!(hand_out(&store, 2, 1, true), ["message 1"]);
    assert_eq!(hand_out(&store, 3, 1, true), [""; 0], "nothing is read twice");
    let mut read = Vec::new();
    let look = store.read::<_, StoreError>(|view| {
        view.mail_read(&own(1), &mut |placed| {
            read.push(placed.mail.text);
            true
        })
    });
    look.unwrap();
    assert_eq!(read, ["message 1"]);
    is_sound(&store);
}

#[test]
fn what_is_said_of_a_delivery_twice_or_of_another_mailbox_counts_once_or_not_at_all() {
    let store = store();
    send(&store, 1, 1, 9, own(1));
    let entry = OutboxEntry { machine: here(), number: 0 };
    let deliver = |at, n, read| write(&store, at, move |tx| Ok(tx.deliver_mail(&Mailbox::Agent(agent(n)), &[entry], read)?));
    assert_eq!(
        [deliver(2, 2, false), deliver(2, 1, false), deliver(3, 1, false), deliver(4, 1, true), deliver(5, 1, false)],
        [0, 1, 0, 1, 0]
    );
    is_sound(&store);
}

#[test]
fn c07_unread_mail_of_an_ended_agent_goes_once_to_the_next_of_its_place() {
    let store = store();
    [1, 4].into_iter().for_each(|n| register(&store, 1, n));
    send(&store, 2, 1, 9, own(1));
    send(&store, 3, 2, 9, own(1));
    assert_eq!(hand_out(&store, 4, 1, false).len(), 2);
    write(&store, 5, |tx| Ok(tx.deliver_mail(&Mailbox::Agent(agent(1)), &[OutboxEntry { machine: here(), number: 0 }], true)?));
    end(&store, 6, 1);
    assert_eq!(texts(&store, Recipient::Place(app()), Stage::Waiting), ["message 2"], "pushed is not read");
    assert_eq!(take(&store, 7, 4), 0, "it worked beside it and is not the next");
    (2..=3).for_each(|n| register(&store, 7, n));
    assert_eq!((take(&store, 7, 2), take(&store, 8, 3)), (1, 0));
    assert_eq!(passed_from(&store, 2), Some(agent(1)));
    end(&store, 9, 2);
    assert_eq!(take(&store, 10, 3), 0, "it was passed on once");
    register(&store, 11, 2);
    assert_eq!(hand_out(&store, 12, 2, true), ["message 2"]);
    is_sound(&store);
}

#[test]
fn mail_of_an_agent_that_comes_back_before_anybody_took_it_is_its_own_again() {
    let store = store();
    register(&store, 1, 1);
    send(&store, 2, 1, 9, own(1));
    end(&store, 3, 1);
    assert_eq!(counts(&store, own(1)).waiting, 0);
    register(&store, 4, 1);
    assert_eq!(texts(&store, own(1), Stage::Waiting), ["message 1"]);
    is_sound(&store);
}

#[test]
fn mail_for_a_place_goes_back_to_it_when_its_taker_ends_without_reading() {
    let store = store();
    (1..=2).for_each(|n| register(&store, 1, n));
    send(&store, 2, 1, 1, Recipient::Place(app()));
    assert_eq!(take(&store, 3, 1), 0, "not what it wrote itself");
    assert_eq!(take(&store, 3, 2), 1);
    assert_eq!(hand_out(&store, 4, 2, false), ["message 1"]);
    end(&store, 5, 2);
    register(&store, 6, 3);
    assert_eq!(take(&store, 7, 3), 1);
    assert_eq!((passed_from(&store, 1), hand_out(&store, 8, 3, true)), (Some(agent(2)), vec!["message 1".to_owned()]));
    is_sound(&store);
}

#[test]
fn two_agents_of_a_place_never_both_take_a_message() {
    let store = store();
    (1..=8).for_each(|n| register(&store, 1, n));
    (0..40).for_each(|n| send(&store, 2, n, 99, Recipient::Place(app())));
    let taken: usize = std::thread::scope(|scope| {
        let takers: Vec<_> = (1..=8)
            .map(|n| {
                let store = &store;
                scope.spawn(move || write(store, 3, move |tx| Ok(tx.take_mail(agent(n), 7, &|_| true)?)))
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).sum()
    });
    assert_eq!(taken, 40);
    assert_eq!((1..=8).map(|n| counts(&store, own(n)).waiting).sum::<u64>(), 40);
    is_sound(&store);
}

#[test]
fn the_agent_that_was_launched_in_a_place_takes_before_the_others() {
    let store = store();
    register(&store, 1, 1);
    let launch = Fact::Launch {
        agent: agent(2),
        kind: "played".into(),
        place: app(),
        epoch: 1,
        by: By::Node,
        model: None,
        effort: None,
        folder: None,
    };
    write(&store, 2, move |tx| Ok(tx.append(launch)?));
    send(&store, 3, 1, 9, Recipient::Place(app()));
    assert_eq!((has_to_take(&store, 1), has_to_take(&store, 2)), (false, true));
    assert_eq!((take(&store, 4, 1), take(&store, 5, 2)), (0, 1));
    assert!(!has_to_take(&store, 2));
    is_sound(&store);
}

fn has_to_take(store: &Store, n: u8) -> bool {
    store.read::<_, StoreError>(|view| view.may_have_mail_to_take(agent(n), 3)).unwrap()
}

#[test]
fn an_agents_own_mail_in_its_place_is_nothing_that_it_could_take() {
    let store = store();
    register(&store, 1, 1);
    for n in 0..2 {
        send(&store, 2, n, 1, Recipient::Place(app()));
    }
    assert!(!has_to_take(&store, 1));
    send(&store, 3, 2, 9, Recipient::Place(app()));
    assert!(has_to_take(&store, 1));
    assert_eq!(take(&store, 4, 1), 1);
    send(&store, 5, 3, 1, Recipient::Place(app()));
    assert!(has_to_take(&store, 1), "what is not looked at may be another's");
}

#[test]
fn what_somebody_sent_is_listed_by_when_and_read_one_by_one() {
    let store = store();
    for n in 0..3 {
        send(&store, 10 + i64::from(n), n, 1, own(2));
    }
    send(&store, 20, 3, 2, own(1));
    let (sent, newest) = store
        .read::<_, StoreError>(|view| {
            let sent = view.mail_sent_by(&By::Agent(agent(1)))?;
            let newest = view.mail_entry(sent[0].1)?;
            Ok((sent, newest))
        })
        .unwrap();
    assert_eq!(sent.iter().map(|(at, _)| at.ms()).collect::<Vec<_>>(), [12, 11, 10]);
    assert_eq!(newest.unwrap().mail.text, "message 2");
}

#[test]
fn c09_views_built_anew_have_the_same_mail() {
    let store = store();
    (1..=2).for_each(|n| register(&store, 1, n));
    for n in 0..20 {
        let to = if n % 3 == 0 { Recipient::Place(app()) } else { own(u8::try_from(n % 2 + 1).unwrap()) };
        send(&store, 2, n, 9, to);
    }
    take(&store, 3, 1);
    hand_out(&store, 4, 1, false);
    hand_out(&store, 5, 2, true);
    end(&store, 6, 2);
    let before = [own(1), own(2), Recipient::Place(app())].map(|whose| counts(&store, whose));
    store.rebuild_views(&mut |_, _| {}).unwrap();
    assert_eq!([own(1), own(2), Recipient::Place(app())].map(|whose| counts(&store, whose)), before);
    is_sound(&store);
}

#[test]
fn c17_a_message_that_cannot_be_read_hides_no_other() {
    let disk = SimDisk::new(1);
    let store = open(disk.mount());
    Workload::beginning().into_iter().for_each(|request| write(&store, 1, move |tx| carry_out(tx, request)));
    (0..3).for_each(|n| send(&store, 2, n, 9, own(1)));
    let is_second = |value: &[u8]| value.windows(9).any(|window| window == b"message 1");
    let rows = store.read::<_, StoreError>(|view| frith_store::invariants::table(view, Table::Views)).unwrap();
    let key = rows.into_iter().find(|(_, value)| is_second(value)).unwrap().0;
    store.close().unwrap();
    let mount = disk.mount();
    let database = Database::open(mount.backend, "store.redb".into(), 1 << 20).unwrap();
    database.write(|rows: &WriteRows<'_>| damage(rows, &key)).unwrap();
    database.close().unwrap();
    let store = open(disk.mount());
    assert_eq!(texts(&store, own(1), Stage::Waiting), ["message 0", "message 2"]);
    assert_ne!(store.check().unwrap(), [], "and it is told");
}

fn damage(rows: &WriteRows<'_>, key: &[u8]) -> Result<((), frith_store::database::Keep), StoreError> {
    use frith_store::rows::RowsMut as _;
    rows.put(Table::Views, key, &[0xff; 3])?;
    Ok(((), frith_store::database::Keep::Commit))
}

#[test]
fn c15_a_message_that_could_not_be_written_is_an_error_and_is_not_there() {
    let disk = SimDisk::new(1);
    let store = open(disk.mount());
    Workload::beginning().into_iter().for_each(|request| write(&store, 1, move |tx| carry_out(tx, request)));
    disk.limit(Some(disk.used()));
    let big = NewMail { text: "m".repeat(4_096), ..mail(1, own(1)) };
    let failed = (0..200).find_map(|n| {
        let big = NewMail { id: mail(n, own(1)).id, ..big.clone() };
        store.write(Timestamp::from_ms(2), move |tx| Ok::<_, Failure>(tx.send(&big, &By::Node)?)).err().map(|failure| (n, failure))
    });
    let (sent, failure) = failed.unwrap();
    assert!(matches!(failure, Failure::Broken(StoreError::Full)), "{failure:?}");
    assert_eq!(counts(&store, own(1)).waiting, u64::from(sent));
    disk.limit(None);
    send(&store, 3, 999, 9, own(1));
    assert_eq!(counts(&store, own(1)).waiting, u64::from(sent) + 1);
    is_sound(&store);
}

/// A store whose outbox has a full segment, all of it read at one time but what `unread` says.
fn with_a_full_segment(unread: &'static [u64]) -> Store {
    let store = store();
    register(&store, 1, 1);
    write(&store, 2, |tx| {
        for n in 0..=u16::try_from(SEGMENT_ENTRIES).unwrap() {
            tx.send(&mail(n, own(1)), &By::Agent(agent(9)))?;
        }
        Ok(())
    });
    write(&store, 3, move |tx| {
        let entries = (0..SEGMENT_ENTRIES).filter(|number| !unread.contains(number));
        let entries: Vec<_> = entries.map(|number| OutboxEntry { machine: here(), number }).collect();
        Ok(tx.deliver_mail(&Mailbox::Agent(agent(1)), &entries, true)?)
    });
    store
}

#[test]
fn a_segment_of_read_mail_goes_after_thirty_days_and_the_chain_goes_on_behind_it() {
    let store = with_a_full_segment(&[]);
    let (day_30, later) = (3 + KEPT_MS as i64, 4 + KEPT_MS as i64);
    assert!(!write(&store, day_30, |tx| Ok(tx.bury_read_mail()?)));
    assert!(write(&store, later, |tx| Ok(tx.bury_read_mail()?)));
    assert!(!write(&store, later, |tx| Ok(tx.bury_read_mail()?)));
    is_sound(&store);
    assert_eq!(counts(&store, own(1)), MailCounts { waiting: 1, ..MailCounts::default() }, "the one behind it stays");
    let late =
        Fact::Delivered { mailbox: Mailbox::Agent(agent(1)), messages: vec![OutboxEntry { machine: here(), number: 5 }], read: true };
    write(&store, later, move |tx| Ok(tx.append(late)?));
    is_sound(&store);
    store.rebuild_views(&mut |_, _| {}).unwrap();
    send(&store, later, 5_000, 9, own(1));
    assert_eq!(texts(&store, own(1), Stage::Waiting), ["message 1000", "message 5000"]);
    is_sound(&store);
}

#[test]
fn unread_mail_is_never_dropped() {
    let store = with_a_full_segment(&[7]);
    end(&store, 5, 1);
    assert!(!write(&store, 100 * KEPT_MS as i64, |tx| Ok(tx.bury_read_mail()?)));
    assert_eq!(texts(&store, Recipient::Place(app()), Stage::Waiting), ["message 7", "message 1000"]);
    is_sound(&store);
}

#[test]
fn c14_a_store_that_was_restored_sends_under_another_name() {
    let (first, second) = (store(), {
        let disk = Disk { backend: SimDisk::new(2).mount().backend, blobs: Arc::new(MemoryBlobs::default()) };
        let other = Identity { machine: MachineId::of_key(&[8; 32]), incarnation: [1; 8], signer: Arc::new(Plain(8)) };
        Store::open(disk, other, Options::at("store.redb".as_ref())).unwrap()
    });
    for store in [&first, &second] {
        send(store, 1, 1, 9, own(1));
    }
    let entry = |store: &Store| store.read::<_, StoreError>(|view| view.mail_in(&own(1), Stage::Waiting, 1)).unwrap()[0].mail.entry;
    assert_ne!(entry(&first), entry(&second), "a restored store is another machine, so no entry of an outbox is there twice");
}

#[test]
fn an_empty_mailbox_costs_nothing_for_what_lies_in_others() {
    let store = store();
    write(&store, 1, |tx| {
        for n in 0..2_000 {
            carry_out(tx, Request::Mail(Box::new(mail(n, own(1))), By::Agent(agent(9))))?;
        }
        Ok(())
    });
    let mut looked = 0;
    let look = store.read::<_, StoreError>(|view| {
        looked = view.mail_in(&own(2), Stage::Waiting, 100)?.len();
        view.mail_counts(&own(2))
    });
    assert_eq!((look.unwrap(), looked), (MailCounts::default(), 0));
}
