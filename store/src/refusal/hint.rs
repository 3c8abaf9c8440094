//! What would make a refused request succeed: data beside the refusal, in the words of the command line.

use super::{FolderFault, NameFault, Refusal, What};
use crate::{model::Status, schedule::zone_names};

impl What {
    fn list_command(self) -> &'static str {
        match self {
            Self::Place => "frith workspace list",
            Self::Task => "frith task list",
            Self::Agent => "frith agents sessions --all",
            Self::Machine => "frith status",
            Self::Version => "frith memory get <name>",
            Self::Attachment => "frith task show <task>",
            Self::Message => "frith agents unsend",
            Self::Skill => "frith skill list",
            Self::SkillFile => "frith skill show <name>",
            Self::Site => "frith site list",
        }
    }
}

impl Refusal {
    /// What would make the request succeed, where something would.
    pub fn hint(&self) -> Option<String> {
        self.id_hint()
            .or_else(|| self.place_hint())
            .or_else(|| self.task_hint())
            .or_else(|| self.launch_hint())
            .or_else(|| self.shared_hint())
            .or_else(|| self.mail_hint())
            .or_else(|| self.hosts_hint())
            .or_else(|| self.worktree_hint())
            .or_else(|| self.other_hint())
    }

    fn worktree_hint(&self) -> Option<String> {
        if let Self::Worktree(refusal) = self { refusal.hint() } else { None }
    }

    fn id_hint(&self) -> Option<String> {
        Some(match self {
            Self::TooShort { what, .. } | Self::Unknown { what, .. } => format!("`{}` shows them", what.list_command()),
            Self::Ambiguous { what: What::Place, given, ids } if ids.iter().all(|id| !id.starts_with(given.as_str())) => {
                "name one by its id, or as `frith workspace list` shows it".into()
            }
            Self::Ambiguous { .. } => "give more characters of the one that is meant".into(),
            Self::NoPlaceHere { .. } => "name one (`frith workspace list` shows them), or run `frith quickstart` in this folder".into(),
            _ => return None,
        })
    }

    fn place_hint(&self) -> Option<String> {
        Some(match self {
            Self::BadName { fault: NameFault::LooksLikeAnId, .. } => {
                "a name that is not only digits and the letters a to f cannot be taken for one".into()
            }
            Self::BadName { fault: NameFault::Blank, .. } => "give it one, or a folder after which it is called: `--folder .`".into(),
            Self::BadName { fault: NameFault::Reserved, .. } => "choose another name".into(),
            Self::BadName { .. } => "a name is letters and digits joined by single hyphens, such as `my-app`".into(),
            Self::NameTaken { place } => {
                format!("choose another name, or give that one another: `frith workspace set {} --name <name>`", place.id.short())
            }
            Self::Archived { place } => format!("`frith workspace unarchive {}` makes it writable", place.name),
            Self::InTrash { place } => format!("`frith workspace unarchive {}` takes it back", place.id.short()),
            Self::AlreadyMerged { parent, .. } => format!("its tasks are in `{}`", parent.name),
            Self::ForkOfFork { parent, .. } => format!("fork `{}` once more: `frith fork create {}`", parent.name, parent.name),
            Self::ForkStays { fork, .. } => format!("`frith fork merge {}`", fork.name),
            Self::HasForks { forks, .. } => {
                format!("merge {} first: `frith fork merge {}`", if forks.len() == 1 { "it" } else { "them" }, forks.first()?.name)
            }
            Self::Inherited { parent, .. } => format!("change it there: `frith workspace set {} --<setting> <value>`", parent.name),
            Self::BadFolder { fault: FolderFault::Relative, .. } => "give the whole path".into(),
            Self::BadFolder { fault: FolderFault::Ours, .. } => "choose a folder of your own".into(),
            Self::BadFolder { path, fault: FolderFault::Gone } => format!("make it (`mkdir -p '{path}'`), or name another"),
            Self::BadFolder { fault: FolderFault::NotAFolder, .. } => "name the folder it is in".into(),
            Self::BadFolder { fault: FolderFault::Taken(place), .. } => {
                format!("work in `{}`, or give that place another folder", place.name)
            }
            Self::BadFolder { path, .. } => {
                format!("make `{path}` readable, or name another")
            }
            Self::ForkFolder { fork } => format!("`frith agents launch {}` makes it", fork.name),
            Self::NotAFork { .. } => "`frith workspace list` marks forks".into(),
            Self::BadRule { .. } => {
                "a rule names a tool, such as `Read`, or a tool and what it may do, such as `Bash(git status *)`".into()
            }
            Self::NoSuchRule { place, rules, .. } if rules.is_empty() => {
                format!("it has none; `frith workspace allow <rule> -w {}` adds one", place.name)
            }
            Self::NoSuchRule { rules, .. } => format!("it has {}", rules.join(", ")),
            Self::Supervisor { .. } => "make an ordinary workspace: `frith workspace create <name>`".into(),
            _ => return None,
        })
    }

