//! For whom a server speaks, whatever its entry and its environment say.

use std::path::Path;

use frith_tests::{Host, Sandbox, mcp::Client, wait_for};
use serde_json::json;

const CLAUDE: [&str; 3] = ["mcp", "--host", "claude"];

fn who(client: &Client) -> String {
    client.ok("whoami", json!({}))["id"].as_str().unwrap().to_owned()
}

#[test]
fn b33_two_servers_of_one_session_are_one_agent_and_hand_out_each_message_once() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut hooked = Host::begun(&sandbox, "claude", &repo);
    let mut hookless = Host::start(&sandbox, "goose", &repo);
    let goose = ["mcp", "--host", "goose"];
    let pairs = [
        [Client::over(hooked.connect(CLAUDE, &[])), Client::over(hooked.connect(CLAUDE, &[]))],
        [Client::over(hookless.connect(goose, &[])), Client::over(hookless.connect(goose, &[]))],
    ];
    for [one, two] in &pairs {
        assert_eq!(who(one), who(two));
        let _ = sandbox.frith(["agents", "send", &who(one), "once"]).ok();
        assert_eq!(one.ok("agent_inbox", json!({ "unread": true }))["messages"].as_array().map(Vec::len), Some(1));
        wait_for("it was read", || {
            (two.ok("agent_inbox", json!({ "unread": true }))["messages"].as_array().map(Vec::len) == Some(0)).then_some(())
        });
    }
    assert_eq!(sandbox.frith(["agents", "sessions", "--json"]).ok().json()["agents"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_host_without_hooks_registers_a_row_of_its_own_as_its_server_starts() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut host = Host::start(&sandbox, "goose", &repo);
    let client = Client::over(host.connect(["mcp", "--host", "goose"], &[]));
    let listed = wait_for("it is registered", || {
        let agents = sandbox.frith(["agents", "sessions", "--json"]).ok().json()["agents"].clone();
        agents.as_array().filter(|agents| agents.len() == 1).map(|agents| agents[0].clone())
    });
    assert_eq!((listed["agent"]["host"].as_str(), listed["place"]["name"].as_str()), (Some("goose"), Some("app")));
    let identity = client.ok("whoami", json!({}));
    assert_eq!((identity["id"].clone(), identity["linkedBy"].as_str()), (listed["agent"]["id"].clone(), Some("process")));
    host.kill();
    let ended = wait_for("its end", || {
        let all = sandbox.frith(["agents", "sessions", "--all", "--json"]).ok().json()["agents"][0]["agent"]["ended"].clone();
        (!all.is_null()).then_some(all)
    });
    assert_eq!(ended["how"], "gone");
}

#[test]
fn b38_a_server_in_the_root_folder_is_told_that_it_is_not_linked_and_how_it_would_be() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let _session = Host::begun(&sandbox, "claude", &repo);
    let mut app = Host::start(&sandbox, "claude", Path::new("/"));
    let client = Client::over(app.connect(CLAUDE, &[]));
    assert!(!client.tool_names().iter().any(|name| name.starts_with("task_")), "no place is guessed");
    let said = ["whoami", "agents_list", "agent_inbox"].map(|tool| client.refused(tool, json!({})));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn one_server_of_an_application_for_all_its_sessions_is_outside_of_each() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    // Deep enough that it shares no ancestor that is kept with what the test starts beside it.
    let mut above = Host::start(&sandbox, "claude", &sandbox.folder("above"));
    let mut between = above.fork("claude");
    let mut beneath = between.fork("claude");
    let mut session = beneath.fork("claude");
    session.folder.clone_from(&repo);
    session.get_known();
    let mut app = Host::start(&sandbox, "claude", &repo);
    let client = Client::over(app.connect(CLAUDE, &[]));
    let said = wait_for("the session is heard of after the server started", || {
        let _ = session.tool("ls").ok();
        Some(client.refused("whoami", json!({}))).filter(|said| said.contains("below no session"))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_server_that_starts_before_its_session_is_linked_once_that_is_known() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut host = Host::start(&sandbox, "claude", &repo);
    let client = Client::over(host.connect(CLAUDE, &[]));
    assert!(client.tool_names().iter().any(|name| name == "task_next"), "its folder tells the place before it is known");
    assert!(client.refused("task_list", json!({})).contains("not linked"));
    host.get_known();
    assert_eq!(who(&client), host.id());
    let _ = client.ok("task_list", json!({}));
}

#[test]
fn b39_what_an_entry_puts_into_the_environment_names_nobody() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let (mut one, mut two) = (Host::begun(&sandbox, "claude", &repo), Host::begun(&sandbox, "claude", &repo));
    let other = two.id();
    let session = two.session.clone();
    for set in [[("FRITH_AGENT_ID", other.as_str())], [("CLAUDE_CODE_SESSION_ID", session.as_str())]] {
        let client = Client::over(one.connect(CLAUDE, &set));
        assert_eq!(who(&client), one.id());
    }
}

#[test]
fn a_server_of_one_host_below_a_session_of_another_does_not_speak_for_it() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut host = Host::begun(&sandbox, "claude", &repo);
    let client = Client::over(host.connect(["mcp", "--host", "codex"], &[]));
    assert!(client.refused("whoami", json!({})).contains("not linked"));
}

