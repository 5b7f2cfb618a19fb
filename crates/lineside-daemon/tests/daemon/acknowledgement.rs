//! What an answer acknowledges: background work is on record when it is given, and named.

use lineside::core::AcknowledgedAs;
use lineside::core::journal::Durability;
use lineside::json::{Value, json};
use lineside::prelude::*;

use crate::house::House;

const WORK: &str = r#"
hooks:
  - name: work
    on: on_idle
    command: "true"
    automate: {debounce: {quiet: 3600000, at_most: 7200000}}
  - name: gate
    on: before_tool
    command: "true"
"#;

fn idle(session: &str) -> Value {
    json!({"point": "on_idle", "session": session})
}

#[tokio::test]
async fn an_answer_names_the_jobs_that_are_on_record_and_what_they_survive() {
    let house = House::hooked(WORK).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (status, decision) = house.post("/v1/events?receipt=true", &idle("s")).await;
    let kept = json!([{"hook": "work", "as": "held", "job": 1, "durability": "disk"}]);
    assert_eq!((status, &decision["accepted"]), (200, &kept), "{decision}");
    assert_eq!(decision["hooks"][0]["durability"], "disk", "{decision}");
    let (status, job) = house.get("/v1/jobs/1").await;
    assert_eq!((status, &job["events"][0]), (200, &decision["id"]));
    let (_, batch) = house.post("/v1/events/batch", &json!({"events": [idle("s")]})).await;
    assert_eq!(batch["decisions"][0]["accepted"], kept, "a further event of the same job");
    let call =
        json!({"point": "before_tool", "session": "s", "payload": {"tool_name": "T", "tool_input": {}}});
    let (_, decision) = house.post("/v1/events", &call).await;
    assert_eq!(decision["accepted"], Value::Null, "{decision}");
}

#[tokio::test]
async fn who_does_not_wait_for_records_is_promised_nothing() {
    let house = House::hooked(WORK).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (_, decision) = house.post("/v1/events?unkept=true", &idle("s")).await;
    let unkept = json!([{"hook": "work", "as": "held", "job": 1, "durability": "memory"}]);
    assert_eq!(decision["accepted"], unkept, "{decision}");
}

#[tokio::test]
async fn a_client_has_the_acknowledgement_with_its_decision() {
    let house = House::hooked(WORK).await;
    let session = house.client().session("s").open().await.unwrap();
    let decision = session.publish(OnIdle::new()).await.unwrap();
    let [accepted] = &decision.acknowledgements()[..] else { panic!("{:?}", decision.json()) };
    assert_eq!((&*accepted.hook, accepted.verb, accepted.job), ("work", AcknowledgedAs::Held, Some(1)));
    assert_eq!(accepted.durability, Some(Durability::Disk));
}
