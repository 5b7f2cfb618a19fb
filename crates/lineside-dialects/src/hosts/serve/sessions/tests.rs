//! Calls at the same moment: which waits for which, and what it gets.

use super::super::root::ChildHold;
use super::*;
use crate::hosts::serve::{HostCall, Reading, read};

fn arrival(host: Host, event: Option<&str>, document: &Value) -> Box<Arrival> {
    let call = HostCall { host, event: event.map(str::to_owned), stdin: document.to_string().into_bytes() };
    match read(call) {
        Reading::Event(arrival) => arrival,
        Reading::Answer(answer) => panic!("it was answered: {answer:?}"),
    }
}

fn publishing(arrived: Arrived) -> Publishing {
    match arrived {
        Arrived::Publish(publishing) => *publishing,
        other => panic!("it is not published: {other:?}"),
    }
}

fn later(arrived: Arrived) -> Box<Arrival> {
    match arrived {
        Arrived::Later(arrival) => arrival,
        other => panic!("it does not wait: {other:?}"),
    }
}

fn tool() -> Box<Arrival> {
    let document = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    arrival(Host::Claude, None, &document)
}

#[test]
fn ho_43_a_second_arrival_waits_for_the_first_and_has_its_decision() {
    let mut served = Served::default();
    let now = Instant::now();
    let first = publishing(served.arrive(tool(), now));
    let second = later(served.arrive(tool(), now));
    let second = later(served.arrive(second, now));
    let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
    let settled = served.settle(first, &refused, &[]);
    assert!(settled.answer.stdout.contains("\"deny\""), "{settled:?}");
    match served.arrive(second, now) {
        Arrived::Answer(answer) => assert_eq!(answer, settled.answer),
        other => panic!("it has no answer: {other:?}"),
    }
}

