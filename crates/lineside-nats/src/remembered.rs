//! What a member remembers of the bucket of windows and rates between two uses of it.

use std::time::Duration;

use async_nats::jetstream::kv::Store;

/// What a member remembers of it.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) bucket: Option<Store>,
    /// When an entry was sent by the clock of this machine, and when the server has had it, in milliseconds of its time.
    pub(crate) time: Option<(Duration, u64)>,
}
