//! One entry: its keys (CH-6 to CH-8, CH-11), checked one by one.

use std::time::Duration;

use lineside_core::flow::{Debounce, Retries, RetryAfter};
use lineside_core::hook::Join;
use lineside_core::{AgentKind, OnFailure, Severity};

use super::filter::{Count, Filter};
use super::glob::Glob;
use super::points::{ChordPoint, Class, Kind};
use super::report::{Disposal, Format, Report};
use super::shell::{Run, has_bash, needs_bash};
use crate::findings::Findings;
use crate::programs::Search;
use crate::schema::{Is, Keys, Row, Schema};
use crate::text::truncated;
use crate::tree::{Content, Node};

/// The keys of an entry, and the words for what is wrong with them (CH-4 to CH-7).
#[rustfmt::skip]
const ENTRY: Schema = Schema {
    rows: &[
        Row("name", Is::Text, "a string"),
        Row("command", Is::Any, "a list of strings or a string"),
        Row("shell", Is::Text, "a string"),
        Row("timeout", Is::Integer(0, 86_400), "an integer from 0 to 86400"),
        Row("tools", Is::List, "a list of globs"),
        Row("paths", Is::List, "a list of globs"),
        Row("agents", Is::List, "a list of globs"),
        Row("agent_kinds", Is::List, "a list of strings"),
        Row("models", Is::List, "a list of globs"),
        Row("min_changed_files", Is::Integer(0, 1_000_000), "an integer from 0 to 1000000"),
        Row("only_on_error", Is::Flag, "true or false"),
        Row("join", Is::Word(&["background", "before_next_llm"]), "one of background, before_next_llm"),
        Row("result", Is::Word(&["ignore", "notify_only", "append_on_failure", "always_append"]),
            "one of ignore, notify_only, append_on_failure, always_append"),
        Row("result_format", Is::Word(&["summary", "tail", "full"]), "one of summary, tail, full"),
        Row("max_result_lines", Is::Integer(0, 1_000_000), "an integer from 0 to 1000000"),
        Row("max_result_bytes", Is::Integer(0, 10_485_760), "an integer from 0 to 10485760"),
        Row("debounce_ms", Is::Integer(0, 3_600_000), "an integer from 0 to 3600000"),
        Row("debounce_max_wait_ms", Is::Any, ""),
        Row("concurrency", Is::Text, "a string"),
        Row("retry_on_failure", Is::Integer(0, 1000), "an integer from 0 to 1000"),
        Row("retry_delay_ms", Is::Integer(0, 3_600_000), "an integer from 0 to 3600000"),
        Row("environment", Is::Mapping, "a mapping from names to strings"),
        Row("on_failure", Is::Word(&["continue", "block"]), "one of continue, block"),
    ],
    text: Node::written,
    flag,
    shown,
    wrong: "`{key}` is {found}, not {expected}",
    severity: Severity::Error,
    unknown: "unknown key `{key}`{hint}",
    hint: ", did you mean `{near}`?",
    strict: false,
    twice: "",
    last: false,
};

/// The longest value that a finding shows, in characters.
const SHOWN: usize = 100;

/// The longest wait of a burst, in milliseconds.
const LONGEST_WAIT: i128 = 36_000_000;

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

/// How a finding names an entry.
pub(super) fn about(point: &ChordPoint, name: &str) -> String {
    format!("{}, hook \"{name}\"", point.name)
}

/// The name of an entry and what it declares; nothing when an error disables it.
pub(super) fn read(
    point: &'static ChordPoint,
    unnamed: String,
    item: &Node,
    search: &Search,
    findings: &mut Findings,
) -> (String, Option<Declared>) {
    let Some(entries) = item.mapping() else {
        let what = format!("the entry is {}, not a mapping", shown(item));
        findings.hook_error(item.line, about(point, &unnamed), what);
        return (unnamed, None);
    };
    let mut keys = Keys::new(&ENTRY, entries, findings);
    let given = keys.given("name").and_then(|(_, value)| value.written()).filter(|name| !name.is_empty());
    // A name is one line (CH-6); an entry without one is named by its place (CH-8).
    let name = given.filter(|name| !name.contains(char::is_control)).map_or(unnamed, str::to_owned);
    keys.about = about(point, &name) + ": ";
    if let Some(wrong) = keys.text("name").filter(|name| name.contains(char::is_control)) {
        let (line, found) = (keys.line("name"), format!("{wrong:?}"));
        keys.wrong(line, "name", &found, "one line without control characters");
    }
    keys.unknown();
    let declared = declared(&mut keys, point, item.line, search);
    (name, declared.filter(|_| keys.sound))
}

