//! What the file says, read from its texts.

use serde_json::Value as Json;

use super::{Facts, NONE, PAYLOAD, UNCHECKED, UNDOCUMENTED, plain, text, texts};

pub(super) fn facts(json: &Json) -> Facts {
    let mut facts = Facts::new();
    let mut put = |name: &str, said: String| drop(facts.insert(name.to_owned(), said));
    put("name", text(&json["name"]));
    put("surfaces", text(&json["kind"]));
    put("agents", agents(&json["seed"]));
    put("unverified", texts(&json["unverified"]).join(" / "));
    put("not_looked_up", texts(&json["not_looked_up"]).join(" / "));
    put("looked_up", texts(&json["looked_up"]).join(" / "));
    here(&json["here"], &mut put);
    mcp(json, &mut put);
    hooks(json, &mut put);
    environment(&json["env"], &mut put);
    worktrees(json, &mut put);
    facts
}

fn here(here: &Json, put: &mut impl FnMut(&str, String)) {
    for (at, signs) in here["signs"].as_array().into_iter().flatten().enumerate() {
        let lists = ["commands", "linux", "macos", "extensions"].map(|key| texts(&signs[key]).join(", "));
        put(&format!("here.signs{at}"), format!("{} | {} | {}", text(&signs["variant"]), lists.join(" | "), signs["from_shell"]));
    }
    for (at, moved) in here["moved"].as_array().into_iter().flatten().enumerate() {
        put(&format!("here.moved{at}"), ["variable", "from", "to"].map(|key| text(&moved[key])).join(" | "));
    }
    put("here.skills", here["skills"].as_str().map_or_else(|| UNCHECKED.to_owned(), str::to_owned));
}

/// Whether a doubt is noted that has one of these words.
fn is_doubted(json: &Json, words: &[&str]) -> bool {
    let doubts = [texts(&json["unverified"]), texts(&json["not_looked_up"])].concat();
    doubts.iter().any(|doubt| words.iter().any(|word| doubt.contains(word)))
}

fn agents(seed: &Json) -> String {
    let row = text(&seed["agent_row"]);
    assert_eq!(row == "hooks", seed["hooks"] == true);
    match plain(&row) {
        "MCP" if row.contains("_ID") => "MCP environment".into(),
        other => other.to_owned(),
    }
}

fn file(json: &Json, file: &Json, is_application: bool) -> String {
    let linux = text(&file["linux"]);
    let otherwise = linux.split_once(" (").map(|(_, rest)| rest.trim_end_matches(')').to_owned());
    let windows = match &file["windows"] {
        Json::Null if is_doubted(json, &["Windows path"]) => UNCHECKED.to_owned(),
        Json::Null => UNDOCUMENTED.to_owned(),
        path => text(path),
    };
    let macos = text(&file["macos"]);
    format!("{} | {} | {} | {windows} | {otherwise:?} | {is_application}", text(&file["variant"]), plain(&linux), plain_path(&macos))
}

/// A path without a remark at its end; brackets of its own it keeps.
fn plain_path(path: &str) -> &str {
    path.split(" (~").next().unwrap_or(path)
}

fn mcp(json: &Json, put: &mut impl FnMut(&str, String)) {
    let mcp = &json["mcp"];
    let is_doubtful = mcp["entry_written"] == false && is_doubted(json, &["MCP"]);
    let absent = |name: &str| if is_doubtful || is_doubted(json, &[name]) { UNCHECKED } else { NONE }.to_owned();
    let entry = match (&mcp["entry"], &mcp["format"]) {
        (Json::Null, Json::Null) => absent("mcp.entry"),
        (entry, format) => format!("{} at {}: {entry}", text(format), texts(&mcp["key_path"]).join(" > ")),
    };
    put("mcp.entry", entry);
    let notes = text(&mcp["notes"]);
    for (at, found) in mcp["user_files"].as_array().into_iter().flatten().enumerate() {
        let is_application = notes.contains("absolute binary path") && matches!(text(&found["variant"]).as_str(), "" | "desktop");
        put(&format!("mcp.file{at}"), file(json, found, is_application));
    }
    for (name, key) in [("mcp.repository_files", "project_file"), ("mcp.path_variables", "path_override_env")] {
        let said = if mcp[key].is_null() { absent(&format!("mcp.{key}")) } else { text(&mcp[key]).replace(" / ", ", ") };
        put(name, said);
    }
    put("mcp.source", text(&mcp["verified"]));
}

