//! One entry: its keys (CH-6 to CH-8, CH-11), checked one by one.

mod values;

use std::time::Duration;

use lineside_core::flow::{Debounce, Retries, RetryAfter};
use lineside_core::hook::Join;
use lineside_core::nearest::suggestion;
use lineside_core::{AgentKind, OnFailure};

use self::values::Values;
pub(super) use self::values::shown;
use super::filter::{Count, Filter};
use super::findings::{About, Findings, LoadError, LoadWarning};
use super::points::{ChordPoint, Class, Kind};
use super::report::{Disposal, Format, Report};
use super::shell::{Run, has_bash, needs_bash};
use crate::programs::Search;
use crate::yaml::{Content, Node};

/// The keys of an entry (CH-6).
const KEYS: [&str; 23] = [
    "name", "command", "shell", "timeout", "tools", "paths", "agents", "agent_kinds", "models",
    "min_changed_files", "only_on_error", "join", "result", "result_format", "max_result_lines",
    "max_result_bytes", "debounce_ms", "debounce_max_wait_ms", "concurrency", "retry_on_failure",
    "retry_delay_ms", "environment", "on_failure",
];

/// What an entry declares, checked.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    /// What it runs.
    pub(super) run: Run,
    /// How long one attempt may take.
    pub(super) timeout: Duration,
    /// When it runs.
    pub(super) filter: Filter,
    /// Whether the next model call waits for it.
    pub(super) join: Join,
    /// What becomes of its result.
    pub(super) report: Report,
    /// Whether its events are held.
    pub(super) debounce: Option<Debounce>,
    /// Runs with the same key never overlap.
    pub(super) concurrency: Option<String>,
    /// How often it is tried again.
    pub(super) retry: Retries,
    /// Variables, in order.
    pub(super) environment: Vec<(String, String)>,
    /// What its failure means.
    pub(super) on_failure: OnFailure,
}

/// The name of an entry and what it declares; nothing when an error disables it.
pub(super) fn read(
    point: &'static ChordPoint,
    unnamed: String,
    line: u32,
    entries: &[(Node, Node)],
    search: &Search,
    findings: &mut Findings,
) -> (String, Option<Declared>) {
    let written = entries.iter().find(|(key, _)| key.written() == Some("name"));
    let given = written.and_then(|(_, value)| value.written()).filter(|name| !name.is_empty());
    // CH-6, CH-8
    let name = match given {
        Some(name) if !name.contains(char::is_control) => name.to_owned(),
        _ => unnamed,
    };
    let about = About { point, name: &name };
    let mut values = Values { entries, about, findings, sound: true };
    if let Some(wrong) = values.string("name").filter(|name| name.contains(char::is_control)) {
        let found = format!("{wrong:?}");
        let error = LoadError::Value {
            key: "name".into(),
            found,
            expected: "one line without control characters".into(),
        };
        values.error(written.map_or(line, |(key, _)| key.line), &error);
    }
    unknown_keys(&mut values);
    let declared = declared(&mut values, line, search);
    let sound = values.sound;
    (name, declared.filter(|_| sound))
}

fn unknown_keys(values: &mut Values<'_>) {
    for (key, value) in values.entries {
        let label = key.label();
        if !value.is_null() && !KEYS.contains(&label.as_str()) {
            let near = suggestion(&label, KEYS);
            values.findings.hook_warning(key.line, values.about, LoadWarning::UnknownKey(label, near));
        }
    }
}

fn declared(values: &mut Values<'_>, line: u32, search: &Search) -> Option<Declared> {
    let class = values.about.point.class;
    let environment = values.environment();
    let path = environment.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let run = run(values, line, || has_bash(search, path));
    let seconds = values.integer("timeout", 0..=86_400);
    let debounce = debounce(values);
    let retry = Retries {
        again: values.integer("retry_on_failure", 0..=1000),
        delay: milliseconds(values.integer("retry_delay_ms", 0..=3_600_000)),
        after: RetryAfter::AnyButOutput,
    };
    let concurrency = values.string("concurrency").filter(|key| !key.is_empty()).map(str::to_owned);
    let joins = [("background", Join::Background), ("before_next_llm", Join::BeforeNextModel)];
    let join = values.word("join", &joins).unwrap_or_default();
    let report = report(values);
    let failures = [("continue", OnFailure::Continue), ("block", OnFailure::Block)];
    let on_failure = values.word("on_failure", &failures).unwrap_or(OnFailure::Continue);
    no_effect(values, debounce, on_failure);
    // CH-11: what has no effect is as if it were not there.
    let debounce = debounce.filter(|_| class != Class::Sync);
    let filter = filter(values, debounce.is_some());
    let is_sync = class == Class::Sync;
    Some(Declared {
        run: run?,
        timeout: Duration::from_secs(if seconds == 0 { 30 } else { seconds.into() }),
        filter,
        join: if class == Class::Automation { join } else { Join::Background },
        report,
        debounce,
        concurrency,
        retry,
        environment,
        on_failure: if is_sync { on_failure } else { OnFailure::Continue },
    })
}

