//! The environment a launched agent gets: what its caller has and the list allows, never what the node happens to have.
//!
//! Pure: it reads no variable itself. A node lives longer than the shell that started it, so its own `PATH` and keys
//! say nothing about the person who launches; and variables that name a session or an agent would make the new agent
//! speak as another.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables every agent gets from its caller, as patterns.
///
/// They are what a program needs to find other programs, its user's files, language, editor and way to the network.
pub const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "XDG_*",
    "COLORTERM",
    "EDITOR",
    "VISUAL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Variables that say who somebody is, as patterns. They are dropped even where a kind's own pattern allows them;
/// an agent has only those that its launch gives it.
pub const IDENTITY: &[&str] = &[
    "FRITH_*",
    "*_SESSION_ID",
    "*_THREAD_ID",
    "*_TOOL_CALL_ID",
    "*_CHILD_SESSION",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "GEMINI_CLI",
    "GEMINI_PROJECT_DIR",
    "GEMINI_CWD",
    "OPENCODE_PID",
];

/// What `TERM` names for every agent: the terminal that the node's screen and all viewers understand.
pub const TERM: &str = "xterm-256color";

/// A variable name, or a name with one `*` at its start or end (`LC_*`, `*_SESSION_ID`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvPattern(String);

impl EnvPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is empty, a bare `*` (which would allow everything), has a `*` elsewhere, or holds `=` or NUL.
    pub fn parse(text: &str) -> Result<Self, EnvPatternError> {
        let name = text.strip_suffix('*').or_else(|| text.strip_prefix('*')).unwrap_or(text);
        if name.is_empty() || name.contains(['*', '=', '\0']) {
            return Err(EnvPatternError(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether the pattern means this variable.
    #[must_use]
    pub fn matches(&self, name: &OsStr) -> bool {
        matches(&self.0, name)
    }
}

impl std::fmt::Display for EnvPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pattern that names no variable, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a variable, or a name with one `*` at its start or end")]
pub struct EnvPatternError(String);

/// Builds the whole environment of a launched agent, sorted by name.
///
/// Of `caller_env` it takes what [`ALLOWED`] or the kind's own `allowed` names, without [`IDENTITY`]; sets `TERM`;
/// and lets `ours` win over everything.
#[must_use]
pub fn launch_env(caller_env: &[(OsString, OsString)], allowed: &[EnvPattern], ours: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let mut env: BTreeMap<OsString, OsString> = caller_env.iter().filter(|(name, _)| is_passed_on(name, allowed)).cloned().collect();
    env.insert("TERM".into(), TERM.into());
    env.extend(ours.iter().cloned());
    env.into_iter().collect()
}

fn is_passed_on(name: &OsStr, allowed: &[EnvPattern]) -> bool {
    let is_allowed = ALLOWED.iter().any(|pattern| matches(pattern, name)) || allowed.iter().any(|pattern| pattern.matches(name));
    is_allowed && !IDENTITY.iter().any(|pattern| matches(pattern, name))
}

fn matches(pattern: &str, name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    if let Some(start) = pattern.strip_suffix('*') {
        name.starts_with(start.as_bytes())
    } else if let Some(end) = pattern.strip_prefix('*') {
        name.ends_with(end.as_bytes())
    } else {
        name == pattern.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(entries: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let owned = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        entries.iter().map(owned).collect()
    }

    fn patterns(texts: &[&str]) -> Vec<EnvPattern> {
        let parse = |text: &&str| EnvPattern::parse(text).unwrap();
        texts.iter().map(parse).collect()
    }

    #[test]
    fn e17_only_the_callers_listed_variables_pass() {
        let caller = env(&[
            ("PATH", "/b/bin"),
            ("LC_ALL", "de_DE.UTF-8"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("ANTHROPIC_API_KEY", "callers"),
            ("TERM", "screen"),
            ("TMUX", "/tmp/tmux"),
        ]);
        let got = launch_env(&caller, &patterns(&["ANTHROPIC_*"]), &[]);
        let want = env(&[("ANTHROPIC_API_KEY", "callers"), ("LC_ALL", "de_DE.UTF-8"), ("PATH", "/b/bin"), ("TERM", "xterm-256color")]);
        assert_eq!(got, want);
    }

    #[test]
    fn c31_identity_is_dropped_even_where_the_kind_allows_it() {
        let caller = env(&[
            ("FRITH_AGENT_ID", "another"),
            ("FRITH_HOME", "/another"),
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_SESSION_ID", "another"),
            ("CLAUDE_CODE_USE_BEDROCK", "1"),
            ("CODEX_THREAD_ID", "another"),
        ]);
        let ours = env(&[("FRITH_HOME", "/ours")]);
        let got = launch_env(&caller, &patterns(&["CLAUDE*", "CODEX_*", "FRITH_*"]), &ours);
        let want = env(&[("CLAUDE_CODE_USE_BEDROCK", "1"), ("FRITH_HOME", "/ours"), ("TERM", "xterm-256color")]);
        assert_eq!(got, want);
    }

    #[test]
    fn a_pattern_that_would_allow_everything_is_refused() {
        for text in ["*", "", "A*B", "**", "A=B"] {
            assert!(EnvPattern::parse(text).is_err(), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn values_and_names_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt;
        let value = OsString::from_vec(vec![0xff, 0xfe]);
        let odd_name = OsString::from_vec(vec![b'X', 0xff]);
        let caller = vec![(OsString::from("HOME"), value.clone()), (odd_name, value.clone())];
        let got = launch_env(&caller, &[], &[]);
        assert_eq!(got[0], (OsString::from("HOME"), value));
        assert_eq!(got.len(), 2);
    }
}
