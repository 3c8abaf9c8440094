//! `frith hook` as a host runs it: the real binary, its streams, and every way in which a host or a node may misbehave.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::net::UnixListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use frith_actors::{
    api::agents::{EventClass, Noted},
    hook::spool,
    local::hello::{Hello, PROTOCOL},
};
use frith_store::id::AgentId;
use frith_tests::{
    Sandbox,
    wait::{wait_for, wait_within},
};
use serde_json::{Value, json};

use crate::node::{answering, listen, make_home};

const PAYLOAD: &str = r#"{"session_id":"s-1","cwd":"/","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;

/// How long a hook may take on a machine that does much else; what it allows itself is less.
const SOON: Duration = Duration::from_secs(3);

/// A hook that runs, with its streams in the test's hands.
struct Hook(Child);

/// What came of one.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.call(args).env("FRITH_LOG", "trace").env("RUST_BACKTRACE", "1").into_command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(sandbox: &Sandbox, event: &str, host: &str) -> Hook {
    Hook(command(sandbox, &["hook", event, "--host", host]).spawn().expect("the binary was built"))
}

impl Hook {
    fn write(&mut self, bytes: &[u8]) {
        self.0.stdin.as_mut().expect("it is open").write_all(bytes).expect("a host never sees a broken pipe");
    }

    fn close(&mut self) {
        self.0.stdin = None;
    }

    /// What came of it, without its input being closed.
    #[track_caller]
    fn end(mut self) -> Done {
        let status = wait_within(SOON, || self.0.try_wait().expect("it is our child"));
        let status = status.unwrap_or_else(|| {
            let _ = self.0.kill();
            panic!("a hook does not end");
        });
        let (mut stdout, mut stderr) = (Vec::new(), String::new());
        self.0.stdout.take().map(|mut out| out.read_to_end(&mut stdout));
        self.0.stderr.take().map(|mut out| out.read_to_string(&mut stderr));
        Done { code: status.code(), stdout, stderr }
    }
}

/// A hook that was given this and whose input stays open.
#[track_caller]
fn ran(sandbox: &Sandbox, event: &str, host: &str, input: &[u8]) -> Done {
    let mut hook = start(sandbox, event, host);
    hook.write(input);
    hook.end()
}

fn silent(stdout: &str) -> Done {
    Done { code: Some(0), stdout: stdout.into(), stderr: String::new() }
}

fn spooled(sandbox: &Sandbox) -> Vec<spool::Spooled> {
    spool::take_all(&sandbox.home()).expect("the spool can be read").into_iter().map(|(_, spooled)| spooled).collect()
}

#[test]
fn b01_b02_b03_an_input_that_is_never_closed_is_left_at_the_end_of_its_value() {
    let sandbox = Sandbox::new();
    for (host, event) in
        [("claude", "SessionStart"), ("claude", "PostToolUse"), ("codex", "Stop"), ("qwen", "UserPromptSubmit"), ("gemini", "AfterTool")]
    {
        assert_eq!(ran(&sandbox, event, host, PAYLOAD.as_bytes()), silent("{}"), "{host} {event}");
    }
}

#[test]
fn b01_an_input_that_says_nothing_or_half_of_it_is_left_in_time() {
    let sandbox = Sandbox::new();
    for input in ["", "{\"session_id\":", "   ", "no json at all", "{\"session_id\":\"s\",\"prompt\":\"}"] {
        assert_eq!(ran(&sandbox, "PostToolUse", "claude", input.as_bytes()), silent("{}"), "{input}");
    }
}

#[test]
fn b01_an_input_in_pieces_is_one_value() {
    let sandbox = Sandbox::new();
    let node = answering(&sandbox, Noted { context: Some("mail".into()), ..Noted::default() });
    let mut hook = start(&sandbox, "PostToolUse", "claude");
    PAYLOAD.as_bytes().chunks(5).for_each(|piece| hook.write(piece));
    assert!(String::from_utf8_lossy(&hook.end().stdout).contains("mail"));
    assert_eq!(node.join().unwrap().event.activity.as_deref(), Some("Bash: ls"));
}

