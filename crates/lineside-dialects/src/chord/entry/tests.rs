//! Keys, values and what is found wrong with them.

use std::time::Duration;

use lineside_core::hook::Join;
use lineside_core::{AgentKind, OnFailure};

use super::Declared;
use crate::chord::file::Entry;
use crate::chord::report::{Disposal, Format};
use crate::chord::samples::read;
use crate::chord::shell::Run;

/// What is found wrong with an entry of a point; its keys stand on line 4 and below.
fn findings(point: &str, keys: &str) -> (Option<Declared>, Vec<String>) {
    let keys = keys.replace('\n', "\n    ");
    let text = format!("hooks:\n  {point}:\n  - name: h\n    {keys}\n");
    let (mut entries, diagnostics) = read(&text);
    assert_eq!(entries.len(), 1, "{text}");
    let told = diagnostics.iter().map(|one| format!("{} {one}", one.severity.as_str())).collect();
    (entries.pop().unwrap().declared, told)
}

fn declared(point: &str, keys: &str) -> Declared {
    let (declared, told) = findings(point, keys);
    assert_eq!(told, [] as [String; 0], "{keys}");
    declared.unwrap()
}

/// The one finding about an entry with a command and this key.
fn check(point: &str, key: &str, loads: bool, expected: &str) {
    let (declared, told) = findings(point, &format!("command: [\"true\"]\n{key}"));
    assert_eq!(told, [expected], "{key}");
    assert_eq!(declared.is_some(), loads, "{key}");
}

#[test]
fn the_defaults() {
    // CH-6
    let hook = declared("on_tool_batch_complete", "shell: x");
    assert_eq!(hook.timeout, Duration::from_secs(30));
    assert_eq!(hook.join, Join::Background);
    assert_eq!((hook.report.disposal, hook.report.format), (None, Format::Summary));
    assert_eq!((hook.report.lines, hook.report.bytes), (50, 4096));
    assert_eq!((hook.debounce, hook.concurrency), (None, None));
    assert_eq!((hook.retry.again, hook.retry.delay), (0, Duration::ZERO));
    assert_eq!(hook.on_failure, OnFailure::Continue);
    assert!(hook.environment.is_empty());
    let zeros = "shell: x\ntimeout: 0\nmax_result_lines: 0\nmax_result_bytes: 0\nconcurrency: \"\"";
    let hook = declared("on_tool_batch_complete", zeros);
    assert_eq!(hook.timeout, Duration::from_secs(30));
    assert_eq!((hook.report.lines, hook.report.bytes), (50, 4096));
    assert_eq!(hook.concurrency, None);
}

#[test]
fn every_key_is_read() {
    // CH-6
    let hook = declared(
        "on_tool_batch_complete",
        "shell: x\ntimeout: 86400\nagent_kinds: [main, sub]\njoin: before_next_llm\nresult: notify_only\n\
         result_format: tail\nmax_result_lines: 1000000\nmax_result_bytes: 10485760\ndebounce_ms: 10\n\
         debounce_max_wait_ms: 36000000\nconcurrency: 5\nretry_on_failure: 1000\nretry_delay_ms: 3600000\n\
         environment: {A: 1.50, B: , 5: \"\"}",
    );
    assert_eq!(hook.timeout, Duration::from_secs(86_400));
    assert_eq!(hook.filter.kinds, [AgentKind::Main, AgentKind::Subagent]);
    assert_eq!(hook.join, Join::BeforeNextModel);
    assert_eq!((hook.report.disposal, hook.report.format), (Some(Disposal::NotifyOnly), Format::Tail));
    assert_eq!((hook.report.lines, hook.report.bytes), (1_000_000, 10_485_760));
    let debounce = hook.debounce.unwrap();
    assert_eq!((debounce.quiet, debounce.at_most), (Duration::from_millis(10), Duration::from_secs(36_000)));
    assert_eq!(hook.concurrency.as_deref(), Some("5"));
    assert_eq!((hook.retry.again, hook.retry.delay), (1000, Duration::from_secs(3600)));
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(hook.environment, [variable("A", "1.50"), variable("B", ""), variable("5", "")]);
    let hook = declared("on_idle", "shell: x\ndebounce_ms: 3600000");
    assert_eq!(hook.debounce.unwrap().at_most, Duration::from_secs(36_000));
    assert_eq!(declared("on_tool_call", "shell: x\non_failure: block").on_failure, OnFailure::Block);
}

