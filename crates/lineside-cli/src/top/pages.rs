//! What the views show beside sessions: the pages that the commands print, as rows.

use std::collections::BTreeMap;

use lineside::json::{Map, Value};
use lineside::log::{Decision, Stats, Why};

use crate::approvals::page::{self, left};
use crate::control::failing_line;
use crate::log::line::{Lines, Order};
use crate::page::fitting::{column, cut, wrapped};
use crate::painter::{in_passing, one_line};
use crate::style::{Style, Tone, count};
use crate::top::keys::all;
use crate::top::view::Row;
use crate::{stats, why};

/// The decisions of a timeline, the latest at the end, as `lineside log` has them, and then the questions that wait.
pub(super) fn timeline<'a>(
    decisions: &[Decision],
    waiting: impl Iterator<Item = &'a Value>,
    columns: usize,
    style: Style,
) -> Vec<Row> {
    let mut lines = Lines::new(columns, Order::ByTime, style);
    // The heading of a day is a row of its own.
    let row = |about: String, (heading, row): (Option<String>, Vec<String>)| {
        let heading = heading.map(|heading| Row::new("", vec![heading]));
        heading.into_iter().chain([Row::new(about, row)])
    };
    let mut rows: Vec<Row> =
        decisions.iter().flat_map(|decision| row(decision.id.to_string(), lines.of_one(decision))).collect();
    for question in waiting {
        let asked = question.as_object().and_then(Decision::of_question);
        let id = question["id"].as_str().unwrap_or_default();
        rows.extend(asked.into_iter().flat_map(|asked| row(id.to_owned(), lines.of_waiting(&asked))));
    }
    rows
}

/// A decision, as `lineside why` has it.
pub(super) fn decision(found: &Why, columns: usize, style: Style) -> Vec<Row> {
    Row::text(why::page::lines(found, columns, style))
}

/// What hooks did, as `lineside stats` has it.
pub(super) fn hooks(found: &Stats, columns: usize, style: Style) -> Vec<Row> {
    Row::text(stats::lines(found, columns, style))
}

fn text(of: &Map, field: &str) -> String {
    in_passing(of.get(field).and_then(Value::as_str).unwrap_or_default())
}

/// The questions that wait, a row each.
pub(super) fn approvals(waiting: &[Value], columns: usize, style: Style) -> Vec<Row> {
    let of = |question: &Value| {
        let text = |field: &str| in_passing(question[field].as_str().unwrap_or_default());
        let hook = &question["hooks"][0];
        let of_hook = |field: &str| in_passing(hook[field].as_str().unwrap_or_default());
        let time = left(question["left_ms"].as_u64().unwrap_or_default());
        let head = format!("{} {}", column(&text("id"), 9), column(&format!("{time} left"), 18));
        let about = format!("{} of {}: {}", text("tool"), text("agent"), of_hook("reason"));
        let by = format!("  {}", of_hook("hook"));
        let room = columns.saturating_sub(33);
        let line = format!(
            "{} {}{}{}",
            style.paint(Tone::Asked, "?"),
            style.paint(Tone::Warning, &head),
            cut(&about, room.saturating_sub(by.chars().count()).max(12)),
            style.paint(Tone::Dim, &cut(&by, room.saturating_sub(12)))
        );
        Row::new(question["id"].as_str().unwrap_or_default(), vec![line])
    };
    waiting.iter().map(of).collect()
}

/// A question in full: what a person agrees to is seen.
pub(super) fn asked(waiting: &[Value], id: &str, columns: usize, style: Style) -> Vec<Row> {
    let found = waiting.iter().find(|question| question["id"].as_str() == Some(id));
    Row::text(found.into_iter().flat_map(|found| page::asked(found, columns, style)))
}

/// Background work: dead letters first, keys with how many wait for them, then what lives.
pub(super) fn jobs(jobs: &[Map], columns: usize, style: Style) -> Vec<Row> {
    let row = |job: &Map| {
        let state = text(job, "state");
        let (sign, tone) = match &*state {
            "dead" => ("✗", Tone::Bad),
            "running" => ("●", Tone::Good),
            "retrying" => ("!", Tone::Warning),
            _ => ("·", Tone::Dim),
        };
        let number = job.get("job").and_then(Value::as_u64).unwrap_or_default();
        let attempts = job.get("attempts").and_then(Value::as_array).map_or(0, Vec::len);
        let why = text(job, "why");
        let about = if why.is_empty() { text(job, "about") } else { why };
        let key = job.get("key").and_then(Value::as_str).map(|key| format!("[{}] ", one_line(key)));
        let room = columns.saturating_sub(57);
        let line = format!(
            "{} {} {} {} {} {} {}",
            style.paint(tone, sign),
            column(&number.to_string(), 6),
            style.paint(tone, &column(&state, 10)),
            column(&text(job, "hook"), 16),
            style.paint(Tone::Dim, &column(&text(job, "session"), 14)),
            style.paint(Tone::Dim, &column(&format!("{attempts}×"), 3)),
            cut(&(key.unwrap_or_default() + &about), room.max(16)),
        );
        Row::new(number.to_string(), vec![line])
    };
    let mut rows: Vec<Row> = jobs.iter().map(row).collect();
    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    for key in
        jobs.iter().filter(|job| text(job, "state") != "dead").filter_map(|job| job.get("key")?.as_str())
    {
        *keys.entry(one_line(key)).or_default() += 1;
    }
    let held = |(key, jobs): (String, usize)| {
        Row::new(
            "",
            vec![style.paint(Tone::Dim, &cut(&format!("  key {key}: {}", count(jobs, "job")), columns))],
        )
    };
    rows.extend(keys.into_iter().filter(|(_, jobs)| *jobs > 1).map(held));
    rows
}

