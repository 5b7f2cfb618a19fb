//! Calls at the same moment: which waits for which, and what it gets.

use super::super::root::{ChildHold, Root};
use super::super::roots::{LOOK, MOST_BYTES, MOST_IN_TREE, MOST_SESSIONS, SILENT, SILENT_AND_HELD};
use super::*;
use crate::hosts::serve::{HostCall, Reading, read};

mod entries;

fn arrival(host: Host, event: Option<&str>, document: &Value) -> Box<HostEvent> {
    let call = HostCall { host, event: event.map(str::to_owned), stdin: document.to_string().into_bytes() };
    match read(call) {
        Reading::Event(arrival) => arrival,
        Reading::Answer(answer) => panic!("it was answered: {answer:?}"),
    }
}

fn publishing(arrived: NextStep) -> Publishing {
    match arrived {
        NextStep::Publish(publishing) => *publishing,
        other => panic!("it is not published: {other:?}"),
    }
}

fn later(arrived: NextStep) -> Box<Coming> {
    match arrived {
        NextStep::Later(arrival) => arrival,
        other => panic!("it does not wait: {other:?}"),
    }
}

fn tool() -> Box<HostEvent> {
    let document = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    arrival(Host::Claude, None, &document)
}

#[test]
fn ho_43_a_second_arrival_waits_for_the_first_and_has_its_decision() {
    // HO-43
    let served = Served::default();
    let now = Instant::now();
    let first = publishing(served.arrive(tool(), now));
    let second = later(served.arrive(tool(), now));
    let second = later(served.arrive(second, now));
    let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
    let settled = served.settle(first, &refused, &[]);
    assert!(settled.answer.stdout.contains("\"deny\""), "{settled:?}");
    match served.arrive(second, now) {
        NextStep::Answer(answer) => assert_eq!(answer, settled.answer),
        other => panic!("it has no answer: {other:?}"),
    }
}

#[test]
fn what_a_call_that_comes_again_leaves_is_weighed() {
    let (served, now) = (Served::default(), Instant::now());
    let first = publishing(served.arrive(tool(), now));
    let again = later(served.arrive(tool(), now));
    served.settle(first, &Outcome::default(), &[]);
    let (_, before) = served.kept();
    assert!(matches!(served.arrive(again, now), NextStep::Answer(_)));
    assert!(served.kept().1 > before, "the entry through which it came is remembered");
}

#[test]
fn ho_43_a_result_that_is_withheld_keeps_its_shape_in_a_second_arrival() {
    let served = Served::default();
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
        NextStep::Answer(answer) => assert_eq!(answer, settled.answer),
        other => panic!("it has no answer: {other:?}"),
    }
}

#[test]
fn a_second_arrival_takes_the_place_of_a_first_that_is_given_up() {
    let served = Served::default();
    let now = Instant::now();
    let (root, call, is_start) = publishing(served.arrive(tool(), now)).if_abandoned();
    let second = later(served.arrive(tool(), now));
    served.abandon(&root, call, is_start);
    publishing(served.arrive(second, now));
}

#[test]
fn cp_25_the_first_prompt_waits_for_the_start_of_its_session() {
    // CP-25
    let served = Served::default();
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

fn tool_of(session: &str) -> Box<HostEvent> {
    let document = json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    arrival(Host::Claude, None, &document)
}

#[test]
fn of_too_many_sessions_the_one_that_was_silent_longest_is_forgotten_and_none_that_is_held() {
    let served = Served::default();
    let now = Instant::now();
    for session in 0..MOST_SESSIONS {
        publishing(served.arrive(tool_of(&session.to_string()), now));
    }
    let knows =
        |served: &Served, sessions: &[&str]| sessions.iter().all(|id| served.roots().roots.contains_key(*id));
    let hold = || "held".to_owned();
    let of = |served: &Served, id: &str| served.roots().roots.remove(id).unwrap();
    let root = Root { session_hold: Some(hold()), ..of(&served, "0") };
    served.roots().roots.insert("0".to_owned(), root);
    let root = Root { turn_hold: Some(hold()), ..of(&served, "1") };
    served.roots().roots.insert("1".to_owned(), root);
    let child = ChildHold { reason: hold(), at_large: false };
    let mut root = of(&served, "2");
    root.child_holds.insert("2/a", child);
    served.roots().roots.insert("2".to_owned(), root);
    // One that is known needs no room, and is not silent any more.
    publishing(served.arrive(tool_of("3"), now));
    assert_eq!(served.roots().roots.len(), MOST_SESSIONS);
    assert!(knows(&served, &["0", "1", "2", "3", "4"]));
    publishing(served.arrive(tool_of("new"), now));
    assert_eq!(served.roots().roots.len(), MOST_SESSIONS);
    assert!(knows(&served, &["0", "1", "2", "3", "5", "new"]) && !knows(&served, &["4"]));
}

/// A shell call of a session that was decided, with an input of that length.
fn decided(served: &Served, session: &str, number: usize, length: usize, now: Instant) {
    let document = json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash",
        "tool_use_id": number.to_string(), "tool_input": {"command": "x".repeat(length)}});
    let publishing = publishing(served.arrive(arrival(Host::Claude, None, &document), now));
    let before = publishing.incoming.payload.to_json();
    let outcome = Outcome { verdict: Verdict::allow(), after: before.clone(), before, ..Outcome::default() };
    served.settle(publishing, &outcome, &[]);
}

