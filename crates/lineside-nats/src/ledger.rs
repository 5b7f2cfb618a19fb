//! The bucket of windows and of rates, and the time of its server: machines have clocks of their own, and what they keep
//! together is reckoned by one.

use std::time::Duration;

use async_nats::jetstream::kv::{Operation, Store};
use bytes::Bytes;

use crate::cluster::Shared;
use crate::joined::{Bucket, bucket};

/// How long an entry stays that is not written: longer than any window and any rate.
const KEPT: Duration = Duration::from_secs(31 * 24 * 60 * 60);
/// How long the time of the server is reckoned from what it was.
const RECKONED: Duration = Duration::from_secs(60);
/// The pause after the server could not be asked.
pub(crate) const PAUSE: Duration = Duration::from_millis(300);

/// An entry, as it was read.
pub(crate) struct Found {
    /// 0 where there is none.
    pub(crate) revision: u64,
    pub(crate) value: Bytes,
    /// When it was written, in the time of the server.
    pub(crate) written: u64,
}

impl Shared {
    /// The bucket, which the first that needs it makes, and the time of its server, in milliseconds: it is later by the time of
    /// one question at most. `None` where it cannot be asked.
    pub(crate) async fn ledger(&self) -> Option<(Store, u64)> {
        let store = self.ledger_bucket().await?;
        let since = |sent| self.settings.clock.now().saturating_sub(sent);
        let reckoned = self.own_ledger().time.filter(|(sent, _)| since(*sent) < RECKONED);
        let (sent, time) = match reckoned {
            Some(known) => known,
            None => {
                let key = format!("time.{}", self.settings.machine);
                let sent = self.settings.clock.now();
                let written = store.put(&key, Bytes::new()).await;
                let found = match written {
                    Ok(_) => found(&store, &key).await,
                    Err(error) => {
                        tracing::debug!(%error, "the time of the server is not known");
                        None
                    }
                };
                let Some(found) = found else {
                    self.own_ledger().bucket = None;
                    return None;
                };
                self.own_ledger().time = Some((sent, found.written));
                (sent, found.written)
            }
        };
        Some((store, time + millis(since(sent))))
    }

    async fn ledger_bucket(&self) -> Option<Store> {
        if let Some(store) = self.own_ledger().bucket.clone() {
            return Some(store);
        }
        let wanted = Bucket {
            name: self.subjects.windows_bucket(),
            description: "windows of events and starts of rates of a lineside cluster",
            kept: KEPT,
        };
        match bucket(self, wanted).await {
            Ok(store) => {
                self.own_ledger().bucket = Some(store.clone());
                Some(store)
            }
            Err(why) => {
                tracing::warn!(why, "what waits for a window or a rate of the cluster waits on");
                None
            }
        }
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How an entry stands; `None` where the server does not say.
pub(crate) async fn found(store: &Store, key: &str) -> Option<Found> {
    Some(match store.entry(key).await.ok()? {
        Some(entry) => Found {
            revision: entry.revision,
            value: if entry.operation == Operation::Put { entry.value } else { Bytes::new() },
            written: u64::try_from(entry.created.unix_timestamp_nanos() / 1_000_000).unwrap_or_default(),
        },
        None => Found { revision: 0, value: Bytes::new(), written: 0 },
    })
}
