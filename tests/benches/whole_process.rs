//! Whole processes, measured as a person or an agent waits for them: a command from its start to its end.
//!
//! `cargo bench -p frith-tests --bench whole_process [-- <name>]`. Runs are paired with what they are compared to and take
//! turns with it, so that what else the machine does falls on both. It prints figures and judges nothing.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use frith_tests::{
    Sandbox,
    figures::{compared, pairs, runs, time_of, told},
    seed::{fill, fill_with_mail, fill_with_schedules},
    wait::{timed, wait_for},
};

/// How many pairs the comparisons of folders take.
const FOLDER_PAIRS: usize = 20;
/// How many pairs or runs of a fast command.
const RUNS: usize = 60;
/// How many pairs of a hook.
const HOOKS: usize = 300;
/// How many files the folders have that forks are made of.
const FILES: usize = 4_000;

type Measurement = (&'static str, fn());

const MEASUREMENTS: &[Measurement] = &[
    ("list", list),
    ("start", start),
    ("status", status),
    ("worktree", worktree),
    ("copy", copy),
    ("next", next),
    ("idle", idle),
    ("hook", hook),
    ("stdin", stdin),
    ("mail", mail),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, measure) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            measure();
        }
    }
}

fn frith(sandbox: &Sandbox, args: &[&str]) -> Duration {
    time_of(sandbox.call(args).into_command())
}

/// A sandbox with a workspace `app` of this many tasks, every hundredth of them ongoing.
fn with_tasks(count: usize) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let last = fill(&sandbox, "app", count);
    (sandbox, last)
}

fn resident_mb(sandbox: &Sandbox) -> f64 {
    let pid = sandbox.nodes()[0].pid.to_string();
    let told = Command::new("ps").args(["-o", "rss=", "-p", &pid]).output().unwrap();
    String::from_utf8_lossy(&told.stdout).trim().parse::<f64>().unwrap() / 1024.0
}

fn list() {
    let (sandbox, _) = with_tasks(10_000);
    let command = ["task", "list", "-w", "app", "--status", "ongoing"];
    let times = pairs(RUNS, |_| frith(&sandbox, &command), |_| time_of(Command::new("/bin/true")));
    compared("task list --status ongoing, 10,000 tasks", &times, "/bin/true");
    println!("{:<64} {:.1} MB", "node, resident, after that", resident_mb(&sandbox));
}

fn start() {
    let (sandbox, _) = with_tasks(10_000);
    let times = runs(20, |_| {
        sandbox.kill_node();
        frith(&sandbox, &["task", "list", "-w", "app", "--limit", "1"])
    });
    told("first answer, node killed before, 10,000 tasks", &times);
    let times = runs(20, |_| {
        let _ = sandbox.frith(["down"]).ok();
        sandbox.wait_for_no_node();
        frith(&sandbox, &["task", "list", "-w", "app", "--limit", "1"])
    });
    told("first answer, node stopped before, 10,000 tasks", &times);
}

fn status() {
    for count in [10, 1_000, 10_000, 100_000] {
        let (sandbox, task) = with_tasks(count);
        let times = runs(RUNS, |round| frith(&sandbox, &["task", "status", &task, if round % 2 == 0 { "blocked" } else { "ongoing" }]));
        told(&format!("task status, {count} tasks"), &times);
        let list = runs(RUNS, |_| frith(&sandbox, &["task", "list", "-w", "app", "--status", "blocked"]));
        told(&format!("task list --status blocked, {count} tasks"), &list);
        println!("{:<64} {:.1} MB", format!("node, resident, {count} tasks"), resident_mb(&sandbox));
    }
}

fn next() {
    let (sandbox, _) = with_tasks(10_000);
    told("task next, 10,000 tasks", &runs(RUNS, |_| frith(&sandbox, &["task", "next", "-w", "app"])));
    told("task add, 10,000 tasks", &runs(RUNS, |_| frith(&sandbox, &["task", "add", "-w", "app", "one more"])));
}

/// A sandbox with 200 agents and 10,000 messages, and the session of one more agent, whose host this process is.
fn with_mail() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    fill_with_mail(&sandbox, 200, 10_000);
    hooked(&sandbox, "SessionStart", payload(&sandbox, ""));
    sandbox
}