fn hooks(json: &Json, put: &mut impl FnMut(&str, String)) {
    let hooks = &json["hooks"];
    let plugin: Vec<_> = texts(&hooks["frith_events"]).into_iter().filter_map(|it| Some(it.strip_prefix("plugin: ")?.to_owned())).collect();
    put("plugin", plugin.join(", "));
    match hooks["vendor_has_hooks"].as_bool() {
        Some(true) => {}
        Some(false) => return put("hooks", NONE.into()),
        None => return put("hooks", UNDOCUMENTED.into()),
    }
    put("hooks", format!("installed {}", hooks["hooks_installed"]));
    let absent = |key: &str| if is_doubted(json, &[&format!("hooks.{key}"), "vendor hooks"]) { UNCHECKED } else { UNDOCUMENTED }.to_owned();
    for (at, found) in hooks["files"].as_array().into_iter().flatten().enumerate() {
        put(&format!("hooks.file{at}"), file(json, found, false));
    }
    let or_absent = |key: &str, said: String| if hooks[key].is_null() { absent(key) } else { said };
    put("hooks.format", or_absent("format", text(&hooks["format"])));
    let is_script = hooks["format"] == "executable files";
    let at = texts(&hooks["key_path"]).join(" > ").replace("<event>", "<Event>");
    put("hooks.at", if is_script { NONE.into() } else { or_absent("key_path", at) });
    put("hooks.entry", or_absent("entry_shape", shape(&hooks["entry_shape"]).into()));
    put("hooks.timeout", or_absent("timeout_unit", timeout(&text(&hooks["timeout_unit"]))));
    put("hooks.trust", text(&hooks["trust"]));
    put("hooks.source", text(&hooks["verified"]));
    put("hooks.vendor_events", if hooks["vendor_events"].is_null() { absent("vendor_events") } else { "known".into() });
    for (name, said) in events(hooks) {
        put(&format!("hooks.event.{name}"), said);
    }
    payload(json, put);
    answer(json, put);
}

/// The shape whose signs an example of an entry shows.
fn shape(example: &Json) -> &'static str {
    let said = example.to_string();
    let signs = [
        ("hooks.enabled", "switched groups"),
        ("\"match\"", "flat"),
        ("\"matcher\"", "groups"),
        ("\"bash\"", "shell commands"),
        ("\"version\"", "commands"),
        ("[[hooks]]", "tables"),
        ("[[hooks.hooks]]", "named tables"),
        ("groups without matcher", "groups without matcher"),
        ("script per event", "scripts"),
    ];
    signs.iter().find(|(sign, _)| said.contains(sign)).map_or("", |(_, shape)| shape)
}

fn timeout(said: &str) -> String {
    let field = said.split_once('(').map_or("timeout", |(_, rest)| rest.trim_end_matches(')'));
    format!("{} in {field}", plain(said))
}

