//! How long a server lives, and what it writes.

use std::{net::Shutdown, path::Path};

use frith_tests::{
    Host, Sandbox,
    mcp::{Client, Lines, text},
    wait_for,
};
use rustix::process::Signal;
use serde_json::json;

const CLAUDE: [&str; 3] = ["mcp", "--host", "claude"];

/// The servers that run in a sandbox.
fn servers(sandbox: &Sandbox) -> Vec<frith_tests::processes::Process> {
    sandbox.processes().into_iter().filter(|process| process.command.contains(" mcp --host")).collect()
}

fn wait_for_no_server(sandbox: &Sandbox) {
    wait_for("the end of the server", || servers(sandbox).is_empty().then_some(()));
}

#[test]
fn b34_nothing_but_the_protocol_is_written_whatever_is_logged_or_started() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let mut host = Host::start(&sandbox, "claude", &repo);
    let loud = [("RUST_LOG", "trace"), ("FRITH_LOG", "trace"), ("RUST_BACKTRACE", "1"), ("FRITH_MISSPELT", "1")];
    let mut lines = Lines::over(host.connect(CLAUDE, &loud));
    let hello = lines.greet("2025-11-25");
    assert_eq!(hello["result"]["serverInfo"]["name"], "frith");
    // No node ran: the first call starts one, which inherits what it is given.
    assert!(lines.ask("tools/list", json!({}))["result"]["tools"].is_array());
    assert_eq!(sandbox.nodes().len(), 1);
    lines.say_raw("this is no JSON\n\n{\"jsonrpc\": \"2.0\"}\n[]\n");
    let call = lines.ask("tools/call", json!({ "name": "whoami", "arguments": {} }));
    assert_eq!(call["result"]["isError"], true);
    lines.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1, "reason": "over" } }));
    lines.say(&json!({ "jsonrpc": "2.0", "method": "notifications/unheard", "params": {} }));
    let none = lines.ask("tools/call", json!({ "name": "nothing", "arguments": { "a b": "c \"d\" $e" } }));
    assert_eq!(none["result"]["isError"], true, "{none}");
    lines.close();
    while let Some(rest) = lines.message() {
        assert!(rest["method"].is_string() || rest["id"].is_number() || rest["id"].is_null(), "{rest}");
    }
    wait_for_no_server(&sandbox);
}

#[test]
fn b34_a_wrong_command_line_is_told_on_standard_error_alone() {
    let sandbox = Sandbox::new();
    for args in [&["mcp"][..], &["mcp", "--host", "nosuch"], &["mcp", "--host", "claude", "--place", "x"]] {
        let run = sandbox.frith(args).ends_with(2);
        assert!(run.stdout.is_empty() && run.stderr.starts_with("error: "), "{}", run.transcript());
    }
    assert!(sandbox.frith(["mcp", "--help"]).ok().stdout.contains("Example"));
}

#[test]
fn it_ends_when_what_it_reads_does() {
    let sandbox = Sandbox::new();
    let mut host = Host::start(&sandbox, "claude", &sandbox.folder("app"));
    let mut lines = Lines::over(host.connect(CLAUDE, &[]));
    lines.greet("2025-06-18");
    lines.close();
    assert!(lines.message().is_none());
    wait_for_no_server(&sandbox);
    let stream = host.connect(CLAUDE, &[]);
    stream.shutdown(Shutdown::Both).unwrap();
    wait_for_no_server(&sandbox);
}

#[test]
fn it_ends_at_each_signal_to_end() {
    let sandbox = Sandbox::new();
    let mut host = Host::start(&sandbox, "claude", &sandbox.folder("app"));
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut lines = Lines::over(host.connect(CLAUDE, &[]));
        lines.greet("2025-11-25");
        servers(&sandbox).iter().for_each(|server| server.signal(signal));
        wait_for_no_server(&sandbox);
        assert!(lines.message().is_none());
    }
}

#[test]
fn it_ends_with_a_killed_host_also_while_a_call_runs_and_what_was_asked_for_stays_unread() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut host = Host::begun(&sandbox, "claude", &repo);
    let own = host.id();
    let mut lines = Lines::over(host.connect(CLAUDE, &[]));
    lines.greet("2025-11-25");
    let _ = lines.ask("tools/list", json!({}));
    let _ = sandbox.frith(["agents", "send", &own, "read me"]).ok();
    sandbox.signal_node(Signal::STOP);
    lines.send("tools/call", json!({ "name": "agent_inbox", "arguments": {} }));
    // The test holds the other end still, as a process that a host left behind would.
    host.kill();
    wait_for_no_server(&sandbox);
    sandbox.signal_node(Signal::CONT);
    let inbox = sandbox.frith(["agents", "inbox", &own, "--unread", "--json"]).ok().json();
    assert_eq!(inbox["messages"][0]["text"], "read me");
    assert!(inbox["messages"][0]["delivered"].is_null(), "{inbox}");
}

#[test]
fn a_server_outlives_its_node_as_the_same_agent() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut with_hooks = Host::begun(&sandbox, "claude", &repo);
    let mut without = Host::start(&sandbox, "goose", &repo);
    let clients = [Client::over(with_hooks.connect(CLAUDE, &[])), Client::over(without.connect(["mcp", "--host", "goose"], &[]))];
    let who = |client: &Client| client.ok("whoami", json!({}))["id"].as_str().unwrap().to_owned();
    let before = clients.each_ref().map(who);
    for _ in 0..2 {
        sandbox.signal_node(Signal::KILL);
        assert_eq!(clients.each_ref().map(who), before);
    }
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    assert_eq!(clients.each_ref().map(who), before, "a call starts the node");
}

#[test]
fn a_node_that_is_killed_at_a_call_answers_it_once() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut host = Host::begun(&sandbox, "claude", &repo);
    let mut lines = Lines::over(host.connect(CLAUDE, &[]));
    lines.greet("2025-11-25");
    let _ = lines.ask("tools/list", json!({}));
    sandbox.signal_node(Signal::STOP);
    let asked = lines.send("tools/call", json!({ "name": "task_create", "arguments": { "title": "once" } }));
    sandbox.signal_node(Signal::KILL);
    let answer = std::iter::from_fn(|| lines.message()).find(|line| line["id"] == asked).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["task"]["title"], "once", "{answer}");
    assert_eq!(sandbox.titles("app"), ["once"]);
}

#[test]
fn b40_a_home_whose_path_has_blanks_and_quotes_is_served() {
    let sandbox = Sandbox::new();
    let home = sandbox.root().join("a 'home' of \"mine\" $x");
    let repo = sandbox.repo("app");
    let mut host = Host::start(&sandbox, "claude", &repo);
    let set = [("FRITH_HOME", home.to_str().unwrap())];
    let client = Client::over(host.connect(CLAUDE, &set));
    assert!(!client.tools().is_empty());
    assert!(Path::new(&home).join("store.redb").exists());
    let refused = text(&client.call("task_create", json!({ "title": "a 'title' \"with\" $x `y`" })));
    assert!(refused.contains("not linked"), "{refused}");
    let _ = sandbox.call(["down"]).env("FRITH_HOME", &home).run().ok();
}
