//! How often something may happen, and how often at once.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use lineside_core::control::KeyTemplate;
use lineside_core::envelope::{Envelope, EventId, Source};
use lineside_core::json::json;
use lineside_core::{AnyEvent, Payload, Strength, Verdict};
use lineside_guards::{Limit, Ruling};
use lineside_points::{AfterSession, AfterTool, BeforeTool, OnPermissionDenied};

fn event(payload: impl Payload) -> AnyEvent {
    let envelope = Envelope {
        id: EventId::from_u128(0),
        time: lineside_core::Timestamp::UNIX_EPOCH,
        seq: 1,
        source: Arc::new(Source::root("s")),
        cause: None,
        turn: None,
        extra: None,
    };
    AnyEvent::new(envelope, Arc::new(payload))
}

fn ls() -> BeforeTool {
    BeforeTool::new("Bash", json!({"command": "ls"}))
}

#[test]
fn a_limit_lets_so_many_pass_in_its_time_for_each_key() {
    let point = [lineside_points::find("before_tool").unwrap()];
    let of = |session: &str, number: u128, millis: i64| {
        let envelope = Envelope {
            id: EventId::from_u128(number),
            time: lineside_core::Timestamp::from_millisecond(millis).unwrap(),
            source: Arc::new(Source::root(session)),
            ..event(ls()).envelope().clone()
        };
        event(ls()).with_envelope(envelope)
    };
    let key = || KeyTemplate::read("{session}", &point).unwrap();
    let limit = Limit::new(2, Duration::from_secs(1), key());
    for (session, number, millis, past) in [
        ("a", 1, 0, false),
        ("a", 2, 900, false),
        ("a", 3, 950, true),
        ("b", 4, 950, false),
        ("a", 2, 900, false),
        ("a", 5, 999, true),
        ("a", 6, 1_000, false),
        ("a", 7, 1_001, true),
        ("a", 8, 1_900, false),
    ] {
        assert_eq!(limit.is_past(&of(session, number, millis)), past, "{session} {number}");
    }
    // Without room, a further key counts as past its limit until another one has ended.
    let full = Limit::new(1, Duration::from_secs(1), key());
    for number in 0..1_024 {
        assert!(!full.is_past(&of(&format!("s{number}"), number, 0)), "{number}");
    }
    assert!(full.is_past(&of("further", 2_000, 999)));
    assert!(!full.is_past(&of("further", 2_001, 1_000)));
    let none = Limit::new(0, Duration::from_secs(1), key());
    assert!(none.is_past(&of("a", 1, 0)));
}

#[test]
fn a_call_counts_until_it_ends_or_its_session_does_or_for_so_long() {
    let point = lineside_points::find("before_tool").unwrap();
    let key = KeyTemplate::read("all", &[point]).unwrap();
    let limit = Limit::at_once(2, Duration::from_secs(60), key);
    let ruling = Ruling {
        strength: Strength::Block,
        reason: None,
        context: None,
        amend: Vec::new(),
        limit: Some(limit),
        acts: None,
    };
    let number = std::cell::Cell::new(0);
    let at = |session: &str, seconds: i64, event: AnyEvent| {
        number.set(number.get() + 1);
        event.with_envelope(Envelope {
            id: EventId::from_u128(number.get()),
            time: lineside_core::Timestamp::from_millisecond(seconds * 1_000).unwrap(),
            source: Arc::new(Source::root(session)),
            ..event.envelope().clone()
        })
    };
    let ends = |session: &str, end: AnyEvent| {
        let answer = ruling.answer(&at(session, 0, end));
        assert_eq!(answer.verdict, Verdict::Continue);
    };
    let begins = |session: &str, seconds: i64, expected: bool| {
        let event = at(session, seconds, event(ls()));
        let asked = [&event, &event].map(|event| ruling.answer(event).verdict == Verdict::Continue);
        assert_eq!(asked, [expected; 2], "{session} at {seconds}");
    };
    // Without an id of the host, the oldest call of the tool and the session is the one that has ended.
    begins("a", 0, true);
    begins("b", 1, true);
    begins("a", 2, false);
    let after = |tool: &str| event(AfterTool::new(tool, json!("")));
    ends("c", after("Bash"));
    ends("a", after("Read"));
    begins("a", 3, false);
    ends("a", event(OnPermissionDenied::new("Bash")));
    begins("a", 4, true);
    begins("b", 5, false);
    ends("a", event(AfterSession::new("exit")));
    begins("b", 6, true);
    begins("b", 7, false);
    // At 1 and 6 a call of `b` has begun, of which no end is heard.
    begins("c", 60, false);
    begins("c", 61, true);
    begins("c", 62, false);
    ruling.limit.as_ref().unwrap().forget(&|session| session.as_str() != "b");
    begins("d", 62, true);
    begins("d", 63, false);
}
