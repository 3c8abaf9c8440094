//! Sessions of hosts, as their hooks tell of them.

use std::{path::Path, process::Command, time::Duration};

use frith_actors::{
    api::{
        agents::{AgentInfo, Event, EventClass, SetStatus, Whoami},
        task,
    },
    call::Failed,
    config::NodeConfig,
    hook::spool::{self, Spooled},
    terminal::Attention,
};
use frith_store::{
    id::{AgentId, CallId},
    model::{EndHow, Presence, ProcessRef},
    refusal::Refusal,
    time::Timestamp,
};

use crate::world::{PERSON, World, claims, event};

/// The only agent there is.
async fn only(world: &World, all: bool) -> AgentInfo {
    let mut agents = world.agents(all).await.agents;
    assert_eq!(agents.len(), 1, "{agents:?}");
    agents.remove(0)
}

async fn ids(world: &World, all: bool) -> Vec<AgentId> {
    world.agents(all).await.agents.iter().map(|info| info.agent.id).collect()
}

fn start(session: &str, source: &str, folder: &Path) -> Event {
    Event { source: Some(source.into()), ..event(EventClass::Start, session, folder) }
}

#[tokio::test]
async fn the_first_event_registers_and_tells_the_agent_what_it_is_and_later_ones_refresh() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let told = world.hook(hook, start("s", "startup", &folder)).await;
    let known = only(&world, false).await;
    assert_eq!(told.agent, Some(known.agent.id), "its shell is told its id");
    assert!(told.context.unwrap().contains(&known.agent.id.to_string()));
    world.wait(Duration::from_secs(60));
    let tool = Event { activity: Some("Bash: cargo test".into()), model: Some("opus".into()), ..event(EventClass::Tool, "s", &folder) };
    assert_eq!(world.hook(hook, tool).await.context, None, "it was told before");
    let now = only(&world, false).await;
    assert_eq!(now.agent.id, known.agent.id);
    assert_eq!((now.activity.as_deref(), now.agent.model.as_deref()), (Some("Bash: cargo test"), Some("opus")));
    assert_eq!(now.seen.unwrap().ms() - known.seen.unwrap().ms(), 60_000);
    let bare = Event { folder: None, ..event(EventClass::Tool, "s", &folder) };
    let _ = world.hook(hook, bare).await;
    let after = only(&world, false).await;
    assert_eq!(
        (after.activity, after.agent.folder, after.agent.model),
        (now.activity, now.agent.folder, now.agent.model),
        "nothing blanks"
    );
}

#[tokio::test]
async fn the_one_line_is_the_same_but_for_the_id() {
    let world = World::new().await;
    let mut lines = Vec::new();
    for (pid, session) in [(100, "one"), (200, "two")] {
        let told = world.hook(world.host(pid), start(session, "startup", &world.folder("app"))).await;
        lines.push(told.context.unwrap().replace(&told.agent.unwrap().to_string(), "ID"));
    }
    assert_eq!(lines[0], lines[1]);
    assert_eq!(
        lines[0],
        "You are agent ID in frith. Its tools are `agent_*` (other agents and messages) and `worktree_*` (git worktrees, one owner each); your shell has `frith agents` and `frith worktree`. `agent_inbox` reads your messages."
    );
}

#[tokio::test]
async fn worktrees_that_are_not_kept_are_not_named() {
    let world = World::with(NodeConfig { worktrees_enabled: false, ..NodeConfig::default() }).await;
    let told = world.hook(world.host(100), start("one", "startup", &world.folder("app"))).await.context.unwrap();
    assert!(told.contains("`agent_*`") && !told.contains("worktree"), "{told}");
}

#[tokio::test]
async fn a_session_whose_start_could_not_be_answered_is_told_at_its_first_event_that_can() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let silent = Event { takes_context: false, ..start("s", "startup", &folder) };
    assert_eq!(world.hook(hook, silent).await.context, None);
    assert!(world.hook(hook, event(EventClass::Prompt, "s", &folder)).await.context.is_some());
    assert!(world.hook(hook, event(EventClass::Tool, "s", &folder)).await.context.is_none());
}

