//! What a row says, in the file's words.

use frith_store::hosts::{
    Adopt, AgentRow, Answer, CallerKey, ConfigFile, Context, Entry, EntryShape, EventName, Extra, Fact, Format, Hooks, Host, Key, Payload,
    Permission, PostCreateEntry, Seen, Source, Step, Surface, Trust, Unit, Value,
};
use serde_json::Value as Json;

use super::Facts;

pub(super) fn facts(host: &Host) -> Facts {
    let mut facts = Facts::new();
    let mut put = |name: &str, said: String| drop(facts.insert(name.to_owned(), said));
    put("name", host.name.into());
    let surfaces = host.surfaces.iter().map(|surface| match surface {
        Surface::Cli => "cli",
        Surface::App => "app",
        Surface::Desktop => "desktop",
        Surface::Ide => "ide",
        Surface::Extension => "ext",
    });
    put("surfaces", surfaces.collect::<Vec<_>>().join("+"));
    let agents = match host.agents {
        AgentRow::Hooks => "hooks",
        AgentRow::Mcp => "MCP",
        AgentRow::Environment => "MCP environment",
        AgentRow::None => "none",
    };
    put("agents", agents.into());
    put("unverified", host.unverified.join(" / "));
    put("not_looked_up", host.not_looked_up.join(" / "));
    put("looked_up", host.looked_up.join(" / "));
    put("plugin", host.plugin_functions.join(", "));
    here(host, &mut put);
    mcp(host, &mut put);
    match &host.hooks {
        Fact::Known(known) => hooks(known, &mut put),
        other => put("hooks", said(other, |_| String::new())),
    }
    environment(host, &mut put);
    worktrees(host, &mut put);
    facts
}

fn here(host: &Host, put: &mut impl FnMut(&str, String)) {
    for (at, signs) in host.here.signs.iter().enumerate() {
        let lists = [signs.commands, signs.linux, signs.macos, signs.extensions].map(|list| list.join(", "));
        put(&format!("here.signs{at}"), format!("{} | {} | {}", signs.variant.unwrap_or_default(), lists.join(" | "), signs.from_shell));
    }
    for (at, moved) in host.here.moved.iter().enumerate() {
        put(&format!("here.moved{at}"), [moved.variable, moved.from, moved.to].join(" | "));
    }
    put("here.skills", said(&host.here.skills, |folder| (*folder).to_owned()));
}

/// A fact in words.
fn said<T>(fact: &Fact<T>, words: impl Fn(&T) -> String) -> String {
    fact.absence().map_or_else(|| words(fact.known().expect("a fact is there or absent")), str::to_owned)
}

fn source(source: Source) -> String {
    let word = match source {
        Source::Practice => "seed system",
        Source::Vendor => "vendor",
        Source::Third => "third",
        Source::Hearsay => "seed",
        Source::Nobody => "none",
    };
    word.into()
}

fn file(file: &ConfigFile) -> String {
    let windows = said(&file.windows, |path| (*path).to_owned());
    let otherwise = file.otherwise.map(str::to_owned);
    format!("{} | {} | {} | {windows} | {otherwise:?} | {}", file.variant.unwrap_or_default(), file.linux, file.macos, file.for_application)
}

fn format(format: Format) -> &'static str {
    match format {
        Format::Json => "json",
        Format::Jsonc => "jsonc",
        Format::Toml => "toml",
        Format::Yaml => "yaml",
        Format::Executables => "executable files",
    }
}

fn at(keys: &[Key]) -> String {
    let words = keys.iter().map(|key| match key {
        Key::Name(name) => (*name).to_owned(),
        Key::Own => "frith".into(),
        Key::Event => "<Event>".into(),
        Key::List(name) => format!("{name}[]"),
        Key::Named(key) => format!("{key}=frith"),
    });
    words.collect::<Vec<_>>().join(" > ")
}

