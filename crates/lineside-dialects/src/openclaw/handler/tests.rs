//! How a handler is called and what its end amounts to.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::json::{Value, json};
use lineside_core::worker::{CallClass, HandlerKey, Repeat, WorkerCall, WorkerEnded};
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Layer, Verdict};

use super::PluginHandler;
use crate::handler::{Call, Handler as _, LogStage, Returned};
use crate::openclaw::catalogue;
use crate::openclaw::ensembles::Ensembles;
use crate::openclaw::samples::event;

fn handler(hook: &str) -> PluginHandler {
    let row = catalogue::find(hook).unwrap();
    PluginHandler {
        row,
        name: format!("p:{hook}").into(),
        key: HandlerKey { plugin: "p".to_owned(), hook: hook.to_owned(), nth: 1 },
        layer: Layer::User,
        timeout: Duration::from_secs(1),
        closes: false,
        tells_failures: false,
        messages: None,
    }
}

fn tool() -> AnyEvent {
    event("before_tool", json!({ "tool_name": "exec", "tool_input": { "command": "ls" } }))
}

fn call(handler: &PluginHandler, event: &AnyEvent) -> WorkerCall {
    match handler.prepare(event).unwrap() {
        Call::Worker(call) => *call,
        other => panic!("{other:?}"),
    }
}

fn read(handler: &PluginHandler, ended: WorkerEnded) -> Result<Answer, Failure> {
    handler.read(&tool(), &Returned::Worker(ended))
}

fn returned(hook: &str, value: Value) -> Answer {
    read(&handler(hook), WorkerEnded::Returned(Some(value))).unwrap()
}

#[test]
fn what_a_plugin_logs_for_a_call_stands_beside_its_answer() {
    let log = json!([{ "level": "info", "text": "key sk-12345678 seen" }]);
    let answer = returned("before_tool_call", json!({ "$log": log, "block": true }));
    assert_eq!(answer.verdict, Verdict::block("Tool call blocked by plugin hook"));
    let kept = json!([{ "level": "info", "text": "key [redacted] seen" }]);
    assert_eq!(answer.extra.get("openclaw.log.p:before_tool_call"), Some(&kept));
    let silent = returned("before_tool_call", json!({ "$log": log }));
    assert_eq!((silent.verdict, silent.own, silent.extra.len()), (Verdict::Continue, None, 1));
}

#[test]
fn a_handler_is_called_with_event_and_context() {
    // OC-38, OC-40, OC-57, OC-75
    let call = call(&handler("before_tool_call"), &tool());
    assert_eq!(
        (call.class, call.timeout, call.repeat),
        (CallClass::Modifying, Duration::from_secs(1), Repeat::No)
    );
    assert_eq!(call.event.get("params"), Some(&json!({ "command": "ls" })));
    assert_eq!(call.ctx.get("sessionKey"), Some(&json!("agent:main:s1")));
}

#[test]
fn the_start_of_the_service_is_told_again_until_it_stops() {
    // OC-67
    let start = call(&handler("gateway_start"), &event("on_service_start", json!({ "port": 1 })));
    assert_eq!((start.repeat, start.class), (Repeat::AfterRestart, CallClass::Void));
    assert_eq!(call(&handler("gateway_stop"), &event("on_service_stop", json!({}))).repeat, Repeat::Ends);
}

#[test]
fn a_message_goes_from_handler_to_handler() {
    // OC-44, OC-53
    let messages = Ensembles::default().messages();
    let first = PluginHandler { messages: Some(Arc::clone(&messages)), ..handler("tool_result_persist") };
    let event = event("before_result_append", json!({ "tool_name": "read", "tool_output": "text" }));
    let seen = call(&first, &event);
    assert_eq!(seen.class, CallClass::Sync);
    assert_eq!(seen.event.pointer("/message/content/0/text"), Some(&json!("text")));
    let said = json!({ "message": { "content": "short" } });
    first.read(&event, &Returned::Worker(WorkerEnded::Returned(Some(said)))).unwrap();
    let second = PluginHandler { messages: Some(messages), ..handler("tool_result_persist") };
    assert_eq!(call(&second, &event).event.get("message"), Some(&json!({ "content": "short" })));
}

#[test]
fn only_true_blocks_and_a_block_has_a_reason() {
    // OC-49, OC-51
    let default = Verdict::block("Tool call blocked by plugin hook");
    let cancelled = Verdict::block("cancelled_by_message_sending_hook");
    for (hook, value, expected) in [
        ("before_tool_call", json!({ "block": true, "blockReason": "no" }), Verdict::block("no")),
        ("before_tool_call", json!({ "block": true, "blockReason": " " }), default.clone()),
        ("before_tool_call", json!({ "block": true }), default),
        ("before_tool_call", json!({ "block": false, "blockReason": "no" }), Verdict::Continue),
        ("before_tool_call", json!({ "blockReason": "no" }), Verdict::Continue),
        ("message_sending", json!({ "cancel": true, "cancelReason": "quiet" }), Verdict::block("quiet")),
        ("message_sending", json!({ "cancel": true }), cancelled),
        ("message_sending", json!({ "block": true }), Verdict::Continue),
        ("before_agent_finalize", json!({ "block": true }), Verdict::Continue),
    ] {
        assert_eq!(returned(hook, value.clone()).verdict, expected, "{hook} {value}");
    }
}

