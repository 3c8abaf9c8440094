//! From a command to what carries it out: the request to the node, and the text for its reply.

mod worktrees;

use std::{
    io::{self, Read as _},
    process::ExitCode,
    time::Duration,
};

use frith_actors::{
    api::{
        Request, agents as agents_api, attachment as attachment_api, fork as fork_api, memory as memory_api, node as node_api,
        skill as skill_api, task as task_api, workspace as workspace_api,
    },
    call::ToNode,
    env::process::AGENT_VARIABLE,
    local::{
        LocalError,
        lock::{HomeLock, Locked},
    },
};
use frith_store::{
    refusal::{Refusal, TEXT_MOST},
    text::{PathText, drawable, undrawable_escaped},
};
use serde::Serialize;

use crate::{
    args::{
        AgentSend, AgentWhoami, Agents, Command, Config, ConfigGet, ConfigSet, ConfigShow, Fork, Line, Logs, Memory, Site, Skill, Task,
        TaskAttachment, Up, Workspace,
    },
    ask::Run,
    attach, attachments, config, confirm, doctor, environment,
    failure::{Failure, Told},
    hook_main, install_main, install_project, log, mcp_main, node_main, pages, progress, quickstart,
    render::{self, Look, Paper},
    restore, service_main, skill_folder, start, status,
    viewing::Outcome,
};

type Done = Result<ExitCode, Failure>;

const YES: ExitCode = ExitCode::SUCCESS;

/// Carries out a command line.
///
/// # Errors
/// Why it has no answer.
pub fn carry_out(line: Line) -> Done {
    let run = Run { global: line.global, home: start::home()? };
    if !run.is_quiet() {
        config::misspelt_variables().iter().for_each(|warning| progress::say(&format!("warning: {warning}")));
    }
    match line.command {
        Command::Quickstart(_) => show(&run, &quickstart::run(&run)?, render::quickstart),
        Command::Up(args) => up(&run, &args),
        Command::Down(request) => down(&run, request),
        Command::Status(_) => show(&run, &status::ask(&run)?, render::status),
        Command::Logs(args) => logs(&run, &args),
        Command::Doctor(args) => {
            if args.fix {
                require_person(&run, "mend what `doctor` finds")?;
            }
            let found = doctor::examine(&run, &args);
            show(&run, &found, render::doctor)?;
            Ok(ExitCode::from(u8::from(found.has_bad())))
        }
        Command::Backup(mut request) => {
            request.file = absolute(request.file);
            answer(&run, request, render::backed_up)
        }
        Command::Hook(args) => Ok(hook_main::carry_out(args)),
        Command::Mcp(args) => mcp_main::carry_out(&args),
        Command::Restore(args) => {
            require_person(&run, "restore a backup")?;
            show(&run, &restore::run(&run, &args)?, render::restored)
        }
        Command::Workspace(verb) => workspace(&run, verb),
        Command::Fork(verb) => fork(&run, verb),
        Command::Task(verb) => task(&run, verb),
        Command::Agents(verb) => agents(&run, verb),
        Command::Worktree(verb) => worktrees::worktree(&run, verb),
        Command::Memory(verb) => memory(&run, verb),
        Command::Skill(verb) => skill(&run, verb),
        Command::Site(verb) => site(&run, verb),
        Command::Config(verb) => configuration(&run, verb),
        Command::Completions(args) => pages::completions(&args).map(|()| YES),
        Command::Man(args) => pages::man(&args).map(|()| YES),
    }
}

/// Asks, and shows the reply.
fn answer<R: Request>(run: &Run, request: R, draw: impl FnOnce(&R::Reply, &mut Paper)) -> Done {
    show(run, &run.ask(request)?, draw)
}

/// A request that can be tried without anything being done.
trait Tried: Request + Clone {
    fn dry_run(&mut self) -> &mut bool;
}

macro_rules! tried {
    ($($request:ty),+) => { $(impl Tried for $request {
        fn dry_run(&mut self) -> &mut bool { &mut self.dry_run }
    })+ };
}

