//! Rules about the source of any crate.

use super::{
    code::{block_end, line_of},
    crates::has_word,
    tree::{Fault, File, Tree},
};

/// The most lines of a file before its tests.
const FILE_MOST: usize = 600;
/// The most lines of a function, its signature and braces counted.
const FUNCTION_MOST: usize = 60;

/// Where the world outside is reached, and so where a ban may be lifted with a reason.
const DOORS: &[&str] = &["actors/src/env", "cli/src/environment", "sim/src", "tests/src", "tests/tests", "tests/benches"];

/// Files that may write to a person's terminal.
const FOR_PEOPLE: &[&str] = &["cli/src/render", "cli/src/failure", "cli/src/output", "sim/src/main", "tests/benches", "tests/src"];

/// Files whose tables may name hosts and kinds.
const HOST_TABLES: &[&str] = &["store/src/hosts", "actors/src/kinds"];

/// Hosts whose names say nothing else in English.
const HOSTS: &[&str] = &["claude", "codex", "gemini", "opencode", "qwen", "copilot", "cursor-agent"];

/// Words that the vocabulary replaces, and by what.
const NEVER: &[(&str, &str)] = &[
    ("daemon", "node"),
    ("zombie", "orphan"),
    ("garbage", "orphan"),
    ("sandbox", "worktree"),
    ("container", "place"),
    ("payload", "operation"),
    ("project", "workspace"),
    ("room", "workspace"),
    ("pane", "terminal"),
    ("job", "task"),
    ("lease", "seat"),
    ("leader", "seat"),
    ("branch off", "fork"),
    ("denied", "refusal"),
];

/// Every source file begins by saying what it is for.
pub fn headers(tree: &Tree) -> Vec<Fault> {
    let silent = tree.rust().filter(|file| !file.text.starts_with("//! ") && !file.text.starts_with("#!["));
    silent.map(|file| Fault::new(&file.path, 1, "does not begin with `//!`")).collect()
}

/// Files have at most [`FILE_MOST`] lines before their tests, functions [`FUNCTION_MOST`].
pub fn sizes(tree: &Tree) -> Vec<Fault> {
    tree.rust().flat_map(|file| long_file(file).into_iter().chain(long_functions(file))).collect()
}

fn long_file(file: &File) -> Option<Fault> {
    let lines = file.product.bare.lines().count();
    (lines > FILE_MOST).then(|| Fault::new(&file.path, 0, format!("{lines} lines before its tests, and {FILE_MOST} is the most")))
}

