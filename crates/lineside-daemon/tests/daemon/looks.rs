//! What is in force, as it is listed: the hooks of files, and those of programs in the session that they are on.

use lineside::json::{Value, json};
use lineside::prelude::*;

use crate::house::House;

const GUARD: &str = "hooks:\n  - {name: guard, on: before_tool, priority: 900, command: 'true'}\n";

fn names(value: &Value) -> Vec<&str> {
    value["hooks"].as_array().unwrap().iter().map(|hook| hook["hook"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn hooks_of_programs_are_explained_in_the_session_that_they_are_on() {
    let house = House::hooked(GUARD).await;
    let client = house.client();
    let session = client.session("s").open().await.unwrap();
    let gate = session.intercept::<BeforeTool>("closure").gate(async |_, _| Verdict::Continue);
    let _gate = gate.await.unwrap();
    let (status, listing) = house.get("/v1/hooks").await;
    assert_eq!((status, names(&listing)), (200, vec!["guard"]), "{listing}");
    let event = |session: &str| json!({"point": "before_tool", "session": session, "payload": {"tool_name": "T", "tool_input": {}}});
    let (status, explained) = house.post("/v1/explain", &event("s")).await;
    assert_eq!((status, names(&explained)), (200, vec!["guard", "closure"]), "{explained}");
    assert_eq!(
        (&explained["hooks"][1]["runs"], &explained["hooks"][1]["state"]),
        (&json!(true), &json!("ready"))
    );
    let (_, explained) = house.post("/v1/explain", &event("other")).await;
    assert_eq!(names(&explained), ["guard"]);
    let (_, open) = house.get("/v1/sessions").await;
    assert_eq!(open["sessions"].as_array().unwrap().len(), 1, "what was opened to look is closed: {open}");
    let (_, session) = house.get("/v1/sessions/s").await;
    assert_eq!(session["last_seq"], 0, "nothing was published");
    let (status, problem) = house.post("/v1/explain", &json!({"point": "before_tool"})).await;
    assert_eq!((status, problem["verdict"].is_null()), (400, true), "{problem}");
}
