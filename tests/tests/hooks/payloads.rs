//! One payload of each event of each host whose payloads are known, what the node is told of it, and what is answered.
//!
//! `tests/fixtures/hooks/<host>/<event>.json` is a payload: as it was measured where that was done, else made from the names of
//! the host's fields. `expected.txt` beside them says what comes of each, and is written with `FRITH_WRITE_GOLDEN=1`.

use std::{
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use frith_actors::{
    api::agents::Event,
    hook::{
        answer,
        payload::{self, Parsed},
    },
};
use frith_store::hosts::{self, HookEvent, Host};

fn folder(host: &Host) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hooks").join(host.id)
}

/// The hosts whose payloads are known, with their events.
fn known() -> impl Iterator<Item = (&'static Host, &'static [HookEvent])> {
    let with_payload = |host: &&'static Host| host.hooks.known().is_some_and(|hooks| hooks.payload.is_known() && !hooks.events.is_empty());
    hosts::all().iter().copied().filter(with_payload).map(|host| (host, host.hooks.known().map_or(&[][..], |hooks| hooks.events)))
}

fn payload_of(host: &Host, event: &str) -> String {
    let path = folder(host).join(format!("{event}.json"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{} has no payload of {event}: {error}", host.id))
}

fn no_variables(_: &str) -> Option<OsString> {
    None
}

fn told(host: &'static Host, event: &HookEvent) -> String {
    let json = payload_of(host, event.name);
    let Some(Parsed { event: told, prompt, .. }) = payload::read(host, event.name, &json, &no_variables) else {
        return format!("{}: nothing\n", event.name);
    };
    let mut text = format!("{}: {:?}\n", event.name, told.class);
    let answer = answer::shape(host, event.name, Some("MAIL"), prompt.as_deref());
    let silent = answer::shape(host, event.name, None, prompt.as_deref());
    for (name, value) in fields(&told) {
        writeln!(text, "  {name} {value}").expect("a text takes what is written");
    }
    for (name, bytes) in [("with context", answer), ("without", silent)] {
        writeln!(text, "  {name} {}", String::from_utf8_lossy(&bytes)).expect("a text takes what is written");
    }
    text
}

fn fields(event: &Event) -> Vec<(&'static str, String)> {
    let Event { session, sub_agent, folder, model, activity, source, tool_use, takes_context, .. } = event;
    let folder = folder.as_ref().map(ToString::to_string);
    let texts = [
        ("session", session),
        ("sub-agent", sub_agent),
        ("folder", &folder),
        ("model", model),
        ("activity", activity),
        ("source", source),
        ("tool use", tool_use),
    ];
    let there = texts.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    there.chain([("takes context", takes_context.to_string())]).collect()
}

#[test]
fn b02_each_event_of_each_host_is_told_and_answered_as_written_down() {
    let is_writing = std::env::var_os("FRITH_WRITE_GOLDEN").is_some();
    let mut hosts = 0;
    for (host, events) in known() {
        hosts += 1;
        let found: String = events.iter().map(|event| told(host, event)).collect();
        let expected = folder(host).join("expected.txt");
        if is_writing {
            std::fs::write(&expected, &found).expect("the fixtures can be written");
        }
        let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
        assert!(found == wanted, "{} differs from what is written down:\n{found}", host.id);
    }
    assert_eq!(hosts, 22);
}

#[test]
fn no_fixture_is_left_over() {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hooks");
    for entry in std::fs::read_dir(at).expect("the fixtures are there") {
        let folder = entry.expect("a folder can be read").path();
        let id = folder.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        let host = hosts::host(&id).unwrap_or_else(|| panic!("{id} is no host"));
        for file in std::fs::read_dir(&folder).expect("a folder can be read") {
            let file = file.expect("a folder can be read").path();
            let event = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
            assert!(event == "expected" || host.event(&event).is_some(), "{id} has no event {event}");
        }
    }
}

#[test]
fn neither_contents_nor_prompts_are_told_to_the_node() {
    for (host, events) in known() {
        for event in events {
            let json = payload_of(host, event.name);
            let told =
                payload::read(host, event.name, &json, &no_variables).map(|parsed| format!("{:?}", parsed.event)).unwrap_or_default();
            assert!(!told.contains("secret") && !told.contains("say hello"), "{} {}: {told}", host.id, event.name);
        }
    }
}
