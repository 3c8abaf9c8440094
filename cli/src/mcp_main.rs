//! `frith mcp`: what a host starts as its MCP server. Standard output carries the protocol and nothing else.
//!
//! It is taken away before anything else happens, so that whatever this program or a child of it prints goes to standard error.

use std::{
    fs::File,
    io,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, OnceLock},
};

use frith_actors::{call::Failed, env::real::stdio::take_standard_output, local::client::Connection};
use frith_mcp::{Reach, Serving, serve};
use frith_store::hosts;

use crate::{
    args::Mcp,
    ask,
    failure::{Failure, Told},
    start,
};

/// Where standard output led, once it was taken.
static OUTPUT: OnceLock<File> = OnceLock::new();

/// Takes standard output when this process was started as a host's server. Who asks for help is answered there as ever.
pub fn take_output_for_server() {
    let mut words = std::env::args_os().skip(1);
    let is_server = words.next().is_some_and(|word| word == "mcp");
    let asks_for_help = words.any(|word| word == "--help" || word == "-h");
    if is_server && !asks_for_help {
        // Where there is none the server says so.
        let _ = output();
    }
}

fn output() -> io::Result<File> {
    if let Some(taken) = OUTPUT.get() {
        return taken.try_clone();
    }
    let taken = take_standard_output()?;
    OUTPUT.get_or_init(|| taken).try_clone()
}

/// Serves until the host ends.
///
/// # Errors
/// The host is none that is known, or there is nothing to serve over.
pub fn carry_out(args: &Mcp) -> Result<ExitCode, Failure> {
    let output = output().map_err(|error| Failure::Broken(Told::because("there is no standard output to serve over", &error)))?;
    let host = hosts::host(&args.host).ok_or_else(|| {
        let known = hosts::all().iter().map(|host| host.id).collect::<Vec<_>>().join(", ");
        Failure::Broken(Told::new(format!("`{}` is no host", args.host)).hint(format!("it is one of {known}")))
    })?;
    let home = start::home()?;
    let files = home.join("fetched");
    let serving = Serving { host, place: args.place, claims: ask::claims(), reach: Arc::new(Home(home)), files };
    serve(serving, output).map_err(|error| Failure::Broken(Told::because("the server cannot run", &error)))?;
    Ok(ExitCode::SUCCESS)
}

/// The node's home.
struct Home(PathBuf);

impl Reach for Home {
    fn started(&self) -> Result<Connection, Failed> {
        start::reach_or_start(&self.0, true).map_err(failed)
    }

    fn running(&self) -> Result<Option<Connection>, Failed> {
        start::reach(&self.0).map_err(failed)
    }
}

/// What kept the node from being asked, as a tool tells it.
fn failed(failure: Failure) -> Failed {
    match failure {
        Failure::Refused(refusal) => Failed::Refused(refusal),
        other => {
            let Told { facts, hint } = other.told();
            Failed::Broken { facts, hint }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::args;

    #[test]
    fn each_command_that_a_hint_tells_as_a_tool_is_one() {
        for (command, _) in frith_mcp::TOOLS_OF_COMMANDS {
            let root = args::command();
            let found = command.split(' ').skip(1).try_fold(&root, |at, word| at.find_subcommand(word));
            assert!(found.is_some(), "{command}");
        }
    }
}