tried!(workspace_api::Delete, fork_api::Merge, task_api::Delete, attachment_api::Remove, skill_api::Remove);

/// Asks a person about what would go, then asks the node: a refusal comes before a question, and the question says what goes.
fn ask_first<R: Tried>(
    run: &Run,
    mut request: R,
    question: impl FnOnce(&R::Reply) -> String,
    draw: impl FnOnce(&R::Reply, &mut Paper),
) -> Done {
    if !*request.dry_run() {
        *request.dry_run() = true;
        let would = run.ask(request.clone())?;
        confirm::ask(&question(&would), run.global.yes)?;
        *request.dry_run() = false;
    }
    answer(run, request, draw)
}

/// Shows a reply: as JSON, or drawn.
fn show<T: Serialize>(run: &Run, reply: &T, draw: impl FnOnce(&T, &mut Paper)) -> Done {
    let text = if run.global.json {
        let json = serde_json::to_string_pretty(reply);
        undrawable_escaped(&json.map_err(|error| Failure::Broken(Told::because("the answer has no JSON form", &error)))?) + "\n"
    } else {
        let mut paper = Paper::new(Look::of(&run.global));
        draw(reply, &mut paper);
        paper.text()
    };
    render::put(&text).map(|()| YES)
}

fn workspace(run: &Run, verb: Workspace) -> Done {
    match verb {
        Workspace::Create(mut request) => {
            request.folder = request.folder.map(absolute);
            answer(run, request, render::made)
        }
        Workspace::List(request) => answer(run, request, render::places),
        Workspace::Show(request) => answer(run, request, render::place),
        Workspace::Set(mut request) => {
            request.folder = request.folder.map(absolute);
            answer(run, request, |place, paper| render::place_is(place, "changed", paper))
        }
        Workspace::Allow(request) => {
            let (rule, removes) = (request.rule.clone(), request.remove);
            answer(run, request, |place, paper| render::allowed(place, &rule, removes, paper))
        }
        Workspace::Archive(request) => answer(run, request, |place, paper| render::place_is(place, "archived", paper)),
        Workspace::Unarchive(request) => answer(run, request, |place, paper| render::place_is(place, "unarchived", paper)),
        Workspace::Delete(request) => ask_first(run, request, render::delete_question, render::deleted),
        Workspace::Stats(request) => answer(run, request, render::stats),
    }
}

/// A path as the node needs it, which has another current folder.
fn absolute(path: PathText) -> PathText {
    std::path::absolute(path.as_path()).map_or(path, |path| path.as_path().into())
}

fn fork(run: &Run, verb: Fork) -> Done {
    match verb {
        Fork::Create(request) => answer(run, request, render::made),
        Fork::List(request) => answer(run, request, render::places),
        Fork::SpinUp(request) => answer(run, request, render::spun_up),
        Fork::Merge(request) => merge(run, request),
    }
}

/// A merge takes nothing away but a folder, and only when it is told to: then it is asked about.
fn merge(run: &Run, request: fork_api::Merge) -> Done {
    match request.delete_folder {
        true => ask_first(run, request, render::merge_question, render::merged),
        false => answer(run, request, render::merged),
    }
}

fn task(run: &Run, verb: Task) -> Done {
    match verb {
        Task::Add(mut request) => {
            request.body = request.body.map(text_or_input).transpose()?;
            answer(run, request, render::added)
        }
        Task::List(request) => {
            let filtered = !request.status.is_empty() || request.grep.is_some();
            match request.deleted {
                true => answer(run, request, render::trash),
                false => answer(run, request, |tasks, paper| render::tasks(tasks, filtered, paper)),
            }
        }
        Task::Show(request) => answer(run, request, render::show_task),
        Task::Edit(mut request) => {
            request.body = request.body.map(text_or_input).transpose()?;
            answer(run, request, |task, paper| render::task_is(task, "changed", paper))
        }
        Task::Status(request) => answer(run, request, |reply, paper| render::task_is(reply, reply.task.status.word(), paper)),
        Task::Move(request) => answer(run, request, render::moved),
        Task::Reply(mut request) => {
            request.text = text_or_input(request.text)?;
            answer(run, request, render::replied)
        }
        Task::Next(request) => answer(run, request, render::next),
        Task::Attach(args) => show(run, &attachments::attach(run, &args)?, render::attached),
        Task::Attachment(args) => attachment(run, &args),
        Task::Detach(request) => ask_first(run, request, render::detach_question, render::detached),
        Task::Delete(request) => ask_first(run, request, render::delete_tasks_question, render::deleted_tasks),
        Task::Restore(request) => answer(run, request, render::restored_tasks),
    }
}

