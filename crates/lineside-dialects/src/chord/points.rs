//! The table of Chord's points: three classes, one or two points each (CH-12).

use lineside_core::{Point, PointInfo};
use lineside_points::{
    AfterCompact, AfterModel, AfterSession, AfterTool, AfterToolBatch, AfterToolError, BeforeCompact,
    BeforeModel, BeforeResultAppend, BeforeSession, BeforeTool, OnError, OnIdle, OnWaitConfirm,
    OnWaitQuestion,
};

use crate::names::{self, Named};

/// One of Chord's points.
#[derive(Debug)]
pub(super) struct ChordPoint {
    /// What it is.
    pub(super) kind: Kind,
    /// Its name.
    pub(super) name: &'static str,
    /// The class of its hooks.
    pub(super) class: Class,
    /// The points that it stands for; the first one, unless the payload says otherwise.
    pub(super) points: &'static [&'static PointInfo],
}

/// What hooks may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// They are waited for, may block and amend.
    Sync,
    /// They observe.
    Observer,
    /// They observe, and their answer may go to the context.
    Automation,
}

impl Class {
    /// The word for it in a message.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Sync => "a sync hook",
            Self::Observer => "an observer",
            Self::Automation => "an automation",
        }
    }
}

/// Chord's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SessionStart,
    SessionEnd,
    BeforeLlmCall,
    AfterLlmCall,
    ToolCall,
    ToolResult,
    BeforeToolResultAppend,
    ToolBatchComplete,
    BeforeCompress,
    AfterCompress,
    Idle,
    WaitConfirm,
    WaitQuestion,
    AgentError,
}

const fn row(
    kind: Kind,
    name: &'static str,
    class: Class,
    points: &'static [&'static PointInfo],
) -> ChordPoint {
    ChordPoint { kind, name, class, points }
}

/// All of them, in the order of CH-12.
#[rustfmt::skip]
pub(super) static POINTS: &[ChordPoint] = &[
    row(Kind::SessionStart, "on_session_start", Class::Observer, &[BeforeSession::INFO]),
    row(Kind::SessionEnd, "on_session_end", Class::Observer, &[AfterSession::INFO]),
    row(Kind::BeforeLlmCall, "on_before_llm_call", Class::Sync, &[BeforeModel::INFO]),
    row(Kind::AfterLlmCall, "on_after_llm_call", Class::Observer, &[AfterModel::INFO]),
    row(Kind::ToolCall, "on_tool_call", Class::Sync, &[BeforeTool::INFO]),
    row(Kind::ToolResult, "on_tool_result", Class::Observer, &[AfterTool::INFO, AfterToolError::INFO]),
    row(Kind::BeforeToolResultAppend, "on_before_tool_result_append", Class::Sync, &[BeforeResultAppend::INFO]),
    row(Kind::ToolBatchComplete, "on_tool_batch_complete", Class::Automation, &[AfterToolBatch::INFO]),
    row(Kind::BeforeCompress, "on_before_compress", Class::Observer, &[BeforeCompact::INFO]),
    row(Kind::AfterCompress, "on_after_compress", Class::Observer, &[AfterCompact::INFO]),
    row(Kind::Idle, "on_idle", Class::Observer, &[OnIdle::INFO]),
    row(Kind::WaitConfirm, "on_wait_confirm", Class::Observer, &[OnWaitConfirm::INFO]),
    row(Kind::WaitQuestion, "on_wait_question", Class::Observer, &[OnWaitQuestion::INFO]),
    row(Kind::AgentError, "on_agent_error", Class::Observer, &[OnError::INFO]),
];

impl Named for ChordPoint {
    fn name(&self) -> &'static str {
        self.name
    }

    fn points(&self) -> &[&'static PointInfo] {
        self.points
    }

    fn is_gate(&self) -> bool {
        self.class == Class::Sync
    }
}

/// The point of that name.
pub(super) fn find(name: &str) -> Option<&'static ChordPoint> {
    names::row(POINTS, name)
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    POINTS.iter().map(|point| point.name)
}
