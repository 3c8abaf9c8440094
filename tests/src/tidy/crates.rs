//! Rules about crates: where they stand, what they may use, in which order their modules stand.

use super::{
    code::Code,
    tree::{Fault, File, Tree},
};

/// A crate by its folder, and the crates it may use. Who may use a crate may use what that one may.
pub const ARROWS: &[(&str, &[&str])] = &[
    ("store", &[]),
    ("net", &["store"]),
    ("actors", &["store", "net"]),
    ("mcp", &["actors"]),
    ("cli", &["actors", "mcp"]),
    ("sim", &["actors", "net", "store"]),
    ("tests", &["store", "net", "actors", "mcp", "cli", "sim"]),
];

/// What a part of the tree must not name, and why.
const IGNORANCE: &[(&str, &[&str], &str)] = &[
    (
        "store/src",
        &["std::net", "os::unix::net", "tokio", "ractor", "clap::Parser", "std::io::stdout"],
        "store never knows a socket or a runtime",
    ),
    (
        "store/src/rules",
        &["std::fs", "std::process", "std::time", "jiff", "redb", "automerge", "Store"],
        "rules are pure: records in, plan or refusal out",
    ),
    ("net/src", &["fork", "Fork", "portable_pty"], "net never knows what a fork is for"),
    ("mcp/src", &["rules::"], "mcp never decides"),
    ("cli/src", &["rules::"], "cli never decides"),
];

/// What the root's `clippy.toml` bans; every other one repeats it.
const BANS: &[&str] = &[
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "uuid::Uuid::new_v4",
    "std::thread::spawn",
    "tokio::task::spawn_blocking",
    "std::collections::HashMap",
    "std::collections::HashSet",
    "too-many-lines-threshold = 60",
];

/// The workspace's members are the folders of [`ARROWS`], each a crate under the workspace's lints.
pub fn layout(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let root = tree.file("Cargo.toml").map_or("", |file| &file.text);
    let members = ARROWS.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    if !root.contains(&format!("members = [{members}]")) {
        faults.push(Fault::new("Cargo.toml", 0, format!("members are not [{members}]")));
    }
    for (folder, _) in ARROWS {
        let path = format!("{folder}/Cargo.toml");
        let manifest = tree.file(&path).map_or("", |file| &file.text);
        for line in [&format!("name = \"frith-{folder}\"") as &str, "[lints]\nworkspace = true", "license.workspace = true"] {
            if !manifest.contains(line) {
                faults.push(Fault::new(&path, 0, format!("lacks `{}`", line.replace('\n', " "))));
            }
        }
    }
    faults
}

/// The uses between our crates, from `cargo metadata`, keep to [`ARROWS`].
pub fn arrows(metadata: &serde_json::Value) -> Vec<Fault> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let ours = packages.iter().filter_map(|package| Some((package["name"].as_str()?.strip_prefix("frith-")?, package)));
    ours.flat_map(|(name, package)| {
        let may = reach(name);
        let uses = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
        let uses = uses.iter().filter_map(|dependency| dependency["name"].as_str()?.strip_prefix("frith-"));
        uses.filter(|used| !may.contains(used))
            .map(|used| Fault::new(&format!("{name}/Cargo.toml"), 0, format!("no arrow leads from {name} to {used}")))
            .collect::<Vec<_>>()
    })
    .collect()
}

fn reach(name: &str) -> Vec<&'static str> {
    let direct = ARROWS.iter().find(|(from, _)| *from == name).map_or(&[][..], |(_, to)| to);
    direct.iter().flat_map(|to| [vec![*to], reach(to)].concat()).collect()
}

/// A module uses only modules that its `lib.rs` names before it.
pub fn module_order(tree: &Tree) -> Vec<Fault> {
    ARROWS.iter().flat_map(|(folder, _)| crate_order(tree, folder)).collect()
}

fn crate_order(tree: &Tree, folder: &str) -> Vec<Fault> {
    let Some(lib) = tree.file(&format!("{folder}/src/lib.rs")) else { return Vec::new() };
    let order = declared(&lib.product);
    let source = format!("{folder}/src");
    let files = tree.rust().filter(|file| file.is_below(&source));
    files.flat_map(|file| file_order(file, &source, &order)).collect()
}

fn declared(code: &Code) -> Vec<String> {
    let lines = code.bare.lines().map(|line| line.trim().trim_start_matches("pub ").trim_start_matches("pub(crate) "));
    lines.filter_map(|line| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())).collect()
}

fn file_order(file: &File, source: &str, order: &[String]) -> Vec<Fault> {
    let inner = &file.path[source.len() + 1..];
    let own = inner.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    let Some(here) = order.iter().position(|name| name == own) else { return Vec::new() };
    let bare = &file.product.bare;
    let up = "super::".repeat(inner.trim_end_matches("/mod.rs").split('/').count());
    bare.lines()
        .enumerate()
        .flat_map(|(at, _)| used_on_line(bare, at, &["crate::", &up]).into_iter().map(move |name| (at + 1, name)))
        .filter(|(_, name)| order.iter().position(|known| known == name).is_some_and(|there| there > here))
        .map(|(line, name)| Fault::new(&file.path, line, format!("`{own}` uses `{name}`, which stands behind it")))
        .collect()
}

