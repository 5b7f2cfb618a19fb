//! What a publisher gets back over the socket.

use std::any::Any;
use std::sync::Arc;

use lineside_core::json::{Map, Value};
use lineside_core::payload::Point;
use lineside_core::{Acknowledgement, Reason, Strength, Verdict};

use crate::request::RequestError;

/// The decision about one event. It is about the payload it holds: [`digest`](Self::digest) names those bytes.
///
/// ```no_run
/// use lineside_core::json::json;
/// use lineside_points::BeforeTool;
///
/// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
/// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "git push"}))).await?;
/// if decision.is_refused() {
///     let by = decision.author().unwrap_or("the daemon");
///     println!("{by}: {}", decision.reason().map_or("no reason", |reason| reason.as_str()));
/// } else {
///     println!("{:?} may run", decision.into_payload().command());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a decision that is not obeyed decides nothing"]
#[derive(Debug, Clone)]
pub struct Decision<P> {
    verdict: Verdict,
    payload: P,
    json: Map,
}

impl<P: Point> Decision<P> {
    /// Reads the decision of a daemon. One that cannot be read is an error and never a permission.
    pub(crate) fn read(mut json: Map) -> Result<Self, RequestError> {
        let unreadable = |what: String| RequestError::Unreadable(what);
        let verdict = verdict_of(&json).ok_or_else(|| unreadable("no known verdict".to_owned()))?;
        let Some(Value::Object(payload)) = json.remove("payload") else {
            return Err(unreadable("no payload".to_owned()));
        };
        let payload = (P::INFO.decode)(P::INFO, payload).map_err(|error| unreadable(error.to_string()))?;
        let payload: Arc<dyn Any + Send + Sync> = payload;
        match payload.downcast::<P>() {
            Ok(payload) => Ok(Self { verdict, payload: Arc::unwrap_or_clone(payload), json }),
            Err(_) => Err(unreadable("a payload of another point".to_owned())),
        }
    }

    /// The joined verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Whether it must not happen, or its result must not be used: the verdict is a block or a stop.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.verdict.strength().is_final()
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        self.verdict.reason()
    }

    /// The name of the hook whose verdict it is.
    #[must_use]
    pub fn author(&self) -> Option<&str> {
        self.json.get("by")?.as_str()
    }

    /// The payload that the decision is about: with every amendment.
    #[must_use]
    pub fn payload(&self) -> &P {
        &self.payload
    }

    /// The payload.
    #[must_use]
    pub fn into_payload(self) -> P {
        self.payload
    }

    /// The SHA-256 of the payload's compact JSON, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        self.json.get("payload_sha256").and_then(Value::as_str).unwrap_or_default()
    }

    /// The id of the event; `None` while hooks are switched off.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.json.get("id")?.as_str()
    }

    /// The number of the event in its session; `None` while hooks are switched off.
    #[must_use]
    pub fn seq(&self) -> Option<u64> {
        self.json.get("seq")?.as_u64()
    }

    /// Whether hooks are switched off, so that none has seen the event.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.json.get("off").and_then(Value::as_bool).unwrap_or_default()
    }

    /// The digest of the hooks in force, where it is not the one that the session was opened with.
    #[must_use]
    pub fn coverage_in_force(&self) -> Option<&str> {
        self.json.get("coverage_mismatch")?.get("in_force")?.as_str()
    }

    /// The hooks that work for the event in the background: what each has made of it, as which job, and what that
    /// survives. What is reported as kept is kept before the decision is given.
    ///
    /// What this version of the library does not know is left out.
    ///
    /// ```no_run
    /// use lineside_points::AfterToolBatch;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let decision = session.publish(AfterToolBatch::new(vec![], vec![])).await?;
    /// for accepted in decision.acknowledgements() {
    ///     println!("{} is job {:?}", accepted.hook, accepted.job);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn acknowledgements(&self) -> Vec<Acknowledgement> {
        let accepted = self.json.get("accepted").and_then(Value::as_array).into_iter().flatten();
        accepted.filter_map(|one| Acknowledgement::from_json(one.as_object()?)).collect()
    }

    /// Everything else that the daemon says of it, as its API describes it.
    #[must_use]
    pub fn json(&self) -> &Map {
        &self.json
    }
}

/// The verdict of a decision; `None` when it has none that is known.
pub(crate) fn verdict_of(json: &Map) -> Option<Verdict> {
    let strength = Strength::named(json.get("verdict")?.as_str()?)?;
    Some(Verdict::of(strength, json.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned()))
}
