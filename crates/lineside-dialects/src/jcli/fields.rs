//! A mapping of YAML nodes to a hook whose every field is checked (JC-8 to JC-12).

use std::time::Duration;

use lineside_core::Severity;

use super::definition::{Definition, OnError, Run};
use super::events::{self, Event};
use super::filter::Conditions;
use super::guard;
use super::template::Template;
use crate::findings::Findings;
use crate::schema::{Is, Keys, Row, Schema};
use crate::yaml::{Draft, Node};

/// A hook as its file declares it.
#[derive(Debug)]
pub(super) struct Declared {
    /// The events that it is bound to, each once.
    pub(super) events: Vec<&'static Event>,
    /// The line of the key `events`.
    pub(super) line: u32,
    /// The line of the key `type`, or 1.
    pub(super) type_line: u32,
    /// What it does.
    pub(super) definition: Definition,
}

/// The keys of a hook, and the words for what is wrong with them (JC-8, JC-10, JC-11).
#[rustfmt::skip]
const HOOK: Schema = Schema {
    rows: &[
        Row("events", Is::List, "a list of event names"),
        Row("type", Is::Word(&["bash", "shell", "llm"]), "'bash' or 'llm'"),
        Row("command", Is::Text, "a string"),
        Row("prompt", Is::Text, "a string"),
        Row("model", Is::Text, "a string"),
        Row("timeout", Is::Integer(1, i128::MAX), "an integer of at least 1"),
        Row("retry", Is::Integer(0, i128::MAX), "an integer of at least 0"),
        Row("on_error", Is::Word(&["skip", "stop"]), "'skip' or 'stop'"),
        Row("filter", Is::Mapping, "a mapping"),
    ],
    text: Node::text,
    flag: Node::boolean,
    shown: Node::label,
    wrong: "Field '{key}' must be {expected}",
    severity: Severity::Error,
    unknown: "Unexpected field: '{key}'",
    hint: "",
    strict: false,
    twice: "Duplicate key '{key}'",
    last: false,
};

/// The keys of `filter` (JC-12).
const FILTER: Schema = Schema {
    rows: &[
        Row("tool_name", Is::Text, "a string"),
        Row("tool_matcher", Is::Text, "a string"),
        Row("model_prefix", Is::Text, "a string"),
    ],
    wrong: "Field 'filter.{key}' must be {expected}",
    unknown: "Unexpected field in filter: '{key}'",
    ..HOOK
};

/// The longest timeout that differs from one without end: somewhat more than a hundred years.
const LONGEST: u64 = u32::MAX as u64;

/// Checks all fields. `None` when the hook does not load; the findings say why.
pub(super) fn check(draft: &Draft, name: &str, findings: &mut Findings) -> Option<Declared> {
    let mut keys = Keys::new(&HOOK, &draft.entries, findings);
    keys.twice(&draft.duplicates);
    keys.unknown();
    let events = events(&mut keys);
    let kind = keys.text_or("type", "bash");
    let is_llm = kind == Some("llm");
    let texts = ["command", "prompt", "model"].map(|key| (key, keys.text(key)));
    let run = kind.and_then(|_| run(&mut keys, name, is_llm, texts));
    let timeout = keys.integer("timeout").map(|seconds| u64::try_from(seconds).unwrap_or(u64::MAX));
    let retry = keys.integer("retry").map(|again| u32::try_from(again).unwrap_or(u32::MAX));
    let on_error = if keys.text("on_error") == Some("stop") { OnError::Stop } else { OnError::Skip };
    let filter = filter(&mut keys, &events);
    let sound = keys.sound;
    let definition = Definition {
        run: run.filter(|_| sound)?,
        timeout: Duration::from_secs(timeout.unwrap_or(if is_llm { 30 } else { 10 }).min(LONGEST)),
        retry: retry.unwrap_or(u32::from(is_llm)),
        on_error,
        filter,
    };
    Some(Declared { events, line: keys.line("events"), type_line: keys.line("type"), definition })
}

/// The events of a hook, each once (JC-9). An unknown event costs nothing but itself.
fn events(keys: &mut Keys<'_, '_>) -> Vec<&'static Event> {
    let line = keys.line("events");
    let mut bound: Vec<&'static Event> = Vec::new();
    if keys.given("events").is_none() {
        keys.error(line, "Missing required field: events");
    }
    let Some(items) = keys.list("events") else { return bound };
    if items.is_empty() {
        keys.error(line, "Field 'events' is empty");
    }
    for item in items {
        match item.text().and_then(events::find) {
            None => keys.findings.error(line, guard::unknown(&item.label())),
            Some(event) if bound.contains(&event) => {
                keys.warning(line, format_args!("Event '{}' is listed twice", event.name));
            }
            Some(event) => bound.push(event),
        }
    }
    bound
}

/// What a hook runs; its command or its prompt must not be blank.
fn run(
    keys: &mut Keys<'_, '_>,
    name: &str,
    is_llm: bool,
    texts: [(&'static str, Option<&str>); 3],
) -> Option<Run> {
    let (kind, own, idle): (_, _, &[_]) =
        if is_llm { ("llm", "prompt", &["command"]) } else { ("bash", "command", &["prompt", "model"]) };
    for (key, _) in texts.iter().filter(|(key, text)| text.is_some() && idle.contains(key)) {
        keys.warning(keys.line(key), format_args!("Field '{key}' has no effect on a {kind} hook"));
    }
    let [command, prompt, model] = texts.map(|(_, text)| text);
    let text = if is_llm { prompt } else { command };
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        // That it is no text has been reported.
        if text.is_some() || keys.given(own).is_none() {
            keys.error(keys.line(own), format_args!("{kind} hook '{name}' has no {own}"));
        }
        return None;
    };
    if !is_llm {
        return Some(Run::Command(text.to_owned()));
    }
    let prompt = Template::new(text);
    for variable in prompt.unknown() {
        keys.warning(keys.line(own), format_args!("unknown template variable '{{{{{variable}}}}}'"));
    }
    Some(Run::Prompt { prompt, model: model.map(str::to_owned) })
}

/// The conditions of `filter` (JC-12).
fn filter(keys: &mut Keys<'_, '_>, events: &[&'static Event]) -> Conditions {
    let Some(mut filter) = keys.mapping("filter", &FILTER) else { return Conditions::default() };
    filter.unknown();
    let [name, matcher, prefix] = ["tool_name", "tool_matcher", "model_prefix"].map(|key| filter.text(key));
    if name.is_some() && matcher.is_some() {
        let what = "filter.tool_matcher is ignored beside filter.tool_name";
        filter.warning(filter.line("tool_matcher"), what);
    }
    if let Some(field) = name.map(|_| "tool_name").or(matcher.map(|_| "tool_matcher")) {
        for event in events.iter().filter(|event| !event.has_tool()) {
            let what = format!("filter.{field} never matches at '{}', which has no tool", event.name);
            filter.warning(filter.line(field), what);
        }
    }
    let sound = filter.sound;
    keys.sound &= sound;
    Conditions::new(name, matcher, prefix)
}

#[cfg(test)]
mod tests;
