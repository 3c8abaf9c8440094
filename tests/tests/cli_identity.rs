//! Who is calling: told by the kernel's word for the calling process, in each of the ways, and by nothing that somebody can write
//! into an environment or a payload.

use frith_tests::{Host, Run, Sandbox, errand::Program, host::Door, wait_for};
use serde_json::json;

/// The agents that are listed, as `agents sessions --json` tells them.
fn listed(sandbox: &Sandbox, args: &[&str]) -> Vec<serde_json::Value> {
    let reply = sandbox.frith(["agents", "sessions", "--json"].iter().chain(args)).ok().json();
    reply["agents"].as_array().cloned().unwrap_or_default()
}

fn id_of(who: &Run) -> String {
    who.json()["id"].as_str().unwrap_or_else(|| panic!("no id in\n{}", who.transcript())).to_owned()
}

fn linked_by(who: &Run) -> String {
    who.json()["linkedBy"].as_str().unwrap_or_default().to_owned()
}

/// What a server of a host is told that was there before the session's last hook.
fn linked(host: &mut Host<'_>) -> Run {
    let name = host.name();
    wait_for("a server is linked", || Some(host.lasting_server(["agents", "whoami", "--host", name, "--json"])).filter(|who| who.code == 0))
}

/// What a server of one host is told that asks after a hook of each of these.
fn asked_after(elsewhere: &mut Host<'_>, hosts: &mut [&mut Host<'_>]) -> Run {
    let line = "while ! test -e go; do sleep 0.02; done; rm go; exec frith agents whoami --host gemini";
    let words = ["sh", "-c", line].map(str::to_owned).to_vec();
    let (folder, go) = (elsewhere.folder.clone(), elsewhere.folder.join("go"));
    elsewhere.begin_run(Program { words, folder, ..Program::default() });
    hosts.iter_mut().for_each(|host| drop(host.prompt().ok()));
    std::fs::write(go, "").expect("the folder is the test's own");
    elsewhere.end_run("frith agents whoami --host gemini")
}

#[test]
fn below_its_host_an_agent_is_known_by_the_process_whatever_the_host() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let task = sandbox.task("app", "Explain the build");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let _ = claude.frith(["task", "next"]).ok();
    let who = claude.frith(["agents", "whoami"]).ok();
    assert_eq!(sandbox.show_task(&task)["task"]["holder"]["by"]["agent"].as_str().map(str::len), Some(36));
    let mut others: Vec<Run> = Vec::new();
    for host in ["codex", "gemini", "copilot", "codewhale"] {
        let mut host = Host::begun(&sandbox, host, &repo);
        let who = host.frith(["agents", "whoami", "--json"]).ok();
        assert_eq!((who.json()["host"].as_str(), linked_by(&who).as_str()), (Some(host.name()), "process"), "{}", who.transcript());
        others.push(who);
    }
    let ids: std::collections::BTreeSet<_> = others.iter().map(id_of).collect();
    assert_eq!(ids.len(), others.len(), "each has an id of its own");
    let outside = sandbox.frith(["agents", "whoami"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&who, &outside]));
}

/// Two sessions in one process, as an application has them: nothing is guessed.
#[test]
fn c02_of_two_sessions_in_one_process_only_the_environment_chooses() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut copilot = Host::begun(&sandbox, "copilot", &repo);
    let first = copilot.id();
    copilot.session = "another-session".into();
    let _ = copilot.begin().ok();
    let known = || listed(&sandbox, &[]).into_iter().map(|info| info["agent"]["id"].as_str().unwrap_or_default().to_owned());
    let second = wait_for("both are known", || known().find(|id| *id != first));
    let _ = [&first, &second].map(|id| sandbox.redact(id));
    let neither = copilot.frith(["agents", "whoami"]).ends_with(1);
    let silent = copilot.frith(["agents", "send", &first[..8], "who am I?"]).ends_with(1);
    let reads = copilot.frith(["task", "list"]).ok();
    let chosen = copilot.frith_with(["agents", "whoami"], &[("FRITH_AGENT_ID", &second[..8])]).ok();
    let other = copilot.frith_with(["agents", "whoami"], &[("FRITH_AGENT_ID", "0000ffff")]).ends_with(1);
    assert!(chosen.stdout.contains(&second), "{}", chosen.transcript());
    // Ids are random, and so is which of two comes first.
    let shown = sandbox.transcript([&neither, &silent, &reads, &chosen, &other]).replace("[ID2], [ID1]", "[ID1], [ID2]");
    insta::assert_snapshot!(shown);
}