/// Exactly one of `command` and `shell` (CH-5, CH-9, CH-10).
fn run(values: &mut Values<'_>, line: u32, has_bash: impl Fn() -> bool) -> Option<Run> {
    let shell_line = |values: &mut Values<'_>, key: &'static str| {
        let at = values.get(key)?.0.line;
        let text = values.string(key)?;
        if text.trim().is_empty() {
            empty(values, at, key);
            return None;
        }
        let needs = needs_bash(text);
        let bash = needs && has_bash();
        if needs && !bash {
            values.findings.hook_warning(at, values.about, LoadWarning::NoBash(key));
        }
        Some(Run::line(text.to_owned(), bash))
    };
    match (values.get("command"), values.get("shell")) {
        (None, None) => {
            values.error(line, &LoadError::NoCommand);
            None
        }
        (Some(_), Some(_)) => {
            values.error(line, &LoadError::TwoCommands);
            None
        }
        (None, Some(_)) => shell_line(values, "shell"),
        (Some((key, Node { content: Content::List(_), .. })), None) => {
            let arguments = values.strings("command", "a list of strings")?;
            if arguments.is_empty() && values.sound {
                empty(values, key.line, "command");
                return None;
            }
            Some(Run::Arguments(arguments.into_iter().map(|(_, text)| text.to_owned()).collect()))
        }
        (Some((_, Node { content: Content::Mapping(_), .. })), None) => {
            values.strings("command", "a list of strings or a string");
            None
        }
        (Some(_), None) => shell_line(values, "command"),
    }
}

fn empty(values: &mut Values<'_>, line: u32, key: &str) {
    let (key, found, expected) = (key.to_owned(), "empty".to_owned(), "something to run".to_owned());
    values.error(line, &LoadError::Value { key, found, expected });
}

fn debounce(values: &mut Values<'_>) -> Option<Debounce> {
    let quiet = values.integer("debounce_ms", 0..=3_600_000);
    let at_most = values.integer_if_there("debounce_max_wait_ms", quiet..=36_000_000);
    (quiet > 0).then(|| Debounce {
        quiet: milliseconds(quiet),
        at_most: milliseconds(at_most.unwrap_or(quiet * 10)),
    })
}

fn report(values: &mut Values<'_>) -> Report {
    let disposals = [
        ("ignore", Disposal::Ignore),
        ("notify_only", Disposal::NotifyOnly),
        ("append_on_failure", Disposal::AppendOnFailure),
        ("always_append", Disposal::AlwaysAppend),
    ];
    let formats = [("summary", Format::Summary), ("tail", Format::Tail), ("full", Format::Full)];
    let or = |given: u32, default| if given == 0 { default } else { given as usize };
    Report {
        disposal: values.word("result", &disposals),
        format: values.word("result_format", &formats).unwrap_or_default(),
        lines: or(values.integer("max_result_lines", 0..=1_000_000), 50),
        bytes: or(values.integer("max_result_bytes", 0..=10_485_760), 4096),
    }
}

fn filter(values: &mut Values<'_>, debounced: bool) -> Filter {
    let kinds = [("main", AgentKind::Main), ("subagent", AgentKind::Subagent), ("sub", AgentKind::Subagent)];
    let point = values.about.point;
    let least = values.integer("min_changed_files", 0..=1_000_000) as usize;
    let count = match least {
        0 => Count::Any,
        _ if point.kind != Kind::ToolBatchComplete => {
            let line = values.get("min_changed_files").map_or(0, |(key, _)| key.line);
            values.findings.hook_warning(line, values.about, LoadWarning::NeverRuns(least));
            Count::Never
        }
        _ if debounced => Count::OfBurst(least),
        _ => Count::OfEvent(least),
    };
    Filter {
        point,
        tools: values.globs("tools"),
        paths: values.globs("paths"),
        agents: values.globs("agents"),
        kinds: values.words("agent_kinds", &kinds),
        models: values.globs("models"),
        count,
        only_on_error: values.boolean("only_on_error"),
    }
}

/// Warns of keys that do nothing at hooks of this class (CH-11).
fn no_effect(values: &mut Values<'_>, debounce: Option<Debounce>, on_failure: OnFailure) {
    let class = values.about.point.class;
    let keys: Vec<&'static str> = KEYS
        .into_iter()
        .filter(|key| values.get(key).is_some())
        .filter(|key| match *key {
            "join" | "result" | "result_format" | "max_result_lines" | "max_result_bytes" => {
                class != Class::Automation
            }
            "debounce_ms" => class == Class::Sync && debounce.is_some(),
            "debounce_max_wait_ms" => class == Class::Sync || debounce.is_none(),
            "on_failure" => class != Class::Sync && on_failure == OnFailure::Block,
            _ => false,
        })
        .collect();
    if let Some((key, _)) = keys.first().and_then(|first| values.get(first)) {
        values.findings.hook_warning(key.line, values.about, LoadWarning::NoEffect(class, keys));
    }
}

fn milliseconds(number: u32) -> Duration {
    Duration::from_millis(number.into())
}

#[cfg(test)]
mod tests;
