//! Terminals that come and go leave nothing behind. It stands alone, because it counts what its whole process holds.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use frith_actors::{
    env::{
        process::{Launch, TerminalSize},
        real::process::RealProcesses,
    },
    terminal::{Look, Terminal, TerminalArgs, TerminalMessage},
};
use ractor::Actor;

/// Descriptors and children of this process.
fn held() -> (usize, BTreeSet<String>) {
    let listed = |folder: &str| std::fs::read_dir(folder).map_or(0, Iterator::count);
    let descriptors = if Path::new("/proc/self/fd").exists() { listed("/proc/self/fd") } else { listed("/dev/fd") };
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children = children.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    (descriptors, children)
}

/// Opens a terminal with a viewer, runs an agent with a child in it, and ends it in one of four ways.
async fn one_life(round: usize) {
    let args = TerminalArgs {
        processes: Arc::new(RealProcesses::new()),
        size: TerminalSize::DEFAULT,
        patterns: None,
        seen: tokio::sync::watch::Sender::default(),
        on_end: Box::new(drop),
    };
    let (terminal, ended) = Actor::spawn(None, Terminal, args).await.unwrap();
    let look = Look::Terminal(TerminalSize::new(30, 100));
    let mut viewing = terminal.call(|reply| TerminalMessage::Attach(look, reply), None).await.unwrap().unwrap();
    let launch = Launch {
        command: "sh".into(),
        args: vec!["-c".into(), if round.is_multiple_of(4) { "echo done" } else { "sleep 1000 | cat" }.into()],
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        folder: std::env::temp_dir(),
    };
    terminal.call(|reply| TerminalMessage::Start(Box::new(launch), reply), None).await.unwrap().unwrap().unwrap();
    match round % 4 {
        0 => while viewing.next().await.is_some() {},
        1 => drop(terminal.call(|reply| TerminalMessage::Stop(Duration::from_secs(5), reply), None).await.unwrap().unwrap()),
        2 => terminal.kill(),
        _ => drop(viewing),
    }
    terminal.stop(None);
    ended.await.unwrap();
}

#[test]
fn e24_two_hundred_terminals_leave_no_descriptor_and_no_child() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        one_life(0).await;
        let before = held();
        for round in 0..200 {
            one_life(round).await;
        }
        // Those whose actor was killed or dropped end on their own, soon.
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        let patience = tokio::time::timeout(Duration::from_secs(20), async {
            while held() != before {
                looks.tick().await;
            }
        });
        assert!(patience.await.is_ok(), "before: {before:?}, after: {:?}", held());
    });
}
