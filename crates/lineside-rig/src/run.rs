//! One run of an agent: its session, what is refused, and values between the two kinds of JSON. It knows no hook of rig.

use lineside_client::{Decision, RequestError, Session};
use lineside_core::json::Value;
use lineside_core::{Point, Reason, Verdict};

/// What must not happen.
pub(crate) enum Refused {
    /// It alone, for this reason.
    This(String),
    /// The agent stops.
    Agent(String),
}

/// What lasts as long as a run.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) session: Session,
    /// Whether a stop was refused since the prompt.
    pub(crate) is_kept: bool,
}

/// That something was not decided or had.
pub(crate) fn failed(what: &str) -> impl Fn(RequestError) -> Refused {
    move |error| Refused::This(format!("{what}: {error}"))
}

/// Publishes, and gives the decision unless it refuses; a question to a person is for the caller.
pub(crate) async fn decide<P: Point>(session: &Session, payload: P) -> Result<Decision<P>, Refused> {
    let undecided = failed("no hook has decided about this, so it must not happen");
    let decision = session.publish(payload).await.map_err(undecided)?;
    match decision.verdict() {
        Verdict::Block(reason) => Err(Refused::This(reason.to_string())),
        Verdict::Stop(reason) => Err(Refused::Agent(reason.to_string())),
        Verdict::Continue | Verdict::Allow(_) | Verdict::Ask(_) => Ok(decision),
    }
}

/// The same where no person can be asked.
pub(crate) async fn gate<P: Point>(session: &Session, payload: P) -> Result<Decision<P>, Refused> {
    let decision = decide(session, payload).await?;
    match decision.verdict() {
        Verdict::Ask(reason) => Err(unasked(reason)),
        _ => Ok(decision),
    }
}

/// That a person would have to agree.
pub(crate) fn unasked(reason: &Reason) -> Refused {
    Refused::This(format!("a person has to agree to this, and none has: {reason}"))
}

/// The text that hooks add to the context, accepted with this.
pub(crate) async fn context(session: &Session) -> Result<String, Refused> {
    let lost = failed("what hooks add to the context cannot be had");
    let delivery = session.collect().before_next_model().await.map_err(&lost)?;
    let text = delivery.text().to_owned();
    delivery.accept().await.map_err(lost)?;
    Ok(text)
}

/// A text as the value that it is, or as a text.
pub(crate) fn value(text: &str) -> Value {
    lineside_core::json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// A value of rig's.
pub(crate) fn ours(value: &impl serde::Serialize) -> Value {
    serde_json::to_string(value).map_or(Value::Null, |text| self::value(&text))
}

/// A value for rig.
pub(crate) fn rigs(value: &Value) -> serde_json::Value {
    serde_json::from_str(&value.to_string()).unwrap_or_default()
}
