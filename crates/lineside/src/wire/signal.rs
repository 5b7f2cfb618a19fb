//! A signal as JSON: its kind, whose it is, and what it says.

use lineside_bus::{JobNews, Signal};
use lineside_core::json::{Map, Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::receipt::Given;
use lineside_core::{CoverageMismatch, EventId, Outcome, SessionId, Verdict};

use super::receipt as receipt_of;

/// A signal with what a filter asks for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SignalAbout {
    /// Its kind, such as `session_opened`.
    pub kind: &'static str,
    /// The session that it is about; `None` for one about the whole bus.
    pub session: Option<SessionId>,
    /// Everything that it says, as a JSON object.
    pub fields: Map,
}

/// A signal as JSON. A kind that this program does not know yet is `unknown`, with its text under `debug`.
///
/// ```
/// use lineside::bus::signal::Watched;
/// use lineside::prelude::*;
/// use lineside::wire;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let mut signals = bus.signals();
/// bus.session("s1").open().await?;
/// let Some(Watched::Signal(opened)) = signals.next().await else { panic!("the bus has ended") };
/// assert_eq!(wire::signal(&opened).kind, "session_opened");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn signal(signal: &Signal) -> SignalAbout {
    let session = signal.session();
    let about = |kind, fields: Value| {
        let mut map = Map::new();
        map.insert("kind".to_owned(), json!(kind));
        if let Some(session) = session {
            map.insert("session".to_owned(), json!(session));
        }
        if let Value::Object(fields) = fields {
            map.extend(fields);
        }
        SignalAbout { kind, session: session.cloned(), fields: map }
    };
    match signal {
        Signal::SessionOpened { parent, coverage, .. } => {
            about("session_opened", json!({"parent": parent, "coverage": coverage}))
        }
        Signal::SessionClosed { last_seq, .. } => about("session_closed", json!({"last_seq": last_seq})),
        Signal::CoverageMismatch { event, mismatch, .. } => {
            let CoverageMismatch { believed, in_force } = mismatch;
            let fields = json!({"event": event, "believed": believed, "in_force": in_force});
            about("coverage_mismatch", fields)
        }
        Signal::Decided(receipt) => about("decided", Value::Object(receipt_of(receipt))),
        Signal::Abandoned { seq, event, .. } => about("abandoned", json!({"seq": seq, "event": event})),
        Signal::DetachedFinished { event, hook, outcome, given, took, earlier, .. } => {
            let mut fields = json!({
                "event": event, "hook": hook.name, "took_us": micros(*took), "earlier_attempts": earlier.len(),
            });
            if let Value::Object(fields) = &mut fields {
                if let Some((failed, detail)) = failure(outcome) {
                    fields.insert("failed".to_owned(), json!(failed));
                    fields.insert("detail".to_owned(), json!(detail));
                }
                if hook.is_shadow() {
                    fields.insert("shadow".to_owned(), would(outcome, given.as_deref()));
                }
            }
            about("detached_finished", fields)
        }
        Signal::Released { event, hook, skipped, .. } => {
            about("released", json!({"event": event, "hook": hook.name, "skipped": skipped}))
        }
        Signal::Notified { event, hook, notice, .. } => {
            about("notified", json!({"event": event, "hook": hook, "notice": notice}))
        }
        Signal::Announced { notice } => about("announced", json!({"notice": notice})),
        Signal::ContextDelivered { messages, .. } => {
            about("context_delivered", json!({"messages": messages}))
        }
        Signal::ContextDropped { hook, .. } => about("context_dropped", json!({"hook": hook})),
        Signal::ContextExpired { hook, .. } => about("context_expired", json!({"hook": hook})),
        Signal::ContextReplaced { hook, .. } => about("context_replaced", json!({"hook": hook})),
        Signal::ContextCut { hook, message, .. } => {
            about("context_cut", json!({"hook": hook, "message": message}))
        }
        Signal::ContextRecovered { messages, .. } => {
            about("context_recovered", json!({"messages": messages}))
        }
        Signal::Automation { hook, job, event, news, .. } => {
            about("automation", automation(hook, *job, *event, news))
        }
        Signal::ApprovalAsked { event, id, hook, reason, within, .. } => about(
            "approval_asked",
            json!({
                "event": event, "id": id, "hook": hook, "reason": reason,
                "within_ms": u64::try_from(within.as_millis()).unwrap_or(u64::MAX),
            }),
        ),
        Signal::ApprovalAnswered { event, hook, approval, .. } => {
            about("approval_answered", json!({"event": event, "hook": hook, "approval": **approval}))
        }
        Signal::ObserverLagged { hook, lost } => {
            about("observer_lagged", json!({"hook": hook, "lost": lost}))
        }
        other => about("unknown", json!({"debug": format!("{other:?}")})),
    }
}

fn automation(hook: &str, job: Option<u64>, event: EventId, news: &JobNews) -> Value {
    let (word, detail) = match news {
        JobNews::Held => ("held", Value::Null),
        JobNews::Queued => ("queued", Value::Null),
        JobNews::Refused(why) => ("refused", json!(why)),
        JobNews::Started { attempt } => ("started", json!(attempt)),
        JobNews::Retried { failed, .. } => ("retried", json!(failed)),
        JobNews::Finished => ("finished", Value::Null),
        JobNews::Dead(why) => ("dead", json!(why)),
        JobNews::Cancelled(why) => ("cancelled", json!(why)),
        JobNews::Parked => ("parked", Value::Null),
        JobNews::Revived => ("revived", Value::Null),
        JobNews::Forgotten => ("forgotten", Value::Null),
        other => ("unknown", json!(format!("{other:?}"))),
    };
    json!({"hook": hook, "job": job, "event": event, "news": word, "detail": detail})
}

/// What a hook in shadow would have come to.
fn would(outcome: &Outcome, given: Option<&Given>) -> Value {
    let verdict = outcome.verdict();
    let given = given.cloned().unwrap_or_default();
    let changes = given.changes.iter().map(
        |FromHook { what, .. }| json!({"field": what.field, "before": what.before, "after": what.after}),
    );
    json!({
        "verdict": verdict.map(Verdict::strength), "reason": verdict.and_then(Verdict::reason),
        "changes": changes.collect::<Vec<_>>(),
        "context": given.context.iter().map(|given| &given.what.text).collect::<Vec<_>>(),
        "notices": given.notices.iter().map(|given| &given.what.text).collect::<Vec<_>>(),
    })
}

/// The kind and the detail of a failure.
fn failure(outcome: &Outcome) -> Option<(String, String)> {
    match outcome {
        Outcome::Failed { failure, .. } => Some((failure.kind.to_string(), failure.detail.to_string())),
        _ => None,
    }
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
