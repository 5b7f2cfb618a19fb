//! What agent programs make of what hooks have changed, by their tables.

use lineside_core::json::{Map, Value};
use lineside_core::{Point as _, PointInfo};
use lineside_points::{AfterTool, BeforeAgent, BeforePrompt};

use super::program::Host;
use super::table::{Row, Standing, When};
use super::tables;

/// What an agent program makes of a field that a hook has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeFate {
    /// It goes on with the new value, or what it is about is refused with that.
    Taken,
    /// It goes on with the value as it was.
    Unchanged,
}

/// What an agent program makes of a changed field of a call or another event with this payload; `None` where it has no
/// event at the point.
///
/// ```
/// use lineside_core::json::{Map, json};
/// use lineside_dialects::hosts::{ChangeFate, Host, change_fate};
///
/// let fate = |host| change_fate(host, "after_tool", "tool_output", &Map::new());
/// assert_eq!(fate(Host::Claude), Some(ChangeFate::Taken));
/// assert_eq!(fate(Host::Qwen), Some(ChangeFate::Unchanged));
/// ```
#[must_use]
pub fn change_fate(host: Host, point: &str, field: &str, payload: &Map) -> Option<ChangeFate> {
    let is_meant = |row: &&'static Row| match row.when {
        When::Is(name, values) => {
            payload.get(name).and_then(Value::as_str).is_some_and(|text| values.contains(&text))
        }
        #[cfg(feature = "hosts")]
        when => when.is_meant(payload),
        #[cfg(not(feature = "hosts"))]
        _ => true,
    };
    let row = rows(host, point).find(is_meant).or_else(|| rows(host, point).next())?;
    Some(if takes(row, field) { ChangeFate::Taken } else { ChangeFate::Unchanged })
}

/// What of these agent programs goes on unchanged, for a hook at a point that may change what can be changed there.
pub(super) fn unchanged(point: &'static PointInfo, hosts: impl Iterator<Item = Host>) -> Option<String> {
    let fields: Vec<&str> = point.amendable().collect();
    let lost: Vec<(Host, bool)> =
        hosts.filter_map(|host| Some((host, lost(host, point.name, &fields)?))).collect();
    let named = |every: bool| {
        let hosts = lost.iter().filter(|(_, all)| *all == every).map(|(host, _)| host.title());
        hosts.collect::<Vec<_>>()
    };
    let is_result = point.name == AfterTool::INFO.name;
    let (every, some) =
        if is_result { ("every result", "the results of some tools") } else { ("it", "some of it") };
    let told = |hosts: Vec<&str>, what: &str| {
        let (verb, whose) = if hosts.len() == 1 { ("shows", "its model") } else { ("show", "their models") };
        let (verb, whose) = match (is_result, hosts.len()) {
            (true, _) => (verb, format!(" {whose}")),
            (false, 1) => ("goes on with", String::new()),
            (false, _) => ("go on with", String::new()),
        };
        (!hosts.is_empty()).then(|| format!("{} {verb}{whose} {what} unchanged", joined(&hosts)))
    };
    let told: Vec<String> =
        [told(named(true), every), told(named(false), some)].into_iter().flatten().collect();
    if told.is_empty() {
        return None;
    }
    let remedy = if is_result { ": what must not be seen has to be refused at before_tool" } else { "" };
    Some(format!("may change {}, and {}{remedy}", fields.join(" or "), told.join(", ")))
}

/// Whether no event of a host at a point takes any of the fields, or some do not; `None` where all take one, or there is
/// none.
fn lost(host: Host, point: &str, fields: &[&str]) -> Option<bool> {
    let (taken, not): (Vec<_>, Vec<_>) =
        rows(host, point).partition(|row| fields.iter().any(|field| takes(row, field)));
    (!not.is_empty()).then_some(taken.is_empty())
}

/// The events of a host at a point that have an entry unasked. A turn of the main agent begins with its prompt.
fn rows(host: Host, point: &str) -> impl Iterator<Item = &'static Row> {
    let point = if point == BeforeAgent::INFO.name { BeforePrompt::INFO.name } else { point }.to_owned();
    let all = tables(host).iter().copied().flatten();
    all.filter(move |row| row.point == point && row.standing == Standing::Usual)
}

fn takes(row: &Row, field: &str) -> bool {
    row.words.amend.iter().any(|(taken, _)| *taken == field)
}

/// Names in a sentence.
fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