#[test]
fn of_an_input_that_is_not_amended_nothing_is_kept_but_what_it_is_known_by() {
    let (served, now) = (Served::default(), Instant::now());
    for number in 0..100 {
        decided(&served, "s", number, 64 << 10, now);
    }
    let (sessions, bytes) = served.kept();
    assert_eq!(sessions, 1);
    assert!(bytes < 100 << 10, "{bytes} bytes");
    // The second arrival of each is still known.
    let kept: usize = served.roots().roots["s"].calls.weight();
    assert!(kept > 100 * 200, "{kept}");
}

/// Makes a session as heavy as it may be.
fn fill(served: &Served, id: &str) {
    let mut roots = served.roots();
    let root = roots.root(id);
    for number in 0..200 {
        let name = format!("{number:02000}");
        root.tasks.insert(&name, ());
        root.blocks.insert(&name, 1);
        root.printed.insert(&name, [0; 32]);
        root.counted.insert(&name, 1);
        root.open.insert(&name, name.as_str().into());
    }
    roots.weigh(id);
}

#[test]
fn sessions_that_take_too_much_together_are_forgotten_and_those_that_are_held_stay_held() {
    let (served, now) = (Served::default(), Instant::now());
    let names: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    for name in &names {
        publishing(served.arrive(tool_of(name), now));
        served.roots().root(name).turn_hold = (name.as_str() < "2").then(|| "held".to_owned());
        fill(&served, name);
    }
    publishing(served.arrive(tool_of("new"), now));
    let (sessions, bytes) = served.kept();
    assert!(bytes <= MOST_BYTES && sessions < 50, "{sessions} sessions, {bytes} bytes");
    for name in names.iter().filter(|name| name.as_str() < "2") {
        let held = publishing(served.arrive(tool_of(name), now)).decided;
        assert_eq!(held, Some(Verdict::block("held")), "{name}");
    }
    // The weight is that of what there is.
    let roots = served.roots();
    let left: usize = roots.roots.values().map(|root| root.weight).sum();
    assert_eq!(roots.weight, left);
}

#[test]
fn no_hold_gives_way_to_other_sessions_or_to_other_subagents() {
    let (served, now) = (Served::default(), Instant::now());
    for session in 0..MOST_SESSIONS {
        publishing(served.arrive(tool_of(&session.to_string()), now));
        served.roots().root(&session.to_string()).session_hold = Some("held".to_owned());
    }
    // Ten times as many as there may be.
    for more in 0..9 * MOST_SESSIONS {
        match served.arrive(tool_of(&format!("one more {more}")), now) {
            NextStep::Answer(answer) => assert!(answer.stdout.contains("\"deny\""), "{answer:?}"),
            other => panic!("it is let in: {other:?}"),
        }
    }
    assert_eq!(publishing(served.arrive(tool_of("0"), now)).decided, Some(Verdict::block("held")));
    // As far as others are not, a session that is not held gives way.
    served.roots().root("7").session_hold = None;
    publishing(served.arrive(tool_of("one more"), now));
    assert_eq!(served.kept().0, MOST_SESSIONS);
}

