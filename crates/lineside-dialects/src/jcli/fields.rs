//! A mapping of YAML nodes to a hook whose every field is checked (JC-8 to JC-12).

use std::time::Duration;

use super::definition::{Definition, OnError, Run};
use super::events::{self, Event};
use super::filter::Conditions;
use super::findings::{Findings, HookWarning, LoadHookError};
use super::guard;
use super::template::Template;
use crate::yaml::{Content, Draft, Node};

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

const KEYS: [&str; 9] =
    ["events", "type", "command", "prompt", "model", "timeout", "retry", "on_error", "filter"];
const FILTER: [&str; 3] = ["tool_name", "tool_matcher", "model_prefix"];

/// The longest timeout that differs from one without end: somewhat more than a hundred years.
const LONGEST: u64 = u32::MAX as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bash,
    Llm,
}

/// Checks all fields. `None` when the hook does not load; the findings say why.
pub(super) fn check(draft: &Draft, name: &str, findings: &mut Findings) -> Option<Declared> {
    let mut check = Check { entries: &draft.entries, findings, loads: true };
    for duplicate in &draft.duplicates {
        check.error(duplicate.line, LoadHookError::Duplicate(duplicate.key.clone()));
    }
    for (line, key) in unexpected(&draft.entries, &KEYS) {
        check.findings.warning(line, HookWarning::Unexpected(key));
    }
    let (line, events) = check.events();
    let kind = check.kind();
    let [command, prompt, model] = ["command", "prompt", "model"].map(|key| check.text(key));
    let run = kind.and_then(|kind| check.run(kind, name, command, prompt, model));
    let timeout = check.integer("timeout", 1, LoadHookError::Timeout);
    let retry = check.integer("retry", 0, LoadHookError::Retry);
    let on_error = check.on_error();
    let filter = check.filter(&events);
    let loads = check.loads;
    let is_llm = kind == Some(Kind::Llm);
    let definition = Definition {
        run: run.filter(|_| loads)?,
        timeout: Duration::from_secs(timeout.unwrap_or(if is_llm { 30 } else { 10 }).min(LONGEST)),
        retry: u32::try_from(retry.unwrap_or(u64::from(is_llm))).unwrap_or(u32::MAX),
        on_error,
        filter,
    };
    let type_line = entry(&draft.entries, "type").map_or(1, |(line, _)| line);
    Some(Declared { events, line, type_line, definition })
}

/// The first entry of that key, unless its value is null, which is as good as absent (JC-8).
fn entry<'a>(entries: &'a [(Node, Node)], key: &str) -> Option<(u32, &'a Node)> {
    let (key, value) = entries.iter().find(|(name, _)| name.text() == Some(key))?;
    (!value.is_null()).then_some((key.line, value))
}

/// W2
fn unexpected(entries: &[(Node, Node)], known: &[&str]) -> Vec<(u32, String)> {
    let unexpected = entries.iter().filter(|(key, value)| {
        let known = key.text().is_some_and(|key| known.contains(&key));
        !known && !value.is_null()
    });
    unexpected.map(|(key, _)| (key.line, key.label())).collect()
}

/// A value of a key and the key's line; absent when it has none, or one of the wrong type.
type Text<'a> = Given<&'a str>;

#[derive(Debug, Clone, Copy)]
enum Given<T> {
    Absent,
    Wrong,
    At(u32, T),
}

struct Check<'a, 'f> {
    entries: &'a [(Node, Node)],
    findings: &'f mut Findings,
    /// Nothing has been found so far for which the hook does not load.
    loads: bool,
}

