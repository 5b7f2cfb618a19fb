//! A machine that is cut off goes on, and comes back.

use lineside::json::Value;
use lineside::prelude::*;

use crate::machine::{Machine, comes_to, guard, reason};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

#[tokio::test]
async fn a_machine_that_is_cut_off_goes_on_with_the_hooks_it_had_and_has_the_others_when_it_is_back() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&proxy.url(), "b").await);
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    let own = b.client().session("own").open().await.unwrap();
    guard(&own, "no-dd", "dd").await;
    assert_eq!(reason(&child, "ls").await, None);

    proxy.cut();
    let status = b.until(|status| status["cluster"]["together"] == json!(false)).await;
    let finding = status["findings"].to_string();
    assert!(finding.contains("cluster `default` is not connected"), "{finding}");
    // Its own agents are decided as ever; what lives elsewhere has failed, at once.
    assert_eq!(reason(&own, "dd").await.as_deref(), Some("no dd"));
    assert_eq!(reason(&own, "ls").await, None);
    let began = tokio::time::Instant::now();
    let failed = reason(&child, "ls").await.unwrap();
    assert!(failed.contains("no-rm") && began.elapsed() < LONG / 2, "{failed}");
    // A is answered, and what B has not confirmed is in force there all the same.
    a.until(|status| {
        status["findings"].to_string().contains("machine `b` is away") || {
            let members = status["cluster"]["members"].as_array().unwrap().clone();
            members.iter().any(|member| member["machine"] == json!("b"))
        }
    })
    .await;
    guard(&parent, "no-mv", "mv").await;
    assert_eq!(reason(&parent, "mv").await.as_deref(), Some("no mv"));

    proxy.heal();
    b.until(|status| status["cluster"]["together"] == json!(true)).await;
    comes_to(&child, "mv", |reason| reason == Some("no mv")).await;
    assert_eq!(reason(&child, "ls").await, None);
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_keeps_no_daemon_from_deciding() {
    let mut nats = Nats::new().await;
    let a = Machine::new(&nats.url(), "a").await;
    nats.kill();
    a.until(|status| status["cluster"]["together"] == json!(false)).await;
    let session = a.client().session("s1").open().await.unwrap();
    guard(&session, "no-rm", "rm").await;
    assert_eq!(reason(&session, "rm").await.as_deref(), Some("no rm"));
    nats.start().await;
    let b = Machine::new(&nats.url(), "b").await;
    a.until(|status| status["cluster"]["together"] == json!(true)).await;
    let child = b.below(&session).session("s2").open().await.unwrap();
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"), "what was registered meanwhile holds");
}

#[tokio::test]
async fn the_end_of_a_machine_is_the_failure_of_its_hooks_and_the_end_of_its_grants() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    let grandchild = b.below(&child).session("s3").open().await.unwrap();
    assert_eq!(reason(&grandchild, "ls").await, None);
    a.end().await;
    let failed = reason(&grandchild, "ls").await.unwrap();
    assert!(failed.contains("no-rm"), "{failed}");
    let own = b.client().session("own").open().await.unwrap();
    assert_eq!(reason(&own, "ls").await, None);
    while child.publish(OnIdle::new()).await.is_ok() {}
}

#[tokio::test]
async fn a_registry_that_is_lost_is_written_again_and_ends_nothing() {
    let mut nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    nats.kill();
    for machine in [&a, &b] {
        machine.until(|status| status["cluster"]["together"] == json!(false)).await;
    }
    nats.lose_everything();
    nats.start().await;
    for machine in [&a, &b] {
        machine.until(|status| status["cluster"]["together"] == json!(true)).await;
    }
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
    assert_eq!(reason(&child, "ls").await, None);
    let c = Machine::new(&nats.url(), "c").await;
    let other = c.below(&parent).session("s3").open().await.unwrap();
    assert_eq!(reason(&other, "rm").await.as_deref(), Some("no rm"));
}

#[tokio::test]
async fn a_machine_that_dies_with_two_hundred_sessions_leaves_failed_hooks_and_nothing_else() {
    const SESSIONS: usize = 200;
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (a, b) = (Machine::new(&proxy.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let (above, mut children) = (a.client(), Vec::new());
    for number in 0..SESSIONS {
        let parent = above.session(format!("p{number}")).open().await.unwrap();
        guard(&parent, "no-rm", "rm").await;
        children.push(b.below(&parent).session(format!("c{number}")).open().await.unwrap());
    }
    let own = b.client().session("own").open().await.unwrap();
    assert_eq!(reason(&children[SESSIONS - 1], "ls").await, None);
    // Its end is not heard.
    proxy.cut();
    a.end().await;
    for child in &children {
        let failed = reason(child, "ls").await.unwrap();
        assert!(failed.contains("no-rm"), "{failed}");
    }
    assert_eq!(reason(&own, "rm").await, None);
    let of_all = format!("{SESSIONS} of its sessions");
    b.until(|status| {
        let findings = status["findings"].to_string();
        findings.contains("machine `a` is away") && findings.contains(&of_all)
    })
    .await;
    // It comes back without them.
    let _again = Machine::new(&nats.url(), "a").await;
    let nothing = |status: &Value| {
        let cluster = &status["cluster"];
        cluster["stand_ins"] == json!(0) && cluster["mirrored"] == json!(0)
    };
    b.until(nothing).await;
    assert_eq!(reason(&own, "rm").await, None);
}