fn entry(host: &str, entry: &Entry) -> String {
    let arguments = ["mcp", "--host", host];
    let value = |value: &Value| match value {
        Value::Program | Value::Own => "frith".into(),
        Value::Arguments => arguments.as_slice().into(),
        Value::CommandLine => [&["frith"], arguments.as_slice()].concat().into(),
        Value::Text(text) => (*text).into(),
        Value::Number(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(list) => (*list).into(),
        Value::EmptyTable => Json::Object(serde_json::Map::new()),
    };
    let fields = Json::Object(entry.fields.iter().map(|(key, it)| ((*key).to_owned(), value(it))).collect());
    let formats: Vec<_> = entry.formats.iter().map(|it| format(*it)).collect();
    format!("{} at {}: {fields}", formats.join(" / "), at(entry.at))
}

fn mcp(host: &Host, put: &mut impl FnMut(&str, String)) {
    put("mcp.entry", said(&host.mcp.entry, |it| entry(host.id, it)));
    for (at, found) in host.mcp.files.iter().enumerate() {
        put(&format!("mcp.file{at}"), file(found));
    }
    put("mcp.repository_files", said(&host.mcp.repository_files, |files| files.join(", ")));
    put("mcp.path_variables", said(&host.mcp.path_variables, |variables| variables.join(", ")));
    put("mcp.source", source(host.mcp.source));
}

fn hooks(hooks: &Hooks, put: &mut impl FnMut(&str, String)) {
    put("hooks", format!("installed {}", hooks.installed));
    for (at, found) in hooks.files.iter().enumerate() {
        put(&format!("hooks.file{at}"), file(found));
    }
    put("hooks.format", said(&hooks.format, |it| format(*it).into()));
    put("hooks.at", said(&hooks.at, |keys| at(keys)));
    put("hooks.entry", said(&hooks.entry, |it| shape(*it).into()));
    let unit = |unit| if unit == Unit::Seconds { "s" } else { "ms" };
    put("hooks.timeout", said(&hooks.timeout, |it| format!("{} in {}", unit(it.unit), it.field)));
    let trust = match hooks.trust {
        Trust::Free => "",
        Trust::Review(_) => "review",
        Trust::Folder => "folder",
    };
    put("hooks.trust", trust.into());
    put("hooks.source", source(hooks.source));
    put("hooks.vendor_events", said(&hooks.vendor_events, |()| "known".into()));
    for event in hooks.events {
        put(&format!("hooks.event.{}", event.name), format!("{} {} {}", event.documented, event.used, event.matcher.unwrap_or_default()));
    }
    match &hooks.payload {
        Fact::Known(known) => payload(known, put),
        other => put("payload", said(other, |_| String::new())),
    }
    match &hooks.answer {
        Fact::Known(known) => answer(known, put),
        other => put("answer", said(other, |_| String::new())),
    }
}

fn shape(shape: EntryShape) -> &'static str {
    match shape {
        EntryShape::Groups => "groups",
        EntryShape::GroupsWithoutMatcher => "groups without matcher",
        EntryShape::SwitchedGroups => "switched groups",
        EntryShape::Commands => "commands",
        EntryShape::ShellCommands => "shell commands",
        EntryShape::Tables => "tables",
        EntryShape::NamedTables => "named tables",
        EntryShape::Flat => "flat",
        EntryShape::Scripts => "scripts",
    }
}

fn path(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => path.extend([".", key]),
            Step::First => path.push_str("[0]"),
        }
    }
    path
}

fn paths(paths: &[&[Step]]) -> String {
    paths.iter().map(|steps| path(steps)).collect::<Vec<_>>().join(" or ")
}

fn payload(payload: &Payload, put: &mut impl FnMut(&str, String)) {
    put("payload", format!("assumed {}", payload.assumed));
    let fields = [
        ("session_id", &payload.session),
        ("tool_name", &payload.tool),
        ("tool_response", &payload.response),
        ("tool_use", &payload.tool_use),
        ("prompt", &payload.prompt),
        ("model", &payload.model),
        ("sub_agent_id", &payload.sub_agent),
        ("start_source", &payload.start_source),
        ("transcript", &payload.transcript),
    ];
    for (name, field) in fields {
        put(&format!("payload.{name}"), said(field, |it| paths(it)));
    }
    let variable = |variable: Option<&str>| variable.map(|name| format!(" or variable {name}")).unwrap_or_default();
    put("payload.cwd", said(&payload.folder, |it| paths(it.paths) + &variable(it.variable)));
    let encoded = |encoded| if encoded { " encoded" } else { "" };
    put("payload.tool_input", said(&payload.input, |it| paths(it.paths) + encoded(it.may_be_encoded)));
    let event = said(&payload.event, |it| match it {
        EventName::Field(field) => (*field).to_owned(),
        EventName::VariableOrField(variable, field) => format!("variable {variable} or {field}"),
        EventName::Argument => "argument".into(),
    });
    put("payload.event", event);
    put("payload.model_at_start_only", payload.model_at_start_only.to_string());
    put("payload.nameless_tool", (payload.nameless_tool == Some("Bash")).to_string());
    put("payload.extras", extras(payload));
}

fn extras(payload: &Payload) -> String {
    let mut told: Vec<(&str, String)> = Vec::new();
    for (extra, field) in payload.extras {
        let what = match extra {
            Extra::WorktreeCreate => "worktree_create",
            Extra::WorktreeRemove => "worktree_remove",
            Extra::Generation => "generation",
            Extra::Turn => "turn",
            Extra::Other => "extra",
        };
        match told.last_mut().filter(|(last, _)| *last == what) {
            Some((_, fields)) => fields.extend([", ", field]),
            None => told.push((what, (*field).to_owned())),
        }
    }
    told.into_iter().map(|(what, fields)| format!("{what} {fields}")).collect::<Vec<_>>().join("; ")
}