/// The keys, and what signs mean.
pub(super) fn help(columns: usize, style: Style) -> Vec<Row> {
    let mut lines = vec![style.paint(Tone::Bold, "Keys"), String::new()];
    for (shown, what, place) in all() {
        let place = if place.is_empty() { String::new() } else { format!("  ({place})") };
        lines.push(format!(
            "  {}{what}{}",
            style.paint(Tone::Bold, &column(shown, 14)),
            style.paint(Tone::Dim, &place)
        ));
    }
    lines.extend([String::new(), style.paint(Tone::Bold, "Signs"), String::new()]);
    for state in lineside::fleet::State::ALL {
        let (sign, tone) = super::sessions::sign(state);
        lines.push(format!("  {} {}{}", style.paint(tone, sign), column(state.as_str(), 12), meaning(state)));
    }
    lines.push(format!(
        "  {} {}",
        style.paint(Tone::Warning, "!"),
        "behind it: worth a look, which its timeline says why"
    ));
    lines.push(String::new());
    let more = [
        "A filter has the words of `lineside log`: verdict:refused tool:Shell host:codex \"rm -rf\"; sessions are \
         shown in which such a decision is.",
        "p50 and p99 are the time that hooks took for an event. A click chooses a row and opens it, the wheel scrolls, \
         and with shift the terminal marks text.",
        "Below an agent nothing can be changed: a person answers, retries and drops, in a terminal of their own.",
    ];
    lines.extend(
        more.iter()
            .flat_map(|text| wrapped(text, columns.saturating_sub(4), 9))
            .map(|line| format!("  {line}")),
    );
    Row::text(lines)
}

fn meaning(state: lineside::fleet::State) -> &'static str {
    use lineside::fleet::State;
    match state {
        State::Waiting => "a question about it waits for a person",
        State::Stuck => "a tool runs for five minutes, and nothing is heard of it",
        State::Blocked => "its last event was refused",
        State::Running => "something was heard of it within 15 seconds, or a tool runs",
        State::Idle => "none of these",
    }
}

/// What is wrong with the daemon, the worst first, in one line each.
pub(super) fn wrong(status: &Map) -> Vec<(Tone, String)> {
    let mut wrong = Vec::new();
    if status.get("off").and_then(Value::as_bool) == Some(true) {
        wrong.push((
            Tone::Bad,
            "hooks are off: every event passes; `lineside on` switches them on".to_owned(),
        ));
    }
    let list = |name: &str| status.get(name).and_then(Value::as_array).into_iter().flatten();
    for project in list("projects").filter(|project| project["stands"].as_str() != Some("trusted")) {
        let of = |name: &str| one_line(project[name].as_str().unwrap_or_default());
        wrong.push((
            Tone::Warning,
            format!("{}: {}, so its hooks do not hold; `lineside trust`", of("root"), of("stands")),
        ));
    }
    for finding in list("findings") {
        let tone = if finding["severity"].as_str() == Some("error") { Tone::Bad } else { Tone::Warning };
        wrong.push((tone, one_line(finding["text"].as_str().unwrap_or_default())));
    }
    wrong.extend(list("failing").map(|failing| (Tone::Warning, one_line(&failing_line(failing)))));
    wrong
}

/// What a view shows where it has nothing, and what there is to do.
pub(super) fn empty(kind: super::keys::Kind, is_filtered: bool) -> &'static [&'static str] {
    use super::keys::Kind;
    match kind {
        _ if is_filtered => &["Nothing fits the filter.", "esc takes it away."],
        Kind::Sessions => &[
            "No agent is open.",
            "lineside install NAME puts lineside behind an agent program; its sessions come here with their first event.",
            "lineside log shows what was decided before.",
        ],
        Kind::Timeline => &["The decision log has nothing of this session so far."],
        Kind::Decision => &["This event is not in the decision log: it was not written yet, or not kept."],
        Kind::Approvals => &[
            "No question waits.",
            "Questions of hooks wait here where `approvals` of config.yaml says so: docs/approvals.md.",
        ],
        Kind::Question => &["This question was answered, or its time is over."],
        Kind::Jobs => &["No background work waits, runs or is dead."],
        Kind::Hooks => &["No hook has run within the hour."],
        Kind::Help => &[],
    }
}
