//! Every refusal of one machine, as a person meets it: the fact, the hint, the exit code. Each that has no row here has
//! a reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use frith_tests::{Host, Run, Sandbox, wait_for};

/// Refusals that other tests show, or that one machine in one version cannot be brought to.
const ELSEWHERE: &[(&str, &str)] = &[
    ("Ambiguous", "cli_tasks: two ids with equal beginnings have to be found first"),
    ("TaskHeld", "cli_tasks: an agent has to hold the task"),
    ("LongText", "cli_tasks: a megabyte is no transcript"),
    ("TooManyAgents", "cli_agents: e05"),
    ("UnknownHost", "cli_install: beside the other refusals about hosts"),
    ("HostsNotHere", "cli_install: beside the other refusals about hosts"),
    ("HostTakesNothing", "cli_install: beside the other refusals about hosts"),
    ("NoProjectEntry", "cli_install: beside the other refusals about hosts"),
    ("Worktree", "cli_worktrees: each has its row there"),
    ("PersonsOnly", "cli_agents: asked from an agent's shell"),
    ("OutsidePlace", "cli_agents: asked from an agent's shell"),
    ("OpenedMeanwhile", "cli_queue: d25"),
    ("StoppedBeforeStart", "below, stopped while its folder is made"),
    ("Busy", "below, asked while a folder is made"),
    ("ForeignProcess", "below, with a process in the folder"),
    ("MessageSent", "cli_mail: a message has to be sent first"),
    ("ForeignAgents", "below, with a session in the fork"),
    ("StandsInFolder", "below, from within the folder"),
    ("ProjectFile", "cli_forks: a repository that commits one"),
    ("NotStarted", "a process that cannot be started although its command was found a moment before"),
    ("NoTerminal", "an agent that no node launched comes with hooks"),
    ("StillStopping", "an agent that outlives the killing of its group"),
    ("Stale", "a state that changes between a decision and its commit; the command asks again"),
    ("TaskInTrash", "cli_trash"),
    ("TaskNotInTrash", "cli_trash"),
    ("DocumentFull", "a task with thousands of changes; the store's tests have it"),
    ("UnplacedCaller", "a caller whose process ends before the node looks"),
    ("BadSchedule", "cli_schedules: each field has its words"),
    ("UnknownTimeZone", "cli_schedules: beside the schedules"),
    ("NoSchedule", "cli_schedules: beside the schedules"),
    ("IsTemplate", "cli_schedules: a template has to be there first"),
    ("ScheduleInHand", "cli_schedules: an agent has to hold the task"),
    ("HomeAway", "a place whose seat is on another machine"),
    ("MachineAway", "a second machine in the team"),
    ("BadAttachment", "cli_attachments: files that are none"),
    ("TooManyAttachments", "cli_attachments: a hundred and one files"),
    ("UploadLost", "a node that ends while a file is on its way"),
    ("BadSkill", "cli_skills: folders that are none"),
    ("SkillOff", "cli_skills: asked from an agent's shell"),
    ("SkillSwitch", "cli_skills: asked in a fork"),
    ("BadUrl", "cli_skills: addresses that are none"),
    ("LongSiteNote", "cli_skills: a kilobyte is no transcript"),
    ("BadNoteName", "cli_memory: names that are none"),
    ("LongNote", "cli_memory: 16 KiB are no transcript"),
    ("NoBase", "cli_memory: asked from an agent's shell"),
    ("SeveralVersions", "cli_memory: two saves of one base"),
    ("FileThere", "cli_backup: a backup over a file"),
    ("StoreThere", "cli_backup: a restore beside a store"),
    ("OtherMembers", "a backup of a machine with others in its team; the tests of backups have it"),
    ("ProjectFileBroken", "cli_settings: a file that cannot take rules"),
    ("RulesNotWritten", "cli_settings: a file that cannot take rules"),
    ("BadRule", "cli_settings: rules that are added"),
    ("NoSuchRule", "cli_settings: rules that are taken away"),
    ("LongStatus", "cli_agents_mail: said from an agent's shell"),
    ("OtherAgent", "cli_identity: another's id in a shell"),
    ("SeveralAgents", "cli_identity: two sessions in one process"),
    ("NotLinked", "cli_identity: a server that asks before its session is known"),
    ("OtherEntry", "mcp: an entry that names another place"),
    ("OutsideSessions", "cli_identity: a server of another process"),
    ("NoOwnPlace", "cli_identity: an agent in a folder of no place"),
    ("LongMail", "cli_mail: more than four kilobytes are no transcript"),
    ("OneOrAll", "cli_mail: asked by MCP servers only; the command line has its own words"),
    ("NoRecipient", "cli_mail: names that are none"),
    ("RecipientEnded", "cli_agents_mail: an agent has to end first"),
    ("ToItself", "cli_agents_mail: asked from an agent's shell"),
    ("NoSuchPerson", "cli_mail: persons that are none"),
    ("NobodyElse", "cli_mail: nobody else is there"),
    ("OthersMailbox", "cli_agents_mail: asked from an agent's shell"),
    ("BadLimit", "cli_mail: numbers that are none"),
    ("NotLaunched", "cli_identity: a session that its host began"),
    ("NotRegistered", "cli_identity: a server of a host without hooks"),
    ("ToSubAgent", "cli_agents_mail: a sub-agent has to be there first"),
    ("SentAlone", "identity: asked by MCP servers only; the command line has its own words"),
    ("AwaitsFreshContext", "cli_nudge: what an agent is told that asks too early"),
];