fn answer(answer: &Answer, put: &mut impl FnMut(&str, String)) {
    let context = said(&answer.context, |it| match it {
        Context::Nested { outer, event: Some(event), field } => format!("{{\"{outer}\":{{\"{event}\":<event>,\"{field}\":<text>}}}}"),
        Context::Nested { outer, event: None, field } => format!("{{\"{outer}\":{{\"{field}\":<text>}}}}"),
        Context::Flat { field } => format!("{{\"{field}\":<text>}}"),
        Context::Prompt { field } => format!("{{\"{field}\": <prompt> + separator + <context>}} (rewrites the prompt)"),
        Context::Text => "plain stdout of agentSpawn/userPromptSubmit".into(),
    });
    put("answer.context", context);
    put("answer.quiet", answer.quiet.to_string());
    put("answer.permission", said(&answer.permission, |it| permission(*it).into()));
    let rewrite = said(&answer.rewrite_input, |fields| match fields {
        ["hookSpecificOutput", "updatedInput"] => "hookSpecificOutput.updatedInput (PreToolUse)".into(),
        [outer, "commands"] => format!("{{\"{outer}\":{{\"commands\":[..]}}}}"),
        [outer, inner] => format!("{{\"{outer}\":{{\"{inner}\":..}}}}"),
        fields => fields.join("."),
    });
    put("answer.rewrite_input", rewrite);
    put("answer.replace_result", said(&answer.replace_result, |field| (*field).to_owned()));
}

fn permission(permission: Permission) -> &'static str {
    match permission {
        Permission::NestedDecision => "hookSpecificOutput.permissionDecision + permissionDecisionReason (PreToolUse)",
        Permission::Decision => "permissionDecision + permissionDecisionReason",
        Permission::Object => "permission object on before* events",
        Permission::Deny => "{\"decision\":\"deny\",\"reason\":..}",
        Permission::Cancel => "{\"cancel\":true,\"errorMessage\":..}",
        Permission::ExitCode => "exit code 2",
    }
}

fn environment(host: &Host, put: &mut impl FnMut(&str, String)) {
    let env = &host.environment;
    let name = |fact: &Fact<&'static str>| said(fact, |name| (*name).to_owned());
    put("env.session", name(&env.session));
    let seen = env.visible_in.iter().map(|seen| match seen {
        Seen::Shell => "shell",
        Seen::Hooks => "hooks",
        Seen::Mcp => "mcp",
    });
    put("env.visible_in", seen.collect::<Vec<_>>().join(", "));
    put("env.others", env.others.join(", "));
    put("env.shell_file", name(&env.shell_file));
    put("env.attributes", name(&env.attributes));
    let caller = said(&env.caller, |key| match key {
        CallerKey::ToolUse(key) => format!("tool_use {key}"),
        CallerKey::Agent(key) => format!("agent {key}"),
    });
    put("env.caller", caller);
    put("env.source", source(env.source));
}

fn worktrees(host: &Host, put: &mut impl FnMut(&str, String)) {
    let worktrees = &host.worktrees;
    let name = |fact: &Fact<&'static str>| said(fact, |name| (*name).to_owned());
    put("worktrees.native", name(&worktrees.native));
    let pool = said(&worktrees.pool, |pool| [Some(pool.path), pool.otherwise].into_iter().flatten().collect::<Vec<_>>().join(" else "));
    put("worktrees.pool", pool);
    put("worktrees.cap", said(&worktrees.cap, ToString::to_string));
    put("worktrees.origin", name(&worktrees.origin));
    put("worktrees.locks_on_adopt", said(&worktrees.locks_on_adopt, ToString::to_string));
    put("worktrees.evicts", worktrees.evicts.to_string());
    let adopt = match worktrees.adopt {
        Adopt::Tool => "worktree_adopt",
        Adopt::ToolOrPostCreate => "worktree_adopt; post-create script via agents install --project",
        Adopt::Add => "worktree_add",
        Adopt::Command => "CLI frith worktree adopt",
        Adopt::CommandOnly => "CLI only",
    };
    put("worktrees.adopt", adopt.into());
    put("worktrees.source", source(worktrees.source));
    let post_create = said(&worktrees.post_create, |it| {
        let entry = match it.entry {
            PostCreateEntry::ListedCommand => "listed command",
            PostCreateEntry::CommandTable => "command table",
            PostCreateEntry::MarkedLines => "marked lines",
        };
        let keys = said(&it.keys, |keys| keys.join(", "));
        format!("{} | {keys} | {entry} | {} | {}", it.files.join(", "), it.variables.join(", "), source(it.source))
    });
    put("worktrees.post_create", post_create);
}