fn memory(run: &Run, verb: Memory) -> Done {
    match verb {
        Memory::List(request) => answer(run, request, render::notes),
        Memory::Get(request) => get_note(run, request),
        Memory::Set(mut request) => {
            request.text = text_or_input(request.text)?;
            answer(run, request, |reply, paper| render::note_saved(reply, false, paper))
        }
        Memory::Delete(request) => delete_note(run, request),
    }
}

/// A note that was never written is empty: that it is so is the story, and no text of it.
fn get_note(run: &Run, request: memory_api::Load) -> Done {
    let note = run.ask(request)?;
    if note.versions.is_empty() && !run.global.json {
        if !run.is_quiet() {
            progress::say(&render::no_note(&note));
        }
        return Ok(YES);
    }
    show(run, &note, render::note)
}

/// What would go is asked first; where nothing is there, there is nothing to ask.
fn delete_note(run: &Run, request: memory_api::Delete) -> Done {
    let there = run.ask(memory_api::Load { name: request.name.clone(), workspace: request.workspace.clone() })?;
    if there.versions.iter().any(|version| version.text.is_some()) {
        confirm::ask(&render::note_deletion_question(&there), run.global.yes)?;
    }
    answer(run, request, |reply, paper| render::note_saved(reply, true, paper))
}

fn skill(run: &Run, verb: Skill) -> Done {
    match verb {
        Skill::Add(args) => answer(run, skill_folder::read(&args.folder)?, render::skill_added),
        Skill::List(request) => answer(run, request, render::skills),
        Skill::Show(request) => show_skill(run, request),
        Skill::On(request) => answer(run, request, render::skill_switched),
        Skill::Off(request) => answer(run, request, render::skill_switched),
        Skill::Remove(request) => ask_first(run, request, render::skill_removal_question, render::skill_removed),
    }
}

/// A file that was named is the answer by itself, as it is.
fn show_skill(run: &Run, request: skill_api::Load) -> Done {
    let names_file = request.file.is_some();
    let loaded = run.ask(request)?;
    if !names_file || run.global.json {
        return show(run, &loaded, render::skill);
    }
    let bytes = match (loaded.text, loaded.bytes) {
        (Some(text), _) => text.into_bytes(),
        (None, bytes) => bytes.unwrap_or_default().0,
    };
    attachments::to_standard_output(&loaded.path, bytes).map(|()| YES)
}

fn site(run: &Run, verb: Site) -> Done {
    match verb {
        Site::Add(request) => answer(run, request, |reply, paper| render::site_is(reply, true, paper)),
        Site::List(request) => answer(run, request, render::sites),
        Site::Remove(request) => answer(run, request, |reply, paper| render::site_is(reply, false, paper)),
    }
}

/// What went to standard output is the answer already.
fn attachment(run: &Run, args: &TaskAttachment) -> Done {
    let fetched = attachments::fetch(run, args)?;
    if fetched.file.is_none() { Ok(YES) } else { show(run, &fetched, render::fetched) }
}

/// A text as given, or standard input for `-`.
fn text_or_input(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    // One byte more than is accepted, so that the node says that it is too long.
    let read = io::stdin().lock().take(TEXT_MOST as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::Broken(Told::because("standard input cannot be read", &error)))?;
    String::from_utf8(bytes).map_err(|error| Failure::Broken(Told::because("standard input is no UTF-8 text", &error)))
}

