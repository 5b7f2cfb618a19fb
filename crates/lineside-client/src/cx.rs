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
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}
