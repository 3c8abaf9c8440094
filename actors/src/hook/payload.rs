//! What a hook's payload tells the node, read by the paths of the host's row. File contents and prompts are never part of it.

use std::{borrow::Cow, ffi::OsString, path::Path};

use frith_store::{
    hosts::{self, EventClass, Extra, Fact, Field, HookEvent, Host, Input, Payload, Says, Seen, Step},
    text::PathText,
};

use super::{
    answer,
    json::{self, Object},
};
use crate::api::agents::Event;

/// The arguments of a tool that say what it does, the most telling first.
const MAIN_ARGUMENTS: &[&str] = &["command", "file_path", "path", "pattern", "query", "url"];
/// The most characters of a main argument.
const ARGUMENT_MOST: usize = 60;
/// The most characters of an activity.
const ACTIVITY_MOST: usize = 120;
/// The most characters of a model's name.
const MODEL_MOST: usize = 120;
/// The most bytes of an id or a name. A longer one is none: cut, it could be another's.
const NAME_MOST: usize = 256;
/// The most bytes of a folder's path.
const PATH_MOST: usize = 4096;

/// A payload that was understood.
#[derive(Debug, Clone)]
pub struct Parsed<'a> {
    /// The host that it is of, which need not be the one that was named.
    pub host: &'static Host,
    /// What the node is told.
    pub event: Event,
    /// What a person said, for hosts that take context only inside it.
    pub prompt: Option<Cow<'a, str>>,
}

/// The environment as a hook sees it.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The host whose hook this is: the one that the environment names, else the one that the hook's command names.
pub fn host_of(named: &str, variables: Variables<'_>) -> Option<&'static Host> {
    hosts::attributed(|variable| variables(variable).is_some()).or_else(|| hosts::host(named))
}

/// Reads the payload of an event. None when it does not tell which session it is of, as for one that is no JSON: then nobody
/// is registered. The payload may break off, and may have anything in it.
pub fn read<'a>(host: &'static Host, event: &str, json: &'a str, variables: Variables<'_>) -> Option<Parsed<'a>> {
    let payload = host.hooks.known()?.payload.known()?;
    let by_variable = session_variable(host, variables);
    // A host that tells some events by variables alone writes nothing for them.
    let object = Object::read(if by_variable.is_some() && json.trim().is_empty() { "{}" } else { json })?;
    let row = host.event(event);
    let class = row.map_or(EventClass::Other, |row| row.class);
    let session = name(&object, &payload.session).or(by_variable);
    if session.is_none() && payload.session.is_known() {
        return None;
    }
    let prompt = if class == EventClass::Prompt { first(&object, &payload.prompt).and_then(json::text) } else { None };
    let event = Event {
        host: host.id.to_owned(),
        class,
        event: event.to_owned(),
        session,
        sub_agent: name(&object, &payload.sub_agent),
        folder: folder(&object, payload, variables),
        model: name(&object, &payload.model),
        activity: if matches!(class, EventClass::Tool | EventClass::BeforeTool) { activity(&object, payload) } else { None },
        source: name(&object, &payload.start_source).filter(|_| class == EventClass::Start),
        tool_use: name(&object, &payload.tool_use),
        takes_context: row.is_some_and(|row| takes_context(host, row, prompt.is_some())),
    };
    Some(Parsed { host, event, prompt })
}

/// A further field of a payload, as a text; none when it is not there, or is no text.
pub fn extra(host: &Host, which: Extra, json: &str) -> Option<String> {
    let extras = host.hooks.known()?.payload.known()?.extras;
    let (_, key) = extras.iter().find(|(extra, _)| *extra == which)?;
    json::text(Object::read(json)?.value(key)?).map(Cow::into_owned)
}

fn takes_context(host: &Host, event: &HookEvent, has_prompt: bool) -> bool {
    event.says == Says::Context && answer::can_hold_context(host, has_prompt)
}

fn session_variable(host: &Host, variables: Variables<'_>) -> Option<String> {
    let variable = host.environment.session.known().filter(|_| host.environment.visible_in.contains(&Seen::Hooks))?;
    fitting(&variables(variable)?.to_string_lossy())
}

/// The text of the first of a field's paths on which there is a value.
fn first<'a>(object: &Object<'a>, field: &Field) -> Option<&'a str> {
    find(object, field.known()?)
}

fn find<'a>(object: &Object<'a>, paths: &[&[Step]]) -> Option<&'a str> {
    paths.iter().filter_map(|path| object.find(path)).find(|value| *value != "null")
}

