//! The command line: nouns and verbs. The arguments of an operation are its request itself; only what is no operation
//! has arguments of its own here.

mod install;
mod worktree;

use std::path::{Path, PathBuf};

use clap::{
    ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser},
    error::{ContextKind, ContextValue, ErrorKind},
};
use frith_actors::api::{agents, attachment, fork, memory, node, site, skill, task, workspace};
use frith_store::{
    id::{AttachmentRef, TaskRef},
    model::{Assignee, Missed, Status},
    text::PathText,
};

use crate::failure::Failure;

pub use install::{AgentWhoami, AgentsInstall, AgentsList, AgentsUninstall, Hook, Mcp};
pub use worktree::Worktree;

/// Run many coding agents side by side: each with its own queue of tasks, its own folder, its own terminal.
#[derive(Debug, Parser)]
#[command(name = "frith", bin_name = "frith", version, propagate_version = false, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = false)]
#[command(
    after_help = "Start here, in a folder with your code:\n  frith quickstart\n\nThen `frith <command> --help` shows each command with an example."
)]
pub struct Line {
    /// What all commands take.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// What all commands take.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// Answer with JSON.
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
    /// Print ids and nothing else; tell no progress.
    #[arg(long, short = 'q', global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// When to use colours: auto, always or never.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        hide_default_value = true,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        help_heading = "Everywhere"
    )]
    pub color: Colour,
    /// Do not ask before something goes that cannot be brought back.
    #[arg(long, short = 'y', global = true, hide = true, help_heading = "Everywhere")]
    pub yes: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal that wants them.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set up the current folder: start the node, make a workspace, show what to do next. Safe to run again.
    #[command(after_help = "Example:\n  cd my-app && frith quickstart")]
    Quickstart(Quickstart),
    /// Start this machine's node. Every other command does so too when it has to.
    #[command(after_help = "Example:\n  frith up\n  frith up --install-service --dry-run\n  frith up --foreground --set node.max_agents=4")]
    Up(Up),
    /// Stop the node and every agent it runs.
    #[command(after_help = "Example:\n  frith down")]
    Down(node::Down),
    /// Show this machine's node: version, machine, agents, store.
    #[command(after_help = "Example:\n  frith status")]
    Status(node::Status),
    /// Show the node's log.
    #[command(after_help = "Example:\n  frith logs -f")]
    Logs(Logs),
    /// Look for what is wrong, and name the command that mends it.
    #[command(after_help = "Example:\n  frith doctor --fix")]
    Doctor(Doctor),
    /// Write everything of this machine's store into one file.
    #[command(after_help = "Example:\n  frith backup ~/frith-$(date +%F).backup")]
    Backup(node::Backup),
    /// Make a store from a backup, in a home that has none.
    #[command(
        after_help = "Example:\n  frith restore ~/frith-2026-03-01.backup --dry-run\n  FRITH_HOME=~/restored frith restore ~/frith-2026-03-01.backup"
    )]
    Restore(Restore),
    /// Run by a host at its events: tells the node, and the host what its agent is to know.
    #[command(
        long_about = "Tell the node of an event of a host, and the host what its agent is to know.\n\nA host runs this by itself: it writes one JSON object to standard input and reads one from standard output. Whatever happens, this exits with 0 within 200 milliseconds, writes nothing else and starts no node; an event that no node hears is kept for the next one.",
        after_help = "Example, as it is entered into the settings of claude, once for each event (`docs/hosts.md` has the others):\n  \"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"frith hook SessionStart --host claude\"}]}]\n\nThis is no line for a shell: a session is known by the process of its host above the hook."
    )]
    Hook(Hook),
    /// Run by a host as its MCP server: gives its agent frith's tools.
    #[command(
        long_about = "Give the agent of a host the tools of frith: the Model Context Protocol over standard input and output.\n\nA host starts this by itself and ends it. Who the agent is follows from the processes above this one; what the environment says only chooses among those that are as near. `--place` only keeps an entry that a repository carries along from speaking for another place.",
        after_help = "Example, as it is entered into the settings of a host (`docs/hosts.md` has the file and the shape for each):\n  \"frith\": {\"command\": \"frith\", \"args\": [\"mcp\", \"--host\", \"claude\"]}\n\nwhich runs `frith mcp --host claude`."
    )]
    Mcp(Mcp),
    /// Workspaces: one queue of tasks, one agent, one folder.
    #[command(subcommand, visible_alias = "ws", after_help = "Example:\n  frith workspace create my-app --folder ~/src/my-app")]
    Workspace(Workspace),
    /// Forks: a second queue, folder and agent made from a workspace, to be merged back.
    #[command(subcommand, after_help = "Example:\n  frith fork create my-app --name my-app-docs")]
    Fork(Fork),
    /// Tasks: what is to be done, in the order of a queue.
    #[command(subcommand, after_help = "Example:\n  frith task add -w my-app \"Explain the build in the README\"")]
    Task(Task),
    /// Agents: see who works, launch, watch and stop them, send and read messages.
    #[command(
        subcommand,
        after_help = "Example:\n  frith agents sessions\n  frith agents launch my-app --kind claude\n  frith agents send 3fa9 \"the build is green again\""
    )]
    Agents(Agents),
    /// Worktrees: one place on disk for each task, one name, one owner; found, listed and swept.
    #[command(subcommand, visible_alias = "wt", after_help = "Example:\n  frith worktree add t42 login-form\n  frith worktree list")]
    Worktree(Worktree),
    /// Memory: notes that a workspace shares with its forks and their agents.
    #[command(subcommand, after_help = "Example:\n  frith memory get")]
    Memory(Memory),
    /// Skills: folders of files that tell agents how to do something, on or off in each workspace.
    #[command(subcommand, after_help = "Example:\n  frith skill add ~/skills/pdf-forms\n  frith skill on pdf-forms -w my-app")]
    Skill(Skill),
    /// Sites: addresses that a workspace shares with its forks and their agents.
    #[command(subcommand, after_help = "Example:\n  frith site add https://example.org/board --note \"the board\"")]
    Site(Site),
    /// The configuration, and where each value of it comes from.
    #[command(subcommand, after_help = "Example:\n  frith config set node.max_agents 4")]
    Config(Config),
    /// Print a completion script for a shell.
    #[command(after_help = "Example:\n  frith completions bash > ~/.local/share/bash-completion/completions/frith")]
    Completions(Completions),
    /// Print the manual page of a command, as troff.
    #[command(after_help = "Example:\n  frith man task add > task-add.1\n  frith man --dir ~/.local/share/man/man1")]
    Man(Man),
}

