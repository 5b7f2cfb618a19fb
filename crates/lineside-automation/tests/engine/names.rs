//! The names of automations: each has its own, and another one of the same name is not taken away in its place.

use std::collections::HashSet;

use lineside_automation::{Automate, Report};
use lineside_bus::Bus;
use lineside_points::AfterToolBatch;

use crate::{changed, rest};

#[tokio::test(start_paused = true)]
async fn a_second_removal_leaves_the_one_that_has_the_name_by_now() {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    let register = || {
        let lint = session.automate::<AfterToolBatch>("lint");
        lint.run(async |_batch, _cx| Ok(Report::failure("found"))).unwrap()
    };
    let first = register();
    assert!(first.remove());
    let second = register();
    assert!(!first.remove(), "it was gone already");
    drop(session.publish(changed("a")).await.unwrap());
    rest(second.automations()).await;
    assert_eq!(session.collect().ready().accept().len(), 1);
    assert!(second.remove());
}

#[tokio::test(start_paused = true)]
async fn each_automation_has_a_name_of_its_own_whatever_sessions_and_hooks_are_called() {
    let bus = Bus::new();
    let ids = ["s", "s/after_tool_batch/a", "after_tool_batch"].map(|id| bus.session(id));
    let mut names = HashSet::new();
    for opening in ids {
        let session = opening.open().await.unwrap();
        for name in ["a", "a/after_tool_batch/b", "b"] {
            let any = session.automate::<AfterToolBatch>(name);
            let any = any.run(async |_batch, _cx| Ok(Report::success("done"))).unwrap();
            assert!(names.insert(any.id().to_owned()), "{}", any.id());
        }
    }
    let of_bus = bus.automate::<AfterToolBatch>("after_tool_batch/a");
    let of_bus = of_bus.run(async |_batch, _cx| Ok(Report::success("done"))).unwrap();
    assert!(names.insert(of_bus.id().to_owned()), "{}", of_bus.id());
}
