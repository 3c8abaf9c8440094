//! Links the program so that it starts fast.
//!
//! A hook is a whole process at each use of a tool. As a position-independent executable it would begin by correcting tens of
//! thousands of addresses in its tables, which costs more than all that a hook does. Stack, heap and libraries stay at addresses
//! that cannot be foretold.

use std::io::{Write as _, stdout};

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let mut said = "cargo:rerun-if-changed=build.rs\n".to_owned();
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        said.push_str("cargo:rustc-link-arg-bins=-no-pie\n");
    }
    stdout().write_all(said.as_bytes()).expect("cargo reads what a build script says");
}
