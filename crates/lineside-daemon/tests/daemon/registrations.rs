//! Hooks of a client that are registered, removed and brought back: each of it happens or does not, whatever breaks.

use lineside::Client;
use lineside::client::{RequestError, Session};
use lineside::json::Value;
use lineside::prelude::*;

use crate::connection::soon;
use crate::house::House;
use crate::left_behind;
use crate::proxy::Proxy;

pub(crate) async fn house() -> (House, Proxy, Client) {
    let house = House::new().await;
    let proxy = Proxy::before(&house.socket(), house.folder.path().join("proxy.sock"));
    let client = Client::new(&proxy.path);
    (house, proxy, client)
}

/// The names of the hooks of a session; nothing while it is not open.
async fn hooks(house: &House, session: &str) -> Option<Vec<Value>> {
    let (status, hooks) = house.get(&format!("/v1/sessions/{session}/hooks")).await;
    (status == 200)
        .then(|| hooks["hooks"].as_array().unwrap().iter().map(|hook| hook["name"].clone()).collect())
}

pub(crate) async fn comes_to(house: &House, session: &str, expected: Option<&[&str]>) {
    let expected = expected.map(|names| names.iter().map(|name| json!(name)).collect());
    soon(async {
        while hooks(house, session).await != expected {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

pub(crate) async fn gate(
    session: &Session,
    name: &str,
) -> Result<lineside::client::Registration, RequestError> {
    session.intercept::<BeforeTool>(name).gate(async |_, _| Verdict::Continue).await
}

#[tokio::test]
async fn a_hook_whose_removal_has_failed_can_be_removed_again() {
    let (house, proxy, client) = house().await;
    let session = client.session("s").open().await.unwrap();
    let (first, _second) = (gate(&session, "first").await.unwrap(), gate(&session, "second").await.unwrap());
    proxy.leave();
    left_behind::comes_to(&house, "lineside_connections", 1).await;
    for _ in 0..2 {
        assert!(matches!(first.remove().await, Err(RequestError::NoDaemon { .. })));
    }
    comes_to(&house, "s", Some(&["first", "second"])).await;
    proxy.come_back();
    assert!(first.remove().await.unwrap());
    comes_to(&house, "s", Some(&["second"])).await;
    assert!(!first.remove().await.unwrap());
}

#[tokio::test]
async fn a_hook_whose_removal_has_failed_is_not_given_to_the_next_daemon() {
    let (house, proxy, client) = house().await;
    let session = client.session("s").open().await.unwrap();
    let (first, _second) = (gate(&session, "first").await.unwrap(), gate(&session, "second").await.unwrap());
    proxy.leave();
    assert!(first.remove().await.is_err());
    let house = house.again().await;
    proxy.come_back();
    comes_to(&house, "s", Some(&["second"])).await;
    assert!(!first.remove().await.unwrap());
}

#[tokio::test]
async fn a_registration_that_is_given_up_midway_leaves_no_hook_behind() {
    let (house, proxy, client) = house().await;
    let session = client.session("s").open().await.unwrap();
    let _first = gate(&session, "first").await.unwrap();
    proxy.hold(true);
    let given_up = tokio::select! {
        registered = gate(&session, "given up") => registered.is_ok(),
        () = comes_to(&house, "s", Some(&["first", "given up"])) => false,
    };
    assert!(!given_up, "its answer is held back");
    proxy.hold(false);
    comes_to(&house, "s", Some(&["first"])).await;
}

#[tokio::test]
async fn what_is_back_at_another_daemon_is_not_brought_again_and_what_was_closed_since_stays_closed() {
    let (house, proxy, client) = house().await;
    let (a, b) = (client.session("a").open().await.unwrap(), client.session("b").open().await.unwrap());
    let (_of_a, _of_b) = (gate(&a, "guard").await.unwrap(), gate(&b, "guard").await.unwrap());
    proxy.leave();
    let house = house.again().await;
    // Another program has the hook of the second session, which is refused for as long.
    let other = house.client();
    let held = other.session("b").open().await.unwrap();
    let owned = gate(&held, "guard").await.unwrap();
    proxy.come_back();
    comes_to(&house, "a", Some(&["guard"])).await;
    assert_eq!(house.send(hyper::Method::DELETE, "/v1/sessions/a", &Value::Null).await.0, 200);
    drop((owned, held, other));
    soon(async {
        while house.get("/v1/status").await.1["attached"] != json!(1) {
            tokio::task::yield_now().await;
        }
        // Its hook is asked again when it is back; the turn of the first one would come before it.
        while b.publish(BeforeTool::new("T", json!({}))).await.unwrap().is_refused() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(hooks(&house, "a").await, None, "it was closed");
}