/// A machine on which something can be refused in every way.
fn machine() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.config(concat!(
        "[launch.idle]\ncommand = [\"sh\", \"-c\", \"echo ready; exec cat\"]\nmodels = [\"small\"]\n",
        "[launch.gone]\ncommand = [\"no-such-program\"]\n",
        "[launch.sleeper]\ncommand = [\"sleep\", \"600\"]\n",
        "[launch.brief]\ncommand = [\"sh\", \"-c\", \"echo no key; exit 3\"]\n",
    ));
    for name in ["app", "web", "bad"] {
        sandbox.workspace(name);
    }
    sandbox.git(sandbox.root(), &["init", "--quiet", "--bare", "bare.git"]);
    let bare = sandbox.root().join("bare.git").to_string_lossy().into_owned();
    for line in [
        ["workspace", "create", "nowhere"].as_slice(),
        &["workspace", "create", "old"],
        &["workspace", "archive", "old"],
        &["workspace", "create", "bare", "--folder", &bare],
        &["fork", "create", "app", "--name", "side"],
        &["fork", "create", "bare", "--name", "bare-side"],
        &["fork", "create", "nowhere", "--name", "nowhere-side"],
        &["agents", "launch", "app", "--kind", "idle"],
    ] {
        let _ = sandbox.frith(line).ok();
    }
    sandbox
}

/// Runs a command that is refused, once for people and once for programs; answers the run and the refusal's name.
fn refused(sandbox: &Sandbox, line: &[&str]) -> (Run, String) {
    let run = sandbox.frith(line).ends_with(1);
    let told = sandbox.frith(line.iter().chain(&["--json"])).ends_with(1);
    let told: serde_json::Value = serde_json::from_str(told.stderr.lines().last().unwrap()).unwrap();
    let code = told["error"]["code"].as_str().unwrap();
    (run, code[..1].to_uppercase() + &code[1..])
}

fn every_refusal() -> BTreeSet<String> {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/src/refusal.rs")).unwrap();
    let body = source.split("pub enum Refusal {").nth(1).unwrap().split("\n}\n").next().unwrap();
    let variants =
        body.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    variants.map(|line| line.chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
}

#[test]
fn every_refusal_says_what_stands_in_the_way_and_what_would_help() {
    let sandbox = machine();
    let merged = sandbox.frith(["fork", "create", "app", "--name", "merged", "--quiet"]).ok().id();
    let _ = sandbox.frith(["fork", "merge", "merged", "--yes"]).ok();
    let trash = sandbox.frith(["workspace", "create", "trash", "--quiet"]).ok().id();
    let _ = sandbox.frith(["workspace", "delete", "trash", "--yes"]).ok();
    let done = sandbox.task("app", "done");
    let _ = sandbox.frith(["task", "status", &done, "completed"]).ok();
    let (open, other) = (sandbox.task("side", "open"), sandbox.task("web", "other"));
    let homeless = sandbox.task("nowhere", "homeless");
    let brief = sandbox.task("web", "brief");
    let long = "x".repeat(256);
    let commands: &[&[&str]] = &[
        &["task", "show", "abc"],
        &["task", "show", "00000000"],
        &["task", "list"],
        &["workspace", "create", "Not a name"],
        &["workspace", "create", "app"],
        &["task", "add", "-w", "old", "one more"],
        &["workspace", "unarchive", "app"],
        &["task", "add", "-w", &trash, "one more"],
        &["task", "add", "-w", &merged, "one more"],
        &["fork", "create", "side"],
        &["fork", "create", "supervisor"],
        &["workspace", "delete", "side", "--yes"],
        &["workspace", "delete", "app", "--yes"],
        &["workspace", "set", "side", "--clear-context", "true"],
        &["workspace", "create", "lost", "--folder", "/no/such/folder"],
        &["workspace", "set", "side", "--folder", "/tmp"],
        &["workspace", "set", "app"],
        &["task", "add", "-w", "app", " "],
        &["task", "add", "-w", "app", &long],
        &["task", "reply", &open, ""],
        &["task", "status", &open, "cron"],
        &["task", "next", "-w", "app"],
        &["task", "edit", &open, "--after", &other],
        &["task", "edit", &open, "--after", &open],
        &["fork", "spin-up", &done, "--kind", "idle"],
        &["fork", "spin-up", &open, "--kind", "idle"],
        &["fork", "spin-up", &homeless, "--kind", "idle"],
        &["fork", "spin-up", &brief, "--kind", "brief"],
        &["agents", "launch", "app", "--kind", "idle"],
        &["agents", "launch", "nowhere-side", "--kind", "idle"],
        &["agents", "launch", "web"],
        &["agents", "launch", "web", "--kind", "nosuch"],
        &["agents", "launch", "web", "--kind", "gone"],
        &["agents", "launch", "web", "--kind", "idle", "--model", "large"],
        &["agents", "launch", "web", "--kind", "brief"],
        &["agents", "launch", "bare-side", "--kind", "idle"],
        &["agents", "launch", "web", "--kind", "idle", "--on", "00000000"],
        &["agents", "stop", "web"],
        &["agents", "stop", "nowhere"],
        &["agents", "whoami"],
        &["fork", "merge", "app", "--yes"],
        &["fork", "merge", "side", "--yes"],
    ];
    let (runs, codes): (Vec<_>, BTreeSet<_>) = commands.iter().map(|line| refused(&sandbox, line)).unzip();
    insta::assert_snapshot!(sandbox.transcript(&runs).replace(&long, "[256 x]"));
    require_all_seen(codes);
}

fn require_all_seen(codes: BTreeSet<String>) {
    let known: BTreeSet<_> = codes.into_iter().chain(ELSEWHERE.iter().map(|(name, _)| (*name).to_owned())).collect();
    let unseen: Vec<_> = every_refusal().difference(&known).cloned().collect();
    assert!(unseen.is_empty(), "no command is refused so: {unseen:?}");
}

/// An agent that was started by hand stands in the way of any merge, any other program of one that deletes the folder.
#[test]
fn a_merge_is_refused_while_somebody_else_works_in_the_folder() {
    let sandbox = machine();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let folder = sandbox.show_place("side")["folder"].as_str().unwrap().to_owned();
    let beside = |program: &str, line: &[&str]| {
        let mut foreign = Command::new(program).arg("600").current_dir(&folder).stdin(Stdio::piped()).spawn().unwrap();
        let refused = sandbox.frith(line).ends_with(1);
        foreign.kill().and_then(|()| foreign.wait()).unwrap();
        refused
    };
    let by_hand = beside("sleep", &["fork", "merge", "side", "--yes"]);
    let other = beside("tee", &["fork", "merge", "side", "--delete-folder", "--yes"]);
    let within = sandbox.call(["fork", "merge", "side", "--delete-folder", "--yes"]).dir(&folder).run().ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&by_hand, &other, &within]));
    let _ = sandbox.frith(["fork", "merge", "side", "--delete-folder", "--yes"]).ok();
}