#[tokio::test]
async fn b07_what_an_agent_is_told_by_a_hook_that_was_killed_is_told_again() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    assert!(world.hook_that_ends(hook, start("s", "startup", &folder)).await.confirm);
    assert!(world.hook_that_ends(hook, event(EventClass::Prompt, "s", &folder)).await.context.is_some());
    assert!(world.hook(hook, event(EventClass::Tool, "s", &folder)).await.context.is_some());
    assert!(world.hook(hook, event(EventClass::Tool, "s", &folder)).await.context.is_none());
}

#[tokio::test]
async fn c31_what_is_of_no_host_registers_nobody() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let stranger = Event { host: "no such host".into(), ..start("s", "startup", &folder) };
    assert_eq!(world.hook(hook, stranger.clone()).await, Default::default());
    keep(&world, 1, Timestamp::from_ms(1), 100, stranger);
    let _ = world.hook(hook, Event { activity: Some("x\u{1b}".repeat(200)), ..event(EventClass::Tool, "s", &folder) }).await;
    let there = only(&world, true).await;
    assert_eq!(there.activity.map(|it| it.contains(char::is_control)), Some(false));
}

#[tokio::test]
async fn stop_means_that_it_waits_at_its_prompt_and_is_answered_with_nothing() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let stop = Event { takes_context: true, ..event(EventClass::Stop, "s", &folder) };
    assert_eq!(world.hook(hook, stop).await, Default::default());
    let waiting = only(&world, false).await;
    assert_eq!((waiting.attention, waiting.presence), (Some(Attention::AtPrompt), Presence::Live));
    let _ = world.hook(hook, event(EventClass::Prompt, "s", &folder)).await;
    assert_eq!(only(&world, false).await.attention, Some(Attention::Working));
}

#[tokio::test]
async fn an_end_ends_and_the_session_is_there_again_with_the_same_id() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let _ = world.hook(hook, start("s", "startup", &folder)).await;
    let id = only(&world, false).await.agent.id;
    let _ = world.hook(hook, event(EventClass::End, "s", &folder)).await;
    assert_eq!(only(&world, true).await.agent.ended.unwrap().how, EndHow::SessionOver);
    assert!(world.agents(false).await.agents.is_empty());
    let resumed = world.hook(world.host(200), start("s", "resume", &folder)).await;
    assert_eq!(resumed.agent, Some(id));
    assert_eq!((ids(&world, true).await, only(&world, false).await.presence), (vec![id], Presence::Live));
}

#[tokio::test]
async fn the_end_of_a_session_that_was_never_seen_registers_nobody() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    for class in [EventClass::End, EventClass::SubStop] {
        let told = world.hook(hook, Event { sub_agent: Some("a1".into()), ..event(class, "fresh", &folder) }).await;
        assert_eq!(told, Default::default());
    }
    assert!(world.agents(true).await.agents.is_empty());
}

fn sub(class: EventClass, sub_agent: &str, folder: &Path) -> Event {
    Event { sub_agent: Some(sub_agent.into()), ..event(class, "s", folder) }
}

#[tokio::test]
async fn a_sub_agent_registers_with_its_parent_and_ends_with_it() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let told = world.hook(hook, sub(EventClass::SubStart, "a1", &folder)).await;
    let main = only(&world, false).await;
    let child = &main.sub_agents[0];
    assert_eq!((child.agent.parent, told.agent), (Some(main.agent.id), None));
    assert!(told.context.unwrap().contains(&child.agent.id.to_string()));
    let _ = world.hook(hook, sub(EventClass::SubStop, "a1", &folder)).await;
    assert!(only(&world, false).await.sub_agents.is_empty());
    let _ = world.hook(hook, sub(EventClass::Tool, "a2", &folder)).await;
    assert_eq!(only(&world, false).await.sub_agents.len(), 1);
    let _ = world.hook(hook, event(EventClass::End, "s", &folder)).await;
    let main = only(&world, true).await;
    assert_eq!(main.sub_agents.len(), 2);
    assert!(main.sub_agents.iter().all(|child| child.presence == Presence::Ended));
}