/// Name, maker's, installed, matcher. What another system installed counts where the maker's list is not known.
fn events(hooks: &Json) -> Facts {
    let mut events = Facts::new();
    let split = |event: String| {
        let (name, rest) = event.split_at(event.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(event.len()));
        let matcher = rest.trim_start_matches([':', ' ', '(']).trim_end_matches(')').to_owned();
        (name.to_owned(), matcher)
    };
    let documented: Vec<_> = texts(&hooks["vendor_events"]).into_iter().map(|event| split(event).0).collect();
    let used: Facts = texts(&hooks["frith_events"]).into_iter().map(split).collect();
    let mut names: Vec<_> = documented.iter().chain(used.keys()).cloned().collect();
    if hooks["vendor_events"].is_null() {
        let others = texts(&hooks["seed_events"]).join(", ").replace("via plugin only: ", "");
        names.extend(others.split(", ").filter(|it| !it.is_empty()).map(|event| split(event.to_owned()).0));
    }
    for name in names {
        let (is_documented, matcher) = (documented.contains(&name), used.get(&name));
        let said = format!("{is_documented} {} {}", matcher.is_some(), matcher.map_or("", String::as_str));
        events.insert(name, said);
    }
    events
}

fn payload(json: &Json, put: &mut impl FnMut(&str, String)) {
    let payload = &json["hooks"]["payload"];
    let is_doubtful = is_doubted(json, &["payload"]);
    let Json::Object(fields) = payload else {
        let why = if is_doubtful || is_doubted(json, &["vendor hooks"]) { UNCHECKED } else { UNDOCUMENTED };
        return put("payload", why.into());
    };
    let is_assumed = !json["hooks"]["payload_basis"].is_null();
    put("payload", format!("assumed {is_assumed}"));
    let absent = || {
        let why = if is_assumed { UNDOCUMENTED } else { NONE };
        if is_doubtful { UNCHECKED } else { why }.to_owned()
    };
    for key in PAYLOAD {
        let said = match fields.get(*key) {
            None => UNDOCUMENTED.to_owned(),
            Some(Json::Null) => absent(),
            Some(said) => field(key, said.as_str().unwrap_or_default()),
        };
        put(&format!("payload.{key}"), said);
    }
    let model = text(&payload["model"]);
    put("payload.model_at_start_only", model.ends_with("(SessionStart only)").to_string());
    put("payload.nameless_tool", text(&payload["tool_name"]).contains("treated as Bash").to_string());
    let others = ["worktree_create", "worktree_remove", "generation", "turn", "extra"];
    put(
        "payload.extras",
        others.iter().filter_map(|key| Some(format!("{key} {}", fields.get(*key)?.as_str()?))).collect::<Vec<_>>().join("; "),
    );
    let known = |key: &&String| PAYLOAD.contains(&key.as_str()) || others.contains(&key.as_str());
    assert_eq!(fields.keys().find(|key| !known(key)), None, "nothing reads this field");
}

fn field(key: &str, said: &str) -> String {
    let environment = said.strip_prefix("env ");
    match (key, environment) {
        ("event", Some(both)) => format!("variable {}", both.replace(" / ", " or ")),
        ("event", None) if said == "passed as hook argument" => "argument".into(),
        ("cwd", Some(rest)) => format!("cwd or variable {}", rest.split(' ').next().unwrap_or_default()),
        ("cwd", None) => {
            let said = said.replace(" (else ", " or ").replace(" or env ", " or variable ");
            plain(&said).trim_end_matches(')').to_owned()
        }
        ("tool_input", _) if said.contains("JSON string") => format!("{} encoded", plain(said)),
        _ => plain(said).split('{').next().unwrap_or_default().replace(" | ", " or "),
    }
}

fn answer(json: &Json, put: &mut impl FnMut(&str, String)) {
    let hooks = &json["hooks"];
    let is_doubtful = is_doubted(json, &["hooks.inject", "vendor hooks"]);
    let Json::Object(fields) = &hooks["inject"] else {
        let why = if is_doubtful { UNCHECKED } else { UNDOCUMENTED };
        let is_known = text(&hooks["notes"]).contains("cannot rewrite input or add context");
        return put("answer", if is_known { NONE } else { why }.into());
    };
    put("answer.quiet", (fields.get("quiet") == Some(&Json::Bool(true))).to_string());
    for (key, said) in fields.iter().filter(|(key, _)| *key != "quiet") {
        let said = match said.as_str() {
            None => if is_doubtful { UNCHECKED } else { NONE }.to_owned(),
            Some(said) if said.starts_with("exit") => "exit code 2".into(),
            Some(said) => said.replace(" flat", "").replace("flat ", "").replace(" (afterMCPExecution)", ""),
        };
        put(&format!("answer.{key}"), said);
    }
}

