//! What the model takes of a decision: the same of a receipt, and of a line that a daemon's stream has of one.

use std::time::Duration;

use lineside_core::envelope::Source;
use lineside_core::json::{Map, Value};
use lineside_core::{
    Agent, EventId, FailureKind, Outcome, Receipt, SessionId, SkipReason, Strength, Timestamp,
};

/// A decision as the model hears it.
pub(super) struct Decided<'a> {
    pub(super) session: &'a str,
    pub(super) event: EventId,
    /// In milliseconds since 1970.
    pub(super) time: i64,
    pub(super) point: &'a str,
    pub(super) tool: Option<&'a str>,
    pub(super) input: Option<&'a Value>,
    pub(super) verdict: Strength,
    /// The hook whose verdict stands, else the first that has failed, and what that has said.
    pub(super) by: Option<&'a str>,
    pub(super) reason: &'a str,
    /// How many hooks have failed.
    pub(super) failures: u32,
    pub(super) has_timed_out: bool,
    pub(super) is_untrusted: bool,
    /// How long all hooks took, without the time that a person has thought; absent where none ran.
    pub(super) took: Option<Duration>,
}

impl<'a> Decided<'a> {
    pub(super) fn of(receipt: &'a Receipt) -> Self {
        let (envelope, payload) = (receipt.event.envelope(), receipt.event.payload());
        let failed = || {
            receipt.runs.iter().filter_map(|run| match &run.outcome {
                Outcome::Failed { failure, .. } => Some((run.hook, failure)),
                _ => None,
            })
        };
        let first = failed().next().map(|(hook, failure)| (receipt.name(hook), &*failure.detail));
        let (by, reason) = match (receipt.verdict.reason(), first) {
            (Some(reason), _) => (receipt.author().map(|hook| &*hook.name), reason.as_str()),
            (None, Some((hook, detail))) => (Some(hook), detail),
            (None, None) => (None, ""),
        };
        let is_untrusted = |outcome: &Outcome| matches!(outcome, Outcome::Skipped(SkipReason::Untrusted));
        let has_run = receipt.runs.iter().any(|run| !matches!(run.outcome, Outcome::Skipped(_)));
        Self {
            session: envelope.source.session.as_str(),
            event: envelope.id,
            time: envelope.time.as_millisecond(),
            point: receipt.event.point().name,
            tool: payload.text("tool_name"),
            input: payload.value("tool_input"),
            verdict: receipt.verdict.strength(),
            by,
            reason,
            failures: u32::try_from(failed().count()).unwrap_or(u32::MAX),
            has_timed_out: failed().any(|(_, failure)| failure.kind == FailureKind::Timeout),
            is_untrusted: receipt.runs.iter().any(|run| is_untrusted(&run.outcome)),
            took: has_run.then(|| {
                let waited = receipt.approval.as_ref().map(|approval| approval.waited);
                receipt.took.saturating_sub(waited.unwrap_or_default())
            }),
        }
    }

    /// `None` where the line is none of a decision.
    pub(super) fn of_line(line: &'a Map) -> Option<Self> {
        let text = |name: &str| line.get(name).and_then(Value::as_str);
        let number = |name: &str| line.get(name).and_then(Value::as_u64).unwrap_or_default();
        let failures = u32::try_from(number("failures")).unwrap_or(u32::MAX);
        let time: Timestamp = text("time")?.parse().ok()?;
        let failed = text("failed");
        Some(Self {
            session: text("session")?,
            event: text("id")?.parse().ok()?,
            time: time.as_millisecond(),
            point: text("point")?,
            tool: text("tool"),
            input: line.get("payload").and_then(|payload| payload.get("tool_input")),
            verdict: Strength::named(text("verdict")?)?,
            by: text("by"),
            reason: text("reason").or(failed).unwrap_or_default(),
            failures,
            has_timed_out: failed == Some(FailureKind::Timeout.as_str()),
            // A line does not say why hooks did not run.
            is_untrusted: false,
            took: (number("runs") > 0)
                .then(|| Duration::from_micros(number("took_us").saturating_sub(number("waited_us")))),
        })
    }
}

/// The session of a decision, or one as `GET /v1/sessions` has it; `None` where it names none.
pub(super) fn source(fields: &Map) -> Option<Source> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let agent = fields.get("agent");
    let of_agent = |name: &str| agent.and_then(|agent| agent.get(name)).and_then(Value::as_str);
    let session: SessionId = text("session").or_else(|| text("id"))?.into();
    let mut who = Agent::main(of_agent("id").or_else(|| text("agent")).unwrap_or("main"));
    who.role = of_agent("type").or_else(|| text("agent_type")).map(Into::into);
    Some(Source {
        root_session: text("tree").or_else(|| text("root")).map_or_else(|| session.clone(), SessionId::from),
        parent_session: text("parent").map(SessionId::from),
        depth: fields
            .get("depth")
            .and_then(Value::as_u64)
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or_default(),
        agent: who,
        project_root: text("project").or_else(|| text("project_root")).map(Into::into),
        host: text("host").map(Into::into),
        connection: text("machine").map(|machine| Source::connection_to(machine).into()),
        ..Source::root(session)
    })
}

#[cfg(test)]
mod tests {
    use lineside_core::json::json;

    use super::*;

    #[test]
    fn what_a_person_has_thought_is_no_time_of_hooks() {
        let line = json!({"session": "s", "id": "01a20bf2-fc2c-79fc-b36d-448e0b4bfe58", "time": "2026-11-24T05:06:43.372Z",
            "point": "before_tool", "verdict": "allow", "runs": 1, "took_us": 28_216_300, "waited_us": 28_216_000});
        let Value::Object(line) = line else { panic!("it is an object") };
        assert_eq!(Decided::of_line(&line).unwrap().took, Some(Duration::from_micros(300)));
    }
}
