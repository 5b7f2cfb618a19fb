//! The client of the library against a real daemon.

use lineside::json::Value;
use lineside::prelude::*;

use crate::house::House;

const CONTEXT: &str = r#"
hooks:
  - name: reminder
    on: before_tool
    command: "cat >/dev/null; echo '{\"context\": \"mind the gap\"}'"
"#;

#[tokio::test]
async fn an_agent_publishes_over_the_socket_as_it_does_in_the_process() {
    let house = House::hooked(CONTEXT).await;
    let client = house.client();
    let session = client.session("s1").agent(Agent::main("main")).open().await.unwrap();
    let child = session.subagent("s2").agent(Agent::subagent("reviewer")).open().await.unwrap();
    assert_eq!(child.coverage(), session.coverage());
    let decision = child.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
    assert!(!decision.is_refused());
    assert_eq!((decision.payload().command().as_deref(), decision.seq()), (Some("ls"), Some(1)));
    let delivery = child.collect().before_next_model().await.unwrap();
    assert_eq!(delivery.messages()[0].text, "mind the gap");
    assert!(delivery.text().contains("mind the gap"));
    assert_eq!(delivery.accept().await.unwrap().len(), 1);
    assert!(child.collect().ready().await.unwrap().messages().is_empty());
    child.close().await.unwrap();
    assert!(child.publish(BeforeTool::new("Shell", json!({}))).await.is_err());
}

#[tokio::test]
async fn c02_context_that_is_not_accepted_goes_back_and_arrives_once() {
    let house =
        House::with(|settings| settings.limits(crate::house::small(|limits| limits.delivery = millis(1))))
            .await;
    std::fs::create_dir_all(house.folder.path().join("project/.lineside")).unwrap();
    std::fs::write(house.folder.path().join("project/.lineside/hooks.yaml"), CONTEXT).unwrap();
    house.post("/v1/reload", &json!({})).await;
    let session = house.client().session("s").open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
    assert_eq!(decision.json()["context"][0]["text"], json!("mind the gap"));
    let late = session.collect().ready().await.unwrap();
    assert_eq!(late.messages().len(), 1);
    // It is away, until it has gone back.
    let returned = loop {
        let again = session.collect().ready().await.unwrap();
        if !again.messages().is_empty() {
            break again;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(returned.messages(), late.messages());
    let error = late.accept().await.unwrap_err();
    assert!(error.to_string().contains("has gone back"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_18_numbers_are_gap_free_with_many_publishers_over_many_connections() {
    let house = House::new().await;
    let client = house.client();
    let session = client.session("s").open().await.unwrap();
    let publishers = (0..16).map(|_| {
        let session = session.clone();
        tokio::spawn(async move {
            let mut seqs = Vec::new();
            for _ in 0..50 {
                let decision =
                    session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
                seqs.push(decision.seq().unwrap());
            }
            seqs
        })
    });
    let mut seqs = Vec::new();
    for publisher in publishers.collect::<Vec<_>>() {
        seqs.extend(publisher.await.unwrap());
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=800).collect::<Vec<u64>>());
    let look: Value = client.get("/v1/sessions/s").await.unwrap();
    assert_eq!(look["last_seq"], json!(800));
}

#[tokio::test]
async fn an_observer_that_panics_hears_the_next_event_and_that_it_has_lost_one() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    let (told, mut all) = tokio::sync::mpsc::channel(8);
    let mut first = true;
    let observation = session.observe::<OnIdle>("log").run(move |seen| {
        assert!(!std::mem::take(&mut first), "the first one is too much");
        told.try_send(seen.lost()).unwrap();
        std::future::ready(())
    });
    let _observation = observation.await.unwrap();
    for _ in 0..2 {
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
    assert_eq!(crate::connection::soon(all.recv()).await, Some(1));
}
