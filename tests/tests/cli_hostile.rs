//! What a person, an agent or a repository wrote is data: whatever is in it, nothing that frith prints moves a cursor, sets a
//! clipboard, rings a bell or turns the direction of a line. And what an agent sends to its terminal reaches no viewer's.

use std::fs;

use frith_tests::{Run, Sandbox};

/// A clipboard, a title, a screen that is cleared, a query of the device, a bell, C1 controls, a direction turned, a line's end.
const EVIL: &str =
    "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[c\u{9b}31m\u{9d}52;c;eA==\u{9c}\u{202e}txt\u{2066}\u{8}\u{7f}z";

/// Whether a terminal does more with a character than to draw it.
fn acts(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn harmless(run: &Run) {
    for (stream, text) in [("standard output", &run.stdout), ("standard error", &run.stderr)] {
        let found: Vec<_> = text.chars().filter(|c| acts(*c)).collect();
        assert!(found.is_empty(), "`{}` has {found:?} on {stream}:\n{}", run.line, text.escape_debug());
    }
}

/// A machine on which everything that can be called something is called by hostile words.
fn machine() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let script = format!("#!/bin/sh\nprintf '%s' '{EVIL}'\nexec cat\n");
    frith_tests::run::write_program(&sandbox.root().join("bin/loud"), &script).expect("a program can be written");
    let failing = format!("#!/bin/sh\nprintf '%s\\n' '{EVIL}'\nexit 3\n");
    frith_tests::run::write_program(&sandbox.root().join("bin/failing"), &failing).expect("a program can be written");
    sandbox.config("[launch.loud]\ncommand = [\"loud\"]\n[launch.failing]\ncommand = [\"failing\"]\n");
    let folder = sandbox.root().join(EVIL);
    fs::create_dir(&folder).expect("a folder may be called so");
    sandbox.git(&folder, &["init", "--quiet", "--initial-branch", "tur\u{202e}ned"]);
    sandbox.git(&folder, &["config", "user.name", "Ada\u{202e}"]);
    sandbox.git(&folder, &["config", "user.email", "ada@example.invalid"]);
    fs::write(folder.join("notes.txt"), EVIL).expect("the folder is ours");
    sandbox.commit(&folder, EVIL);
    let folder = folder.to_string_lossy().into_owned();
    for line in [
        ["workspace", "create", "app", "--folder", &folder, "--description", EVIL].as_slice(),
        &["workspace", "create", "other"],
        &["workspace", "set", "app", "--self-learning-note", EVIL],
        &["memory", "set", "memory.md", EVIL, "-w", "app"],
    ] {
        harmless(&sandbox.frith(line).ok());
    }
    let task = sandbox.frith(["task", "add", "-w", "app", "--quiet", EVIL, "--body", EVIL]).ok().id();
    harmless(&sandbox.frith(["task", "reply", &task, EVIL]).ok());
    (sandbox, task)
}

#[test]
fn no_listing_and_no_error_acts_on_the_terminal() {
    let (sandbox, task) = machine();
    harmless(&sandbox.frith(["fork", "spin-up", &task, "--kind", "loud"]).ok());
    let fork = sandbox.frith(["fork", "list", "--json"]).ok().json();
    let fork =
        fork["workspaces"].as_array().into_iter().flatten().find(|place| !place["forkOfId"].is_null()).expect("the fork is listed").clone();
    let fork = fork["name"].as_str().unwrap_or_default().to_owned();
    let evil = EVIL.replace('\u{7f}', "");
    let lines: &[&[&str]] = &[
        &["status"],
        &["doctor"],
        &["logs"],
        &["config", "show", "--sources"],
        &["workspace", "list"],
        &["workspace", "show", "app"],
        &["workspace", "stats", "app"],
        &["fork", "list"],
        &["task", "list", "-w", &fork],
        &["task", "show", &task],
        &["task", "list", "-w", "app", "--status", "notstarted,ongoing"],
        &["memory", "list", "-w", "app"],
        &["memory", "get", "-w", "app"],
        &["agents", "sessions"],
        &["agents", "show", &fork],
        &["task", "add", "-w", &evil, "x"],
        &["task", "show", &evil],
        &["workspace", "create", &evil],
        &["workspace", "create", "more", "--folder", &evil],
        &["config", "set", &evil, "x"],
        &["config", "set", "node.max_agents", &evil],
        &["agents", "launch", "other", "--kind", &evil],
        &["agents", "attach", &evil],
        &["backup", &evil],
        &["restore", &evil],
        &[&evil],
        &["task", "list", &format!("--{evil}")],
        &["agents", "launch", "app", "--kind", "failing"],
        &["agents", "stop", &fork],
        &["agents", "sessions", "--all"],
        &["task", "status", &task, "completed"],
        &["fork", "merge", &fork, "--yes"],
        &["task", "list", "-w", "app", "--status", "completed"],
        &["task", "delete", &task, "--yes"],
        &["workspace", "delete", "other", "--yes"],
    ];
    for line in lines {
        harmless(&sandbox.frith(*line));
        harmless(&sandbox.frith(line.iter().chain(&["--json"])));
    }
}

/// JSON says all of it, for programs, in characters that a terminal only draws.
#[test]
fn json_keeps_every_character_and_acts_on_nothing() {
    let (sandbox, task) = machine();
    let run = sandbox.frith(["task", "show", &task, "--json"]).ok();
    harmless(&run);
    assert_eq!(run.json()["body"], EVIL);
    assert_eq!(run.json()["thread"][0]["text"], EVIL);
}

#[test]
fn what_an_agent_sends_reaches_no_viewer_s_clipboard_and_no_answer_comes_back() {
    let sandbox = Sandbox::new();
    // It asks for the device, the cursor and the clipboard, sets the clipboard, and then shows what came to it.
    let script = "#!/bin/sh\nstty -echo -icanon min 0 time 5\nprintf 'begin\\033]52;c;ZXZpbA==\\007\\033]52;c;?\\007\\033[>c\\033]10;?\\007 end\\n'\ncat -v\nprintf 'ready\\n'\nexec cat\n";
    frith_tests::run::write_program(&sandbox.root().join("bin/asking"), script).expect("a program can be written");
    sandbox.config("[launch.asking]\ncommand = [\"asking\"]\n");
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "asking"]).ok();
    let mut viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("begin end");
    let shown = viewer.shown();
    assert!(!shown.contains("]52;") && !shown.contains("ZXZpbA"), "{}", shown.escape_debug());
    viewer.type_in("\u{1c}d");
    assert_eq!(viewer.end(), 0);
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
}