/// What can be done with workspaces.
#[derive(Debug, Subcommand)]
pub enum Workspace {
    #[command(after_help = "Example:\n  frith workspace create my-app --folder ~/src/my-app")]
    Create(workspace::Create),
    #[command(visible_alias = "ls", after_help = "Example:\n  frith workspace list")]
    List(workspace::List),
    #[command(after_help = "Example:\n  frith workspace show my-app")]
    Show(workspace::Show),
    #[command(
        after_help = "Example:\n  frith workspace set my-app --folder ~/src/my-app --allow-all-commands true\n  frith workspace set my-app --notifications task-finished,task-waiting\n\nA fork reads these settings from its parent: a change here is every fork's at once."
    )]
    Set(workspace::Set),
    #[command(
        after_help = "Example:\n  frith workspace allow 'Bash(git status *)' -w my-app\n  frith workspace allow 'Bash(git status *)' -w my-app --remove"
    )]
    Allow(workspace::Allow),
    #[command(after_help = "Example:\n  frith workspace archive my-app")]
    Archive(workspace::Archive),
    #[command(after_help = "Example:\n  frith workspace unarchive my-app")]
    Unarchive(workspace::Unarchive),
    #[command(after_help = "Example:\n  frith workspace delete my-app\n\n`--yes` (`-y`) does not ask before it.")]
    Delete(workspace::Delete),
    #[command(after_help = "Example:\n  frith workspace stats my-app --days 7")]
    Stats(workspace::Stats),
}

