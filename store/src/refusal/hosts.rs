//! Sentences and hints of refusals about hosts.

use super::Refusal;

/// Several hosts that are not here, as a sentence begins.
pub(super) fn not_here(hosts: &[String]) -> String {
    let named = hosts.iter().map(|host| format!("`{host}`")).collect::<Vec<_>>().join(", ");
    format!("{named} {} not on this machine", if hosts.len() == 1 { "is" } else { "are" })
}

impl Refusal {
    pub(super) fn hosts_hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownHost { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`? `frith agents list --all` shows all"),
            Self::UnknownHost { .. } => "`frith agents list --all` shows all".into(),
            Self::HostsNotHere { .. } => "a program or an application of its has to be found: settings that it left do not count".into(),
            Self::HostTakesNothing { host } => format!("work with it by the command: `frith` in the shell of `{host}`"),
            Self::NoProjectEntry { others, .. } => format!("these do: {}", others.join(", ")),
            _ => return None,
        })
    }
}
