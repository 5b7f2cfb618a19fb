//! Before an agent stops: whether it goes on working (OC-52).

use lineside_core::json::Value;
use lineside_core::{AnyEvent, Layer, Verdict};

use super::super::derived::run_id;
use super::member::{Given, Member, Merge};
use super::recent::Recent;

/// So many runs and retries are remembered.
const MOST_TAKEN: usize = 4096;

/// The handlers of `before_agent_finalize`.
#[derive(Debug)]
pub(super) struct Finalize {
    /// How often a retry was taken, by run and key.
    taken: Recent<(String, String), u64>,
}

impl Default for Finalize {
    fn default() -> Self {
        Self { taken: Recent::new(MOST_TAKEN) }
    }
}

impl Merge for Finalize {
    fn merge(&self, event: &AnyEvent, members: &[(usize, Member)], given: &mut Given) {
        let envelope = event.envelope();
        let run = run_id(envelope).unwrap_or_else(|| envelope.source.session.to_string());
        if let Some((place, reason)) = self.revise(&run, members)
            && let Some(answer) = given.at(place)
        {
            answer.verdict = Verdict::block(reason);
        }
    }
}

/// What a handler wants to be done again.
struct Retry<'a> {
    instruction: &'a str,
    key: &'a str,
    most: u64,
}

impl<'a> Retry<'a> {
    fn of(member: &'a Member) -> Option<Self> {
        let retry = member.fields.get("retry")?;
        let text = |name: &str| retry.get(name).and_then(Value::as_str).map(str::trim);
        let instruction = text("instruction").filter(|instruction| !instruction.is_empty())?;
        let key = text("idempotencyKey").filter(|key| !key.is_empty()).unwrap_or(instruction);
        let most = retry.get("maxAttempts").and_then(Value::as_f64).unwrap_or(1.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let most = (most.floor() as u64).max(1);
        Some(Self { instruction, key, most })
    }
}

impl Finalize {
    /// The member in whose name the agent has to go on, and why.
    fn revise(&self, run: &str, members: &[(usize, Member)]) -> Option<(usize, String)> {
        let says = |member: &Member, action: &str| member.text("action") == Some(action);
        let above = |member: &Member| member.layer < Layer::Project;
        let finals = || members.iter().filter(|(_, member)| says(member, "finalize"));
        if finals().any(|(_, member)| above(member)) {
            return None;
        }
        // The project may take back what the project said.
        let only_above = finals().next().is_some();
        let revising: Vec<_> = members
            .iter()
            .filter(|(_, member)| says(member, "revise") && (above(member) || !only_above))
            .collect();
        let reasons: Vec<&str> = revising
            .iter()
            .filter_map(|(_, member)| member.text("reason"))
            .filter(|reason| !reason.trim().is_empty())
            .collect();
        let joined = reasons.join("\n\n").trim().to_owned();
        let retries: Vec<_> =
            revising.iter().filter_map(|(place, member)| Some((*place, Retry::of(member)?))).collect();
        if retries.is_empty() {
            let said =
                |member: &Member| member.text("reason").is_some_and(|reason| !reason.trim().is_empty());
            let (author, _) = revising.iter().find(|(_, member)| said(member))?;
            return Some((*author, joined));
        }
        let (author, retry) = retries.into_iter().find(|(_, retry)| self.take(run, retry))?;
        let reason = if joined.contains(retry.instruction) {
            joined
        } else {
            format!("{joined}\n\n{}", retry.instruction).trim().to_owned()
        };
        Some((author, reason))
    }

    /// Whether the retry was not used up, and now is one nearer to it.
    fn take(&self, run: &str, retry: &Retry<'_>) -> bool {
        self.taken.with(
            (run.to_owned(), retry.key.to_owned()),
            || 0,
            |taken| {
                let left = *taken < retry.most;
                *taken += u64::from(left);
                left
            },
        )
    }
}

#[cfg(test)]
mod tests;