/// The modules that a line reaches through one of these prefixes; a group may go on over the next lines.
fn used_on_line(bare: &str, at: usize, prefixes: &[&str]) -> Vec<String> {
    let start = bare.split_inclusive('\n').take(at).map(str::len).sum::<usize>();
    let line = bare[start..].lines().next().unwrap_or_default();
    let reached = prefixes.iter().flat_map(|prefix| line.match_indices(prefix).map(move |(found, _)| (found, found + prefix.len())));
    let fresh = reached.filter(|(found, _)| !line[..*found].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c)));
    fresh.flat_map(|(_, end)| heads(&bare[start + end..])).collect()
}

/// The first segments of a path or of a group of paths.
fn heads(text: &str) -> Vec<String> {
    let word = |text: &str| text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = text.strip_prefix('{') else { return vec![word(text)] };
    let mut depth = 1;
    let mut parts = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => parts.push(String::new()),
            _ if depth == 1 => parts.last_mut().expect("it begins with one part").push(c),
            _ => {}
        }
    }
    parts.iter().map(|part| word(part)).filter(|part| !part.is_empty()).collect()
}

/// No part of the tree names what [`IGNORANCE`] keeps from it.
pub fn ignorance(tree: &Tree) -> Vec<Fault> {
    let rows = IGNORANCE.iter().flat_map(|row| tree.rust().filter(|file| file.is_below(row.0)).map(move |file| (row, file)));
    rows.flat_map(|((_, words, why), file)| {
        file.product.bare.lines().enumerate().filter_map(move |(at, line)| {
            let named = words.iter().find(|word| has_word(line, word))?;
            Some(Fault::new(&file.path, at + 1, format!("names `{named}`: {why}")))
        })
    })
    .collect()
}

/// Whether a line has this path or word, and not only as a part of a longer one.
pub fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let rest = &line[at + word.len()..];
        !line[..at].ends_with(part) && (word.ends_with("::") || !rest.starts_with(part))
    })
}

/// The root's `clippy.toml` has every ban, and a crate's own, which replaces it, repeats them.
pub fn one_clippy(tree: &Tree) -> Vec<Fault> {
    let configs = tree.files.iter().filter(|file| file.path == "clippy.toml" || file.path.ends_with("/clippy.toml"));
    let faults = configs.flat_map(|file| {
        let missing = BANS.iter().filter(|ban| !file.text.contains(**ban));
        missing.map(|ban| Fault::new(&file.path, 0, format!("does not have `{ban}`")))
    });
    let none = tree.file("clippy.toml").is_none().then(|| Fault::new("clippy.toml", 0, "is missing"));
    faults.chain(none).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_against_the_direction_is_found() {
        let uses = |from: &str, to: &str| serde_json::json!({"packages": [{"name": format!("frith-{from}"), "dependencies": [{"name": format!("frith-{to}")}]}]});
        assert_eq!(arrows(&uses("store", "net")).len(), 1);
        assert_eq!(arrows(&uses("sim", "cli")).len(), 1);
        assert_eq!(arrows(&uses("mcp", "store")), []);
    }

    #[test]
    fn a_module_that_uses_a_later_one_is_found_however_it_is_spelled() {
        let lib = ("net/src/lib.rs", "pub mod first;\nmod second;\npub mod third;");
        for use_line in [
            "use crate::third::T;",
            "use crate::{\n    first::A,\n    third::{B, first},\n};",
            "use super::third;",
            "let x = crate::third::x();",
        ] {
            let faults = module_order(&Tree::of(&[lib, ("net/src/second.rs", use_line)]));
            assert_eq!(faults.len(), 1, "{use_line}");
            assert!(faults[0].says.contains("`second` uses `third`"), "{}", faults[0]);
        }
        for use_line in ["use crate::first;", "use crate::{first::{third}};", "#[cfg(test)]\nmod tests { use crate::third; }"] {
            assert_eq!(module_order(&Tree::of(&[lib, ("net/src/second.rs", use_line)])), [], "{use_line}");
        }
        assert_eq!(module_order(&Tree::of(&[lib, ("net/src/second/a.rs", "use super::super::third;")])).len(), 1);
        assert_eq!(module_order(&Tree::of(&[lib, ("net/src/second/a.rs", "use super::third;")])), []);
    }

    #[test]
    fn a_rule_that_reads_a_clock_and_a_store_with_a_socket_are_found() {
        let faults = ignorance(&Tree::of(&[
            ("store/src/rules/queue.rs", "use std::time::Instant;"),
            ("store/src/redb.rs", "// std::net is not known here\nuse std::net::TcpStream;"),
            ("net/src/frame.rs", "fn forked() {}"),
        ]));
        assert_eq!(
            faults.iter().map(|fault| (fault.file.as_str(), fault.line)).collect::<Vec<_>>(),
            [("store/src/redb.rs", 2), ("store/src/rules/queue.rs", 1)]
        );
    }

    #[test]
    fn a_crate_whose_clippy_forgets_a_ban_is_found() {
        let whole = BANS.join("\n");
        let faults = one_clippy(&Tree::of(&[("clippy.toml", &whole), ("sim/clippy.toml", &whole.replace("std::thread::spawn", ""))]));
        assert_eq!(faults, [Fault::new("sim/clippy.toml", 0, "does not have `std::thread::spawn`")]);
        assert_eq!(layout(&Tree::default()).len(), 1 + 3 * ARROWS.len());
    }
}
