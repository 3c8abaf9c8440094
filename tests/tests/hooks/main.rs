//! Hooks of hosts: what each host's payloads tell and get, and the program that hosts run.

mod node;
mod payloads;
mod program;
mod with_node;
mod worktrees;