impl<'a> Check<'a, '_> {
    fn error(&mut self, line: u32, error: LoadHookError) {
        self.loads = false;
        self.findings.error(line, error);
    }

    /// JC-9. An unknown event costs nothing but itself.
    fn events(&mut self) -> (u32, Vec<&'static Event>) {
        let mut bound: Vec<&'static Event> = Vec::new();
        let Some((line, value)) = entry(self.entries, "events") else {
            self.error(1, LoadHookError::NoEvents);
            return (1, bound);
        };
        let Content::List(items) = &value.content else {
            self.error(line, LoadHookError::EventsType);
            return (line, bound);
        };
        if items.is_empty() {
            self.error(line, LoadHookError::EventsEmpty);
        }
        for item in items {
            let Some(event) = item.text().and_then(events::find) else {
                let event = item.label();
                let nearest = guard::nearest(&event);
                self.findings.error(line, LoadHookError::Event { event, nearest });
                continue;
            };
            if bound.contains(&event) {
                self.findings.warning(line, HookWarning::Twice(event.name));
            } else {
                bound.push(event);
            }
        }
        (line, bound)
    }

    fn kind(&mut self) -> Option<Kind> {
        let Some((line, value)) = entry(self.entries, "type") else {
            return Some(Kind::Bash);
        };
        match value.text() {
            Some("bash" | "shell") => Some(Kind::Bash),
            Some("llm") => Some(Kind::Llm),
            _ => {
                self.error(line, LoadHookError::Type);
                None
            }
        }
    }

    fn text(&mut self, key: &'static str) -> Text<'a> {
        self.text_in(self.entries, key, key)
    }

    fn text_in(&mut self, entries: &'a [(Node, Node)], key: &str, shown: &'static str) -> Text<'a> {
        match entry(entries, key) {
            None => Given::Absent,
            Some((line, value)) => match value.text() {
                Some(text) => Given::At(line, text),
                None => {
                    self.error(line, LoadHookError::NoString(shown));
                    Given::Wrong
                }
            },
        }
    }

    fn run(
        &mut self,
        kind: Kind,
        name: &str,
        command: Text<'_>,
        prompt: Text<'_>,
        model: Text<'_>,
    ) -> Option<Run> {
        let no_effect = |field, kind| HookWarning::NoEffect { field, kind };
        match kind {
            Kind::Bash => {
                for (field, text) in [("prompt", prompt), ("model", model)] {
                    if let Given::At(line, _) = text {
                        self.findings.warning(line, no_effect(field, "bash"));
                    }
                }
                let command = self.not_blank(command, || LoadHookError::NoCommand(name.to_owned()))?;
                Some(Run::Command(command.1.to_owned()))
            }
            Kind::Llm => {
                if let Given::At(line, _) = command {
                    self.findings.warning(line, no_effect("command", "llm"));
                }
                let (line, prompt) = self.not_blank(prompt, || LoadHookError::NoPrompt(name.to_owned()))?;
                let prompt = Template::new(prompt);
                for variable in prompt.unknown() {
                    self.findings.warning(line, HookWarning::Variable(variable));
                }
                let model = if let Given::At(_, model) = model { Some(model.to_owned()) } else { None };
                Some(Run::Prompt { prompt, model })
            }
        }
    }

    fn not_blank<'t>(
        &mut self,
        text: Text<'t>,
        missing: impl FnOnce() -> LoadHookError,
    ) -> Option<(u32, &'t str)> {
        match text {
            Given::At(line, text) if !text.trim().is_empty() => return Some((line, text)),
            Given::At(line, _) => self.error(line, missing()),
            Given::Absent => self.error(1, missing()),
            // That it is no text has been reported.
            Given::Wrong => {}
        }
        None
    }

    fn integer(&mut self, key: &str, least: u64, error: LoadHookError) -> Option<u64> {
        let (line, value) = entry(self.entries, key)?;
        match value.content {
            Content::Integer(integer) if integer >= i128::from(least) => {
                Some(u64::try_from(integer).unwrap_or(u64::MAX))
            }
            _ => {
                self.error(line, error);
                None
            }
        }
    }

    fn on_error(&mut self) -> OnError {
        let Some((line, value)) = entry(self.entries, "on_error") else {
            return OnError::Skip;
        };
        match value.text() {
            Some("skip") => OnError::Skip,
            Some("stop") => OnError::Stop,
            _ => {
                self.error(line, LoadHookError::OnError);
                OnError::Skip
            }
        }
    }

    fn filter(&mut self, events: &[&'static Event]) -> Conditions {
        let Some((line, value)) = entry(self.entries, "filter") else {
            return Conditions::default();
        };
        let Content::Mapping(entries) = &value.content else {
            self.error(line, LoadHookError::FilterType);
            return Conditions::default();
        };
        for (line, key) in unexpected(entries, &FILTER) {
            self.findings.warning(line, HookWarning::UnexpectedInFilter(key));
        }
        let tool_name = self.text_in(entries, "tool_name", "filter.tool_name");
        let tool_matcher = self.text_in(entries, "tool_matcher", "filter.tool_matcher");
        let model_prefix = self.text_in(entries, "model_prefix", "filter.model_prefix");
        let without_tool: Vec<_> = events.iter().filter(|event| !event.has_tool()).collect();
        let by_tool = match (tool_name, tool_matcher) {
            (Given::At(line, _), Given::At(ignored, _)) => {
                self.findings.warning(ignored, HookWarning::MatcherIgnored);
                Some((line, "tool_name"))
            }
            (Given::At(line, _), _) => Some((line, "tool_name")),
            (_, Given::At(line, _)) => Some((line, "tool_matcher")),
            _ => None,
        };
        if let Some((line, field)) = by_tool {
            for event in without_tool {
                self.findings.warning(line, HookWarning::NoTool { field, event: event.name });
            }
        }
        let [tool_name, tool_matcher, model_prefix] =
            [tool_name, tool_matcher, model_prefix].map(|text| match text {
                Given::At(_, text) => Some(text),
                Given::Absent | Given::Wrong => None,
            });
        Conditions::new(tool_name, tool_matcher, model_prefix)
    }
}

#[cfg(test)]
mod tests;