fn declared(
    keys: &mut Keys<'_, '_>,
    point: &'static ChordPoint,
    line: u32,
    search: &Search,
) -> Option<Declared> {
    let class = point.class;
    let environment = environment(keys);
    let path = environment.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let run = run(keys, line, || has_bash(search, path));
    let seconds = number(keys, "timeout");
    let debounce = debounce(keys);
    let retry = Retries {
        again: number(keys, "retry_on_failure"),
        delay: milliseconds(number(keys, "retry_delay_ms")),
        after: RetryAfter::AnyButOutput,
    };
    let concurrency = keys.text("concurrency").filter(|key| !key.is_empty()).map(str::to_owned);
    let join = match keys.text("join") {
        Some("before_next_llm") if class == Class::Automation => Join::BeforeNextModel,
        _ => Join::Background,
    };
    let report = report(keys);
    let blocks = keys.text("on_failure") == Some("block");
    no_effect(keys, class, debounce.is_some(), blocks);
    // What has no effect is as if it were not there (CH-11).
    let is_sync = class == Class::Sync;
    let debounce = debounce.filter(|_| !is_sync);
    Some(Declared {
        filter: filter(keys, point, debounce.is_some()),
        run: run?,
        timeout: Duration::from_secs(if seconds == 0 { 30 } else { seconds.into() }),
        join,
        report,
        debounce,
        concurrency,
        retry,
        environment,
        on_failure: if is_sync && blocks { OnFailure::Block } else { OnFailure::Continue },
    })
}

/// Exactly one of `command` and `shell` (CH-5, CH-9, CH-10).
fn run(keys: &mut Keys<'_, '_>, line: u32, has_bash: impl Fn() -> bool) -> Option<Run> {
    let (key, value) = match (keys.given("command"), keys.given("shell")) {
        (Some(_), Some(_)) => {
            keys.error(line, "there are both `command` and `shell`");
            return None;
        }
        (Some((_, value)), None) => ("command", value),
        (None, Some((_, value))) => ("shell", value),
        (None, None) => {
            keys.error(line, "there is neither `command` nor `shell`");
            return None;
        }
    };
    let at = keys.line(key);
    if key == "command" && value.list().is_some() {
        let arguments: Vec<_> = strings(keys, key).into_iter().map(|(_, text)| text.to_owned()).collect();
        if arguments.is_empty() && keys.sound {
            keys.wrong(at, key, "empty", "something to run");
            return None;
        }
        return Some(Run::Arguments(arguments));
    }
    if key == "command" && value.mapping().is_some() {
        keys.mismatch(key);
    }
    let text = keys.text(key)?;
    if text.trim().is_empty() {
        keys.wrong(at, key, "empty", "something to run");
        return None;
    }
    let needs = needs_bash(text);
    let bash = needs && has_bash();
    if needs && !bash {
        keys.warning(at, format_args!("`{key}` contains `<<<` and there is no bash: sh runs it"));
    }
    Some(Run::line(text.to_owned(), bash))
}

fn debounce(keys: &mut Keys<'_, '_>) -> Option<Debounce> {
    const MOST: &str = "debounce_max_wait_ms";
    let quiet = number(keys, "debounce_ms");
    let value = keys.get(MOST);
    let at_most = value.and_then(Node::integer).filter(|most| (quiet.into()..=LONGEST_WAIT).contains(most));
    if let Some(value) = value.filter(|_| at_most.is_none()) {
        let expected = format!("an integer from {quiet} to {LONGEST_WAIT}");
        keys.wrong(keys.line(MOST), MOST, &shown(value), &expected);
    }
    let at_most = at_most.and_then(|most| u32::try_from(most).ok()).unwrap_or(quiet * 10);
    (quiet > 0).then(|| Debounce { quiet: milliseconds(quiet), at_most: milliseconds(at_most) })
}

fn report(keys: &mut Keys<'_, '_>) -> Report {
    let or = |given: u32, default| if given == 0 { default } else { given as usize };
    Report {
        disposal: keys.text("result").map(|word| match word {
            "ignore" => Disposal::Ignore,
            "notify_only" => Disposal::NotifyOnly,
            "append_on_failure" => Disposal::AppendOnFailure,
            _ => Disposal::AlwaysAppend,
        }),
        format: match keys.text("result_format") {
            Some("tail") => Format::Tail,
            Some("full") => Format::Full,
            _ => Format::Summary,
        },
        lines: or(number(keys, "max_result_lines"), 50),
        bytes: or(number(keys, "max_result_bytes"), 4096),
    }
}