#[tokio::test]
async fn a_cleared_session_is_followed_by_another_and_ends_though_nobody_said_so() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let first = world.hook(hook, start("one", "startup", &folder)).await.agent;
    let elsewhere = world.hook(world.host(200), start("two", "startup", &folder)).await.agent;
    let next = world.hook(hook, start("three", "clear", &folder)).await.agent;
    let there: Vec<_> = ids(&world, false).await.into_iter().map(Some).collect();
    assert!(there.contains(&elsewhere) && there.contains(&next) && !there.contains(&first));
}

#[tokio::test]
async fn a_session_that_follows_one_of_several_in_its_process_ends_none_of_them() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    for session in ["one", "two"] {
        let _ = world.hook(hook, start(session, "startup", &folder)).await;
    }
    let _ = world.hook(hook, start("three", "clear", &folder)).await;
    assert_eq!(ids(&world, false).await.len(), 3);
    let _ = world.hook(hook, event(EventClass::End, "one", &folder)).await;
    assert_eq!(ids(&world, false).await.len(), 2);
}

async fn is_unplaced(world: &World, pid: u32) -> bool {
    let refused = world.ask(pid, task::Next::default()).await;
    matches!(refused, Err(Failed::Refused(refusal)) if *refusal == Refusal::UnplacedCaller)
}

#[tokio::test]
async fn c31_what_an_agent_left_running_is_no_persons_when_its_session_ends() {
    let mut world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let _ = world.hook(hook, start("one", "startup", &folder)).await;
    world.processes.start(103, 100, "bash");
    let _ = world.hook(hook, event(EventClass::End, "one", &folder)).await;
    assert!(is_unplaced(&world, 103).await && !is_unplaced(&world, PERSON).await);
    world.ask(103, task::List::default()).await.unwrap_err();
    let listed = world.ask(103, frith_actors::api::agents::Sessions { all: true, machine: None }).await;
    assert_eq!(listed.unwrap().agents.len(), 1, "it reads");
    world.restart().await;
    assert!(is_unplaced(&world, 103).await, "the next node knows it too");
    let next = world.hook(hook, start("two", "clear", &folder)).await.agent;
    assert_eq!(Some(world.ask(103, Whoami {}).await.unwrap().id), next, "the next session in that process takes over");
    let _ = world.hook(hook, event(EventClass::End, "two", &folder)).await;
    world.processes.end(100);
    world.processes.start(103, PERSON, "bash");
    let _ = ids(&world, true).await;
    assert!(!is_unplaced(&world, 103).await);
}

#[tokio::test]
async fn c02_a_hook_that_speaks_for_a_session_of_another_process_is_not_believed() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let _ = world.hook(hook, start("s", "startup", &folder)).await;
    let before = only(&world, false).await;
    world.processes.start(950, PERSON, "frith");
    for stranger in [world.host(200), 950] {
        for class in [EventClass::Start, EventClass::Prompt, EventClass::End] {
            assert_eq!(world.hook(stranger, event(class, "s", &folder)).await, Default::default());
        }
    }
    assert_eq!(only(&world, true).await, before);
}

#[tokio::test]
async fn c31_what_a_person_types_as_a_hook_registers_nobody() {
    let world = World::new().await;
    world.processes.start(950, PERSON, "frith");
    assert_eq!(world.hook(950, start("s", "startup", &world.folder("app"))).await, Default::default());
    assert!(world.agents(true).await.agents.is_empty());
}

#[tokio::test]
async fn a_fork_of_a_session_that_still_runs_starts_under_its_id_and_is_told_none() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let original = world.hook(hook, start("old", "startup", &folder)).await.agent.unwrap();
    let forked = world.host(200);
    assert_eq!(world.hook(forked, start("old", "resume", &folder)).await, Default::default());
    let told = world.hook(forked, event(EventClass::Prompt, "new", &folder)).await;
    let there = ids(&world, false).await;
    assert_eq!(there.len(), 2);
    assert!(there.contains(&original) && !told.context.unwrap().contains(&original.to_string()));
}

