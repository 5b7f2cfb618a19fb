//! What the answers of a chain come to.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::ensemble::{Ensemble as _, Sees};
use lineside_core::invocation::{Ended, Exit, Leaked};
use lineside_core::json::json;
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, Failure, FailureKind, Verdict};

use super::Chain;
use crate::jcli::{effects, events, samples};

/// What hooks that print these come to, one after another.
fn settled(event: &str, printed: &[&str]) -> Vec<FromHook<Answer>> {
    let event = events::find(event).unwrap();
    let given = printed.iter().map(|stdout| {
        let ended = Ended {
            exit: Exit::Code(0),
            stdout: samples::captured(*stdout),
            stderr: samples::captured(""),
            took: Duration::ZERO,
            leaked: Leaked::Nothing,
        };
        effects::of_command(event, &ended).unwrap()
    });
    finalize(given.collect())
}

fn finalize(given: Vec<Answer>) -> Vec<FromHook<Answer>> {
    let event = samples::event("before_stop", json!({"stop_active": false}));
    let given = given.into_iter().zip(0..).map(|(what, hook)| FromHook { hook, what }).collect();
    Chain::allowed(None).finalize(&event, given)
}

/// The messages for the context, with their hooks, and whether they stand or fall with a block.
fn context(settled: &[FromHook<Answer>]) -> Vec<(u32, &str, bool)> {
    let mut messages = Vec::new();
    for by in settled {
        messages.extend(by.what.context.iter().map(|append| (by.hook, append.text.as_str(), false)));
        messages.extend(by.what.keep_working.iter().map(|keep| (by.hook, keep.append.text.as_str(), true)));
    }
    messages
}

fn verdicts(settled: &[FromHook<Answer>]) -> Vec<(u32, &Verdict)> {
    let said = settled.iter().map(|by| (by.hook, &by.what.verdict));
    said.filter(|(_, verdict)| **verdict != Verdict::Continue).collect()
}

#[test]
fn a_hook_reads_what_the_one_before_it_has_amended() {
    // JC-17
    assert_eq!(Chain::allowed(None).sees(), Sees::Amended);
    let settled =
        settled("post_llm_response", &["{\"assistant_output\": \"a\"}", "{\"assistant_output\": \"b\"}"]);
    let outputs: Vec<_> = settled.iter().map(|by| &by.what.amendment.fields()["output"]).collect();
    assert_eq!(outputs, ["a", "b"], "the last one counts");
}

#[test]
fn what_all_of_them_say_takes_effect_in_their_order() {
    // JC-18, JC-35
    let settled = settled(
        "stop",
        &[
            "{\"retry_feedback\": \"fix a\", \"system_message\": \"m\"}",
            "{\"additional_context\": \"note\"}",
            "{}",
            "{\"additional_context\": \"also\", \"retry_feedback\": \"fix c\", \"system_message\": \"n\"}",
        ],
    );
    assert_eq!(verdicts(&settled), [(0, &Verdict::block("fix a\n\nfix c"))]);
    assert_eq!(
        context(&settled),
        [(0, "fix a", true), (1, "note", false), (3, "also", false), (3, "fix c", true)]
    );
    let notices: Vec<_> =
        settled.iter().flat_map(|by| &by.what.notices).map(|notice| &*notice.text).collect();
    assert_eq!(notices, ["m", "n"]);
}

#[test]
fn a_halt_leaves_the_notices_of_those_before_it() {
    // JC-19, JC-35
    let first = "{\"system_prompt\": \"x\", \"additional_context\": \"c\", \"retry_feedback\": \"f\", \
                  \"inject_messages\": [{\"role\": \"user\", \"content\": \"i\"}], \"system_message\": \"kept\", \
                  \"user_input\": \"refused\"}";
    let settled = settled("pre_llm_request", &[first, "{\"action\": \"stop\", \"system_message\": \"too\"}"]);
    assert_eq!(verdicts(&settled), [(1, &Verdict::stop("请求被 hook 中止"))]);
    assert_eq!(context(&settled), []);
    assert!(settled.iter().all(|by| by.what.amendment.is_empty()));
    let notices: Vec<_> =
        settled.iter().flat_map(|by| &by.what.notices).map(|notice| &*notice.text).collect();
    assert_eq!(notices, ["kept", "too"]);
    assert_eq!(settled[0].what.remarks, ["`user_input` has no effect at pre_llm_request"]);
}

