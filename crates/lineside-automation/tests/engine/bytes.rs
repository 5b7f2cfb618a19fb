//! Jobs are bounded by the bytes of their events: what is too much is refused in the receipt, signalled and counted.

use std::sync::Arc;

use lineside_automation::machine::Bounds;
use lineside_automation::{Automate, Automations, Report};
use lineside_bus::{Bus, JobNews};
use lineside_core::flow::Debounce;
use lineside_core::{Acceptance, Outcome};

use crate::lives::Disk;
use crate::{changed, millis, news};

#[tokio::test(start_paused = true)]
async fn an_event_that_would_be_too_many_bytes_is_refused_and_one_that_comes_later_is_not() {
    let bus = Bus::new();
    let bounds = Bounds { bytes: 10 << 10, ..Bounds::default() };
    let disk = Arc::new(Disk::default());
    let (automations, _) = Automations::open(&bus, bounds, disk, Vec::new()).unwrap();
    let quiet = Debounce::quiet(millis(100));
    bus.automate::<lineside_points::AfterToolBatch>("lint")
        .debounce(quiet)
        .run(async |_, _| Ok(Report::success("ok")))
        .unwrap();
    let session = bus.session("s1").open().await.unwrap();
    let mut signals = bus.signals();
    let path = "x".repeat(4 << 10);
    let mut taken = Vec::new();
    // Ten times as many bytes as there may be.
    for _ in 0..25 {
        let decision = session.publish(changed(&path)).await.unwrap();
        let Outcome::Offered(outcome) = &decision.receipt().unwrap().runs[0].outcome else { panic!() };
        taken.push(outcome.clone());
    }
    assert!(matches!(taken[..2], [Acceptance::Held(_), Acceptance::Held(_)]), "{taken:?}");
    let why = "there are as many jobs as there may be, or their events are too long";
    assert!(taken[2..].iter().all(|taken| *taken == Acceptance::Refused(why.into())), "{taken:?}");
    assert_eq!(automations.jobs().refused_so_far(), 23);
    automations.kept().await.unwrap();
    assert!(news(&mut signals).contains(&JobNews::Refused(why.to_owned())));
    automations.all_settled().await.unwrap();
    let decision = session.publish(changed(&path)).await.unwrap();
    let outcome = &decision.receipt().unwrap().runs[0].outcome;
    assert!(matches!(outcome, Outcome::Offered(Acceptance::Held(_))), "{outcome:?}");
}