    fn task_hint(&self) -> Option<String> {
        Some(match self {
            Self::NothingToChange => "name at least one thing to change; `--help` lists them".into(),
            Self::BlankTitle => "give it one: 1 to 255 characters".into(),
            Self::LongTitle { .. } => "put the details into the body: `--body`".into(),
            Self::LongText { .. } => "put it into a file of the folder and name the file".into(),
            Self::CronStatus => "set one of notstarted, ongoing, blocked, completed, rejected".into(),
            Self::QueueEmpty { place } => format!("add one: `frith task add -w {} <title>`", place.name),
            Self::TaskHeld { task, agent } => format!(
                "wait for it, stop the agent (`frith agents stop {}`), or move the task all the same: `frith task move {} --to <place> --force`",
                agent.short(),
                task.id.short()
            ),
            Self::NotForSpinUp { task } if task.status.is_finished() => {
                format!("open it again: `frith task status {} notstarted`", task.id.short())
            }
            Self::NotForSpinUp { task } if task.status == Status::Cron => {
                format!("spin up one of its runs, or take its schedule away: `frith task edit {} --no-schedule`", task.id.short())
            }
            Self::NotForSpinUp { .. } => "let its agent finish, or set it back to notstarted".into(),
            Self::OtherQueue { .. } => "move it there first: `frith task move`".into(),
            Self::BesideItself { .. } => "name another task of the queue".into(),
            Self::BlankText => "say something, or pipe it in: `-` reads standard input".into(),
            Self::NotArchived { place } => format!("`frith workspace show {}` shows how it is", place.name),
            Self::TaskInTrash { task } => format!("`frith task restore {}` takes it out", task.id.short()),
            Self::TaskNotInTrash { .. } => "`frith task list --deleted` shows what is".into(),
            Self::AwaitsFreshContext { .. } => "end this turn and wait: the node clears the context and says that the task is there".into(),
            Self::DocumentFull { .. } => "close it and add a new task for what is left".into(),
            Self::BadSchedule { .. } => {
                "`30 9 * * 1-5` comes at 9:30 from Monday to Friday: minute, hour, day of month, month, day of week".into()
            }
            Self::UnknownTimeZone { given } => zone_hint(given),
            Self::NoSchedule { task } => format!("give it one: `frith task edit {} --schedule \"30 9 * * 1-5\"`", task.id.short()),
            Self::IsTemplate { task } => format!("`frith task edit {} --no-schedule` takes it away", task.id.short()),
            Self::ScheduleInHand { .. } => "wait for it, or add another: `frith task add <title> --schedule \"30 9 * * 1-5\"`".into(),
            _ => return None,
        })
    }

