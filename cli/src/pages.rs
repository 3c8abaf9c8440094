//! Manual pages and completion scripts, made from the command line itself.

use std::{fs, path::Path};

use clap::Command;

use crate::{
    args::{self, Completions, Man},
    environment,
    failure::{Failure, Told},
    render,
};

/// Prints a completion script.
///
/// # Errors
/// It cannot be written.
pub fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "frith", &mut script);
    render::put(&String::from_utf8_lossy(&script))
}

/// Prints a manual page, or writes all of them into a folder.
///
/// # Errors
/// There is no such command, or a page cannot be written.
pub fn man(args: &Man) -> Result<(), Failure> {
    let mut whole = args::command();
    whole.build();
    match &args.dir {
        Some(folder) => write_all(&whole, "frith", folder),
        None => {
            let (command, name) = find(&whole, &args.command)?;
            render::put(&page(command, &name)?)
        }
    }
}

fn find<'a>(whole: &'a Command, words: &[String]) -> Result<(&'a Command, String), Failure> {
    let mut command = whole;
    let mut name = "frith".to_owned();
    for word in words.iter().flat_map(|word| word.split_whitespace()) {
        command = command.find_subcommand(word).ok_or_else(|| {
            Failure::Broken(Told::new(format!("`{name}` has no command `{word}`")).hint(format!("`{name} --help` lists them")))
        })?;
        name = format!("{name} {word}");
    }
    Ok((command, name))
}

fn page(command: &Command, name: &str) -> Result<String, Failure> {
    let title = name.replace(' ', "-");
    let mut text = Vec::new();
    let man = clap_mangen::Man::new(command.clone().name(title.clone()).bin_name(name.to_owned()))
        .title(title.to_uppercase())
        .source(concat!("frith ", env!("CARGO_PKG_VERSION")));
    man.render(&mut text).map_err(|error| Failure::Broken(Told::of(&error)))?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    let mut verbs = Vec::new();
    list(command, name, &mut verbs);
    if command.has_subcommands() {
        text.push_str(".SH \"ALL COMMANDS\"\n");
        text.extend(verbs);
    }
    text.push_str(&section("EXIT STATUS", EXITS.iter().copied()));
    if name == "frith" {
        let variables = environment::VARIABLES.iter().copied().filter(|(name, _)| *name != "FRITH_FAULT");
        let keys = ("FRITH_<KEY>", "any key of the configuration, in capitals with _ for every dot, as in FRITH_NODE_MAX_AGENTS");
        text.push_str(&section("ENVIRONMENT", variables.chain([keys])));
        text.push_str(&section("FILES", FILES.iter().copied()));
    }
    Ok(text)
}

/// What a command ends with.
const EXITS: &[(&str, &str)] = &[
    ("0", "yes"),
    ("1", "understood, and refused"),
    ("2", "something broke, or the command line is wrong"),
    ("3", "the one that was asked could not be reached"),
];

/// What lies where, below the home or in a repository.
const FILES: &[(&str, &str)] = &[
    ("~/.frith", "everything of the node, unless FRITH_HOME names another folder; closed to others"),
    ("~/.frith/config.toml", "the configuration; `frith config path` names it"),
    ("~/.frith/key", "the key of the machine, which no backup has"),
    ("~/.frith/store.redb", "places, tasks, threads, agents"),
    ("~/.frith/blobs", "long texts and attachments, by the hash of their content"),
    ("~/.frith/node.sock", "where commands reach the node"),
    ("~/.frith/node.log", "the log; those before it are node.log.1 and on"),
    ("~/.frith/forks", "the folders of forks"),
    (".frith.toml", "at the top of a repository: the configuration that comes with it, harmless keys only"),
];

/// A section of names, each with what it stands for.
fn section<'a>(title: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows = rows.map(|(name, what)| format!(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(what)));
    format!(".SH \"{title}\"\n{}", rows.collect::<String>())
}

/// Every command below one, with what it is for, as troff.
fn list(command: &Command, name: &str, into: &mut Vec<String>) {
    for verb in shown(command) {
        let name = format!("{name} {}", verb.get_name());
        if !verb.has_subcommands() {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            into.push(format!(".TP\n\\fB{}\\fR\n{}\n", escaped(&name), escaped(&about)));
        }
        list(verb, &name, into);
    }
}

/// The commands of a command that people are shown.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
}

/// Text that troff takes for no instruction of its own.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn write_all(command: &Command, name: &str, folder: &Path) -> Result<(), Failure> {
    let failed =
        |error: &std::io::Error| Failure::Broken(Told::because(format!("no page could be written into `{}`", folder.display()), error));
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let file = folder.join(format!("{}.1", name.replace(' ', "-")));
    fs::write(file, page(command, name)?).map_err(|error| failed(&error))?;
    shown(command).try_for_each(|verb| write_all(verb, &format!("{name} {}", verb.get_name()), folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        man(&Man { command: Vec::new(), dir: Some(folder.path().to_owned()) }).unwrap();
        let text = fs::read_to_string(folder.path().join("frith-task-add.1")).unwrap();
        assert!(text.contains(".TH FRITH-TASK-ADD 1") && text.contains("frith task add"), "{text}");
        assert!(fs::read_dir(folder.path()).unwrap().count() > 30);
        let top = fs::read_to_string(folder.path().join("frith.1")).unwrap();
        assert!(top.contains("\\fBfrith fork spin\\-up\\fR\nGive a task"), "{top}");
        for part in [".SH \"EXIT STATUS\"", ".SH \"ENVIRONMENT\"\n.TP\n\\fBFRITH_HOME", ".SH \"FILES\"\n.TP\n\\fB~/.frith"] {
            assert!(top.contains(part), "{part}: {top}");
        }
        assert!(text.contains(".SH \"EXIT STATUS\"") && !text.contains(".SH \"FILES\""), "{text}");
    }

    #[test]
    fn a_page_that_is_not_there_says_where_to_look() {
        let mut whole = args::command();
        whole.build();
        let words = ["task".to_owned(), "ad".to_owned()];
        let Err(Failure::Broken(told)) = find(&whole, &words) else { panic!("there is no such command") };
        assert_eq!(told.hint.as_deref(), Some("`frith task --help` lists them"));
    }
}
