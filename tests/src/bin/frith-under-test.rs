//! The program `frith` as the tests run it: the same entry, built with them.

fn main() -> std::process::ExitCode {
    frith_cli::run()
}