/// What can be done with forks.
#[derive(Debug, Subcommand)]
pub enum Fork {
    #[command(after_help = "Example:\n  frith fork create my-app --name my-app-docs")]
    Create(fork::Create),
    #[command(after_help = "Example:\n  frith fork spin-up 3fa9 --kind claude")]
    SpinUp(fork::SpinUp),
    #[command(visible_alias = "ls", after_help = "Example:\n  frith fork list")]
    List(workspace::List),
    #[command(
        after_help = "Example:\n  frith fork merge my-app-docs\n  frith fork merge my-app-docs --delete-folder\n\n`--yes` (`-y`) does not ask before a folder goes."
    )]
    Merge(fork::Merge),
}

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum Task {
    #[command(
        after_help = "Example:\n  frith task add -w my-app \"Explain the build in the README\" --body - < details.md\n  frith task add -w my-app \"Update it\" --schedule \"30 9 * * 1-5\" --time-zone Europe/Berlin"
    )]
    Add(task::Add),
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  frith task list -w my-app --status notstarted,ongoing\n  frith task list -w my-app --status cron"
    )]
    List(task::List),
    #[command(after_help = "Example:\n  frith task show 3fa9")]
    Show(task::Show),
    #[command(
        after_help = "Example:\n  frith task edit 3fa9 --title \"Explain the build\" --first\n  frith task edit 3fa9 --schedule \"0 8 1 * *\" --missed once\n  frith task edit 3fa9 --pause"
    )]
    Edit(task::Edit),
    #[command(after_help = "Example:\n  frith task status 3fa9 completed")]
    Status(task::SetStatus),
    #[command(after_help = "Example:\n  frith task move 3fa9 77c0 --to my-app-docs")]
    Move(task::Move),
    #[command(after_help = "Example:\n  frith task reply 3fa9 \"done, see the last commit\"")]
    Reply(task::Reply),
    #[command(after_help = "Example:\n  frith task next -w my-app")]
    Next(task::Next),
    /// Attach files to a task, all or none: at most 25 MiB each.
    #[command(after_help = "Example:\n  frith task attach 3fa9 screenshot.png build.log")]
    Attach(TaskAttach),
    /// Get an attachment of a task: into a file, or to standard output.
    #[command(after_help = "Example:\n  frith task attachment 3fa9 build.log | less\n  frith task attachment 3fa9 screenshot.png -o .")]
    Attachment(TaskAttachment),
    #[command(after_help = "Example:\n  frith task detach 3fa9 build.log\n\n`--yes` (`-y`) does not ask before it.")]
    Detach(attachment::Remove),
    #[command(
        visible_alias = "rm",
        after_help = "Example:\n  frith task delete 3fa9 77c0\n  frith task list --deleted\n\n`--yes` (`-y`) does not ask before it."
    )]
    Delete(task::Delete),
    #[command(after_help = "Example:\n  frith task restore 3fa9")]
    Restore(task::Restore),
}

/// What can be done with agents.
#[derive(Debug, Subcommand)]
pub enum Agents {
    #[command(after_help = "Example:\n  frith agents launch my-app --kind claude")]
    Launch(agents::Launch),
    #[command(after_help = "Example:\n  frith agents stop my-app")]
    Stop(agents::Stop),
    #[command(
        after_help = "Example:\n  frith agents attach my-app\n\nControl-backslash and then d detaches; control-backslash twice sends one to the agent. Without a terminal it prints the agent's text until the agent ends:\n  frith agents attach my-app </dev/null | cat"
    )]
    Attach(agents::Attach),
    #[command(after_help = "Example:\n  frith agents sessions --all")]
    Sessions(agents::Sessions),
    #[command(after_help = "Example:\n  frith agents show 3fa9")]
    Show(agents::Show),
    /// Tell which agent is calling, and how that is known.
    #[command(
        after_help = "Example, in an agent's shell:\n  frith agents whoami\n\nAs a program that claude started is told:\n  frith agents whoami --host claude"
    )]
    Whoami(AgentWhoami),
    #[command(after_help = "Example, in an agent's shell:\n  frith agents status \"writing the parser\"\n  frith agents status \"\"")]
    Status(agents::SetStatus),
    /// Send a message to an agent, a place or a person.
    #[command(
        override_usage = "frith agents send [OPTIONS] <TO> <TEXT>\n       frith agents send [OPTIONS] --all-live <TEXT>",
        after_help = "Example:\n  frith agents send 3fa9 \"the build is green again\"\n  frith agents send my-app \"to whoever works there\" --task 77c0\n  frith agents send ada@oak \"the review is done\"\n  frith agents send --all-live - < notes.txt\n  frith agents send 3fa9 -- \"--force is what broke it\"\n\nWhoever gets it is told that it is information and no instruction. A sub-agent reads no messages: write to the agent that it works for."
    )]
    Send(AgentSend),
    #[command(after_help = "Example:\n  frith agents unsend 3fa9\n  frith agents unsend")]
    Unsend(agents::Unsend),
    #[command(
        after_help = "Example:\n  frith agents inbox\n  frith agents inbox --task 77c0 --limit 5\n  frith agents inbox 3fa9\n  frith agents inbox --sent\n\nIn a person's shell it reads what was sent to that person. Who reads another mailbox leaves it as it is, and\nso does who asks for ids alone with `--quiet`."
    )]
    Inbox(agents::Inbox),
    /// Enter frith into hosts: its server, its hooks and its skill, into their own files.
    #[command(
        after_help = "Example:\n  frith agents install claude,codex\n  frith agents install --all --dry-run\n  frith agents install cursor,kilo --project\n\nNothing else in a file is touched, and a file that is changed is kept beside it as `<file>.bak-<time>`. What you changed\nyourself stays as it is, unless you say `--yes`. `frith agents uninstall` gives the files back as they were.\n\n`--project` enters one command into a file of the repository: `frith worktree adopt`, found on the search path of whoever\nruns it, for nothing of this machine belongs into a file that is committed. No backup is made there: git is the undo. Windsurf\nand Devin read the same entry, so one is enough for both, and what is taken out for one is taken out for both."
    )]
    Install(AgentsInstall),
    /// Take frith out of hosts: their files are as they were before.
    #[command(
        after_help = "Example:\n  frith agents uninstall claude\n  frith agents uninstall --all --dry-run\n  frith agents uninstall cursor,kilo --project"
    )]
    Uninstall(AgentsUninstall),
    /// List hosts: which are here, in which version, and how what was entered stands.
    #[command(visible_alias = "ls", after_help = "Example:\n  frith agents list\n  frith agents list --all --json")]
    List(AgentsList),
}

