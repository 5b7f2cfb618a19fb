//! `automate`: the settings of an automation, with the names, the defaults and the checks of the builder in Rust.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::PointInfo;
use lineside_core::control::{AtEnd, Batch, Control, Excess, OnBusy, Pause, Place, Rate, Retry, Scope};
use lineside_core::flow::{Debounce, RetryAfter};
use lineside_core::hook::Join;
use lineside_core::report::{Format, ResultRule, ResultWhen};
use lineside_guards::{Account, WhenUnclear};

use super::definition::Automated;
use super::findings::{LoadError, LoadWarning};
use super::matching::{self, Scene};
use super::values::{SHORT, Values, shown};
use crate::yaml::{Content, Node};

/// Makes an automation of a hook.
pub(super) const AUTOMATE: &str = "automate";

const KEYS: [&str; 14] = [
    "rate", "debounce", "batch", "hold_key", "concurrency", "limit", "on_busy", "scope", "where", "retry",
    "join", "result", "at_end", "cancelled_by",
];

const WHEN: [(&str, ResultWhen); 4] = [
    ("ignore", ResultWhen::Ignore),
    ("notify", ResultWhen::Notify),
    ("append_on_failure", ResultWhen::AppendOnFailure),
    ("append_always", ResultWhen::AppendAlways),
];

