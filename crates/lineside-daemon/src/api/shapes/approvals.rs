//! Questions of hooks that wait for a person.

use lineside::json::Map;
#[cfg(feature = "describe")]
use lineside::json::Value;
use serde::{Deserialize, Serialize};

/// The questions that wait, and the answers for patterns.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Approvals {
    /// Whether questions wait at all, as the user's settings have it.
    pub waits: bool,
    /// The questions, the oldest first.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<WaitingApproval>))]
    pub waiting: Vec<Map>,
    /// The answers for patterns, the oldest first.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<ApprovalAnswer>))]
    pub answers: Vec<Map>,
}

/// A question that waits. The daemon writes it; here it is described.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct WaitingApproval {
    /// Its id, by which it is answered.
    pub id: String,
    /// When it was asked.
    pub asked_at: String,
    /// How long it waits still, in milliseconds.
    pub left_ms: u64,
    /// The event.
    pub event: String,
    /// Its session, and the one at the root of the tree.
    pub session: String,
    /// See `session`.
    pub root: String,
    /// How far the session is below that.
    pub depth: u32,
    /// The agent.
    pub agent: String,
    /// The agent program.
    pub host: Option<String>,
    /// The root of the project.
    pub project: Option<String>,
    /// Where the agent works.
    pub cwd: Option<String>,
    /// The point.
    pub point: String,
    /// The tool.
    pub tool: Option<String>,
    /// What the call is about: the beginning of its command, else of its paths or of another text that says it.
    pub about: Option<String>,
    /// The payload as hooks have left it; its beginning as a text where it is long.
    pub payload: Value,
    /// The digest of the whole payload.
    pub payload_sha256: String,
    /// Whether the payload is not shown as a whole.
    pub cut: bool,
    /// The hooks that ask, with `hook`, `origin` and `reason`.
    pub hooks: Vec<Value>,
    /// The process of the agent.
    pub process: Option<u32>,
}

/// An answer for a pattern. The daemon writes it; here it is described.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct ApprovalAnswer {
    /// The question that it was given to, by which it is taken back.
    pub id: String,
    /// The hook whose questions it answers, and the file that declares it.
    pub hook: String,
    /// See `hook`.
    pub file: Option<String>,
    /// The tool.
    pub tool: String,
    /// What the command, the path or the URL has to fit; `*` stands for any text.
    pub pattern: String,
    /// The project that it holds in.
    pub project: Option<String>,
    /// `allow` or `deny`.
    pub answer: String,
    /// Who has given it.
    pub by: String,
    /// When.
    pub at: String,
}

/// The answer to a question.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerApproval {
    /// `allow` or `deny`.
    pub answer: String,
    /// `once`, which is the default; `session`: for the same call of the session, asked about by the same hook; or
    /// `pattern`: for calls of the tool that fit the pattern, asked about by the same hook, until it is taken back.
    #[serde(default = "once")]
    pub scope: String,
    /// What the command, the path or the URL has to fit; `*` stands for any text, of a command without what a shell gives a
    /// meaning to.
    pub pattern: Option<String>,
    /// Why, for the agent.
    pub reason: Option<String>,
}

fn once() -> String {
    "once".to_owned()
}