#[test]
fn an_entry_for_another_place_is_refused() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    sandbox.workspace("web");
    let place = |name: &str| sandbox.show_place(name)["id"].as_str().unwrap().to_owned();
    let mut host = Host::begun(&sandbox, "claude", &repo);
    let own = Client::over(host.connect(["mcp", "--host", "claude", "--place", &place("app")], &[]));
    let _ = own.ok("task_list", json!({}));
    let foreign = Client::over(host.connect(["mcp", "--host", "claude", "--place", &place("web")], &[]));
    insta::assert_snapshot!(sandbox.redact(&foreign.refused("task_list", json!({}))));
}

#[test]
fn an_agent_sees_its_own_place_through_its_tools_and_no_other() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    sandbox.workspace("web");
    let secret = sandbox.task("web", "a secret");
    let mut host = Host::begun(&sandbox, "claude", &repo);
    let client = Client::over(host.connect(CLAUDE, &[]));
    for (tool, arguments) in [
        ("task_get", json!({ "task": secret })),
        ("task_reply", json!({ "task": secret, "text": "x" })),
        ("task_update_status", json!({ "task": secret, "status": "completed" })),
        ("attachment_get", json!({ "task": secret, "attachment": "x" })),
    ] {
        assert!(client.refused(tool, arguments).contains("an agent sees only its own place"), "{tool}");
    }
}

#[test]
fn a_sub_agents_call_is_its_own_where_the_host_tells_so() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut host = Host::begun(&sandbox, "claude", &repo);
    let main = host.id();
    let client = Client::over(host.connect(CLAUDE, &[]));
    let tool_use = |id: &str, sub: Option<&str>| {
        let mut told = json!({ "tool_name": "mcp__frith__whoami", "tool_input": {}, "tool_use_id": id });
        if let Some(sub) = sub {
            told["agent_id"] = json!(sub);
            told["agent_type"] = json!("general-purpose");
        }
        told
    };
    let _ = host.sub_start("a4aabd0895ea10501").ok();
    let as_told = |id: &str| {
        let meta = json!({ "claudecode/toolUseId": id });
        let who = client.call_with(meta, "whoami", json!({})).structured_content.unwrap();
        (who["id"].clone(), who["parent"].clone(), !who["standsForSubAgents"].as_bool().unwrap())
    };
    let _ = host.hook("PreToolUse", tool_use("toolu_sub", Some("a4aabd0895ea10501"))).ok();
    let (sub, parent, is_exact) = as_told("toolu_sub");
    assert_eq!((parent, is_exact), (json!(main), true));
    assert_ne!(sub, json!(main));
    let _ = host.hook("PreToolUse", tool_use("toolu_main", None)).ok();
    assert_eq!(as_told("toolu_main"), (json!(main), json!(null), true));
    assert_eq!(as_told("toolu_unheard"), (json!(main), json!(null), false), "it counts as the main agent's, and says so");
    let mut other = Host::begun(&sandbox, "claude", &repo);
    let others = Client::over(other.connect(CLAUDE, &[]));
    let spoofed = others.call_with(json!({ "claudecode/toolUseId": "toolu_sub" }), "whoami", json!({})).structured_content.unwrap();
    assert_eq!(spoofed["id"], other.id(), "the call of another session is nobody's here");
}

#[test]
fn a_host_that_names_the_thread_beside_a_call_tells_which_agent_calls() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut host = Host::begun(&sandbox, "codex", &repo);
    let (main, session) = (host.id(), host.session.clone());
    let client = Client::over(host.connect(["mcp", "--host", "codex"], &[]));
    let as_told = |thread: &str| {
        let who = client.call_with(json!({ "threadId": thread }), "whoami", json!({})).structured_content.unwrap();
        (who["id"].clone(), who["parent"].clone(), !who["standsForSubAgents"].as_bool().unwrap())
    };
    assert_eq!(as_told(&session), (json!(main), json!(null), true));
    assert_eq!(as_told("unknown"), (json!(main), json!(null), false));
    wait_for("the sub-agent is known", || {
        let _ = host.sub_start("thread-2").ok();
        let (_, parent, exact) = as_told("thread-2");
        (parent == main.as_str() && exact).then_some(())
    });
}
