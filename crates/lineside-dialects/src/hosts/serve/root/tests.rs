//! What earlier calls of a session make of later ones.

use std::time::Instant;

use lineside_core::Verdict;
use lineside_core::json::{Value, json};

use crate::hosts::program::Host;
use crate::hosts::serve::known::digest_of_text;
use crate::hosts::serve::recent::MOST;
use crate::hosts::serve::root::MOST_WRITTEN;
use crate::hosts::serve::{
    Coming, ContextFate, Holds, HostCall, NextStep, Outcome, Publishing, Reading, Served, Settled, read,
};

/// The calls of a session `s` of one host.
struct Calls {
    served: Served,
    host: Host,
    holds: Option<Holds>,
}

impl Calls {
    fn of(host: Host) -> Self {
        Self { served: Served::default(), host, holds: None }
    }

    fn arrive(&mut self, event: &str, fields: Value) -> Publishing {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        let mut document = json!({"hook_event_name": event, "session_id": "s"});
        document.as_object_mut().unwrap().extend(fields);
        let stdin = document.to_string().into_bytes();
        let call = HostCall { host: self.host, event: Some(event.to_owned()), stdin };
        let Reading::Event(arrival) = read(call) else { panic!("{document} is no event") };
        let coming = Coming::from(arrival).held(self.holds.clone());
        match self.served.arrive(coming, Instant::now()) {
            NextStep::Publish(publishing) => *publishing,
            other => panic!("it is not published: {other:?}"),
        }
    }

    fn decide(&mut self, event: &str, fields: Value, verdict: Verdict, waiting: &[&str]) -> Settled {
        let publishing = self.arrive(event, fields);
        let waiting: Vec<String> = waiting.iter().map(|text| (*text).to_owned()).collect();
        self.served.settle(publishing, &Outcome { verdict, ..Outcome::default() }, &waiting)
    }

    fn pass(&mut self, event: &str, fields: Value) {
        self.decide(event, fields, Verdict::Continue, &[]);
    }

    fn block(&mut self, event: &str, fields: Value) -> Settled {
        self.decide(event, fields, Verdict::block("go on"), &[])
    }

    fn held(&mut self, event: &str, fields: Value) -> Option<Verdict> {
        let publishing = self.arrive(event, fields);
        let held = publishing.decided.clone();
        self.served.settle(publishing, &Outcome::default(), &[]);
        held
    }
}

fn shell() -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "ls"}})
}

#[test]
fn ki_21_what_kimi_does_not_mark_is_of_the_subagent_that_was_opened_last() {
    let mut calls = Calls::of(Host::Kimi);
    let mut arrive = |event: &str, fields: Value| {
        let publishing = calls.arrive(event, fields);
        let agent = publishing.agent.as_ref().map(|agent| agent.id.to_string());
        calls.served.settle(publishing, &Outcome::default(), &[]);
        agent
    };
    let child = || json!({"agent_name": "coder"});
    assert_eq!(arrive("Stop", json!({})), None);
    arrive("SubagentStart", child());
    assert_eq!(arrive("UserPromptSubmit", json!({"prompt": "p"})).as_deref(), Some("coder#1"));
    assert_eq!(arrive("Stop", json!({})).as_deref(), Some("coder#1"));
    assert_eq!(arrive("PreToolUse", json!({"tool_name": "Shell", "tool_input": {}})), None);
    // Kimi Code has prompts of the main agent alone.
    assert_eq!(arrive("UserPromptSubmit", json!({"prompt": "p", "client_type": "x"})), None);
    arrive("SubagentStart", child());
    assert_eq!(arrive("Stop", json!({})).as_deref(), Some("coder#2"));
    arrive("SubagentStop", child());
    assert_eq!(arrive("Stop", json!({})).as_deref(), Some("coder#1"));
    arrive("SubagentStop", child());
    assert_eq!(arrive("Stop", json!({})), None);
}

