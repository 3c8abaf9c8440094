//! Writing one value into the configuration file. Comments and order stay; the file is replaced whole or not at all.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item, Table, Value};

use super::keys::{self, Key, Shape};
use crate::failure::{Failure, Told};

/// Sets a key in a file, which is made when it is not there. Gives the value as it was written.
///
/// # Errors
/// The key is not known, the value is not accepted, or the file cannot be read or written.
pub fn set(path: &Path, key_path: &str, text: &str) -> Result<Value, Failure> {
    let key = keys::find(key_path).ok_or_else(|| super::unknown(key_path))?;
    let value = key.shape.read(text);
    if !key.shape.accepts(&value) {
        return Err(super::not_accepted(key_path, &value, key, "the new value"));
    }
    let before = super::read_text(path)?.unwrap_or_default();
    let after = changed(path, &before, key_path, key, value.clone())?;
    require_good(path, &before, &after, key_path)?;
    write(path, &after).map_err(|error| Failure::Broken(Told::because(format!("`{}` cannot be written", path.display()), &error)))?;
    Ok(value)
}

/// Takes a key out of a file. Answers whether it was there.
///
/// # Errors
/// The key is not known, or the file cannot be read or written.
pub fn unset(path: &Path, key_path: &str) -> Result<bool, Failure> {
    let before = super::read_text(path)?.unwrap_or_default();
    super::leaves(path, &before)?;
    let mut document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| Failure::Broken(Told::of(&error)))?;
    let taken = take(document.as_item_mut(), key_path);
    if !taken && keys::find(key_path).is_none() {
        return Err(super::unknown(key_path));
    }
    if taken {
        write(path, &document.to_string())
            .map_err(|error| Failure::Broken(Told::because(format!("`{}` cannot be written", path.display()), &error)))?;
    }
    Ok(taken)
}

/// The keys of a file whose values keep a node from starting; none when the file is no TOML, where nobody knows what is meant.
pub fn faults(path: &Path) -> Vec<String> {
    let Ok(Some(text)) = super::read_text(path) else { return Vec::new() };
    let found = super::leaves(path, &text).unwrap_or_default();
    let is_fault = |key: &str, value: &Value| match keys::find(key) {
        Some(known) => !known.shape.accepts(value) && known.shape != Shape::Variables,
        None => keys::below(key).is_some(),
    };
    found.into_iter().filter(|(key, value, _)| is_fault(key, value)).map(|(key, ..)| key).collect()
}

/// Copies a file to a name beside it that nobody has.
///
/// # Errors
/// It cannot be copied.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let named = |number: u32| path.with_extension(format!("toml.before-fix-{number}"));
    let aside = (0..).map(named).find(|name| name.symlink_metadata().is_err()).expect("one of all numbers is free");
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    io::copy(&mut fs::File::open(path)?, &mut new)?;
    Ok(aside)
}

/// Takes a value, and every table that is empty without it and was written for it alone.
fn take(item: &mut Item, path: &str) -> bool {
    let Some(table) = item.as_table_like_mut() else { return false };
    let Some((name, rest)) = path.split_once('.') else { return table.remove(path).is_some() };
    let Some(below) = table.get_mut(name) else { return false };
    let taken = take(below, rest);
    let is_empty = below.as_table().is_some_and(|table| {
        table.is_empty() && table.decor().prefix().is_none_or(|text| text.as_str().is_none_or(|text| text.trim().is_empty()))
    });
    if taken && is_empty {
        table.remove(name);
    }
    taken
}

/// Nothing is written that a node would not take. A file that was wrong before may stay so elsewhere: it is mended one
/// value at a time.
fn require_good(path: &Path, before: &str, after: &str, key_path: &str) -> Result<(), Failure> {
    let whole = |text: &str| {
        let config = super::of_text(path, text)?;
        super::node_config(&config).map(|_| config)
    };
    let config = match whole(after) {
        Err(_) if whole(before).is_err() => return Ok(()),
        read => read?,
    };
    match super::kind_of(key_path).filter(|kind| !config.has_command(kind)) {
        None => Ok(()),
        Some(kind) => {
            let told = Told::new(format!("kind `{kind}` has no `command` yet, so `{key_path}` would be of no use"));
            Err(Failure::Broken(told.hint(format!("`frith config set launch.{kind}.command '[\"{kind}\"]'` first"))))
        }
    }
}