/// What a host tells of a tool, with this much of what the tool gave back. The host runs the hook in the session's folder.
fn payload(sandbox: &Sandbox, gave: &str) -> String {
    let folder = sandbox.root().display();
    format!(
        r#"{{"session_id":"measured","cwd":"{folder}","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{"command":"true"}},"tool_response":"{gave}"}}"#
    )
}

/// The time of a hook that reads this from a file.
fn hooked(sandbox: &Sandbox, event: &str, input: String) -> Duration {
    let path = sandbox.root().join("payload.json");
    fs::write(&path, input).unwrap();
    let mut command = sandbox.call(["hook", event, "--host", "claude"]).into_command();
    command.stdin(fs::File::open(path).unwrap());
    time_of(command)
}

fn hook() {
    let sandbox = with_mail();
    let small = |_| hooked(&sandbox, "PostToolUse", payload(&sandbox, ""));
    let nothing = |_| time_of(Command::new("/bin/true"));
    compared("hook, 200 agents, 10,000 messages, nothing for this one", &pairs(HOOKS, small, nothing), "/bin/true");
    let large = "x".repeat(1 << 20);
    compared(
        "hook that is told 1 MiB",
        &pairs(HOOKS, |_| hooked(&sandbox, "PostToolUse", payload(&sandbox, &large)), nothing),
        "/bin/true",
    );
    sandbox.kill_node();
    compared("hook without a node", &pairs(HOOKS, small, nothing), "/bin/true");
}

/// The longest a hook takes, whatever its standard input does.
fn stdin() {
    let sandbox = with_mail();
    for (what, first, then) in [
        ("never closed", payload(&sandbox, ""), ""),
        ("never closed and empty", String::new(), ""),
        ("never closed and half a value", payload(&sandbox, "")[..40].to_owned(), ""),
        ("garbage", "\u{0}\u{1} not json }{ ".repeat(50_000), ""),
        ("slow and split", payload(&sandbox, "")[..60].to_owned(), &payload(&sandbox, "")[60..]),
    ]
    .map(|(what, first, then)| (what, first, then.to_owned()))
    {
        let times = runs(20, |_| fed(&sandbox, &first, &then));
        println!("{:<64} median {:>9.2} ms   most {:>9.2} ms", format!("hook, standard input {what}"), times.median(), times.at(100));
    }
}

/// The time of a hook whose standard input gets one part, after a while the other, and is never closed.
fn fed(sandbox: &Sandbox, first: &str, then: &str) -> Duration {
    let mut command = sandbox.call(["hook", "PostToolUse", "--host", "claude"]).into_command();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (_, time) = timed(|| {
        // A hook that is done reads no more.
        let _ = stdin.write_all(first.as_bytes());
        if !then.is_empty() {
            thread::sleep(Duration::from_millis(50));
            let _ = stdin.write_all(then.as_bytes());
        }
        assert!(child.wait().unwrap().success());
    });
    time
}

fn mail() {
    let sandbox = with_mail();
    let own = sandbox.frith(["agents", "whoami", "--quiet"]).ok().id();
    let nothing = |_| time_of(Command::new("/bin/true"));
    let to = sandbox.frith(["agents", "sessions", "--json"]).ok().json()["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["agent"]["id"].as_str().unwrap().to_owned())
        .find(|id| *id != own)
        .unwrap();
    let send = |_| frith(&sandbox, &["agents", "send", &to, "tests are green"]);
    compared("agents send, 200 agents, 10,000 messages", &pairs(RUNS, send, nothing), "/bin/true");
    compared("agents inbox, empty", &pairs(RUNS, |_| frith(&sandbox, &["agents", "inbox"]), nothing), "/bin/true");
}

/// How long an idle node is watched.
const WATCHED: Duration = Duration::from_secs(60);
/// How long it is left alone before, to settle what was written.
const SETTLES: Duration = Duration::from_secs(10);

fn idle() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    fill_with_schedules(&sandbox, "app", 100_000, 1_000);
    frith(&sandbox, &["task", "list", "-w", "app", "--limit", "1"]);
    let status = sandbox.frith(["status", "--json"]).ok().json();
    assert_eq!((status["schedules"].as_u64(), status["nextRun"].is_string()), (Some(1_000), true));
    thread::sleep(SETTLES);
    let before = worked(&sandbox);
    thread::sleep(WATCHED);
    let worked = worked(&sandbox) - before;
    let percent = worked.as_secs_f64() / WATCHED.as_secs_f64() * 100.0;
    println!("{:<64} {percent:.3} %, {worked:?}", "an idle node, 1,000 schedules, 100,000 tasks: work in a minute");
    println!("{:<64} {:.1} MB", "its memory", resident_mb(&sandbox));
}