/// A session that somebody started in the fork's folder counts, whatever its process is called, and so it does for a dry run.
#[test]
fn a_merge_is_refused_while_an_agent_works_there_that_frith_did_not_launch() {
    let sandbox = machine();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let folder = sandbox.show_place("side")["folder"].as_str().unwrap().to_owned();
    let mut claude = Host::begun(&sandbox, "claude", Path::new(&folder));
    let id = claude.id();
    let dry = sandbox.frith(["fork", "merge", "side", "--dry-run"]).ends_with(1);
    let refused = sandbox.frith(["fork", "merge", "side", "--yes"]).ends_with(1);
    assert_ne!(sandbox.show_place("side")["agent"], serde_json::Value::Null, "nobody was stopped");
    let _ = claude.end_session().ok();
    let ended = || sandbox.frith(["agents", "show", &id]).ok().stdout.contains("session over").then_some(());
    wait_for("the session is over", ended);
    let merged = sandbox.frith(["fork", "merge", "side", "--yes"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&dry, &refused, &merged]));
}

/// The repository's own hook makes the folder's making last as long as the test wants.
#[test]
fn a_launch_that_is_stopped_while_its_folder_is_made_never_starts() {
    let sandbox = machine();
    let hook = sandbox.root().join("app/.git/hooks/post-checkout");
    frith_tests::run::write_program(&hook, "#!/bin/sh\ntouch \"$HOME/making\"\nwhile ! test -e \"$HOME/go\"; do sleep 0.05; done\n")
        .unwrap();
    let launch = sandbox.call(["agents", "launch", "side", "--kind", "idle"]).spawn();
    wait_for("the folder is being made", || sandbox.root().join("making").exists().then_some(()));
    let busy = [["agents", "launch", "side", "--kind", "idle"].as_slice(), &["fork", "merge", "side", "--yes"]]
        .map(|line| sandbox.frith(line).ends_with(1));
    let stop = sandbox.frith(["agents", "stop", "side"]).ok();
    let launch = launch.end().ends_with(1);
    assert!(launch.stderr.contains("was stopped before it started"), "{}", launch.transcript());
    insta::assert_snapshot!(sandbox.transcript(busy.iter().chain([&stop])));
    assert_eq!(sandbox.show_place("side")["agent"], serde_json::Value::Null);
    assert_eq!(sandbox.processes().iter().filter(|process| process.command == "cat").count(), 1, "the agent of `app` alone");
    fs::remove_file(hook).unwrap();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
}