/// What can be done with notes.
#[derive(Debug, Subcommand)]
pub enum Memory {
    #[command(visible_alias = "ls", after_help = "Example:\n  frith memory list -w my-app")]
    List(memory::List),
    #[command(after_help = "Example:\n  frith memory get\n  frith memory get build-steps.md -w my-app")]
    Get(memory::Load),
    #[command(
        after_help = "Example:\n  frith memory set build-steps.md \"Run make.\"\n  frith memory set build-steps.md --base 3fa9c1d2 < steps.md\n\nWithout `--base` a person's save replaces what is current, and says what that was. Two saves of one base are both kept, and `frith memory get` shows both, until a save names both."
    )]
    Set(memory::Save),
    #[command(after_help = "Example:\n  frith memory delete build-steps.md\n\n`--yes` (`-y`) does not ask before it.")]
    Delete(memory::Delete),
}

/// What can be done with skills.
#[derive(Debug, Subcommand)]
pub enum Skill {
    /// Add a skill to the team, or a new version of one: a folder with `SKILL.md` and at most 64 files of 64 KiB.
    #[command(
        after_help = "Example:\n  frith skill add ~/skills/pdf-forms\n\n`SKILL.md` begins with its name and when it is of use:\n  ---\n  name: pdf-forms\n  description: Fill forms in PDF files. For tasks that hand over a form.\n  ---\n\nWhat is hidden is left out, and a symbolic link is refused."
    )]
    Add(SkillAdd),
    #[command(visible_alias = "ls", after_help = "Example:\n  frith skill list -w my-app")]
    List(skill::List),
    #[command(after_help = "Example:\n  frith skill show pdf-forms\n  frith skill show pdf-forms --file scripts/fill.py")]
    Show(skill::Load),
    #[command(after_help = "Example:\n  frith skill on pdf-forms -w my-app")]
    On(skill::On),
    #[command(after_help = "Example:\n  frith skill off pdf-forms -w my-app")]
    Off(skill::Off),
    #[command(after_help = "Example:\n  frith skill remove pdf-forms\n\n`--yes` (`-y`) does not ask before it.")]
    Remove(skill::Remove),
}

/// What can be done with sites.
#[derive(Debug, Subcommand)]
pub enum Site {
    #[command(after_help = "Example:\n  frith site add https://example.org/board --note \"the board\" -w my-app")]
    Add(site::Add),
    #[command(visible_alias = "ls", after_help = "Example:\n  frith site list -w my-app")]
    List(site::List),
    #[command(after_help = "Example:\n  frith site remove https://example.org/board -w my-app")]
    Remove(site::Remove),
}

