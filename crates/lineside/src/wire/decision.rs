//! A decision as JSON: what was decided about which payload, and what goes to whom.

use lineside_core::json::{Map, Value, json};
use lineside_core::{CoverageMismatch, Outcome, Receipt, SkipReason};

/// The decision of a receipt, with everything else that the receipt holds when the `whole` of it is wanted.
///
/// Fields: `id`, `session`, `seq`, `point`, `verdict`, `reason?`, `by?`, `payload`, `payload_sha256`, `context`,
/// `notices`, and where there is any: `changed` (names of amended fields), `failed` (hooks that could not answer, and
/// what that counted as), `untrusted` (hooks of a project that is not trusted), `remarks` (what a person should know of
/// a hook, such as a key of its answer that means nothing), `coverage_mismatch` (`believed` and `in_force`, two digests
/// of hooks), `extra`. With `whole` also `took_us`, `hooks` and `changes`.
#[must_use]
pub fn decision(receipt: &Receipt, whole: bool) -> Map {
    // Room for the fields that every decision has, and a few more.
    let (event, mut map) = (&receipt.event, Map::with_capacity(14));
    let envelope = event.envelope();
    map.insert("id".to_owned(), json!(envelope.id));
    map.insert("session".to_owned(), json!(envelope.source.session));
    map.insert("seq".to_owned(), json!(envelope.seq));
    map.insert("point".to_owned(), json!(event.point().name));
    map.insert("verdict".to_owned(), json!(receipt.verdict.strength()));
    if let Some(reason) = receipt.verdict.reason() {
        map.insert("reason".to_owned(), json!(reason));
    }
    if let Some(author) = receipt.author() {
        map.insert("by".to_owned(), json!(author.name));
    }
    map.insert("payload".to_owned(), Value::Object(event.payload_json().clone()));
    map.insert("payload_sha256".to_owned(), json!(event.digest()));
    let context = receipt
        .context
        .iter()
        .map(|by| json!({"role": by.what.role, "text": by.what.text, "hook": receipt.name(by.hook)}));
    map.insert("context".to_owned(), context.collect());
    let notices = receipt
        .notices
        .iter()
        .map(|by| json!({"level": by.what.level, "text": by.what.text, "hook": receipt.name(by.hook)}));
    map.insert("notices".to_owned(), notices.collect());
    for (name, list) in [
        ("changed", changed(receipt)),
        ("failed", failed(receipt)),
        ("untrusted", untrusted(receipt)),
        ("remarks", remarks(receipt)),
    ] {
        if !list.is_empty() {
            map.insert(name.to_owned(), Value::Array(list));
        }
    }
    if let Some(mismatch) = receipt.coverage.as_deref() {
        let CoverageMismatch { believed, in_force } = mismatch;
        let mismatch = json!({"believed": believed, "in_force": in_force});
        map.insert("coverage_mismatch".to_owned(), mismatch);
    }
    if !receipt.extra.is_empty() {
        map.insert("extra".to_owned(), Value::Object(receipt.extra.clone()));
    }
    if whole {
        // The rest: what stands in the decision already has its place and its value.
        map.extend(receipt.to_json());
    }
    map
}

/// A receipt with everything that it holds: its whole decision, and under `envelope` whose event it is.
#[must_use]
pub fn receipt(receipt: &Receipt) -> Map {
    let mut map = decision(receipt, true);
    let envelope = receipt.event.envelope().to_json(receipt.event.point().name);
    map.insert("envelope".to_owned(), Value::Object(envelope));
    map
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

/// What a person should know of hooks.
fn remarks(receipt: &Receipt) -> Vec<Value> {
    let remarks = receipt.remarks.iter();
    remarks.map(|by| json!({"hook": receipt.name(by.hook), "text": by.what})).collect()
}

/// The hooks that could not answer, and what that counted as.
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