/// Claude names its session in the environment of its shells, so two of them in one process are told apart.
#[test]
fn the_session_that_a_host_names_chooses_among_those_of_its_process() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let first = claude.id();
    claude.session = "another-session".into();
    let _ = claude.begin().ok();
    let who = wait_for("the second is known", || {
        Some(claude.frith(["agents", "whoami", "--json"])).filter(|who| who.code == 0 && id_of(who) != first)
    });
    assert_eq!(linked_by(&who), "session");
    claude.session = "claude-session-1".into();
    assert_eq!(claude.id(), first);
}

/// A forked session has its original's variable in its shell, and its own session beside it: that one wins.
#[test]
fn a_forked_session_is_itself_though_its_shell_was_told_the_original() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut original = Host::begun(&sandbox, "claude", &repo);
    let first = original.id();
    let exported = std::fs::read_to_string(&original.exports).unwrap();
    assert!(exported.contains(&format!("export FRITH_AGENT_ID={first}\n")), "{exported}");
    // It starts under the session that it was forked from, and goes on under one of its own.
    let mut forked = Host::start(&sandbox, "claude", &repo);
    let own = std::mem::replace(&mut forked.session, original.session.clone());
    let _ = forked.begin_as("resume").ok();
    std::fs::write(&forked.exports, &exported).unwrap();
    forked.session = own;
    let _ = forked.tool("ls").ok();
    let who = wait_for("the fork is known by itself", || {
        let _ = forked.prompt().ok();
        Some(forked.frith(["agents", "whoami", "--json"])).filter(|who| who.code == 0)
    });
    assert_ne!(id_of(&who), first, "{}", who.transcript());
    assert_eq!(original.id(), first, "the original is what it was");
}

#[test]
fn an_id_of_somebody_else_in_the_environment_is_an_error_and_never_a_person() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let mut copilot = Host::begun(&sandbox, "copilot", &repo);
    let (id, other) = (claude.id(), copilot.id());
    let runs = [
        copilot.frith_with(["agents", "send", &other[..8], "in your name"], &[("FRITH_AGENT_ID", &id[..8])]),
        copilot.frith_with(["agents", "whoami"], &[("FRITH_AGENT_ID", &id[..8])]),
        sandbox.call(["agents", "inbox"]).env("FRITH_AGENT_ID", &id[..8]).run(),
        sandbox.call(["agents", "send", &id[..8], "as another"]).env("FRITH_AGENT_ID", &other).run(),
        sandbox.call(["agents", "status", "busy"]).env("FRITH_AGENT_ID", "no such id").run(),
    ];
    assert!(runs.iter().all(|run| run.code == 1), "{}", sandbox.transcript(&runs));
    let owner = copilot.frith(["agents", "send", "--owner", &id[..8], &id[..8], "as another"]).ends_with(2);
    // What claude's own session says is stronger than a variable that somebody set in its shell.
    let who = claude.frith_with(["agents", "whoami", "--json"], &[("FRITH_AGENT_ID", &other[..])]).ok();
    assert_eq!(id_of(&who), id);
    insta::assert_snapshot!(sandbox.transcript(runs.iter().chain([&owner])));
    let letters = sandbox.frith(["agents", "inbox", &id[..8], "--json"]).ok().json();
    assert_eq!(letters["messages"], json!([]), "nobody spoke in another's name");
}

/// The variable that a node gives what it launches is worth nothing elsewhere.
#[test]
fn g01_a_copied_token_makes_nobody_the_agent_it_was_given_to() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.idle]\ncommand = [\"sh\", \"-c\", \"frith agents whoami --json > $HOME/who; exec cat\"]\n");
    let repo = sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    let launched = sandbox.wait_for_agent("app")["id"].as_str().unwrap().to_owned();
    let who =
        wait_for("it asked who it is", || std::fs::read_to_string(sandbox.root().join("who")).ok().filter(|who| who.ends_with("}\n")));
    let who: serde_json::Value = serde_json::from_str(&who).unwrap();
    assert_eq!(who["id"], launched.as_str());
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let token = [("FRITH_AGENT_ID", &launched[..])];
    let beside = sandbox.call(["agents", "whoami"]).env("FRITH_AGENT_ID", &launched).run().ends_with(1);
    let in_claude = claude.frith_with(["agents", "whoami", "--json"], &token);
    assert!(in_claude.code == 1 || id_of(&in_claude) != launched, "{}", in_claude.transcript());
    insta::assert_snapshot!(sandbox.transcript([&beside]));
}