fn long_functions(file: &File) -> Vec<Fault> {
    let bare = &file.code.bare;
    let starts = bare.match_indices("fn ").map(|(at, _)| at).filter(|at| !bare[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let lengths = starts.filter_map(|at| Some((at, line_of(bare, block_end(bare, at)?) - line_of(bare, at) + 1)));
    lengths
        .filter(|(_, lines)| *lines > FUNCTION_MOST)
        .map(|(at, lines)| {
            Fault::new(&file.path, line_of(bare, at), format!("a function of {lines} lines, and {FUNCTION_MOST} is the most"))
        })
        .collect()
}

/// No lint is allowed silently, nothing is left to do, no test is skipped.
pub fn nothing_unfinished(tree: &Tree) -> Vec<Fault> {
    let never = ["#[allow(", "#![allow(", "todo!(", "unimplemented!(", "#[ignore", "dbg!("];
    find(tree.rust(), |_, bare| never.iter().find(|word| bare.contains(**word)).map(|word| format!("has `{word}`")))
}

/// Every `select!` says in which order its branches are tried.
pub fn biased(tree: &Tree) -> Vec<Fault> {
    tree.rust()
        .flat_map(|file| {
            let bare = &file.code.bare;
            let calls = bare.match_indices("select!").map(|(at, word)| (at, at + word.len()));
            let open = calls.filter(|(_, end)| {
                let body = bare[*end..].trim_start();
                body.starts_with(['{', '(']) && !body[1..].trim_start().starts_with("biased;")
            });
            open.map(|(at, _)| Fault::new(&file.path, line_of(bare, at), "a `select!` without `biased;`")).collect::<Vec<_>>()
        })
        .collect()
}

/// The bans on clocks, threads and randomness are lifted only where the world outside is reached.
pub fn exceptions(tree: &Tree) -> Vec<Fault> {
    let inside = tree.rust().filter(|file| !DOORS.iter().any(|door| file.path.starts_with(door)));
    find(inside, |_, bare| {
        let lifted = ["clippy::disallowed_methods", "clippy::disallowed_types", "tokio::fs", "rand::rng"];
        lifted.iter().find(|word| bare.contains(**word)).map(|word| format!("has `{word}`, which belongs to the environment"))
    })
}

/// The program `git` is started by one file; tests may make repositories with it.
pub fn git_runs_once(tree: &Tree) -> Vec<Fault> {
    let others = tree.rust().filter(|file| file.path != "store/src/git/change.rs" && !file.is_below("tests"));
    find(others, |text, _| text.contains("new(\"git\")").then(|| "starts `git`".to_owned()))
}

/// Only the files of [`FOR_PEOPLE`] print.
pub fn text_for_people(tree: &Tree) -> Vec<Fault> {
    let others = tree.rust().filter(|file| !FOR_PEOPLE.iter().any(|place| file.path.starts_with(place)));
    find(others, |_, bare| {
        let prints = ["println!", "print!", "eprintln!", "eprint!"];
        prints.iter().find(|word| has_word(bare, word.trim_end_matches('!')) && bare.contains(**word)).map(|word| format!("has `{word}`"))
    })
}

/// Outside the tables of [`HOST_TABLES`] no code names a host.
pub fn hosts_by_name(tree: &Tree) -> Vec<Fault> {
    let product = tree.rust().filter(|file| !file.is_below("tests") && !file.is_below("sim"));
    let others = product.filter(|file| !HOST_TABLES.iter().any(|table| file.path.starts_with(table)));
    find(others, |text, _| HOSTS.iter().find(|host| text.contains(&format!("\"{host}\""))).map(|host| format!("names the host `{host}`")))
}

/// What people read in help says it in the project's words.
pub fn vocabulary(tree: &Tree) -> Vec<Fault> {
    let public = tree.rust().filter(|file| file.is_below("actors/src/api") || file.path.starts_with("cli/src/args"));
    let lines = public.flat_map(|file| file.text.lines().enumerate().map(move |(at, line)| (file, at + 1, line.trim())));
    let help = lines.filter_map(|(file, at, line)| Some((file, at, line.strip_prefix("/// ")?.to_lowercase())));
    help.filter_map(|(file, at, line)| {
        let (word, better) = NEVER.iter().find(|(word, _)| has_word(&line, word) || has_word(&line, &format!("{word}s")))?;
        Some(Fault::new(&file.path, at, format!("help says `{word}`, and the word is `{better}`")))
    })
    .collect()
}

/// The lines before the tests in which `wrong` finds something, given the line with its strings and without.
fn find<'a>(files: impl Iterator<Item = &'a File>, wrong: impl Fn(&str, &str) -> Option<String>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files {
        let code = &file.product;
        for (at, (text, bare)) in code.with_strings.lines().zip(code.bare.lines()).enumerate() {
            faults.extend(wrong(text, bare).map(|says| Fault::new(&file.path, at + 1, says)));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the rule finds something in the first source and nothing in the second, both at this path.
    fn tells_apart(rule: fn(&Tree) -> Vec<Fault>, path: &str, bad: &str, good: &str) {
        assert_eq!(rule(&Tree::of(&[(path, bad)])).len(), 1, "nothing was found in:\n{bad}");
        assert_eq!(rule(&Tree::of(&[(path, good)])), [], "something was found in:\n{good}");
    }

    #[test]
    fn a_module_without_a_header_is_found() {
        tells_apart(headers, "net/src/a.rs", "use x;", "//! For this.\nuse x;");
    }

    #[test]
    fn long_files_and_functions_are_found() {
        tells_apart(sizes, "a.rs", &"x;\n".repeat(601), &format!("{}#[cfg(test)]\n{}", "x;\n".repeat(600), "y;\n".repeat(600)));
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "x();\n".repeat(lines - 2));
        tells_apart(sizes, "a.rs", &function(61), &function(60));
    }

    #[test]
    fn what_is_allowed_or_unfinished_is_found_and_a_comment_on_it_is_not() {
        for bad in ["#[allow(x)]", "fn f() { todo!() }", "#[ignore]"] {
            tells_apart(nothing_unfinished, "a.rs", bad, &format!("// {bad}"));
        }
    }

    #[test]
    fn a_select_in_no_order_is_found() {
        tells_apart(biased, "a.rs", "tokio::select! {\n  a = b => c,\n}", "tokio::select! {\n  biased;\n  a = b => c,\n}");
    }

    #[test]
    fn a_lifted_ban_is_found_inside_and_not_at_the_door() {
        let lifted = "#[expect(clippy::disallowed_methods, reason = \"clock\")]";
        assert_eq!(exceptions(&Tree::of(&[("actors/src/node.rs", lifted)])).len(), 1);
        assert_eq!(exceptions(&Tree::of(&[("actors/src/env/clock.rs", lifted)])), []);
    }

    #[test]
    fn git_text_and_hosts_are_found_where_they_must_not_be() {
        tells_apart(git_runs_once, "actors/src/fork.rs", "Command::new(\"git\")", "Command::new(\"ls\")");
        assert_eq!(git_runs_once(&Tree::of(&[("store/src/git/change.rs", "Command::new(\"git\")")])), []);
        tells_apart(text_for_people, "actors/src/fork.rs", "println!(\"x\")", "writeln!(out, \"println!\")");
        tells_apart(hosts_by_name, "actors/src/fork.rs", "if kind == \"claude\" {", "// \"claude\" is one\nif kind == known {");
    }

    #[test]
    fn a_word_the_vocabulary_replaces_is_found_in_help_only() {
        tells_apart(vocabulary, "actors/src/api/node.rs", "/// Stops the daemon.", "/// Stops the node.\nfn daemon() {}");
    }
}
