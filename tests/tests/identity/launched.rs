//! Agents that the node launched, and the sessions that their hosts tell of.

use std::path::{Path, PathBuf};

use frith_actors::{
    api::agents::{Event, EventClass, Launch, LinkedBy, Stop, Whoami},
    config::{Kind, NodeConfig},
};
use frith_store::{
    id::{AgentId, AgentRef, PlaceRef},
    model::{EndHow, Presence},
};

use crate::{
    scope::named,
    world::{LAUNCHED, PERSON, World, claims, event},
};

/// A world with an agent that was launched by this command, its folder, and one of its hooks.
async fn with_launched(command: &str) -> (World, AgentId, PathBuf, u32) {
    let mut config = NodeConfig::default();
    config.kinds.insert("claude".into(), Kind { command: vec![command.into()], ..Kind::default() });
    let world = World::with(config).await;
    let folder = world.folder("app");
    let create = frith_actors::api::workspace::Create { folder: Some(folder.as_path().into()), ..named("app") };
    world.ask(PERSON, create).await.unwrap();
    let launch = Launch { place: Some(PlaceRef("app".into())), kind: Some("claude".into()), ..Launch::default() };
    let launched = world.ask(PERSON, launch).await.unwrap().agent.id;
    world.processes.start(LAUNCHED + 1, LAUNCHED, "frith");
    (world, launched, folder, LAUNCHED + 1)
}

fn start(session: &str, source: &str, folder: &Path) -> Event {
    Event { source: Some(source.into()), ..event(EventClass::Start, session, folder) }
}

async fn ids(world: &World) -> Vec<AgentId> {
    world.agents(true).await.agents.iter().map(|info| info.agent.id).collect()
}

#[tokio::test]
async fn the_session_of_a_launched_agents_own_host_is_that_agent_and_its_end_is_its_processs() {
    let (world, launched, folder, hook) = with_launched("claude").await;
    let told = world.hook(hook, start("s", "startup", &folder)).await;
    assert_eq!((told.agent, ids(&world).await), (Some(launched), vec![launched]));
    let told = told.context.unwrap();
    assert!(told.contains("`worktree_*` (git worktrees, one owner each) and `task_*`"), "it is in a place: {told}");
    let _ = world.hook(hook, event(EventClass::End, "s", &folder)).await;
    let info = world.agents(false).await.agents.remove(0);
    assert_eq!((info.presence, info.agent.session.unwrap().id.as_deref()), (Presence::Live, Some("s")));
    let next = world.hook(hook, start("t", "clear", &folder)).await;
    assert_eq!((next.agent, ids(&world).await), (Some(launched), vec![launched]));
    let who = world.ask(hook, Whoami {}).await.unwrap();
    assert_eq!((who.id, who.session.unwrap().id.as_deref(), who.linked_by), (launched, Some("t"), LinkedBy::Process));
    let linked = world.link(hook, "claude", &folder, claims(None, &[("claude", "s")])).await.unwrap();
    assert_eq!((linked.id, linked.linked_by), (launched, LinkedBy::Launch));
    let ended = world.ask(PERSON, Stop { agent: AgentRef(launched.to_string()) }).await.unwrap();
    assert!(matches!(ended.agent.ended.unwrap().how, EndHow::Stopped(_)));
}

#[tokio::test]
async fn a_host_below_the_shell_that_was_launched_is_that_agent() {
    let (world, launched, folder, _) = with_launched("sh").await;
    world.processes.start(LAUNCHED + 2, LAUNCHED, "claude");
    world.processes.start(LAUNCHED + 3, LAUNCHED + 2, "frith");
    assert_eq!(world.hook(LAUNCHED + 3, start("s", "startup", &folder)).await.agent, Some(launched));
    assert_eq!(ids(&world).await, [launched]);
}

#[tokio::test]
async fn another_host_that_was_started_inside_is_an_agent_of_its_own() {
    let (world, launched, folder, hook) = with_launched("claude").await;
    let _ = world.hook(hook, start("s", "startup", &folder)).await;
    for (pid, parent, program) in [(2, 0, "bash"), (3, 2, "codex"), (4, 3, "frith")] {
        world.processes.start(LAUNCHED + pid, LAUNCHED + parent, program);
    }
    let inner = Event { host: "codex".into(), ..start("c", "startup", &folder) };
    let _ = world.hook(LAUNCHED + 4, inner).await;
    let all = ids(&world).await;
    assert_eq!(all.len(), 2);
    let who = world.ask_with(LAUNCHED + 4, &folder, claims(Some(launched.to_string()), &[]), Whoami {}).await.unwrap();
    assert!(who.id != launched && who.host == "codex", "what it inherits is not it");
    assert_eq!(world.ask(LAUNCHED + 2, Whoami {}).await.unwrap().id, launched, "its own shell is it");
    let server = world.link(LAUNCHED + 4, "codex", &folder, claims(Some(launched.to_string()), &[])).await.unwrap();
    assert_eq!((server.id, server.linked_by), (who.id, LinkedBy::Ancestor));
}

#[tokio::test]
async fn a_session_that_is_resumed_after_a_launch_is_over_is_another_agent() {
    let (world, launched, folder, hook) = with_launched("claude").await;
    let _ = world.hook(hook, start("s", "startup", &folder)).await;
    let _ = world.ask(PERSON, Stop { agent: AgentRef(launched.to_string()) }).await.unwrap();
    let resumed = world.hook(world.host(100), start("s", "resume", &folder)).await.agent.unwrap();
    assert_ne!(resumed, launched);
    let again = world.hook(101, start("s", "resume", &folder)).await.agent.unwrap();
    assert_eq!(again, resumed);
}
