//! Hooks that answer without a process, right and wrong, with the words and the line of the finding.

use lineside_core::json::{Value, json};
use lineside_core::{AnyEvent, Part};

use super::super::handler::NativeHook;
use super::super::samples::{event, hook, shell_of as shell, sound};
use crate::handler::{Call, Handler, Returned};

/// What a hook says of an event that its filters let through; nothing where they do not.
fn said(hook: &NativeHook, event: &AnyEvent) -> Option<String> {
    if !hook.definition.matcher.as_ref().is_none_or(|matcher| matcher.matches(event)) {
        return None;
    }
    assert_eq!(hook.prepare(event), Ok(Call::Nothing));
    Some(hook.read(event, &Returned::Nothing).unwrap().verdict.to_string())
}

#[test]
fn a_verdict_is_the_answer_for_what_the_filters_let_through() {
    let hook = sound(
        "on: before_tool\nmatch: {runs: {program: git, subcommand: push, operand: [main, '*:main']}}\n\
         verdict: ask\nreason: main is pushed by a person",
    );
    let told = "ask: main is pushed by a person (git, by env)";
    assert_eq!(said(&hook, &shell("env A=1 git -C x push origin HEAD:main")).unwrap(), told);
    assert_eq!(said(&hook, &shell("git commit -m 'git push origin main'")), None);
    let told = said(&hook, &shell("$GIT push origin main")).unwrap();
    assert!(
        told.contains("(cannot tell which program runs: `$GIT` is not set within the command)"),
        "{told}"
    );
    let hook = sound("on: before_tool\nmatch: {tool: Task}\nverdict: allow");
    assert_eq!(
        said(&hook, &event("before_tool", json!({"tool_name": "Task", "tool_input": {}}))).unwrap(),
        "allow"
    );
    let hook = sound(
        "on: after_tool\nmatch: {text: hunter2}\nverdict: block\nreason: 'a secret, by {payload.tool_name}'",
    );
    let after = event("after_tool", json!({"tool_name": "Shell", "tool_output": "hunter2"}));
    assert_eq!(said(&hook, &after).unwrap(), "block: a secret, by Shell");
}

#[test]
fn what_is_not_known_matches_for_what_refuses_and_not_for_what_allows() {
    let filters = "on: before_tool\nmatch: {runs: rm}\n";
    for (verdict, expected) in [
        ("verdict: block", true),
        ("verdict: ask", true),
        ("verdict: stop", true),
        ("verdict: allow", false),
        ("context: be careful", false),
        ("command: x", true),
        ("command: x\nasync: true", false),
        ("command: x\nautomate: {}", false),
    ] {
        let hook = sound(&format!("{filters}{verdict}"));
        let matcher = hook.definition.matcher.as_ref().unwrap();
        assert_eq!(matcher.matches(&shell("$X a")), expected, "{verdict}");
        assert!(matcher.matches(&shell("rm a")), "{verdict}");
    }
}

#[test]
fn a_hook_that_amends_is_an_amender_and_needs_no_word_for_it() {
    let hook = sound(
        "on: before_tool\nmatch: {runs: {program: git, subcommand: push}}\ncontext: '{program} runs dry'\n\
         amend: {tool_input.command: '{payload.tool_input.command} --dry-run'}",
    );
    let push = shell("git push");
    assert_eq!(hook.definition.part(push.point()), Part::Amender);
    let answer = hook.read(&push, &Returned::Nothing).unwrap();
    let amended = answer.amendment.apply(push.payload()).unwrap().unwrap().payload;
    assert_eq!(amended.value("tool_input"), Some(&json!({"command": "git push --dry-run"})));
    assert_eq!(answer.context[0].text, "git runs dry");
    let hook = sound("on: after_tool\namend: {tool_output: {redact: 'sk-[a-z]+', with: KEY}}");
    let after = event("after_tool", json!({"tool_name": "Shell", "tool_output": {"out": ["a sk-abc b"]}}));
    let amended = hook.read(&after, &Returned::Nothing).unwrap().amendment.apply(after.payload()).unwrap();
    assert_eq!(amended.unwrap().payload.value("tool_output"), Some(&json!({"out": ["a KEY b"]})));
    let untouched = event("after_tool", json!({"tool_name": "Shell", "tool_output": Value::Null}));
    assert!(hook.read(&untouched, &Returned::Nothing).unwrap().amendment.is_empty());
}

