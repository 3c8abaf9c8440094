//! Failures as people and programs see them: what went wrong, why, what would mend it, and the code the process ends with.
//!
//! 0 is yes; 1 is understood and refused; 2 is broken, or a command line that is wrong; 3 is that nobody could be asked.
//! A failure goes to standard error: as text, or with `--json` as one line of JSON, `{"error": {…}}`, which then is the
//! last line there.

use std::{io::Write as _, process::ExitCode};

use frith_actors::{call::Failed, local::LocalError};
use frith_store::{
    refusal::Refusal,
    text::{drawable, undrawable_escaped},
};

/// Why a command has no answer.
#[derive(Debug)]
pub enum Failure {
    /// The node understood, and said no.
    Refused(Box<Refusal>),
    /// The person did not agree, or was not there to be asked.
    Declined(Told),
    /// Something broke, or cannot be used.
    Broken(Told),
    /// Nobody could be asked.
    Unreachable(Told),
    /// The command line itself is wrong, or asked for help.
    CommandLine(Box<clap::Error>),
    /// Whoever read the answer has gone away. Nothing is left to say.
    NoReader,
}

/// A fact with its causes and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The fact, then its causes.
    pub facts: Vec<String>,
    /// What would mend it.
    pub hint: Option<String>,
}

impl Told {
    /// A fact without a cause.
    pub fn new(fact: impl Into<String>) -> Self {
        Self { facts: vec![fact.into()], hint: None }
    }

    /// A fact and the error behind it, with that error's own causes.
    pub fn because(fact: impl Into<String>, cause: &dyn std::error::Error) -> Self {
        let mut told = Self::of(cause);
        told.facts.insert(0, fact.into());
        told
    }

    /// An error and its causes.
    pub fn of(error: &dyn std::error::Error) -> Self {
        let facts = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
        Self { facts, hint: None }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Refused(refusal) => Self::Refused(refusal),
            Failed::Broken { facts, hint } => Self::Broken(Told { facts, hint }),
        }
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        let told = Told { hint: error.hint(), ..Told::of(&error) };
        if error.is_unreachable() { Self::Unreachable(told) } else { Self::Broken(told) }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::CommandLine(Box::new(error))
    }
}

impl Failure {
    /// The code the process ends with.
    pub fn code(&self) -> u8 {
        match self {
            Self::NoReader => 0,
            Self::CommandLine(error) => u8::from(error.use_stderr()) * 2,
            Self::Refused(refusal) if matches!(**refusal, Refusal::HomeAway { .. }) => 3,
            Self::Refused(_) | Self::Declined(_) => 1,
            Self::Broken(_) => 2,
            Self::Unreachable(_) => 3,
        }
    }

    /// The fact with its causes, in one line.
    pub fn fact(&self) -> String {
        self.told().facts.join(": ")
    }

    /// Says it and gives the process's code.
    pub fn report(&self, json: bool, colour: bool) -> ExitCode {
        match self {
            Self::NoReader => {}
            Self::CommandLine(error) if asks_for_help(error) && !(json && error.use_stderr()) => {
                // There is nobody else to tell that the terminal cannot be written.
                let _ = error.print();
            }
            _ => {
                let text = if json { self.json() } else { self.text(colour) };
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
        }
        ExitCode::from(self.code())
    }

    /// The fact with its causes, and what would mend it.
    pub fn told(&self) -> Told {
        match self {
            Self::Refused(refusal) => Told { facts: vec![refusal.to_string()], hint: refusal.hint() },
            Self::Declined(told) | Self::Broken(told) | Self::Unreachable(told) => told.clone(),
            Self::CommandLine(error) => wrong_line(error),
            Self::NoReader => Told::new(String::new()),
        }
    }

    fn text(&self, colour: bool) -> String {
        let Told { facts, hint } = self.told();
        let paint = |word: &str, code: &str| if colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() };
        let mut lines = Vec::new();
        for (at, fact) in facts.iter().enumerate() {
            let fact = drawable(fact, true);
            lines.push(if at == 0 { format!("{}: {fact}", paint("error", "1;31")) } else { format!("  because: {fact}") });
        }
        lines.extend(hint.map(|hint| format!("{}: {}", paint("hint", "1;36"), drawable(&hint, true))));
        lines.join("\n") + "\n"
    }

    fn json(&self) -> String {
        let Told { facts, hint } = self.told();
        let (first, causes) = facts.split_first().map_or(("", &[][..]), |(first, causes)| (first.as_str(), causes));
        let error = serde_json::json!({
            "code": self.word(),
            "exit": self.code(),
            "message": first,
            "causes": causes,
            "hint": hint,
            "data": self.data(),
        });
        undrawable_escaped(&serde_json::json!({ "error": error }).to_string()) + "\n"
    }

