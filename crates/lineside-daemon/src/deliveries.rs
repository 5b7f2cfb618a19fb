//! Context that was handed over and is not accepted yet: it goes back to its mailbox when it is not accepted in time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::Delivery;
use tokio::time::Instant;

use crate::shares::{Share, Shares, Tree};

/// How many deliveries are out at once, over all sessions.
const MOST: usize = 4_096;

/// The deliveries that are out.
pub(crate) struct Deliveries {
    out: Mutex<HashMap<String, Out>>,
    most: usize,
    shares: Shares,
}

struct Out {
    delivery: Delivery,
    until: Instant,
    /// Its part of what its tree of processes has.
    _share: Option<Share>,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self::at_most(MOST)
    }
}

impl Deliveries {
    fn at_most(most: usize) -> Self {
        Self { out: Mutex::default(), most, shares: Shares::of(most) }
    }

    /// Keeps a delivery until it is accepted, at most so long. Gives the name to accept it by.
    ///
    /// # Errors
    /// So many are out, in all or in the tree of processes that asks, and no more may be; the messages are back in their
    /// mailbox.
    pub(crate) fn keep(
        &self,
        delivery: Delivery,
        name: String,
        within: Duration,
        tree: Option<Tree>,
    ) -> Result<String, usize> {
        let share = tree.map(|tree| self.shares.take(tree, 1).ok_or(self.shares.most(tree))).transpose()?;
        let until = Instant::now() + within;
        let mut out = self.out();
        if out.len() >= self.most {
            drop(out);
            // Dropping it puts the messages back, which takes the mailbox's lock and not this one.
            drop(delivery);
            return Err(self.most);
        }
        out.insert(name.clone(), Out { delivery, until, _share: share });
        Ok(name)
    }

    /// Takes a delivery to accept it; `None` when there is none of that name, or it went back.
    pub(crate) fn take(&self, name: &str) -> Option<Delivery> {
        self.out().remove(name).map(|out| out.delivery)
    }

    /// Puts back what was not accepted in time. Gives how many deliveries that were.
    pub(crate) fn put_back(&self, now: Instant) -> usize {
        let mut late = Vec::new();
        let mut out = self.out();
        let names: Vec<String> =
            out.iter().filter(|(_, out)| out.until <= now).map(|(name, _)| name.clone()).collect();
        late.extend(names.iter().filter_map(|name| out.remove(name)));
        drop(out);
        late.len()
    }

    fn out(&self) -> MutexGuard<'_, HashMap<String, Out>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use lineside::Bus;
    use lineside::bus::extension::DeferredMessage;
    use lineside::core::{Append, EventId};

    use super::*;
    use crate::lineage::Process;
    use crate::shares::PART;

    async fn with_a_message(bus: &Bus, number: usize) -> lineside::Session {
        let session = bus.session(number.to_string()).open().await.unwrap();
        let message = DeferredMessage {
            hook: "h".into(),
            dialect: "native",
            point: "on_idle".into(),
            event: EventId::from_u128(1),
            seq: 0,
            id: None,
            append: Append::system("text"),
            keeps_working: false,
        };
        drop(bus.deliver(session.id(), message));
        session
    }

    #[tokio::test]
    async fn the_deliveries_of_what_one_agent_has_started_leave_room_for_others() {
        let (bus, deliveries) = (Bus::new(), Deliveries::at_most(4 * PART));
        let within = Duration::from_secs(60);
        let tree = Process::of(std::process::id()).map(Tree::Agent);
        let mut kept = 0;
        for number in 0..8 * PART {
            let session = with_a_message(&bus, number).await;
            kept += usize::from(
                deliveries.keep(session.collect().ready(), number.to_string(), within, tree).is_ok(),
            );
        }
        assert_eq!(kept, 4);
        let other = bus.find("63").unwrap();
        deliveries.keep(other.collect().ready(), "other".to_owned(), within, None).unwrap();
        assert!(deliveries.take("0").is_some());
        let again = bus.find("62").unwrap().collect().ready();
        deliveries.keep(again, "again".to_owned(), within, tree).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_deliveries_are_out_than_there_may_be_and_the_messages_of_one_too_many_are_back() {
        const MOST: usize = 8;
        let (bus, deliveries) = (Bus::new(), Deliveries::at_most(MOST));
        let within = Duration::from_secs(60);
        for number in 0..10 * MOST {
            let session = with_a_message(&bus, number).await;
            let kept = deliveries.keep(session.collect().ready(), number.to_string(), within, None);
            assert_eq!(kept.is_ok(), number < MOST, "{number}");
            let waits = session.collect().ready().messages().len();
            assert_eq!(waits, usize::from(number >= MOST), "{number}");
        }
        assert_eq!(deliveries.put_back(Instant::now() + within), MOST);
        assert_eq!(bus.find("0").unwrap().collect().ready().messages().len(), 1);
    }
}
