//! What can be declared, and what cannot be meant.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use lineside_core::FailureKind;
use lineside_core::control::{
    AtEnd, Batch, Control, ControlError, Hold, KeyTemplate, OnBusy, Rate, Retry, Rules, TemplateError,
};
use lineside_core::flow::{Debounce, RetryAfter};
use lineside_core::hook::Join;
use lineside_core::payload::Point;
use lineside_points::{AfterSession, AfterToolBatch, BeforeTool, OnPrompt};

const SECOND: Duration = Duration::from_secs(1);

fn check(control: &Control) -> Result<Rules, ControlError> {
    control.check(BeforeTool::INFO, &[])
}

#[test]
fn what_is_not_said_can_be_meant() {
    let rules = check(&Control::default()).unwrap();
    assert_eq!(rules.hold, None);
    assert_eq!(rules.hold_key.text(), "{session}/{agent}");
}

#[test]
fn a_setting_of_zero_is_named() {
    let zero = |control: Control| match check(&control) {
        Err(ControlError::Zero { setting }) => setting,
        other => panic!("{other:?}"),
    };
    let base = Control { concurrency: Some("k".to_owned()), ..Control::default() };
    assert_eq!(zero(Control { timeout: Duration::ZERO, ..base.clone() }), "timeout");
    assert_eq!(zero(Control { limit: 0, ..base.clone() }), "limit");
    assert_eq!(zero(Control { retry: Retry::constant(0, SECOND), ..base.clone() }), "retry.attempts");
    assert_eq!(
        zero(Control { retry: Retry::exponential(2, Duration::ZERO), ..base.clone() }),
        "retry.exponential"
    );
    assert_eq!(zero(Control { rate: Some(Rate::new(0, SECOND)), ..base.clone() }), "rate.starts");
    assert_eq!(zero(Control { rate: Some(Rate::new(1, Duration::ZERO)), ..base.clone() }), "rate.period");
    assert_eq!(zero(Control { at_end: AtEnd::Drain(Duration::ZERO), ..base.clone() }), "at_end.drain");
    let debounce = Some(Debounce::quiet(Duration::ZERO).at_most(SECOND));
    assert_eq!(zero(Control { debounce, ..base.clone() }), "debounce.quiet");
    let batch = Some(Batch { count: 0, within: SECOND });
    assert_eq!(zero(Control { batch, ..base }), "batch.count");
}

#[test]
fn a_setting_that_is_absurd_is_named() {
    let year = 365 * 24 * 3600 * SECOND;
    assert_eq!(
        check(&Control { timeout: year, ..Control::default() }).unwrap_err(),
        ControlError::TooLong { setting: "timeout" }
    );
    assert_eq!(
        check(&Control { retry: Retry::constant(2, year), ..Control::default() }).unwrap_err(),
        ControlError::TooLong { setting: "retry.constant" }
    );
    assert_eq!(
        check(&Control { retry: Retry::constant(5000, SECOND), ..Control::default() }).unwrap_err(),
        ControlError::TooMany { setting: "retry.attempts", most: 1000 }
    );
    let debounce = Some(Debounce::quiet(2 * SECOND).at_most(SECOND));
    assert_eq!(
        check(&Control { debounce, ..Control::default() }).unwrap_err().to_string(),
        "`debounce.at_most` is shorter than `debounce.quiet`; it has to be as long at least"
    );
}

#[test]
fn what_happens_at_a_key_needs_a_key() {
    let control = Control { on_busy: OnBusy::Drop, ..Control::default() };
    assert_eq!(check(&control).unwrap_err(), ControlError::NeedsKey { setting: "on_busy" });
    let control = Control { limit: 2, ..Control::default() };
    assert_eq!(check(&control).unwrap_err(), ControlError::NeedsKey { setting: "limit" });
}

#[test]
fn no_model_call_waits_after_the_session() {
    let control = Control { join: Join::BeforeNextModel, ..Control::default() };
    assert_eq!(
        control.check(AfterSession::INFO, &[]).unwrap_err(),
        ControlError::NoModelAfter { point: "after_session" }
    );
    assert!(control.check(AfterToolBatch::INFO, &[]).is_ok());
}

