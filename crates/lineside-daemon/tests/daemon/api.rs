//! Requests and their answers, right ones and wrong ones.

use hyper::Method;
use lineside::json::{Value, json};

use crate::house::{House, json_request, read, small};

const GUARD: &str = r#"
hooks:
  - name: no-deletions
    on: before_tool
    command: grep -q 'rm -rf' && echo '{"verdict":"block","reason":"refuses to delete"}' || true
"#;

fn shell(session: &str, command: &str) -> Value {
    json!({"point": "before_tool", "session": session,
        "payload": {"tool_name": "Shell", "tool_input": {"command": command}}})
}

#[tokio::test]
async fn a_session_lives_from_its_opening_to_its_close() {
    let house = House::new().await;
    let (status, opened) = house.post("/v1/sessions", &json!({"id": "s/1", "cwd": "/p"})).await;
    assert_eq!((status, &opened["id"], &opened["depth"]), (201, &json!("s/1"), &json!(0)));
    let (status, again) = house.post("/v1/sessions", &json!({"id": "s/1"})).await;
    assert_eq!((status, &again["type"]), (409, &json!("urn:lineside:problem:session-open")));
    let (status, child) = house.post("/v1/sessions", &json!({"id": "c", "parent": "s/1"})).await;
    assert_eq!((status, &child["root"], &child["parent"]), (201, &json!("s/1"), &json!("s/1")));
    assert_eq!(child["coverage"], opened["coverage"]);
    let (_, tree) = house.get("/v1/sessions/s%2F1/tree").await;
    let ids: Vec<_> = tree["sessions"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!("s/1"), &json!("c")]);
    let (status, closed) = house.send(Method::DELETE, "/v1/sessions/c?within_ms=1000", &json!({})).await;
    assert_eq!((status, closed), (200, json!({"id": "c", "last_seq": 0, "inherited": false})));
    let (status, gone) = house.get("/v1/sessions/c").await;
    assert_eq!((status, &gone["type"]), (404, &json!("urn:lineside:problem:no-such-session")));
    // An event of it says more: a session that this daemon does not know may be one of an earlier daemon.
    let (status, closed) = house.post("/v1/events", &shell("c", "ls")).await;
    assert_eq!((status, &closed["verdict"]), (409, &json!("block")));
    assert_eq!(closed["type"], json!("urn:lineside:problem:session-closed"));
    assert!(house.server.end().await.drained.is_clean());
}

