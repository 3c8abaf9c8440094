//! The first command: the node up, a workspace for this folder, and what to do next. Run again it changes nothing.

use std::path::{Path, PathBuf};

use frith_actors::api::{
    node::{NodeStatus, Status},
    workspace::{Create, List, PlaceInfo},
};
use frith_store::{
    model::PlaceKind,
    refusal::Refusal,
    text::{PathText, kebab},
};
use serde::Serialize;
use toml_edit::Value;

use crate::{
    ask::{self, Run},
    config::{self, Config, keys},
    environment,
    failure::{Failure, Told},
    log,
    progress::Story,
    shell::quoted,
    start,
};

/// What quickstart found and made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quickstarted {
    /// The node.
    pub node: NodeStatus,
    /// The workspace for the folder.
    pub workspace: PlaceInfo,
    /// Whether it was made now.
    pub made: bool,
    /// The kinds of agent whose command is on the search path.
    pub kinds: Vec<String>,
    /// The configuration file.
    pub config: PathText,
    /// The log.
    pub log: PathText,
    /// Three commands to go on with, as a shell takes them.
    pub next: Vec<String>,
}

/// Sets up the current folder.
///
/// # Errors
/// The node cannot be started, or the workspace was refused.
pub fn run(run: &Run) -> Result<Quickstarted, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::Broken(Told::because("the current folder is gone", &error)))?;
    let user_home = environment::read("HOME").map(PathBuf::from);
    let folder = top(&here, user_home.as_deref());
    require_project(&folder, user_home.as_deref())?;
    let config = config::read(&run.home, Some(&folder), &[])?;
    config.warn();
    let mut story = Story::new(run.is_quiet());
    if start::reach(&run.home)?.is_none() {
        ask::step(&mut story, "starting the node");
    }
    let mut node = start::reach_or_start(&run.home, run.is_quiet())?;
    let status = run.ask_at(&mut node, Status {})?;
    ask::step(&mut story, "looking for a workspace of this folder");
    let (workspace, made) = match existing(run, &folder)? {
        Some(place) => (place, false),
        None => (create(run, &folder)?, true),
    };
    story.end();
    let kinds = kinds_here(&config);
    let next = next_steps(&workspace, &kinds);
    Ok(Quickstarted {
        node: status,
        workspace,
        made,
        kinds,
        config: config::path(&run.home).as_path().into(),
        log: log::path(&run.home).as_path().into(),
        next,
    })
}

/// The top of the repository that a folder is in, or the folder itself. A repository of everything a user has, as some
/// keep one for their dot-files, is not meant.
fn top(folder: &Path, user_home: Option<&Path>) -> PathBuf {
    let mut parts = folder.ancestors().take_while(|folder| !is_everything(folder, user_home));
    parts.find(|folder| folder.join(".git").exists()).unwrap_or(folder).to_owned()
}

/// Whether a folder has everything of a machine or of a user: as a workspace it would be the place of every command.
fn is_everything(folder: &Path, user_home: Option<&Path>) -> bool {
    folder.parent().is_none() || user_home.is_some_and(|home| home == folder || home.canonicalize().is_ok_and(|home| home == folder))
}

fn require_project(folder: &Path, user_home: Option<&Path>) -> Result<(), Failure> {
    if !is_everything(folder, user_home) {
        return Ok(());
    }
    let told = Told::new(format!("`{}` is no folder of one project: as a workspace it would own every folder in it", folder.display()));
    Err(Failure::Declined(told.hint("`cd` into a project first, or name its folder: `frith workspace create <name> --folder <path>`")))
}

fn existing(run: &Run, folder: &Path) -> Result<Option<PlaceInfo>, Failure> {
    let places = run.ask(List { all: false })?.workspaces;
    let wanted = PathText::from(folder);
    Ok(places.into_iter().find(|place| place.folder.as_ref() == Some(&wanted) && !matches!(place.kind, PlaceKind::Fork { .. })))
}

/// Makes the workspace under the first name that is free.
fn create(run: &Run, folder: &Path) -> Result<PlaceInfo, Failure> {
    let name = folder.file_name().map(|name| kebab(&name.to_string_lossy())).unwrap_or_default();
    let mut refused = None;
    for name in names(&name) {
        let request = Create { name: Some(name), folder: Some(folder.into()), ..Create::default() };
        match run.ask(request) {
            Err(Failure::Refused(refusal)) if is_about_the_name(&refusal) => refused = Some(refusal),
            done => return done,
        }
    }
    Err(refused.map_or_else(|| Failure::Broken(Told::new("no name for the workspace was found")), Failure::Refused))
}

fn is_about_the_name(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NameTaken { .. } | Refusal::BadName { .. })
}

/// Names to try for a folder of this name: its own, its own with a word that makes it no id, then with numbers.
fn names(name: &str) -> impl Iterator<Item = String> {
    let name = if name.is_empty() { "workspace".to_owned() } else { frith_store::text::cut(name, 100).to_owned() };
    let numbered = name.clone();
    [name.clone(), format!("{name}-workspace")].into_iter().chain((2..100).map(move |number| format!("{numbered}-workspace-{number}")))
}

fn kinds_here(config: &Config) -> Vec<String> {
    let commands = config.settings.iter().filter_map(|(path, setting)| {
        let kind = path.strip_prefix("launch.")?.strip_suffix(".command")?;
        Some((kind, first_text(&setting.value)?))
    });
    commands.filter(|(_, command)| environment::find_command(command).is_some()).map(|(kind, _)| kind.to_owned()).collect()
}

fn first_text(value: &Value) -> Option<String> {
    keys::texts(value)?.into_iter().next()
}

fn next_steps(place: &PlaceInfo, kinds: &[String]) -> Vec<String> {
    let frith = own_name();
    let name = quoted(&place.name);
    let add = format!("{frith} task add -w {name} \"Explain in the README how to build this\"");
    match kinds.first() {
        Some(kind) => vec![add, format!("{frith} agents launch {name} --kind {}", quoted(kind)), format!("{frith} agents attach {name}")],
        None => vec![add, format!("{frith} task list -w {name}"), format!("{frith} workspace show {name}")],
    }
}

/// The word by which a shell starts this program: its name where the search path leads to it, else its whole path.
fn own_name() -> String {
    let own = std::env::current_exe().ok();
    let found = environment::find_command("frith");
    let same = own.as_deref().and_then(|own| own.canonicalize().ok()).zip(found.and_then(|found| found.canonicalize().ok()));
    match (same, own) {
        (Some((own, found)), _) if own == found => "frith".into(),
        (_, Some(own)) => quoted(&own.to_string_lossy()),
        (_, None) => "frith".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_repository_is_found_from_below() {
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        assert_eq!(top(&below, None), below);
        std::fs::create_dir(root.path().join(".git")).unwrap();
        assert_eq!(top(&below, None), root.path());
        assert_eq!(top(&below, Some(root.path())), below);
    }

    #[test]
    fn a_folder_that_has_everything_is_refused() {
        let home = Path::new("/home/ada");
        for folder in ["/", "/home/ada"] {
            let Err(failure) = require_project(Path::new(folder), Some(home)) else { panic!("{folder}") };
            assert_eq!(failure.code(), 1);
        }
        assert!(require_project(Path::new("/home/ada/app"), Some(home)).is_ok());
    }

    #[test]
    fn names_to_try_are_never_empty_and_end_in_numbers() {
        assert_eq!(names("").next().as_deref(), Some("workspace"));
        assert_eq!(names("app").take(3).collect::<Vec<_>>(), ["app", "app-workspace", "app-workspace-2"]);
    }
}