#[tokio::test]
async fn a_fork_of_a_session_that_is_over_leaves_that_as_it_was() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let original = world.hook(hook, start("old", "startup", &folder)).await.agent.unwrap();
    let _ = world.hook(hook, event(EventClass::End, "old", &folder)).await;
    let forked = world.host(200);
    assert_eq!(world.hook(forked, start("old", "resume", &folder)).await.agent, Some(original));
    let _ = world.hook(forked, event(EventClass::Prompt, "new", &folder)).await;
    let there = only(&world, false).await;
    assert_ne!(there.agent.id, original);
    let all = world.agents(true).await.agents;
    let old = all.iter().find(|info| info.agent.id == original).unwrap();
    assert_eq!(old.agent.ended.as_ref().unwrap().how, EndHow::SessionOver);
}

#[tokio::test]
async fn two_sessions_that_each_start_in_one_process_are_two_agents() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    for session in ["one", "two"] {
        let _ = world.hook(hook, start(session, "startup", &folder)).await;
    }
    for session in ["one", "two"] {
        let _ = world.hook(hook, event(EventClass::Prompt, session, &folder)).await;
    }
    assert_eq!(ids(&world, false).await.len(), 2);
    let refused = world.ask(hook, Whoami {}).await.unwrap_err().to_string();
    assert!(refused.starts_with("2 agents are where this process is"), "{refused}");
    let chosen = world.ask_with(hook, &folder, claims(None, &[("claude", "two")]), Whoami {}).await.unwrap();
    assert_eq!(chosen.session.unwrap().id.as_deref(), Some("two"));
}

#[tokio::test]
async fn b11_a_hook_that_is_installed_twice_registers_one_agent() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let event = start("s", "startup", &folder);
    let (one, two) = tokio::join!(world.hook(hook, event.clone()), world.hook(hook, event));
    assert_eq!((one.agent, ids(&world, true).await.len()), (two.agent, 1));
}

#[tokio::test]
async fn c05_two_first_registrations_at_once_are_two_agents() {
    let world = World::new().await;
    let folder = world.folder("app");
    let (one, two) = (world.host(100), world.host(200));
    let (one, two) = tokio::join!(world.hook(one, start("one", "startup", &folder)), world.hook(two, start("two", "startup", &folder)));
    assert!(one.agent.is_some() && two.agent.is_some() && one.agent != two.agent);
}

#[tokio::test]
async fn c07_a_session_that_follows_another_in_the_same_folder_is_not_that_one() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let first = world.hook(hook, start("one", "startup", &folder)).await.agent;
    let _ = world.hook(hook, event(EventClass::End, "one", &folder)).await;
    let second = world.hook(world.host(200), start("two", "startup", &folder)).await.agent;
    assert!(first != second && ids(&world, true).await.len() == 2);
}

#[tokio::test]
async fn an_agent_whose_process_is_gone_has_ended_though_no_hook_said_so() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let _ = world.hook(hook, sub(EventClass::SubStart, "a1", &folder)).await;
    world.processes.end(100);
    let ended = only(&world, true).await;
    assert_eq!(ended.agent.ended.unwrap().how, EndHow::Gone);
    assert_eq!(ended.sub_agents[0].presence, Presence::Ended);
}

#[tokio::test]
async fn a_node_that_starts_finds_the_agents_that_still_run_and_ends_the_others() {
    let mut world = World::new().await;
    let folder = world.folder("app");
    let stays = world.hook(world.host(100), start("one", "startup", &folder)).await.agent.unwrap();
    let goes = world.hook(world.host(200), start("two", "startup", &folder)).await.agent.unwrap();
    let tool = Event { activity: Some("Read: lib.rs".into()), ..event(EventClass::Tool, "one", &folder) };
    let _ = world.hook(101, tool).await;
    world.ask(101, SetStatus { status: " on the\tparser ".into() }).await.unwrap();
    world.processes.end(200);
    world.restart().await;
    let there = only(&world, false).await;
    assert_eq!((there.agent.id, there.activity.as_deref(), there.status.as_deref()), (stays, Some("Read: lib.rs"), Some("on the parser")));
    assert_eq!(world.ask(101, Whoami {}).await.unwrap().id, stays, "its shell is still it");
    let all = world.agents(true).await.agents;
    let gone = all.iter().find(|info| info.agent.id == goes).unwrap();
    assert_eq!(gone.agent.ended.as_ref().unwrap().how, EndHow::Gone);
    assert_eq!(world.hook(101, event(EventClass::Tool, "one", &folder)).await.context, None, "it knows what it is");
}

