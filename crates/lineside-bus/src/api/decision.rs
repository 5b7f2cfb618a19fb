//! What a publisher gets back: the verdict, the payload that may run, and the record of how both came about.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use lineside_core::event::digest_of;
use lineside_core::outcome::FromHook;
use lineside_core::payload::Point;
use lineside_core::{Append, Change, EventId, Hook, Notice, Payload, Reason, Receipt, Verdict};

use crate::base::clock;
use crate::dispatch::event::Record;

/// The decision about one event.
///
/// It is about the payload it holds, byte for byte: [`digest`](Self::digest) names those bytes.
///
/// ```
/// use lineside_bus::Bus;
/// use lineside_core::Verdict;
/// use lineside_core::json::json;
/// use lineside_points::BeforeTool;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session.intercept::<BeforeTool>("no-push").gate(async |_, _cx| Verdict::block("not on Fridays"))?;
/// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "git push"}))).await?;
/// assert!(decision.is_refused());
/// assert_eq!(decision.reason().map(|reason| reason.as_str()), Some("not on Fridays"));
/// assert_eq!(decision.author().map(|hook| &*hook.name), Some("no-push"));
/// # Ok(())
/// # }
/// ```
#[must_use = "a decision has no effect unless the publisher obeys it"]
#[derive(Debug)]
pub struct Decision<P> {
    made: Made<P>,
}

#[derive(Debug)]
enum Made<P> {
    /// The point has no hooks; nothing was allocated.
    Unheard { payload: P, seq: u64, id: OnceLock<EventId> },
    /// It has a receipt.
    Settled(Record),
}

static CONTINUE: Verdict = Verdict::Continue;

impl<P: Point> Decision<P> {
    pub(crate) fn unheard(payload: P, seq: u64) -> Self {
        Self { made: Made::Unheard { payload, seq, id: OnceLock::new() } }
    }

    pub(crate) fn settled(record: Record) -> Self {
        Self { made: Made::Settled(record) }
    }

    /// The joined verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        match &self.made {
            Made::Unheard { .. } => &CONTINUE,
            Made::Settled(receipt) => &receipt.verdict,
        }
    }

    /// Whether it must not happen, or its result must not be used: the verdict is a block or a stop.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.verdict().strength().is_final()
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        self.verdict().reason()
    }

    /// The hook whose verdict it is; `None` for `continue`.
    #[must_use]
    pub fn author(&self) -> Option<&Hook> {
        self.receipt()?.author()
    }

    /// The payload that the decision is about: with every amendment.
    #[must_use]
    pub fn payload(&self) -> &P {
        match &self.made {
            Made::Unheard { payload, .. } => payload,
            Made::Settled(receipt) => {
                let any: &dyn Any = receipt.event.payload();
                match any.downcast_ref() {
                    Some(payload) => payload,
                    None => unreachable!("an amendment keeps the type of the payload"),
                }
            }
        }
    }

    /// Returns the payload that the decision is about: with every amendment.
    ///
    /// The payload is moved out where nothing else has the receipt or the event; a watcher of signals, an observer or a
    /// hook that still runs has them, and then the payload is copied.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Reply;
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforeTool>("locked").amend(async |_, _cx| {
    ///     Reply::amend(BeforeTool::amend().tool_input(json!({"command": "cargo test --locked"})))
    /// })?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "cargo test"}))).await?;
    /// // Run this, and not what was published.
    /// let call = decision.into_payload();
    /// assert_eq!(call.command().as_deref(), Some("cargo test --locked"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn into_payload(self) -> P {
        let event = match self.made {
            Made::Unheard { payload, .. } => return payload,
            Made::Settled(Record::Own(receipt)) => receipt.event,
            Made::Settled(Record::Shared(receipt)) => match Arc::try_unwrap(receipt) {
                Ok(receipt) => receipt.event,
                Err(shared) => shared.event.clone(),
            },
        };
        match event.into_payload() {
            Some(payload) => payload,
            None => unreachable!("an amendment keeps the type of the payload"),
        }
    }

    /// The SHA-256 of the payload's compact JSON, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        match &self.made {
            Made::Unheard { payload, .. } => digest_of(&payload.to_json()),
            Made::Settled(receipt) => receipt.event.digest(),
        }
    }

    /// Whether another payload is byte for byte the one that was decided about.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// let call = BeforeTool::new("Shell", json!({"command": "ls"}));
    /// let decision = session.publish(call.clone()).await?;
    /// assert!(decision.is_about(&call));
    /// assert!(!decision.is_about(&BeforeTool::new("Shell", json!({"command": "rm x"}))));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_about(&self, payload: &dyn Payload) -> bool {
        self.digest() == digest_of(&payload.to_json())
    }

    /// The number of the event in its session.
    #[must_use]
    pub fn seq(&self) -> u64 {
        match &self.made {
            Made::Unheard { seq, .. } => *seq,
            Made::Settled(receipt) => receipt.event.envelope().seq,
        }
    }

    /// The id of the event, under which `why` finds its receipt.
    #[must_use]
    pub fn id(&self) -> EventId {
        match &self.made {
            Made::Unheard { id, .. } => *id.get_or_init(|| clock::stamp(std::time::Instant::now()).0),
            Made::Settled(receipt) => receipt.event.envelope().id,
        }
    }

    /// The messages that were appended to the agent's context, in order. They wait in its mailbox.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::{Judgement, Notice, Verdict};
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session.intercept::<BeforePrompt>("date").gate(async |_, _cx| {
    ///     Judgement::from(Verdict::Continue).append("Today is Monday.").notify(Notice::info("dated"))
    /// })?;
    /// let decision = session.publish(BeforePrompt::new("plan the week")).await?;
    /// assert_eq!(decision.context()[0].what.text, "Today is Monday.");
    /// assert_eq!(decision.notices()[0].what, Notice::info("dated"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn context(&self) -> &[FromHook<Append>] {
        self.receipt().map_or(&[], |receipt| &receipt.context)
    }

    /// The messages for the user, in order.
    #[must_use]
    pub fn notices(&self) -> &[FromHook<Notice>] {
        self.receipt().map_or(&[], |receipt| &receipt.notices)
    }

    /// What amendments have changed, in order.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Reply;
    /// use lineside_core::json::json;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session
    ///     .intercept::<BeforePrompt>("polite")
    ///     .amend(async |_, _cx| Reply::amend(BeforePrompt::amend().prompt("please")))?;
    /// let decision = session.publish(BeforePrompt::new("now")).await?;
    /// let change = &decision.changes()[0].what;
    /// assert_eq!((&change.before, &change.after), (&json!("now"), &json!("please")));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn changes(&self) -> &[FromHook<Change>] {
        self.receipt().map_or(&[], |receipt| &receipt.changes)
    }

    /// What happened to the event; `None` when its point has no hooks.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// assert!(session.publish(BeforePrompt::new("hi")).await?.receipt().is_none(), "there is no hook");
    ///
    /// session.intercept::<BeforePrompt>("guard").gate(async |_, _cx| Verdict::Continue)?;
    /// let decision = session.publish(BeforePrompt::new("hi")).await?;
    /// let receipt = decision.receipt().expect("a hook has run");
    /// assert_eq!(receipt.to_json()["hooks"][0]["hook"], "guard");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn receipt(&self) -> Option<&Receipt> {
        match &self.made {
            Made::Unheard { .. } => None,
            Made::Settled(receipt) => Some(receipt),
        }
    }
}
