//! MCP processes that ask for whom they work.

use std::path::Path;

use frith_actors::api::agents::{EventClass, LinkedBy, Whoami};
use frith_store::refusal::Refusal;

use crate::world::{PERSON, World, claims, event};

/// A host that its hook told of, and the number of an MCP process of it.
async fn with_session(world: &World, pid: u32, session: &str, folder: &Path) -> u32 {
    let _ = world.hook(world.host(pid), event(EventClass::Start, session, folder)).await;
    world.processes.start(pid + 2, pid, "frith");
    pid + 2
}

#[tokio::test]
async fn a_server_below_its_host_shares_it_with_the_hooks() {
    let world = World::new().await;
    let folder = world.folder("app");
    let server = with_session(&world, 100, "s", &folder).await;
    let linked = world.link(server, "claude", Path::new("/"), claims(None, &[])).await.unwrap();
    assert_eq!((linked.linked_by, linked.session.unwrap().id.as_deref()), (LinkedBy::Ancestor, Some("s")));
    assert_eq!(world.ask(server, Whoami {}).await.unwrap().id, linked.id);
}

#[tokio::test]
async fn b39_what_the_environment_names_counts_only_where_the_kernel_does_not_say_otherwise() {
    let world = World::new().await;
    let folder = world.folder("app");
    let server = with_session(&world, 100, "s", &folder).await;
    let named = world.link(server, "claude", &folder, claims(None, &[("claude", "s")])).await.unwrap();
    assert_eq!(named.linked_by, LinkedBy::Session);
    let other = with_session(&world, 200, "t", &folder).await;
    let stale = world.link(other, "claude", &folder, claims(None, &[("claude", "s")])).await.unwrap();
    assert_eq!((stale.linked_by, stale.session.unwrap().id.as_deref()), (LinkedBy::Ancestor, Some("t")));
    let nobodys = world.link(other, "claude", &folder, claims(None, &[("claude", "fresh")])).await.unwrap();
    assert_eq!(nobodys.linked_by, LinkedBy::Ancestor, "a session that no hook told of is looked up and never registered");
}

#[tokio::test]
async fn a_host_that_names_its_session_to_servers_registers_by_it() {
    let world = World::new().await;
    let folder = world.folder("app");
    world.host(100);
    let linked = world.link(101, "grok", &folder, claims(None, &[("grok", "g")])).await.unwrap();
    assert_eq!((linked.linked_by, linked.host.as_str()), (LinkedBy::Session, "grok"));
    let again = world.link(101, "grok", &folder, claims(None, &[("grok", "g")])).await.unwrap();
    assert_eq!(again.id, linked.id);
    let hook = frith_actors::api::agents::Event { host: "grok".into(), ..event(EventClass::Tool, "g", &folder) };
    let _ = world.hook(101, hook).await;
    assert_eq!(world.agents(true).await.agents.len(), 1, "its hook finds what its server registered");
}

#[tokio::test]
async fn b33_two_servers_of_one_session_are_one_agent() {
    let world = World::new().await;
    let folder = world.folder("app");
    world.host(100);
    world.processes.start(102, 100, "frith");
    let (one, two) =
        tokio::join!(world.link(101, "opencode", &folder, claims(None, &[])), world.link(102, "opencode", &folder, claims(None, &[])),);
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.linked_by, one.id), (LinkedBy::Own, two.id));
    world.host(200);
    let other = world.link(201, "opencode", &folder, claims(None, &[])).await.unwrap();
    assert_ne!(other.id, one.id);
    assert_eq!(world.agents(true).await.agents.len(), 2);
    world.processes.start(103, 100, "bash");
    assert_eq!(world.ask(103, Whoami {}).await.unwrap().id, one.id, "a shell of the host is it, too");
}

#[tokio::test]
async fn b38_a_server_that_was_started_in_the_root_folder_is_linked_to_nobody_by_it() {
    let world = World::new().await;
    let _ = with_session(&world, 100, "s", &world.folder("app")).await;
    world.processes.start(300, PERSON, "other-host");
    world.processes.start(301, 300, "frith");
    let refused = world.link(301, "claude", Path::new("/"), claims(None, &[])).await.unwrap_err();
    assert_eq!(refused, Refusal::OutsideSessions { host: "claude".into() });
    let none = world.link(301, "codex", Path::new("/"), claims(None, &[])).await.unwrap_err();
    assert_eq!(none, Refusal::NotLinked { host: "codex".into() });
}

