//! What a member remembers of the bucket of windows and rates between two uses of it.

use async_nats::jetstream::kv::Store;
use tokio::time::Instant;

/// What a member remembers of it.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) bucket: Option<Store>,
    /// When an entry was sent, and when the server has had it, in milliseconds of its time.
    pub(crate) time: Option<(Instant, u64)>,
}
