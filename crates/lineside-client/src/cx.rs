//! What a hook of a client knows beside its event.

use tokio::time::Instant;

/// The surroundings of one call of a hook.
#[derive(Debug, Clone)]
pub struct Cx {
    deadline: Instant,
}

impl Cx {
    pub(crate) fn new(deadline: Instant) -> Self {
        Self { deadline }
    }

    /// When the hook's time is over. Its future is dropped then, and when its caller is gone.
    ///
    /// ```no_run
    /// use lineside_core::Verdict;
    /// use lineside_points::BeforePrompt;
    /// use tokio::time::Instant;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// session
    ///     .intercept::<BeforePrompt>("policy")
    ///     .gate(async |_prompt, cx| {
    ///         let left = cx.deadline().saturating_duration_since(Instant::now());
    ///         if left.is_zero() { Verdict::ask("there was no time to judge") } else { Verdict::Continue }
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}
