//! A host for tests: a process that is no shell, below which hooks, shells and servers run. What it starts it is told over
//! the socket that its only argument names.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let socket = std::env::args_os().nth(1);
    let served = socket.map(|socket| frith_tests::errand::serve(Path::new(&socket)));
    if matches!(served, Some(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
