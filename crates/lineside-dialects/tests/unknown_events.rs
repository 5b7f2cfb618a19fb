//! Events that the page of an agent program does not have, more of them than have points of their own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::time::Instant;

use lineside_dialects::hosts::Host;
use lineside_dialects::hosts::serve::{HostCall, NextStep, Reading, Served, read};

fn point(served: &Served, event: &str) -> &'static str {
    let stdin = format!("{{\"hook_event_name\": \"{event}\", \"session_id\": \"s\"}}").into_bytes();
    let call = HostCall { host: Host::Gemini, event: None, stdin };
    let Reading::Event(arrival) = read(call) else { panic!("{event} is no event") };
    match served.arrive(arrival, Instant::now()) {
        NextStep::Publish(publishing) => publishing.incoming.point.name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ho_4_of_too_many_unknown_events_the_later_ones_share_a_point() {
    let served = Served::default();
    let names: Vec<String> = (0..300).map(|number| format!("New{number}")).collect();
    let points: Vec<&str> = names.iter().map(|name| point(&served, name)).collect();
    assert_eq!(points[0], "x.gemini.on_new0");
    assert_eq!(points[299], "x.gemini.on_unknown");
    let different: BTreeSet<&str> = points.iter().copied().collect();
    assert!(different.len() <= 257, "{}", different.len());
    // What has one keeps it.
    assert_eq!(point(&served, "New0"), "x.gemini.on_new0");
}