/// Reads what stands below `automate`, for a hook of this priority at these points. Gives how long an attempt may take
/// as well, for which a sync hook and an automation have different bounds.
pub(super) fn read(
    values: &mut Values<'_, '_>,
    priority: i32,
    points: &[&'static PointInfo],
    account: &Arc<Account>,
) -> (Duration, Automated) {
    let mut control = Control { priority, ..Control::default() };
    values.doubt_short("timeout", SHORT);
    if let Some(timeout) = values.millis("timeout") {
        control.timeout = timeout;
    }
    let mut cancelled_by = Vec::new();
    let keys = values.mapping(AUTOMATE, "a mapping of settings").unwrap_or_default();
    let mut within = values.inside(keys, "automate.");
    within.strictly(&KEYS);
    settings(&mut within, &mut control);
    for (of, item) in items(&mut within, "cancelled_by") {
        cancelled_by.extend(cancelling(&mut within, of, item, account));
    }
    let sound = within.sound;
    values.sound &= sound;
    let cancelling: Vec<&PointInfo> = cancelled_by.iter().map(|(point, _)| *point).collect();
    let mut rules = Vec::with_capacity(points.len());
    for point in points {
        match control.check(point, &cancelling) {
            Ok(checked) => rules.push((*point, Arc::new(checked))),
            Err(error) => {
                let line = line_of(values, keys, error.setting());
                values.error(line, &LoadError::Control { error });
                // What is wrong at one point is mostly wrong at all.
                break;
            }
        }
    }
    (control.timeout, Automated { control: Arc::new(control), rules, cancelled_by })
}

fn settings(values: &mut Values<'_, '_>, control: &mut Control) {
    control.rate =
        nested(values, "rate", "a mapping such as {starts: 1, period: 60000}", "automate.rate.", rate);
    let held = nested(values, "debounce", "a mapping such as {quiet: 2000}", "automate.debounce.", debounce);
    let (debounce, of_debounce) = held.unzip();
    let held =
        nested(values, "batch", "a mapping such as {count: 10, within: 60000}", "automate.batch.", batch);
    let (batch, of_batch) = held.unzip();
    (control.debounce, control.batch) = (debounce, batch);
    if [of_debounce, of_batch].contains(&Some(Scope::Cluster)) {
        control.hold_scope = Scope::Cluster;
    }
    let is_text = |text: &str| !text.is_empty();
    control.hold_key = values.text("hold_key", "a template of keys", is_text).map(str::to_owned);
    control.concurrency = values.text("concurrency", "a template of keys", is_text).map(str::to_owned);
    if let Some(limit) = values.count("limit") {
        control.limit = limit;
    }
    let words = [
        ("queue", OnBusy::Queue),
        ("coalesce", OnBusy::Coalesce),
        ("drop", OnBusy::Drop),
        ("restart", OnBusy::Restart),
    ];
    control.on_busy = values.word("on_busy", &words).unwrap_or_default();
    control.scope = scope(values);
    let words = [("origin", Place::Origin), ("anywhere", Place::Anywhere)];
    control.place = values.word("where", &words).unwrap_or_default();
    if let Some(retry) = nested(
        values,
        "retry",
        "a mapping such as {attempts: 3, exponential: 1000}",
        "automate.retry.",
        retry,
    ) {
        control.retry = retry;
    }
    let words = [("background", Join::Background), ("before_next_model", Join::BeforeNextModel)];
    control.join = values.word("join", &words).unwrap_or_default();
    control.result = result(values);
    if let Some(at_end) = at_end(values) {
        control.at_end = at_end;
    }
}

/// A setting that is a mapping.
fn nested<T>(
    values: &mut Values<'_, '_>,
    key: &str,
    expected: &str,
    within: &'static str,
    read: impl FnOnce(&mut Values<'_, '_>, u32) -> Option<T>,
) -> Option<T> {
    let line = values.line(key).unwrap_or(1);
    let keys = values.mapping(key, expected)?;
    let mut inner = values.inside(keys, within);
    let setting = read(&mut inner, line);
    let sound = inner.sound;
    values.sound &= sound;
    setting
}

/// A key without which a setting says nothing.
fn needs(values: &mut Values<'_, '_>, line: u32, keys: &[&str]) {
    let of = values.within.trim_end_matches('.').to_owned();
    for key in keys {
        if values.get(key).is_none() {
            let key = format!("{}{key}", values.within);
            values.error(line, &LoadError::MissingIn { key, of: of.clone() });
        }
    }
}

fn scope(values: &mut Values<'_, '_>) -> Scope {
    let words = [("machine", Scope::Machine), ("cluster", Scope::Cluster)];
    values.word("scope", &words).unwrap_or_default()
}

fn rate(values: &mut Values<'_, '_>, line: u32) -> Option<Rate> {
    values.strictly(&["starts", "period", "key", "excess", "scope"]);
    needs(values, line, &["starts", "period"]);
    let key = values.text("key", "a template of keys", |text| !text.is_empty()).map(str::to_owned);
    let excess = values.word("excess", &[("wait", Excess::Wait), ("drop", Excess::Drop)]).unwrap_or_default();
    let scope = scope(values);
    let (starts, period) = (values.count("starts"), values.millis("period"));
    Some(Rate { key, excess, scope, ..Rate::new(starts?, period?) })
}

fn debounce(values: &mut Values<'_, '_>, line: u32) -> Option<(Debounce, Scope)> {
    values.strictly(&["quiet", "at_most", "scope"]);
    needs(values, line, &["quiet"]);
    let (quiet, at_most) = (values.millis("quiet"), values.millis("at_most"));
    let scope = scope(values);
    let pace = Debounce::quiet(quiet?);
    Some((at_most.map_or(pace, |at_most| pace.at_most(at_most)), scope))
}

fn batch(values: &mut Values<'_, '_>, line: u32) -> Option<(Batch, Scope)> {
    values.strictly(&["count", "within", "scope"]);
    needs(values, line, &["count", "within"]);
    let (count, within) = (values.count("count"), values.millis("within"));
    let scope = scope(values);
    Some((Batch { count: count?, within: within? }, scope))
}

fn retry(values: &mut Values<'_, '_>, line: u32) -> Option<Retry> {
    values.strictly(&["attempts", "constant", "exponential", "at_most", "after"]);
    needs(values, line, &["attempts"]);
    let attempts = values.count("attempts");
    let (constant, exponential) = (values.millis("constant"), values.millis("exponential"));
    let at_most = values.millis("at_most");
    let words = [("any_failure", RetryAfter::AnyFailure), ("any_but_output", RetryAfter::AnyButOutput)];
    let after = values.word("after", &words).unwrap_or_default();
    let retry = match (values.line("constant"), values.line("exponential")) {
        (None, None) => {
            let (key, of) = ("constant` or `exponential".to_owned(), "automate.retry".to_owned());
            values.error(line, &LoadError::MissingIn { key, of });
            return None;
        }
        (Some(_), Some(line)) => {
            values.error(line, &LoadError::Both("automate.retry.constant", "automate.retry.exponential"));
            return None;
        }
        (Some(_), None) => Retry::constant(attempts?, constant?),
        (None, Some(_)) => Retry::exponential(attempts?, exponential?),
    };
    if let (Pause::Constant(_), Some(line)) = (retry.pause, values.line("at_most")) {
        let (key, why) = ("automate.retry.at_most", "constant pauses are always as long");
        values.warning(line, &LoadWarning::NoEffect { key, why });
    }
    Some(at_most.map_or(retry, |at_most| retry.at_most(at_most)).after(after))
}

/// One word for when, or all of it.
fn result(values: &mut Values<'_, '_>) -> ResultRule {
    let rule = ResultRule::default();
    match values.get("result") {
        None => rule,
        Some((_, Node { content: Content::Mapping(_), .. })) => {
            nested(values, "result", "a mapping", "automate.result.", |values, _| {
                values.strictly(&["when", "format", "lines", "bytes", "tokens"]);
                let words = [("summary", Format::Summary), ("tail", Format::Tail), ("full", Format::Full)];
                Some(ResultRule {
                    when: values.word("when", &WHEN).unwrap_or(rule.when),
                    format: values.word("format", &words).unwrap_or(rule.format),
                    lines: values.count("lines").unwrap_or(rule.lines),
                    bytes: values.count("bytes").unwrap_or(rule.bytes),
                    tokens: values.count("tokens").unwrap_or(rule.tokens),
                })
            })
            .unwrap_or(rule)
        }
        Some(_) => ResultRule { when: values.word("result", &WHEN).unwrap_or(rule.when), ..rule },
    }
}

/// `leave_running`, or how long what is under way is waited for.
fn at_end(values: &mut Values<'_, '_>) -> Option<AtEnd> {
    match values.get("at_end")? {
        (_, Node { content: Content::Mapping(_), .. }) => {
            nested(values, "at_end", "a mapping", "automate.at_end.", |values, line| {
                values.strictly(&["drain"]);
                needs(values, line, &["drain"]);
                values.millis("drain").map(AtEnd::Drain)
            })
        }
        _ => values.word("at_end", &[("leave_running", AtEnd::LeaveRunning)]),
    }
}

/// A mapping, or several in a list, each with its line.
fn items<'a>(values: &mut Values<'a, '_>, key: &str) -> Vec<(u32, &'a [(Node, Node)])> {
    let Some((name, value)) = values.get(key) else { return Vec::new() };
    let all = match &value.content {
        Content::List(items) if !items.is_empty() => items.iter().map(|item| (item.line, item)).collect(),
        _ => vec![(name.line, value)],
    };
    let mut found = Vec::with_capacity(all.len());
    for (line, item) in all {
        match &item.content {
            Content::Mapping(keys) => found.push((line, &keys[..])),
            _ => {
                let (key, found) = (format!("{}{key}", values.within), shown(item));
                let expected = "a mapping with the key `on`, or a list of them".to_owned();
                values.error(line, &LoadError::Value { key, found, expected });
            }
        }
    }
    found
}