#[test]
fn a_value_that_a_key_cannot_have_disables_the_hook() {
    // CH-5, CH-6, CH-7
    let start = |line: u32| format!("error /f/config.yaml:{line}: on_idle, hook \"h\": ");
    let wrong = |key: &str, expected: &str| check("on_idle", key, false, &(start(5) + expected));
    wrong("timeout: \"10\"", "`timeout` is \"10\", not an integer from 0 to 86400");
    wrong("timeout: -1", "`timeout` is -1, not an integer from 0 to 86400");
    wrong("timeout: 86401", "`timeout` is 86401, not an integer from 0 to 86400");
    wrong("timeout: 1.0", "`timeout` is 1.0, not an integer from 0 to 86400");
    wrong(
        "timeout: 9999999999999999999999",
        "`timeout` is 9999999999999999999999, not an integer from 0 to 86400",
    );
    wrong("retry_on_failure: 1001", "`retry_on_failure` is 1001, not an integer from 0 to 1000");
    wrong("only_on_error: \"yes\"", "`only_on_error` is \"yes\", not true or false");
    wrong("only_on_error: 1", "`only_on_error` is 1, not true or false");
    wrong("tools: Shell", "`tools` is \"Shell\", not a list of globs");
    wrong("tools: [null]", "`tools[]` is null, not a string");
    wrong("agents: {a: b}", "`agents` is a mapping, not a list of globs");
    wrong("agent_kinds: [Main]", "`agent_kinds[]` is \"Main\", not one of main, subagent, sub");
    check(
        "on_tool_batch_complete",
        "join: later",
        false,
        "error /f/config.yaml:5: on_tool_batch_complete, hook \"h\": `join` is \"later\", not one of background, before_next_llm",
    );
    wrong("on_failure: stop", "`on_failure` is \"stop\", not one of continue, block");
    wrong("concurrency: []", "`concurrency` is a list, not a string");
    wrong("environment: [A]", "`environment` is a list, not a mapping from names to strings");
    wrong("environment: {A=B: c}", "`environment` is \"A=B\", not a name without `=` and NUL");
    wrong("environment: {\"\": c}", "`environment` is \"\", not a name without `=` and NUL");
    wrong("environment: {A: [b]}", "`environment.A` is a list, not a string");
    let text = "`debounce_max_wait_ms` is 4, not an integer from 5 to 36000000";
    check("on_idle", "debounce_ms: 5\ndebounce_max_wait_ms: 4", false, &(start(6) + text));
}

#[test]
fn the_line_is_that_of_the_element_at_fault() {
    // CH-5, CH-25
    check(
        "on_idle",
        "paths:\n- \"src/**\"\n- \"src/[\"",
        false,
        "error /f/config.yaml:7: on_idle, hook \"h\": `paths` has a malformed glob `src/[`: a class is not closed",
    );
}

