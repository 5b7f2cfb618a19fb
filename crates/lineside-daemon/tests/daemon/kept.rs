//! Everything that a client can make the daemon keep: the page has a table of it, and each row of that a test.

use std::fs;
use std::path::{Path, PathBuf};

use http_body_util::BodyExt as _;
use hyper::Method;
use lineside::json::Value;
use lineside::prelude::*;

use crate::house::{House, json_request, small};

/// All files of a folder and those below it that hold Rust.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

#[test]
fn each_row_of_the_table_of_what_is_kept_names_a_test_that_there_is() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(crates.parent().unwrap().join("docs/daemon.md")).unwrap();
    let table = page.split_once("<!-- kept -->").unwrap().1.split_once("<!-- /kept -->").unwrap().0;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 15, "{rows:?}");
    let mut files = Vec::new();
    sources(crates, &mut files);
    let all: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for row in rows {
        let [what, most, end, test] = row[..] else { panic!("{row:?} has other columns") };
        assert!(![what, most, end, test].iter().any(|cell| cell.is_empty()), "{row:?}");
        for test in test.split(", ").map(|test| test.trim_matches('`')) {
            assert!(all.contains(&format!("fn {test}()")), "{what}: there is no test `{test}`");
        }
    }
}

/// A figure of the metrics.
pub(crate) async fn figure(house: &House, name: &str) -> usize {
    let answer = house.request(json_request(Method::GET, "/v1/metrics", Vec::new())).await;
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    let text = std::str::from_utf8(&text).unwrap().to_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("there is no {name} in {text}")).parse().unwrap()
}

#[tokio::test]
async fn what_a_client_says_of_an_event_beside_its_payload_is_weighed_wherever_it_is_kept() {
    const MOST: usize = 1 << 20;
    const LONG: usize = 200 << 10;
    let house = House::with(|settings| settings.limits(small(|limits| limits.lately = MOST))).await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let long = "x".repeat(LONG);
    let digits: Vec<Value> = vec![lineside::json::from_str(&"7".repeat(1_000)).unwrap(); LONG / 1_000];
    let fields = [
        json!({"unknown": long}),
        json!({"extra": {"unknown": [long]}}),
        json!({"unknown": digits}),
        json!({"cwd": long}),
        json!({"project_root": long}),
        json!({"host": long}),
        json!({"agent": {"id": "a", "kind": "subagent", "type": long}}),
        json!({"model": {"selected": long}}),
        json!({"payload": {"message": long}}),
        json!({"coverage": long}),
    ];
    let mut kept = 0;
    for fields in fields {
        let before = figure(&house, "lineside_events_total").await;
        // Of three of these kinds, more than ten times as much as is kept.
        for _ in 0..20 {
            let mut event = json!({"point": "on_idle", "session": "s", "payload": {}});
            event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            house.post("/v1/events", &event).await;
        }
        if figure(&house, "lineside_events_total").await == before {
            // It is refused, so that nothing of it is kept.
            continue;
        }
        kept += 1;
        let name = fields.as_object().unwrap().keys().next().unwrap().clone();
        for what in ["lineside_receipt_bytes", "lineside_signal_bytes"] {
            let bytes = figure(&house, what).await;
            assert!((LONG..=MOST).contains(&bytes), "{name}: {bytes} {what}");
        }
        let receipts = house.get("/v1/receipts").await.1;
        let receipts = receipts["receipts"].as_array().unwrap().len();
        assert!((1..=5).contains(&receipts), "{name}: {receipts} receipts of {LONG} bytes are kept");
    }
    assert!(kept >= 3, "{kept} kinds of events were let in");
}

#[tokio::test]
async fn of_sessions_that_believe_in_other_hooks_the_latest_are_kept_and_all_are_counted() {
    const MOST: usize = 32;
    let house = House::new().await;
    for number in 0..10 * MOST {
        let event =
            json!({"point": "on_idle", "session": format!("s{number}"), "coverage": "x".repeat(10_000)});
        house.post("/v1/events?open=true", &event).await;
    }
    let (_, status) = house.get("/v1/status").await;
    assert_eq!(status["coverage_mismatches"], json!(10 * MOST));
    let findings = status["findings"].as_array().unwrap();
    let of_coverage = |text: &str| text.contains("believes it is under");
    let found: Vec<_> = findings.iter().map(|one| one["text"].as_str().unwrap()).collect();
    let found: Vec<_> = found.into_iter().filter(|text| of_coverage(text)).collect();
    assert_eq!(found.len(), MOST);
    assert!(found.iter().all(|text| text.len() < 300) && found[MOST - 1].contains("`s319`"), "{found:?}");
}
