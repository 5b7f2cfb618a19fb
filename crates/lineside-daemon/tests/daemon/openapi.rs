//! The description of the API: committed, current, and true.

use jsonschema::Validator;
use lineside::json::json;
use lineside_daemon::api::{OPENAPI, described};
use serde_json::Value;

use crate::house::House;

#[test]
fn the_committed_description_is_current() {
    assert!(
        OPENAPI == described::openapi(),
        "run: cargo run -p lineside-daemon --example openapi > docs/reference/openapi.json"
    );
}

/// What validates an answer of a path, by the description.
fn validator(document: &Value, path: &str, method: &str, status: &str) -> Validator {
    let answer =
        &document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"];
    assert!(answer.is_object(), "{method} {path} {status} is not described");
    let schema = serde_json::json!({"components": document["components"], "allOf": [answer]});
    jsonschema::validator_for(&schema).unwrap()
}

#[tokio::test]
async fn answers_are_as_they_are_described() {
    let house = House::new().await;
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    assert_eq!(document["openapi"].as_str().unwrap().split_once(".").unwrap().0, "3");
    let check = |path: &str, method: &str, status: &str, answer: (u16, lineside::json::Value)| {
        assert_eq!(answer.0.to_string(), status, "{}", answer.1);
        let said = serde_json::to_value(&answer.1).unwrap();
        let valid =
            validator(&document, path, method, status).validate(&said).map_err(|error| error.to_string());
        assert_eq!(valid, Ok(()), "{method} {path}: {}", answer.1);
    };
    let opened = house.post("/v1/sessions", &json!({"id": "s", "cwd": "/p", "host": "h"})).await;
    check("/v1/sessions", "post", "201", opened);
    check("/v1/sessions", "get", "200", house.get("/v1/sessions").await);
    check("/v1/sessions/{session}", "get", "200", house.get("/v1/sessions/s").await);
    check("/v1/sessions/{session}", "get", "404", house.get("/v1/sessions/t").await);
    check("/v1/sessions/{session}/tree", "get", "200", house.get("/v1/sessions/s/tree").await);
    check("/v1/sessions/{session}/hooks", "get", "200", house.get("/v1/sessions/s/hooks").await);
    let event = json!({"point": "on_idle", "session": "s"});
    check("/v1/events", "post", "200", house.post("/v1/events?receipt=true", &event).await);
    check("/v1/events", "post", "400", house.post("/v1/events", &json!({})).await);
    let events = json!({"events": [event]});
    check("/v1/events/batch", "post", "200", house.post("/v1/events/batch", &events).await);
    check("/v1/receipts", "get", "200", house.get("/v1/receipts").await);
    check("/v1/jobs", "get", "200", house.get("/v1/jobs?state=live").await);
    check("/v1/health", "get", "200", house.get("/v1/health").await);
    check("/v1/status", "get", "200", house.get("/v1/status").await);
    check("/v1/reload", "post", "200", house.post("/v1/reload", &json!({})).await);
    let collect = house.post("/v1/sessions/s/context/collect", &json!({})).await;
    check("/v1/sessions/{session}/context/collect", "post", "200", collect);
    check("/v1/stop", "post", "202", house.post("/v1/stop", &json!({})).await);
}

#[tokio::test]
async fn every_path_that_is_described_is_served() {
    let house = House::new().await;
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let concrete = path.replace("{session}", "s").replace("{job}", "1").replace("{event}", "e");
            let concrete = concrete.replace("{delivery}", "d");
            if concrete == "/v1/signals" || concrete == "/v1/stop" {
                continue;
            }
            let method = method.to_uppercase().parse().unwrap();
            let (status, problem) = house.send(method, &concrete, &json!({})).await;
            assert!(
                status != 405 && problem["detail"].as_str().is_none_or(|text| !text.contains("no path")),
                "{path}"
            );
        }
    }
}

#[test]
fn the_payload_of_every_point_is_described() {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let described = |point: &str| schemas.iter().find(|(_, schema)| schema["x-point"]["name"] == point);
    for point in lineside::points::CATALOGUE {
        let (name, schema) =
            described(point.name).unwrap_or_else(|| panic!("{} is not described", point.name));
        let reference = format!("#/components/schemas/{name}");
        let payloads = schemas["Payload"]["anyOf"].as_array().unwrap();
        assert!(payloads.iter().any(|payload| payload["$ref"] == reference.as_str()), "{name}");
        assert_eq!(schema["type"], "object", "{name}");
    }
    let reads = |point: &str, payload: Value| {
        let (_, schema) = described(point).unwrap();
        let schema = serde_json::json!({"components": document["components"], "allOf": [schema]});
        jsonschema::validator_for(&schema).unwrap().is_valid(&payload)
    };
    let call = serde_json::json!({"tool_name": "Shell", "tool_input": {"command": "ls"}});
    assert!(reads("before_tool", call.clone()));
    assert!(!reads("before_tool", serde_json::json!({"tool_name": "Shell"})), "a required field is absent");
    assert!(!reads("before_tool", serde_json::json!({"tool_name": 1, "tool_input": {}})));
    let batch = |call: Value| serde_json::json!({"tool_calls": [call], "changed_files": []});
    assert!(reads("after_tool_batch", batch(call)));
    assert!(
        !reads("after_tool_batch", batch(serde_json::json!({"tool_input": 1}))),
        "a call without its tool"
    );
}
