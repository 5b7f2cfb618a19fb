//! Each field, right and wrong, with the words and the line of the finding.

use std::path::Path;
use std::time::Duration;

use lineside_core::OnFailure;
use lineside_core::worker::WorkerStart;

use super::warm::Warm;
use super::{Declared, Mode, check};
use crate::agenthooks::frontmatter::SYNTAX;
use crate::findings::Findings;
use crate::source::draft;

/// What is declared, and the findings as `line: text`.
fn read(frontmatter: &str) -> (Option<Declared>, Vec<String>) {
    let mut findings = Findings::about(Path::new("/f/HOOK.md"));
    let draft = draft(format!("---\n{frontmatter}\n---\n").as_bytes(), &SYNTAX, &mut findings).unwrap();
    let declared = check(&draft, "folder", &mut findings);
    let told = findings.into_diagnostics().iter().map(ToString::to_string).collect();
    (declared, told)
}

const HEAD: &str = "name: h\ndescription: d\ntrigger: before_tool\n";

/// One more line, the fifth of the file, below a sound head.
fn told(line: &str, expected: &[&str]) -> Option<Declared> {
    let (declared, told) = read(&format!("{HEAD}{line}"));
    let expected: Vec<_> = expected.iter().map(|text| format!("/f/HOOK.md:{text}")).collect();
    assert_eq!(told, expected, "{line}");
    declared
}

#[test]
fn names_follow_their_rules() {
    // AH-11, AH-13, E5, E6, W2 to W4
    let check = |name: &str, expected: &[&str]| {
        let (declared, told) = read(&format!("description: d\ntrigger: before_tool\nname: {name}"));
        let expected: Vec<_> = expected.iter().map(|text| format!("/f/HOOK.md:{text}")).collect();
        assert_eq!(told, expected, "{name}");
        declared
    };
    assert_eq!(check("' trim-me '", &[]).unwrap().name, "trim-me");
    check("Bad_Name", &["4: Hook name 'Bad_Name' must be lowercase"]);
    check("-a", &["4: Hook name '-a' cannot start or end with a hyphen"]);
    check("a--b", &["4: Hook name 'a--b' cannot contain consecutive hyphens"]);
    check("a_b", &["4: Hook name 'a_b' contains characters other than letters, digits and hyphens"]);
    check("名-1", &[]);
    let long = "a".repeat(70);
    check(&long, &[&format!("4: Hook name '{long}' exceeds 64 character limit (70 chars)")]);
    for nothing in ["''", "' '", "5", "[a]", "true"] {
        check(nothing, &["4: Field 'name' must be a non-empty string"]);
    }
    check("~", &["1: Missing required field in frontmatter: name"]);
}

#[test]
fn triggers_are_known_or_an_error() {
    // AH-18, AH-19, E5, E7, E8
    let check = |trigger: &str, expected: &str| {
        let (declared, told) = read(&format!("name: h\ndescription: d\ntrigger: {trigger}"));
        assert!(declared.is_none(), "{trigger}");
        assert!(told[0].starts_with(&format!("/f/HOOK.md:{expected}")), "{told:?}");
    };
    check(
        "before_tools",
        "4: Invalid trigger 'before_tools'. Did you mean 'before_tool'? Valid values: session_start, session_end, before_agent,",
    );
    check("post-tool", "4: Invalid trigger 'post-tool'.");
    check("[before_tool]", "4: Field 'trigger' must be a string");
    check("1", "4: Field 'trigger' must be a string");
    check("", "1: Missing required field in frontmatter: trigger");
    let (declared, told) = read("name: h\ndescription: d\ntrigger: ' after_stop '");
    assert_eq!(declared.unwrap().written, "after_stop");
    assert_eq!(told, ["/f/HOOK.md:4: Trigger 'after_stop' has no point of its own, it runs at after_agent"]);
}