/// A short text without control characters, which an id or a name is.
fn name(object: &Object<'_>, field: &Field) -> Option<String> {
    fitting(&json::text(first(object, field)?)?)
}

fn fitting(text: &str) -> Option<String> {
    is_name(text).then(|| text.to_owned())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= NAME_MOST && !text.contains(char::is_control)
}

/// An event as a node takes it that was told it: whoever told it need not have been a hook of ours. None when it is of no host that
/// has hooks, or names a session as no host does. What kind of event it is stands in the host's row.
pub fn checked(event: Event) -> Option<Event> {
    let host = hosts::host(&event.host).filter(|host| host.hooks.is_known())?;
    let row = host.event(&event.event);
    let ids = [Some(&event.event), event.session.as_ref(), event.sub_agent.as_ref()];
    if !ids.into_iter().flatten().all(|id| is_name(id)) {
        return None;
    }
    let clean = |text: Option<String>, most| text.map(|text| plain(&text, most)).filter(|text| !text.is_empty());
    Some(Event {
        class: row.map_or(EventClass::Other, |row| row.class),
        folder: event.folder.filter(|folder| is_folder_path(folder.as_bytes())),
        model: clean(event.model, MODEL_MOST),
        activity: clean(event.activity, ACTIVITY_MOST),
        source: event.source.filter(|source| is_name(source)),
        tool_use: event.tool_use.filter(|id| is_name(id)),
        takes_context: event.takes_context && row.is_some_and(|row| row.says == Says::Context),
        ..event
    })
}

fn folder(object: &Object<'_>, payload: &Payload, variables: Variables<'_>) -> Option<PathText> {
    let Fact::Known(known) = &payload.folder else { return None };
    let told = find(object, known.paths).and_then(json::text).filter(|path| is_folder_path(path.as_bytes()));
    let by_variable = || known.variable.and_then(variables).filter(|path| is_folder_path(path.as_encoded_bytes()));
    told.map(|path| Path::new(&*path).into()).or_else(|| by_variable().map(|path| Path::new(&path).into()))
}

/// Whether these bytes can be a folder's path as hosts tell it: absolute, and of a length that the system takes.
fn is_folder_path(path: &[u8]) -> bool {
    path.len() <= PATH_MOST && !path.contains(&0) && Path::new(&*String::from_utf8_lossy(path)).is_absolute()
}

/// The tool and the beginning of its main argument, on one line.
fn activity(object: &Object<'_>, payload: &Payload) -> Option<String> {
    let input = payload.input.known().and_then(|input| main_argument(object, input));
    let named = first(object, &payload.tool).and_then(json::text);
    let tool = match (&named, payload.nameless_tool) {
        (Some(tool), _) => tool.as_ref(),
        (None, Some(tool)) if input.is_some() => tool,
        _ => return None,
    };
    let said = match input {
        Some(argument) => format!("{}: {}", plain(tool, ACTIVITY_MOST), plain(&argument, ARGUMENT_MOST)),
        None => tool.to_owned(),
    };
    Some(plain(&said, ACTIVITY_MOST)).filter(|activity| !activity.is_empty())
}

fn main_argument<'a>(object: &Object<'a>, input: &Input) -> Option<Cow<'a, str>> {
    let value = find(object, input.paths)?;
    if let Some(arguments) = Object::read(value) {
        return main_of(&arguments);
    }
    let alone = json::text(value)?;
    match Object::read(&alone).filter(|_| input.may_be_encoded) {
        Some(arguments) => main_of(&arguments).map(|argument| Cow::Owned(argument.into_owned())),
        None if input.may_be_encoded => None,
        None => Some(alone),
    }
}

fn main_of<'a>(arguments: &Object<'a>) -> Option<Cow<'a, str>> {
    MAIN_ARGUMENTS.iter().find_map(|key| json::words(arguments.value(key)?))
}