fn filter(keys: &mut Keys<'_, '_>, point: &'static ChordPoint, debounced: bool) -> Filter {
    let least = number(keys, "min_changed_files") as usize;
    let count = match least {
        0 => Count::Any,
        _ if point.kind != Kind::ToolBatchComplete => {
            let why = "but only `on_tool_batch_complete` has changed files: the hook never runs";
            keys.warning(
                keys.line("min_changed_files"),
                format_args!("`min_changed_files` is {least}, {why}"),
            );
            Count::Never
        }
        _ if debounced => Count::OfBurst(least),
        _ => Count::OfEvent(least),
    };
    Filter {
        point,
        tools: globs(keys, "tools"),
        paths: globs(keys, "paths"),
        agents: globs(keys, "agents"),
        kinds: kinds(keys),
        models: globs(keys, "models"),
        count,
        only_on_error: keys.flag("only_on_error").unwrap_or_default(),
    }
}

/// Warns of keys that do nothing at hooks of this class (CH-11).
fn no_effect(keys: &mut Keys<'_, '_>, class: Class, debounces: bool, blocks: bool) {
    let is_idle = |key: &str| match key {
        "join" | "result" | "result_format" | "max_result_lines" | "max_result_bytes" => {
            class != Class::Automation
        }
        "debounce_ms" => class == Class::Sync && debounces,
        "debounce_max_wait_ms" => class == Class::Sync || !debounces,
        "on_failure" => class != Class::Sync && blocks,
        _ => false,
    };
    let idle = ENTRY.rows.iter().map(|row| row.0).filter(|key| is_idle(key) && keys.given(key).is_some());
    let idle: Vec<&str> = idle.collect();
    if let Some(first) = idle.first() {
        let ticked = idle.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let what = format!("without effect on {} that is declared like this: {ticked}", class.word());
        keys.warning(keys.line(first), what);
    }
}

/// An integer within the bounds of its row; 0 when it is absent.
fn number(keys: &mut Keys<'_, '_>, key: &'static str) -> u32 {
    keys.integer(key).and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
}

/// The strings of a list, each with its line.
fn strings<'a>(keys: &mut Keys<'a, '_>, key: &'static str) -> Vec<(u32, &'a str)> {
    let mut strings = Vec::new();
    for item in keys.list(key).unwrap_or_default() {
        match item.written() {
            Some(text) => strings.push((item.line, text)),
            None => keys.wrong(item.line, &format!("{key}[]"), &shown(item), "a string"),
        }
    }
    strings
}

/// The globs of a list.
fn globs(keys: &mut Keys<'_, '_>, key: &'static str) -> Vec<Glob> {
    let mut globs = Vec::new();
    for (line, pattern) in strings(keys, key) {
        match Glob::read(pattern) {
            Ok(glob) => globs.push(glob),
            Err(error) => {
                keys.error(line, format_args!("`{key}` has a malformed glob `{pattern}`: {error}"));
            }
        }
    }
    globs
}

/// The kinds of agents of `agent_kinds`.
fn kinds(keys: &mut Keys<'_, '_>) -> Vec<AgentKind> {
    let mut kinds = Vec::new();
    for (line, text) in strings(keys, "agent_kinds") {
        match text {
            "main" => kinds.push(AgentKind::Main),
            "subagent" | "sub" => kinds.push(AgentKind::Subagent),
            _ => keys.wrong(line, "agent_kinds[]", &format!("{text:?}"), "one of main, subagent, sub"),
        }
    }
    kinds
}

/// The variables of `environment`, names and texts.
fn environment(keys: &mut Keys<'_, '_>) -> Vec<(String, String)> {
    let variables = keys.get("environment").and_then(Node::mapping).unwrap_or_default();
    let mut environment = Vec::with_capacity(variables.len());
    for (name, value) in variables {
        let valid = name.written().filter(|name| !name.is_empty() && !name.contains(['=', '\0']));
        let text = if value.is_null() { Some("") } else { value.written() };
        match (valid, text) {
            (Some(name), Some(text)) => environment.push((name.to_owned(), text.to_owned())),
            (None, _) => keys.wrong(name.line, "environment", &shown(name), "a name without `=` and NUL"),
            (_, None) => {
                let key = format!("environment.{}", name.label());
                keys.wrong(name.line, &key, &shown(value), "a string");
            }
        }
    }
    environment
}

/// A flag, which may also be written as in YAML 1.1.
fn flag(node: &Node) -> Option<bool> {
    match &node.content {
        Content::Boolean(value) => Some(*value),
        Content::Text(text) if node.is_plain() => match text.as_str() {
            "yes" | "on" => Some(true),
            "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A value as a finding shows it.
pub(super) fn shown(node: &Node) -> String {
    match &node.content {
        Content::Null => "null".to_owned(),
        Content::List(_) => "a list".to_owned(),
        Content::Mapping(_) => "a mapping".to_owned(),
        Content::Text(text) => truncated(&format!("{text:?}"), SHOWN),
        _ => truncated(node.written().unwrap_or_default(), SHOWN),
    }
}

fn milliseconds(number: u32) -> Duration {
    Duration::from_millis(number.into())
}

#[cfg(test)]
mod tests;