    fn word(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Declined(_) => "declined".into(),
            Self::Broken(_) => "broken".into(),
            Self::Unreachable(_) => "unreachable".into(),
            Self::CommandLine(_) => "commandLine".into(),
            Self::NoReader => "noReader".into(),
        }
    }

    /// What stands in the way, as data: a refusal's own fields.
    fn data(&self) -> serde_json::Value {
        let Self::Refused(refusal) = self else { return serde_json::Value::Null };
        match &**refusal {
            Refusal::Worktree(refusal) => fields_of(refusal),
            refusal => fields_of(refusal),
        }
    }
}

fn fields_of(refusal: &impl serde::Serialize) -> serde_json::Value {
    match serde_json::to_value(refusal) {
        Ok(serde_json::Value::Object(object)) => object.into_iter().next().map_or(serde_json::Value::Null, |(_, data)| data),
        _ => serde_json::Value::Null,
    }
}

/// Whether the answer is a page of help or the version, and not something that is wrong.
fn asks_for_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// What is wrong with a command line. The parser says it in paragraphs: the fact, its tip, how the command is used.
fn wrong_line(error: &clap::Error) -> Told {
    let text = error.render().to_string();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or("frith");
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let command = usage.split_whitespace().take_while(is_name).collect::<Vec<_>>().join(" ");
    let fact = if asks_for_help(error) {
        format!("`{command}` needs a command")
    } else {
        ticked(&words(text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ")))
    };
    if let Some((fact, values)) = fact.split_once(" [possible values: ") {
        return Told::new(fact).hint(format!("it takes {}", values.trim_end_matches(']')));
    }
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    Told::new(fact).hint(tip.map_or_else(|| format!("`{command} --help`"), |tip| ticked(&words(tip))))
}

/// Names in backticks, where the parser has apostrophes around them.
fn ticked(text: &str) -> String {
    if text.matches('\'').count().is_multiple_of(2) { text.replace('\'', "`") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frith_net::error::FrameError;
    use frith_store::{
        id::{MachineId, PlaceId, TaskId},
        model::Status,
        refusal::{PlaceNamed, TaskInTheWay},
    };

    fn place(name: &str) -> PlaceNamed {
        PlaceNamed { id: PlaceId::from_bytes([1; 16]), name: name.into() }
    }

    fn unfinished() -> Failure {
        let tasks = vec![TaskInTheWay { id: TaskId::from_bytes([7; 16]), title: "one\x1b[31m".into(), status: Status::Ongoing }];
        Failure::Refused(Box::new(Refusal::Unfinished { fork: place("app-fork"), tasks }))
    }

    #[test]
    fn a_refusal_says_the_fact_and_the_way_and_draws_nothing_foreign() {
        insta::assert_snapshot!(unfinished().text(false));
    }

    #[test]
    fn as_json_a_refusal_has_its_code_and_what_stands_in_the_way() {
        let json: serde_json::Value = serde_json::from_str(&unfinished().json()).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
    }

    #[test]
    fn causes_follow_the_fact() {
        let error = LocalError::Frame(FrameError::TooLong { length: 9, most: 8 });
        insta::assert_snapshot!(Failure::from(error).text(false));
    }

    #[test]
    fn a_wrong_command_line_reads_like_every_other_failure() {
        let lines =
            ["frith tsak", "frith task lst", "frith task add", "frith task list --nothing", "frith task status abcd done", "frith task"];
        let texts = lines.map(|line| {
            let error = crate::args::read(line.split(' ').map(Into::into)).unwrap_err();
            format!("$ {line}\n{}", error.text(false))
        });
        insta::assert_snapshot!(texts.join(""));
        let error = crate::args::read(["frith", "tsak"].map(Into::into)).unwrap_err();
        let json: serde_json::Value = serde_json::from_str(&error.json()).unwrap();
        assert_eq!((json["error"]["code"].as_str(), json["error"]["exit"].as_u64()), (Some("commandLine"), Some(2)));
    }

    #[test]
    fn codes_tell_no_from_broken_from_unreachable() {
        let away = Refusal::HomeAway { place: place("a"), home: MachineId::from_bytes([1; 8]) };
        let cases = [
            (unfinished(), 1),
            (Failure::Refused(Box::new(away)), 3),
            (Failure::Declined(Told::new("no")), 1),
            (Failure::Broken(Told::new("x")), 2),
            (LocalError::NoNode { socket: "/s".parse().unwrap() }.into(), 3),
            (LocalError::Lost.into(), 2),
            (Failure::NoReader, 0),
            (clap::Error::new(clap::error::ErrorKind::UnknownArgument).into(), 2),
            (clap::Error::new(clap::error::ErrorKind::DisplayHelp).into(), 0),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }
}