    fn launch_hint(&self) -> Option<String> {
        Some(match self {
            Self::AgentRuns { agent, .. } => {
                format!("watch it with `frith agents attach {}`, or end it: `frith agents stop {}`", agent.short(), agent.short())
            }
            Self::NoAgent { place } => format!("`frith agents launch {}` starts one", place.name),
            Self::NoFolder { place } => format!("`frith workspace set {} --folder <path>` sets it", place.name),
            Self::UnknownKind { kind, known } => {
                format!("known are {}; others come with `[launch.{kind}]` in the configuration (`frith config path`)", known.join(", "))
            }
            Self::NoKind { known } => format!("name one with `--kind`: {}", known.join(", ")),
            Self::MachineAway { .. } => "run it on that machine, or leave `--on` out to run it here".into(),
            Self::SpunUpWithoutAgent { task, why, .. } => {
                let again = format!("`frith fork spin-up {}` goes on with the same fork", task.short());
                why.hint().map_or_else(|| again.clone(), |hint| format!("{hint}; then {again}"))
            }
            Self::NoCommand { kind, .. } => {
                format!("install it, or name another with `command` under `[launch.{kind}]` (`frith config path`)")
            }
            Self::UnknownOption { option, kind, .. } if option == "flag" => {
                format!("name its flag with `allow_all_args` under `[launch.{kind}]`, or launch another kind")
            }
            Self::UnknownOption { known, option, kind, .. } if known.is_empty() => {
                format!("list what it takes with `{option}s` under `[launch.{kind}]`")
            }
            Self::UnknownOption { known, .. } => format!("it takes {}", known.join(", ")),
            Self::TooManyAgents { .. } => {
                "stop one (`frith agents sessions`), or allow more: `frith config set node.max_agents <number>`".into()
            }
            Self::ForkFolderFault { way_out, .. } => return way_out.clone(),
            Self::ProjectFile { file, .. } => format!("take the `frith` entry out of `{file}` and commit that, then launch again"),
            Self::ProjectFileBroken { .. } => "mend the file, then launch again".into(),
            Self::RulesNotWritten { place, .. } => {
                format!("make room for it, or launch without rules: `frith workspace set {} --auto-allowed-tools ''`", place.name)
            }
            Self::NotStarted { .. } => "`frith logs` has the details".into(),
            Self::EndedAtOnce { agent, .. } => format!("`frith agents attach {}` shows all that it said", agent.short()),
            Self::AgentEnded { .. } => "`frith agents launch <place>` starts another".into(),
            Self::NotLaunched { host, .. } => format!("end it in `{host}` itself"),
            Self::NoTerminal { .. } => "attach works for agents that `frith agents launch` started".into(),
            _ => return None,
        })
    }

    fn other_hint(&self) -> Option<String> {
        Some(match self {
            Self::Unfinished { tasks, .. } | Self::OpenedMeanwhile { tasks, .. } => {
                format!(
                    "finish or move {}: `frith task status {} completed`",
                    if tasks.len() == 1 { "it" } else { "them" },
                    tasks.first()?.id.short()
                )
            }
            Self::StandsInFolder { .. } => "leave it first: `cd`".into(),
            Self::ForeignProcess { pid, .. } => format!("end process {pid} first"),
            Self::ForeignAgents { agents, .. } => {
                let whose = if agents.len() == 1 { "its session" } else { "their sessions" };
                format!("end {whose} first; `frith agents show {}` tells where it runs", agents.first()?.id.short())
            }
            Self::StillStopping { .. } | Self::Busy { .. } | Self::Stale => "run it again in a moment".into(),
            Self::HomeAway { .. } => "bring that machine back, or fork the parent and work there".into(),
            Self::OutsidePlace { .. } => "ask a person, or an agent of the supervisor workspace".into(),
            Self::PersonsOnly { .. } => "a person runs it from a shell of their own".into(),
            Self::AgentsOnly { .. } => "run it from an agent's shell".into(),
            Self::LongStatus { .. } => "say it in fewer words".into(),
            Self::OtherAgent { .. } => "run it from that agent's own shell, or without the variable: `unset FRITH_AGENT_ID`".into(),
            Self::SeveralAgents { .. } => "set `FRITH_AGENT_ID` to the one that is meant".into(),
            Self::NotLinked { .. } => {
                "`frith agents sessions` shows those that are known; a session is known from its first hook on".into()
            }
            Self::NotRegistered { .. } => "its MCP server registers one; to ask whom it works for registers nobody".into(),
            Self::OutsideSessions { .. } => "use `frith agents` in the agent's shell".into(),
            Self::NoOwnPlace { folder } => format!("a person makes that folder a workspace: `cd '{folder}'`, then `frith quickstart`"),
            Self::OtherEntry { .. } => "take `--place` out of the entry, or start the agent in that place's folder".into(),
            Self::UnplacedCaller => "run it from an ordinary shell on this machine".into(),
            Self::FileThere { .. } => "choose another name, or write over it with `--force`".into(),
            Self::StoreThere { .. } => {
                "restore into another home (`FRITH_HOME=<folder> frith restore …`), or move the store and its `blobs` away first".into()
            }
            Self::OtherMembers { .. } => {
                "one of them has everything as well; a restored machine cannot join its team again in this version of frith".into()
            }
            _ => return None,
        })
    }
}

/// The name that ends as the given one does, or what a name looks like.
fn zone_hint(given: &str) -> String {
    let city = given.rsplit('/').next().unwrap_or_default().trim().replace(' ', "_");
    let is_meant = |name: &String| name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&city));
    match zone_names().into_iter().find(is_meant) {
        Some(name) => format!("`{name}` may be meant"),
        None => "a name of the tz database, such as `Europe/Berlin` or `UTC`".into(),
    }
}