fn agents(run: &Run, verb: Agents) -> Done {
    match verb {
        Agents::Launch(request) => answer(run, request, render::launched),
        Agents::Stop(request) => answer(run, request, render::stopped),
        Agents::Attach(request) => attach_to(run, request),
        Agents::Sessions(request) => sessions(run, request),
        Agents::Show(request) => answer(run, request, render::show_agent),
        Agents::Whoami(AgentWhoami { host: Some(host) }) => answer(run, agents_api::Link { host, look: true }, render::whoami),
        Agents::Whoami(AgentWhoami { host: None }) => answer(run, agents_api::Whoami {}, render::whoami),
        Agents::Status(request) => answer(run, request, render::status_set),
        Agents::Send(args) => answer(run, message(args)?, render::sent),
        Agents::Unsend(request) => answer(run, request, render::unsent),
        Agents::Inbox(request) => inbox(run, request),
        Agents::Install(args) => {
            require_person(run, "install into hosts")?;
            let done = match args.project {
                true => install_project::install(run, &args),
                false => install_main::install(run, &args),
            };
            hosts_done(run, &done?)
        }
        Agents::Uninstall(args) => {
            require_person(run, "take frith out of hosts")?;
            let done = match args.project {
                true => install_project::uninstall(run, &args),
                false => install_main::uninstall(run, &args),
            };
            hosts_done(run, &done?)
        }
        Agents::List(args) => show(run, &install_main::list(run, &args)?, render::hosts),
    }
}

/// What became of the hosts that could be changed is the answer; of those that could not, the failure.
fn hosts_done(run: &Run, done: &install_main::Done) -> Done {
    let shown = show(run, done, render::hosts_done)?;
    done.failure().map_or(Ok(shown), Err)
}

/// The message that a command line sends. To all there is no recipient to name, so the first word is the text.
fn message(args: AgentSend) -> Result<agents_api::Send, Failure> {
    let AgentSend { to, text, all_live, task } = args;
    let (to, text) = match (text, all_live) {
        (Some(text), false) => (Some(to), text),
        (None, true) => (None, to),
        _ => {
            let told = Told::new("`--all-live` names all recipients, and the text stands alone beside it");
            return Err(Failure::Broken(told.hint("one text in quotes: `frith agents send --all-live \"<text>\"`")));
        }
    };
    let (is_input, mut text) = (text == "-", text_or_input(text)?);
    if is_input && text.ends_with('\n') {
        // It ended the last line, and is no empty one behind it.
        text.pop();
    }
    Ok(agents_api::Send { to, text, all_live, task })
}

/// One's own messages count as read once they were written here: until then the node is not told, and who could not write them
/// finds them unread again. Ids alone are no message that anybody read.
fn inbox(run: &Run, request: agents_api::Inbox) -> Done {
    let mut node = start::reach_or_start(&run.home, run.is_quiet())?;
    let reply = run.ask_at(&mut node, request.clone())?;
    show(run, &reply, |letters, paper| render::letters(letters, &request, paper))?;
    let shows_ids_only = run.is_quiet() && !run.global.json;
    let marks = request.mailbox.is_none() && !request.sent && !reply.messages.is_empty() && !shows_ids_only;
    if marks && node.send(&ToNode::Written).is_err() && !run.is_quiet() {
        progress::say("warning: the node did not hear that these were read, and shows them as unread again");
    }
    if marks {
        // The node closes when it has noted it, so that the next command finds it so.
        let _ = node.read();
    }
    Ok(YES)
}

/// Where no agent runs, those that ended are counted, so that whoever looks for one learns where it is.
fn sessions(run: &Run, request: agents_api::Sessions) -> Done {
    let all = request.all;
    let reply = run.ask(request)?;
    let counts = reply.agents.is_empty() && !all && !run.global.json && !run.is_quiet();
    let ended = if counts { run.ask(agents_api::Sessions { all: true, machine: None })?.agents.len() } else { 0 };
    show(run, &reply, |reply, paper| render::sessions(reply, ended, paper))
}

