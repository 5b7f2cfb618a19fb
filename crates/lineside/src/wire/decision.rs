//! A decision as JSON: what was decided about which payload, and what goes to whom.

use lineside_core::json::{Fields, Map, ObjectText, Value, json};
use lineside_core::{Outcome, Receipt, SkipReason};

use crate::claims::{self, Claim};

/// The decision of a receipt, with everything else that the receipt holds when the `whole` of it is wanted.
///
/// Fields: `id`, `session`, `seq`, `point`, `verdict`, `reason?`, `by?`, `payload`, `payload_sha256`, `context`,
/// `notices`, and where there is any: `changed` (names of amended fields), `failed` (hooks that could not answer, and
/// what that counted as), `untrusted` (hooks of a project that is not trusted), `remarks` (what a person should know of
/// a hook, such as a key of its answer that means nothing), `coverage_mismatch` (`believed` and `in_force`, two digests
/// of hooks), `extra`. With `whole` also `took_us`, `hooks` and `changes`.
///
/// ```
/// use lineside::prelude::*;
/// use lineside::wire;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session.intercept::<BeforeTool>("guard").gate(async |_, _cx| Verdict::block("not here"))?;
/// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
/// let json = wire::decision(decision.receipt().expect("a hook has run"), false);
/// assert_eq!((&json["verdict"], &json["reason"]), (&json!("block"), &json!("not here")));
/// assert_eq!(json["by"], "guard");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn decision(receipt: &Receipt, whole: bool) -> Map {
    // Room for the fields that every decision has, and a few more.
    let mut map = Map::with_capacity(14);
    write(receipt, &mut map);
    if whole {
        // The rest: what stands in the decision already has its place and its value.
        map.extend(receipt.to_json());
    }
    map
}

/// The decision of a receipt, with what its hooks have accepted in the background, as compact JSON text: that of
/// [`decision`] with [`claims::put`], written without the values in between.
///
/// ```
/// use lineside::prelude::*;
/// use lineside::wire;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session.intercept::<BeforePrompt>("guard").gate(async |_, _cx| Verdict::Continue)?;
/// let decision = session.publish(BeforePrompt::new("hello")).await?;
/// let receipt = decision.receipt().expect("a hook has run");
/// let text = wire::decision_text(receipt, &[], false);
/// assert_eq!(text, json!(wire::decision(receipt, false)).to_string());
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn decision_text(receipt: &Receipt, accepted: &[Claim], whole: bool) -> String {
    if whole {
        let mut map = decision(receipt, true);
        claims::put(accepted, &mut map);
        return Value::Object(map).to_string();
    }
    let mut text = ObjectText::new();
    write(receipt, &mut text);
    if !accepted.is_empty() {
        text.put("accepted", &claims::to_json(accepted));
    }
    text.end()
}

fn write(receipt: &Receipt, fields: &mut impl Fields) {
    let event = &receipt.event;
    let envelope = event.envelope();
    fields.put("id", &envelope.id);
    fields.put("session", &envelope.source.session);
    fields.put("seq", &envelope.seq);
    fields.put("point", event.point().name);
    fields.put("verdict", &receipt.verdict.strength());
    if let Some(reason) = receipt.verdict.reason() {
        fields.put("reason", reason);
    }
    if let Some(author) = receipt.author() {
        fields.put("by", &author.name);
    }
    fields.put_either("payload", || Value::Object(event.payload_json().clone()), || event.payload_text());
    fields.put("payload_sha256", &event.digest());
    let context: Vec<Value> = receipt
        .context
        .iter()
        .map(|by| json!({"role": by.what.role, "text": by.what.text, "hook": receipt.name(by.hook)}))
        .collect();
    fields.put("context", &context);
    let notices: Vec<Value> = receipt
        .notices
        .iter()
        .map(|by| json!({"level": by.what.level, "text": by.what.text, "hook": receipt.name(by.hook)}))
        .collect();
    fields.put("notices", &notices);
    for (name, list) in [
        ("changed", changed(receipt)),
        ("failed", failed(receipt)),
        ("untrusted", untrusted(receipt)),
        ("remarks", remarks(receipt)),
    ] {
        if !list.is_empty() {
            fields.put(name, &list);
        }
    }
    if let Some(mismatch) = receipt.coverage.as_deref() {
        fields.put("coverage_mismatch", mismatch);
    }
    if !receipt.extra.is_empty() {
        fields.put("extra", &receipt.extra);
    }
}

/// A receipt with everything that it holds: its whole decision, and under `envelope` whose event it is.
///
/// ```
/// use lineside::prelude::*;
/// use lineside::wire;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session.intercept::<BeforePrompt>("guard").gate(async |_, _cx| Verdict::Continue)?;
/// let decision = session.publish(BeforePrompt::new("hello")).await?;
/// let json = wire::receipt(decision.receipt().expect("a hook has run"));
/// assert_eq!(json["envelope"]["session"], "s1");
/// assert_eq!(json["hooks"][0]["hook"], "guard");
/// # Ok(())
/// # }
/// ```
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
