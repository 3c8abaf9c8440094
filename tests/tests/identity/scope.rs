//! What an agent sees and touches: its own place, and nothing of another. Every operation that agents may ask for is tried.

use std::path::Path;

use frith_actors::{
    api::{
        Askers, Operation, TABLE,
        agents::{EventClass, Inbox},
        attachment, memory,
        piece::Piece,
        site, skill, task, workspace,
    },
    call::{Claims, Failed},
};
use frith_store::{
    id::{AgentRef, AttachmentRef, BlobHash, PlaceRef, TaskRef, UploadId},
    model::Status,
    refusal::Refusal,
};

use crate::world::{PERSON, World, event};

/// What nobody outside the place may read.
const SECRET: &str = "sekret";

/// Operations that are about the caller, the node or the team's agents, and so about no place.
const OF_NO_PLACE: &[&str] = &[
    "node.status",
    "agents.list",
    "agent.show",
    "whoami",
    "agent.statusSet",
    "agent.event",
    "agent.link",
    "agent.offer",
    "agent.send",
    "agent.inbox",
    // Worktrees are of a repository on this disk, which anybody can look at who may look at the disk, and of no place.
    "worktree.add",
    "worktree.adopt",
    "worktree.claim",
    "worktree.list",
    "worktree.remove",
    "worktree.gc",
    "worktree.clean",
    "worktree.whoami",
    "worktree.forHost",
    "worktree.endForHost",
];

/// A workspace of this name that is to be made.
pub fn named(name: &str) -> workspace::Create {
    workspace::Create { name: Some(name.into()), folder: None, description: None, icon: None }
}

/// Every operation that agents may ask for of a place, asked of another's place and task.
fn operations(place: &str, task: &str) -> Vec<Operation> {
    let at = || Some(PlaceRef(place.into()));
    let of = || TaskRef(task.into());
    let upload = UploadId::from_random([3; 16]);
    let hash = BlobHash::from_bytes([3; 32]);
    vec![
        workspace::List { all: true }.into(),
        workspace::Show { place: at() }.into(),
        workspace::Stats { place: at(), days: None }.into(),
        task::Add { title: "t".into(), workspace: at(), ..task::Add::default() }.into(),
        task::List { workspace: at(), ..task::List::default() }.into(),
        task::Show { task: of() }.into(),
        task::Edit { title: Some("t".into()), ..edit(of()) }.into(),
        task::SetStatus { task: of(), status: Status::Completed }.into(),
        task::Reply { task: of(), text: "t".into() }.into(),
        task::Next { workspace: at() }.into(),
        memory::List { workspace: at() }.into(),
        memory::Load { name: "memory.md".into(), workspace: at() }.into(),
        memory::Save { name: "memory.md".into(), text: "t".into(), base: vec![], workspace: at() }.into(),
        memory::Delete { name: "memory.md".into(), base: vec![], workspace: at() }.into(),
        attachment::Send { task: of(), upload, name: "f".into(), offset: 0, bytes: Piece(vec![1]) }.into(),
        attachment::Attach { task: of(), files: vec![attachment::Sent { upload, name: "f".into(), hash }] }.into(),
        attachment::Get { task: of(), attachment: AttachmentRef("f".into()), offset: 0 }.into(),
        skill::List { workspace: at() }.into(),
        site::List { workspace: at() }.into(),
    ]
}

fn edit(task: TaskRef) -> task::Edit {
    serde_json::from_value(serde_json::json!({ "task": task })).unwrap()
}

async fn place_with_secrets(world: &World) -> String {
    let create =
        workspace::Create { description: Some(SECRET.into()), folder: Some(world.folder("other").as_path().into()), ..named("other") };
    world.ask(PERSON, create).await.unwrap();
    let at = || Some(PlaceRef("other".into()));
    let add = task::Add { title: SECRET.into(), body: Some(SECRET.into()), workspace: at(), ..task::Add::default() };
    let task = world.ask(PERSON, add).await.unwrap().task.id.to_string();
    let note = memory::Save { name: "memory.md".into(), text: SECRET.into(), base: vec![], workspace: at() };
    world.ask(PERSON, note).await.unwrap();
    task
}

fn is_outside(outcome: &Result<Vec<u8>, Failed>) -> bool {
    let Err(Failed::Refused(refusal)) = outcome else { return false };
    matches!(**refusal, Refusal::OutsidePlace { .. } | Refusal::NoOwnPlace { .. })
}

