//! What is claimed of background work, and how long is waited for its records.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use lineside::Bus;
use lineside::automation::Automations;
use lineside::automation::machine::Bounds;
use lineside::claims::{Claim, Claims};
use lineside::core::AcknowledgedAs;
use lineside::core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};
use lineside::prelude::*;

/// A disk that does not answer, or one that is full.
#[derive(Clone, Copy)]
enum Disk {
    Stuck,
    Full,
}

impl Journal for Disk {
    fn append(&self, _: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        match self {
            Self::Stuck => Box::pin(std::future::pending()),
            Self::Full => Box::pin(std::future::ready(Err(Unavailable::because("the disk is full")))),
        }
    }

    fn checkpoint(&self, _: Vec<Record>, _: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn durability(&self) -> Durability {
        Durability::Disk
    }
}

/// What is claimed of an event that an automation hears of, on this disk.
async fn claimed(disk: Disk) -> Claim {
    let bus = Bus::new();
    let (automations, _) = Automations::open(&bus, Bounds::default(), Arc::new(disk), []).unwrap();
    bus.automate::<OnIdle>("work").run(async |_, _| Ok(Report::success("ok"))).unwrap();
    let session = bus.session("s").open().await.unwrap();
    let decision = session.publish(OnIdle::new()).await.unwrap();
    let claims = Claims::new(Some(automations), &lineside::LoadReport::default());
    let mut claims = claims.of(decision.receipt().unwrap(), Duration::from_secs(5)).await;
    assert_eq!(claims.len(), 1);
    claims.remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_kept_in_time_is_not_claimed() {
    let Claim { accepted, .. } = claimed(Disk::Stuck).await;
    assert_eq!((accepted.verb, accepted.durability), (AcknowledgedAs::Unavailable, None));
    assert_eq!(accepted.job, Some(1));
    let why = accepted.why.unwrap();
    assert_eq!(why, "its record was not kept within 5s; it may run all the same");
}

#[tokio::test]
async fn a_record_that_cannot_be_kept_is_not_claimed() {
    let Claim { accepted, .. } = claimed(Disk::Full).await;
    assert_eq!((accepted.verb, accepted.durability), (AcknowledgedAs::Unavailable, None));
    assert!(accepted.why.unwrap().contains("the disk is full"));
}