#[tokio::test]
async fn an_agent_is_idle_after_half_an_hour_and_not_spoken_of_a_month_after_its_end() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let _ = world.hook(hook, start("s", "startup", &folder)).await;
    world.wait(Duration::from_secs(30 * 60));
    assert_eq!(only(&world, false).await.presence, Presence::Live);
    world.wait(Duration::from_millis(1));
    assert_eq!(only(&world, false).await.presence, Presence::Idle);
    let _ = world.hook(hook, event(EventClass::End, "s", &folder)).await;
    world.wait(Duration::from_secs(30 * 24 * 60 * 60 - 1));
    assert_eq!(only(&world, true).await.presence, Presence::Ended);
    world.wait(Duration::from_secs(1));
    assert!(world.agents(true).await.agents.is_empty());
}

#[tokio::test]
async fn nothing_registers_where_agents_are_switched_off() {
    let world = World::with(NodeConfig { agents_enabled: false, ..NodeConfig::default() }).await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    assert_eq!(world.hook(hook, start("s", "startup", &folder)).await, Default::default());
    assert!(world.agents(true).await.agents.is_empty());
    assert!(world.link(hook, "opencode", &folder, claims(None, &[])).await.is_err());
}

#[tokio::test]
async fn a_host_without_ids_of_sessions_is_one_agent_in_each_of_its_processes() {
    let world = World::new().await;
    let folder = world.folder("app");
    let without = |class| Event { session: None, ..event(class, "", &folder) };
    for hook in [world.host(100), world.host(200), 101] {
        let _ = world.hook(hook, without(EventClass::Tool)).await;
    }
    assert_eq!(ids(&world, false).await.len(), 2);
    let _ = world.hook(101, without(EventClass::End)).await;
    assert_eq!(ids(&world, false).await.len(), 1);
    world.processes.start(950, PERSON, "frith");
    let _ = world.hook(950, without(EventClass::Tool)).await;
    assert_eq!(ids(&world, true).await.len(), 2, "nothing tells whose that is");
}

/// Keeps an event as a hook does that finds no node.
fn keep(world: &World, number: u8, at: Timestamp, pid: u32, event: Event) {
    let process = ProcessRef { pid, started: format!("boot/{pid}") };
    let call = CallId::from_random([number; 16]);
    let spooled = Spooled { call, at, event, process: Some(process.clone()), ancestors: vec![process] };
    spool::write(&world.home(), &spooled).unwrap();
}

#[tokio::test]
async fn what_hooks_kept_while_no_node_listened_is_taken_in_before_agents_are_listed_and_when_one_starts() {
    let mut world = World::new().await;
    let folder = world.folder("app");
    let (_, other) = (world.host(100), world.host(200));
    let _ = world.hook(other, start("two", "startup", &folder)).await;
    let now = only(&world, false).await.seen.unwrap();
    let later = |ms| Timestamp::from_ms(now.ms() + ms);
    keep(&world, 1, later(1), 100, start("one", "startup", &folder));
    assert_eq!(ids(&world, false).await.len(), 2);
    let told = world.hook(101, event(EventClass::Prompt, "one", &folder)).await;
    assert!(told.context.is_some(), "nobody could tell it before");
    keep(&world, 2, later(-1), 200, event(EventClass::End, "two", &folder));
    assert_eq!(ids(&world, false).await.len(), 2, "it was there after that");
    keep(&world, 3, later(2), 200, event(EventClass::End, "two", &folder));
    keep(&world, 4, later(2), 999, start("gone", "startup", &folder));
    world.restart().await;
    let there = only(&world, false).await;
    assert_eq!((there.agent.session.unwrap().id.as_deref(), there.seen), (Some("one"), Some(later(1))));
    assert_eq!(ids(&world, true).await.len(), 3, "one registered and was gone already");
}