async fn sees_nothing(world: &World, pid: u32) {
    let task = place_with_secrets(world).await;
    let as_it_was = state(world, &task).await;
    for operation in operations("other", &task) {
        let name = operation.info().name;
        let outcome = world.answer(pid, Path::new("/"), Claims::default(), operation).await;
        assert!(is_outside(&outcome) || name == "workspace.list" && outcome.is_ok(), "{name}: {outcome:?}");
        let told = outcome.unwrap_or_default();
        assert!(!told.windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes()), "{name} tells of another's place");
    }
    assert_eq!(state(world, &task).await, as_it_was);
}

/// Everything of the other place that an operation could have changed.
async fn state(world: &World, task: &str) -> (Vec<u8>, Vec<u8>) {
    let ask = |operation| world.answer(PERSON, Path::new("/"), Claims::default(), operation);
    let task = ask(task::Show { task: TaskRef(task.into()) }.into()).await.unwrap();
    let note = memory::Load { name: "memory.md".into(), workspace: Some(PlaceRef("other".into())) };
    (task, ask(note.into()).await.unwrap())
}

#[test]
fn every_operation_that_agents_may_ask_for_is_tried_or_is_of_no_place() {
    let tried: Vec<_> = operations("x", "y").iter().map(|operation| operation.info().name).collect();
    // What a skill is belongs to the team; where it is off an agent is refused, which the tests of skills show.
    let known = |name: &str| tried.contains(&name) || OF_NO_PLACE.contains(&name) || name == "skill.load";
    let forgotten: Vec<_> =
        TABLE.iter().filter(|info| info.askers == Askers::Everyone && !known(info.name)).map(|info| info.name).collect();
    assert!(forgotten.is_empty(), "say what an agent may see by {forgotten:?}");
}

#[tokio::test]
async fn g01_an_agent_of_another_place_sees_and_touches_nothing() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    world.ask(PERSON, workspace::Create { folder: Some(folder.as_path().into()), ..named("app") }).await.unwrap();
    let _ = world.hook(hook, event(EventClass::Start, "s", &folder)).await;
    sees_nothing(&world, hook).await;
    let own = world.ask(hook, task::Add { title: "t".into(), ..task::Add::default() }).await.unwrap();
    assert_eq!(own.place.name, "app", "its own is its own");
}

#[tokio::test]
async fn g01_an_agent_without_a_place_sees_and_touches_nothing_wherever_it_stands() {
    let world = World::new().await;
    let hook = world.host(100);
    let _ = world.hook(hook, event(EventClass::Start, "s", &world.folder("nowhere"))).await;
    sees_nothing(&world, hook).await;
    let standing = world.ask_with(hook, &world.folder("other"), Claims::default(), task::Next::default()).await;
    assert!(matches!(standing, Err(Failed::Refused(refusal)) if matches!(*refusal, Refusal::NoOwnPlace { .. })));
}

#[tokio::test]
async fn what_one_sent_is_asked_for_without_a_mailbox_and_without_what_is_unread() {
    let world = World::new().await;
    for (mailbox, unread) in [(None, true), (Some("ada@oak"), false)] {
        let mailbox = mailbox.map(|name| AgentRef(name.to_owned()));
        let asked = world.ask(PERSON, Inbox { sent: true, unread, mailbox, ..Inbox::default() }).await;
        assert!(matches!(asked, Err(Failed::Refused(refusal)) if *refusal == Refusal::SentAlone));
    }
    assert!(world.ask(PERSON, Inbox { sent: true, ..Inbox::default() }).await.unwrap().messages.is_empty());
}

#[tokio::test]
async fn g01_one_of_several_agents_sees_what_is_theirs_and_no_more() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    world.ask(PERSON, workspace::Create { folder: Some(folder.as_path().into()), ..named("app") }).await.unwrap();
    for session in ["one", "two"] {
        let _ = world.hook(hook, event(EventClass::Start, session, &folder)).await;
    }
    place_with_secrets(&world).await;
    let list = |place: &str| task::List { workspace: Some(PlaceRef(place.into())), ..task::List::default() };
    assert_eq!(world.ask(hook, list("app")).await.unwrap().tasks.len(), 0);
    let refused = world.ask(hook, list("other")).await;
    assert!(matches!(refused, Err(Failed::Refused(refusal)) if matches!(*refusal, Refusal::SeveralAgents { .. })));
    let places = world.ask(hook, workspace::List { all: true }).await.unwrap();
    assert_eq!(places.workspaces.len(), 1);
}