/// The code follows the look and not the agent: 0 where it ended as it should, as a shell has it for a signal.
fn attach_to(run: &Run, request: agents_api::Attach) -> Done {
    require_no_json(run, "agents attach")?;
    let (attached, outcome) = attach::attach(run, request)?;
    let told = render::look_ended(&attached, outcome);
    if outcome == Outcome::NodeGone {
        return Err(Failure::Unreachable(Told::new(told).hint("`frith status` says whether a node runs, and `frith logs` why not")));
    }
    if !run.is_quiet() {
        progress::say(&told);
    }
    Ok(match outcome {
        Outcome::Signalled(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        _ => YES,
    })
}

fn configuration(run: &Run, verb: Config) -> Done {
    match verb {
        Config::Show(args) => config_show(run, &args),
        Config::Get(args) => config_get(run, &args),
        Config::Set(args) => config_set(run, &args),
        Config::Unset(args) => config_unset(run, &args),
        Config::Path => render::put(&format!("{}\n", config::path(&run.home).display())).map(|()| YES),
    }
}

fn read_config(run: &Run) -> Result<config::Config, Failure> {
    let folder = std::env::current_dir().ok();
    let config = config::read(&run.home, folder.as_deref(), &[])?;
    config.warn();
    Ok(config)
}

fn config_show(run: &Run, args: &ConfigShow) -> Done {
    let config = read_config(run)?;
    show(run, &config, |config, paper| render::settings(config, args.sources, paper))
}

fn config_get(run: &Run, args: &ConfigGet) -> Done {
    let config = read_config(run)?;
    let setting = config.setting(&args.key)?;
    show(run, setting, |setting, paper| paper.line(setting.value.as_str().map_or_else(|| setting.value.to_string(), str::to_owned)))
}

/// What runs in the command itself is for people too. A node that runs is asked who calls; where none does, the variable of
/// agents' shells has to tell. An agent could write the files by itself; this is so that it asks a person first.
fn require_person(run: &Run, what: &str) -> Result<(), Failure> {
    if environment::read(AGENT_VARIABLE).is_none() && !is_known_otherwise(run) {
        return Ok(());
    }
    Err(Failure::Refused(Box::new(Refusal::PersonsOnly { what: what.into() })))
}

/// Whether the node, where one runs, knows the caller as something else than a person. One that cannot be asked knows nothing.
fn is_known_otherwise(run: &Run) -> bool {
    let Ok(Some(mut node)) = start::reach(&run.home) else { return false };
    match run.ask_at(&mut node, agents_api::Whoami {}) {
        Ok(_) => true,
        Err(Failure::Refused(refusal)) => !matches!(*refusal, Refusal::AgentsOnly { .. }),
        Err(_) => false,
    }
}

fn config_set(run: &Run, args: &ConfigSet) -> Done {
    require_person(run, "change the configuration")?;
    start::make_home(&run.home)?;
    let path = config::path(&run.home);
    let value = config::edit::set(&path, &args.key, &args.value)?;
    let setting = config::Setting { value, source: config::Source::File(path, 0) };
    if !run.is_quiet() && !config::keys::is_live(&args.key) {
        tell_when_it_counts(run);
    }
    show(run, &setting, |setting, paper| {
        if !paper.look.quiet {
            paper.line(format!("{} = {}", args.key, setting.value));
        }
    })
}

fn config_unset(run: &Run, args: &ConfigGet) -> Done {
    require_person(run, "change the configuration")?;
    let taken = config::edit::unset(&config::path(&run.home), &args.key)?;
    let config = read_config(run)?;
    if taken && !run.is_quiet() && !config::keys::is_live(&args.key) {
        tell_when_it_counts(run);
    }
    let left = config.settings.get(&args.key);
    show(run, &left, |left, paper| {
        if !paper.look.quiet {
            let done = if taken { "taken out" } else { "was not in the file" };
            let now = left.map_or_else(
                || "nothing counts now".to_owned(),
                |left| format!("{} counts ({})", left.value.to_string().trim(), left.source),
            );
            paper.line(format!("{}: {done}; {now}", args.key));
        }
    })
}

/// That the value is written is the answer; a node that cannot be asked about its agents takes nothing from it.
fn tell_when_it_counts(run: &Run) {
    let Ok(Some(mut node)) = start::reach(&run.home) else { return };
    let agents = run.ask_at(&mut node, node_api::Status {}).map_or(0, |status| status.agents.len());
    let stops = match agents {
        0 => String::new(),
        1 => "; 1 agent runs now, and ending the node stops it".to_owned(),
        number => format!("; {number} agents run now, and ending the node stops them"),
    };
    progress::say(&format!("takes effect when the node starts next{stops}"));
}

fn up(run: &Run, args: &Up) -> Done {
    if args.install_service || args.uninstall_service {
        require_person(run, "install the service or take it away")?;
        return show(run, &service_main::run(run, args)?, render::service);
    }
    if args.foreground {
        return node_main::run(&run.home, args).map(|()| YES);
    }
    if let Some(flag) = args.set.first() {
        let told = Told::new(format!("`--set {flag}` is for a node in the foreground"));
        return Err(Failure::Broken(told.hint("add `--foreground`, or write it down: `frith config set`")));
    }
    show(run, &status::ask(run)?, render::status)
}

/// How long a node may take to be gone after it said that it goes.
const GONE_MOST: Duration = Duration::from_secs(30);
const NAP: Duration = Duration::from_millis(20);

fn down(run: &Run, request: node_api::Down) -> Done {
    let Some(mut node) = start::reach_patiently(&run.home)? else {
        return show(run, &None, |stopped: &Option<node_api::Stopped>, paper| render::down(stopped.as_ref(), paper));
    };
    if let Err(error) = node.greet() {
        return down_by_signal(run, error);
    }
    let stopped = run.ask_at(&mut node, request)?;
    wait_until_gone(run)?;
    show(run, &stopped, |stopped, paper| render::down(Some(stopped), paper))
}

/// A node of another version understands no request, but it ends its agents at a signal as well. Its process is the one
/// at the other end of the socket, so no other is ever meant.
fn down_by_signal(run: &Run, error: LocalError) -> Done {
    let LocalError::OtherProtocol { pid: Some(pid), ref theirs, .. } = error else { return Err(error.into()) };
    let Some(process) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return Err(error.into()) };
    progress::say(&format!("the node is frith {}, which is asked to end by a signal", theirs.version));
    let asked = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    asked.map_err(|error| Failure::Broken(Told::because(format!("process {pid} could not be asked to end"), &error)))?;
    wait_until_gone(run)?;
    render::put(if run.global.json { "null\n" } else { "the node is down\n" }).map(|()| YES)
}

