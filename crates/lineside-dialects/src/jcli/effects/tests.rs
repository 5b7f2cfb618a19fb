//! What an end amounts to.

use std::time::Duration;

use lineside_core::answer::Beyond;
use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
use lineside_core::json::json;
use lineside_core::{Answer, Append, Failure, FailureKind, KeepWorking, Notice, Role, Verdict};

use super::{of_command, refusal};
use crate::jcli::events;
use crate::jcli::samples::captured;

fn ended(exit: Exit, stdout: Captured, stderr: &str) -> Ended {
    Ended { exit, stdout, stderr: captured(stderr), took: Duration::ZERO, leaked: Leaked::Nothing }
}

fn answer(event: &str, stdout: &str) -> Answer {
    of_command(events::find(event).unwrap(), &ended(Exit::Code(0), captured(stdout), "noise")).unwrap()
}

fn failure(event: &str, exit: Exit, stderr: &str) -> Failure {
    let halting = captured("{\"action\": \"stop\"}");
    of_command(events::find(event).unwrap(), &ended(exit, halting, stderr)).unwrap_err()
}

#[test]
fn what_is_skipped_is_not_changed_either() {
    // JC-19, JC-34
    let said = answer("pre_tool_execution", "{\"action\": \"skip\", \"tool_arguments\": \"{}\"}");
    assert!(matches!(said.verdict, Verdict::Block(_)) && said.amendment.fields().is_empty(), "{said:?}");
    let said = answer("pre_tool_execution", "{\"tool_arguments\": \"{}\"}");
    assert!(!said.amendment.fields().is_empty());
}

#[test]
fn a_stop_has_a_reason_of_its_event() {
    // JC-33
    for (event, reason) in [
        ("pre_send_message", "消息发送被 hook 拦截"),
        ("pre_llm_request", "请求被 hook 中止"),
        ("post_llm_response", "回复被 hook 拦截"),
        ("pre_tool_execution", "请求被 hook 中止"),
        ("stop", "请求被 hook 中止"),
        ("pre_micro_compact", "压缩被 hook 中止"),
        ("pre_auto_compact", "压缩被 hook 中止"),
    ] {
        assert_eq!(answer(event, "{\"action\": \"stop\"}"), Verdict::stop(reason).into(), "{event}");
    }
    // JC-34
    let skipped = answer("pre_tool_execution", "{\"action\": \"skip\"}");
    assert_eq!(skipped, Verdict::block("该工具调用被 hook 跳过").into());
}

#[test]
fn what_an_event_does_not_list_is_refused_and_recorded() {
    // JC-32
    let everything = "{\"user_input\": \"a\", \"assistant_output\": \"b\", \"inject_messages\": [], \
                      \"additional_context\": \"c\", \"retry_feedback\": \"d\", \"action\": \"skip\"}";
    let refused = answer("post_tool_execution", everything);
    let remarks = [
        "`user_input` has no effect at post_tool_execution",
        "`assistant_output` has no effect at post_tool_execution",
        "`inject_messages` has no effect at post_tool_execution",
        "`additional_context` has no effect at post_tool_execution",
        "`retry_feedback` has no effect at post_tool_execution",
        "`action: skip` has no effect at post_tool_execution",
    ];
    assert_eq!(refused, Answer { remarks: remarks.map(Into::into).to_vec(), ..Answer::default() });
    for event in
        ["post_tool_execution", "post_tool_execution_failure", "post_micro_compact", "post_auto_compact"]
    {
        let answer = answer(event, "{\"action\": \"stop\"}");
        assert_eq!(answer.verdict, Verdict::Continue, "{event}");
        assert_eq!(answer.remarks, [format!("`action: stop` has no effect at {event}")]);
    }
}

#[test]
fn fields_amend_the_payload_and_the_context() {
    // JC-37 to JC-40
    let request = answer(
        "pre_llm_request",
        "{\"additional_context\": \"c\", \"system_prompt\": \"\", \"messages\": [], \"system_message\": \"m\", \
          \"inject_messages\": [{\"role\": \"user\", \"content\": \"i\"}, {\"role\": \"system\"}]}",
    );
    assert_eq!(
        request.context,
        [Append::new(Role::User, "i"), Append::system("c")],
        "injected messages come first, and those without content are left out"
    );
    assert_eq!(json!(request.amendment.fields()), json!({"system_prompt": "", "messages": []}));
    assert_eq!(request.notices, [Notice::info("m")]);
    for (event, field, stdout) in [
        ("pre_send_message", json!({"prompt": "x"}), "{\"user_input\": \"x\"}"),
        ("post_llm_response", json!({"output": "x"}), "{\"assistant_output\": \"x\"}"),
        ("pre_tool_execution", json!({"tool_input": {"a": 1}}), "{\"tool_arguments\": \"{\\\"a\\\": 1}\"}"),
        ("post_tool_execution", json!({"tool_output": "{}"}), "{\"tool_result\": \"{}\"}"),
        ("post_tool_execution_failure", json!({"error": "x"}), "{\"tool_error\": \"x\"}"),
        ("post_micro_compact", json!({"messages": []}), "{\"messages\": []}"),
        ("post_auto_compact", json!({"messages": []}), "{\"messages\": []}"),
    ] {
        assert_eq!(json!(answer(event, stdout).amendment.fields()), field, "{event}");
    }
}