#[test]
fn what_is_in_one_tree_takes_no_room_from_others_and_its_holds_are_kept() {
    let (served, now) = (Served::default(), Instant::now());
    let arrive = |id: &str| served.arrive(Coming::from(tool_of(id)).in_tree("top".into()), now);
    // Ten times as many as there may be.
    for session in 0..10 * MOST_IN_TREE {
        publishing(arrive(&session.to_string()));
        assert!(served.kept().0 <= MOST_IN_TREE);
    }
    let held: Vec<String> = served.roots().roots.keys().cloned().collect();
    for id in &held {
        served.roots().root(id).session_hold = Some("held".to_owned());
    }
    match arrive("one more") {
        NextStep::Answer(answer) => assert!(answer.stdout.contains("\"deny\""), "{answer:?}"),
        other => panic!("it is let in: {other:?}"),
    }
    assert_eq!(publishing(arrive(&held[0])).decided, Some(Verdict::block("held")));
    publishing(served.arrive(tool_of("elsewhere"), now));
}

#[test]
fn a_session_that_was_silent_for_a_day_is_forgotten_and_one_that_is_held_after_a_month() {
    let (served, now) = (Served::default(), Instant::now());
    for session in ["gone", "held", "speaks"] {
        decided(&served, session, 0, 10, now);
    }
    served.roots().root("held").session_hold = Some("held".to_owned());
    let is_there = |id: &str| served.roots().roots.contains_key(id);
    publishing(served.arrive(tool_of("speaks"), now + SILENT - LOOK));
    assert!(is_there("gone"));
    served.expire(now + SILENT);
    assert!(!is_there("gone") && is_there("held") && is_there("speaks"));
    served.expire(now + SILENT_AND_HELD);
    assert_eq!(served.kept(), (0, 0));
}

#[test]
fn an_event_of_a_session_that_was_forgotten_meanwhile_is_answered() {
    let served = Served::default();
    let publishing = publishing(served.arrive(tool_of("s"), Instant::now()));
    served.roots().roots.clear();
    let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
    let settled = served.settle(publishing, &refused, &[]);
    assert!(settled.answer.stdout.contains("\"deny\"") && !settled.ends, "{settled:?}");
    // It is not the one that was silent longest.
    assert_eq!(served.roots().roots.get("s").map(|root| root.last), Some(1));
}

#[test]
fn ho_7_the_project_of_a_host_that_names_none_is_where_its_session_began() {
    let served = Served::default();
    let project = |cwd: &str| {
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
fn of_a_session_that_has_ended_its_last_events_alone_are_remembered() {
    let served = Served::default();
    let now = Instant::now();
    let end = |fields: Value| {
        let mut document = json!({"hook_event_name": "SessionEnd", "session_id": "s", "reason": "exit"});
        document.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        arrival(Host::Claude, None, &document)
    };
    let inside = publishing(served.arrive(end(json!({"agent_id": "a"})), now));
    assert!(!served.settle(inside, &Outcome::default(), &[]).ends && served.roots().roots.contains_key("s"));
    let own = publishing(served.arrive(end(json!({})), now));
    assert!(served.settle(own, &Outcome::default(), &[]).ends && served.roots().roots["s"].is_over);
}

#[test]
fn cp_25_a_start_that_is_given_up_keeps_no_prompt_waiting() {
    let served = Served::default();
    let now = Instant::now();
    let start = |time: u64| {
        let document = json!({"sessionId": "s", "timestamp": time, "source": "new"});
        arrival(Host::Copilot, Some("sessionStart"), &document)
    };
    let prompt = || {
        let document = json!({"sessionId": "s", "timestamp": 1, "prompt": "p"});
        arrival(Host::Copilot, Some("userPromptSubmitted"), &document)
    };
    let [first, second] = [1, 2].map(|time| publishing(served.arrive(start(time), now)));
    let (root, call, is_start) = first.if_abandoned();
    assert_eq!((root.as_str(), is_start), ("s", true));
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
    let served = Served::default();
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
    let silent = Served::default();
    let prompt = json!({"hook_event_name": "chat.message", "session_id": "s", "prompt": "p"});
    let after = |verdict: Verdict| {
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
    let served = Served::default();
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
    let served = Served::default();
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
        let served = Served::default();
        let document = json!({"hook_event_name": "fooBar", "session_id": "s"});
        let publishing = publishing(served.arrive(arrival(host, None, &document), Instant::now()));
        let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
        assert_eq!(served.settle(publishing, &refused, &[]).answer.stdout, stdout);
    }
}
