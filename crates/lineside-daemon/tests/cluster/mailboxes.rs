//! Messages for the context of a session are taken on any machine, and delivered once.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lineside::Client;
use lineside::client::{RequestError, Session};
use lineside::json::{Map, Value};
use lineside::prelude::*;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::machine::{Machine, reason};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

pub(crate) const REMINDS: &str = "#!/bin/sh\ncat >/dev/null; echo '{\"context\": \"mind the gap\"}'\n";

/// A session on a machine with a message in its mailbox.
async fn reminded(machine: &Machine) -> Session {
    let root = machine.project("repo", REMINDS);
    machine.trust(&root);
    let session = machine.client().session("s1").cwd(root.to_string_lossy()).open().await.unwrap();
    assert_eq!(reason(&session, "ls").await, None);
    session
}

pub(crate) async fn collected(client: &Client) -> Result<Map, RequestError> {
    client.post("/v1/sessions/s1/context/collect", &Map::new()).await
}

pub(crate) async fn accepted(client: &Client, delivery: &Map) -> Result<Map, RequestError> {
    let name = delivery["delivery"].as_str().unwrap();
    client.post(&format!("/v1/sessions/s1/context/{name}/accept"), &Map::new()).await
}

fn count(delivery: &Map) -> usize {
    delivery["messages"].as_array().unwrap().len()
}

fn status(error: &RequestError) -> u16 {
    let RequestError::Refused { status, .. } = error else { panic!("{error}") };
    *status
}

#[tokio::test]
async fn what_is_collected_elsewhere_is_out_on_the_machine_of_the_session_and_accepted_once() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let parent = reminded(&a).await;
    let child = b.below(&parent).session("s2").cwd("/").open().await.unwrap();
    let delivery = collected(&b.client()).await.unwrap();
    assert_eq!(count(&delivery), 1);
    assert!(delivery["text"].as_str().unwrap().contains("mind the gap"), "{delivery:?}");
    assert_eq!(count(&collected(&a.client()).await.unwrap()), 0, "it is out");
    let kept = accepted(&b.client(), &delivery).await.unwrap();
    assert_eq!(kept["messages"], json!(1));
    assert_eq!(status(&accepted(&b.client(), &delivery).await.unwrap_err()), 404);
    assert_eq!(status(&accepted(&a.client(), &delivery).await.unwrap_err()), 404);
    assert_eq!(count(&collected(&b.client()).await.unwrap()), 0);
    // What is below has no part in it.
    assert_eq!(status(&collected(&b.below(&child)).await.unwrap_err()), 403);
    assert_eq!(status(&collected(&b.below(&parent)).await.unwrap_err()), 403);
}

#[tokio::test]
async fn what_a_machine_has_collected_before_it_was_cut_off_goes_back() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let a = Machine::with_deliveries(&nats.url(), "a", millis(1)).await;
    let b = Machine::new(&proxy.url(), "b").await;
    let parent = reminded(&a).await;
    let _child = b.below(&parent).session("s2").cwd("/").open().await.unwrap();
    let delivery = collected(&b.client()).await.unwrap();
    assert_eq!(count(&delivery), 1);
    proxy.cut();
    b.until(|status| status["cluster"]["together"] == json!(false)).await;
    assert_eq!(status(&accepted(&b.client(), &delivery).await.unwrap_err()), 503);
    let back = async {
        loop {
            let again = collected(&a.client()).await.unwrap();
            if count(&again) == 1 {
                return again;
            }
            yield_now().await;
        }
    };
    let again = timeout(LONG, back).await.expect("it is back in time");
    let id = |delivery: &Map| -> Value { delivery["messages"][0]["id"].clone() };
    assert_eq!(id(&again), id(&delivery));
    // And it is late where it was before.
    proxy.heal();
    b.until(|status| status["cluster"]["together"] == json!(true)).await;
    assert_eq!(status(&accepted(&b.client(), &delivery).await.unwrap_err()), 404);
}

#[tokio::test]
async fn one_question_too_many_that_takes_messages_is_refused_and_the_others_are_answered() {
    const MOST: usize = 256;
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    // A run that ends when something is written to it.
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let root = a.project("repo", &format!("#!/bin/sh\ncat {} >/dev/null\n", go.display()));
    let hook =
        "{name: slow, on: before_tool, automate: {join: before_next_model}, command: [./.lineside/guard.sh]}";
    std::fs::write(root.join(".lineside/hooks.yaml"), format!("hooks: [{hook}]\n")).unwrap();
    a.trust(&root);
    let session = a.client().session("s1").cwd(root.to_string_lossy()).open().await.unwrap();
    let _child = b.below(&session).session("s2").cwd("/").open().await.unwrap();
    assert_eq!(reason(&session, "ls").await, None);
    let client = b.client();
    let asked: Map = [("before_next_model".to_owned(), json!(true))].into_iter().collect();
    let ask = || client.post::<Map>("/v1/sessions/s1/context/collect", &asked);
    let mut all: FuturesUnordered<_> = (0..=MOST).map(|_| ask()).collect();
    let first = timeout(LONG, all.next()).await.expect("one is answered while the run goes on").unwrap();
    assert_eq!(status(&first.unwrap_err()), 429);
    std::fs::write(&go, "").unwrap();
    let rest: Vec<_> = timeout(LONG, all.collect()).await.unwrap();
    assert_eq!((rest.len(), rest.iter().filter(|one| one.is_err()).count()), (MOST, 0));
}
