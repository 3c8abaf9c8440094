//! The project keeps its own rules. Each rule is told by name, with every place where it is broken.

use std::{path::Path, process::Command};

use frith_tests::tidy::{Fault, RULES, Tree, crates};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace")
}

fn told(name: &str, faults: &[Fault]) -> Option<String> {
    let lines: Vec<_> = faults.iter().map(|fault| format!("  {fault}")).collect();
    (!faults.is_empty()).then(|| format!("{name}:\n{}", lines.join("\n")))
}

#[test]
fn the_project_keeps_its_rules() {
    let tree = Tree::read(root()).unwrap();
    let broken: Vec<_> = RULES.iter().filter_map(|(name, rule)| told(name, &rule(&tree))).collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn uses_between_crates_keep_to_the_arrows() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let asked =
        Command::new(cargo).args(["metadata", "--offline", "--format-version", "1", "--no-deps"]).current_dir(root()).output().unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(metadata["packages"].as_array().map(Vec::len), Some(crates::ARROWS.len()));
    assert_eq!(told("arrows", &crates::arrows(&metadata)), None);
}

#[test]
fn the_architecture_page_draws_the_same_arrows() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, may) in crates::ARROWS {
        let arrow = if may.is_empty() { "nothing of ours".to_owned() } else { may.join(", ") };
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for `{name}`"));
        assert!(row.ends_with(&format!("| {arrow} |")), "ARCHITECTURE.md says otherwise of `{name}`: {row}");
    }
}