#[test]
fn numbers_are_read_leniently_and_moved_into_their_range() {
    // AH-11 to AH-13, E12, W5 to W7
    let timeout = |text: &str, expected: &[&str]| {
        told(&format!("timeout: {text}"), expected).map(|it| it.timeout.as_millis())
    };
    assert_eq!(timeout("0x3E8", &[]), Some(1000));
    assert_eq!(timeout("~", &[]), Some(30_000));
    assert_eq!(
        timeout("50", &["5: Timeout must be between 100 and 600000 ms (got 50), using 100"]),
        Some(100)
    );
    assert_eq!(timeout("'+5000'", &["5: Field 'timeout' is a string, read as 5000"]), Some(5000));
    assert_eq!(
        timeout(
            "\"-1\"",
            &[
                "5: Field 'timeout' is a string, read as -1",
                "5: Timeout must be between 100 and 600000 ms (got -1), using 100"
            ]
        ),
        Some(100)
    );
    let priority =
        |text: &str, expected: &[&str]| told(&format!("priority: {text}"), expected).map(|it| it.priority);
    assert_eq!(priority("0", &[]), Some(0));
    assert_eq!(
        priority("5000", &["5: Priority must be between 0 and 1000 (got 5000), using 1000"]),
        Some(1000)
    );
    assert_eq!(priority("-3", &["5: Priority must be between 0 and 1000 (got -3), using 0"]), Some(0));
    for other in ["5s", "1.5", "1e3", "true", "[1]", "' 5'", "''", "1_000", "'0x10'"] {
        assert_eq!(timeout(other, &["5: Field 'timeout' must be an integer"]), None);
        assert_eq!(priority(other, &["5: Field 'priority' must be an integer"]), None);
    }
}

#[test]
fn async_has_many_words() {
    // AH-11, AH-12, E13
    let mode = |text: &str| told(&format!("async: {text}"), &[]).map(|it| it.mode);
    for word in ["true", "True", "'true'", "yes", "YES", "on", "'1'", "1", "tRuE"] {
        assert_eq!(mode(word), Some(Mode::Async), "{word}");
    }
    for word in ["false", "'False'", "no", "off", "'0'", "0", "~", ""] {
        assert_eq!(mode(word), Some(Mode::Sync), "{word}");
    }
    for other in ["sometimes", "2", "1.0", "[true]", "' yes'", "''"] {
        told(&format!("async: {other}"), &["5: Field 'async' must be a boolean"]);
    }
    assert_eq!(told("async: off\nasync_: true", &[]).map(|it| it.mode), Some(Mode::Sync));
    assert_eq!(told("async_: yes", &[]).map(|it| it.mode), Some(Mode::Async));
}

#[test]
fn matchers_are_checked() {
    // AH-10, AH-21, AH-24, AH-26, E9 to E11, W8 to W11
    assert!(told("matcher: {}", &[]).unwrap().filter.is_none());
    assert!(told("matcher: {tool: '', pattern: ~}", &[]).unwrap().filter.is_none());
    told("matcher: Shell", &["5: Field 'matcher' must be an object"]);
    told(
        "matcher:\n  tool: [a]\n  pattern: 5",
        &["6: Matcher field 'tool' must be a string", "7: Matcher field 'pattern' must be a string"],
    );
    told(
        "matcher:\n  tool: a\n  tools: b",
        &["7: Unexpected field in matcher: 'tools'; did you mean 'tool'?"],
    );
    told(
        "matcher:\n  pattern: '(bad'",
        &["6: Invalid regex in matcher.pattern: missing ), unterminated subpattern at position 0"],
    );
    told(
        "matcher:\n  pattern: \"\\bmkfs\\b \\.\"",
        &[
            "6: unknown escape '\\.' in a double-quoted string is read as it stands; use single quotes or '\\\\.'",
            "6: '\\b' in matcher.pattern is read as a word boundary; use single quotes or '\\\\b'",
        ],
    );
    let (declared, told) = read("name: h\ndescription: d\ntrigger: before_stop\nmatcher: {tool: Shell}");
    assert_eq!(told, ["/f/HOOK.md:5: matcher has no effect on trigger 'before_stop'"]);
    assert!(declared.unwrap().filter.is_none());
}

#[test]
fn other_keys_are_told() {
    // AH-8, AH-11, AH-14, AH-15, E14, E15, W1, W2, W8
    told(
        "prority: 5\n1: x",
        &[
            "5: Unexpected field in frontmatter: 'prority'; did you mean 'priority'?",
            "6: Unexpected field in frontmatter: '1'",
        ],
    );
    told("metadata: {a: [1], b: {c: d}}", &[]);
    told("metadata: {a: 1, a: 2}", &["5: Duplicate key 'a' in frontmatter"]);
    told("timeout: 200\ntimeout: 300", &["6: Duplicate key 'timeout' in frontmatter"]);
    told("on_failure: open", &["5: Field 'on_failure' must be 'continue' or 'block'"]);
    let (declared, told) = read("name: h\ntrigger: before_tool");
    assert_eq!(told, ["/f/HOOK.md:1: Missing field in frontmatter: description"]);
    assert_eq!(declared.unwrap().timeout, Duration::from_secs(30));
    let (_, told) = read(&format!("name: h\ntrigger: before_tool\ndescription: {}", "y".repeat(1100)));
    assert_eq!(told, ["/f/HOOK.md:4: Description exceeds 1024 character limit (1100 chars)"]);
}

