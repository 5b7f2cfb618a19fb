//! The hooks that fire, and what is known of each (OC-35).

use std::time::Duration;

use lineside_core::worker::CallClass;
use lineside_core::{Point, PointInfo};
use lineside_points::{
    AfterAgent, AfterCompact, AfterModel, AfterSession, AfterSubagent, AfterTool, AfterToolError,
    BeforeAgent, BeforeCompact, BeforeMessageSend, BeforeModel, BeforeResultAppend, BeforeSession,
    BeforeStop, BeforeSubagent, BeforeTool, OnMessageReceived, OnMessageSent, OnServiceStart, OnServiceStop,
};

/// The hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    BeforeAgentStart,
    BeforePromptBuild,
    BeforeToolCall,
    ToolResultPersist,
    BeforeAgentFinalize,
    MessageSending,
    SessionStart,
    SessionEnd,
    AgentEnd,
    LlmInput,
    LlmOutput,
    AfterToolCall,
    SubagentSpawned,
    SubagentEnded,
    BeforeCompaction,
    AfterCompaction,
    MessageReceived,
    MessageSent,
    GatewayStart,
    GatewayStop,
}

/// One row of the catalogue.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) kind: Kind,
    /// Its name.
    pub(super) name: &'static str,
    /// Where it fires.
    pub(super) points: &'static [&'static PointInfo],
    /// How its handlers are called.
    pub(super) class: CallClass,
    milliseconds: u64,
}

const fn row(
    kind: Kind,
    name: &'static str,
    points: &'static [&'static PointInfo],
    class: CallClass,
    milliseconds: u64,
) -> Row {
    Row { kind, name, points, class, milliseconds }
}

use CallClass::{Modifying, Sync, Void};

/// The catalogue, in the order of OC-35.
#[rustfmt::skip]
static ROWS: [Row; 20] = [
    row(Kind::BeforeAgentStart, "before_agent_start", &[BeforeAgent::INFO], Modifying, 15_000),
    row(Kind::BeforePromptBuild, "before_prompt_build", &[BeforeAgent::INFO], Modifying, 15_000),
    row(Kind::BeforeToolCall, "before_tool_call", &[BeforeTool::INFO], Modifying, 15_000),
    row(Kind::ToolResultPersist, "tool_result_persist", &[BeforeResultAppend::INFO], Sync, 15_000),
    row(Kind::BeforeAgentFinalize, "before_agent_finalize", &[BeforeStop::INFO], Modifying, 15_000),
    row(Kind::MessageSending, "message_sending", &[BeforeMessageSend::INFO], Modifying, 15_000),
    row(Kind::SessionStart, "session_start", &[BeforeSession::INFO], Void, 600_000),
    row(Kind::SessionEnd, "session_end", &[AfterSession::INFO], Void, 600_000),
    row(Kind::AgentEnd, "agent_end", &[AfterAgent::INFO], Void, 30_000),
    row(Kind::LlmInput, "llm_input", &[BeforeModel::INFO], Void, 600_000),
    row(Kind::LlmOutput, "llm_output", &[AfterModel::INFO], Void, 600_000),
    row(Kind::AfterToolCall, "after_tool_call", &[AfterTool::INFO, AfterToolError::INFO], Void, 600_000),
    row(Kind::SubagentSpawned, "subagent_spawned", &[BeforeSubagent::INFO], Void, 600_000),
    row(Kind::SubagentEnded, "subagent_ended", &[AfterSubagent::INFO], Void, 600_000),
    row(Kind::BeforeCompaction, "before_compaction", &[BeforeCompact::INFO], Void, 30_000),
    row(Kind::AfterCompaction, "after_compaction", &[AfterCompact::INFO], Void, 30_000),
    row(Kind::MessageReceived, "message_received", &[OnMessageReceived::INFO], Void, 600_000),
    row(Kind::MessageSent, "message_sent", &[OnMessageSent::INFO], Void, 600_000),
    row(Kind::GatewayStart, "gateway_start", &[OnServiceStart::INFO], Void, 600_000),
    row(Kind::GatewayStop, "gateway_stop", &[OnServiceStop::INFO], Void, 5_000),
];

impl Row {
    /// The time of a handler for which nobody has said another (OC-35, OC-57).
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }

    /// Whether `failClosed` can have it block (OC-56).
    pub(super) fn can_close(&self) -> bool {
        self.class != Void && self.kind != Kind::BeforeAgentFinalize
    }

    /// The place of its first point in the catalogue of points (OC-29).
    pub(super) fn place(&self) -> usize {
        let first = self.points.first();
        lineside_points::CATALOGUE.iter().position(|point| Some(point) == first).unwrap_or(usize::MAX)
    }
}

/// The hook of that name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// All of them.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use super::{ROWS, find, names};

    #[test]
    fn every_hook_has_its_points_and_its_time() {
        // OC-35
        assert_eq!(names().count(), 20);
        let points =
            |name: &str| find(name).unwrap().points.iter().map(|point| point.name).collect::<Vec<_>>();
        assert_eq!(points("before_prompt_build"), ["before_agent"]);
        assert_eq!(points("after_tool_call"), ["after_tool", "after_tool_error"]);
        assert_eq!(points("gateway_stop"), ["on_service_stop"]);
        assert_eq!(find("gateway_stop").unwrap().timeout().as_millis(), 5000);
        assert!(find("before_install").is_none());
        assert!(ROWS.iter().all(|row| row.place() < usize::MAX));
    }

    #[test]
    fn what_is_awaited_can_be_closed_but_for_the_end_of_a_turn() {
        // OC-56
        let closing: Vec<_> = ROWS.iter().filter(|row| row.can_close()).map(|row| row.name).collect();
        assert_eq!(
            closing,
            [
                "before_agent_start",
                "before_prompt_build",
                "before_tool_call",
                "tool_result_persist",
                "message_sending"
            ]
        );
    }
}
