//! `frith hook`: what a host runs at each of its events. It must never harm the host.
//!
//! It always exits with 0 and within 200 milliseconds, and writes one JSON object or nothing, but where a host wants a worktree
//! made or removed (`hook_worktree`). It is taken before anything else
//! is touched: it reads no configuration and no command line but its own, logs nothing, starts nothing and waits for no lock.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _, stdin, stdout},
    os::fd::AsFd as _,
    panic::catch_unwind,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use frith_actors::{
    api::agents::{Event, EventClass, Noted},
    call::{Claims, Envelope, Failed},
    env::real::stopwatch::Stopwatch,
    hook::{
        above, answer,
        payload::{self, Parsed},
        shell_file,
        spool::{self, Spooled},
        stream,
    },
    local::{brief::Brief, door},
};
use frith_store::{
    hosts::{HookEvent, Host, Instead},
    id::CallId,
    time::Timestamp,
};

use crate::{args, environment, hook_worktree, render};

/// Until when a host's stream is read.
const READ_UNTIL: Duration = Duration::from_millis(120);
/// Until when a node is waited for.
const ASK_UNTIL: Duration = Duration::from_millis(165);
/// Until when the answer is written.
const WRITE_UNTIL: Duration = Duration::from_millis(190);
/// When the process ends, whatever it is at: a step into a file system that does not answer.
const END_AT: Duration = Duration::from_millis(196);
/// How much of a payload is kept.
const KEPT_MOST: usize = 8 * 1024 * 1024;
/// The most characters of context: a host shows its model only the beginning of a longer one.
const CONTEXT_MOST: usize = 9_999;

/// Runs the hook, when that is what this process was started as.
pub fn run() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    let asks_for_help = matches!(words.as_slice(), [only] if only == "--help" || only == "-h");
    (!asks_for_help).then(|| guarded(event_and_host(words)))
}

/// Runs the hook of a command line that had something before its name.
pub fn carry_out(args: args::Hook) -> ExitCode {
    guarded((args.event, args.host))
}

/// Whatever goes wrong inside, the host sees success and nothing that it could take for an answer.
fn guarded((event, host): (String, String)) -> ExitCode {
    let watch = Stopwatch::start();
    std::panic::set_hook(Box::new(|_| {}));
    if let Some((host, row, instead)) = wanted(&event, &host) {
        return hook_worktree::carry_out(host, row, instead);
    }
    // A panic is a fault of ours, of which a host must see nothing; a person who looks for it uses the node.
    let _ = catch_unwind(|| hook(&event, &host, &watch));
    ExitCode::SUCCESS
}

/// What the host wants done at an event, where it wants anything.
fn wanted(event: &str, host: &str) -> Option<(&'static Host, &'static HookEvent, Instead)> {
    let host = payload::host_of(host, &environment::of_host)?;
    let row = host.event(event)?;
    Some((host, row, row.instead?))
}

/// The event and the host that the arguments name; what they do not say is empty, and what they say besides is passed over.
fn event_and_host(words: Vec<OsString>) -> (String, String) {
    let (mut event, mut host) = (None, None);
    let mut words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.strip_prefix("--host") {
            Some("") => host = words.next(),
            Some(rest) => host = rest.strip_prefix('=').map(str::to_owned).or(host),
            None if !word.starts_with('-') && event.is_none() => event = Some(word),
            None => {}
        }
    }
    (event.unwrap_or_default(), host.unwrap_or_default())
}

fn hook(event: &str, host: &str, watch: &Stopwatch) {
    if stdin().is_terminal() {
        return render::hook_to_a_person();
    }
    let bytes = stream::read_value(stdin().as_fd(), watch, READ_UNTIL, KEPT_MOST);
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let Some(host) = payload::host_of(host, &environment::of_host) else { return };
    match payload::read(host, event, &text, &environment::of_host) {
        Some(parsed) => tell(parsed, watch),
        None => drop(write(&answer::shape(host, event, None, None), watch)),
    }
}

/// Tells the node, or the spool, and answers the host.
fn tell(mut parsed: Parsed<'_>, watch: &Stopwatch) {
    let at = environment::now();
    let gone = folder_gone(&parsed.event, watch);
    if parsed.event.folder.is_none() {
        parsed.event.folder = std::env::current_dir().ok().map(|folder| folder.as_path().into());
    }
    let home = environment::home();
    let socket = home.as_deref().and_then(|home| door::find(home).ok().flatten());
    let node = socket.and_then(|socket| Brief::open(&socket, watch, ASK_UNTIL));
    let noted = ask(node.as_ref(), home.as_deref(), &parsed.event, at, watch);
    name_agent(parsed.host, &noted, watch);
    let context = with_note(noted.context, gone.filter(|_| parsed.event.takes_context));
    let bytes = answer::shape(parsed.host, &parsed.event.event, context.as_deref(), parsed.prompt.as_deref());
    if let (true, true, Some(node)) = (write(&bytes, watch), noted.confirm, node) {
        node.written();
    }
}

