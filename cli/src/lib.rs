//! The face for people: the command `frith`, which reads a command line, asks this machine's node, and shows what it says.
//!
//! It also is the node when it is told to be. It never decides whether something is allowed. A module uses only modules
//! named before it.

mod environment;
mod shell;
mod size;
mod failure;
mod progress;
mod config;
mod args;
mod confirm;
mod log;
mod service;
mod start;
mod ask;
mod tty;
mod keys;
mod viewing;
mod attach;
mod attachments;
mod skill_folder;
mod install_main;
mod install_project;
mod doctor;
mod restore;
mod service_main;
mod status;
mod quickstart;
mod render;
mod pages;
mod hook_worktree;
mod hook_main;
mod mcp_main;
mod gate;
mod node_main;
mod commands;

use std::{
    ffi::OsString,
    io::{IsTerminal as _, stderr},
    process::ExitCode,
};

use args::Colour;

/// Runs the command that this process was started as.
pub fn run() -> ExitCode {
    // Before anything else: a hook has no time, and nothing may fail for it.
    if let Some(code) = hook_main::run() {
        return code;
    }
    // A host's protocol runs over standard output, where nothing else may be written from here on.
    mcp_main::take_output_for_server();
    let words: Vec<OsString> = std::env::args_os().collect();
    let json = words.iter().any(|word| word == "--json");
    let outcome = args::read(words).map_err(|failure| (failure, Colour::Auto)).and_then(|line| {
        let colour = line.global.color;
        commands::carry_out(line).map_err(|failure| (failure, colour))
    });
    match outcome {
        Ok(code) => code,
        Err((failure, colour)) => failure.report(json, render::wants_colour(colour, stderr().is_terminal())),
    }
}
