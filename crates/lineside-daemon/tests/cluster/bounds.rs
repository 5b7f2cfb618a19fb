//! What does not fit stands closed on other machines, and what has failed to open there leaves nothing behind.

use lineside::client::Session;
use lineside::core::propagation::GRANT;
use lineside::json::{Value, json};

use crate::machine::{Machine, guard, reason};
use crate::nats::Nats;

async fn two() -> (Nats, Machine, Machine) {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    (nats, a, b)
}

/// Has more hooks on a session than fit into what other machines receive.
async fn crowd(session: &Session) -> Vec<lineside::client::Registration> {
    let mut all = Vec::new();
    for number in 0..16 {
        all.push(guard(session, &format!("{number} {}", "n".repeat(60_000)), "nothing").await);
    }
    all
}

#[tokio::test]
async fn what_is_below_a_session_with_more_hooks_than_are_told_stands_closed_until_they_are() {
    let (_nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
    let many = crowd(&parent).await;
    let why = reason(&child, "rm").await.expect("the guards of its parent are not gone");
    assert!(why == "no rm" || why.contains("session `s1`"), "{why}");
    let why = reason(&child, "ls").await.expect("a guard that is not known may have refused it");
    assert!(why.contains("session `s1` of machine `a`"), "{why}");
    assert_eq!(reason(&parent, "ls").await, None, "its own machine has all of them");
    b.below(&parent).session("s3").open().await.unwrap_err();
    for registration in many {
        registration.remove().await.unwrap();
    }
    assert_eq!(reason(&child, "ls").await, None);
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
}

#[tokio::test]
async fn below_a_session_with_a_hook_that_cannot_be_registered_here_every_gate_stands_closed() {
    let (nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    assert_eq!(reason(&child, "ls").await, None);
    // As a daemon of another version may declare it.
    let name = parent.environment().get(GRANT).unwrap()[4..20].to_owned();
    let told = async |version: u64, hooks: Value| {
        let agent = json!({"id": "main", "kind": "main"});
        let entry = json!({"v": version, "id": "s1", "agent": agent, "verifier": "", "hooks": hooks});
        let word = json!({"type": "apply", "session": name, "entry": entry}).to_string() + "\n";
        let client = async_nats::connect(nats.url()).await.unwrap();
        let answer = client.request("lineside.default.to.b", word.into()).await.unwrap();
        String::from_utf8(answer.payload.to_vec()).unwrap()
    };
    let hook =
        json!({"number": 99, "reach": "subtree", "text": "{\"name\": \"new\", \"on\": \"no_such_point\"}"});
    let answer = told(1_000, json!([hook])).await;
    assert!(answer.contains("refused") && answer.contains("cannot be registered here"), "{answer}");
    let why = reason(&child, "ls").await.expect("the hook may have refused it");
    assert!(why.contains("session `s1`"), "{why}");
    assert!(b.below(&child).session("s3").open().await.is_ok(), "what is below is under the same");
    let answer = told(1_001, json!([])).await;
    assert!(answer.contains("applied"), "{answer}");
    assert_eq!(reason(&child, "ls").await, None);
}

#[tokio::test]
async fn a_grant_that_is_not_waited_for_any_more_leaves_nothing_behind() {
    let (_nats, a, _b) = two().await;
    let grant = format!("lsg_{}", "5a".repeat(32));
    let client = a.client().granted(grant);
    let asks = tokio::spawn(async move { client.session("s1").open().await });
    let followed = |status: &Value| status["cluster"]["followed"] == json!(1);
    a.until(followed).await;
    asks.abort();
    a.until(|status| status["cluster"]["followed"] == json!(0)).await;
}

#[tokio::test]
async fn nor_is_anything_let_through_further_down() {
    let (_nats, a, b) = two().await;
    let top = a.client().session("s1").open().await.unwrap();
    guard(&top, "no-rm", "rm").await;
    let _many = crowd(&top).await;
    let parent = a.below(&top).session("s2").open().await.unwrap();
    let child = b.below(&parent).session("s3").open().await.unwrap();
    assert!(reason(&child, "rm").await.is_some());
}

#[tokio::test]
async fn what_could_not_be_opened_elsewhere_holds_no_session_of_this_machine() {
    let (_nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    b.client().session("s1").open().await.unwrap();
    b.below(&parent).session("s2").open().await.unwrap_err();
    let found = async {
        loop {
            let all: Value = a.client().get("/v1/sessions").await.unwrap();
            if all["sessions"].as_array().unwrap().len() == 1 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::nats::LONG, found).await.expect("only its own is open");
}

#[tokio::test]
async fn nothing_is_opened_below_a_session_whose_machine_has_no_room_to_hold_its_hooks_for_that() {
    let nats = Nats::new().await;
    // A tree has an eighth of them.
    let (a, b) = (Machine::with_sessions(&nats.url(), "a", 8).await, Machine::new(&nats.url(), "b").await);
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    if let Ok(child) = b.below(&parent).session("s2").open().await {
        parent.close().await.unwrap();
        let why = reason(&child, "rm").await;
        panic!("its parent has ended, and its hooks with it: {why:?}");
    }
}
