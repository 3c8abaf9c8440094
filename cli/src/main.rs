//! The program `frith`. Everything it does is in the library, so that tests run the same.

fn main() -> std::process::ExitCode {
    frith_cli::run()
}