#[test]
fn no_decision_is_none_and_what_is_told_is_not_asked() {
    // OC-43, OC-46
    assert_eq!(read(&handler("before_tool_call"), WorkerEnded::Returned(None)), Ok(Answer::default()));
    assert_eq!(returned("agent_end", json!({ "block": true })), Answer::default());
    assert_eq!(returned("before_tool_call", json!([{ "block": true }])), Answer::default());
    assert!(returned("before_tool_call", json!({ "params": {} })).own.is_some());
}

fn failed(message: &str) -> WorkerEnded {
    WorkerEnded::Failed { kind: FailureKind::Panic, message: message.to_owned(), started: true }
}

#[test]
fn a_failure_passes_unless_it_closes() {
    // OC-54, OC-55, OC-56
    let open = handler("before_tool_call");
    let failure = read(&open, failed("boom\n now")).unwrap_err();
    assert_eq!((failure.kind, &*failure.detail, failure.started), (FailureKind::Panic, "boom now", true));
    assert_eq!(open.refuse(&tool(), &failure), None);
    for (hook, reason) in [
        ("before_tool_call", "Tool call blocked because before_tool_call hook failed"),
        ("message_sending", "message_sending handler from p failed: boom"),
    ] {
        let closing = PluginHandler { closes: true, ..handler(hook) };
        let failure = read(&closing, failed("boom")).unwrap_err();
        assert_eq!(failure.refusal.as_deref(), Some(reason));
        assert_eq!(closing.refuse(&tool(), &failure), Some(Verdict::block(reason).into()));
    }
}

#[test]
fn what_a_guard_cannot_be_shown_does_not_pass() {
    // OC-56, OC-68
    for (hook, blocks) in [
        ("before_tool_call", true),
        ("message_sending", true),
        ("before_agent_start", false),
        ("agent_end", false),
    ] {
        let handler = handler(hook);
        let failure = read(&handler, WorkerEnded::TooLarge).unwrap_err();
        assert_eq!((failure.kind, failure.started), (FailureKind::Output, false));
        let expected = Verdict::block(format!("too large to be judged by p:{hook}"));
        assert_eq!(handler.refuse(&tool(), &failure), blocks.then(|| expected.into()), "{hook}");
    }
}

#[test]
fn failures_of_what_is_told_are_notices_for_who_wants_them() {
    // OC-56
    let telling = PluginHandler { tells_failures: true, ..handler("agent_end") };
    let failure = read(&telling, failed("x")).unwrap_err();
    let answer = telling.refuse(&tool(), &failure).unwrap();
    assert_eq!(answer.verdict, Verdict::Continue);
    assert_eq!(answer.notices[0].text, "agent_end handler from p failed: x");
}

#[test]
fn only_failures_are_logged() {
    // OC-43, OC-55, OC-58
    let handler = handler("agent_end");
    let log = |ended: WorkerEnded| {
        let returned = Returned::Worker(ended);
        let result = handler.read(&tool(), &returned);
        handler.log(&LogStage::Finished {
            call: None,
            returned: Some(&returned),
            result: &result,
            took: Duration::ZERO,
        })
    };
    assert_eq!(log(failed("a\tb")), ["[hooks] agent_end handler from p failed: a b"]);
    assert_eq!(log(WorkerEnded::Returned(None)), Vec::<String>::new());
    // The worker has told it.
    assert_eq!(log(WorkerEnded::Dropped), Vec::<String>::new());
    assert_eq!(handler.log(&LogStage::Starting { call: &Call::Nothing }), Vec::<String>::new());
}

#[test]
fn what_refuses_at_a_point_of_its_own_is_handed_to_the_program() {
    let result = |hook: &str, value: Value| returned(hook, value).extra.get("openclaw.result").cloned();
    let blocks = json!({ "block": true, "more": 1 });
    assert_eq!(result("before_agent_run", blocks.clone()), Some(blocks.clone()));
    assert_eq!(result("before_agent_run", json!({ "more": 1 })), None);
    assert_eq!(result("before_tool_call", blocks), None);
}

#[test]
fn keys_that_the_worker_has_passed_over_are_remarked_and_are_no_answer() {
    // OC-46
    let answer = returned("before_tool_call", json!({ "$unknown": ["blok", "colour"] }));
    assert_eq!((answer.verdict, answer.own), (Verdict::Continue, None));
    assert_eq!(answer.remarks, ["unknown key `blok` in its answer, did you mean `block`?"]);
    let foreign = returned("before_tool_call", json!({ "$unknown": ["permissionDecision"] }));
    assert_eq!(foreign.remarks, ["unknown key `permissionDecision` in its answer, did you mean `block`?"]);
    let blocks = returned("before_tool_call", json!({ "$unknown": ["blok"], "block": true }));
    assert_eq!((blocks.verdict.strength().is_final(), blocks.remarks.len()), (true, 1));
}