/// From inside an agent's shell, what is a person's is refused, and what destroys too.
#[test]
fn g01_an_agents_shell_has_an_agents_operations() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let _ = sandbox.frith(["workspace", "create", "web"]).ok();
    let task = sandbox.task("web", "secret");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let lines: [&[&str]; 10] = [
        &["down"],
        &["workspace", "delete", "app", "--yes"],
        &["workspace", "set", "app", "--allow-all-commands", "true"],
        &["fork", "create", "app"],
        &["agents", "launch", "app", "--kind", "claude"],
        &["agents", "stop", "app"],
        &["agents", "unsend"],
        &["backup", "all"],
        &["config", "set", "agents.enabled", "false"],
        &["task", "show", &task[..8]],
    ];
    let runs: Vec<_> = lines.iter().map(|line| claude.frith(line.iter().copied()).ends_with(1)).collect();
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

/// The shell that a person started a host from is a person's, also while the host runs.
#[test]
fn the_shell_from_which_a_host_was_started_stays_a_persons() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let door = Door::of(&sandbox);
    let host = sandbox.program_path("frith-test-host");
    let script = format!(
        "'{}' '{}' & while ! test -e known; do sleep 0.05; done; frith agents whoami; frith task add 'as a person'; touch done; wait",
        host.display(),
        door.socket.display()
    );
    let shell = sandbox.shell(&script, &repo).spawn();
    let mut claude = door.open(&sandbox, "claude", &repo);
    claude.get_known();
    std::fs::write(repo.join("known"), "").unwrap();
    wait_for("the person asked", || repo.join("done").exists().then_some(()));
    drop(claude);
    let asked = shell.end();
    let listed = sandbox.frith(["task", "list", "--json", "-w", "app"]).ok().json();
    assert_eq!(listed["tasks"][0]["createdBy"], json!({ "person": "ada" }));
    insta::assert_snapshot!(sandbox.redact(&asked.stderr));
}

/// A hook speaks for the sessions of its own host process, and for no other's.
#[test]
fn a_hook_that_names_another_host_s_session_changes_nothing_of_it() {
    let sandbox = Sandbox::new();
    let (app, web) = (sandbox.workspace("app"), sandbox.workspace("web"));
    let mut claude = Host::begun(&sandbox, "claude", &app);
    let id = claude.id();
    let _ = claude.frith(["agents", "status", "here to stay"]).ok();
    let mut other = Host::begun(&sandbox, "claude", &web);
    let own = std::mem::replace(&mut other.session, claude.session.clone());
    let _ = sandbox.frith(["agents", "send", &id, "for the first alone"]).ok();
    let runs = [other.tool("steal"), other.prompt(), other.end_session()];
    assert!(runs.iter().all(|run| run.code == 0 && !run.stdout.contains("for the first alone")), "{}", sandbox.transcript(&runs));
    other.session = own;
    let shown = sandbox.frith(["agents", "show", &id, "--json"]).ok().json();
    assert_eq!((shown["presence"].as_str(), shown["status"].as_str()), (Some("live"), Some("here to stay")), "{shown}");
    assert_ne!(shown["activity"], "Bash steal");
    assert_eq!(claude.id(), id);
    let told = claude.told(Host::prompt);
    assert!(told.stdout.contains("for the first alone"), "{}", told.transcript());
}

#[test]
fn a_cleared_session_is_another_agent_and_a_resumed_one_the_same() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let first = claude.id();
    let old = claude.session.clone();
    let _ = claude.hook("SessionEnd", json!({ "reason": "clear" })).ok();
    sandbox.wait_for_presence(&first, "ended");
    claude.session = "after-clear".into();
    let _ = claude.begin_as("clear").ok();
    let second = wait_for("the new session is known", || {
        let who = claude.frith(["agents", "whoami", "--quiet"]);
        (who.code == 0).then(|| who.id())
    });
    assert_ne!(first, second);
    // Its server goes on with the session that it was started for.
    let server = linked(&mut claude);
    assert_eq!((id_of(&server), linked_by(&server).as_str()), (second.clone(), "ancestor"), "{}", server.transcript());
    let _ = claude.end_session().ok();
    sandbox.wait_for_presence(&second, "ended");
    let all = sandbox.frith(["agents", "sessions", "--all"]).ok();
    claude.session = old;
    let _ = claude.begin_as("resume").ok();
    sandbox.wait_for_presence(&first, "live");
    assert_eq!(claude.id(), first);
    let none = sandbox.frith(["agents", "sessions"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&all, &none]));
}