#[test]
fn ho_9_a_stop_is_active_as_its_host_says_or_as_it_is_remembered() {
    let active = |host: Host, event: &str, is_blocked: bool, fields: Value| {
        let mut calls = Calls::of(host);
        if is_blocked {
            calls.block(event, json!({}));
        }
        calls.arrive(event, fields).stop_active
    };
    let says = |flag: bool| json!({"stop_hook_active": flag});
    for (host, event, is_blocked, fields, expected) in [
        (Host::Cursor, "stop", false, json!({"loop_count": 0}), false),
        (Host::Cursor, "stop", false, json!({"loop_count": 1}), true),
        (Host::Claude, "Stop", false, says(true), true),
        (Host::Claude, "Stop", true, says(false), false),
        (Host::Claude, "Stop", true, json!({}), true),
        (Host::Claude, "Stop", false, json!({}), false),
        (Host::Gemini, "AfterAgent", true, says(false), true),
        (Host::Gemini, "AfterAgent", false, says(false), false),
        // Of Qwen's stops alone it is not believed.
        (Host::Qwen, "Stop", false, says(true), false),
        (Host::Qwen, "Stop", true, says(false), true),
        (Host::Qwen, "SubagentStop", false, says(true), true),
    ] {
        assert_eq!(
            active(host, event, is_blocked, fields.clone()),
            expected,
            "{host} {event} {is_blocked} {fields}"
        );
    }
}

#[test]
fn ho_29_a_hold_answers_the_gates_of_its_scope() {
    let block = || Some(Verdict::block("held"));
    for (of_session, of_turn) in [(true, false), (false, true)] {
        let mut calls = Calls::of(Host::Claude);
        calls.pass("SessionStart", json!({"source": "startup"}));
        let mut roots = calls.served.roots();
        let root = roots.roots.get_mut("s").unwrap();
        root.session_hold = of_session.then(|| "held".to_owned());
        root.turn_hold = of_turn.then(|| "held".to_owned());
        drop(roots);
        assert_eq!(calls.held("PreToolUse", shell()), block());
        assert_eq!(calls.held("PermissionRequest", shell()), block());
        assert_eq!(calls.held("SubagentStart", json!({"agent_id": "a", "agent_type": "x"})), block());
        assert_eq!(calls.held("Stop", json!({})), Some(Verdict::Continue));
        assert_eq!(calls.held("PostToolUse", shell()), None);
        assert_eq!(calls.held("UserPromptSubmit", json!({"prompt": "p"})), block().filter(|_| of_session));
        // A prompt of the main agent begins a turn of its own.
        assert_eq!(calls.held("PreToolUse", shell()), block().filter(|_| of_session));
    }
}

#[test]
fn ho_29_a_session_is_held_until_a_later_start_of_it_is_not_blocked() {
    let mut calls = Calls::of(Host::Claude);
    let start = || json!({"source": "startup"});
    calls.block("SessionStart", start());
    let reason = Some(Verdict::block("go on"));
    assert_eq!(calls.held("PreToolUse", shell()), reason);
    calls.block("SessionStart", start());
    assert_eq!(calls.held("PreToolUse", shell()), reason);
    calls.pass("SessionStart", start());
    assert_eq!(calls.held("PreToolUse", shell()), None);
}

#[test]
fn ho_29_what_is_held_is_held_again_by_what_was_written_down_of_it() {
    let again = |calls: &Calls| {
        let holds = calls.served.holds("s").unwrap();
        let written = lineside_core::json::to_string(&holds).unwrap();
        let read: Holds = lineside_core::json::from_str(&written).unwrap();
        assert_eq!(read, holds);
        Calls { holds: Some(read), ..Calls::of(calls.host) }
    };
    let mut calls = Calls::of(Host::Claude);
    calls.pass("PreToolUse", shell());
    assert!(calls.served.holds("s").unwrap().is_none() && calls.served.holds("other").is_none());
    for (of_session, of_turn) in [(true, false), (false, true)] {
        let mut roots = calls.served.roots();
        let root = roots.roots.get_mut("s").unwrap();
        root.session_hold = of_session.then(|| "held".to_owned());
        root.turn_hold = of_turn.then(|| "held".to_owned());
        drop(roots);
        let mut later = again(&calls);
        assert_eq!(later.held("PreToolUse", shell()), Some(Verdict::block("held")));
        later.pass("UserPromptSubmit", json!({"prompt": "p"}));
        // What is known by now counts, and not what was written down.
        assert_eq!(later.held("PreToolUse", shell()).is_some(), of_session);
    }
    // A subagent without an id is found by its name, and a further one of that is another one.
    let mut calls = Calls::of(Host::Kimi);
    let child = || json!({"agent_name": "coder"});
    calls.pass("SubagentStart", child());
    calls.block("SubagentStart", child());
    let mut later = again(&calls);
    assert_eq!(later.held("PreToolUse", shell()), Some(Verdict::block("go on")));
    let third = later.arrive("SubagentStart", child());
    assert_eq!(third.child.as_deref(), Some("s/coder#3"));
    later.served.settle(third, &Outcome::default(), &[]);
    later.pass("SubagentStop", child());
    assert!(later.held("PreToolUse", shell()).is_some(), "that of the third one has stopped");
    later.pass("SubagentStop", child());
    assert_eq!(later.held("PreToolUse", shell()), None);
}