#[test]
fn there_is_exactly_one_command() {
    // CH-5, CH-9
    let check = |keys: &str, run: Option<Run>, expected: &[&str]| {
        let (declared, told) = findings("on_idle", keys);
        assert_eq!(told, expected, "{keys}");
        assert_eq!(declared.map(|declared| declared.run), run, "{keys}");
    };
    let argv = Run::Arguments(vec!["a".into(), "5".into(), "true".into()]);
    check("command: [a, 5, true]", Some(argv), &[]);
    check("command: a b", Some(Run::Sh("a b".into())), &[]);
    check("command:\nshell: a b", Some(Run::Sh("a b".into())), &[]);
    let at = |line: u32, text: &str| format!("error /f/config.yaml:{line}: on_idle, hook \"h\": {text}");
    check("command: [a]\nshell: b", None, &[&at(3, "there are both `command` and `shell`")]);
    check("timeout: 5", None, &[&at(3, "there is neither `command` nor `shell`")]);
    check("command: []", None, &[&at(4, "`command` is empty, not something to run")]);
    check("shell: \" \"", None, &[&at(4, "`shell` is empty, not something to run")]);
    check("command: {a: b}", None, &[&at(4, "`command` is a mapping, not a list of strings or a string")]);
    check("command: [[a]]", None, &[&at(4, "`command[]` is a list, not a string")]);
    check("shell: [a]", None, &[&at(4, "`shell` is a list, not a string")]);
    // CH-10: there is no bash where these tests look.
    let warning = "warning /f/config.yaml:4: on_idle, hook \"h\": `shell` contains `<<<` and there is no bash: sh runs it";
    check("shell: cat <<< x", Some(Run::Sh("cat <<< x".into())), &[warning]);
}

#[test]
fn an_unknown_key_is_a_warning() {
    // CH-5
    let at = "warning /f/config.yaml:5: on_idle, hook \"h\": ";
    check("on_idle", "tool: [x]", true, &format!("{at}unknown key `tool`, did you mean `tools`?"));
    check("on_idle", "xyzzy: 1", true, &format!("{at}unknown key `xyzzy`"));
    check("on_idle", "5: 1", true, &format!("{at}unknown key `5`"));
    declared("on_idle", "shell: x\nxyzzy: null");
}

#[test]
fn keys_without_effect_are_one_warning() {
    // CH-11
    let warns = |point: &str, class: &str, key: &str, keys: &str| {
        let text = format!("without effect on {class} that is declared like this: {keys}");
        check(point, key, true, &format!("warning /f/config.yaml:5: {point}, hook \"h\": {text}"));
    };
    warns("on_tool_call", "a sync hook", "join: background\nresult: ignore", "`join`, `result`");
    warns("on_idle", "an observer", "max_result_bytes: 5", "`max_result_bytes`");
    warns("on_tool_call", "a sync hook", "debounce_ms: 5", "`debounce_ms`");
    warns("on_idle", "an observer", "debounce_max_wait_ms: 5", "`debounce_max_wait_ms`");
    warns("on_idle", "an observer", "on_failure: block", "`on_failure`");
    warns("on_tool_batch_complete", "an automation", "on_failure: block", "`on_failure`");
    for (point, keys) in [
        ("on_tool_call", "debounce_ms: 0"),
        ("on_idle", "on_failure: continue"),
        ("on_idle", "debounce_ms: 5\ndebounce_max_wait_ms: 50"),
        ("on_tool_batch_complete", "join: background\nresult_format: full"),
    ] {
        declared(point, &format!("shell: x\n{keys}"));
    }
    let (hook, _) = findings("on_tool_call", "shell: x\ndebounce_ms: 5\njoin: before_next_llm");
    let hook = hook.unwrap();
    assert_eq!((hook.debounce, hook.join), (None, Join::Background));
    let (hook, _) = findings("on_idle", "shell: x\non_failure: block");
    assert_eq!(hook.unwrap().on_failure, OnFailure::Continue);
}

#[test]
fn changed_files_are_counted_at_one_point_only() {
    // CH-5, CH-23
    let text =
        "`min_changed_files` is 1, but only `on_tool_batch_complete` has changed files: the hook never runs";
    check(
        "on_idle",
        "min_changed_files: 1",
        true,
        &format!("warning /f/config.yaml:5: on_idle, hook \"h\": {text}"),
    );
    let (hook, _) = findings("on_idle", "shell: x\nmin_changed_files: 1");
    assert!(!hook.unwrap().filter.can_pass());
    assert!(declared("on_idle", "shell: x\nmin_changed_files: 0").filter.can_pass());
}

#[test]
fn booleans_have_three_spellings() {
    // CH-7
    for (written, value) in [("true", true), ("yes", true), ("on", true), ("off", false), ("no", false)] {
        let hook = declared("on_idle", &format!("shell: x\nonly_on_error: {written}"));
        assert_eq!(hook.filter.only_on_error, value, "{written}");
    }
}

