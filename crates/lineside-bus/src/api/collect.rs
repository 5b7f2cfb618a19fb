//! Collecting what waits for an agent's context.

use lineside_core::context::Bounds;

use crate::base::background::Release;
use crate::context::delivery::Delivery;
use crate::hook::state::Session;

/// A collection under way.
///
/// ```
/// use lineside_bus::Bus;
/// use lineside_core::{Judgement, Verdict};
/// use lineside_points::BeforePrompt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session
///     .intercept::<BeforePrompt>("date")
///     .gate(async |_, _cx| Judgement::from(Verdict::Continue).append("Today is Monday."))?;
/// drop(session.publish(BeforePrompt::new("plan the week")).await?);
///
/// let delivery = session.collect().before_next_model().await;
/// assert!(delivery.text().contains("Today is Monday."));
/// // Only what is accepted leaves the mailbox; a delivery that is dropped goes back.
/// assert_eq!(delivery.accept().len(), 1);
/// assert!(session.collect().ready().messages().is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Collect<'a> {
    session: &'a Session,
    bounds: Bounds,
}

impl<'a> Collect<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        Self { session, bounds: Bounds::default() }
    }

    /// Takes no more than this; 128 messages, 48 KiB and 12 thousand tokens by default.
    ///
    /// What does not fit stays, in order, for the next delivery. A message that alone is more than this is cut: its
    /// head and its tail stay, and a marker between them says how much is missing and where all of it is.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::context::Bounds;
    /// use lineside_core::{Judgement, Verdict};
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session
    ///     .intercept::<BeforePrompt>("two")
    ///     .gate(async |_, _cx| Judgement::from(Verdict::Continue).append("first").append("second"))?;
    /// drop(session.publish(BeforePrompt::new("go on")).await?);
    /// let delivery = session.collect().at_most(Bounds { messages: 1, ..Bounds::default() }).ready();
    /// assert_eq!((delivery.messages().len(), delivery.remaining()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn at_most(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Everything that is there now and fits.
    ///
    /// Where texts are cut and kept in files, it waits for the files.
    pub fn ready(self) -> Delivery {
        let Self { session, bounds } = self;
        let (mailbox, shared) = (session.node().state.mailbox_so_far(), session.shared());
        Delivery::take(mailbox, &shared.signals, session.id(), &*shared.full_texts, bounds)
    }

    /// Everything that the next model call must have: it waits for the hooks that say so and that events up to now
    /// have started, each within its own time, and starts those at once that wait for further events.
    ///
    /// Cancel safe: a dropped call takes nothing.
    pub async fn before_next_model(self) -> Delivery {
        if let Some(background) = self.session.node().state.background_so_far() {
            let (session, failures) = (self.session.id(), &self.session.shared().failures);
            background.release(session, Release::Joining, failures);
            background.joined(session, failures).await;
        }
        self.ready()
    }
}