/// The events that cancel, by one entry of the list.
fn cancelling(
    values: &mut Values<'_, '_>,
    line: u32,
    keys: &[(Node, Node)],
    account: &Arc<Account>,
) -> Vec<(&'static PointInfo, Option<lineside_core::Matcher>)> {
    let mut within = values.inside(keys, "automate.cancelled_by.");
    within.strictly(&["on", "match"]);
    needs(&mut within, line, &["on"]);
    let points = super::entry::points_of(&mut within);
    let scene = Scene { account, unclear: WhenUnclear::Skip };
    let matcher = matching::read(&mut within, "automate.cancelled_by.match.", &points, scene).matcher;
    let sound = within.sound;
    values.sound &= sound;
    points.into_iter().map(|point| (point, matcher.clone())).collect()
}

/// The line of a setting, or of the nearest thing that it is part of.
fn line_of(values: &Values<'_, '_>, keys: &[(Node, Node)], setting: &str) -> u32 {
    let mut line = values.line(AUTOMATE).unwrap_or(1);
    if let Some(own) = values.line(setting).filter(|_| setting == "timeout") {
        return own;
    }
    let mut keys = Some(keys);
    for part in setting.split('.') {
        let found = keys.and_then(|keys| keys.iter().find(|(name, _)| name.written() == Some(part)));
        let Some((name, value)) = found else { break };
        line = name.line;
        keys = match &value.content {
            Content::Mapping(keys) => Some(keys),
            _ => None,
        };
    }
    line
}

#[cfg(test)]
mod tests;