#[test]
fn a_limit_keeps_the_verdict_back_until_it_is_passed() {
    let hook = sound(
        "on: before_tool\nmatch: {runs: curl}\nverdict: block\nreason: enough\nlimit: {at_most: 1, per: 1m}",
    );
    let (curl, other) = (shell("curl a"), shell("curl b"));
    assert_eq!(said(&hook, &curl).unwrap(), "continue");
    assert_eq!(said(&hook, &curl).unwrap(), "continue", "the same event counts once");
    let envelope =
        lineside_core::Envelope { id: lineside_core::EventId::from_u128(7), ..other.envelope().clone() };
    assert_eq!(said(&hook, &other.with_envelope(envelope)).unwrap(), "block: enough (curl)");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (lines, expected) in [
        (
            "on: before_tool\nverdict: deny",
            "4: hook \"h\": `verdict` is \"deny\", not block or ask or allow or stop",
        ),
        (
            "on: before_tool\nverdict: block\ncommand: x",
            "5: hook \"h\": `command` has no place beside `verdict`",
        ),
        ("on: before_tool\nreason: x", "4: hook \"h\": there is no `verdict`, which `reason` needs"),
        (
            "on: after_tool\nverdict: ask",
            "4: hook \"h\": `verdict` is ask, and at after_tool a hook may say block or stop",
        ),
        (
            "on: on_idle\nverdict: block",
            "4: hook \"h\": `verdict` is block, and at on_idle a hook may say nothing",
        ),
        (
            "on: before_tool\nverdict: block\nreason: '{programm}'",
            "5: hook \"h\": `reason`: there is no field `programm`; the nearest is `program`",
        ),
        ("on: before_tool\nverdict: block\nreason: '{program'", "5: hook \"h\": `reason`: the brace at 0"),
        (
            "on: before_tool\nverdict: block\namend: {tool_input: x}",
            "5: hook \"h\": `amend` has no place beside `verdict: block`",
        ),
        (
            "on: before_tool\namend: {tool_name: x}",
            "4: hook \"h\": `amend` names `tool_name`, and at before_tool may be amended: tool_input",
        ),
        (
            "on: before_tool\namend: {tool_input: {redact: '('}}",
            "4: hook \"h\": `amend.redact` is not a regular expression: unclosed group",
        ),
        (
            "on: before_tool\namend: {tool_input: {redac: a}}",
            "4: hook \"h\": unknown key `amend.redac`, did you mean `redact`?",
        ),
        (
            "on: before_tool\nverdict: block\nmatch: {runs: {programm: git}}",
            "5: hook \"h\": unknown key `match.runs.programm`, did you mean `program`?",
        ),
        (
            "on: before_tool\nverdict: block\nmatch:\n  runs:\n    - program: git\n    - {program: psql,\n       text: '('}",
            "9: hook \"h\": `match.runs[1].text` is not a regular expression",
        ),
        (
            "on: before_tool\nverdict: block\nmatch: {unclear: skip}",
            "5: hook \"h\": there is `match.unclear` and no filter",
        ),
        (
            "on: before_tool\nverdict: block\nmatch: {deletes: {outside: home}}",
            "5: hook \"h\": `match.deletes.outside` is \"home\", not `project`",
        ),
        (
            "on: before_tool\nverdict: block\nmatch: {does: sends_secrets}",
            "5: hook \"h\": `match.does` is \"sends_secrets\", which is no such word, did you mean `sends_secret`?",
        ),
        (
            "on: before_tool\nverdict: block\nlimit: {at_most: 3}",
            "5: hook \"h\": there is no `limit.per`, which `limit` needs",
        ),
        (
            "on: before_tool\nverdict: block\nlimit: {at_most: 3, per: 1x}",
            "5: hook \"h\": `limit.per` is \"1x\", not a span such as",
        ),
        (
            "on: before_tool\nverdict: block\nlimit: {at_most: 3, per: 1m, key: '{sesion}'}",
            "5: hook \"h\": `limit.key`: there is no field `sesion`",
        ),
        (
            "on: before_tool\nverdict: block\nlimit: {at_most: 1001, per: 1m}",
            "5: hook \"h\": `limit.at_most` is 1001, not an integer from 0 to 1000",
        ),
        (
            "on: before_tool\nverdict: block\nlimit: {at_most: 3, at_once: 2, per: 1m}",
            "5: hook \"h\": there are both `limit.at_most` and `limit.at_once`, of which one counts",
        ),
        (
            "on: before_prompt\nverdict: block\nlimit: {at_once: 2}",
            "5: hook \"h\": `limit.at_once` counts what has an end, and nothing ends what before_prompt begins",
        ),
        (
            "on: before_tool\ncontext: x\nlimit: {at_most: 3, per: 1m}",
            "5: hook \"h\": there is no `verdict`, which `limit` needs",
        ),
        (
            "on: before_tool\nverdict: block\nlimit: {at_most: 3, per: 5}",
            "5: warning hook \"h\": `limit.per` is 5, which are milliseconds: 5 seconds are 5000",
        ),
        ("on: before_tool\nverdict: block\ntimeout: 5", "5: warning hook \"h\": `timeout` has no effect"),
        (
            "on: before_prompt\nverdict: block\nmatch: {runs: git}",
            "5: hook \"h\": `match.runs` looks at what no event of before_prompt has: the hook would never run",
        ),
    ] {
        let (definition, told) = hook(lines);
        assert!(
            told.iter().any(|told| told.starts_with(&expected.replace("warning ", ""))),
            "{lines}: {told:#?}"
        );
        assert_eq!(definition.is_some(), expected.contains("warning"), "{lines}");
    }
}