#[test]
fn a_failure_that_ends_the_chain_drops_what_was_before_it_whatever_the_verdict() {
    // JC-21
    let failure = Failure::new(FailureKind::Exit, "exit status 1");
    let before = Answer {
        amendment: lineside_core::Amendment::default().with("tool_output", json!("x")),
        ..Answer::default()
    };
    let ends = effects::refusal(events::find("post_tool_execution").unwrap(), "h", &failure);
    let settled = finalize(vec![before, ends]);
    assert!(settled.iter().all(|by| by.what.amendment.is_empty()));
    assert_eq!(verdicts(&settled), []);
}

#[test]
fn where_one_feedback_too_many_is_a_stop_all_context_falls_with_the_block() {
    // JC-36
    let settled = settled(
        "pre_llm_request",
        &[
            "{\"additional_context\": \"a\", \"system_prompt\": \"x\"}",
            "{\"additional_context\": \"b\", \"retry_feedback\": \"f\"}",
        ],
    );
    assert_eq!(context(&settled), [(0, "a", true), (1, "b", true), (1, "f", true)]);
    assert_eq!(verdicts(&settled), [(1, &Verdict::block("f"))]);
    assert_eq!(settled[0].what.amendment.fields()["system_prompt"], "x");
}

#[test]
fn without_feedback_context_depends_on_nothing() {
    // JC-36, JC-37
    assert_eq!(context(&settled("pre_llm_request", &["{\"additional_context\": \"a\"}"])), [(0, "a", false)]);
    assert_eq!(context(&settled("pre_send_message", &["{\"retry_feedback\": \"f\"}"])), [(0, "f", false)]);
}

#[test]
fn a_chain_has_thirty_seconds_unless_the_environment_says_otherwise() {
    // JC-22
    for (setting, seconds) in
        [(None, 30), (Some("1"), 1), (Some("600"), 600), (Some("0"), 30), (Some("x"), 30), (Some("-5"), 30)]
    {
        assert_eq!(Chain::allowed(setting).time(), Some(Duration::from_secs(seconds)), "{setting:?}");
    }
}

#[test]
fn chains_of_one_time_are_one_as_long_as_one_of_them_is_in_use() {
    // JC-6, JC-16
    let first = Chain::allowed(Some("77"));
    assert!(Arc::ptr_eq(&first, &Chain::allowed(Some("77"))));
    assert!(!Arc::ptr_eq(&first, &Chain::allowed(Some("78"))));
}

#[test]
fn a_chain_is_kept_as_long_as_it_is_in_use() {
    let seconds = "86399";
    let first = Chain::allowed(Some(seconds));
    // Others come and go, and what is no longer used is let go.
    drop(Chain::allowed(Some("86398")));
    let other = Chain::allowed(Some("86397"));
    assert!(Arc::ptr_eq(&first, &Chain::allowed(Some(seconds))));
    assert!(Arc::ptr_eq(&other, &Chain::allowed(Some("86397"))));
    let is_listed = |seconds: u64| {
        let chains = super::IN_USE.lock().unwrap();
        let of_time = |chain: &std::sync::Weak<Chain>| {
            // One that is gone has no time any more.
            chain.upgrade().is_some_and(|chain| chain.time == Duration::from_secs(seconds))
        };
        chains.iter().any(of_time)
    };
    assert!(is_listed(86399) && is_listed(86397) && !is_listed(86398));
}
