//! What can be declared for the points of the catalogue. The checks themselves are tested where they are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_core::control::{Control, ControlError, KeyTemplate, TemplateError};
use lineside_core::hook::Join;
use lineside_core::payload::Point;
use lineside_points::{AfterSession, AfterToolBatch, BeforeTool, OnPrompt, OnServiceStop};

#[test]
fn no_model_call_waits_after_the_session() {
    let control = Control { join: Join::BeforeNextModel, ..Control::default() };
    for point in [AfterSession::INFO, OnServiceStop::INFO] {
        let error = control.check(point, &[]).unwrap_err();
        assert_eq!(error, ControlError::NoModelAfter { point: point.name });
    }
    assert!(control.check(AfterToolBatch::INFO, &[]).is_ok());
}

#[test]
fn a_key_is_a_template_whose_fields_there_are() {
    let read = |text: &str| KeyTemplate::read(text, &[BeforeTool::INFO]);
    assert!(read("lint:{project_root}:{payload.tool_name}").is_ok());
    assert!(read("{payload.tool_input.path}").is_ok());
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
