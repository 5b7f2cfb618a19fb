//! What was decided on all machines of a cluster, as the daemon has asked them.

use anyhow::Result;
use lineside::json::{Map, Value, json};
use lineside::log::Decision;

use super::line::Lines;
use crate::control::ask;
use crate::daemon_paths::DaemonPaths;
use crate::painter::one_line;
use crate::style::{Style, Tone, tell};

/// What one machine has in its log.
pub(crate) struct OfMachine {
    pub(crate) machine: String,
    /// Why it has not answered.
    unanswered: Option<String>,
    /// How many records were lost, and how many decisions did not fit into its answer.
    lost: u64,
    left_out: u64,
    pub(crate) decisions: Vec<Map>,
}

/// Asks the daemon, and that the other machines.
///
/// # Errors
/// There is no daemon, it is in no cluster, or the query is none.
pub(crate) async fn of_all(
    paths: &DaemonPaths,
    query: &str,
    most: usize,
    event: Option<&str>,
) -> Result<Vec<OfMachine>> {
    let answer = ask(paths, async |client| client.logs_of_cluster(query, most, event).await).await?;
    let machines = answer.get("machines").and_then(Value::as_array).into_iter().flatten();
    Ok(machines.filter_map(Value::as_object).map(OfMachine::read).collect())
}

impl OfMachine {
    fn read(object: &Map) -> Self {
        let text = |name: &str| object.get(name).and_then(Value::as_str).map(one_line);
        let number = |name: &str| object.get(name).and_then(Value::as_u64).unwrap_or_default();
        let decisions = object.get("decisions").and_then(Value::as_array).into_iter().flatten();
        Self {
            machine: text("machine").unwrap_or_default(),
            unanswered: text("unanswered"),
            lost: number("lost"),
            left_out: number("left_out"),
            decisions: decisions.filter_map(|decision| decision.as_object().cloned()).collect(),
        }
    }
}

/// What is not among what is shown, machine by machine.
pub(crate) fn report(all: &[OfMachine], style: Style) {
    let warning = style.paint(Tone::Warning, "warning");
    for OfMachine { machine, unanswered, lost, left_out, .. } in all {
        if let Some(why) = unanswered {
            tell(&format!("{warning}: machine `{machine}` has not answered: {why}"));
        }
        if *left_out > 0 {
            tell(&format!("{warning}: machine `{machine}` has {left_out} earlier ones that did not fit"));
        }
        if *lost > 0 {
            tell(&format!(
                "{warning}: {lost} records of this time are not in the log of machine `{machine}`"
            ));
        }
    }
}

/// The latest of all machines in the order of their times, each with its machine.
pub(crate) fn latest(all: &[OfMachine], most: usize) -> Vec<(&str, Decision, Map)> {
    let mut found: Vec<_> = all
        .iter()
        .flat_map(|of| of.decisions.iter().map(|decision| (&*of.machine, decision)))
        .filter_map(|(machine, object)| Some((machine, Decision::of_json(object)?, with(object, machine))))
        .collect();
    found.sort_by_key(|(_, decision, _)| decision.time);
    found.split_off(found.len().saturating_sub(most))
}

/// The same object with its machine.
pub(crate) fn with(object: &Map, machine: &str) -> Map {
    let mut object = object.clone();
    object.insert("machine".to_owned(), json!(machine));
    object
}

/// A line for each, with the name of its machine in front.
pub(crate) fn lines(
    found: &[(&str, Decision, Map)],
    columns: usize,
    page: impl Fn(usize) -> Lines,
    style: Style,
) -> Vec<String> {
    let width = found.iter().map(|(machine, ..)| machine.chars().count()).max().unwrap_or_default();
    let mut page = page(columns.saturating_sub(width + 2));
    let mut lines = Vec::new();
    for (machine, decision, _) in found {
        let (heading, row) = page.of_one(decision);
        lines.extend(heading.map(|heading| format!("{:width$}  {heading}", "")));
        for (index, line) in row.iter().enumerate() {
            let name = if index == 0 { *machine } else { "" };
            lines.push(format!("{}  {line}", style.paint(Tone::Dim, &format!("{name:width$}"))));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::line::Order;
    use super::*;

    fn of(machine: &str, unanswered: Option<&str>, times: &[&str]) -> OfMachine {
        let decision = |time: &&str| {
            json!({
                "id": "01a20bf2-fc2c-79fc-b36d-448e0b4bfe58", "time": format!("2026-11-24T{time}.000Z"), "session": "s", "tree": "s",
                "seq": 1, "agent": "main", "point": "before_tool", "tool": "Shell", "verdict": "block", "by": "no-rm",
                "reason": "no", "took_us": 1_500, "payload": {"tool_name": "Shell", "tool_input": {"command": "rm x"}},
            })
        };
        let decisions: Vec<_> = times.iter().map(decision).collect();
        let object = json!({
            "machine": machine, "unanswered": unanswered, "lost": 0, "left_out": 0, "decisions": decisions,
        });
        OfMachine::read(object.as_object().unwrap())
    }

    #[test]
    fn lines_of_all_machines_are_in_the_order_of_time_and_name_their_machine() {
        let all = [
            of("a", None, &["05:00:01", "05:00:03"]),
            of("build-2", None, &["05:00:02"]),
            of("c", Some("it is away"), &[]),
        ];
        let found = latest(&all, 10);
        let page = |columns| Lines::new(columns, Order::ByTime, Style::PLAIN);
        let lines = lines(&found, 100, page, Style::PLAIN);
        let rows: Vec<_> = lines.iter().filter(|line| line.contains("before_tool")).collect();
        assert_eq!(rows.len(), 3, "{lines:?}");
        for (row, begins) in rows.iter().zip(["a        05:00:01", "build-2  05:00:02", "a        05:00:03"])
        {
            assert!(row.starts_with(begins) && row.contains("rm x"), "{row}");
        }
        let below = lines.iter().filter(|line| line.contains("no-rm: no"));
        assert!(
            below.clone().count() == 3 && below.clone().all(|line| line.starts_with("         ")),
            "{lines:?}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{lines:?}");
        assert_eq!(latest(&all, 1)[0].0, "a");
        assert_eq!(found[1].2["machine"], json!("build-2"));
    }
}