#[test]
fn a_guard_that_cannot_load_is_closed() {
    // AH-16, AH-66, W18
    let closed =
        |text: &str| read(text).0.map(|it| (it.name.clone(), it.closed.clone(), it.filter.is_some()));
    let guard = "trigger: before_tool\non_failure: block\n";
    let some = |name: &str, error: &str, filters| Some((name.to_owned(), Some(error.to_owned()), filters));
    assert_eq!(
        closed(&format!("{guard}name: g\nmatcher:\n  tool: Shell\n  pattern: '(bad'")),
        some("g", "Invalid regex in matcher.pattern: missing ), unterminated subpattern at position 0", true)
    );
    assert_eq!(closed(guard), some("folder", "Missing required field in frontmatter: name", false));
    assert_eq!(
        closed(&format!("{guard}name: g\ntimeout: 5s\npriority: high")),
        some("g", "Field 'timeout' must be an integer", false)
    );
    assert_eq!(
        closed(&format!("{guard}name: g\nasync: maybe")),
        some("g", "Field 'async' must be a boolean", false)
    );
    assert_eq!(
        closed(&format!("{guard}name: g\nname: f")),
        some("g", "Duplicate key 'name' in frontmatter", false)
    );
    assert_eq!(closed(&format!("{guard}name: g\nasync: true\ntimeout: x")), None);
    assert_eq!(closed("name: g\ntrigger: before_tool\ntimeout: x"), None);
    assert_eq!(closed("name: g\ntrigger: nothing\non_failure: block"), None);
    let declared =
        told("async: true\non_failure: block", &["6: on_failure has no effect on an async hook"]).unwrap();
    assert_eq!((declared.on_failure, declared.closed), (OnFailure::Continue, None));
    assert_eq!(told("on_failure: block", &[]).unwrap().on_failure, OnFailure::Block);
}

#[test]
fn a_hook_may_run_in_a_worker() {
    let worker = |line: &str, expected: &[&str]| told(line, expected).unwrap().worker;
    let kept = |start, idle: Option<u64>| Some(Warm { start, idle: idle.map(Duration::from_millis) });
    assert_eq!(worker("mode: worker", &[]), kept(WorkerStart::OnUse, None));
    assert_eq!(worker("mode: command", &[]), None);
    assert_eq!(worker("mode: null", &[]), None);
    assert_eq!(
        worker("mode: worker\nworker: {start: ahead, idle: 5000}", &[]),
        kept(WorkerStart::Ahead, Some(5000))
    );
    assert_eq!(worker("mode: worker\nworker:", &[]), kept(WorkerStart::OnUse, None));
}

/// A hook whose author means something else by these keys is unchanged.
#[test]
fn what_is_wrong_with_a_worker_is_told_and_costs_nothing_else() {
    let worker = |line: &str, expected: &[&str]| told(line, expected).unwrap().worker;
    let kept = Some(Warm { start: WorkerStart::OnUse, idle: None });
    assert_eq!(
        worker(
            "mode: wroker",
            &[
                "5: Field 'mode' is wroker, not 'worker': the hook is started for each event; did you mean 'worker'?"
            ]
        ),
        None
    );
    assert_eq!(
        worker("mode: [a]", &["5: Field 'mode' is […], not 'worker': the hook is started for each event"]),
        None
    );
    assert_eq!(worker("worker: {idle: 5000}", &["5: worker has no effect without 'mode: worker'"]), None);
    for (line, expected) in [
        ("worker: 1", "6: Field 'worker' is not a mapping, it has no effect"),
        ("worker: {idel: 5000}", "6: Unexpected field in worker: 'idel'; did you mean 'idle'?"),
        ("worker: {start: now}", "6: Worker field 'start' is now, not 'use' or 'ahead'; it has no effect"),
        (
            "worker: {idle: 1}",
            "6: Worker field 'idle' is 1, not 1000 to 86400000 milliseconds; it has no effect",
        ),
    ] {
        assert_eq!(worker(&format!("mode: worker\n{line}"), &[expected]), kept, "{line}");
    }
}
