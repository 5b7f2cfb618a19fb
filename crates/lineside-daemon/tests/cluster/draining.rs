//! A machine that leaves while it runs.

use lineside::json::Map;
use lineside::prelude::*;

use crate::machine::{Machine, guard, reason};
use crate::nats::Nats;

fn within(millis: u64) -> Map {
    Map::from_iter([("within_ms".to_owned(), json!(millis))])
}

#[tokio::test]
async fn a_machine_that_drains_takes_nothing_new_waits_for_what_is_there_and_leaves() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    let client = b.client();
    let drained =
        tokio::spawn(async move { client.post::<Map>("/v1/cluster/drain", &within(20_000)).await.unwrap() });
    b.until(|status| status["cluster"]["draining"] == json!(true)).await;
    // What is there has its hooks; nothing comes to it, neither of A here nor of B elsewhere.
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
    let other = a.client().session("s3").open().await.unwrap();
    let refused = b.below(&other).session("s4").open().await.unwrap_err();
    assert!(refused.to_string().contains("leaves its cluster"), "{refused}");
    let own = b.client().session("own").open().await.unwrap();
    assert!(
        a.below(&own).session("s5").open().await.is_err(),
        "a machine that leaves has nothing new below it"
    );
    assert_eq!(b.status().await["cluster"]["together"], json!(true));
    assert!(!drained.is_finished());
    child.close().await.unwrap();
    let left = drained.await.unwrap();
    assert_eq!(json!(left), json!({"here": 0, "elsewhere": 0, "keys": 0, "jobs": 0, "windows": 0}));
    let status = b.status().await;
    assert_eq!(status["cluster"]["together"], json!(false));
    assert!(status["findings"].to_string().contains("this machine has left"), "{}", status["findings"]);
    a.until(|status| status["cluster"]["members"][1]["there"] == json!(false)).await;
    // Its own agents go on.
    assert_eq!(reason(&own, "rm").await, None);
}

#[tokio::test]
async fn a_machine_waits_for_what_is_under_way_no_longer_than_it_is_to() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    let below = b.below(&child).session("s3").open().await.unwrap();
    assert_eq!(reason(&below, "rm").await.as_deref(), Some("no rm"));
    let left: Map = a.client().post("/v1/cluster/drain", &within(200)).await.unwrap();
    assert_eq!(json!(left), json!({"here": 0, "elsewhere": 1, "keys": 0, "jobs": 0, "windows": 0}));
    let failed = reason(&below, "ls").await.unwrap();
    assert!(failed.contains("no-rm"), "{failed}");
}
