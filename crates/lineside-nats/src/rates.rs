//! Rates of which the starts on all machines count: the entry of a rate has the times of the last ones, and a start is one that
//! has been written there.

use std::time::Duration;

use async_nats::jetstream::kv::UpdateErrorKind;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::ledger::{PAUSE, found, millis};
use crate::settings::Token;

/// How often it is looked whether there is room earlier than was known.
const LOOK: Duration = Duration::from_secs(60);

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartsIn {
    /// How many.
    pub starts: usize,
    /// In how long a time, whenever that begins.
    pub period: Duration,
}

impl Cluster {
    /// Waits until a rate has room for one more start, for as long as it takes, and counts that. Where more than that is not
    /// waited for, `false` when it has none; a server that is away is waited for in any case.
    ///
    /// Dropping the future waits no longer; the start may be counted. One of which it is not known whether it was is counted
    /// twice, so that there are never more than there may be.
    pub async fn let_in(&self, key: &Token, rate: StartsIn, waits: bool) -> bool {
        let (entry, period) = (format!("rate.{key}"), millis(rate.period));
        let mut health = self.0.health.subscribe();
        loop {
            // The sender is held by what is shared.
            health.wait_for(|health| health.link.is_together()).await.ok();
            let Some((store, now)) = self.0.ledger().await else {
                sleep(PAUSE).await;
                continue;
            };
            let Some(found) = found(&store, &entry).await else {
                sleep(PAUSE).await;
                continue;
            };
            let mut starts = times(&found.value, now, period);
            if starts.len() >= rate.starts {
                if !waits {
                    return false;
                }
                let over = starts.get(starts.len() - rate.starts).map_or(now, |start| start + period);
                sleep(Duration::from_millis(over.saturating_sub(now)).clamp(PAUSE / 10, LOOK)).await;
                continue;
            }
            starts.push(now);
            let text: Vec<_> = starts.iter().map(u64::to_string).collect();
            match store.update(&entry, text.join(" ").into(), found.revision).await {
                Ok(_) => return true,
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) => {
                    tracing::debug!(%error, "a start of a rate was not counted");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// The starts within a period. Those of a time to come are of a server that has put its clock back.
fn times(value: &[u8], now: u64, period: u64) -> Vec<u64> {
    let text = std::str::from_utf8(value).unwrap_or_default();
    let starts = text.split(' ').filter_map(|start| start.parse::<u64>().ok()).map(|start| start.min(now));
    starts.filter(|start| start.saturating_add(period) > now).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starts_of_a_period_count_and_none_is_later_than_now() {
        assert_eq!(times(b"", 100, 10), [0_u64; 0]);
        assert_eq!(times(b"89 90 91 100 x 250", 100, 10), [91, 100, 100]);
    }
}
