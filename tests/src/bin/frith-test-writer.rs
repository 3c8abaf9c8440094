//! A writer of one file for tests: a process that can be ended while it writes, and that may meet others.
//!
//! `count <file>` writes the next of a row of large texts again and again, and tells each number when it is written.
//! `add <file> <word> <times>` adds lines to what is there. `FRITH_FAULT` names a point at which it ends.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{io::Write as _, path::Path};

use frith_actors::{
    env::real::world::FaultAt,
    install::file::{self, FileError, Terms},
};
use frith_store::time::Timestamp;
use frith_tests::texts;

fn main() -> Result<(), FileError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["count", path] => loop {
            let seen = file::look(Path::new(path))?;
            let number = seen.bytes.as_deref().map_or(0, |bytes| texts::number_of(bytes).unwrap()) + 1;
            change(&seen, &texts::numbered(number), number)?;
            std::io::stdout().write_all(format!("{number}\n").as_bytes()).unwrap();
        },
        ["add", path, word, times] => {
            for number in 0..times.parse().unwrap() {
                add(Path::new(path), &format!("{word}-{number}\n"))?;
            }
            Ok(())
        }
        _ => panic!("told {words:?}"),
    }
}

fn add(path: &Path, line: &str) -> Result<(), FileError> {
    loop {
        let seen = file::look(path)?;
        let there = seen.bytes.as_deref().map(std::str::from_utf8).transpose().unwrap().unwrap_or_default();
        match change(&seen, &format!("{there}{line}"), 0) {
            Err(FileError::Changed { .. }) => {}
            done => return done,
        }
    }
}

fn change(seen: &file::Seen, text: &str, second: u64) -> Result<(), FileError> {
    let faults = FaultAt(std::env::var("FRITH_FAULT").ok());
    let now = Timestamp::from_ms(i64::try_from(second).unwrap() * 1_000);
    file::write_on(seen, Some(text), Terms { faults: &faults, ..Terms::usual(now) }).map(drop)
}