/// How long the node's threads have worked.
#[cfg(target_os = "linux")]
fn worked(sandbox: &Sandbox) -> Duration {
    let threads = fs::read_dir(format!("/proc/{}/task", sandbox.nodes()[0].pid)).unwrap();
    let of_one = |thread: std::io::Result<fs::DirEntry>| {
        let told = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap_or_default();
        told.split(' ').next().and_then(|text| text.parse::<u64>().ok()).unwrap_or_default()
    };
    Duration::from_nanos(threads.map(of_one).sum())
}

/// How long the node's threads have worked.
#[cfg(target_os = "macos")]
fn worked(sandbox: &Sandbox) -> Duration {
    let told = Command::new("ps").args(["-o", "time=", "-p", &sandbox.nodes()[0].pid.to_string()]).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout);
    let seconds = told.trim().split(':').map(|part| part.parse().unwrap_or(0.0)).fold(0.0, |sum, part: f64| sum * 60.0 + part);
    Duration::from_secs_f64(seconds)
}

/// Fills a folder with files of a few kilobytes.
fn many_files(folder: &Path) {
    for n in 0..FILES {
        let below = folder.join(format!("part{}", n % 40));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(format!("file{n}.txt")), format!("line {n}\n").repeat(200 + n % 500)).unwrap();
    }
}

/// Makes forks and kinds ahead, so that a run is the launch alone.
fn forks_of(sandbox: &Sandbox, place: &str) {
    sandbox.config("[node]\nmax_agents = 64\n[launch.brief]\ncommand = [\"true\"]\n");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    for n in 0..FOLDER_PAIRS {
        let _ = sandbox.frith(["fork", "create", place, "--name", &format!("fork-n{n}")]).ok();
    }
}

fn launch(sandbox: &Sandbox, round: usize) -> Duration {
    let fork = format!("fork-n{round}");
    let time = frith(sandbox, &["agents", "launch", &fork, "--kind", "brief"]);
    assert!(sandbox.show_place(&fork)["folder"].is_string());
    wait_for("the brief agent's end", || sandbox.show_place(&fork)["agent"].is_null().then_some(()));
    time
}

fn worktree() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    many_files(&repo);
    sandbox.commit(&repo, "many files");
    forks_of(&sandbox, "app");
    let others: Vec<PathBuf> = (0..FOLDER_PAIRS).map(|n| sandbox.root().join(format!("other{n}"))).collect();
    let by_hand = |round: usize| {
        let mut command = Command::new("git");
        command.args(["worktree", "add", "--quiet", "-b", &format!("other{round}")]).arg(&others[round]).current_dir(&repo);
        time_of(command)
    };
    compared(
        "agents launch in a new fork of a repository",
        &pairs(FOLDER_PAIRS, |round| launch(&sandbox, round), by_hand),
        "git worktree add -b",
    );
}

fn copy() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("plain");
    many_files(&folder);
    let _ = sandbox.frith(["workspace", "create", "plain", "--folder", folder.to_str().unwrap()]).ok();
    forks_of(&sandbox, "plain");
    let by_hand = |round: usize| {
        let mut command = Command::new("cp");
        command.args(["-a", "--reflink=auto"]).arg(&folder).arg(sandbox.root().join(format!("other{round}")));
        time_of(command)
    };
    compared(
        "agents launch in a new fork of a plain folder",
        &pairs(FOLDER_PAIRS, |round| launch(&sandbox, round), by_hand),
        "cp -a --reflink=auto",
    );
}
