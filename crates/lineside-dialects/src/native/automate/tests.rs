//! Each setting, right and wrong, with the words and the line of the finding.

use lineside_core::control::Rules;

use super::super::samples::{hook, sound};
use super::*;

/// A hook with these lines below `automate`, the first of which is line 6.
fn lines(settings: &str) -> String {
    let settings: String = settings.lines().map(|line| format!("  {line}\n")).collect();
    format!("on: after_tool_batch\ncommand: x\nautomate:\n{settings}")
}

/// Its rules.
fn rules(settings: &str) -> Rules {
    let hook = sound(&lines(settings));
    let automated = hook.definition.automate.as_ref().unwrap();
    Rules::clone(&automated.rules[0].1)
}

/// What the builder in Rust makes of the same.
fn built(control: &Control) -> Rules {
    control.check(lineside_points::find("after_tool_batch").unwrap(), &[]).unwrap()
}

const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn what_is_not_said_is_as_in_rust() {
    assert_eq!(sound("on: on_idle\ncommand: x\nautomate: {}").definition.timeout, millis(120_000));
    assert_eq!(rules("rate: null"), built(&Control::default()));
    let debounce = Some(Debounce::quiet(millis(700)));
    assert_eq!(rules("debounce: {quiet: 700}"), built(&Control { debounce, ..Control::default() }));
    let rate = Some(Rate::new(3, millis(60_000)));
    assert_eq!(rules("rate: {starts: 3, period: 60000}"), built(&Control { rate, ..Control::default() }));
    let retry = Retry::exponential(4, millis(5));
    assert_eq!(
        rules("retry: {attempts: 4, exponential: 5}"),
        built(&Control { retry, ..Control::default() })
    );
}

#[test]
fn what_is_said_is_as_in_rust() {
    let control = Control {
        rate: Some(Rate::new(2, millis(1000)).per("{session}").dropping().across_cluster()),
        debounce: Some(Debounce::quiet(millis(10)).at_most(millis(90))),
        batch: Some(Batch { count: 7, within: millis(80) }),
        hold_key: Some("{project_root}".into()),
        hold_scope: Scope::Cluster,
        priority: 5,
        concurrency: Some("lint:{project_root}".into()),
        limit: 2,
        scope: Scope::Machine,
        place: Place::Anywhere,
        on_busy: OnBusy::Coalesce,
        timeout: millis(900_000),
        retry: Retry::exponential(5, millis(100)).at_most(millis(900)).after(RetryAfter::AnyButOutput),
        join: Join::BeforeNextModel,
        result: ResultRule {
            when: ResultWhen::AppendAlways,
            format: Format::Full,
            lines: 3,
            bytes: 500,
            tokens: 60,
        },
        at_end: AtEnd::Drain(millis(4000)),
    };
    let said = "rate: {starts: 2, period: 1000, key: '{session}', excess: drop, scope: cluster}\n\
         debounce: {quiet: 10, at_most: 90, scope: cluster}\n\
         batch: {count: 7, within: 80, scope: machine}\n\
         hold_key: '{project_root}'\n\
         concurrency: lint:{project_root}\n\
         scope: machine\n\
         where: anywhere\n\
         limit: 2\n\
         on_busy: coalesce\n\
         retry: {attempts: 5, exponential: 100, at_most: 900, after: any_but_output}\n\
         join: before_next_model\n\
         result: {when: append_always, format: full, lines: 3, bytes: 500, tokens: 60}\n\
         at_end: {drain: 4000}";
    let hook = sound(&format!("{}priority: 5\ntimeout: 900000", lines(said)));
    assert_eq!(*hook.definition.automate.as_ref().unwrap().rules[0].1, built(&control));
    for (word, on_busy) in [("queue", OnBusy::Queue), ("drop", OnBusy::Drop), ("restart", OnBusy::Restart)] {
        assert_eq!(rules(&format!("concurrency: k\non_busy: {word}")).on_busy, on_busy);
    }
    assert_eq!(rules("where: origin").place, Place::Origin);
    for (word, when) in WHEN {
        assert_eq!(rules(&format!("result: {word}")).result, ResultRule { when, ..ResultRule::default() });
    }
    for (word, format) in [("summary", Format::Summary), ("tail", Format::Tail)] {
        assert_eq!(rules(&format!("result: {{format: {word}}}")).result.format, format);
    }
    assert_eq!(rules("at_end: leave_running").at_end, AtEnd::LeaveRunning);
    assert_eq!(rules("retry: {attempts: 2, constant: 0}").retry, Retry::constant(2, Duration::ZERO));
    assert_eq!(rules("rate: {starts: 1, period: 1, excess: wait}").rate.unwrap().0.excess, Excess::Wait);
    assert_eq!(rules("join: background").join, Join::Background);
}

