//! What is claimed of background work, how long is waited for its records, and how that stands in a decision.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use lineside::Bus;
use lineside::automation::Automations;
use lineside::automation::machine::Bounds;
use lineside::claims::{self, Claim, Claims};
use lineside::core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};
use lineside::core::{AcknowledgedAs, Append};
use lineside::json::Value;
use lineside::points::BeforeToolAmendment;
use lineside::prelude::*;
use lineside::wire;

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

/// The text of a decision with these claims is that of the values which it does without.
fn check(decision: &Decision<BeforeTool>, claimed: &[Claim]) -> Value {
    let receipt = decision.receipt().unwrap();
    let mut decided = Value::Null;
    for whole in [true, false] {
        let mut map = wire::decision(receipt, whole);
        claims::put(claimed, &mut map);
        decided = Value::Object(map);
        assert_eq!(wire::decision_text(receipt, claimed, whole), decided.to_string());
    }
    decided
}

#[tokio::test]
async fn the_text_of_a_decision_is_that_of_its_values() {
    let bus = Bus::new();
    let automations = Automations::of(&bus).unwrap();
    let session = bus.session("s").open().await.unwrap();
    let publish = async |command: &str| {
        let call = BeforeTool::new("Shell", json!({"command": command, "b": 1.10}));
        session
            .event(call)
            .expect_coverage("another")
            .extra(json!({"x": [1]}).as_object().unwrap().clone())
            .publish()
            .await
    };
    let quiet = publish("ls").await.unwrap();
    assert!(check(&quiet, &[]).get("coverage_mismatch").is_some());
    bus.automate::<BeforeTool>("work").run(async |_, _| Ok(Report::success("ok"))).unwrap();
    let amends = session.intercept::<BeforeTool>("amends").priority(1);
    let amended = amends.amend(async |event, _| {
        let amendment = BeforeToolAmendment::default()
            .tool_input(json!({"command": event.command().unwrap().into_owned() + " -l"}));
        Reply::amend(amendment).append(Append::system("be \"careful\"")).notify(Notice::warning("amended"))
    });
    amended.unwrap();
    let judges = session.intercept::<BeforeTool>("judges").on_failure(OnFailure::Continue);
    let judged = judges.try_gate(async |event, _| match event.command().as_deref() {
        Some("rm -l") => Ok(Verdict::block("no \n such")),
        _ => Err("broken"),
    });
    judged.unwrap();
    for (command, fields) in [("rm", ["reason", "by", "changed"]), ("ls", ["failed", "accepted", "changed"])]
    {
        let decision = publish(command).await.unwrap();
        let receipt = decision.receipt().unwrap();
        let claims = Claims::new(Some(automations.clone()), &lineside::LoadReport::default());
        let claimed = claims.of(receipt, Duration::from_secs(5)).await;
        let decided = check(&decision, &claimed);
        for field in fields {
            assert!(decided.get(field).is_some(), "{field} {decided}");
        }
        assert_eq!(
            (decided["context"][0]["text"].as_str(), decided["notices"][0]["text"].as_str()),
            (Some("be \"careful\""), Some("amended"))
        );
    }
}
