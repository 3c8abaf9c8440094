//! Links the program so that it starts fast, and the tests' copy of it the same.
//!
//! A hook is a whole process at each use of a tool. As a position-independent executable it would begin by correcting tens of
//! thousands of addresses in its tables, which costs more than all that a hook does. Stack, heap and libraries stay at addresses
//! that cannot be foretold. The compiler's own support library goes into the program where its archive is there: each library to
//! be found and mapped at the start is a sixth of the start.

use std::{
    io::{Write as _, stdout},
    path::PathBuf,
    process::Command,
};

/// The archive in which unwinding is, without its ending.
const UNWINDING: &str = "gcc_eh";

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let mut said = "cargo:rerun-if-changed=build.rs\n".to_owned();
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        said.push_str("cargo:rustc-link-arg-bins=-no-pie\n");
        if let Some(archive) = archive(&format!("lib{UNWINDING}.a")).filter(|_| std::env::var("HOST") == std::env::var("TARGET")) {
            let archive = archive.display();
            said.push_str(&format!("cargo:rustc-link-arg-bins=-Wl,--whole-archive,{archive},--no-whole-archive\n"));
        }
    }
    stdout().write_all(said.as_bytes()).expect("cargo reads what a build script says");
}

/// Where the system's compiler has an archive of its own; none where it has none, or there is no such compiler.
fn archive(name: &str) -> Option<PathBuf> {
    let told = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(told.stdout).ok()?.trim());
    // A compiler that does not have it answers with the bare name.
    (path.is_absolute() && path.is_file()).then_some(path)
}
