//! The words of commands in those of tools: a hint that tells an agent to run a command tells it to call a tool where there is one.

/// Commands, and the tools that do the same.
pub const TOOLS_OF_COMMANDS: &[(&str, &str)] = &[
    ("frith agents sessions", "agents_list"),
    ("frith agents show", "agent_show"),
    ("frith agents status", "agent_status_set"),
    ("frith agents send", "agent_send"),
    ("frith agents inbox", "agent_inbox"),
    ("frith agents whoami", "whoami"),
    ("frith task next", "task_next"),
    ("frith task list", "task_list"),
    ("frith task show", "task_get"),
    ("frith task add", "task_create"),
    ("frith task status", "task_update_status"),
    ("frith task reply", "task_reply"),
    ("frith memory list", "memory_list"),
    ("frith memory get", "memory_load"),
    ("frith memory set", "memory_save"),
    ("frith memory delete", "memory_delete"),
    ("frith skill show", "skill_load"),
    ("frith site list", "site_list"),
    ("frith worktree add", "worktree_add"),
    ("frith worktree adopt", "worktree_adopt"),
    ("frith worktree list", "worktree_list"),
    ("frith worktree remove", "worktree_remove"),
];

/// A text in which each command in backticks that a tool stands for is that tool. A command with flags is left as it is: an agent
/// has a shell, too.
pub fn in_tools(text: &str) -> String {
    text.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { tool_of(part) } else { part.to_owned() }).collect::<Vec<_>>().join("`")
}

fn tool_of(command: &str) -> String {
    if let Some(flag) = command.strip_prefix("--").filter(|flag| flag.chars().all(|c| c.is_ascii_lowercase() || c == '-')) {
        return argument_of(flag);
    }
    let Some((known, tool)) = TOOLS_OF_COMMANDS.iter().find(|(known, _)| starts_with_words(command, known)) else {
        return command.to_owned();
    };
    let rest: Vec<&str> = command[known.len()..].split_whitespace().collect();
    let place = rest.iter().position(|word| *word == "-w");
    // The place that is meant is the agent's own.
    let is_place = |at: usize| place.is_some_and(|place| at == place || at == place + 1);
    let words: Vec<&str> = rest.iter().enumerate().filter(|(at, _)| !is_place(*at)).map(|(_, word)| *word).collect();
    match words.as_slice() {
        [flag] if *flag == "--all" => format!("{tool}` with `all"),
        words if words.iter().any(|word| word.starts_with('-')) => command.to_owned(),
        words => [&[*tool][..], words].concat().join(" "),
    }
}

/// `all-live` as `allLive`.
fn argument_of(flag: &str) -> String {
    let mut words = flag.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..word.len().min(1)].to_ascii_uppercase() + &word[word.len().min(1)..])
}

fn starts_with_words(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_tool_where_there_is_one() {
        let told = in_tools("add one: `frith task add -w app <title>`");
        assert_eq!(told, "add one: `task_create <title>`");
        assert_eq!(in_tools("leave it out and say `--all-live`"), "leave it out and say `allLive`");
        assert_eq!(in_tools("`frith agents sessions --all` shows them"), "`agents_list` with `all` shows them");
        assert_eq!(in_tools("finish it: `frith task status 0627dbc4 completed`"), "finish it: `task_update_status 0627dbc4 completed`");
    }

    #[test]
    fn a_command_that_no_tool_does_stays() {
        for text in ["`frith task list --deleted` shows what is", "`frith agents launch app` starts one", "no command", "one ` alone"] {
            assert_eq!(in_tools(text), text);
        }
    }
}