fn names(text: &str) -> (Vec<(String, bool)>, Vec<String>) {
    let (entries, diagnostics) = read(text);
    let entry = |entry: Entry| (entry.name, entry.declared.is_some());
    (entries.into_iter().map(entry).collect(), diagnostics.iter().map(ToString::to_string).collect())
}

#[test]
fn a_hook_without_a_name_is_called_after_its_place() {
    // CH-6, CH-8
    let (names, told) = names(
        "hooks:\n  on_idle:\n  - {shell: x}\n  - {tools: [x]}\n  - text\n  - {name: \"\", shell: x}\n  \
         - {name: 0x1F, shell: x}\n  - {name: \"a\\nb\", shell: x}\n  on_tool_call:\n  - {shell: x}\n",
    );
    let expected = [
        ("on_idle-0", true),
        ("on_idle-1", false),
        ("on_idle-2", false),
        ("on_idle-3", true),
        ("0x1F", true),
        ("on_idle-5", false),
        ("on_tool_call-0", true),
    ];
    assert_eq!(names, expected.map(|(name, loads)| (name.to_owned(), loads)));
    assert_eq!(
        told,
        [
            "/f/config.yaml:4: on_idle, hook \"on_idle-1\": there is neither `command` nor `shell`",
            "/f/config.yaml:5: on_idle, hook \"on_idle-2\": the entry is \"text\", not a mapping",
            "/f/config.yaml:8: on_idle, hook \"on_idle-5\": `name` is \"a\\nb\", not one line without control characters",
        ]
    );
}

#[test]
fn a_finding_disables_what_it_names_and_nothing_else() {
    // CH-4, CH-5
    let check = |text: &str, loads: &[&str], expected: &[&str]| {
        let (names, told) = names(text);
        let loaded: Vec<_> = names.iter().filter(|(_, loads)| *loads).map(|(name, _)| name).collect();
        assert_eq!(loaded, loads, "{text}");
        assert_eq!(told.len(), expected.len(), "{text}: {told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(&format!("/f/config.yaml:{expected}")), "{told}");
        }
    };
    let good = "  on_idle:\n  - {name: good, shell: x}\n";
    check(
        &format!("hooks:\n  on_tool_cal:\n  - {{shell: x}}\n{good}"),
        &["good"],
        &["2: there is no point `on_tool_cal`, did you mean `on_tool_call`?"],
    );
    check(
        &format!("hooks:\n  on_tool_call: {{a: b}}\n{good}"),
        &["good"],
        &["2: `on_tool_call` is a mapping, not a list of hooks"],
    );
    check(&format!("hooks:\n  on_tool_call:\n  nothing:\n{good}"), &["good"], &[]);
    check(&format!("other: [1, {{hooks: 5}}]\nhooks:\n{good}---\nhooks: 5\n"), &["good"], &[]);
    check("x: &x {timeout: 5}\nhooks:\n  on_idle:\n  - {<<: *x, name: good, shell: x}\n", &["good"], &[]);
    check(
        &format!("base: &b\n  hooks:\n  {}<<: *b\n", good.replace('\n', "\n  ").trim_end_matches(' ')),
        &["good"],
        &[],
    );
    check("", &[], &[]);
    check("hooks:\n", &[], &[]);
    check("hooks: 5\n", &[], &["1: `hooks` is 5, not a mapping"]);
    check("- a\n", &[], &["1: the file is not a mapping"]);
    check(&format!("hooks:\n{good}  on_idle: [\n"), &[], &["4: malformed YAML"]);
    check(&format!("a: 1\na: 2\nhooks:\n{good}"), &[], &["2: key `a` occurs twice in a mapping"]);
    check(&format!("hooks:\n{good}  on_idle: []\n"), &[], &["4: key `on_idle` occurs twice in a mapping"]);
    check("hooks:\n  on_idle:\n  - {<<: 5, shell: x}\n", &[], &["3: malformed YAML: `<<` is not a mapping"]);
}