fn environment(env: &Json, put: &mut impl FnMut(&str, String)) {
    let absent = if env["verified"] == "none" { UNCHECKED } else { NONE };
    put("env.session", if env["session_id_var"].is_null() { absent.into() } else { text(&env["session_id_var"]) });
    let seen = texts(&env["visible_in"]).join(", ").replace("bash tool", "shell").replace("stdio MCP children", "mcp");
    put("env.visible_in", seen);
    put("env.others", texts(&env["other_vars"]).join(", "));
    for (name, key) in [("env.shell_file", "shell_file_var"), ("env.attributes", "attributes_var")] {
        put(name, env[key].as_str().unwrap_or(NONE).to_owned());
    }
    let caller = env["mcp_call_meta"].as_object().and_then(|meta| meta.iter().next()).map(|(what, key)| format!("{what} {}", text(key)));
    put("env.caller", caller.unwrap_or_else(|| NONE.to_owned()));
    put("env.source", text(&env["verified"]));
}

fn worktrees(json: &Json, put: &mut impl FnMut(&str, String)) {
    let worktrees = &json["worktrees"];
    let native = text(&json["seed"]["native_worktrees"]);
    let native = match native.as_str() {
        "not checked yet" => UNCHECKED.to_owned(),
        "not found" => UNDOCUMENTED.to_owned(),
        it if it.starts_with("not documented") => UNDOCUMENTED.to_owned(),
        "no built-in" | "not in core" => NONE.to_owned(),
        it if it.starts_with("none") => NONE.to_owned(),
        _ => native,
    };
    let absent = match native.as_str() {
        _ if is_doubted(json, &["worktree path", "isolation path"]) => UNCHECKED,
        UNCHECKED | UNDOCUMENTED => native.as_str(),
        _ => NONE,
    };
    let has_pool = !worktrees["pool"].is_null();
    let or_absent = |key: &str| match &worktrees[key] {
        Json::Null if has_pool => NONE.to_owned(),
        Json::Null => absent.to_owned(),
        Json::String(said) => said.replace("(default ", "else ").replace(')', ""),
        said => said.to_string(),
    };
    for (name, key) in [("pool", "pool"), ("cap", "cap"), ("origin", "origin_label"), ("locks_on_adopt", "lock_written_on_adopt")] {
        put(&format!("worktrees.{name}"), or_absent(key));
    }
    put("worktrees.evicts", worktrees["host_evicts"].to_string());
    put("worktrees.adopt", text(&json["seed"]["adopt"]));
    put("worktrees.source", text(&worktrees["verified"]));
    put("worktrees.post_create", post_create(&worktrees["post_create"]));
    put("worktrees.native", native);
}

fn post_create(json: &Json) -> String {
    if json.is_null() {
        return NONE.into();
    }
    let file = text(&json["file"]);
    let mut files: Vec<_> = file.split([' ', ',', '(', ';']).filter(|word| word.starts_with('.') && *word != ".ps1").collect();
    files.dedup();
    let entry = match &json["entry"] {
        Json::Object(_) => "command table",
        said if text(said).contains("marked block") => "marked lines",
        _ => "listed command",
    };
    let keys = if json["keys"].is_null() { NONE.to_owned() } else { texts(&json["keys"]).join(", ") };
    format!("{} | {keys} | {entry} | {} | {}", files.join(", "), texts(&json["env"]).join(", "), text(&json["verified"]))
}
