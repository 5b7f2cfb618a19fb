//! A decision as one line of JSON.

use anyhow::Result;
use lineside::core::{Outcome, Receipt, SkipReason};
use serde_json::{Map, Value, json};

use super::accepted::Accepted;
use crate::painter::json_line;

/// What earlier events have led to by now.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// Messages that the agent takes into its context at this event, of hooks that nobody had waited for.
    pub(super) delivered: Vec<Value>,
    /// What else those hooks did that somebody should know.
    pub(super) background: Vec<Value>,
}

/// The line: what was decided about which payload, and what goes to whom; with everything else that
/// the receipt holds when the `whole` of it is wanted.
///
/// # Errors
/// None that are known: what is in a receipt can be written as JSON.
pub(super) fn line(receipt: &Receipt, accepted: &[Accepted], later: Later, whole: bool) -> Result<String> {
    let mut receipt_json = receipt.to_json();
    let mut map = Map::new();
    for field in ["id", "session", "seq", "point", "verdict", "reason", "by"] {
        if let Some(value) = receipt_json.remove(field) {
            map.insert(field.to_owned(), value);
        }
    }
    map.insert("payload".to_owned(), Value::Object(receipt.event.payload_json().clone()));
    let context = receipt
        .context
        .iter()
        .map(|by| json!({"role": by.what.role, "text": by.what.text, "hook": receipt.name(by.hook)}));
    let notices = receipt
        .notices
        .iter()
        .map(|by| json!({"level": by.what.level, "text": by.what.text, "hook": receipt.name(by.hook)}));
    let lists = [("context", context.collect::<Vec<_>>()), ("notices", notices.collect())];
    map.insert("payload_sha256".to_owned(), receipt_json.remove("payload_sha256").unwrap_or_default());
    map.extend(lists.map(|(name, list)| (name.to_owned(), Value::Array(list))));
    let Later { delivered, background } = later;
    let rare = [
        ("changed", changed(receipt)),
        ("failed", failed(receipt)),
        ("untrusted", untrusted(receipt)),
        ("accepted", accepted.iter().map(Accepted::to_json).collect()),
        ("delivered", delivered),
        ("background", background),
    ];
    for (name, list) in rare {
        if !list.is_empty() {
            map.insert(name.to_owned(), Value::Array(list));
        }
    }
    if let Some(extra) = receipt_json.remove("extra") {
        map.insert("extra".to_owned(), extra);
    }
    if whole {
        if let Some(runs) = receipt_json.get_mut("hooks") {
            accepted.iter().for_each(|claim| claim.amend(runs));
        }
        map.extend(receipt_json);
    }
    Ok(json_line(&map)?)
}

/// The fields that amendments have changed, each once.
fn changed(receipt: &Receipt) -> Vec<Value> {
    let mut fields = Vec::new();
    for change in &receipt.changes {
        let field = json!(change.what.field);
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// The hooks that were not asked because their project is not trusted.
fn untrusted(receipt: &Receipt) -> Vec<Value> {
    let runs = receipt.runs.iter();
    let left_out = runs.filter(|run| run.outcome == Outcome::Skipped(SkipReason::Untrusted));
    left_out.map(|run| json!(receipt.name(run.hook))).collect()
}

/// The hooks that could not answer, and what that was taken for.
fn failed(receipt: &Receipt) -> Vec<Value> {
    let failed = receipt.runs.iter().filter_map(|run| match &run.outcome {
        Outcome::Failed { failure, verdict } => Some(json!({
            "hook": receipt.name(run.hook),
            "kind": failure.kind,
            "detail": failure.detail,
            "taken_as": verdict.strength(),
        })),
        _ => None,
    });
    failed.collect()
}