#[test]
fn feedback_is_put_to_the_agent_as_often_as_the_event_allows() {
    // JC-35, JC-36
    let append = Append::new(Role::User, "f");
    let notice = "[Warning: stop hook gave feedback 4 times, exceeding limit. Allowing stop to proceed.]";
    for (event, beyond) in [
        ("pre_send_message", None),
        ("pre_llm_request", Some(Beyond::Stop)),
        ("post_llm_response", Some(Beyond::Stop)),
        ("stop", Some(Beyond::Continue(Notice::warning(notice)))),
    ] {
        let keep_working =
            beyond.map(|beyond| Box::new(KeepWorking { append: append.clone(), beyond, at_most: None }));
        let context = if keep_working.is_none() { vec![append.clone()] } else { Vec::new() };
        let expected = Answer { keep_working, context, ..Answer::default() };
        // The chain goes on.
        let own = Some(Box::new(json!("f")));
        assert_eq!(
            answer(event, "{\"retry_feedback\": \"f\"}"),
            Answer { own, ..expected.clone() },
            "{event}"
        );
        // Feedback outranks the stop.
        let halting = answer(event, "{\"retry_feedback\": \"f\", \"action\": \"stop\"}");
        assert_eq!(halting, Answer { verdict: Verdict::block("f"), ..expected }, "{event}");
    }
}

#[test]
fn a_failing_end_is_told_with_what_was_printed_on_stderr() {
    // JC-28, JC-45
    let told = |exit: Exit, stderr: &str| {
        let failure = failure("stop", exit, stderr);
        (failure.kind, failure.detail.into_owned(), failure.started)
    };
    assert_eq!(told(Exit::Code(1), ""), (FailureKind::Exit, "exit status 1".to_owned(), true));
    assert_eq!(
        told(Exit::Code(2), " no\n"),
        (FailureKind::Exit, "exit status 2 (stderr: no)".to_owned(), true)
    );
    assert_eq!(told(Exit::Signal(9), "x").1, "signal 9 (stderr: x)");
    assert_eq!(
        told(Exit::TimedOut { after: Duration::from_secs(10) }, ""),
        (FailureKind::Timeout, "timed out after 10 s".to_owned(), true)
    );
    assert_eq!(
        told(Exit::NotStarted { why: "sh: not found".to_owned() }, ""),
        (FailureKind::Spawn, "cannot start: sh: not found".to_owned(), false)
    );
    let long = told(Exit::Code(1), &"x".repeat(5000)).1;
    assert_eq!(long.len(), "exit status 1 (stderr: )".len() + 2048);
    let garbled = of_command(events::find("stop").unwrap(), &ended(Exit::Code(0), captured("done"), "err"));
    let garbled = garbled.unwrap_err();
    assert_eq!((garbled.kind, garbled.started), (FailureKind::Output, true));
    assert!(garbled.detail.starts_with("unreadable output: not a JSON object"), "{garbled}");
    assert!(!garbled.detail.contains("err"), "{garbled}");
}

#[test]
fn what_is_printed_on_stderr_is_not_shown() {
    // JC-26
    assert_eq!(answer("stop", ""), Answer::default());
}

#[test]
fn what_only_notifies_is_not_read() {
    // JC-15
    for event in ["post_send_message", "session_start", "session_end"] {
        for stdout in ["{\"action\": \"stop\", \"system_message\": \"m\"}", "text", "[]"] {
            assert_eq!(answer(event, stdout), Answer::default(), "{event}");
        }
        assert_eq!(failure(event, Exit::Code(1), "").kind, FailureKind::Exit, "{event}");
    }
}

#[test]
fn a_failure_that_stops_is_a_stop_where_the_event_lists_one() {
    // JC-21
    let failure = Failure::new(FailureKind::Exit, "exit status 1");
    for event in &events::EVENTS {
        let refusal = refusal(event, "h", &failure);
        if event.stop.is_some() {
            assert_eq!(refusal, Verdict::stop("hook \"h\" failed: exit status 1").into(), "{}", event.name);
        } else {
            assert_eq!(refusal, Answer { ends_chain: true, ..Answer::default() }, "{}", event.name);
        }
    }
}