#[tokio::test]
async fn what_was_kept_since_before_an_end_that_was_heard_brings_nobody_back() {
    let world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let first = world.hook(hook, start("s", "startup", &folder)).await.agent.unwrap();
    let began = only(&world, false).await.seen.unwrap();
    let later = |seconds: i64| Timestamp::from_ms(began.ms() + seconds * 1000);
    world.wait(Duration::from_secs(60));
    let _ = world.hook(hook, event(EventClass::End, "s", &folder)).await;
    keep(&world, 1, later(1), 100, start("s", "startup", &folder));
    keep(&world, 2, later(1), 100, Event { sub_agent: Some("a".into()), ..event(EventClass::Tool, "s", &folder) });
    assert!(ids(&world, false).await.is_empty());
    let next = world.hook(hook, start("t", "clear", &folder)).await.agent;
    keep(&world, 3, later(2), 100, start("old", "clear", &folder));
    assert!(ids(&world, false).await.into_iter().any(|id| Some(id) == next), "it was seen after that");
    keep(&world, 4, later(61), 100, start("s", "resume", &folder));
    assert!(ids(&world, false).await.contains(&first), "it was resumed after its end");
}

#[tokio::test]
async fn the_end_and_the_resuming_that_both_were_kept_count_by_when_they_were() {
    let mut world = World::new().await;
    let (hook, folder) = (world.host(100), world.folder("app"));
    let first = world.hook(hook, start("s", "startup", &folder)).await.agent.unwrap();
    let began = only(&world, false).await.seen.unwrap();
    keep(&world, 1, Timestamp::from_ms(began.ms() + 1), 100, event(EventClass::End, "s", &folder));
    keep(&world, 2, Timestamp::from_ms(began.ms() + 2), 100, start("s", "resume", &folder));
    world.wait(Duration::from_secs(60));
    world.restart().await;
    assert_eq!(ids(&world, false).await, [first]);
}

async fn workspace(world: &World, name: &str, folder: &Path) {
    let create = frith_actors::api::workspace::Create { folder: Some(folder.into()), ..crate::scope::named(name) };
    world.ask(PERSON, create).await.unwrap();
}

#[tokio::test]
async fn the_place_is_the_deepest_that_contains_the_folder_whenever_it_came_to_be() {
    let world = World::new().await;
    let (hook, deep) = (world.host(100), world.folder("app/deep/er"));
    let _ = world.hook(hook, start("s", "startup", &deep)).await;
    assert_eq!(only(&world, false).await.place, None);
    workspace(&world, "app", &world.folder("app")).await;
    let place = |identity: frith_actors::api::agents::Identity| identity.place.unwrap().name;
    assert_eq!(place(world.ask(hook, Whoami {}).await.unwrap()), "app");
    workspace(&world, "deep", &world.folder("app/deep")).await;
    let _ = world.hook(hook, event(EventClass::Tool, "s", &world.folder("app"))).await;
    assert_eq!(place(world.ask(hook, Whoami {}).await.unwrap()), "app");
    let _ = world.hook(hook, event(EventClass::Tool, "s", &deep)).await;
    let now = only(&world, false).await;
    assert_eq!((now.place.unwrap().name.as_str(), now.agent.folder.unwrap().as_path()), ("deep", deep.as_path()));
}

#[tokio::test]
async fn a_linked_worktree_has_the_place_of_its_main_checkout() {
    let world = World::new().await;
    let main = world.folder("app");
    let worktree = world.folder(".").join("beside");
    let git = |args: &[&str]| {
        let done = Command::new("git").args(["-c", "user.name=ada", "-c", "user.email=ada@oak"]).args(args).current_dir(&main).output();
        assert!(done.unwrap().status.success(), "{args:?}");
    };
    git(&["init", "--quiet"]);
    std::fs::create_dir(main.join("sub")).unwrap();
    std::fs::write(main.join("sub/file"), "").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "first"]);
    git(&["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    workspace(&world, "app", &main).await;
    let hook = world.host(100);
    let _ = world.hook(hook, start("s", "startup", &worktree.join("sub"))).await;
    let there = only(&world, false).await;
    assert_eq!(there.place.unwrap().name, "app");
    assert_eq!(there.agent.folder.unwrap().as_path(), worktree.join("sub"));
}