#[test]
fn b04_a_host_that_writes_a_megabyte_is_never_stopped_whoever_listens() {
    let sandbox = Sandbox::new();
    let large = |session: &str, size: usize| format!("{{\"session_id\":\"{session}\",\"tool_response\":\"{}\"}}\n", "x".repeat(size));
    for (host, input) in [("claude", large("s", 1 << 20)), ("no-such-host", large("s", 1 << 20)), ("aider", large("s", 1 << 20))] {
        let done = ran(&sandbox, "PostToolUse", host, input.as_bytes());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{host}");
    }
}

#[test]
fn b04_what_is_larger_than_is_kept_still_tells_its_session() {
    let sandbox = Sandbox::new();
    make_home(&sandbox);
    let mut hook = start(&sandbox, "PostToolUse", "claude");
    hook.write(b"{\"session_id\":\"large\",\"tool_response\":\"");
    // A machine that does much else may be slower than a hook waits, so what cannot be written any more is let be.
    let rest = vec![b'x'; 9 << 20];
    let _ = hook.0.stdin.as_mut().expect("it is open").write_all(&rest);
    let done = hook.end();
    assert_eq!(done, silent("{}"));
    assert_eq!(spooled(&sandbox)[0].event.session.as_deref(), Some("large"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a node that a test plays has a thread of its own")]
fn b05_a_dead_socket_and_a_node_that_is_stopped_or_speaks_otherwise_end_in_time_and_the_event_is_kept() {
    let sandbox = Sandbox::new();
    let socket = sandbox.home().join("node.sock");
    let others: [fn(UnixListener); 3] = [
        drop,
        |listener| {
            // Nobody accepts, as with a node that was stopped; it listens for as long as the test runs.
            std::mem::forget(listener);
        },
        |listener| {
            std::thread::spawn(move || {
                let mut side = listener.accept().expect("a hook comes").0;
                let _ = side.write_all(&Hello { protocol: PROTOCOL + 1, version: "9".into() }.bytes());
            });
        },
    ];
    for other in others {
        other(listen(&sandbox));
        assert_eq!(ran(&sandbox, "UserPromptSubmit", "claude", PAYLOAD.as_bytes()), silent("{}"));
        let kept = spool::take_all(&sandbox.home()).unwrap();
        assert_eq!(kept.len(), 1);
        fs::remove_file(&kept[0].0).unwrap();
        fs::remove_file(&socket).unwrap();
    }
}

#[test]
fn b13_every_way_out_is_success() {
    let sandbox = Sandbox::new();
    let lines: [&[&str]; 8] = [
        &["hook"],
        &["hook", "PostToolUse"],
        &["hook", "--host", "claude"],
        &["hook", "PostToolUse", "--host"],
        &["hook", "PostToolUse", "--host", "no such host"],
        &["hook", "NoSuchEvent", "--host", "claude"],
        &["hook", "agentSpawn", "--host", "kiro"],
        &["hook", "PostToolUse", "--host", "claude", "--new-flag", "more"],
    ];
    for input in [PAYLOAD.as_bytes(), b"", b"\xff\xfe{}", b"{}", b"[]", b"null", b"{\"session_id\":{}}"] {
        for line in lines {
            let mut child = command(&sandbox, line).spawn().expect("the binary was built");
            child.stdin.as_mut().expect("it is open").write_all(input).expect("it is read");
            let mut hook = Hook(child);
            hook.close();
            let done = hook.end();
            assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{line:?}");
            assert!(matches!(done.stdout.as_slice(), b"" | b"{}"), "{line:?} wrote {:?}", String::from_utf8_lossy(&done.stdout));
        }
    }
}

#[test]
fn b13_closed_streams_and_a_home_that_is_none_are_success() {
    let sandbox = Sandbox::new();
    let file = sandbox.root().join("file");
    fs::write(&file, "").unwrap();
    for (home, user) in
        [(Some(file.as_path()), None), (Some(Path::new("/proc/1/none")), None), (Some(Path::new("")), None), (None, Some(""))]
    {
        let mut call = sandbox.call(["hook", "Stop", "--host", "claude"]).input(PAYLOAD);
        call = home.map_or_else(
            || sandbox.call(["hook", "Stop", "--host", "claude"]).input(PAYLOAD).env("FRITH_HOME", ""),
            |home| call.env("FRITH_HOME", home),
        );
        call = user
            .map_or(call, |user| sandbox.call(["hook", "Stop", "--host", "claude"]).input(PAYLOAD).env("FRITH_HOME", "").env("HOME", user));
        let run = call.run();
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "{}", ""), "{home:?} {user:?}");
    }
    for redirection in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "> /dev/full"] {
        let line = format!("printf '%s' '{PAYLOAD}' | frith hook Stop --host claude {redirection}");
        assert_eq!(sandbox.shell(&line, sandbox.root()).run().code, 0, "{redirection}");
    }
    let unread = sandbox
        .shell(&format!("printf '%s' '{PAYLOAD}' | (frith hook Stop --host claude; echo $? > code) | true; cat code"), sandbox.root());
    assert_eq!(unread.run().stdout, "0\n");
}