#[test]
fn ho_43_a_result_that_is_withheld_keeps_its_shape_in_a_second_arrival() {
    let mut served = Served::default();
    let now = Instant::now();
    let result = || {
        let document = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_use_id": "t",
            "tool_name": "Bash", "tool_input": {"command": "env"},
            "tool_response": {"stdout": "k=1", "stderr": "w", "interrupted": false}});
        arrival(Host::Claude, None, &document)
    };
    let first = publishing(served.arrive(result(), now));
    let second = later(served.arrive(result(), now));
    let before = first.incoming.payload.to_json();
    let refused =
        Outcome { verdict: Verdict::block("no"), after: before.clone(), before, ..Outcome::default() };
    let settled = served.settle(first, &refused, &[]);
    assert!(settled.answer.stdout.contains(r#""stdout":"no","stderr":"""#), "{settled:?}");
    match served.arrive(second, now) {
        Arrived::Answer(answer) => assert_eq!(answer, settled.answer),
        other => panic!("it has no answer: {other:?}"),
    }
}

#[test]
fn ho_42_an_amendment_is_for_what_was_amended() {
    let [ls, long, safe] = ["ls", "ls -l", "ls --safe"].map(|command| json!({"command": command}));
    let with_time = json!({"command": "ls", "timeout": 1});
    for (now, expected) in [
        (Some(&ls), true),
        (Some(&with_time), true),
        (Some(&safe), false),
        (Some(&long), false),
        (Some(&json!("ls")), false),
        (None, false),
    ] {
        assert_eq!(is_original(Some(&ls), Some(&safe), now), expected, "{now:?}");
    }
    // The member that was amended is not there.
    let timed = json!({"command": "ls", "timeout": 2});
    assert!(!is_original(Some(&with_time), Some(&timed), Some(&ls)));
    assert!(is_original(None, Some(&safe), None));
}

#[test]
fn a_second_arrival_takes_the_place_of_a_first_that_is_given_up() {
    let mut served = Served::default();
    let now = Instant::now();
    let (root, call, is_start) = publishing(served.arrive(tool(), now)).if_abandoned();
    let second = later(served.arrive(tool(), now));
    served.abandon(&root, call, is_start);
    publishing(served.arrive(second, now));
}

#[test]
fn cp_25_the_first_prompt_waits_for_the_start_of_its_session() {
    let mut served = Served::default();
    let now = Instant::now();
    let call = |event: &str, document: &Value| arrival(Host::Copilot, Some(event), document);
    let start = || call("sessionStart", &json!({"sessionId": "s", "timestamp": 1, "source": "new"}));
    let prompt = |session: &str| {
        call("userPromptSubmitted", &json!({"sessionId": session, "timestamp": 1, "prompt": "p"}))
    };
    publishing(served.arrive(prompt("before"), now));
    let starting = publishing(served.arrive(start(), now));
    let waits = later(served.arrive(prompt("s"), now));
    publishing(served.arrive(prompt("other"), now));
    let held = Outcome { verdict: Verdict::block("frozen"), ..Outcome::default() };
    served.settle(starting, &held, &[]);
    let held = publishing(served.arrive(waits, now));
    assert_eq!(held.decided, Some(Verdict::block("frozen")));
}

fn tool_of(session: &str) -> Box<Arrival> {
    let document = json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    arrival(Host::Claude, None, &document)
}

#[test]
fn of_too_many_sessions_the_one_that_was_silent_longest_is_forgotten_and_none_that_is_held() {
    let mut served = Served::default();
    let now = Instant::now();
    for session in 0..MOST_SESSIONS {
        publishing(served.arrive(tool_of(&session.to_string()), now));
    }
    let knows = |served: &Served, sessions: &[&str]| sessions.iter().all(|id| served.roots.contains_key(*id));
    let hold = || "held".to_owned();
    let of = |served: &mut Served, id: &str| served.roots.remove(id).unwrap();
    let root = Root { session_hold: Some(hold()), ..of(&mut served, "0") };
    served.roots.insert("0".to_owned(), root);
    let root = Root { turn_hold: Some(hold()), ..of(&mut served, "1") };
    served.roots.insert("1".to_owned(), root);
    let child = ChildHold { reason: hold(), at_large: false };
    let root = Root { child_holds: HashMap::from([("2/a".to_owned(), child)]), ..of(&mut served, "2") };
    served.roots.insert("2".to_owned(), root);
    // One that is known needs no room, and is not silent any more.
    publishing(served.arrive(tool_of("3"), now));
    assert_eq!(served.roots.len(), MOST_SESSIONS);
    assert!(knows(&served, &["0", "1", "2", "3", "4"]));
    publishing(served.arrive(tool_of("new"), now));
    assert_eq!(served.roots.len(), MOST_SESSIONS);
    assert!(knows(&served, &["0", "1", "2", "3", "5", "new"]) && !knows(&served, &["4"]));
}

#[test]
fn an_event_of_a_session_that_was_forgotten_meanwhile_is_answered() {
    let mut served = Served::default();
    let publishing = publishing(served.arrive(tool_of("s"), Instant::now()));
    served.roots.clear();
    let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
    let settled = served.settle(publishing, &refused, &[]);
    assert!(settled.answer.stdout.contains("\"deny\"") && !settled.ends, "{settled:?}");
    // It is not the one that was silent longest.
    assert_eq!(served.roots.get("s").map(|root| root.last), Some(1));
}

#[test]
fn ho_7_the_project_of_a_host_that_names_none_is_where_its_session_began() {
    let mut served = Served::default();
    let mut project = |cwd: &str| {
        let document = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": cwd,
            "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let arrived = served.arrive(arrival(Host::Codex, None, &document), Instant::now());
        let Publishing { incoming, .. } = publishing(arrived);
        (incoming.cwd, incoming.project_root)
    };
    let paths = |cwd: &str, root: &str| (Some(cwd.to_owned()), Some(root.to_owned()));
    assert_eq!(project(""), (None, None));
    assert_eq!(project("/a"), paths("/a", "/a"));
    assert_eq!(project("/a/b"), paths("/a/b", "/a"));
}

#[test]
fn the_end_of_a_session_forgets_it() {
    let mut served = Served::default();
    let now = Instant::now();
    let end = |fields: Value| {
        let mut document = json!({"hook_event_name": "SessionEnd", "session_id": "s", "reason": "exit"});
        document.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        arrival(Host::Claude, None, &document)
    };
    let inside = publishing(served.arrive(end(json!({"agent_id": "a"})), now));
    assert!(!served.settle(inside, &Outcome::default(), &[]).ends && served.roots.contains_key("s"));
    let own = publishing(served.arrive(end(json!({})), now));
    assert!(served.settle(own, &Outcome::default(), &[]).ends && served.roots.is_empty());
}

#[test]
fn cp_25_a_start_that_is_given_up_keeps_no_prompt_waiting() {
    let mut served = Served::default();
    let now = Instant::now();
    let start = || {
        let document = json!({"sessionId": "s", "timestamp": 1, "source": "new"});
        arrival(Host::Copilot, Some("sessionStart"), &document)
    };
    let prompt = || {
        let document = json!({"sessionId": "s", "timestamp": 1, "prompt": "p"});
        arrival(Host::Copilot, Some("userPromptSubmitted"), &document)
    };
    let [first, second] = [0, 1].map(|_| publishing(served.arrive(start(), now)));
    let (root, call, is_start) = first.if_abandoned();
    assert_eq!((root.as_str(), call, is_start), ("s", None, true));
    served.abandon(&root, call, is_start);
    let waits = later(served.arrive(prompt(), now));
    served.settle(second, &Outcome::default(), &[]);
    publishing(served.arrive(waits, now));
}

/// What follows from an event of Claude Code of which this came, and whether something was refused.
fn follows(event: &str, fields: Value, verdict: Verdict) -> Vec<Derived> {
    follows_with(event, fields, |before| Outcome {
        verdict,
        before: before.clone(),
        after: before,
        ..Outcome::default()
    })
}

fn follows_with(event: &str, fields: Value, outcome: impl FnOnce(Map) -> Outcome) -> Vec<Derived> {
    let Value::Object(fields) = fields else { panic!("{fields}") };
    let mut document = json!({"hook_event_name": event, "session_id": "s"});
    document.as_object_mut().unwrap().extend(fields);
    let mut served = Served::default();
    let publishing = publishing(served.arrive(arrival(Host::Claude, None, &document), Instant::now()));
    let before = publishing.incoming.payload.to_json();
    served.settle(publishing, &outcome(before), &[]).after
}

fn derived(point: &'static str, payload: Value) -> Vec<Derived> {
    let Value::Object(payload) = payload else { panic!("{payload}") };
    vec![Derived { point, payload }]
}

#[test]
fn ho_5_what_the_host_has_no_event_for_follows_from_one_that_it_has() {
    let passed = |event: &str, fields: Value| follows(event, fields, Verdict::Continue);
    let prompt = || json!({"prompt": "p"});
    assert_eq!(passed("UserPromptSubmit", prompt()), derived("on_prompt", prompt()));
    assert_eq!(passed("UserPromptSubmit", json!({"prompt": "p", "agent_id": "a"})), []);
    let ended = || json!({"success": true, "output": "o"});
    assert_eq!(passed("Stop", json!({"last_assistant_message": "o"})), derived("after_agent", ended()));
    assert_eq!(passed("Stop", json!({})), derived("after_agent", json!({"success": true})));
    assert_eq!(passed("Stop", json!({"agent_id": "a"})), []);
    let told = json!({"task_id": "7", "description": "d"});
    let created = json!({"task_id": 7, "task_subject": "s", "task_description": "d"});
    assert_eq!(passed("TaskCreated", created), derived("on_task_created", told));
    let told = json!({"task_id": "t", "description": "s"});
    let completed = json!({"task_id": "t", "task_subject": "s"});
    assert_eq!(passed("TaskCompleted", completed), derived("on_task_completed", told));
    let changed = json!({"source": "user_settings", "file_path": "/a"});
    assert_eq!(passed("ConfigChange", changed), derived("on_config_change", json!({"path": "/a"})));
    assert_eq!(passed("ConfigChange", json!({"source": "x"})), derived("on_config_change", json!({})));
    assert_eq!(passed("PreToolUse", json!({"tool_name": "Bash", "tool_input": {}})), []);
}

#[test]
fn ho_5_nothing_follows_from_what_was_refused() {
    for verdict in [Verdict::block("no"), Verdict::Stop("no".into())] {
        assert_eq!(follows("UserPromptSubmit", json!({"prompt": "p"}), verdict), []);
    }
    assert_eq!(follows("UserPromptSubmit", json!({"prompt": "p"}), Verdict::allow()).len(), 1);
    // Nor where the host has no word for it.
    let mut silent = Served::default();
    let prompt = json!({"hook_event_name": "chat.message", "session_id": "s", "prompt": "p"});
    let mut after = |verdict: Verdict| {
        let prompt = arrival(Host::Opencode, Some("chat.message"), &prompt);
        let publishing = publishing(silent.arrive(prompt, Instant::now()));
        let settled = silent.settle(publishing, &Outcome { verdict, ..Outcome::default() }, &[]);
        assert_eq!(settled.answer.stdout, "");
        settled.after.len()
    };
    assert_eq!((after(Verdict::Continue), after(Verdict::block("no"))), (1, 0));
    // The host cannot take another prompt.
    let amended = follows_with("UserPromptSubmit", json!({"prompt": "p"}), |before| {
        let after = Map::from_iter([("prompt".to_owned(), "q".into())]);
        Outcome { before, after, ..Outcome::default() }
    });
    assert_eq!(amended, []);
    // A block that is one too many is not carried out: the agent has ended.
    let mut served = Served::default();
    let stop = || {
        arrival(
            Host::Kimi,
            None,
            &json!({"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": true}),
        )
    };
    let publishing = publishing(served.arrive(stop(), Instant::now()));
    let blocked = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
    let ended = derived("after_agent", json!({"success": true}));
    assert_eq!(served.settle(publishing, &blocked, &[]).after, ended);
}

#[test]
fn ho_5_an_agent_begins_with_a_prompt_that_passes() {
    let mut served = Served::default();
    let document = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "p"});
    let mut publishing = publishing(served.arrive(arrival(Host::Claude, None, &document), Instant::now()));
    let after = Map::from_iter([("prompt".to_owned(), "q".into())]);
    let outcome = |verdict| Outcome { verdict, after: after.clone(), ..Outcome::default() };
    let begins = derived("before_agent", json!({"prompt": "q"})).pop();
    assert_eq!(publishing.folded(&outcome(Verdict::allow())), begins);
    assert_eq!(publishing.folded(&outcome(Verdict::ask("sure?"))), None);
    assert_eq!(publishing.folded(&outcome(Verdict::block("no"))), None);
    publishing.decided = Some(Verdict::Continue);
    assert_eq!(publishing.folded(&outcome(Verdict::allow())), None);
    assert_eq!(publishing.host(), Host::Claude);
}

#[test]
fn an_event_that_the_page_does_not_have_is_answered_in_the_way_of_its_host() {
    for (host, stdout) in [(Host::Cursor, "{}\n"), (Host::Claude, "")] {
        let mut served = Served::default();
        let document = json!({"hook_event_name": "fooBar", "session_id": "s"});
        let publishing = publishing(served.arrive(arrival(host, None, &document), Instant::now()));
        let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
        assert_eq!(served.settle(publishing, &refused, &[]).answer.stdout, stdout);
    }
}