#[test]
fn events_that_cancel_are_a_mapping_or_several() {
    let cancelling = |settings: &str| -> Vec<(&'static str, Option<String>)> {
        let hook = sound(&lines(settings));
        let describe = |matcher: &lineside_core::Matcher| lineside_core::hook::Select::describe(matcher);
        let automated = hook.definition.automate.as_ref().unwrap();
        assert_eq!(automated.rules[0].1.cancellable, !automated.cancelled_by.is_empty());
        automated.cancelled_by.iter().map(|(point, on)| (point.name, on.as_ref().map(describe))).collect()
    };
    assert_eq!(cancelling("cancelled_by: {on: on_prompt}"), [("on_prompt", None)]);
    assert_eq!(
        cancelling(
            "cancelled_by:\n- {on: [on_prompt, after_agent]}\n- {on: before_tool, match: {tool: Shell}}"
        ),
        [("on_prompt", None), ("after_agent", None), ("before_tool", Some("tool=Shell".to_owned()))]
    );
}

#[test]
fn every_wrong_value_is_told_with_what_would_be_right() {
    for (settings, expected) in [
        ("debouce: 5", "6: hook \"h\": unknown key `automate.debouce`, did you mean `debounce`?"),
        ("debounce: 5", "6: hook \"h\": `automate.debounce` is 5, not a mapping such as {quiet: 2000}"),
        (
            "debounce: {}",
            "6: hook \"h\": there is no `automate.debounce.quiet`, which `automate.debounce` needs",
        ),
        (
            "debounce:\n  quiet: 2s",
            "7: hook \"h\": `automate.debounce.quiet` is \"2s\", not a whole number of milliseconds",
        ),
        (
            "debounce: {quiet: -1}",
            "6: hook \"h\": `automate.debounce.quiet` is -1, not a whole number of milliseconds",
        ),
        (
            "debounce: {quiet: 18446744073709551616}",
            "6: hook \"h\": `automate.debounce.quiet` is 18446744073709551616, not a whole number of milliseconds",
        ),
        (
            "debounce: {quiet: 1.5}",
            "6: hook \"h\": `automate.debounce.quiet` is 1.5, not a whole number of milliseconds",
        ),
        ("debounce:\n  quiet: 0", "7: hook \"h\": `debounce.quiet` is zero; it has to be more than that"),
        (
            "debounce:\n  quiet: 2592000001\n  at_most: 1",
            "7: hook \"h\": `debounce.quiet` is longer than 30 days, which is the longest there may be; is it another \
             unit?",
        ),
        (
            "debounce:\n  quiet: 18446744073709551615",
            "7: hook \"h\": `debounce.quiet` is longer than 30 days, which is the longest there may be; is it another \
             unit?",
        ),
        (
            "debounce:\n  quiet: 9\n  at_most: 8",
            "8: hook \"h\": `debounce.at_most` is shorter than `debounce.quiet`; it has to be as long at least",
        ),
        (
            "debounce: {quiet: 1, most: 8}",
            "6: hook \"h\": unknown key `automate.debounce.most`, did you mean `at_most`?",
        ),
        (
            "batch: {count: 1}",
            "6: hook \"h\": there is no `automate.batch.within`, which `automate.batch` needs",
        ),
        (
            "batch: {count: x, within: 1}",
            "6: hook \"h\": `automate.batch.count` is \"x\", not a whole number",
        ),
        ("batch: {count: 0, within: 1}", "6: hook \"h\": `batch.count` is zero; it has to be more than that"),
        (
            "batch: {count: 4097, within: 1}",
            "6: hook \"h\": `batch.count` is more than 4096, which is the most there may be",
        ),
        (
            "rate: {starts: 1}",
            "6: hook \"h\": there is no `automate.rate.period`, which `automate.rate` needs",
        ),
        (
            "rate: {starts: 1, period: 1, excess: keep}",
            "6: hook \"h\": `automate.rate.excess` is \"keep\", not wait or drop",
        ),
        (
            "rate:\n  starts: 1\n  period: 1\n  key: '{'",
            "9: hook \"h\": `rate.key` is not a template of keys: the brace at 0 has no other one",
        ),
        ("hold_key: ''", "6: hook \"h\": `automate.hold_key` is \"\", not a template of keys"),
        (
            "hold_key: '{sesion}'",
            "6: hook \"h\": `hold_key` is not a template of keys: there is no field `sesion`; the nearest is `session`",
        ),
        (
            "concurrency: k\nlimit: 2\nscope: cluster",
            "7: hook \"h\": `limit` has to be 1 with `scope: cluster`: such a key is one machine's at a time",
        ),
        ("concurrency: 5", "6: hook \"h\": `automate.concurrency` is 5, not a template of keys"),
        (
            "concurrency: '{payload.tool_name}'",
            "6: hook \"h\": `concurrency` is not a template of keys: there is no field `payload.tool_name`; the nearest \
             is `payload.tool_calls`",
        ),
        ("concurrency: ' '", "6: hook \"h\": `concurrency` is not a template of keys: it is blank"),
        (
            "limit: 2",
            "6: hook \"h\": `limit` says what happens to runs of one key; it needs a `concurrency` that says what the \
             key is",
        ),
        ("limit: -2", "6: hook \"h\": `automate.limit` is -2, not a whole number"),
        (
            "on_busy: drop",
            "6: hook \"h\": `on_busy` says what happens to runs of one key; it needs a `concurrency` that says what the \
             key is",
        ),
        (
            "on_busy: skip",
            "6: hook \"h\": `automate.on_busy` is \"skip\", not queue or coalesce or drop or restart",
        ),
        (
            "retry: {constant: 1}",
            "6: hook \"h\": there is no `automate.retry.attempts`, which `automate.retry` needs",
        ),
        (
            "retry: {attempts: 2}",
            "6: hook \"h\": there is no `constant` or `exponential`, which `automate.retry` needs",
        ),
        (
            "retry:\n  attempts: 2\n  constant: 1\n  exponential: 1",
            "9: hook \"h\": there are both `automate.retry.constant` and `automate.retry.exponential`, of which one counts",
        ),
        (
            "retry: {attempts: 0, constant: 1}",
            "6: hook \"h\": `retry.attempts` is zero; it has to be more than that",
        ),
        (
            "retry: {attempts: 1001, constant: 1}",
            "6: hook \"h\": `retry.attempts` is more than 1000, which is the most there may be",
        ),
        (
            "retry: {attempts: 2, exponential: 0}",
            "6: hook \"h\": `retry.exponential` is zero; it has to be more than that",
        ),
        (
            "retry: {attempts: 2, exponential: 9, at_most: 8}",
            "6: hook \"h\": `retry.at_most` is shorter than `retry.exponential`; it has to be as long at least",
        ),
        (
            "retry: {attempts: 2, constant: 1, after: exit}",
            "6: hook \"h\": `automate.retry.after` is \"exit\", not any_failure or any_but_output",
        ),
        ("join: now", "6: hook \"h\": `automate.join` is \"now\", not background or before_next_model"),
        (
            "result: always",
            "6: hook \"h\": `automate.result` is \"always\", not ignore or notify or append_on_failure or append_always",
        ),
        (
            "result: {format: head}",
            "6: hook \"h\": `automate.result.format` is \"head\", not summary or tail or full",
        ),
        ("result:\n  lines: 0", "7: hook \"h\": `result.lines` is zero; it has to be more than that"),
        ("result:\n  tokens: 0", "7: hook \"h\": `result.tokens` is zero; it has to be more than that"),
        ("at_end: drop", "6: hook \"h\": `automate.at_end` is \"drop\", not leave_running"),
        ("at_end: {}", "6: hook \"h\": there is no `automate.at_end.drain`, which `automate.at_end` needs"),
        ("at_end: {drain: 0}", "6: hook \"h\": `at_end.drain` is zero; it has to be more than that"),
        (
            "cancelled_by: on_prompt",
            "6: hook \"h\": `automate.cancelled_by` is \"on_prompt\", not a mapping with the key `on`, or a list of them",
        ),
        (
            "cancelled_by:\n- {match: {tool: a}}",
            "7: hook \"h\": there is no `automate.cancelled_by.on`, which `automate.cancelled_by` needs",
        ),
        (
            "cancelled_by: {on: on_promt}",
            "6: hook \"h\": `on` has no point `on_promt`, did you mean `on_prompt`?",
        ),
        (
            "cancelled_by: {on: before_tool, match: {tol: a}}",
            "6: hook \"h\": unknown key `automate.cancelled_by.match.tol`, did you mean `tool`?",
        ),
        (
            "concurrency: '{payload.changed_files}'\ncancelled_by: {on: on_prompt}",
            "6: hook \"h\": `concurrency` is not a template of keys: events of on_prompt have no field \
             `payload.changed_files`, and are to have the same keys",
        ),
    ] {
        let (definition, told) = hook(&lines(settings));
        assert_eq!(told, [expected], "{settings}");
        assert!(definition.is_none(), "{settings}");
    }
    let (definition, told) = hook("on: after_session\ncommand: x\nautomate:\n  join: before_next_model");
    assert_eq!(
        told,
        [
            "6: hook \"h\": `join` is before_next_model, and no model is called after after_session; it has to be background"
        ]
    );
    assert!(definition.is_none());
    for (timeout, expected) in [
        ("0", "5: hook \"h\": `timeout` is zero; it has to be more than that"),
        ("5s", "5: hook \"h\": `timeout` is \"5s\", not a whole number of milliseconds"),
    ] {
        let (_, told) = hook(&format!("on: on_idle\ncommand: x\ntimeout: {timeout}\nautomate: {{}}"));
        assert_eq!(told, [expected]);
    }
    assert_eq!(
        hook("on: on_idle\ncommand: x\nautomate: true").1,
        ["5: hook \"h\": `automate` is true, not a mapping of settings"]
    );
}

#[test]
fn what_has_no_effect_is_told() {
    for (key, expected) in [
        ("async: true", "6: hook \"h\": `async` has no effect: an automation is not waited for"),
        ("amends: true", "6: hook \"h\": `amends` has no effect: the hook is not waited for"),
        ("on_failure: block", "6: hook \"h\": `on_failure` has no effect: the hook is not waited for"),
    ] {
        let (definition, told) = hook(&format!("on: before_tool\ncommand: x\nautomate: {{}}\n{key}"));
        assert_eq!(told, [expected]);
        assert!(definition.is_some());
    }
    let (definition, told) = hook(&lines("retry: {attempts: 2, constant: 1, at_most: 5}"));
    assert_eq!(
        told,
        ["6: hook \"h\": `automate.retry.at_most` has no effect: constant pauses are always as long"]
    );
    assert!(definition.is_some());
}
