//! Questions of hooks that are answered by another one than the publisher.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_bus::approver::{Approver, Asked, Question, Waiting};
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Signal};
use lineside_core::{Approval, ApprovalScope, Strength, Timestamp, Verdict};
use lineside_points::BeforeTool;

/// Answers with a verdict after a time, and keeps what it was asked.
struct After {
    verdict: Verdict,
    wait: Option<Duration>,
    asked: Mutex<Vec<Question>>,
}

impl After {
    fn new(verdict: Verdict, wait: Option<Duration>) -> Arc<Self> {
        Arc::new(Self { verdict, wait, asked: Mutex::default() })
    }
}

impl Approver for After {
    fn ask(&self, question: Question) -> Asked {
        self.asked.lock().unwrap().push(question);
        let approval = Approval {
            id: "q".into(),
            verdict: self.verdict.clone(),
            by: "a test".into(),
            at: Timestamp::UNIX_EPOCH,
            scope: ApprovalScope::Once,
            waited: self.wait.unwrap_or_default(),
        };
        match self.wait {
            None => Asked::Answered(approval),
            Some(within) => Asked::Waits(Waiting {
                id: "q".into(),
                within,
                answer: Box::pin(async move {
                    tokio::time::sleep(within).await;
                    approval
                }),
            }),
        }
    }
}

fn call(command: &str) -> BeforeTool {
    BeforeTool::new("Shell", lineside_core::json::json!({"command": command}))
}

#[tokio::test(start_paused = true)]
async fn an_event_waits_for_its_answer_beyond_the_time_of_its_hooks_and_other_events_do_not() {
    let bus = Bus::builder().event_budget(Duration::from_secs(5)).build();
    bus.intercept::<BeforeTool>("asks").gate(async |_, _| Verdict::ask("may it?")).unwrap();
    let session = bus.session("s").open().await.unwrap();
    let approver = After::new(Verdict::allow_because("yes"), Some(Duration::from_secs(300)));
    let mut signals = bus.signals();
    let began = tokio::time::Instant::now();
    let asked = session.event(call("x")).answered_by(Arc::<After>::clone(&approver));
    let (decision, other) = tokio::join!(asked.publish(), async {
        let other = session.publish(call("y")).await.unwrap();
        (other.verdict().strength(), began.elapsed())
    });
    assert_eq!(other, (Strength::Ask, Duration::ZERO), "without an approver it is the publisher who asks");
    assert_eq!(decision.unwrap().verdict(), &Verdict::allow_because("yes"));
    assert_eq!(began.elapsed(), Duration::from_secs(300));
    let mut receipt = None;
    let mut kinds = Vec::new();
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        match signal {
            Signal::ApprovalAsked { id, hook, reason, .. } => kinds.push(format!("{id} {hook} {reason}")),
            Signal::ApprovalAnswered { approval, .. } => kinds.push(approval.by.to_string()),
            Signal::Decided(decided) => receipt = Some(decided),
            _ => {}
        }
    }
    assert_eq!(kinds, ["q asks may it?", "a test"]);
    let receipt = receipt.unwrap();
    assert_eq!(receipt.approval.as_ref().unwrap().by.as_ref(), "a test");
    assert_eq!(receipt.author().unwrap().name.as_ref(), "asks");
    assert_eq!(receipt.took, Duration::from_secs(300));
    assert_eq!(receipt.to_json()["approval"]["waited_ms"], lineside_core::json::json!(300_000));
}

#[tokio::test]
async fn nothing_is_asked_where_no_question_stands() {
    let bus = Bus::new();
    bus.intercept::<BeforeTool>("asks").priority(5).gate(async |_, _| Verdict::ask("may it?")).unwrap();
    let gate = bus.intercept::<BeforeTool>("never").gate(async |_, _| Verdict::block("never")).unwrap();
    let session = bus.session("s").open().await.unwrap();
    let approver = After::new(Verdict::allow(), None);
    let publish = || session.event(call("x")).answered_by(Arc::<After>::clone(&approver)).publish();
    assert_eq!(publish().await.unwrap().verdict(), &Verdict::block("never"));
    assert!(approver.asked.lock().unwrap().is_empty());
    gate.remove();
    assert_eq!(publish().await.unwrap().verdict(), &Verdict::allow());
    assert_eq!(approver.asked.lock().unwrap().len(), 1);
}