#[test]
fn debounce_and_batch_go_together_and_the_first_of_them_counts() {
    let control = Control {
        debounce: Some(Debounce::quiet(SECOND).at_most(60 * SECOND)),
        batch: Some(Batch { count: 7, within: 10 * SECOND }),
        ..Control::default()
    };
    let hold = check(&control).unwrap().hold.unwrap();
    assert_eq!(hold, Hold { pace: Debounce::quiet(SECOND).at_most(10 * SECOND), count: 7 });
}

#[test]
fn a_key_is_a_template_whose_fields_there_are() {
    let read = |text: &str| KeyTemplate::read(text, &[BeforeTool::INFO]);
    assert!(read("lint:{project_root}:{payload.tool_name}").is_ok());
    assert!(read("{payload.tool_input.path}").is_ok());
    assert_eq!(read(" "), Err(TemplateError::Blank));
    assert_eq!(read("a{session"), Err(TemplateError::Brace { at: 1 }));
    assert_eq!(read("a}b"), Err(TemplateError::Brace { at: 1 }));
    assert_eq!(
        read("{sesion}").unwrap_err().to_string(),
        "there is no field `sesion`; the nearest is `session`"
    );
    assert!(matches!(read("{payload.prompt}"), Err(TemplateError::UnknownField { .. })));
    // The events that cancel need the field as well.
    let control = Control { concurrency: Some("{payload.tool_name}".to_owned()), ..Control::default() };
    assert!(control.check(BeforeTool::INFO, &[]).is_ok());
    assert!(control.check(BeforeTool::INFO, &[OnPrompt::INFO]).is_err());
}

#[test]
fn a_key_is_made_of_the_fields_of_an_event() {
    use lineside_core::json::json;
    use lineside_core::{AnyEvent, Envelope, EventId, Source};
    let source = Source { project_root: Some("/p".into()), ..Source::root("s") };
    let envelope = Envelope {
        id: EventId::from_u128(0),
        time: lineside_core::Timestamp::UNIX_EPOCH,
        seq: 1,
        source: std::sync::Arc::new(source),
        cause: None,
        turn: Some(7),
        extra: None,
    };
    let payload = BeforeTool::new("Edit", json!({"path": "a.rs", "line": 3, "more": {"x": [1, 2]}}));
    let event = AnyEvent::new(envelope, std::sync::Arc::new(payload));
    let render = |text: &str| {
        let mut key = String::new();
        KeyTemplate::read(text, &[BeforeTool::INFO]).unwrap().render(&event, &mut key);
        key
    };
    assert_eq!(render("{{{session}}}:{agent}:{agent_kind}:{turn}"), "{s}:main:main:7");
    assert_eq!(render("{project_root}|{cwd}|{host}"), "/p||");
    assert_eq!(render("{payload.tool_name}:{payload.tool_input.path}"), "Edit:a.rs");
    assert_eq!(render("{payload.tool_input.line}:{payload.tool_input.more.x}"), "3:[1,2]");
    assert_eq!(render("{payload.tool_input.none.at.all}"), "");
}

#[test]
fn pauses_grow_up_to_their_bound_and_are_drawn_apart() {
    let retry = Retry::exponential(10, SECOND).at_most(4 * SECOND);
    for attempts in 1..10 {
        let whole = SECOND * (1 << (attempts - 1).min(2));
        let drawn: Vec<Duration> =
            (0..1000).map(|draw| retry.pause(attempts, FailureKind::Exit, draw).unwrap()).collect();
        assert!(drawn.iter().all(|pause| *pause <= whole));
        assert!(
            drawn.iter().any(|pause| *pause < whole / 10)
                && drawn.iter().any(|pause| *pause > whole / 10 * 9)
        );
    }
    assert_eq!(retry.pause(10, FailureKind::Exit, 0), None);
    let only = Retry::constant(3, SECOND).after(RetryAfter::AnyButOutput);
    assert_eq!(only.pause(1, FailureKind::Output, 0), None);
    assert_eq!(only.pause(2, FailureKind::Exit, 0), Some(SECOND));
    assert_eq!(Retry::NONE.pause(1, FailureKind::Exit, 0), None);
}
