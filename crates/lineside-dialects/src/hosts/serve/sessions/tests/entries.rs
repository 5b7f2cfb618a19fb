//! Events of a program that runs the entries of another one beside its own (HO-41, CP-26, CP-27).

use std::time::Duration;

use super::*;

/// An event of Copilot through its own entry, and the same through that of Claude Code in the project.
fn both(event: (&str, Value), other: (&str, Value)) -> [Box<HostEvent>; 2] {
    let with = |fields: Value, more: Value| {
        let mut document = fields;
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        document
    };
    let own = with(event.1, json!({"sessionId": "s", "timestamp": 1, "cwd": "/p"}));
    let of_claude = json!({"hook_event_name": other.0, "session_id": "s", "timestamp": "t", "cwd": "/p"});
    [
        arrival(Host::Copilot, Some(event.0), &own),
        arrival(Host::Claude, Some(other.0), &with(other.1, of_claude)),
    ]
}

fn prompts(text: &str) -> [Box<HostEvent>; 2] {
    let prompt = json!({"prompt": text});
    both(("userPromptSubmitted", prompt.clone()), ("UserPromptSubmit", prompt))
}

fn stops(is_active: bool) -> [Box<HostEvent>; 2] {
    let own = json!({"stopReason": "end_turn", "stop_hook_active": is_active});
    let other = json!({"stop_reason": "end_turn", "stop_hook_active": is_active, "transcript_path": "/t"});
    both(("agentStop", own), ("Stop", other))
}

fn answer(arrived: NextStep) -> HostAnswer {
    match arrived {
        NextStep::Answer(answer) => answer,
        other => panic!("hooks would run twice: {other:?}"),
    }
}

/// Both arrivals of an event, of which hooks decide about the first.
fn decided(served: &Served, both: [Box<HostEvent>; 2], verdict: &Verdict) -> [HostAnswer; 2] {
    let now = Instant::now();
    let [own, other] = both;
    let own = publishing(served.arrive(own, now));
    let before = own.incoming.payload.to_json();
    let outcome = Outcome { verdict: verdict.clone(), after: before.clone(), before, ..Outcome::default() };
    let settled = served.settle(own, &outcome, &[]);
    [settled.answer, answer(served.arrive(other, now))]
}

#[test]
fn hooks_run_once_where_copilot_runs_the_entry_of_a_project_beside_that_of_the_user() {
    let served = Served::default();
    let tool = json!({"toolName": "bash", "toolArgs": {"command": "ls", "description": "d"}});
    let result = json!({"toolName": "bash", "toolArgs": {"command": "ls", "description": "d"},
        "toolResult": {"resultType": "success", "textResultForLlm": "a"}});
    let stop = json!({"stopReason": "end_turn", "stop_hook_active": false});
    let beside = |event: &str, mut fields: Value| {
        let more = json!({"sessionId": "s", "timestamp": 1, "cwd": "/p"});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        [event, &format!("{event}@project")].map(|event| arrival(Host::Copilot, Some(event), &fields))
    };
    let events = [
        ("sessionStart", json!({"source": "new"})),
        ("userPromptSubmitted", json!({"prompt": "go"})),
        ("preToolUse", tool.clone()),
        ("postToolUse", result.clone()),
        // The same once more is another call, with or without a result.
        ("preToolUse", tool.clone()),
        ("preToolUse", tool),
        ("postToolUse", result),
        ("agentStop", stop),
    ];
    for (event, fields) in events {
        let [own, other] = decided(&served, beside(event, fields), &Verdict::Continue);
        assert_eq!(own, other, "{event}");
    }
    let refused = json!({"toolName": "bash", "toolArgs": {"command": "rm x"}});
    let [own, other] = decided(&served, beside("preToolUse", refused), &Verdict::block("no"));
    assert!(own == other && own.stdout.contains("deny"), "{own:?}");
}

#[test]
fn hooks_run_once_where_copilot_runs_the_entry_of_claude_code_beside_its_own() {
    let served = Served::default();
    let goes_on = Verdict::Continue;
    let source = json!({"source": "new"});
    decided(&served, both(("sessionStart", source.clone()), ("SessionStart", source)), &goes_on);
    decided(&served, prompts("go"), &goes_on);
    let tool = both(
        ("preToolUse", json!({"toolName": "bash", "toolArgs": {"command": "ls", "description": "d"}})),
        ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls", "description": "d"}})),
    );
    let [own, other] = decided(&served, tool, &Verdict::block("no"));
    assert_eq!(own.stdout, "{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}\n");
    assert!(other.stdout.starts_with("{\"permissionDecision\":\"deny\""), "{other:?}");
    let started = both(
        (
            "subagentStart",
            json!({"agentName": "general", "agentType": "general", "agentId": "a", "parentAgentId": "s"}),
        ),
        (
            "SubagentStart",
            json!({"sessionId": "s", "agentName": "general", "agent_type": "general", "agent_id": "a"}),
        ),
    );
    decided(&served, started, &goes_on);
    let stopped = both(
        (
            "subagentStop",
            json!({"agentName": "general", "agentType": "general", "agentId": "a", "response": "r"}),
        ),
        (
            "SubagentStop",
            json!({"agent_name": "general", "agent_type": "general", "agent_id": "a", "last_assistant_message": "r",
                "stop_reason": "end_turn"}),
        ),
    );
    decided(&served, stopped, &goes_on);
    let [_, other] = decided(&served, stops(false), &Verdict::block("more"));
    assert!(other.stdout.contains("\"more\""), "{other:?}");
    // The prompt by which the program goes on is used up by neither of the two.
    let [own, other] = prompts("more");
    let own = publishing(served.arrive(own, Instant::now()));
    assert_eq!(own.incoming.point.name, "x.copilot.after_continuation");
    served.settle(own, &Outcome::default(), &[]);
    answer(served.arrive(other, Instant::now()));
    decided(&served, stops(true), &goes_on);
    let reason = json!({"reason": "complete"});
    decided(&served, both(("sessionEnd", reason.clone()), ("SessionEnd", reason)), &goes_on);
    assert!(served.roots().roots["s"].is_over);
}