#[test]
fn b34_the_output_is_one_object_and_nothing_else_whatever_is_to_be_logged() {
    let sandbox = Sandbox::new();
    for context in [None, Some("two\nlines \u{1b}[31m \"quoted\" é".to_owned())] {
        let node = answering(&sandbox, Noted { context: context.clone(), ..Noted::default() });
        let done = ran(&sandbox, "PostToolUse", "claude", PAYLOAD.as_bytes());
        let _ = node.join().unwrap();
        let said: Value = serde_json::from_slice(&done.stdout).unwrap();
        let wanted = context
            .map_or(json!({}), |context| json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": context}}));
        assert_eq!((said, done.stderr.as_str()), (wanted, ""));
        fs::remove_file(sandbox.home().join("node.sock")).unwrap();
    }
}

#[test]
fn without_a_node_events_are_kept_and_none_is_started() {
    let sandbox = Sandbox::new();
    assert_eq!(ran(&sandbox, "SessionStart", "claude", PAYLOAD.as_bytes()), silent("{}"));
    assert!(!sandbox.home().exists(), "a home that is not there is not made");
    make_home(&sandbox);
    for event in ["SessionStart", "PostToolUse", "SessionEnd"] {
        assert_eq!(ran(&sandbox, event, "claude", PAYLOAD.as_bytes()), silent("{}"));
    }
    assert!(sandbox.nodes().is_empty());
    let kept = spooled(&sandbox);
    assert_eq!(kept.iter().map(|it| it.event.class).collect::<Vec<_>>(), [EventClass::Tool, EventClass::End]);
    assert_eq!(kept[0].process.as_ref().map(|process| process.pid), Some(std::process::id()), "this test is the host");
    assert_eq!(kept[0].ancestors[0], kept[0].process.clone().unwrap());
}

#[test]
fn an_answer_is_confirmed_once_all_of_it_was_written_and_only_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    for confirm in [true, false] {
        let node = answering(&sandbox, Noted { context: Some("m".repeat(9_000)), confirm, ..Noted::default() });
        let done = ran(&sandbox, "UserPromptSubmit", "claude", PAYLOAD.as_bytes());
        assert!(done.stdout.len() > 9_000);
        assert_eq!(node.join().unwrap().is_written, confirm);
        fs::remove_file(sandbox.home().join("node.sock")).unwrap();
    }
}

#[test]
fn b03_an_answer_that_nobody_reads_is_not_confirmed() {
    let sandbox = Sandbox::new();
    let node = answering(&sandbox, Noted { context: Some("mail".into()), confirm: true, ..Noted::default() });
    let mut hook = start(&sandbox, "UserPromptSubmit", "claude");
    drop(hook.0.stdout.take());
    hook.write(PAYLOAD.as_bytes());
    assert_eq!(hook.end(), silent(""));
    assert!(!node.join().unwrap().is_written);
}

