//! What is stored and sent stays readable: golden bytes of everything whose form is promised. A test here that fails means
//! that the format changed: then it needs a new version and a migration, never new golden bytes alone.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{fmt::Write as _, path::Path, sync::Arc};

use frith_sim::{
    disk::SimDisk,
    workload::{FIRST, Request, Workload, carry_out},
};
use frith_store::{
    blobs::MemoryBlobs,
    docs::{
        About, Document, Text, Tip,
        attachment::AttachmentRecord,
        log::{ChainEnd, Entry, Fact, entry_hash},
        note::VersionRecord,
        outbox::{Outgoing, Recipient},
        task::{HistoryRecord, MessageRecord, Progress, ScheduleRecord},
        team::{signed_bytes, supervisor_of},
    },
    error::Failure,
    facts,
    id::{AgentId, BlobHash, CallId, MachineId, MessageId, OpenToken, PlaceId, TaskId, TeamId, VersionHash, Writer},
    invariants,
    migrate::FORMAT,
    model::{
        Assignee, By, CheckoutKind, Claim, EndHow, HostSession, MailCounts, Mailbox, Missed, OutboxEntry, Outcome, PlaceKind, ProcessRef,
        Schedule, Skip, Stage, Status, WorktreeId,
    },
    open::{Disk, Identity, Options, Store, file_backend},
    rows::Table,
    time::Timestamp,
    tx::{NewAttachment, NewMail, NewTask, PlaceEdit},
    view::{Placed, VIEWS},
};
use frith_tests::signer::Plain;
use serde::Serialize;

fn machine() -> MachineId {
    MachineId::of_key(&[7; 32])
}

fn task() -> TaskId {
    TaskId::from_bytes([1; 16])
}

fn place() -> PlaceId {
    PlaceId::from_bytes([2; 16])
}

fn agent() -> AgentId {
    AgentId::from_bytes([3; 16])
}