fn changed(path: &Path, before: &str, key_path: &str, key: &Key, value: Value) -> Result<String, Failure> {
    // The same reading as everywhere, for its error with file and line.
    super::leaves(path, before)?;
    let mut document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| Failure::Broken(Told::of(&error)))?;
    let mut names: Vec<&str> = key_path.split('.').collect();
    let last = names.pop().unwrap_or_default();
    let mut table = document.as_item_mut();
    for name in names {
        let here = table.as_table_like_mut().ok_or_else(|| in_the_way(path, key))?;
        table = here.entry(name).or_insert_with(|| Item::Table(implicit_table()));
    }
    let table = table.as_table_like_mut().ok_or_else(|| in_the_way(path, key))?;
    match table.get_mut(last).and_then(Item::as_value_mut) {
        Some(there) => {
            let decor = there.decor().clone();
            *there = value;
            *there.decor_mut() = decor;
        }
        None => {
            table.insert(last, Item::Value(value));
        }
    }
    Ok(document.to_string())
}

fn implicit_table() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

fn in_the_way(path: &Path, key: &Key) -> Failure {
    Failure::Broken(Told::new(format!("`{}` has a value where the table of `{}` belongs", path.display(), key.path)))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    // The file may be a link into a folder of dot-files: what it leads to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = path.with_extension(format!("toml.{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    if let Ok(facts) = fs::metadata(&path) {
        file.set_permissions(facts.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(before: &str, key: &str, text: &str) -> Result<String, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        if !before.is_empty() {
            fs::write(&path, before).unwrap();
        }
        set(&path, key, text)?;
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        Ok(fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn comments_and_order_stay() {
        let before = "# mine\n[node]\nmax_agents = 2 # few\nroot = \"refuse\"\n";
        let after = edited(before, "node.max_agents", "4").unwrap();
        assert_eq!(after, "# mine\n[node]\nmax_agents = 4 # few\nroot = \"refuse\"\n");
    }

    #[test]
    fn a_file_and_its_tables_are_made_when_missing() {
        assert_eq!(edited("", "launch.mine.command", "[\"m\"]").unwrap(), "[launch.mine]\ncommand = [\"m\"]\n");
        assert_eq!(edited("[node]\nroot = \"warn\"\n", "git.lfs", "skip").unwrap(), "[node]\nroot = \"warn\"\n\n[git]\nlfs = \"skip\"\n");
    }

    #[test]
    fn a_key_is_taken_out_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "# mine\n[node]\nmax_agents = 0 # none\nroot = \"warn\"\n\n[git]\nlfs = \"skip\"\n").unwrap();
        assert!(unset(&path, "node.max_agents").unwrap() && unset(&path, "git.lfs").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\n[node]\nroot = \"warn\"\n");
        assert!(!unset(&path, "git.lfs").unwrap());
        assert!(unset(&path, "node.nothing").is_err());
    }

    #[test]
    fn a_kind_gets_its_command_first() {
        let Err(Failure::Broken(told)) = edited("", "launch.z.models", "[\"a\"]") else { panic!("no command") };
        assert_eq!(told.hint.as_deref(), Some("`frith config set launch.z.command '[\"z\"]'` first"));
        let with = edited("", "launch.z.command", "[\"z\"]").unwrap();
        assert!(edited(&with, "launch.z.models", "[\"a\"]").unwrap().contains("models"));
        assert!(edited("", "launch.claude.models", "[\"a\"]").unwrap().contains("models"));
    }

    #[test]
    fn a_wrong_file_is_mended_one_value_at_a_time_and_a_right_one_stays_right() {
        let wrong = "[node]\nmax_agents = 0\n[git]\nlfs = \"maybe\"\n";
        let half = edited(wrong, "node.max_agents", "2").unwrap();
        assert!(edited(&half, "git.lfs", "skip").unwrap().contains("skip"));
        assert!(edited("", "launch.claude.environment", "[\"A*B*C\"]").is_err());
    }

    #[test]
    fn what_is_not_accepted_changes_nothing() {
        for (before, key, text) in [("", "node.max_agents", "0"), ("", "node.nothing", "1"), ("x =", "node.max_agents", "1")] {
            assert!(matches!(edited(before, key, text), Err(Failure::Broken(_))), "{key}");
        }
    }
}