#[tokio::test]
async fn c32_a_server_of_two_sessions_in_one_process_is_neither() {
    let world = World::new().await;
    let folder = world.folder("app");
    let server = with_session(&world, 100, "one", &folder).await;
    let _ = world.hook(101, event(EventClass::Start, "two", &folder)).await;
    let refused = world.link(server, "claude", &folder, claims(None, &[])).await.unwrap_err();
    let Refusal::SeveralAgents { agents } = &refused else { panic!("{refused}") };
    assert_eq!(agents.len(), 2);
    assert!(refused.hint().unwrap().contains("FRITH_AGENT_ID"));
}

#[tokio::test]
async fn a_server_beside_a_session_in_its_folder_does_not_speak_for_it() {
    let world = World::new().await;
    let folder = world.folder("app");
    let _ = with_session(&world, 100, "s", &folder).await;
    world.host(200);
    let refused = world.link(201, "claude", &folder, claims(None, &[])).await.unwrap_err();
    assert_eq!(refused, Refusal::OutsideSessions { host: "claude".into() });
}

#[tokio::test]
async fn what_runs_below_an_agent_is_never_linked_past_it() {
    let world = World::new().await;
    let (one, other) = (world.folder("one"), world.folder("other"));
    // Both hosts stand below an editor, which the hooks of both keep.
    world.processes.start(90, PERSON, "an-editor");
    for (pid, session, host, folder) in [(100, "s", "claude", &one), (200, "t", "codex", &other)] {
        world.processes.start(pid, 90, "the-host");
        world.processes.start(pid + 1, pid, "frith");
        let told = frith_actors::api::agents::Event { host: host.into(), ..event(EventClass::Start, session, folder) };
        let _ = world.hook(pid + 1, told).await;
    }
    world.processes.start(202, 200, "bash");
    world.processes.start(203, 202, "frith");
    for folder in [&one, &other] {
        let refused = world.link(203, "claude", folder, claims(None, &[])).await.unwrap_err();
        assert!(matches!(refused, Refusal::OutsideSessions { .. } | Refusal::NotLinked { .. }), "{refused:?}");
    }
    let refused = world.link(203, "grok", &other, claims(None, &[("grok", "made-up")])).await.unwrap_err();
    assert!(matches!(refused, Refusal::OutsideSessions { .. } | Refusal::NotLinked { .. }), "{refused:?}");
    assert_eq!(world.agents(true).await.agents.len(), 2, "no second agent of that process");
    world.processes.start(102, 100, "frith");
    let linked = world.link(102, "claude", &one, claims(None, &[])).await.unwrap();
    assert_eq!(linked.session.unwrap().id.as_deref(), Some("s"));
}

#[tokio::test]
async fn c02_the_variable_chooses_among_the_sessions_that_a_server_is_below() {
    let world = World::new().await;
    let folder = world.folder("app");
    let server = with_session(&world, 100, "one", &folder).await;
    let one = world.link(server, "claude", &folder, claims(None, &[])).await.unwrap().id;
    let _ = world.hook(101, event(EventClass::Start, "two", &folder)).await;
    let chosen = world.link(server, "claude", &folder, claims(Some(one.short()), &[])).await.unwrap();
    assert_eq!((chosen.linked_by, chosen.id), (LinkedBy::Variable, one));
    let other = world.link(server, "claude", &folder, claims(Some("ffffffff".into()), &[])).await;
    assert!(matches!(other, Err(Refusal::SeveralAgents { agents }) if agents.len() == 2));
}