fn session(id: &str, sub_agent: Option<&str>) -> HostSession {
    HostSession { host: "claude".into(), id: Some(id.into()), sub_agent: sub_agent.map(Into::into) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn encoded<T: Serialize>(record: &T) -> String {
    hex(&postcard::to_stdvec(record).unwrap())
}

fn abouts() -> Vec<About> {
    vec![
        About::Task { task: task() },
        About::Place { place: place(), kind: PlaceKind::Workspace },
        About::Place { place: place(), kind: PlaceKind::Fork { parent: PlaceId::from_bytes([9; 16]) } },
        About::Place { place: place(), kind: PlaceKind::Supervisor },
        About::Thread { task: task(), part: 1 },
        About::Log { machine: machine(), segment: 3 },
        About::Outbox { machine: machine(), segment: 3 },
        About::Team { team: TeamId::from_bytes([4; 16]) },
        About::Run { template: task(), slot: Timestamp::from_ms(1_700_000_000_000) },
        About::Note { place: place(), name: "memory.md".into(), part: 1 },
        About::Skill { name: "pdf-forms".into() },
    ]
}

fn facts_of_a_log() -> Vec<Fact> {
    [facts_of_format_2(), facts_of_format_3(), facts_of_format_4()].concat()
}

fn facts_of_format_4() -> Vec<Fact> {
    vec![
        Fact::WorktreeClaimed { claim: claim(1, Some(agent())) },
        Fact::WorktreeClaimed { claim: claim(2, None) },
        Fact::WorktreeReleased { worktree: claim(1, None).worktree },
    ]
}

fn claim(n: u8, agent: Option<AgentId>) -> Claim {
    Claim {
        worktree: WorktreeId { record: format!("/src/app/.git/worktrees/w{n}").parse().unwrap(), stamp: 1_700_000_000_000_000_000 },
        path: format!("/worktrees/app-w{n}").parse().unwrap(),
        repository: "/src/app".parse().unwrap(),
        branch: Some(format!("w{n}")),
        task: format!("w{n}"),
        agent,
        owner: agent.map(|_| "claude / opus".into()),
        origin: "frith".into(),
        history: Some("c0ffee".into()),
    }
}

fn facts_of_format_3() -> Vec<Fact> {
    let (place, agent) = (place(), agent());
    vec![
        Fact::End { agent, how: EndHow::SessionOver },
        Fact::End { agent, how: EndHow::Gone },
        Fact::Registered { agent, session: session("s-1", None), parent: None, model: None, folder: None, place: None },
        Fact::Registered {
            agent,
            session: session("s-1", Some("a4aa")),
            parent: Some(AgentId::from_bytes([8; 16])),
            model: Some("m".into()),
            folder: Some("/src/app".parse().unwrap()),
            place: Some(place),
        },
        Fact::Took { agent, messages: vec![OutboxEntry { machine: machine(), number: 7 }] },
        Fact::Delivered { mailbox: Mailbox::Agent(agent), messages: vec![OutboxEntry { machine: machine(), number: 7 }], read: false },
        Fact::Delivered { mailbox: Mailbox::Person("ada@oak".into()), messages: vec![], read: true },
    ]
}

fn facts_of_format_2() -> Vec<Fact> {
    let (place, agent, task, epoch) = (place(), agent(), task(), 1);
    let person = By::Person("ada".into());
    vec![
        Fact::Seat { place, epoch, home: machine(), electorate: vec![machine()] },
        Fact::Folder { place, folder: Some("/src/app".parse().unwrap()) },
        Fact::Folder { place, folder: None },
        Fact::Checkout {
            fork: place,
            path: "/forks/f".parse().unwrap(),
            start_in: "/forks/f/app".parse().unwrap(),
            kind: CheckoutKind::Worktree { branch: "frith/fork-f".into(), base: "abc".into() },
        },
        Fact::Checkout { fork: place, path: "/f".parse().unwrap(), start_in: "/f".parse().unwrap(), kind: CheckoutKind::Copy },
        Fact::CheckoutRemoved { fork: place },
        Fact::Launch {
            agent,
            kind: "claude".into(),
            place,
            epoch,
            by: person.clone(),
            model: Some("m".into()),
            effort: None,
            folder: None,
        },
        Fact::Started {
            agent,
            process: ProcessRef { pid: 300, started: "70000".into() },
            command: vec!["claude".into()],
            folder: "/f".parse().unwrap(),
        },
        Fact::End { agent, how: EndHow::Exited(1) },
        Fact::End { agent, how: EndHow::Signalled(9) },
        Fact::End { agent, how: EndHow::Stopped(By::Node) },
        Fact::End { agent, how: EndHow::NotStarted("why".into()) },
        Fact::End { agent, how: EndHow::Lost },
        Fact::Taken {
            task,
            place,
            epoch,
            holder: By::Agent(agent),
            call: CallId::from_bytes([5; 16]),
            token: OpenToken::from_bytes([6; 16]),
        },
        Fact::Released { task, place, epoch },
        Fact::Merge { fork: place, parent: PlaceId::from_bytes([9; 16]), epoch, by: person, moved: 300 },
        Fact::Fired { template: task, place, epoch, slot: Timestamp::from_ms(1_700_000_040_000), outcome: Outcome::Ran },
        Fact::Fired {
            template: task,
            place,
            epoch,
            slot: Timestamp::from_ms(1_700_000_100_000),
            outcome: Outcome::Skipped { why: Skip::Paused, slots: 3 },
        },
        Fact::Replaces { machine: MachineId::from_bytes([8; 8]), log: ChainEnd { entries: 300, hash: [7; 32] } },
    ]
}

/// Golden lines are kept in files beside this one, so that a difference shows where it is.
fn golden(name: &str, lines: &[String]) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let now = lines.join("\n") + "\n";
    if std::env::var_os("FRITH_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), now, "{name}");
}

#[test]
fn ids_of_documents_and_their_first_changes_stay() {
    let line = |about: &About| {
        let (_, genesis) = Document::born(about).unwrap();
        format!("{} {} {} {}", about.doc_id(), genesis.writer, hex(&genesis.tip.hash), hex(&genesis.bytes))
    };
    golden("genesis.txt", &abouts().iter().map(line).collect::<Vec<_>>());
}

#[test]
fn entries_of_a_log_and_their_chain_stay() {
    let mut previous = [0; 32];
    let mut lines = Vec::new();
    for (number, fact) in (0..).zip(facts_of_a_log()) {
        let entry = Entry { number, previous, at: Timestamp::from_ms(1_700_000_000_000), fact };
        let bytes = postcard::to_stdvec(&entry).unwrap();
        previous = entry_hash(&bytes);
        lines.push(format!("{} {}", hex(&previous), hex(&bytes)));
        assert_eq!(postcard::from_bytes::<Entry<Fact>>(&bytes).unwrap(), entry);
    }
    golden("log.txt", &lines);
}

#[test]
fn records_in_documents_stay() {
    let by = By::Agent(agent());
    let at = Timestamp::from_ms(1_700_000_000_000);
    let kept = Text::Kept { hash: BlobHash::of(b"text"), length: 4 };
    let message = MessageRecord { counter: 3, by: by.clone(), at, text: Text::Inline("hello".into()) };
    let change = HistoryRecord { counter: 4, status: Status::Blocked, moved_to: Some(place()), by: by.clone(), at };
    let sent = Outgoing::Message {
        id: MessageId::from_bytes([5; 16]),
        from: by,
        to: Recipient::Place(place()),
        task: Some(task()),
        text: Text::Inline("hello".into()),
    };
    golden(
        "records.txt",
        &[
            encoded(&kept),
            encoded(&message),
            encoded(&change),
            encoded(&Progress { status: Status::Ongoing, taken: Some(OpenToken::from_bytes([6; 16])) }),
            encoded(&Entry { number: 0, previous: [0; 32], at, fact: sent }),
            encoded(&ScheduleRecord {
                expression: "30 9 * * 1-5".into(),
                time_zone: "Europe/Berlin".into(),
                missed: Missed::Once,
                from: at,
            }),
            encoded(&AttachmentRecord::Here { name: "a.log".into(), hash: BlobHash::of(b"text"), size: 300, by: By::Node, at }),
            encoded(&AttachmentRecord::Removed { name: "a.log".into(), by: By::Node, at }),
            encoded(&VersionRecord { replaces: vec![VersionHash::from_bytes([7; 16])], by: By::Node, at, text: None }),
        ],
    );
}

#[test]
fn what_is_signed_and_compared_stays() {
    let doc = abouts()[0].doc_id();
    let writer = Writer::new(machine(), [8; 8]);
    let tip = Tip { seq: 5, hash: [6; 32] };
    golden(
        "hashes.txt",
        &[
            machine().to_string(),
            hex(&facts::tip_bytes(doc, writer, tip)),
            hex(&facts::tip_digest(doc, writer, tip)),
            hex(&signed_bytes(b"member")),
            supervisor_of(TeamId::from_bytes([4; 16])).to_string(),
            BlobHash::of(b"text").to_string(),
        ],
    );
}

fn identity() -> Identity {
    Identity { machine: machine(), incarnation: [1; 8], signer: Arc::new(Plain(7)) }
}

/// A store that the same requests always fill the same way.
fn filled() -> Store {
    let store = Store::open(SimDisk::new(1).mount(), identity(), Options::at("store.redb".as_ref())).unwrap();
    let mut workload = Workload::new(1);
    let requests = (0..200).map(|_| workload.request());
    for (at, request) in (1..).zip(Workload::beginning().into_iter().chain(requests)) {
        store.write(Timestamp::from_ms(at), move |tx| carry_out(tx, request)).unwrap();
    }
    store
}

/// A line for each space of a table: how many rows it has and the hash of their keys and values.
fn spaces(store: &Store, table: Table) -> Vec<String> {
    let rows = store.read(|view| invariants::table(view, table)).unwrap();
    let mut spaces = std::collections::BTreeMap::<u8, (usize, blake3::Hasher)>::new();
    for (key, value) in rows {
        let (count, hasher) = spaces.entry(key[0]).or_default();
        *count += 1;
        for part in [key, value] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(&part);
        }
    }
    spaces.iter().map(|(space, (count, hasher))| format!("{table:?} {space} {count} {}", hasher.finalize())).collect()
}

#[test]
fn rows_of_a_store_stay_while_its_format_and_the_version_of_its_views_do() {
    let store = filled();
    let mut lines = vec![format!("format {FORMAT}, views {VIEWS}")];
    lines.extend([Table::Facts, Table::Views, Table::Local].into_iter().flat_map(|table| spaces(&store, table)));
    golden("rows.txt", &lines);
}

fn new_task(n: u8, place: PlaceId) -> NewTask {
    NewTask {
        id: TaskId::from_bytes([n; 16]),
        place,
        title: format!("task {n}"),
        body: "as it was written".into(),
        assignee: Assignee::Agent,
        position: None,
        allow_all_commands: false,
        clear_context: None,
        token: OpenToken::from_bytes([n; 16]),
        schedule: None,
    }
}

/// Writes the store that this frith writes: one task in hand, one closed, a fork that was merged.
fn write_store(path: &Path) {
    drop(std::fs::remove_file(path));
    let store = open_file(path);
    let fork = PlaceId::from_bytes([5; 16]);
    let first = PlaceId::from_bytes(FIRST);
    let mut requests = Workload::beginning();
    requests.extend([
        Request::Place { id: fork, fork: true },
        Request::Task(Box::new(new_task(1, first))),
        Request::Task(Box::new(new_task(2, fork))),
        Request::Message(TaskId::from_bytes([2; 16]), 5),
        Request::Status(TaskId::from_bytes([2; 16]), Status::Completed, OpenToken::from_bytes([7; 16])),
    ]);
    let facts =
        facts_of_a_log().into_iter().filter(|fact| !matches!(fact, Fact::Merge { .. } | Fact::Released { .. } | Fact::Replaces { .. }));
    requests.extend(facts.map(|fact| Request::Fact(Box::new(fact))));
    let merge = Fact::Merge { fork, parent: first, epoch: 1, by: By::Person("ada".into()), moved: 1 };
    requests.push(Request::Fact(Box::new(merge)));
    for (at, request) in (1..).zip(requests) {
        store.write(Timestamp::from_ms(at), move |tx| carry_out(tx, request)).unwrap();
    }
    store.close().unwrap();
}

/// What only a frith of format 2 or later writes.
fn add_what_format_2_has(store: &Store) {
    let first = PlaceId::from_bytes(FIRST);
    let schedule = Schedule {
        expression: "30 9 * * 1-5".into(),
        time_zone: "Europe/Berlin".into(),
        missed: Missed::Once,
        from: Timestamp::from_ms(40),
        paused: None,
    };
    let template = NewTask { schedule: Some(schedule), ..new_task(3, first) };
    let file = NewAttachment { name: "build.log".into(), hash: BlobHash::of(b"log"), size: 3, upload: None };
    let written = store.write(Timestamp::from_ms(60), move |tx| {
        let by = By::Person("ada".into());
        tx.create_task(template, &by)?;
        tx.create_task(new_task(4, first), &by)?;
        tx.attach(TaskId::from_bytes([4; 16]), vec![file], &by)?;
        tx.delete_task(TaskId::from_bytes([4; 16]), &by)?;
        tx.save_note(first, "memory.md", Some("the build uses cargo"), Vec::new(), &by)?;
        tx.save_skill("pdf-forms", "Fill in forms", &[], &by)?;
        tx.switch_skill(first, "pdf-forms", true)?;
        tx.set_site(first, "https://example.org/", Some("the manual"), &by)?;
        for (n, edit) in [
            (6, PlaceEdit { archived: Some(true), ..PlaceEdit::default() }),
            (7, PlaceEdit { deleted: Some(Some(tx.now())), ..PlaceEdit::default() }),
        ] {
            let id = PlaceId::from_bytes([n; 16]);
            carry_out(tx, Request::Place { id, fork: false })?;
            tx.set_place(id, edit, &by)?;
        }
        Ok::<_, Failure>(())
    });
    written.unwrap();
}

#[test]
fn a_store_of_format_2_says_what_it_said() {
    let golden = format!("{}/tests/golden/store-2.redb", env!("CARGO_MANIFEST_DIR"));
    if FORMAT == 2 && std::env::var_os("FRITH_WRITE_GOLDEN").is_some() {
        write_store(golden.as_ref());
        let store = open_file(golden.as_ref());
        add_what_format_2_has(&store);
        store.close().unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.redb");
    std::fs::copy(golden, &path).unwrap();
    let store = open_file(&path);
    assert_eq!(store.check().unwrap(), []);
    let first = PlaceId::from_bytes(FIRST);
    store
        .read::<_, Failure>(|view| {
            let template = view.require_task(TaskId::from_bytes([3; 16]))?;
            assert_eq!(template.schedule.unwrap().time_zone, "Europe/Berlin");
            let trash = view.trash(first)?;
            assert_eq!(trash.iter().map(|task| task.id).collect::<Vec<_>>(), [TaskId::from_bytes([4; 16])]);
            assert_eq!(view.attachments(trash[0].id)?[0].name, "build.log");
            assert_eq!(view.note(first, "memory.md")?[0].text.as_deref(), Some("the build uses cargo"));
            assert_eq!(view.skills()?[0].description, "Fill in forms");
            assert_eq!(view.sites(first)?[0].note, "the manual");
            assert!(view.require_place(PlaceId::from_bytes([6; 16]))?.archived);
            assert!(view.require_place(PlaceId::from_bytes([7; 16]))?.deleted.is_some());
            Ok(())
        })
        .unwrap();
}

/// What only a frith of format 3 or later writes: sessions, and messages to an agent, to a place and to a person.
fn add_what_format_3_has(store: &Store) {
    let first = PlaceId::from_bytes(FIRST);
    let written = store.write(Timestamp::from_ms(70), move |tx| {
        for n in [11, 12] {
            let session = session(&n.to_string(), None);
            let folder = "/src/app".parse().ok();
            tx.append(Fact::Registered { agent: session_agent(n), session, parent: None, model: None, folder, place: Some(first) })?;
        }
        let recipients = [Recipient::Agent(session_agent(11)), Recipient::Place(first), Recipient::Person("ada@laptop".into())];
        for (n, to) in (21..).zip(recipients) {
            let mail = NewMail { id: MessageId::from_bytes([n; 16]), to, task: Some(task()), text: format!("message {n}") };
            tx.send(&mail, &By::Agent(session_agent(12)))?;
        }
        let to_first = [OutboxEntry { machine: machine(), number: 0 }];
        tx.deliver_mail(&Mailbox::Agent(session_agent(11)), &to_first, false)?;
        tx.take_mail(session_agent(11), 9, &|_| true)?;
        tx.append(Fact::End { agent: session_agent(11), how: EndHow::SessionOver })?;
        Ok::<_, Failure>(())
    });
    written.unwrap();
}

fn session_agent(n: u8) -> AgentId {
    AgentId::from_bytes([n; 16])
}

#[test]
fn a_store_of_format_3_says_what_it_said() {
    let golden = format!("{}/tests/golden/store-3.redb", env!("CARGO_MANIFEST_DIR"));
    if FORMAT == 3 && std::env::var_os("FRITH_WRITE_GOLDEN").is_some() {
        write_store(golden.as_ref());
        let store = open_file(golden.as_ref());
        add_what_format_2_has(&store);
        add_what_format_3_has(&store);
        store.close().unwrap();
    }
    says_what_it_said(golden.as_ref());
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.redb");
    std::fs::copy(golden, &path).unwrap();
    let store = open_file(&path);
    let first = Recipient::Place(PlaceId::from_bytes(FIRST));
    store
        .read::<_, Failure>(|view| {
            let agent = view.agent_of_session(machine(), &session("11", None))?.unwrap();
            assert_eq!((agent.id, agent.ended.map(|end| end.how)), (session_agent(11), Some(EndHow::SessionOver)));
            let left = view.mail_in(&first, Stage::Waiting, 9)?;
            let told = |placed: &Placed| (placed.mail.text.clone(), placed.at.passed_from);
            let both = [21, 22].map(|n| (format!("message {n}"), Some(session_agent(11))));
            assert_eq!(left.iter().map(told).collect::<Vec<_>>(), both);
            let person = Recipient::Person("ada@laptop".into());
            assert_eq!(view.mail_counts(&person)?, MailCounts { waiting: 1, ..MailCounts::default() });
            Ok(())
        })
        .unwrap();
}

/// What only a frith of format 4 or later writes: claims on worktrees.
fn add_what_format_4_has(store: &Store) {
    let written = store.write(Timestamp::from_ms(80), move |tx| {
        for n in [1, 2] {
            tx.append(Fact::WorktreeClaimed { claim: claim(n, (n == 1).then(|| session_agent(12))) })?;
        }
        tx.append(Fact::WorktreeClaimed { claim: claim(3, None) })?;
        tx.append(Fact::WorktreeReleased { worktree: claim(3, None).worktree })?;
        Ok::<_, Failure>(())
    });
    written.unwrap();
}

#[test]
fn a_store_of_format_4_says_what_it_said() {
    let golden = format!("{}/tests/golden/store-4.redb", env!("CARGO_MANIFEST_DIR"));
    if FORMAT == 4 && std::env::var_os("FRITH_WRITE_GOLDEN").is_some() {
        write_store(golden.as_ref());
        let store = open_file(golden.as_ref());
        add_what_format_2_has(&store);
        add_what_format_3_has(&store);
        add_what_format_4_has(&store);
        store.close().unwrap();
    }
    says_what_it_said(golden.as_ref());
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.redb");
    std::fs::copy(golden, &path).unwrap();
    let store = open_file(&path);
    let claims = store.read::<_, Failure>(|view| Ok(view.claims()?)).unwrap();
    let mut told: Vec<_> = claims.iter().map(|found| (found.claim.task.as_str(), found.claim.agent)).collect();
    told.sort();
    assert_eq!(told, [("w1", Some(session_agent(12))), ("w2", None)]);
}

fn open_file(path: &Path) -> Store {
    let disk = Disk { backend: file_backend(path).unwrap(), blobs: Arc::new(MemoryBlobs::default()) };
    Store::open(disk, identity(), Options::at(path)).unwrap()
}

/// A store of the present format is written anew; one of an older format stays as the frith of then wrote it.
#[test]
fn a_store_of_every_format_opens_and_says_what_it_said() {
    let present = tempfile::tempdir().unwrap();
    let present = present.path().join("store.redb");
    write_store(&present);
    says_what_it_said(&present);
    (1..FORMAT).for_each(|format| {
        says_what_it_said(format!("{}/tests/golden/store-{format}.redb", env!("CARGO_MANIFEST_DIR")).as_ref());
    });
}

fn says_what_it_said(golden: &Path) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.redb");
    std::fs::copy(golden, &path).unwrap();
    let store = open_file(&path);
    assert_eq!(store.check().unwrap(), []);
    let first = PlaceId::from_bytes(FIRST);
    let tasks = store.read(|view| view.tasks(first, &[Status::Ongoing, Status::Completed])).unwrap();
    assert_eq!(tasks.iter().map(|task| task.title.as_str()).collect::<Vec<_>>(), ["task 1", "task 2"]);
    assert!(tasks[0].holder.as_ref().is_some_and(|holder| holder.left && holder.by == By::Agent(agent())));
    assert_eq!(store.read(|view| view.body(tasks[1].id)).unwrap(), "as it was written");
    assert_eq!(store.read(|view| view.messages(tasks[1].id)).unwrap().len(), 1);
    let request = Request::Message(tasks[1].id, 3);
    store.write(Timestamp::from_ms(99), move |tx| carry_out(tx, request)).unwrap();
    assert_eq!(store.check().unwrap(), []);
}