/// Arguments of `agents send`.
#[derive(Debug, Clone, Args)]
pub struct AgentSend {
    /// An agent's id, a place's name or id (whoever works there, now or next), or a person as `user@machine`.
    #[arg(value_name = "TO")]
    pub to: String,
    /// What it says, at most 4,096 bytes; `-` reads it from standard input.
    #[arg(value_name = "TEXT", required_unless_present = "all_live")]
    pub text: Option<String>,
    /// To every live agent of this repository but this one and sub-agents; the text stands alone then.
    #[arg(long)]
    pub all_live: bool,
    /// The task it is about.
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskRef>,
}

/// Arguments of `skill add`.
#[derive(Debug, Clone, Args)]
pub struct SkillAdd {
    /// The folder.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Arguments of `task attach`.
#[derive(Debug, Clone, Args)]
pub struct TaskAttach {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: TaskRef,
    /// The files.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Arguments of `task attachment`.
#[derive(Debug, Clone, Args)]
pub struct TaskAttachment {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: TaskRef,
    /// Its name, its hash, or the first characters of its hash.
    #[arg(value_name = "NAME|HASH")]
    pub attachment: AttachmentRef,
    /// The file to write, or a folder to write it into under its own name.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write over a file that is there.
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show every value that counts here.
    #[command(after_help = "Example:\n  frith config show --sources")]
    Show(ConfigShow),
    /// Show one value.
    #[command(after_help = "Example:\n  frith config get node.max_agents")]
    Get(ConfigGet),
    /// Write one value into the configuration file, comments kept.
    #[command(after_help = "Example:\n  frith config set node.max_agents 4\n  frith config set launch.claude.args '[\"--verbose\"]'")]
    Set(ConfigSet),
    /// Take one value out of the configuration file, so that what is built in counts again.
    #[command(after_help = "Example:\n  frith config unset node.max_agents")]
    Unset(ConfigGet),
    /// Print where the configuration file lies.
    #[command(after_help = "Example:\n  $EDITOR \"$(frith config path)\"")]
    Path,
}

/// Arguments of `quickstart`.
#[derive(Debug, Clone, Default, Args)]
pub struct Quickstart {
    /// Install nothing into the coding agents found here. This version never does.
    #[arg(long)]
    pub no_install: bool,
}

/// Arguments of `up`.
#[derive(Debug, Clone, Default, Args)]
pub struct Up {
    /// Stay: the node is this process, and ends with it.
    #[arg(long)]
    pub foreground: bool,
    /// Keep it running for good: install it as a service of the system, which starts it at every login and after a failure.
    #[arg(long, conflicts_with_all = ["foreground", "set"])]
    pub install_service: bool,
    /// Take the service away again; a node that runs goes on.
    #[arg(long, conflicts_with_all = ["foreground", "set", "install_service"])]
    pub uninstall_service: bool,
    /// Show the service that would be installed; change nothing.
    #[arg(long, requires = "install_service")]
    pub dry_run: bool,
    /// A configuration value for this run alone; needs `--foreground`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave the caller's session and tell it over standard output when all is up.
    #[arg(long, hide = true, requires = "foreground")]
    pub detached: bool,
    /// End well when another node has the home.
    #[arg(long, hide = true, requires = "foreground")]
    pub r#yield: bool,
}

/// Arguments of `logs`.
#[derive(Debug, Clone, Args)]
pub struct Logs {
    /// Go on showing what is added.
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// How many of the last lines.
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 100)]
    pub lines: usize,
}

/// Arguments of `doctor`.
#[derive(Debug, Clone, Default, Args)]
pub struct Doctor {
    /// Mend what can be mended without losing anything.
    #[arg(long)]
    pub fix: bool,
    /// Check every document, however many there are.
    #[arg(long)]
    pub thorough: bool,
}

/// Arguments of `restore`.
#[derive(Debug, Clone, Args)]
pub struct Restore {
    /// A file that `frith backup` wrote.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(|path| PathText::from(Path::new(&path))))]
    pub file: PathText,
    /// Say what is in it, and whether it is whole; change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `config show`.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigShow {
    /// Also where each value comes from.
    #[arg(long)]
    pub sources: bool,
}

/// Arguments of `config get`.
#[derive(Debug, Clone, Args)]
pub struct ConfigGet {
    /// The key, as in `node.max_agents`.
    pub key: String,
}

/// Arguments of `config set`.
#[derive(Debug, Clone, Args)]
pub struct ConfigSet {
    /// The key, as in `node.max_agents`.
    pub key: String,
    /// The value: as in the file, or a bare word for a text.
    #[arg(allow_hyphen_values = true)]
    pub value: String,
}