#[tokio::test]
async fn an_event_comes_to_its_decision() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (status, decision) = house.post("/v1/events", &shell("s", "ls")).await;
    assert_eq!(status, 200);
    for (field, expected) in
        [("verdict", json!("continue")), ("seq", json!(1)), ("point", json!("before_tool"))]
    {
        assert_eq!(decision[field], expected, "{field}");
    }
    assert_eq!(decision["payload"], json!({"tool_name": "Shell", "tool_input": {"command": "ls"}}));
    let event = decision["id"].as_str().unwrap();
    let (status, receipt) = house.get(&format!("/v1/receipts/{event}")).await;
    assert_eq!((status, &receipt["payload_sha256"]), (200, &decision["payload_sha256"]));
    let (_, receipts) = house.get("/v1/receipts?session=s").await;
    assert_eq!(receipts["receipts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn numbers_keep_their_digits_and_objects_their_order() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let body = br#"{"point":"before_tool","session":"s","payload":{"tool_name":"T","tool_input":{"z":1e400,"a":12345678901234567890123456789,"m":-0.10}}}"#;
    let response = house.request(json_request(Method::POST, "/v1/events", body.to_vec())).await;
    let bytes = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(
        text.contains(r#"{"z":1e+400,"a":12345678901234567890123456789,"m":-0.10}"#)
            || text.contains(r#"{"z":1e400,"a":12345678901234567890123456789,"m":-0.10}"#),
        "{text}"
    );
}

#[tokio::test]
async fn a_session_may_be_opened_by_its_first_event_and_stays_closed_after_its_last() {
    let house = House::new().await;
    let (status, problem) = house.post("/v1/events", &shell("s", "ls")).await;
    assert_eq!((status, &problem["verdict"]), (404, &json!("block")));
    let mut event = shell("child", "ls");
    event["parent_session"] = json!("parent");
    let (status, _) = house.post("/v1/events?open=true", &event).await;
    assert_eq!(status, 200);
    let (_, child) = house.get("/v1/sessions/child").await;
    assert_eq!(child["parent"], json!("parent"));
    let last = json!({"point": "after_session", "session": "child", "payload": {"reason": "done"}});
    assert_eq!(house.post("/v1/events?open=true", &last).await.0, 200);
    let (status, problem) = house.post("/v1/events?open=true", &event).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:lineside:problem:session-closed")));
    assert_eq!(house.post("/v1/sessions", &json!({"id": "child"})).await.0, 201);
    let own_parent = json!({"point": "on_idle", "session": "x", "parent_session": "x"});
    assert_eq!(house.post("/v1/events?open=true", &own_parent).await.0, 400);
}

#[tokio::test]
async fn many_events_come_to_their_decisions_in_their_order() {
    let house = House::new().await;
    for id in ["a", "b"] {
        house.post("/v1/sessions", &json!({"id": id})).await;
    }
    let events: Vec<Value> =
        (0..100).map(|n| shell(if n % 2 == 0 { "a" } else { "b" }, &n.to_string())).collect();
    let (status, answer) = house.post("/v1/events/batch", &json!({"events": events})).await;
    assert_eq!(status, 200);
    for (n, decision) in answer["decisions"].as_array().unwrap().iter().enumerate() {
        assert_eq!(decision["payload"]["tool_input"]["command"], json!(n.to_string()));
        assert_eq!(decision["seq"], json!(n / 2 + 1));
    }
    let wrong = json!({"events": [shell("a", "ok"), {"point": "nothing", "session": "a"}]});
    let (_, answer) = house.post("/v1/events/batch", &wrong).await;
    assert_eq!(answer["decisions"][0]["seq"], json!(51));
    assert_eq!(answer["decisions"][1]["verdict"], json!("block"));
    let too_many = json!({"events": vec![json!({}); 10_001]});
    assert_eq!(house.post("/v1/events/batch", &too_many).await.0, 400);
}

#[tokio::test]
async fn a_hook_of_a_file_decides_and_is_listed_with_its_origin() {
    let house = House::hooked(GUARD).await;
    let (_, status) = house.get("/v1/status").await;
    assert_eq!((&status["hooks"], &status["generation"]), (&json!(1), &json!(1)), "{status}");
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (_, decision) = house.post("/v1/events?receipt=true", &shell("s", "rm -rf /")).await;
    assert_eq!(
        (&decision["verdict"], &decision["by"]),
        (&json!("block"), &json!("no-deletions")),
        "{decision}"
    );
    assert_eq!(decision["hooks"][0]["said"], json!("block"));
    let (_, hooks) = house.get("/v1/sessions/s/hooks").await;
    let origin = hooks["hooks"][0]["origin"].as_str().unwrap();
    assert!(origin.ends_with(".lineside/hooks.yaml:3"), "{origin}");
}

#[tokio::test]
async fn a_reload_takes_the_place_of_what_was_there() {
    let house = House::hooked(GUARD).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let file = house.folder.path().join("project/.lineside/hooks.yaml");
    std::fs::write(&file, GUARD.replace("rm -rf", "mkfs")).unwrap();
    let (status, reloaded) = house.post("/v1/reload", &json!({})).await;
    // The change may have been noticed before.
    assert!(reloaded["generation"].as_u64().unwrap() >= 2, "{reloaded}");
    assert_eq!((status, &reloaded["hooks"]), (200, &json!(1)));
    assert_eq!(house.post("/v1/events", &shell("s", "rm -rf /")).await.1["verdict"], json!("continue"));
    assert_eq!(house.post("/v1/events", &shell("s", "mkfs /dev/x")).await.1["verdict"], json!("block"));
}

#[tokio::test]
async fn while_hooks_are_off_no_hook_sees_an_event() {
    let house = House::hooked(GUARD).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let switch = lineside_daemon::switch::Switch::of(&house.folder.path().join("state"));
    assert!(switch.off("a test").unwrap());
    let (status, decision) = house.post("/v1/events", &shell("s", "rm -rf /")).await;
    assert_eq!((status, &decision["verdict"], &decision["off"]), (200, &json!("continue"), &json!(true)));
    assert_eq!(house.get("/v1/status").await.1["off"], json!(true));
    assert!(switch.on().unwrap());
    assert_eq!(house.post("/v1/events", &shell("s", "rm -rf /")).await.1["verdict"], json!("block"));
}

#[tokio::test]
async fn what_is_not_the_documented_request_is_a_problem_that_says_what_would_be_right() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let wrong: [(&str, &[u8], u16, &str); 12] = [
        ("/v1/events", b"{", 400, "not JSON"),
        ("/v1/events", b"[]", 400, "a JSON object"),
        ("/v1/events", b"{\"point\":\"on_idle\",\"point\":\"on_error\"}", 400, "duplicate key"),
        ("/v1/events", b"\xff{}", 400, "not JSON"),
        ("/v1/events", b"{}", 400, "`point` is absent"),
        ("/v1/events", br#"{"point":"on_idle"}"#, 400, "`session` is absent"),
        ("/v1/events", br#"{"point":"befor_tool","session":"s"}"#, 400, "`before_tool`"),
        ("/v1/events", br#"{"point":"before_tool","session":"s"}"#, 400, "needs the field"),
        ("/v1/events?opne=true", br#"{"point":"on_idle","session":"s"}"#, 400, "opne"),
        ("/v1/sessions", br#"{"id":"x","parnet":"s"}"#, 400, "parnet"),
        ("/v1/sessions", br#"{"id":""}"#, 400, "must not be empty"),
        ("/v1/nothing", b"{}", 404, "/v1/openapi.json"),
    ];
    for (path, body, status, detail) in wrong {
        let response = house.request(json_request(Method::POST, path, body.to_vec())).await;
        let kind = response.headers()["content-type"].clone();
        let (got, problem) = read(response).await;
        assert_eq!((got, kind.as_bytes()), (status, &b"application/problem+json"[..]), "{path} {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
    }
    let event = json!({"point": "on_idle", "session": "s"});
    let unseen = [
        ("/v1/events?open=maybe", event.clone()),
        ("/v1/events/batch?open=maybe", json!({"events": [event]})),
        ("/v1/events/batch", json!({"event": []})),
    ];
    for (path, body) in unseen {
        let (status, problem) = house.post(path, &body).await;
        assert_eq!((status, &problem["verdict"]), (400, &json!("block")), "{path} {problem}");
    }
    assert_eq!(house.send(Method::PUT, "/v1/events", &json!({})).await.0, 405);
    assert_eq!(house.get("/v1/receipts/x").await.0, 400);
    assert_eq!(house.get("/v1/jobs/x").await.0, 400);
    assert_eq!(house.get("/v1/jobs/7").await.0, 404);
}

#[tokio::test]
async fn i04_what_a_gate_cannot_see_is_blocked() {
    let house = House::with(|settings| settings.limits(small(|limits| limits.body = 1_000))).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let (status, problem) = house.post("/v1/events", &shell("s", &"x".repeat(2_000))).await;
    assert_eq!((status, &problem["verdict"]), (413, &json!("block")), "{problem}");
    assert_eq!(house.post("/v1/events", &shell("s", "ls")).await.0, 200);
}

#[tokio::test]
async fn the_daemon_ends_when_it_is_asked_to() {
    let house = House::new().await;
    let client = house.client();
    client.session("s").open().await.unwrap();
    let (status, ending) = house.post("/v1/stop", &json!({})).await;
    assert_eq!((status, &ending["status"]), (202, &json!("ending")));
    house.server.ending().await;
    let socket = house.socket();
    let report = house.server.end().await;
    assert!(report.drained.is_clean(), "{report:?}");
    assert!(!socket.exists());
    // The client may find out only now that the connection it has kept is closed.
    client.session("t").open().await.unwrap_err();
    assert!(client.session("t").open().await.unwrap_err().is_no_daemon());
}
