//! How the journal is compacted: a snapshot of the machine in the place of the records that led to it.
//!
//! The snapshot is taken under the lock together with the effects that are still to be done, so it stands for exactly
//! the records up to the last of those. Publishers wait for no more than that: it is written down and put in
//! place beside everything else, and what is appended meanwhile stays.

use std::sync::Arc;

use lineside_bus::Signal;
use lineside_core::Notice;
use lineside_core::journal::{Journal, Sequence, Unavailable};

use super::Engine;
use crate::offered::Offered;
use crate::record::{Entry, Record};

/// Puts a snapshot in the place of all records up to one.
pub(super) async fn compact(
    engine: Arc<Engine>,
    journal: Arc<dyn Journal>,
    snapshot: Vec<Record<Offered>>,
    up_to: Sequence,
) {
    let unreadable = Arc::clone(&engine.unreadable);
    let written = engine.tasks.compute(move || write(&unreadable, &snapshot)).await;
    let done = match written {
        Ok(entries) => journal.checkpoint(entries, up_to).await,
        Err(why) => Err(why),
    };
    engine.core().compaction.ended(done.is_ok());
    if let (Err(why), Some(bus)) = (done, engine.bus.upgrade()) {
        let notice =
            Notice::warning(format!("the journal of jobs grows, because it cannot be compacted: {why}"));
        bus.signal(|| Signal::Announced { notice });
    }
}

/// The snapshot as it is kept, behind what cannot be read here and is kept for a version that can.
fn write(unreadable: &[Entry], snapshot: &[Record<Offered>]) -> Result<Vec<Entry>, Unavailable> {
    let written =
        snapshot.iter().map(|record| record.write().map_err(|error| Unavailable::because(error.to_string())));
    unreadable.iter().cloned().map(Ok).chain(written).collect()
}
