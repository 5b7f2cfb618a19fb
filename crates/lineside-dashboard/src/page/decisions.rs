//! The decisions that a query finds, a row for each.

use std::borrow::Cow;

use lineside_core::json::{self, Value};
use lineside_core::{Timestamp, tool_class};
use lineside_log::Decision;
use maud::{Markup, html};

use super::{BASE, decision_link, session_link, verdict};
use crate::text::{head, line, number, took};

/// The longest text of what a call is about, in bytes.
const ABOUT: usize = 160;

/// The content: these decisions, the latest first, and how many records of the time were lost.
#[must_use]
pub fn content(decisions: &[Decision], lost: u64, most: usize) -> Markup {
    html! {
        h1 { "Decisions" span.count { (decisions.len()) @if decisions.len() == most { " latest" } } }
        @if lost > 0 { p.banner { (number(lost)) " records of this time are not in the log." } }
        @if decisions.is_empty() { p.none { "No decision fits." } }
        @else { (table(&[], decisions)) }
    }
}

/// A row for each of these decisions, the latest first, and above them one for each that waits for a person.
pub(super) fn table(waiting: &[Decision], decisions: &[Decision]) -> Markup {
    let rows =
        decisions.iter().map(|decision| (decision, false)).chain(waiting.iter().map(|asked| (asked, true)));
    html! {
            div.scroll { table.rows.fold {
                thead { tr { th { "time, UTC" } th { "verdict" } th { "agent" } th { "point" } th { "what" } th { "by" } th { "reason" } th.num { "took" } } }
                tbody {
                    @for (decision, waits) in rows.rev() {
                        tr.pending[waits] {
                            td.num { @if waits { (time(decision.time)) } @else { (decision_link(&decision.id.to_string(), &time(decision.time))) } }
                            td { (verdict(decision.verdict.as_str())) @if waits { " " a href={ (BASE) "/approvals" } { "waits for a person" } } @if decision.failures > 0 { " " span.v-failed title="a hook failed" { "!" } } @if decision.changes > 0 { " " span.v-changed title="changed by a hook" { "~" } } }
                            td { (session_link(&decision.session, decision.agent_type.as_deref().unwrap_or(&decision.agent))) " " small { (place(decision)) } }
                            td.dim { (decision.point) }
                            td.text { @if let Some(tool) = &decision.tool { b { (line(tool)) } " " } span.mono { (about(decision)) } }
                            td.dim data-of="by" { (line(decision.by.as_deref().unwrap_or_default())) }
                            td.text { (line(decision.reason.as_deref().unwrap_or_default())) }
                            td.num data-of="took" { @if decision.runs > 0 { (took(decision.took)) } }
                        }
                    }
                }
            } }
    }
}

/// The agent program, and the folder of the project.
fn place(decision: &Decision) -> String {
    let folder = decision.project.as_deref().and_then(|project| project.rsplit('/').next());
    let parts = [decision.host.as_deref(), folder].into_iter().flatten().filter(|part| !part.is_empty());
    line(&parts.collect::<Vec<_>>().join(" · ")).into_owned()
}

fn time(time: Timestamp) -> String {
    let text = format!("{time:.3}");
    text.get(5..23).unwrap_or_default().replace('T', " ")
}

/// What an event is about: the command or the path of a call, or a text of it.
pub(super) fn about(decision: &Decision) -> String {
    let payload = json::from_str::<Value>(&decision.payload).unwrap_or_default();
    let input = payload.get("tool_input");
    let of_call = input.and_then(tool_class::about);
    let of_event = || {
        ["prompt", "task", "output", "model", "reason"]
            .into_iter()
            .find_map(|field| payload.get(field)?.as_str())
            .map(Cow::Borrowed)
    };
    head(&of_call.or_else(of_event).unwrap_or_default(), ABOUT)
}