/// What the node says; nothing when it does not say anything in time, and then the event is kept for it.
fn ask(node: Option<&Brief<'_>>, home: Option<&Path>, event: &Event, at: Timestamp, watch: &Stopwatch) -> Noted {
    let mut call = [0; 16];
    if getrandom::fill(&mut call).is_err() {
        return Noted::default();
    }
    let call = CallId::from_random(call);
    let envelope = Envelope {
        call,
        folder: event.folder.clone(),
        environment: Vec::new(),
        size: None,
        claims: Claims::default(),
        operation: event.clone().into(),
    };
    match node.and_then(|node| node.ask(envelope)) {
        Some(Ok(reply)) => postcard::from_bytes(&reply).unwrap_or_default(),
        Some(Err(Failed::Refused(_))) => Noted::default(),
        Some(Err(Failed::Broken { .. })) | None => {
            if let Some(home) = home {
                end_in_time(watch);
                // What cannot be kept either is lost: a hook has nobody to tell it to.
                let _ = keep(home, Spooled { call, at, event: event.clone(), process: None, ancestors: Vec::new() });
            }
            Noted::default()
        }
    }
}

/// Keeps an event with what stands above this hook. What no host started registers nobody, and is not kept.
fn keep(home: &Path, spooled: Spooled) -> io::Result<()> {
    let (process, ancestors) = above::of_this_process();
    if process.is_none() {
        return Ok(());
    }
    spool::write(home, &Spooled { process, ancestors, ..spooled })
}

/// Makes the agent's id known to its shells, where the host has a file for that.
fn name_agent(host: &Host, noted: &Noted, watch: &Stopwatch) {
    let file = host.environment.shell_file.known().and_then(|variable| environment::of_host(variable));
    if let (Some(agent), Some(file)) = (noted.agent, file.map(PathBuf::from)) {
        end_in_time(watch);
        // The agent is found without it too.
        let _ = shell_file::name_agent(&file, agent);
    }
}

/// The sentence that says that the session's folder is gone, at an event that lets the agent do something about it.
fn folder_gone(event: &Event, watch: &Stopwatch) -> Option<String> {
    if !matches!(event.class, EventClass::Prompt | EventClass::Tool) {
        return None;
    }
    let is_gone = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    let here = std::env::current_dir();
    match &event.folder {
        // The folder a process stands in is known to be there without a look at the disk.
        Some(folder) if here.as_deref().is_ok_and(|here| here == folder.as_path()) => None,
        Some(folder) => {
            end_in_time(watch);
            folder.as_path().metadata().err().is_some_and(is_gone).then(|| render::folder_gone(Some(folder)))
        }
        None => here.err().is_some_and(is_gone).then(|| render::folder_gone(None)),
    }
}

/// Ends the process well when its time is over, for a step that nothing else would end.
fn end_in_time(watch: &Stopwatch) {
    watch.then_at(END_AT, || signal_hook::low_level::exit(0));
}

/// Both, as long as a host shows all of it.
fn with_note(context: Option<String>, note: Option<String>) -> Option<String> {
    match (context, note) {
        (Some(context), Some(note)) => {
            let both = format!("{context}\n{note}");
            Some(if both.chars().count() <= CONTEXT_MOST { both } else { context })
        }
        (context, note) => context.or(note),
    }
}

fn write(bytes: &[u8], watch: &Stopwatch) -> bool {
    stream::write_all(stdout().as_fd(), bytes, watch, WRITE_UNTIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> (String, String) {
        event_and_host(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn b13_whatever_the_arguments_are_they_name_an_event_and_a_host_or_nothing() {
        let wanted = ("Stop".to_owned(), "some".to_owned());
        for words in [&["Stop", "--host", "some"][..], &["--host=some", "Stop"], &["--host", "some", "--new", "Stop", "more"]] {
            assert_eq!(read(words), wanted);
        }
        assert_eq!(read(&[]), Default::default());
        assert_eq!(read(&["Stop", "--host"]), ("Stop".into(), String::new()));
        assert_eq!(read(&["--hostess", "--host=", "Stop"]), ("Stop".into(), String::new()));
    }

    #[test]
    fn b10_a_note_never_pushes_context_over_what_a_host_shows() {
        let both = |length: usize| with_note(Some("x".repeat(length)), Some("gone".into())).unwrap().chars().count();
        assert_eq!(both(9_994), 9_999);
        assert_eq!(both(9_995), 9_995);
        assert_eq!(with_note(None, Some("gone".into())).as_deref(), Some("gone"));
        assert_eq!(with_note(None, None), None);
    }
}