#[tokio::test]
async fn a_server_that_is_only_told_for_whom_it_works_registers_nobody() {
    let world = World::new().await;
    let folder = world.folder("app");
    world.host(100);
    assert_eq!(world.look(101, "opencode", &folder).await, Err(Refusal::NotRegistered { host: "opencode".into() }));
    assert!(world.agents(true).await.agents.is_empty());
    let own = world.link(101, "opencode", &folder, claims(None, &[])).await.unwrap();
    assert_eq!(world.look(101, "opencode", &folder).await.unwrap().id, own.id);
    assert_eq!(world.agents(true).await.agents.len(), 1);
}

#[tokio::test]
async fn c32_a_server_of_a_host_without_hooks_takes_no_row_in_the_process_of_another_agent() {
    let world = World::new().await;
    let folder = world.folder("app");
    let server = with_session(&world, 100, "s", &folder).await;
    let claude = world.link(server, "claude", &folder, claims(None, &[])).await.unwrap().id;
    let refused = world.link(server, "opencode", &folder, claims(None, &[])).await;
    assert_eq!(refused, Err(Refusal::SeveralAgents { agents: vec![claude] }));
    assert_eq!(world.ask(101, Whoami {}).await.unwrap().id, claude, "it is alone in its process still");
}

#[tokio::test]
async fn a_persons_shell_inside_an_editor_is_no_agent_of_the_editors() {
    let world = World::new().await;
    let folder = world.folder("app");
    world.host(100);
    world.processes.start(102, 100, "frith");
    world.processes.start(103, 100, "bash");
    let one = world.link(101, "zed", &folder, claims(None, &[])).await.unwrap();
    assert_eq!(world.link(101, "zed", &folder, claims(None, &[])).await.unwrap().id, one.id);
    assert_eq!(world.ask(101, Whoami {}).await.unwrap().id, one.id);
    let two = world.link(102, "zed", &folder, claims(None, &[])).await.unwrap();
    assert_ne!(one.id, two.id, "nothing tells that both are of one window");
    assert!(world.ask(103, Whoami {}).await.is_err());
    assert_eq!(world.agents(true).await.agents.len(), 2);
}

#[tokio::test]
async fn a_session_that_its_host_resumed_in_another_process_lives_there() {
    let world = World::new().await;
    let folder = world.folder("app");
    let resumed = || claims(None, &[("grok", "g")]);
    world.host(100);
    let first = world.link(101, "grok", &folder, resumed()).await.unwrap();
    world.processes.end(101);
    world.processes.end(100);
    world.host(200);
    let again = world.link(201, "grok", &folder, resumed()).await.unwrap();
    assert_eq!((again.id, again.linked_by), (first.id, LinkedBy::Session));
    assert_eq!(world.ask(201, Whoami {}).await.unwrap().linked_by, LinkedBy::Process, "the process is known as its own");
    assert_eq!(world.agents(false).await.agents.len(), 1, "and is not taken for gone");
}

#[tokio::test]
async fn b39_a_session_that_the_environment_names_is_not_taken_out_of_the_process_it_runs_in() {
    let world = World::new().await;
    let folder = world.folder("app");
    world.host(100);
    let first = world.link(101, "grok", &folder, claims(None, &[("grok", "g")])).await.unwrap();
    world.host(200);
    let inherited = world.link(201, "grok", &world.folder("web"), claims(None, &[("grok", "g")])).await;
    assert_eq!(inherited, Err(Refusal::OutsideSessions { host: "grok".into() }));
    assert_eq!(world.ask(101, Whoami {}).await.unwrap().id, first.id);
    assert_eq!(world.agents(true).await.agents.len(), 1);
}

#[tokio::test]
async fn how_a_server_was_linked_is_told_again_as_it_was() {
    let world = World::new().await;
    let folder = world.folder("app");
    world.processes.start(50, PERSON, "wrapper");
    world.processes.start(100, 50, "the-host");
    world.processes.start(101, 100, "frith");
    world.processes.start(60, 50, "frith");
    let _ = world.hook(101, event(EventClass::Start, "s", &folder)).await;
    let linked = world.link(60, "claude", &folder, claims(None, &[])).await.unwrap();
    let told = world.ask(60, Whoami {}).await.unwrap();
    assert_eq!((told.id, linked.linked_by, told.linked_by), (linked.id, LinkedBy::Ancestor, LinkedBy::Ancestor));
}
