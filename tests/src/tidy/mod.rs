//! The project's own rules, as a checker: each rule reads the tree and says where it is broken.
//!
//! It reads files and `cargo metadata` and never the network. A rule is a plain function from a [`Tree`] to its
//! [`Fault`]s, so that a tree made up in a test can show that the rule is able to fail.

pub mod code;
pub mod crates;
pub mod refusals;
pub mod source;
pub mod tree;

pub use tree::{Fault, Tree};

/// A rule by name, and how it is checked.
pub type Rule = (&'static str, fn(&Tree) -> Vec<Fault>);

/// Every rule.
pub const RULES: &[Rule] = &[
    ("the root is the front door", tree::front_door),
    ("the crates are where the map says", crates::layout),
    ("no path of a developer's machine", tree::no_machine_paths),
    ("no snapshot without its test", tree::snapshots),
    ("one clippy for all", crates::one_clippy),
    ("modules stand in order", crates::module_order),
    ("crates do not know what they must not", crates::ignorance),
    ("each module says what it is for", source::headers),
    ("files and functions are short", source::sizes),
    ("nothing allowed, unfinished or ignored", source::nothing_unfinished),
    ("every select is biased", source::biased),
    ("exceptions stand at the door to the world", source::exceptions),
    ("only one file runs git", source::git_runs_once),
    ("text for people stands in one place", source::text_for_people),
    ("no host is matched by name", source::hosts_by_name),
    ("help keeps to the vocabulary", source::vocabulary),
    ("each refusal says what would help", refusals::hints),
];
