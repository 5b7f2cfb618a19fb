//! What is started, how it takes part, and what its record says.

use std::ffi::OsStr;
use std::path::Path;

use lineside_core::invocation::{Captured, Ended, Exit, Leaked, Leftovers};
use lineside_core::json::json;
use lineside_core::{FailureKind, Verdict};

use super::super::samples::{command, defined, event, event_at, event_of, guard, hook};
use super::*;

fn invoked(hook: &FlytoHook, event: &AnyEvent) -> Invocation {
    match hook.prepare(event).unwrap() {
        Call::Command(invocation) => invocation,
        other => panic!("{other:?}"),
    }
}

fn ended(code: i32, stdout: &str) -> Returned {
    Returned::Command(Ended {
        exit: Exit::Code(code),
        stdout: Captured { bytes: stdout.into(), dropped: 0 },
        stderr: Captured::default(),
        took: Duration::ZERO,
        leaked: Leaked::Nothing,
    })
}

#[test]
fn a_command_is_a_line_for_the_shell_without_input() {
    // FL-10, FL-14, FL-16
    let definition = Definition { timeout: Duration::from_secs(7), ..Definition::new(command()) };
    let invocation = invoked(&defined("pre_tool_use", definition), &event_at("pre_tool_use"));
    assert_eq!(invocation.program.argv, ["/bin/sh", "-c", "./guard.sh"].map(OsStr::new));
    assert_eq!(invocation.stdin, b"");
    assert_eq!(invocation.files, []);
    let limits = invocation.limits;
    assert_eq!(limits.timeout, Duration::from_secs(7));
    assert_eq!((limits.ending, limits.leftovers), (Ending::Kill, Leftovers::Leave));
    assert_eq!(limits.leak_grace, Duration::from_millis(500));
    assert_eq!((limits.stdout_bytes, limits.stderr_bytes), (10_485_760, 10_485_760));
}

#[test]
fn the_working_directory_is_that_of_the_agent() {
    // FL-15
    let hook = hook("pre_tool_use", command());
    for (project_root, cwd, expected) in [
        (Some("/p"), Some("/c"), "/c"),
        (Some("/p"), None, "/p"),
        (Some("/p"), Some("sub"), "/runtime/sub"),
        (None, None, "/runtime"),
    ] {
        let event = event_of("before_tool", json!({"tool_name": "T", "tool_input": {}}), |source| {
            source.project_root = project_root.map(Into::into);
            source.cwd = cwd.map(Into::into);
        });
        let invocation = invoked(&hook, &event);
        assert_eq!(invocation.working_directory.as_deref(), Some(Path::new(expected)));
        let set = &invocation.environment.set;
        let (_, cwd) = set.iter().find(|(name, _)| name == "CWD").unwrap();
        assert_eq!(cwd, expected);
    }
}

#[test]
fn a_webhook_gets_the_canonical_event() {
    // FL-33
    let definition = Definition {
        timeout: Duration::from_secs(3),
        ..Definition::new(Run::Webhook { url: "http://h/x".into(), addresses: Addresses::AsWritten })
    };
    let event = event("before_tool", json!({"tool_name": "Bash", "tool_input": {"c": "é"}}));
    let Call::Post(post) = defined("pre_tool_use", definition).prepare(&event).unwrap() else { panic!() };
    assert_eq!(
        (post.url.as_str(), post.timeout, post.body_bytes),
        ("http://h/x", Duration::from_secs(3), 1_048_576)
    );
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        post.headers,
        [
            header("X-Lineside-Hook-Type", "pre_tool_use"),
            header("X-Lineside-Event", "00000000-0000-0000-0000-000000000000")
        ]
    );
    let body: lineside_core::json::Value = lineside_core::json::from_slice(&post.body).unwrap();
    assert_eq!(body, lineside_core::json::Value::Object(event.to_json()));
    assert_eq!(body["payload"]["tool_input"]["c"], "é");
}

#[test]
fn hooks_take_part_as_their_type_says() {
    // FL-7, FL-9, FL-22, FL-29, FL-32
    for hook_type in HookType::all() {
        let known = hook(hook_type.name(), command()).hook();
        let expected = match hook_type.name() {
            "post_compact" => Part::Amender,
            _ if hook_type.waits() => Part::LoneGate,
            _ => Part::Detached,
        };
        assert_eq!(known.part, expected, "{}", hook_type.name());
        assert_eq!((known.after_block, known.lane), (AfterBlock::RunWithinDialect, Lane::Shared));
        assert!(known.select.is_none() && known.timeout > Duration::from_secs(30));
        let definition = Definition { is_async: true, ..Definition::new(command()) };
        assert_eq!(defined(hook_type.name(), definition).hook().part, Part::Detached);
    }
}

#[test]
fn what_a_failure_amounts_to_reaches_the_event() {
    // FL-20, FL-25, FL-31
    let refused = |hook: &FlytoHook, event: &AnyEvent, code, stdout: &str| {
        let failure = hook.read(event, &ended(code, stdout)).unwrap_err();
        hook.refuse(event, &failure).map(|answer| answer.verdict)
    };
    let event = event_at("pre_tool_use");
    let open = hook("pre_tool_use", command());
    assert_eq!(refused(&open, &event, 1, ""), None);
    let meant = "{\"decision\":\"block\",\"reason\":\"meant\"}";
    assert_eq!(refused(&open, &event, 1, meant), Some(Verdict::block("meant")));
    let closed = guard("pre_tool_use", command());
    assert_eq!(refused(&closed, &event, 1, ""), Some(Verdict::block("hook \"h\" failed: exit status 1")));
}

#[test]
fn the_record_says_what_was_replaced() {
    // FL-11
    let event = event("before_prompt", json!({"prompt": "a\u{0}b"}));
    let hook = hook("user_prompt_submit", command());
    let answer = hook.read(&event, &ended(0, "")).unwrap();
    assert_eq!(answer.remarks, ["NUL was replaced by U+FFFD in PROMPT"]);
    let failure = hook.read(&event, &ended(1, "")).unwrap_err();
    assert_eq!(failure.taken_as.unwrap().remarks, ["NUL was replaced by U+FFFD in PROMPT"]);
}

#[test]
fn a_function_gets_a_map_and_its_result_is_read_like_any_other() {
    // FL-35
    let hook = hook("pre_tool_use", Run::Function);
    let input = "x".repeat(100_000);
    let event = event("before_tool", json!({"tool_name": "T", "tool_input": {"c": input}}));
    assert_eq!(hook.variables(&event)["TOOL_INPUT"].len(), 100_000 + 8);
    assert_eq!(hook.prepare(&event), Ok(Call::Nothing));
    assert_eq!(hook.returned(&event, None), Ok(Answer::default()));
    let result = HookResult { exit_code: 2, stderr: "no".to_owned(), ..HookResult::default() };
    assert_eq!(hook.returned(&event, Some(result)).unwrap().verdict, Verdict::block("no"));
    let failure = hook.failed(Failure::new(FailureKind::Panic, "panicked"));
    assert_eq!(failure.taken_as, None);
    let failure = guard("pre_tool_use", Run::Function).failed(failure);
    assert_eq!(failure.taken_as.unwrap().verdict, Verdict::block("hook \"h\" failed: panicked"));
}
