//! The rule about refusals: each says what would help, or is listed here as one that nothing helps.

use super::{
    code::{block_end, line_of},
    crates::has_word,
    tree::{Fault, Tree},
};

/// Where refusals are written, and the enum of each file.
const ENUMS: &[(&str, &str)] =
    &[("store/src/refusal.rs", "pub enum Refusal"), ("store/src/refusal/worktree.rs", "pub enum WorktreeRefusal")];

/// Where what helps is written.
const HINTS: &str = "store/src/refusal";

/// Refusals after which there is nothing to do: what was asked for is so already, or was called off by the asker.
const NOTHING_HELPS: &[&str] = &["NotArchived", "BlankText", "StoppedBeforeStart"];

/// Every refusal has a hint, or a place in [`NOTHING_HELPS`].
pub fn hints(tree: &Tree) -> Vec<Fault> {
    ENUMS.iter().flat_map(|(name, head)| hints_of(tree, name, head)).collect()
}

/// Each enum's hints stand in its own file or, for the first, in those below it.
fn hints_of(tree: &Tree, name: &'static str, head: &str) -> Vec<Fault> {
    let Some(file) = tree.file(name) else { return vec![Fault::new(name, 0, "is missing")] };
    let bare = &file.product.bare;
    let Some(start) = bare.find(head) else { return vec![Fault::new(name, 0, "has no refusals")] };
    let end = block_end(bare, start).unwrap_or(bare.len());
    let own = hint_functions(bare);
    let hinted: Vec<&str> = match own.is_empty() {
        true => tree.rust().filter(|file| file.is_below(HINTS)).flat_map(|file| hint_functions(&file.product.bare)).collect(),
        false => own,
    };
    variants(&bare[start..end])
        .filter(|(_, variant)| !NOTHING_HELPS.contains(variant) && !hinted.iter().any(|body| has_word(body, &format!("Self::{variant}"))))
        .map(|(at, variant)| Fault::new(name, line_of(bare, start + at), format!("`{variant}` has no hint")))
        .collect()
}

/// The names of an enum's variants, with where they stand: those indented once.
fn variants(body: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = body.match_indices("\n    ").map(|(at, indent)| (at + 1, &body[at + indent.len()..]));
    lines.filter(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_uppercase())).map(|(at, rest)| {
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        (at, &rest[..end])
    })
}

fn hint_functions(bare: &str) -> Vec<&str> {
    let starts = bare.match_indices("fn ").map(|(at, _)| at);
    let hints = starts.filter(|at| bare[*at + 3..].split('(').next().is_some_and(|name| name.ends_with("hint")));
    hints.filter_map(|at| Some(&bare[at..block_end(bare, at)?])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_without_a_hint_is_found() {
        let source = "pub enum Refusal {\n    A { x: u8 },\n    B,\n    NotArchived,\n}";
        let hint = "fn a_hint() { match s { Self::A { .. } => 1 } }\nfn other() { Self::B }";
        let of_worktrees = "pub enum WorktreeRefusal {\n    C,\n    D,\n}\nfn hint() { match s { Self::D => 1 } }";
        let (first, second) = (ENUMS[0].0, ENUMS[1].0);
        let faults = hints(&Tree::of(&[(first, source), (second, of_worktrees), ("store/src/refusal/hint.rs", hint)]));
        assert_eq!(faults, [Fault::new(first, 3, "`B` has no hint"), Fault::new(second, 2, "`C` has no hint")]);
    }
}
