//! Which host runs, and what is answered where nothing is published.

use super::*;

#[test]
fn a_gate_of_a_host_whose_feature_is_off_stays_closed() {
    let call = |host, document: &str| HostCall { host, event: None, stdin: document.into() };
    let answer = |call: HostCall| match read_if(call, |host| host == Host::Claude) {
        Reading::Answer(answer) => Some(answer),
        Reading::Event(_) => None,
    };
    let gate = r#"{"hook_event_name": "preToolUse", "tool_name": "Shell"}"#;
    let denied = answer(call(Host::Cursor, gate)).unwrap();
    assert!(denied.stdout.contains(r#""permission":"deny""#), "{denied:?}");
    assert!(denied.stdout.contains("does not support the agent program"), "{denied:?}");
    let fact = answer(call(Host::Cursor, r#"{"hook_event_name": "postToolUse"}"#)).unwrap();
    assert_eq!(fact, quiet(Host::Cursor));
    // The program is another one than that of the entry.
    let of_cursor = r#"{"hook_event_name": "PreToolUse", "cursor_version": "3.0"}"#;
    let denied = answer(call(Host::Claude, of_cursor)).unwrap();
    assert!(denied.stdout.contains(r#""permissionDecision":"deny""#), "{denied:?}");
    assert_eq!(answer(call(Host::Claude, r#"{"hook_event_name": "PreToolUse"}"#)), None);
}

fn call(host: Host, event: Option<&str>, stdin: &str) -> HostCall {
    HostCall { host, event: event.map(str::to_owned), stdin: stdin.into() }
}

#[test]
fn ho_45_the_entry_and_the_document_say_which_host_runs() {
    // HO-44
    let check = |entry: Host, fields: &str, host: Host| {
        let document = format!("{{\"hook_event_name\": \"PreToolUse\"{fields}}}");
        match read(call(entry, None, &document)) {
            Reading::Event(arrival) => assert_eq!((arrival.host, arrival.entry), (host, entry), "{document}"),
            Reading::Answer(answer) => panic!("{answer:?}"),
        }
    };
    check(Host::Claude, "", Host::Claude);
    check(Host::Codex, "", Host::Codex);
    check(Host::Qwen, "", Host::Qwen);
    check(Host::Claude, r#", "cursor_version": "3""#, Host::Cursor);
    check(Host::Claude, r#", "sessionId": "s""#, Host::Copilot);
    check(Host::Claude, r#", "sessionId": "s", "cursor_version": "3""#, Host::Cursor);
    // Copilot's form in the style of Claude Code, through an entry of a project; Qwen Code names its transcript.
    check(Host::Claude, r#", "session_id": "s", "timestamp": "t""#, Host::Copilot);
    check(Host::Claude, r#", "timestamp": "t", "transcript_path": "/t""#, Host::Claude);
    check(Host::Claude, r#", "timestamp": "t", "transcript_path": "/t", "stop_reason": "x""#, Host::Copilot);
    check(Host::Qwen, r#", "session_id": "s", "timestamp": "t""#, Host::Qwen);
}

#[test]
fn ho_44_copilot_is_answered_in_its_own_words_through_the_entry_of_claude_code() {
    let answer = |event: &str, stdin: &str| unreachable(call(Host::Claude, Some(event), stdin)).stdout;
    let denied = answer(
        "PreToolUse",
        r#"{"hook_event_name": "PreToolUse", "session_id": "s", "timestamp": "t", "tool_name": "Bash", "tool_input": {}}"#,
    );
    assert!(denied.starts_with(r#"{"permissionDecision":"deny""#), "{denied}");
    assert!(denied.contains(r#""hookSpecificOutput":{"#), "VS Code reads that: {denied}");
    // Its document for this one has no name: the entry has it.
    let denied = answer("PermissionRequest", r#"{"hookName": "permissionRequest", "sessionId": "s"}"#);
    assert!(denied.starts_with(r#"{"behavior":"deny""#), "{denied}");
    let of_claude = answer("PreToolUse", r#"{"hook_event_name": "PreToolUse", "tool_name": "Bash"}"#);
    assert!(of_claude.starts_with(r#"{"hookSpecificOutput":"#), "{of_claude}");
}

#[test]
fn a_gate_that_the_host_of_the_entry_does_not_have_is_refused() {
    // CU-4
    let denied = HostAnswer { stderr: format!("{FOREIGN}\n"), exit: 2, ..HostAnswer::default() };
    let answer = |entry: Host, document: &str| match read(call(entry, None, document)) {
        Reading::Answer(answer) => Some(answer),
        Reading::Event(_) => None,
    };
    let named = |event: &str, fields: &str| format!("{{\"hook_event_name\": \"{event}\"{fields}}}");
    let (cursor, camel) = (r#", "cursor_version": "3""#, r#", "sessionId": "s""#);
    for (entry, document) in [
        (Host::Gemini, named("PreToolUse", "")),
        (Host::Gemini, named("BeforeTool", camel)),
        (Host::Gemini, named("BeforeTool", cursor)),
        (Host::Claude, named("BeforeTool", "")),
        (Host::Claude, named("pretooluse", "")),
        (Host::Claude, named("PreNetworkAccess", "")),
        (Host::Codex, named("permission_asked", "")),
        (Host::Kimi, named("subagentStart", "")),
        (Host::Codex, named("WorktreeCreate", "")),
        // The document is that of Cursor, and the entry has no word for this gate of it.
        (Host::Gemini, named("beforeTabFileRead", cursor)),
    ] {
        assert_eq!(answer(entry, &document), Some(denied.clone()), "{entry} {document}");
        assert_eq!(silent(call(entry, None, &document)), quiet(entry), "{entry} {document}");
    }
    // Facts, known or not, are none.
    for (entry, document) in [
        (Host::Claude, named("PermissionDenied", "")),
        (Host::Codex, named("SubagentStart", "")),
        (Host::Gemini, named("PreCompress", "")),
        (Host::Gemini, named("fooBar", "")),
        (Host::Cursor, named("PreCompact", "")),
        (Host::Kimi, named("PermissionRequest", "")),
    ] {
        assert_eq!(answer(entry, &document), None, "{entry} {document}");
    }
}

#[test]
fn an_event_of_any_host_through_the_entry_of_any_other_never_opens_a_gate_in_silence() {
    let gates = || SERVED.into_iter().flat_map(tables).copied().flatten().filter(|row| is_closed_gate(row));
    let marks = ["", r#", "cursor_version": "3""#, r#", "sessionId": "s""#];
    for (gate, entry) in gates().flat_map(|gate| SERVED.map(|entry| (gate, entry))) {
        // An event that is a fact of a host is one, and so is a gate that the entry holds by later ones.
        let own = named(entry, gate.event).or_else(|| answering(entry, gate.event, Some(gate), &Map::new()));
        let is_fact = |row: Option<&Row>| row.is_some_and(|row| !is_closed_gate(row));
        for (mark, host) in marks.into_iter().zip([entry, Host::Cursor, Host::Copilot]) {
            if is_fact(own) || is_fact(named(host, gate.event)) {
                continue;
            }
            let document = format!("{{\"hook_event_name\": \"{}\", \"prompt\": \"x\"{mark}}}", gate.event);
            let answer = unreachable(call(entry, None, &document));
            assert_ne!(answer, quiet(entry), "{entry} {document}");
        }
    }
}

#[test]
fn a_call_that_is_to_pass_gets_what_says_nothing_in_the_way_of_its_host() {
    let gate = r#"{"hook_event_name": "PreToolUse", "tool_name": "Bash"}"#;
    let of_cursor = r#"{"hook_event_name": "preToolUse", "tool_name": "Shell"}"#;
    let unknown = r#"{"hook_event_name": "fooBar"}"#;
    let allows = "{\"permission\":\"allow\"}\n";
    for (host, event, stdin, stdout) in [
        (Host::Claude, None, gate, ""),
        (Host::Cursor, None, of_cursor, allows),
        (Host::Cursor, None, unknown, "{}\n"),
        (Host::Claude, None, unknown, ""),
        (Host::Cursor, Some("preToolUse"), "garbage", allows),
        (Host::Cursor, Some("fooBar"), "garbage", "{}\n"),
        (Host::Cursor, None, "garbage", "{}\n"),
        (Host::Claude, None, "garbage", ""),
        (Host::Claude, Some("PreToolUse"), "garbage", ""),
    ] {
        let answer = silent(call(host, event, stdin));
        let expected = HostAnswer { stdout: stdout.to_owned(), ..HostAnswer::default() };
        assert_eq!(answer, expected, "{host} {event:?} {stdin}");
    }
}

#[test]
fn ho_37_input_that_is_no_document_closes_the_gate_that_is_named() {
    let unreadable = HostAnswer { stderr: format!("{UNREADABLE}\n"), exit: 2, ..HostAnswer::default() };
    let answer = |host: Host, event: Option<&str>, stdin: &str| match read(call(host, event, stdin)) {
        Reading::Answer(answer) => answer,
        Reading::Event(arrival) => panic!("{arrival:?}"),
    };
    for stdin in ["garbage", "", "[]", "{\"a\": 1}", "{\"hook_event_name\": \"\"}"] {
        assert_eq!(answer(Host::Claude, None, stdin), unreadable, "{stdin}");
    }
    let denied = answer(Host::Cursor, Some("preToolUse"), "garbage");
    assert!(denied.stdout.contains("\"deny\"") && denied.stdout.contains(UNREADABLE), "{denied:?}");
    assert_eq!((denied.stderr.as_str(), denied.exit), ("", 0));
    // What Claude Code calls it is known as well.
    assert_eq!(answer(Host::Cursor, Some("PreToolUse"), "garbage"), denied);
    for (host, event, expected) in
        [(Host::Cursor, "fooBar", "{}\n"), (Host::Claude, "fooBar", ""), (Host::Claude, "Stop", "")]
    {
        let expected = HostAnswer { stdout: expected.to_owned(), ..HostAnswer::default() };
        assert_eq!(answer(host, Some(event), "garbage"), expected, "{host} {event}");
    }
    // It is no event of this host, and may be a gate.
    assert_eq!(answer(Host::Claude, Some("preToolUse"), "garbage"), unreadable);
}

#[test]
fn ho_36_gates_are_closed_while_the_runtime_cannot_be_reached() {
    // CL-4
    let answer =
        |event: &str| unreachable(call(Host::Claude, None, &format!("{{\"hook_event_name\": \"{event}\"}}")));
    assert!(answer("PreToolUse").stdout.contains(UNREACHABLE));
    for open in ["SessionStart", "Stop", "PostToolUse", "fooBar"] {
        assert_eq!(answer(open), HostAnswer::default(), "{open}");
    }
}

#[test]
fn cx_3_a_notification_of_codex_names_its_kind() {
    let name = |document: &str| match read(call(Host::Codex, None, document)) {
        Reading::Event(arrival) => Some(arrival.event),
        Reading::Answer(_) => None,
    };
    assert_eq!(name(r#"{"type": "agent-turn-complete"}"#).as_deref(), Some("notify"));
    assert_eq!(name(r#"{"type": "some-thing"}"#).as_deref(), Some("some_thing"));
    assert_eq!(name(r#"{"type": 1}"#), None);
    assert!(matches!(read(call(Host::Claude, None, r#"{"type": "x"}"#)), Reading::Answer(_)));
}

#[test]
fn the_name_of_an_event_is_that_of_the_document_and_of_copilot_that_of_the_entry() {
    // HO-3
    let document = r#"{"hook_event_name": "PreToolUse", "tool_name": "Bash"}"#;
    let name = |host: Host| match read(call(host, Some("preToolUse"), document)) {
        Reading::Event(arrival) => arrival.event,
        Reading::Answer(answer) => panic!("{answer:?}"),
    };
    assert_eq!((name(Host::Claude).as_str(), name(Host::Copilot).as_str()), ("PreToolUse", "preToolUse"));
}

#[test]
fn the_table_of_an_event_is_that_of_its_program() {
    let point = |host: Host, event: &str, document: &str| {
        let Reading::Event(arrival) = read(call(host, Some(event), document)) else { panic!("{event}") };
        (arrival.row.map(|row| row.point), arrival.answered_as)
    };
    let named = |point: &'static str, event: &str| (Some(point), event.to_owned());
    assert_eq!(point(Host::Codex, "notify", "{}").0, Some("after_agent"));
    assert_eq!(point(Host::Codex, "Stop", "{}"), named("before_stop", "Stop"));
    assert_eq!(point(Host::Kimi, "Stop", r#"{"client_type": "x"}"#), named("before_stop", "Stop"));
    assert!(point(Host::Kimi, "Interrupt", r#"{"client_type": "x"}"#).0.is_some());
    // Kimi Code alone reads context of a prompt.
    for (document, is_code) in [(r#"{"client_type": "x"}"#, true), ("{}", false)] {
        let Reading::Event(arrival) = read(call(Host::Kimi, Some("UserPromptSubmit"), document)) else {
            panic!("{document}")
        };
        let context = arrival.words.unwrap().words.context;
        assert_eq!(matches!(context, crate::hosts::table::Context::Plain), is_code, "{document}");
    }
    // Cursor gives an event the name that Claude Code has for it.
    assert_eq!(point(Host::Cursor, "UserPromptSubmit", "{}"), named("before_prompt", "beforeSubmitPrompt"));
    assert_eq!(point(Host::Claude, "fooBar", "{}"), (None, "fooBar".to_owned()));
    // The entry of Claude Code has words for what Cursor alone calls so.
    let shell = r#"{"cursor_version": "3", "command": "ls"}"#;
    assert_eq!(point(Host::Claude, "beforeShellExecution", shell), named("before_tool", "PreToolUse"));
}

#[test]
fn a_gate_is_closed_for_an_input_of_a_tool_that_cannot_be_read_or_can_in_two_ways() {
    let deep = format!("{{\"command\": {}{}}}", "[".repeat(200), "]".repeat(200));
    let lone = r#"{"command": "rm -rf / \ud800"}"#;
    let twice = r#"{"command": "ls", "command": "rm -rf /"}"#;
    let broken = " {\"command\": \"rm -rf /\"";
    for text in [deep.as_str(), lone, twice, broken] {
        for (host, event, name, input) in [
            (Host::Copilot, "preToolUse", "toolName", "toolArgs"),
            (Host::Copilot, "permissionRequest", "toolName", "toolInput"),
            (Host::Copilot, "PreToolUse", "tool_name", "tool_input"),
            (Host::Cursor, "beforeMCPExecution", "tool_name", "tool_input"),
        ] {
            let document = lineside_core::json::json!({ "session_id": "s", name: "bash", input: text });
            match read(call(host, Some(event), &document.to_string())) {
                Reading::Answer(answer) => {
                    let said = format!("{}{}", answer.stdout, answer.stderr);
                    assert!(said.contains(UNREADABLE), "{event}: {answer:?}");
                }
                Reading::Event(_) => panic!("{event}: {text}"),
            }
        }
        // What has run is reported as it can be.
        let document = lineside_core::json::json!({ "sessionId": "s", "toolName": "bash", "toolArgs": text });
        let fact = read(call(Host::Copilot, Some("postToolUse"), &document.to_string()));
        assert!(matches!(fact, Reading::Event(_)), "{text}");
    }
    let patch = r#"{"sessionId": "s", "toolName": "apply_patch", "toolArgs": "*** Begin Patch"}"#;
    let read = read(call(Host::Copilot, Some("preToolUse"), patch));
    assert!(matches!(read, Reading::Event(_)), "a text that is no object is the input itself");
}

#[test]
fn each_of_many_fields_is_looked_at_once() {
    use crate::raw_object::tests::WALKED;

    let many: String = (0..2_000).map(|at| format!(r#""{at}": "\u0041", "#)).collect();
    for last in [r#""hook_event_name": "PreToolUse""#, r#""a": 1, "a": 2"#] {
        let stdin = format!("{{{many}{last}}}").into_bytes();
        let before = WALKED.get();
        drop(read(HostCall { host: Host::Claude, event: None, stdin }));
        assert!(WALKED.get() - before <= 10 * 2_000, "{}", WALKED.get() - before);
    }
}
