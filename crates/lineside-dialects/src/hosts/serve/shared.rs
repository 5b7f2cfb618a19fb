//! The fields of a payload that any host may send, and the names under which they come (HO-9). Where a result stands is a
//! matter of the host alone.

use crate::hosts::table::{Field, Kind, Row, read};

/// Each field, and the points that have it.
const SHARED: [(&[&str], Field); 8] = [
    (TOOLS, read("tool_name", &["tool_name", "toolName"], Kind::Text)),
    (CALLS, read("tool_input", &["tool_input", "toolArgs"], Kind::Input)),
    (CALLS, read("tool_call_id", &["tool_use_id", "tool_call_id", "toolUseId"], Kind::Text)),
    (&["after_tool"], read("duration_ms", &["duration_ms", "duration"], Kind::Number)),
    (
        &["after_tool_error", "on_error", "on_stop_failure"],
        read("error", &["error", "error_message"], Kind::Error),
    ),
    (&["before_subagent"], read("prompt", &["prompt"], Kind::Text)),
    (&["before_stop", "after_subagent"], read("output", ANSWERS, Kind::Text)),
    (&["before_compact", "after_compact"], read("kind", &["trigger"], Kind::Text)),
];

const TOOLS: &[&str] =
    &["before_tool", "before_permission", "on_permission_denied", "after_tool", "after_tool_error"];
const CALLS: &[&str] = &["before_tool", "after_tool", "after_tool_error"];
const ANSWERS: &[&str] = &["last_assistant_message", "prompt_response", "response", "summary"];

/// The fields of a row's point, in the order of the page. What the row itself reads comes before them.
pub(super) fn shared(row: &Row) -> impl Iterator<Item = &'static Field> {
    let point = row.point;
    SHARED.iter().filter(move |(points, _)| points.contains(&point)).map(|(_, field)| field)
}
