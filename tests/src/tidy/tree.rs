//! The tree of files, what a fault is, and the rules about files that are no Rust.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use super::code::Code;

/// Where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, from the root.
    pub file: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub says: String,
}

impl Fault {
    /// A fault of a line.
    pub fn new(file: &str, line: usize, says: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, says: says.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.says)
    }
}

/// A text file of the project.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path from the root, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
    /// Its code, when it is Rust.
    pub code: Code,
    /// Its code without the tests at its foot.
    pub product: Code,
}

impl File {
    /// A file that says this.
    pub fn new(path: String, text: String) -> Self {
        let code = Code::read(if path.ends_with(".rs") { &text } else { "" });
        Self { path, text, product: code.before_tests(), code }
    }

    /// Whether it lies below this folder.
    pub fn is_below(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Every text file of the project.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// In order of path.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the project whose root this is; build output and version control are left out.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                tree.take(root, entry?.path(), &mut folders)?;
            }
        }
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A made-up tree.
    pub fn of(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| File::new((*path).into(), (*text).into())).collect() }
    }

    fn take(&mut self, root: &Path, path: PathBuf, folders: &mut Vec<PathBuf>) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            if name != ".git" && name != "target" && !name.starts_with("target-") {
                folders.push(path);
            }
        } else if let (true, Ok(text)) = (path.is_file() && name != ".git", fs::read_to_string(&path)) {
            let path = path.strip_prefix(root).map_err(io::Error::other)?.to_string_lossy().into_owned();
            self.files.push(File::new(path, text));
        }
        Ok(())
    }

    /// The file at this path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Every Rust file.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }
}

/// What stands at the root, and nothing else does.
const ROOT_FILES: &[&str] = &[
    ".gitattributes",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "check",
    "clippy.toml",
    "justfile",
    "rustfmt.toml",
];

/// A file at the root, and what it must say.
const SAID: &[(&str, &[&str])] = &[
    ("README.md", &["cargo install --path cli --locked", "frith quickstart"]),
    ("LICENSE-MIT", &["Copyright (c) the frith authors", "without restriction", "\"AS IS\""]),
    ("LICENSE-APACHE", &["Apache License", "Version 2.0, January 2004", "END OF TERMS AND CONDITIONS"]),
    (".ci/run", &["./check"]),
];

/// The root holds the files of [`ROOT_FILES`] and no stray notes, and they say what a newcomer looks for.
pub fn front_door(tree: &Tree) -> Vec<Fault> {
    let at_root = tree.files.iter().filter(|file| !file.path.contains('/'));
    let stray =
        at_root.filter(|file| !ROOT_FILES.contains(&file.path.as_str())).map(|file| Fault::new(&file.path, 0, "has no place at the root"));
    let missing = ROOT_FILES.iter().filter(|path| tree.file(path).is_none()).map(|path| Fault::new(path, 0, "is missing"));
    let silent = SAID.iter().flat_map(|(path, sentences)| {
        let text = tree.file(path).map_or("", |file| &file.text);
        sentences.iter().filter(|said| !text.contains(**said)).map(move |said| Fault::new(path, 0, format!("does not say `{said}`")))
    });
    stray.chain(missing).chain(silent).collect()
}

/// No file names a folder of the machine it was written on.
pub fn no_machine_paths(tree: &Tree) -> Vec<Fault> {
    let folders = ["work", "farm", "root", "Users"].map(|name| format!("/{name}/"));
    let lines = tree.files.iter().flat_map(|file| file.text.lines().enumerate().map(move |(at, line)| (file, at + 1, line)));
    lines
        .filter(|(_, _, line)| folders.iter().any(|folder| names_folder(line, folder)))
        .map(|(file, at, line)| Fault::new(&file.path, at, format!("names a folder of some machine: `{}`", line.trim())))
        .collect()
}

fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_.-~}$".contains(c)))
}

/// Every snapshot is settled and belongs to a test that is there.
pub fn snapshots(tree: &Tree) -> Vec<Fault> {
    let pending = tree.files.iter().filter(|file| file.path.ends_with(".snap.new") || file.path.ends_with(".pending-snap"));
    let settled = tree.files.iter().filter(|file| file.path.ends_with(".snap"));
    let orphans = settled.filter(|file| !snapshot_has_test(tree, &file.path));
    pending
        .map(|file| Fault::new(&file.path, 0, "is not settled"))
        .chain(orphans.map(|file| Fault::new(&file.path, 0, "belongs to no test")))
        .collect()
}

fn snapshot_has_test(tree: &Tree, path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once("/snapshots/") else { return false };
    let words: Vec<_> = name.trim_end_matches(".snap").split("__").collect();
    let [modules @ .., test] = words.as_slice() else { return false };
    let test = test.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    let beside = tree.rust().filter(|file| file.is_below(folder));
    beside.filter(|file| modules.iter().any(|module| file.path.contains(module))).any(|file| file.text.contains(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_note_a_missing_file_and_a_silent_one_are_found() {
        let faults = front_door(&Tree::of(&[("NOTES.md", "later"), ("README.md", "frith quickstart")]));
        let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert!(said.contains(&"NOTES.md:0: has no place at the root".to_owned()));
        assert!(said.contains(&"LICENSE-MIT:0: is missing".to_owned()));
        assert!(said.contains(&"README.md:0: does not say `cargo install --path cli --locked`".to_owned()));
    }

    #[test]
    fn a_path_of_a_machine_is_found_and_a_word_is_not() {
        let bad = format!("see {}x", ["", "root", ""].join("/"));
        let faults = no_machine_paths(&Tree::of(&[("a.md", &bad), ("b.md", "the node/root/place, frame/work/x")]));
        assert_eq!(faults.len(), 1);
        assert_eq!((faults[0].file.as_str(), faults[0].line), ("a.md", 1));
    }

    #[test]
    fn a_snapshot_that_no_test_makes_is_found() {
        let files = [
            ("tests/tests/cli_task.rs", "fn adds_a_task() {}"),
            ("tests/tests/snapshots/cli_task__adds_a_task-2.snap", ""),
            ("tests/tests/snapshots/cli_task__gone.snap", ""),
            ("tests/tests/snapshots/cli_task__adds_a_task.snap.new", ""),
        ];
        let faults = snapshots(&Tree::of(&files));
        assert_eq!(faults.iter().map(|fault| fault.says.as_str()).collect::<Vec<_>>(), ["is not settled", "belongs to no test"]);
    }
}
