//! Law 6. Time is virtual.

use lineside::core::{FailureKind, Outcome};
use lineside::prelude::*;
use tokio::time::{Instant, sleep};

use crate::{outcome, session, shell};

#[tokio::test(start_paused = true)]
async fn budgets_nest() {
    let (_bus, root) = session().await;
    for (name, priority) in [("first", 3), ("second", 2), ("third", 1)] {
        root.intercept::<BeforeTool>(name)
            .priority(priority)
            .timeout(millis(400))
            .on_failure(OnFailure::Continue)
            .gate(async |_, _| {
                sleep(secs(60)).await;
                Verdict::Continue
            })
            .unwrap();
    }
    let began = Instant::now();
    let decision = root.event(shell("ls")).within(millis(500)).publish().await.unwrap();
    assert_eq!(began.elapsed().as_millis(), 500, "the event's time is not exceeded");
    let detail = |name| match outcome(&decision, name) {
        Outcome::Failed { failure, .. } if failure.kind == FailureKind::Timeout => {
            failure.detail.into_owned()
        }
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(detail("first"), "timed out after 0.4 s");
    assert_eq!(detail("second"), "timed out after 0.1 s, which was all that was left of the event's time");
    assert_eq!(detail("third"), "the event's 0.5 s were used up, most of them by hook \"first\"");
}

#[tokio::test]
async fn a_hook_that_is_always_ready_has_no_more_time() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("busy")
        .timeout(millis(20))
        .gate(async |_, _| {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
            let began = std::time::Instant::now();
            // Gives up by itself when its time is long over.
            while began.elapsed() < secs(5) {
                sender.try_send(()).ok();
                receiver.recv().await;
            }
            Verdict::Continue
        })
        .unwrap();
    let decision = root.publish(shell("ls")).await.unwrap();
    let Outcome::Failed { failure, .. } = outcome(&decision, "busy") else { panic!("it had more time") };
    assert_eq!(failure.kind, FailureKind::Timeout);
}

#[tokio::test]
async fn the_time_of_a_hook_that_answers_at_once_counts() {
    let (_bus, root) = session().await;
    for (name, priority, works) in [("works", 2, millis(30)), ("late", 1, millis(0))] {
        root.intercept::<BeforeTool>(name)
            .priority(priority)
            .on_failure(OnFailure::Continue)
            .gate(move |_, _| async move {
                let began = std::time::Instant::now();
                while began.elapsed() < works {}
                Verdict::Continue
            })
            .unwrap();
    }
    let decision = root.event(shell("ls")).within(millis(20)).publish().await.unwrap();
    assert_eq!(outcome(&decision, "works"), Outcome::Answered(Verdict::Continue), "it does not wait");
    let Outcome::Failed { failure, .. } = outcome(&decision, "late") else { panic!("nothing was left") };
    assert_eq!(failure.detail, "the event's 0.02 s were used up, most of them by hook \"works\"");
}

#[tokio::test(start_paused = true)]
async fn d08_guards_not_reached_count_as_failed() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("slow")
        .priority(1)
        .on_failure(OnFailure::Continue)
        .gate(async |_, _| {
            sleep(secs(60)).await;
            Verdict::Continue
        })
        .unwrap();
    root.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::Continue).unwrap();
    let decision = root.event(shell("ls")).within(millis(100)).publish().await.unwrap();
    assert!(decision.is_refused(), "a guard that had no time blocks");
    assert_eq!(&*decision.author().unwrap().name, "guard");
}
