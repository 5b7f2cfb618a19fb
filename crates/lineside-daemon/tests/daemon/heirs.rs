//! Hooks of programs whose session is over, and that sessions below are under still.

use lineside::prelude::*;
use tokio::sync::oneshot;

use crate::attach::{guard, reason};
use crate::house::House;

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