/// Arguments of `completions`.
#[derive(Debug, Clone, Args)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Clone, Default, Args)]
pub struct Man {
    /// The command, as in `task add`; `frith` itself when absent.
    #[arg(value_name = "COMMAND", action = ArgAction::Append)]
    pub command: Vec<String>,
    /// Write the pages of all commands into this folder.
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub dir: Option<PathBuf>,
}

/// Reads the command line.
///
/// # Errors
/// [`Failure::CommandLine`], which is also how help and version are asked for.
pub fn read(words: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Line, Failure> {
    let words: Vec<_> = words.into_iter().collect();
    let matches = command().try_get_matches_from(&words).map_err(|error| with_usage(error, &words))?;
    Ok(Line::from_arg_matches(&matches)?)
}

/// The same error, which says of which command a value is wrong: the parser leaves that out.
fn with_usage(mut error: clap::Error, words: &[std::ffi::OsString]) -> clap::Error {
    if error.kind() == ErrorKind::ValueValidation {
        let (mut usage, mut at) = ("Usage: frith".to_owned(), &command());
        for word in words.iter().skip(1) {
            if let Some(below) = at.find_subcommand(word) {
                usage.extend([" ", below.get_name()]);
                at = below;
            }
        }
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage.into()));
    }
    error
}

/// The whole command line as data, for manual pages and completions.
pub fn command() -> clap::Command {
    Line::command().mut_subcommand("task", |task| {
        let task = task.mut_subcommand("list", |list| list.mut_arg("status", |arg| arg.value_parser(statuses(&[]))));
        // Nobody sets `cron` by hand; naming it gets the node's own refusal. The help of these names the words already.
        let task = task.mut_subcommand("status", |set| {
            set.mut_arg("status", |arg| arg.value_parser(statuses(&[Status::Cron])).hide_possible_values(true))
        });
        ["add", "edit"].into_iter().fold(task, |task, verb| {
            task.mut_subcommand(verb, |verb| {
                let verb = verb.mut_arg("assignee", |arg| arg.value_parser(assignees()).hide_possible_values(true));
                verb.mut_arg("missed", |arg| arg.value_parser(missed()).hide_possible_values(true))
            })
        })
    })
}

/// The words for statuses, of which some are accepted and not offered.
fn statuses(hidden: &[Status]) -> impl TypedValueParser<Value = Status> + use<> {
    let words = Status::ALL.iter().map(|(status, word)| PossibleValue::new(*word).hide(hidden.contains(status)));
    PossibleValuesParser::new(words.collect::<Vec<_>>()).try_map(|word| word.parse())
}

/// The words for who is to do a task.
fn assignees() -> impl TypedValueParser<Value = Assignee> + use<> {
    PossibleValuesParser::new(Assignee::ALL.map(|(_, word)| word)).try_map(|word| word.parse())
}

/// The words for what becomes of missed slots.
fn missed() -> impl TypedValueParser<Value = Missed> + use<> {
    PossibleValuesParser::new(Missed::ALL.map(|(_, word)| word)).try_map(|word| word.parse())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Line, Failure> {
        read(line.split(' ').map(Into::into))
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn flags_for_all_commands_stand_anywhere() {
        for line in ["frith --json task list", "frith task --json list", "frith task list --json"] {
            assert!(parse(line).unwrap().global.json, "{line}");
        }
    }

    #[test]
    fn every_command_says_what_it_is_for_and_shows_an_example() {
        fn walk(command: &clap::Command, path: &str) {
            for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
                let path = format!("{path} {}", verb.get_name());
                assert!(verb.get_about().is_some(), "`{path}` says nothing of itself");
                let is_noun = verb.has_subcommands();
                assert!(is_noun || verb.get_after_help().is_some_and(|text| text.to_string().contains(&path)), "`{path}` has no example");
                walk(verb, &path);
            }
        }
        walk(&command(), "frith");
    }

    #[test]
    fn a_wrong_line_ends_with_2_and_help_with_0() {
        assert_eq!(parse("frith task add").unwrap_err().code(), 2);
        assert_eq!(parse("frith tsak list").unwrap_err().code(), 2);
        assert_eq!(parse("frith task status abcd done").unwrap_err().code(), 2);
        assert_eq!(parse("frith task --help").unwrap_err().code(), 0);
        assert_eq!(parse("frith --version").unwrap_err().code(), 0);
    }

    #[test]
    fn the_help_of_the_whole_reads_well() {
        insta::assert_snapshot!(command().render_help());
    }
}