#[test]
fn a_start_names_the_agent_to_its_shells_where_the_host_has_a_file_for_that() {
    let sandbox = Sandbox::new();
    let agent = AgentId::from_random([7; 16]);
    let file = sandbox.root().join("exports.sh");
    for _ in 0..2 {
        let node = answering(&sandbox, Noted { agent: Some(agent), ..Noted::default() });
        let run = sandbox.call(["hook", "SessionStart", "--host", "claude"]).input(PAYLOAD).env("CLAUDE_ENV_FILE", &file).run();
        assert_eq!(run.stdout, "{}");
        let _ = node.join().unwrap();
        fs::remove_file(sandbox.home().join("node.sock")).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("export FRITH_AGENT_ID={agent}\n"));
}

#[test]
fn a_hook_whose_folder_is_gone_says_so_where_the_host_listens() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("gone");
    let gone = |event: &str, payload: &Value| {
        let line = format!("rm -rf '{0}'; printf '%s' '{payload}' | exec frith hook {event} --host claude", folder.display());
        sandbox.folder("gone");
        sandbox.shell(&line, &folder).run().stdout
    };
    let named = json!({"session_id": "s", "cwd": folder});
    assert!(gone("UserPromptSubmit", &named).contains(&format!("the folder `{}` that this session works in is gone", folder.display())));
    assert!(gone("PostToolUse", &json!({"session_id": "s"})).contains("the folder that this session works in is gone"));
    assert_eq!(gone("Stop", &named), "{}");
}

#[test]
fn a_hook_that_another_host_imported_is_told_as_that_one_s() {
    let sandbox = Sandbox::new();
    let node = answering(&sandbox, Noted::default());
    let payload = r#"{"sessionId":"g-1","cwd":"/"}"#;
    let _ = sandbox.call(["hook", "SessionStart", "--host", "claude"]).input(payload).env("GROK_HOOK_EVENT", "session_start").run();
    let event = node.join().unwrap().event;
    assert_eq!((event.host.as_str(), event.session.as_deref()), ("grok", Some("g-1")));
}

#[test]
fn a_person_who_runs_it_is_told_what_it_is() {
    let sandbox = Sandbox::new();
    let viewer = sandbox.view(["hook", "Stop", "--host", "claude"]);
    viewer.wait_for("is run by a host");
    assert_eq!(viewer.end(), 0);
    let help = sandbox.frith(["hook", "--help"]).ok().stdout;
    assert!(help.contains("Example, as it is entered"), "{help}");
}

#[test]
fn an_event_comes_from_invalid_text_too() {
    let sandbox = Sandbox::new();
    make_home(&sandbox);
    assert_eq!(ran(&sandbox, "PostToolUse", "claude", b"{\"session_id\":\"s\",\"tool_response\":\"\xff\xfe\"}"), silent("{}"));
    wait_for("the event is kept", || (spooled(&sandbox).len() == 1).then_some(()));
    drop(File::open(sandbox.home()).unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn c31_what_a_person_types_as_a_hook_is_not_kept() {
    let sandbox = Sandbox::new();
    make_home(&sandbox);
    let terminal = sandbox.root().join("tmux");
    fs::copy("/bin/sh", &terminal).expect("there is a shell");
    let hook = command(&sandbox, &["hook", "PostToolUse", "--host", "claude"]);
    let mut typed = Command::new(&terminal);
    typed.args(["-c", "\"$@\"; true", "typed"]).arg(hook.get_program()).args(hook.get_args());
    typed.env_clear().envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut typed = typed.stdin(Stdio::piped()).spawn().expect("it starts");
    typed.stdin.take().expect("it is open").write_all(PAYLOAD.as_bytes()).expect("it is read");
    assert!(typed.wait().expect("it is our child").success());
    assert_eq!(spooled(&sandbox), []);
}