#[test]
fn what_is_written_down_of_held_subagents_has_a_bound_and_beyond_it_all_of_the_turn_is_held() {
    let mut calls = Calls::of(Host::Claude);
    let child = |id: u32, name: &str| json!({"agent_id": id.to_string(), "agent_type": name});
    let bytes =
        |calls: &Calls| lineside_core::json::to_string(&calls.served.holds("s").unwrap()).unwrap().len();
    for id in 0..10 {
        calls.block("SubagentStart", child(id, "coder"));
    }
    assert_eq!(calls.served.holds("s").unwrap().turn, None);
    // A name is as long as a document may be.
    calls.block("SubagentStart", child(10, &"x".repeat(1 << 20)));
    assert!(bytes(&calls) < 2 << 10);
    let mut later = Calls { holds: calls.served.holds("s"), ..Calls::of(Host::Claude) };
    assert_eq!(later.held("PreToolUse", shell()), Some(Verdict::block("go on")), "that of the long name");
    // Ten times as many as are remembered.
    for id in 11..10 * u32::try_from(MOST).unwrap() {
        calls.decide("SubagentStart", child(id, ""), Verdict::block("long ".repeat(1 << 10)), &[]);
        assert!(bytes(&calls) < MOST_WRITTEN + (4 << 10), "{id}: {}", bytes(&calls));
    }
}

#[test]
fn ho_33_so_many_blocks_in_a_row_are_printed() {
    for (host, event, most) in
        [(Host::Claude, "Stop", 8), (Host::Gemini, "AfterAgent", 8), (Host::Kimi, "Stop", 1)]
    {
        let mut calls = Calls::of(host);
        let mut is_printed = |fields: Value| {
            let answer = calls.block(event, fields).answer;
            (answer.stdout + &answer.stderr).replace("in a row: go on", "").contains("go on")
        };
        for number in 0..most {
            assert!(is_printed(json!({})), "{host} {number}");
        }
        assert!(!is_printed(json!({})), "{host}");
        // The count begins again.
        assert!(is_printed(json!({})), "{host}");
    }
    // It has continued once, whatever is remembered of it.
    let once = Calls::of(Host::Kimi).block("Stop", json!({"stop_hook_active": true}));
    assert_eq!((once.answer.exit, once.answer.stderr.as_str()), (0, ""));
    let cursor =
        |loops: u64| Calls::of(Host::Cursor).block("stop", json!({"loop_count": loops})).answer.stdout;
    assert!(cursor(4).contains("go on") && !cursor(5).contains("go on"));
}

#[test]
fn ho_64_a_continuation_is_no_prompt_and_carries_what_waits() {
    let mut calls = Calls::of(Host::Gemini);
    calls.block("AfterAgent", json!({}));
    let publishing = calls.arrive("BeforeAgent", json!({"prompt": "go on"}));
    assert_eq!(publishing.incoming.point.name, "x.gemini.after_continuation");
    let settled = calls.served.settle(publishing, &Outcome::default(), &["waited".to_owned()]);
    assert!(settled.answer.stdout.contains("waited"), "{settled:?}");
    assert!(settled.after.is_empty());
    assert!(calls.arrive("AfterAgent", json!({})).stop_active, "the count goes on");
    let prompt = calls.arrive("BeforeAgent", json!({"prompt": "go on"}));
    assert_eq!(prompt.incoming.point.name, "before_prompt");
}

#[test]
fn a_continuation_says_nothing_in_the_way_of_the_host_that_is_answered() {
    // Copilot runs the entry of Cursor.
    let mut calls = Calls::of(Host::Cursor);
    let prompt = || json!({"sessionId": "s", "prompt": "go on"});
    calls.pass("userPromptSubmitted", json!({"sessionId": "s", "prompt": "p"}));
    let mut roots = calls.served.roots();
    roots.roots.get_mut("s").unwrap().printed.insert("s", digest_of_text("go on"));
    drop(roots);
    let publishing = calls.arrive("userPromptSubmitted", prompt());
    assert_eq!(publishing.incoming.point.name, "x.copilot.after_continuation");
    let noticed = Outcome { notices: vec!["n".to_owned()], ..Outcome::default() };
    let settled = calls.served.settle(publishing, &noticed, &["waits".to_owned()]);
    assert_eq!(settled.answer.stdout, "{\"continue\":true}\n");
    assert_eq!((settled.context, settled.log), (ContextFate::Waits, vec!["n".to_owned()]));
}