/// A session that ends without ever having started, as listing servers does, registers nobody.
#[test]
fn an_end_without_a_start_registers_nobody() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::start(&sandbox, "claude", &repo);
    let _ = claude.end_session().ok();
    let mut codex = Host::begun(&sandbox, "codex", &repo);
    let id = codex.id();
    let all = listed(&sandbox, &["--all"]);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0]["agent"]["id"], id.as_str());
}

#[test]
fn an_agent_ends_with_its_process_though_its_host_said_nothing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let mut codex = Host::begun(&sandbox, "codex", &repo);
    let (id, other) = (claude.id(), codex.id());
    claude.kill();
    sandbox.wait_for_presence(&id, "ended");
    let all = sandbox.frith(["agents", "sessions", "--all"]).ok();
    assert_eq!(codex.id(), other);
    // The same after a night without a node.
    let _ = sandbox.frith(["down"]).ok();
    codex.kill();
    let _ = sandbox.frith(["up"]).ok();
    sandbox.wait_for_presence(&other, "ended");
    insta::assert_snapshot!(sandbox.transcript([&all]));
}

#[test]
fn sub_agents_stand_below_theirs_and_end_by_themselves() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let id = claude.id();
    let told = claude.told(|host| host.sub_start("a4aabd0895ea10501"));
    let _ =
        claude.hook("PostToolUse", json!({ "agent_id": "a4aabd0895ea10501", "tool_name": "Bash", "tool_input": { "command": "ls" } })).ok();
    let sub = wait_for("the sub-agent is known", || listed(&sandbox, &[])[0]["subAgents"][0]["agent"]["id"].as_str().map(str::to_owned));
    let listed_both = sandbox.frith(["agents", "sessions"]).ok();
    assert_eq!(claude.id(), id, "what runs below the host counts as its main agent's");
    let shown = sandbox.frith(["agents", "show", &sub[..8]]).ok();
    let _ = claude.sub_stop("a4aabd0895ea10501").ok();
    sandbox.wait_for_presence(&sub, "ended");
    let then = sandbox.frith(["agents", "sessions"]).ok();
    let mut fresh = Host::start(&sandbox, "codex", &repo);
    let _ = fresh.sub_start("thread-2").ok();
    let both = wait_for("a sub-agent's first word registers both", || {
        let agents = listed(&sandbox, &[]);
        agents.into_iter().find(|info| info["agent"]["host"] == "codex" && info["subAgents"][0].is_object())
    });
    assert_eq!(both["subAgents"][0]["agent"]["parent"], both["agent"]["id"]);
    insta::assert_snapshot!(sandbox.transcript([&told, &listed_both, &shown, &then]));
}

/// A server is asked for by the host itself, and often before the session's first hook has run.
#[test]
fn a_server_is_linked_by_the_process_above_it_and_its_hooks() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut codex = Host::start(&sandbox, "codex", &repo);
    let early = codex.server(["agents", "whoami", "--host", "codex"]).ends_with(1);
    codex.get_known();
    let id = codex.id();
    let server = linked(&mut codex);
    assert_eq!((id_of(&server), linked_by(&server).as_str()), (id, "ancestor"), "{}", server.transcript());
    let wrong = codex.server(["agents", "whoami", "--host", "no-such-host"]).ends_with(1);
    let mut goose = Host::start(&sandbox, "goose", &repo);
    let own = goose.server(["agents", "whoami", "--host", "goose"]).ends_with(1);
    assert_eq!(listed(&sandbox, &["--all"]).len(), 1, "to ask registers nobody");
    insta::assert_snapshot!(sandbox.transcript([&early, &wrong, &own]));
}

/// A server below one process is nobody's of a session below another one, though it stands in the same folder.
#[test]
fn c32_a_server_of_another_process_is_outside_and_not_bound_by_its_folder() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut above = Host::start(&sandbox, "gemini", &sandbox.folder("above"));
    let mut between = above.fork("gemini");
    let mut beneath = between.fork("gemini");
    let mut gemini = beneath.fork("gemini");
    gemini.folder.clone_from(&repo);
    gemini.get_known();
    let mut elsewhere = Host::start(&sandbox, "gemini", &repo);
    let refused = wait_for("the session was heard of in time", || {
        let run = asked_after(&mut elsewhere, &mut [&mut gemini]).ends_with(1);
        run.stderr.contains("below no session").then_some(run)
    });
    insta::assert_snapshot!(sandbox.transcript([&refused]));
}

