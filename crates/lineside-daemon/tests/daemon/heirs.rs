//! Hooks of programs whose session is over, and that sessions below are under still.

use lineside::prelude::*;
use tokio::sync::oneshot;

use crate::attach::{guard, reason};
use crate::house::House;
use crate::registrations::{comes_to, gate, house};

#[tokio::test]
async fn what_a_session_has_inherited_is_asked_still_when_an_event_has_ended_the_one_above() {
    let house = House::new().await;
    let owner = house.client().session("s1").open().await.unwrap();
    guard(&owner, "first").await;
    let child = owner.subagent("s2").open().await.unwrap();
    drop(owner.publish(AfterSession::new("done")).await.unwrap());
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("first refuses"));
    assert_eq!(reason(&child, "ls").await, None);
}

#[tokio::test]
async fn what_a_hook_holds_is_let_go_of_when_the_last_session_that_has_inherited_it_is_over() {
    let house = House::new().await;
    let owner = house.client().session("s1").open().await.unwrap();
    let (held, let_go) = oneshot::channel::<()>();
    let gate = owner.intercept::<BeforeTool>("holds").gate(move |_call, _cx| {
        let is_held = !held.is_closed();
        std::future::ready(if is_held { Verdict::block("it is held") } else { Verdict::Continue })
    });
    drop(gate.await.unwrap());
    let child = owner.subagent("s2").open().await.unwrap();
    owner.close().await.unwrap();
    assert_eq!(reason(&child, "ls").await.as_deref(), Some("it is held"));
    child.close().await.unwrap();
    let_go.await.unwrap_err();
}

#[tokio::test]
async fn what_was_inherited_is_inherited_from_the_next_daemon_on_and_what_was_closed_is_closed_again() {
    let (mut house, proxy, client) = house().await;
    let run = client.session("run").open().await.unwrap();
    let _outer = gate(&run, "outer").await.unwrap();
    let owner = run.subagent("s1").open().await.unwrap();
    guard(&owner, "first").await;
    let between = owner.subagent("s2").open().await.unwrap();
    let child = between.subagent("s3").open().await.unwrap();
    let _own = gate(&child, "own").await.unwrap();
    owner.close().await.unwrap();
    drop(between.publish(AfterSession::new("done")).await.unwrap());
    // What is opened under the id of one that was closed is another session.
    let later = client.session("s1").open().await.unwrap();
    guard(&later, "later").await;
    let coverage = async |house: &House| house.get("/v1/sessions/s3/hooks").await.1["coverage"].clone();
    let before = coverage(&house).await;
    // It is killed, as far as its client sees, and then ended.
    for is_killed in [true, true, false] {
        if is_killed {
            proxy.leave();
        }
        house = house.again().await;
        if is_killed {
            proxy.come_back();
        }
        comes_to(&house, "s2", None).await;
        comes_to(&house, "s1", Some(&["no-rm"])).await;
        comes_to(&house, "s3", Some(&["no-rm", "outer", "own"])).await;
        assert_eq!(coverage(&house).await, before);
        assert_eq!(house.get("/v1/sessions").await.1["sessions"].as_array().unwrap().len(), 3);
        for (session, who) in [(&child, "first"), (&later, "later")] {
            assert_eq!(reason(session, "rm").await, Some(format!("{who} refuses")));
            assert_eq!(reason(session, "ls").await, None);
        }
    }
    child.close().await.unwrap();
    house = house.again().await;
    comes_to(&house, "s1", Some(&["no-rm"])).await;
    assert_eq!(house.get("/v1/sessions").await.1["sessions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_session_that_is_closed_before_one_below_it_is_back_leaves_that_its_hooks() {
    let (house, proxy, client) = house().await;
    let owner = client.session("s1").open().await.unwrap();
    guard(&owner, "first").await;
    let child = owner.subagent("s2").open().await.unwrap();
    let _own = gate(&child, "own").await.unwrap();
    proxy.leave();
    let house = house.again().await;
    // Another program has a session of that id, and for as long this one has none.
    let other = house.client().session("s2").open().await.unwrap();
    proxy.come_back();
    comes_to(&house, "s1", Some(&["no-rm"])).await;
    owner.close().await.unwrap();
    other.close().await.unwrap();
    comes_to(&house, "s2", Some(&["no-rm", "own"])).await;
    comes_to(&house, "s1", None).await;
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("first refuses"));
}

#[tokio::test]
async fn a_session_of_another_program_under_the_id_of_one_that_was_closed_is_left_alone() {
    let (house, proxy, client) = house().await;
    let owner = client.session("s1").open().await.unwrap();
    guard(&owner, "first").await;
    let child = owner.subagent("s2").open().await.unwrap();
    let _own = gate(&child, "own").await.unwrap();
    let last = client.session("s3").open().await.unwrap();
    let _last = gate(&last, "last").await.unwrap();
    owner.close().await.unwrap();
    proxy.leave();
    let house = house.again().await;
    let other = house.client().session("s1").open().await.unwrap();
    proxy.come_back();
    // What has hooks later is back later.
    comes_to(&house, "s3", Some(&["last"])).await;
    assert_eq!(house.get("/v1/sessions/s2").await.0, 404);
    assert_eq!(reason(&other, "rm").await, None);
    other.close().await.unwrap();
    comes_to(&house, "s2", Some(&["no-rm", "own"])).await;
    comes_to(&house, "s1", None).await;
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("first refuses"));
}
