//! The rows of hosts say what `store/hosts.json` says, fact for fact, and `docs/hosts.md` shows them.
//!
//! Each side is told as a list of facts, by names of their own; what one side alone knows is a difference.

mod entering;
mod from_file;
mod from_row;

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use frith_store::hosts::{self, AgentRow, Fact, Host, Says};
use serde_json::Value as Json;

/// Facts by name.
type Facts = BTreeMap<String, String>;

/// Keys whose values are words for people about other facts, or tell of another system.
const PROSE: &[&str] = &["notes", "windows_paths", "seed_events", "env_note", "value_forms"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace")
}

fn collected() -> Vec<Json> {
    let text = std::fs::read_to_string(root().join("store/hosts.json")).expect("the file is kept in the project");
    serde_json::from_str(&text).expect("the file is JSON")
}

#[test]
fn the_rows_and_the_file_know_the_same_facts() {
    let file = collected();
    let ids: Vec<_> = file.iter().map(|json| text(&json["host"])).collect();
    assert_eq!(ids, hosts::all().iter().map(|host| host.id.to_owned()).collect::<Vec<_>>());
    let mut differences = String::new();
    for json in &file {
        let host = hosts::host(&text(&json["host"])).unwrap();
        let (theirs, ours) = (from_file::facts(json), from_row::facts(host));
        let names: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
        for name in names.into_iter().filter(|name| theirs.get(*name) != ours.get(*name)) {
            writeln!(differences, "{}.{name}\n  file {:?}\n  row  {:?}", host.id, theirs.get(name), ours.get(name)).unwrap();
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

#[test]
fn a_host_that_waits_for_a_path_is_sent_an_event_only_where_something_answers_one() {
    for host in hosts::all() {
        let events = host.hooks.known().map_or(&[][..], |hooks| hooks.events);
        for event in events.iter().filter(|event| event.used && event.says == Says::Path) {
            assert!(event.instead.is_some(), "`{}` of {} is installed, and its command answers no path", event.name, host.id);
        }
    }
}

#[test]
fn every_key_of_the_file_is_a_fact_or_told_to_be_prose() {
    let mut read = std::collections::BTreeSet::new();
    for json in collected() {
        keys(&json, "", &mut read);
    }
    let unknown: Vec<_> = read.iter().filter(|key| !KEYS.contains(&key.as_str()) && !is_prose(key)).collect();
    assert!(unknown.is_empty(), "nothing reads {unknown:?}");
    let gone: Vec<_> = KEYS.iter().filter(|key| !read.contains(**key)).collect();
    assert!(gone.is_empty(), "the file has no {gone:?}");
}

fn is_prose(key: &str) -> bool {
    PROSE.iter().any(|prose| key == *prose || key.ends_with(&format!(".{prose}")))
}

/// The keys whose values are facts; those below the last ones are part of the value.
const KEYS: &[&str] = &[
    "host",
    "name",
    "kind",
    "here.signs",
    "here.moved",
    "here.skills",
    "seed.hooks",
    "seed.agent_row",
    "seed.native_worktrees",
    "seed.adopt",
    "mcp.entry_written",
    "mcp.user_files",
    "mcp.project_file",
    "mcp.path_override_env",
    "mcp.format",
    "mcp.key_path",
    "mcp.entry",
    "mcp.verified",
    "hooks.vendor_has_hooks",
    "hooks.hooks_installed",
    "hooks.files",
    "hooks.format",
    "hooks.key_path",
    "hooks.entry_shape",
    "hooks.vendor_events",
    "hooks.timeout_unit",
    "hooks.payload",
    "hooks.inject",
    "hooks.verified",
    "hooks.payload_basis",
    "hooks.frith_events",
    "hooks.trust",
    "env.session_id_var",
    "env.visible_in",
    "env.other_vars",
    "env.mcp_call_meta.agent",
    "env.mcp_call_meta.tool_use",
    "env.shell_file_var",
    "env.attributes_var",
    "env.verified",
    "worktrees.pool",
    "worktrees.cap",
    "worktrees.origin_label",
    "worktrees.host_evicts",
    "worktrees.lock_written_on_adopt",
    "worktrees.post_create",
    "worktrees.verified",
    "unverified",
    "not_looked_up",
    "looked_up",
];

fn keys(json: &Json, path: &str, into: &mut std::collections::BTreeSet<String>) {
    match json {
        Json::Object(fields) if !KEYS.contains(&path) => {
            for (key, value) in fields {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                keys(value, &below, into);
            }
        }
        _ => drop(into.insert(path.to_owned())),
    }
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn texts(json: &Json) -> Vec<String> {
    json.as_array().into_iter().flatten().map(text).collect()
}

/// A text without the remark in brackets at its end.
fn plain(text: &str) -> &str {
    text.split(" (").next().unwrap_or(text)
}

const NONE: &str = "none";
const UNDOCUMENTED: &str = "undocumented";
const UNCHECKED: &str = "unchecked";

/// The fields of a payload that each host may have.
const PAYLOAD: &[&str] = &[
    "session_id",
    "cwd",
    "event",
    "tool_name",
    "tool_input",
    "tool_response",
    "tool_use",
    "prompt",
    "model",
    "sub_agent_id",
    "start_source",
    "transcript",
];

#[test]
fn the_page_of_hosts_is_current() {
    let page = root().join("docs/hosts.md");
    let wanted = page_of_hosts();
    if std::env::var_os("FRITH_WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(root().join("docs")).unwrap();
        std::fs::write(&page, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(found == wanted, "`docs/hosts.md` is not what the rows say; `FRITH_WRITE_GOLDEN=1 cargo test --test hosts` writes it");
}

/// The block that README shows to be pasted is what the row of that host says.
#[test]
fn the_entries_that_readme_shows_are_current() {
    let page = root().join("README.md");
    let readme = std::fs::read_to_string(&page).expect("the file is kept in the project");
    let (before, rest) = readme.split_once("```json\n").expect("there is a block");
    let (shown, after) = rest.split_once("```\n").expect("the block ends");
    let wanted = entering::whole(hosts::host("claude").expect("a host is known"));
    if std::env::var_os("FRITH_WRITE_GOLDEN").is_some() {
        return std::fs::write(&page, format!("{before}```json\n{wanted}```\n{after}")).unwrap();
    }
    assert!(serde_json::from_str::<Json>(shown).is_ok(), "it is to be pasted");
    assert_eq!(shown, wanted);
}

fn page_of_hosts() -> String {
    let mut page = String::from(
        "# Hosts\n\nWhat is known of each host, printed from the rows in `store/src/hosts/`; a test keeps it current. \"none\": there is no such thing; \
         \"undocumented\":\nit was looked for and its maker does not say; \"unchecked\": nobody has looked.\n\n## All of them\n\n\
         | host | name | an agent is known by | our hooks | MCP entry (Linux) | session's id in | worktrees |\n|---|---|---|---|---|---|---|\n",
    );
    for host in hosts::all() {
        let cells = [agents_cell(host), hooks_cell(host), files_cell(host), session_cell(host), pool_cell(host)];
        writeln!(page, "| `{}` | {} | {} |", host.id, host.name, cells.join(" | ")).expect("a text takes what is written");
    }
    page.push_str(&entering::section(hosts::all().iter().copied()));
    page.push_str(
        "\n## Events\n\nWhat each event of a host means to us, and whether context for the model may be answered to it. To be entered are those with a tick.\n\n\
         | host | event | means | context | to enter |\n|---|---|---|---|---|\n",
    );
    for host in hosts::all() {
        for event in host.hooks.known().map_or(&[][..], |hooks| hooks.events) {
            let context = match event.says {
                Says::Context => "yes",
                Says::Nothing => "",
                Says::Path => "a path",
            };
            let installed = match event.instead {
                Some(_) => "by `frith agents install` alone".to_owned(),
                None if event.used => format!("✓ {}", code(event.matcher)),
                None => String::new(),
            };
            writeln!(page, "| `{}` | `{}` | {:?} | {context} | {} |", host.id, event.name, event.class, installed.trim_end())
                .expect("a text takes what is written");
        }
    }
    page.push_str(
        "\n## Where the facts are from\n\nWhere they were looked up, or on which version of a host they were measured; what was not looked up was handed down. \
         What is said\nand was not seen to be so stands beside it.\n\n| host | looked up in | not verified |\n|---|---|---|\n",
    );
    for host in hosts::all() {
        let doubts = [host.unverified, host.not_looked_up].concat();
        writeln!(page, "| `{}` | {} | {} |", host.id, host.looked_up.join("; "), doubts.join("; ")).expect("a text takes what is written");
    }
    page
}

fn code(text: Option<&str>) -> String {
    text.map(|text| format!("`{}`", text.replace('|', "\\|"))).unwrap_or_default()
}

fn cell<T>(fact: &Fact<T>, words: impl Fn(&T) -> String) -> String {
    fact.absence().map_or_else(|| fact.known().map(words).unwrap_or_default(), str::to_owned)
}

fn agents_cell(host: &Host) -> String {
    let how = match host.agents {
        AgentRow::Hooks => "hooks",
        AgentRow::Mcp => "its MCP process",
        AgentRow::Environment => "its MCP process's environment",
        AgentRow::None => "nothing",
    };
    how.into()
}

fn hooks_cell(host: &Host) -> String {
    cell(&host.hooks, |hooks| if hooks.installed { "to enter" } else { "not used" }.into())
}

fn files_cell(host: &Host) -> String {
    let files: Vec<_> = host.mcp.files.iter().map(|file| code(Some(file.linux))).collect();
    cell(&host.mcp.entry, |_| files.join(", "))
}

fn session_cell(host: &Host) -> String {
    cell(&host.environment.session, |variable| code(Some(variable)))
}

fn pool_cell(host: &Host) -> String {
    let cap = host.worktrees.cap.known().map(|cap| format!(", keeps {cap}")).unwrap_or_default();
    cell(&host.worktrees.pool, |pool| code(Some(pool.path)) + &cap)
}