#[test]
fn b38_a_server_at_the_root_of_the_disk_is_linked_to_nobody_and_told_so() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let _claude = Host::begun(&sandbox, "gemini", &repo);
    let mut elsewhere = Host::start(&sandbox, "gemini", std::path::Path::new("/"));
    let refused = elsewhere.server(["agents", "whoami", "--host", "gemini"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&refused]));
}

#[test]
fn an_agent_in_a_folder_of_no_place_sees_none_and_is_told_the_way() {
    let sandbox = Sandbox::new();
    let _ = sandbox.workspace("app");
    let folder = sandbox.folder("elsewhere");
    let mut claude = Host::begun(&sandbox, "claude", &folder);
    let who = claude.frith(["agents", "whoami"]).ok();
    let refused = claude.frith(["task", "list"]).ends_with(1);
    let other = claude.frith(["task", "list", "-w", "app"]).ends_with(1);
    let sessions = claude.frith(["agents", "sessions"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&who, &refused, &other, &sessions]));
}

/// A linked worktree has its main checkout's place, and the deepest place's folder wins.
#[test]
fn an_agents_place_follows_from_its_folder() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let _ = sandbox.frith(["workspace", "create", "docs", "--folder", &repo.join("src").to_string_lossy()]).ok();
    sandbox.git(&repo, &["worktree", "add", "--quiet", "../tree", "-b", "side"]);
    let folders = [(repo.clone(), "app"), (repo.join("src"), "docs"), (sandbox.root().join("tree"), "app"), (repo.join(".git"), "app")];
    for (folder, place) in folders {
        let mut claude = Host::begun(&sandbox, "claude", &folder);
        let who = claude.frith(["agents", "whoami", "--json"]).ok();
        assert_eq!(who.json()["place"]["name"], place, "{}", who.transcript());
    }
}

/// Names that no terminal should draw and no lookup should trip over.
#[test]
fn c19_what_a_host_says_of_itself_is_shown_without_what_could_draw() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::start(&sandbox, "claude", &repo);
    claude.session = "s\u{202e}🌲/../x".into();
    claude.get_known();
    let id = claude.id();
    let _ = claude.tool("printf '\u{1b}]0;x\u{7}' \u{202e}🌲").ok();
    let _ = claude.frith(["agents", "status", "on \u{1b}[31mfire\u{202e}"]).ok();
    let runs =
        [sandbox.frith(["agents", "sessions"]).ok(), sandbox.frith(["agents", "show", &id]).ok(), claude.frith(["agents", "whoami"]).ok()];
    let shown = sandbox.transcript(&runs);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    assert_eq!(claude.id(), id, "found again by the same session");
}

/// Two first registrations at once, and on a store that has none yet.
#[test]
fn c05_first_registrations_at_once_are_two_agents() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut hosts: Vec<_> = (0..4).map(|_| Host::start(&sandbox, "claude", &repo)).collect();
    std::thread::scope(|scope| hosts.iter_mut().for_each(|host| drop(scope.spawn(|| host.get_known()))));
    let ids: std::collections::BTreeSet<_> = hosts.iter_mut().map(Host::id).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

/// A session that a host began ends there, and never takes the agent of its place with it.
#[test]
fn an_agent_that_no_node_launched_is_stopped_in_its_host_alone() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.idle]\ncommand = [\"sleep\", \"600\"]\n");
    let repo = sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    let mut within = Host::begun(&sandbox, "claude", &repo);
    let outside = Host::begun(&sandbox, "codex", &sandbox.folder("outside"));
    let ids = [
        within.id(),
        listed(&sandbox, &[])
            .iter()
            .find(|it| it["agent"]["host"] == "codex")
            .map(|it| it["agent"]["id"].as_str().unwrap_or_default().to_owned())
            .expect("it is listed"),
    ];
    let runs = ids.map(|id| sandbox.frith(["agents", "stop", &id]).ends_with(1));
    assert_eq!(listed(&sandbox, &[]).len(), 3, "nobody ended");
    let stopped = sandbox.frith(["agents", "stop", "app"]).ok();
    assert_eq!(listed(&sandbox, &[]).len(), 2);
    drop(outside);
    insta::assert_snapshot!(sandbox.transcript(runs.iter().chain([&stopped])));
}