#[test]
fn hooks_run_once_where_claude_code_has_an_entry_of_the_user_and_one_of_the_project() {
    let served = Served::default();
    let both = |event: &str, more: Value| {
        let mut document =
            json!({"hook_event_name": event, "session_id": "s", "cwd": "/p", "transcript_path": "/t"});
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        [None, Some(event)].map(|stated| arrival(Host::Claude, stated, &document))
    };
    let goes_on = Verdict::Continue;
    decided(&served, both("SessionStart", json!({"source": "startup"})), &goes_on);
    for _ in 0..2 {
        // The same words again are another prompt, and the same end another one.
        decided(&served, both("UserPromptSubmit", json!({"prompt": "go on"})), &goes_on);
        let stop = || json!({"stop_hook_active": false, "last_assistant_message": "done"});
        let [_, other] = decided(&served, both("Stop", stop()), &Verdict::block("more"));
        assert!(other.stdout.contains("\"more\""), "{other:?}");
    }
    decided(&served, both("SessionEnd", json!({"reason": "other"})), &goes_on);
}

#[test]
fn a_tool_call_of_claude_code_is_one_of_its_own_through_an_entry_that_states_its_event_and_a_late_stop_too() {
    let (served, now) = (Served::default(), Instant::now());
    let of = |event: &str, more: Value| {
        let mut document = json!({"hook_event_name": event, "session_id": "s", "transcript_path": "/t"});
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        [None, Some(event)].map(|stated| arrival(Host::Claude, stated, &document))
    };
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}});
    let stop = json!({"stop_hook_active": false, "last_assistant_message": "done"});
    for (event, more, later) in [("PreToolUse", bash, 0), ("Stop", stop, 6)] {
        let [first, second] = of(event, more);
        let first = publishing(served.arrive(first, now));
        served.settle(first, &Outcome::default(), &[]);
        publishing(served.arrive(second, now + Duration::from_secs(later)));
    }
}

#[test]
fn an_event_that_comes_again_through_the_same_entry_is_another_one() {
    let (served, now) = (Served::default(), Instant::now());
    let [own, other] = prompts("go");
    let first = publishing(served.arrive(own, now));
    // It waits for the one that is under way.
    let other = later(served.arrive(other, now));
    let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
    served.settle(first, &refused, &[]);
    answer(served.arrive(other, now));
    let [own, other] = prompts("go");
    let second = publishing(served.arrive(own, now));
    served.settle(second, &Outcome::default(), &[]);
    assert_eq!(answer(served.arrive(other, now)), HostAnswer::default(), "it has the decision of its own");
    // One with another text is judged, and so is one that no own entry has brought.
    let [own, _] = prompts("ls");
    publishing(served.arrive(own, now));
    let [_, other] = prompts("rm");
    publishing(served.arrive(other, now));
    let [_, other] = prompts("rm");
    publishing(served.arrive(other, now));
}

#[test]
fn the_last_block_too_many_of_a_stop_is_taken_back_through_both_entries() {
    let served = Served::default();
    let block = Verdict::block("more");
    for count in 0..Host::Copilot.cap() {
        let both = decided(&served, stops(count > 0), &block);
        assert!(both.iter().all(|answer| answer.stdout.contains("\"block\"")), "{count}: {both:?}");
    }
    let [own, other] = decided(&served, stops(true), &block);
    assert!(!own.stdout.contains("\"block\"") && !other.stdout.contains("\"block\""), "{own:?} {other:?}");
}

#[test]
fn a_session_that_has_ended_is_forgotten_soon_and_begins_anew() {
    let (served, now) = (Served::default(), Instant::now());
    let reason = json!({"reason": "complete"});
    let end = || both(("sessionEnd", reason.clone()), ("SessionEnd", reason.clone()));
    decided(&served, end(), &Verdict::Continue);
    decided(&served, prompts("go"), &Verdict::Continue);
    assert!(!served.roots().roots["s"].is_over);
    decided(&served, end(), &Verdict::Continue);
    served.expire(now);
    served.expire(now + LOOK + std::time::Duration::from_secs(601));
    assert_eq!(served.kept(), (0, 0));
}
