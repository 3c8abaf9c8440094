//! Many agents at once, each a process with commands and hooks of its own: what they send each other is all there, in the order
//! of each sender, and none of it twice. `just soak` runs it with more messages.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{collections::BTreeMap, thread};

use frith_tests::{Run, Sandbox, host::Host};
use serde_json::Value;

/// How many agents there are.
const AGENTS: usize = 50;
/// The hosts they are sessions of.
const HOSTS: [&str; 5] = ["claude", "codex", "gemini", "qwen", "copilot"];
/// After how many messages of its own an agent's hook runs, and after how many of these it reads its mailbox.
const HOOK_EVERY: usize = 4;
const INBOX_EVERY: usize = 3;

/// How many messages all of them send together.
fn messages() -> usize {
    std::env::var("FRITH_TEST_MESSAGES").map_or(2_000, |count| count.parse().expect("FRITH_TEST_MESSAGES is a number"))
}

/// From whom, to whom, and which of what that one sends.
type Sent = (usize, usize, usize);

fn body((from, to, number): Sent) -> String {
    format!("load {from} {to} {number}")
}

fn parse(line: &str) -> Option<Sent> {
    let mut numbers = line.strip_prefix("load ")?.split(' ').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// What one agent was given.
#[derive(Default)]
struct Got {
    pushed: Vec<Sent>,
    read: Vec<Sent>,
}

impl Got {
    fn push(&mut self, hook: &Run) {
        // One that had no time left on a busy machine says nothing, and nothing counts as pushed.
        let answer: Value = if hook.stdout.is_empty() { Value::Null } else { serde_json::from_str(&hook.stdout).unwrap() };
        let context = find_text(&answer);
        self.pushed.extend(context.lines().filter_map(|line| parse(line.strip_prefix("> ")?)));
    }

    /// Reads the mailbox once, and answers whether there was anything unread.
    fn read(&mut self, host: &mut Host<'_>) -> bool {
        let read = host.frith(["agents", "inbox", "--unread", "--limit", "100", "--json"]).ok().json();
        let messages = read["messages"].as_array().unwrap().clone();
        self.read.extend(messages.iter().map(|message| parse(message["text"].as_str().unwrap()).unwrap()));
        !messages.is_empty()
    }
}

/// All text of an answer, whatever the host's shape for it is.
fn find_text(answer: &Value) -> String {
    match answer {
        Value::String(text) => format!("{text}\n"),
        Value::Object(fields) => fields.values().map(find_text).collect(),
        _ => String::new(),
    }
}

#[test]
fn fifty_agents_send_each_other_thousands_and_each_message_is_there_once_in_its_senders_order() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let each = messages() / AGENTS;
    let mut hosts: Vec<Host<'_>> = (0..AGENTS).map(|me| Host::begun(&sandbox, HOSTS[me % HOSTS.len()], &repo)).collect();
    let ids: Vec<String> = hosts.iter_mut().map(Host::id).collect();
    let mut got: Vec<Got> = at_once(hosts.iter_mut().enumerate(), |(me, host)| {
        let mut got = Got::default();
        for number in 0..each {
            let to = recipient(me, number);
            let _ = host.frith(["agents", "send", &ids[to], &body((me, to, number))]).ok();
            if number % HOOK_EVERY == me % HOOK_EVERY {
                got.push(&host.tool("true").ok());
            }
            if number % (HOOK_EVERY * INBOX_EVERY) == me % HOOK_EVERY {
                got.read(host);
            }
        }
        got
    });
    at_once(got.iter_mut().zip(&mut hosts), |(got, host)| while got.read(host) {});
    let mut read: Vec<Sent> = Vec::new();
    for (me, got) in got.iter().enumerate() {
        for (what, of) in [("pushed", &got.pushed), ("read", &got.read)] {
            check_order(me, what, of);
        }
        read.extend(&got.read);
    }
    read.sort_unstable();
    let mut sent: Vec<Sent> = (0..AGENTS).flat_map(|me| (0..each).map(move |number| (me, recipient(me, number), number))).collect();
    sent.sort_unstable();
    assert_eq!(read.len(), sent.len());
    assert!(read == sent, "what was read is not what was sent");
    assert!(got.iter().any(|got| !got.pushed.is_empty()), "nothing was pushed at all");
}

/// To whom an agent sends this one of its messages: to each of the others in turn.
fn recipient(me: usize, number: usize) -> usize {
    (me + 1 + (number * 7 + me) % (AGENTS - 1)) % AGENTS
}

/// Does the same with each, all at once, and answers what came of it in their order.
fn at_once<T: Send, R: Send>(with: impl Iterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = with.map(|one| scope.spawn(move || work(one))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// What came to one agent was for it, and of each sender in its order, so none of it twice.
fn check_order(me: usize, what: &str, got: &[Sent]) {
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for (from, to, number) in got {
        assert_eq!(*to, me, "{what}: a message for {to} came to {me}");
        let before = last.insert(*from, *number);
        assert!(before.is_none_or(|before| before < *number), "{what}: of {from}, {number} came after {before:?}");
    }
}