/// The first characters, each run of white space or control characters as one space.
fn plain(text: &str, most: usize) -> String {
    let mut said = String::new();
    let mut left = most;
    for character in text.chars().map(|it| if it.is_control() || it.is_whitespace() { ' ' } else { it }) {
        if left == 0 {
            break;
        }
        if character == ' ' && (said.is_empty() || said.ends_with(' ')) {
            continue;
        }
        said.push(character);
        left -= 1;
    }
    said.truncate(said.trim_end().len());
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOTHING: Variables<'_> = &|_| None;

    fn event(host: &str, event: &str, json: &str) -> Event {
        read(hosts::host(host).unwrap(), event, json, NOTHING).unwrap().event
    }

    fn activity_of(input: &str) -> Option<String> {
        event("claude", "PostToolUse", &format!(r#"{{"session_id":"s","tool_name":"Bash","tool_input":{input}}}"#)).activity
    }

    #[test]
    fn an_agent_type_without_an_agent_id_is_no_sub_agent() {
        let main = event("claude", "PreToolUse", r#"{"session_id":"s","agent_type":"reviewer"}"#);
        assert_eq!(main.sub_agent, None);
        let sub = event("claude", "PreToolUse", r#"{"session_id":"s","agent_type":"reviewer","agent_id":"a4"}"#);
        assert_eq!(sub.sub_agent.as_deref(), Some("a4"));
    }

    #[test]
    fn an_activity_is_short_on_one_line_and_of_the_most_telling_argument() {
        assert_eq!(activity_of(r#"{"path":"/b","command":"cargo   test\n\u001b[31m --all"}"#).unwrap(), "Bash: cargo test [31m --all");
        assert_eq!(activity_of(r#"{"content":"secret","url":"https://x"}"#).unwrap(), "Bash: https://x");
        assert_eq!(activity_of(r#"{"content":"secret"}"#).unwrap(), "Bash");
        assert_eq!(activity_of(r#"{"command":["bash","-lc","ls"]}"#).unwrap(), "Bash: bash -lc ls");
        let long = activity_of(&format!(r#"{{"command":"{}"}}"#, "é".repeat(100))).unwrap();
        assert_eq!(long, format!("Bash: {}", "é".repeat(ARGUMENT_MOST)));
        let tool = "t".repeat(200);
        let named = event("claude", "PostToolUse", &format!(r#"{{"session_id":"s","tool_name":"{tool}","tool_input":{{"path":"p"}}}}"#));
        assert_eq!(named.activity.unwrap().chars().count(), ACTIVITY_MOST);
    }

    #[test]
    fn a_prompt_is_no_activity_and_is_kept_only_for_the_answer() {
        let json = r#"{"session_id":"s","prompt":"my secret","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
        let parsed = read(hosts::host("claude").unwrap(), "UserPromptSubmit", json, NOTHING).unwrap();
        assert_eq!(parsed.event.activity, None);
        assert_eq!(parsed.prompt.as_deref(), Some("my secret"));
        assert!(!format!("{:?}", parsed.event).contains("secret"));
    }

    #[test]
    fn a_folder_is_the_payload_s_then_the_variable_s() {
        let variables = |name: &str| (name == "DEVIN_PROJECT_DIR").then(|| OsString::from("/by/variable"));
        let folder =
            |json: &str| read(hosts::host("devin").unwrap(), "Stop", json, &variables).unwrap().event.folder.map(|it| it.to_string());
        assert_eq!(folder(r#"{"session_id":"s","cwd":"/by/payload"}"#).unwrap(), "/by/payload");
        for json in [
            r#"{"session_id":"s"}"#,
            r#"{"session_id":"s","cwd":""}"#,
            r#"{"session_id":"s","cwd":"relative"}"#,
            r#"{"session_id":"s","cwd":7}"#,
        ] {
            assert_eq!(folder(json).unwrap(), "/by/variable");
        }
    }

    #[test]
    fn an_event_without_a_payload_is_read_from_the_variables_alone() {
        let host = hosts::host("codewhale").unwrap();
        let variables = |name: &str| match name {
            "DEEPSEEK_SESSION_ID" => Some(OsString::from("sess_1")),
            "DEEPSEEK_WORKSPACE" => Some(OsString::from("/work")),
            _ => None,
        };
        let event = read(host, "session_start", "", &variables).unwrap().event;
        assert_eq!((event.session.as_deref(), event.folder.map(|it| it.to_string())), (Some("sess_1"), Some("/work".into())));
        assert!(read(host, "session_start", "", NOTHING).is_none() && read(host, "session_start", "no JSON", &variables).is_none());
    }

    #[test]
    fn a_hook_is_of_the_host_that_the_environment_names() {
        let variables = |name: &str| (name == "GROK_HOOK_EVENT").then(OsString::new);
        assert_eq!(host_of("claude", &variables).unwrap().id, "grok");
        assert_eq!(host_of("claude", NOTHING).unwrap().id, "claude");
        assert_eq!(host_of("no such host", NOTHING).map(|host| host.id), None);
    }

    #[test]
    fn who_does_not_tell_its_session_registers_nobody() {
        let claude = hosts::host("claude").unwrap();
        for json in ["", "{", "[]", "null", "{}", r#"{"session_id":""}"#, r#"{"session_id":7}"#, r#"{"session_id":"a\u0000"}"#] {
            assert!(read(claude, "SessionStart", json, NOTHING).is_none(), "{json}");
        }
        let long = format!(r#"{{"session_id":"{}"}}"#, "s".repeat(NAME_MOST + 1));
        assert!(read(claude, "SessionStart", &long, NOTHING).is_none());
        assert!(read(hosts::host("aider").unwrap(), "SessionStart", r#"{"session_id":"s"}"#, NOTHING).is_none());
        let variables = |name: &str| (name == "CLAUDE_CODE_SESSION_ID").then(|| OsString::from("by variable"));
        assert_eq!(read(claude, "SessionStart", "{}", &variables).unwrap().event.session.as_deref(), Some("by variable"));
    }

    #[test]
    fn a_payload_that_breaks_off_tells_what_came_before() {
        let event = event("claude", "PostToolUse", r#"{"session_id":"s","cwd":"/r","tool_name":"Bash","tool_response":{"stdout":"xxxx"#);
        assert_eq!((event.session.as_deref(), event.activity.as_deref()), (Some("s"), Some("Bash")));
    }

    #[test]
    fn c31_of_an_event_that_is_told_to_a_node_no_more_is_taken_than_a_hook_tells() {
        let json = r#"{"session_id":"s","cwd":"/r","model":"opus","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
        for host in hosts::all().iter().filter(|host| host.hooks.is_known()) {
            for row in host.hooks.known().unwrap().events {
                let Some(parsed) = read(host, row.name, json, NOTHING) else { continue };
                assert_eq!(checked(parsed.event.clone()), Some(parsed.event), "{} {}", host.id, row.name);
            }
        }
        let good = event("claude", "PostToolUse", json);
        let bad = |change: fn(&mut Event)| {
            let mut event = good.clone();
            change(&mut event);
            checked(event)
        };
        assert_eq!(bad(|it| it.host = "no such host".into()), None);
        assert_eq!(bad(|it| it.event = "a\nb".into()), None);
        assert_eq!(bad(|it| it.session = Some("s".repeat(NAME_MOST + 1))), None);
        assert_eq!(bad(|it| it.sub_agent = Some("\u{1b}[31m".into())), None);
        let said = bad(|it| (it.class, it.takes_context, it.event) = (EventClass::Start, true, "Stop".into())).unwrap();
        assert_eq!((said.class, said.takes_context), (EventClass::Stop, false));
        let long = bad(|it| (it.activity, it.model) = (Some("a\u{1b}b".repeat(200)), Some("m".repeat(200)))).unwrap();
        assert_eq!(long.activity.map(|it| (it.chars().count(), it.contains(char::is_control))), Some((ACTIVITY_MOST, false)));
        assert_eq!(long.model.map(|it| it.len()), Some(MODEL_MOST));
        assert_eq!(bad(|it| it.folder = Some("relative".parse().unwrap())).unwrap().folder, None);
    }

    proptest! {
        #[test]
        fn whatever_comes_nothing_panics_and_the_answer_is_an_object_or_nothing(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                "(\\{|\\[|\"(session_id|cwd|tool_name|tool_input|command|agent_id)\":|\"[a-z\\\\]{0,4}\"|,|\\}|\\]|1|null){0,40}".prop_map(String::into_bytes),
            ],
            at in any::<prop::sample::Index>(),
        ) {
            let host = *at.get(hosts::all());
            let text = String::from_utf8_lossy(&bytes);
            for event in host.hooks.known().map_or(&[][..], |hooks| hooks.events) {
                let parsed = read(host, event.name, &text, NOTHING);
                let prompt = parsed.as_ref().and_then(|parsed| parsed.prompt.as_deref());
                let said = answer::shape(host, event.name, Some(&text), prompt);
                prop_assert!(said.is_empty() || serde_json::from_slice::<serde_json::Value>(&said).is_ok_and(|it| it.is_object()));
                if let Some(Parsed { event, .. }) = parsed {
                    prop_assert!(event.activity.is_none_or(|it| it.chars().count() <= ACTIVITY_MOST && !it.contains(char::is_control)));
                }
            }
        }
    }
}
