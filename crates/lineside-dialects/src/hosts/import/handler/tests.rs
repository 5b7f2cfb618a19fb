//! What is run for an event, and of which of two readings an answer is.

use std::path::Path;
use std::time::Duration;

use lineside_core::envelope::Source;
use lineside_core::exchange::{Addresses, Post};
use lineside_core::invocation::{Ending, Invocation, Leftovers, Limits, Program};
use lineside_core::json::json;
use lineside_core::{Amendment, Answer, AnyEvent, Failure, FailureKind, Layer, Verdict};

use super::super::samples::Room;
use super::stricter;
use crate::handler::{Call, Handler, Start};
use crate::samples::event;

/// Settings of Claude Code with these handlers before a tool.
fn settings(handlers: &str) -> String {
    format!("{{\"hooks\": {{\"PreToolUse\": [{{\"hooks\": [{handlers}]}}]}}}}")
}

fn tool() -> AnyEvent {
    event("before_tool", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}), Source::root("s"))
}

fn post(handler: &dyn Handler) -> Post {
    match handler.prepare(&tool()).unwrap() {
        Call::Post(post) => post,
        other => panic!("{other:?}"),
    }
}

fn command(handler: &dyn Handler) -> Invocation {
    match handler.prepare(&tool()).unwrap() {
        Call::Command(invocation) => invocation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_has_the_variables_that_its_headers_may_name() {
    let http = r#"{"type": "http", "url": "http://127.0.0.1:1/h", "timeout": 7, "allowedEnvVars": ["TOKEN", "GONE"],
        "headers": {"Authorization": "Bearer $TOKEN", "X": "${GONE}${SECRET}$/"}}"#;
    let files = settings(http);
    let room =
        Room::new(&[("home/.claude/settings.json", &files), ("project/.claude/settings.json", &files)])
            .with(&[("TOKEN", "t"), ("SECRET", "s")]);
    let handlers = room.handlers("claude");
    for (layer, handler) in handlers {
        let post = post(&*handler);
        assert_eq!(post.url, "http://127.0.0.1:1/h");
        assert_eq!(
            post.headers,
            [("Authorization", "Bearer t"), ("X", "$/")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert_eq!((post.timeout, post.body_bytes), (Duration::from_secs(7), 10 << 20));
        let expected = if layer == Layer::Project { Addresses::AsWritten } else { Addresses::Any };
        assert_eq!(post.addresses, expected);
        let document: lineside_core::json::Value = lineside_core::json::from_slice(&post.body).unwrap();
        assert_eq!(document["tool_input"], json!({"command": "ls"}));
        assert_eq!(handler.start(Path::new("/")), Some(Start::Post("http://127.0.0.1:1/h".to_owned())));
    }
}

#[test]
fn a_command_has_the_bounds_of_the_format_and_no_marks_of_other_hosts() {
    let files = settings(r#"{"type": "command", "command": "true", "timeout": 7}"#);
    let room = Room::new(&[("home/.claude/settings.json", &files)]).with(&[
        ("CURSOR_VERSION", "1"),
        ("QWEN_PROJECT_DIR", "/"),
        ("CLAUDECODE", "1"),
    ]);
    let invocation = command(&*room.handler("claude"));
    let limits = Limits {
        timeout: Duration::from_secs(7),
        ending: Ending::Terminate { grace: Duration::from_secs(1) },
        leak_grace: Duration::from_millis(250),
        leftovers: Leftovers::Leave,
        stdout_bytes: 10 << 20,
        stderr_bytes: 10 << 20,
        ..Limits::default()
    };
    assert_eq!(invocation.limits, limits);
    assert_eq!(invocation.environment.remove, ["CURSOR_VERSION", "QWEN_PROJECT_DIR"]);
    let project = ("CLAUDE_PROJECT_DIR".into(), "".into());
    assert_eq!(invocation.environment.set, [project]);
    assert_eq!(invocation.working_directory, Some(room.project()));
}

#[test]
fn what_is_known_with_an_event_alone_is_not_looked_for_before() {
    let starts = |handler: &str| {
        let files = settings(handler);
        let room = Room::new(&[("home/.claude/settings.json", &files)]);
        room.handler("claude").start(&room.project()).is_some()
    };
    for (handler, expected) in [
        (r#"{"type": "command", "command": "jq ."}"#, true),
        (r#"{"type": "command", "command": "$CLAUDE_PROJECT_DIR/x"}"#, false),
        (r#"{"type": "command", "command": "$CLAUDE_PLUGIN_ROOT/x"}"#, false),
        (r#"{"type": "command", "command": "$ITS_CWD/x"}"#, false),
        (r#"{"type": "command", "command": "${CLAUDE_PROJECT_DIR}/x", "args": []}"#, false),
        (r#"{"type": "command", "command": "jq", "args": ["$X_DIR"]}"#, true),
    ] {
        assert_eq!(starts(handler), expected, "{handler}");
    }
}

#[test]
fn a_program_is_looked_for_where_it_would_run() {
    let files =
        r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "./x", "cwd": "sub"}]}}"#;
    let room = Room::new(&[("home/.copilot/hooks/h.json", files)]);
    let handler = room.handler("copilot");
    match handler.start(Path::new("/w")) {
        Some(Start::Program { program, working_directory, .. }) => {
            assert_eq!(working_directory, Path::new("/w/sub"));
            assert_eq!(program, command(&*handler).program);
            assert_ne!(program, Program::argv(Vec::<String>::new()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_that_can_be_read_in_two_ways_approves_and_changes_nothing() {
    // HO-1
    let says = |verdict: Verdict| Ok(Answer::from(verdict));
    let check = |first: Verdict, last: Verdict, expected: Verdict| {
        assert_eq!(stricter(says(first), says(last)).unwrap().verdict, expected);
    };
    check(Verdict::block("no"), Verdict::allow(), Verdict::block("no"));
    check(Verdict::allow(), Verdict::block("no"), Verdict::block("no"));
    check(Verdict::allow(), Verdict::Continue, Verdict::Continue);
    check(Verdict::ask("sure?"), Verdict::allow(), Verdict::ask("sure?"));
    check(Verdict::allow(), Verdict::allow(), Verdict::allow());
    let amendment = Amendment::default().with("tool_input", lineside_core::json::json!({}));
    let amends = Ok(Answer { amendment, ..Answer::default() });
    assert!(stricter(amends, says(Verdict::Continue)).unwrap().amendment.is_empty());
}

#[test]
fn of_two_readings_one_of_which_is_a_failure_what_is_refused_stays_refused() {
    let failed = |taken_as: Option<Verdict>| {
        let failure = Failure::new(FailureKind::Output, "broken");
        Failure { taken_as: taken_as.map(|verdict| Box::new(Answer::from(verdict))), ..failure }
    };
    let closes = || Err(failed(Some(Verdict::block("closed"))));
    let asks = || Ok(Answer::from(Verdict::ask("sure?")));
    assert_eq!(stricter(closes(), asks()), closes());
    assert_eq!(stricter(asks(), closes()), closes());
    let open = || Err(failed(None));
    assert_eq!(stricter(open(), asks()).unwrap().verdict, Verdict::ask("sure?"));
    assert_eq!(stricter(asks(), open()).unwrap().verdict, Verdict::ask("sure?"));
    let passes = || Ok(Answer::from(Verdict::Continue));
    assert_eq!(stricter(passes(), open()), open());
    assert_eq!(stricter(open(), open()), open());
    let remarked = stricter(asks(), passes()).unwrap();
    assert_eq!(remarked.remarks.len(), 1);
}

#[test]
fn what_a_format_does_not_say_of_itself_is_nothing() {
    let hooks = |event: &str| {
        format!(
            "{{\"version\": 1, \"hooks\": {{\"{event}\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"x\"}}]}}]}}}}"
        )
    };
    let (start, tool_hook) = (hooks("SessionStart"), hooks("PreToolUse"));
    let codex = Room::new(&[("home/.codex/hooks.json", &tool_hook)]).handler("codex");
    assert_eq!(command(&*codex).environment.set, []);
    assert!(!codex.shares_variables());
    assert_eq!(codex.assignments_variable(&tool()), None);
    assert!(codex.answer_keys().names.is_empty() && codex.answer_keys().decides.is_empty());
    let claude = Room::new(&[("home/.claude/settings.json", &start)]).handler("claude");
    assert!(claude.shares_variables());
    assert_eq!(claude.assignments_variable(&tool()), Some("CLAUDE_ENV_FILE"));
    let keys = claude.answer_keys();
    assert!(keys.names.contains(&"additionalContext"));
    assert_eq!((keys.decides, keys.within), ("decision", "hookSpecificOutput"));
    let claude = Room::new(&[("home/.claude/settings.json", &tool_hook)]).handler("claude");
    assert_eq!(claude.assignments_variable(&tool()), None);
}