/// The node is gone when its lock is free: the next one can start.
fn wait_until_gone(run: &Run) -> Result<(), Failure> {
    for _ in 0..GONE_MOST.as_millis() / NAP.as_millis() {
        if matches!(HomeLock::take(&run.home)?, Locked::Ours(_)) {
            return Ok(());
        }
        std::thread::sleep(NAP);
    }
    let told = Told::new("the node said that it ends, and is still there");
    Err(Failure::Broken(told.hint("`frith logs` may say why")))
}

/// What is shown as it comes has no JSON form.
fn require_no_json(run: &Run, command: &str) -> Result<(), Failure> {
    if !run.global.json {
        return Ok(());
    }
    Err(Failure::Broken(Told::new(format!("`frith {command}` has no JSON answer")).hint("leave `--json` out")))
}

fn logs(run: &Run, args: &Logs) -> Done {
    require_no_json(run, "logs")?;
    let path = log::path(&run.home);
    let failed = |error: io::Error| {
        Failure::Broken(Told::because(format!("the log `{}` cannot be read", path.display()), &error).hint("`frith up` begins one"))
    };
    let mut following = log::Following::from_end(&path).map_err(failed)?;
    let lines = log::last_lines(&path, args.lines).map_err(failed)?;
    render::put(&lines.iter().map(|line| drawable(line, false) + "\n").collect::<String>())?;
    if !args.follow {
        return Ok(YES);
    }
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let more = following.more().map_err(failed)?;
        if !more.is_empty() {
            render::put(&drawable(&String::from_utf8_lossy(&more), true))?;
        }
    }
}
