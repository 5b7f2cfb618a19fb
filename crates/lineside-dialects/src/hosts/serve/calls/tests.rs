//! Which arrivals are one call, and for how long.

use std::borrow::Borrow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_core::json::{Value, json};
use lineside_core::{Amendment, Verdict};

use super::{
    Arriving, Call, CallId, Calls, Decided, Entry, Found, Known, MOST, MOST_BYTES, OPEN, digest_of_folder,
    digest_of_text,
};
use crate::hosts::program::Host;
use crate::hosts::serve::Outcome;

mod folders;

/// An arrival of a shell call through the entry of a host, known by its input alone.
fn gate(entry: Host, input: impl Borrow<Value>) -> Arriving {
    let input = Known::of(input.borrow());
    Arriving {
        is_call: true,
        session: "s".to_owned(),
        point: "before_tool",
        call: None,
        tool: Some(digest_of_text("shell")),
        input,
        output: None,
        folder: Some(digest_of_folder("/w")),
        names_folder: false,
        entry: (entry, digest_of_text("e"), false),
        comes_twice: false,
    }
}

fn named(entry: Host, call: &str) -> Arriving {
    Arriving { call: Some(digest_of_text(call)), ..gate(entry, json!({})) }
}

fn ls() -> Value {
    json!({"command": "ls"})
}

fn arrive(calls: &mut Calls, arriving: Arriving, now: Instant) -> Found {
    calls.arrive(&Arc::new(arriving), None, now)
}

fn new(found: Found) -> CallId {
    match found {
        Found::New(id) => id,
        Found::Undecided => panic!("it is under way"),
        Found::Decided(outcome) => panic!("it was decided: {outcome:?}"),
    }
}

fn is_decided(found: &Found) -> bool {
    matches!(found, Found::Decided(outcome) if outcome.verdict == Verdict::block("no"))
}

fn decide(calls: &mut Calls, id: CallId) {
    calls.decide(
        id,
        &Arc::new(Decided::of(&Outcome { verdict: Verdict::block("no"), ..Outcome::default() })),
        None,
    );
}

/// A shell call `ls` that came through the entry of Claude Code and was decided.
fn decided(now: Instant) -> Calls {
    let mut calls = Calls::default();
    let id = new(arrive(&mut calls, gate(Host::Claude, ls()), now));
    decide(&mut calls, id);
    calls
}

#[test]
fn ho_41_an_id_says_which_call_it_is_whatever_else_differs() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    let id = new(arrive(&mut calls, named(Host::Claude, "a"), now));
    assert!(matches!(arrive(&mut calls, named(Host::Claude, "a"), now), Found::Undecided));
    let other = new(arrive(&mut calls, named(Host::Cursor, "b"), now));
    assert_ne!(id, other);
    decide(&mut calls, id);
    assert!(is_decided(&arrive(&mut calls, named(Host::Cursor, "a"), now)));
    assert!(matches!(arrive(&mut calls, named(Host::Claude, "b"), now), Found::Undecided));
    for other in [
        Arriving { session: "t".to_owned(), ..named(Host::Claude, "a") },
        // Hooks for the tool have judged none of its calls.
        Arriving { tool: None, ..named(Host::Claude, "a") },
        Arriving { point: "before_permission", ..named(Host::Claude, "a") },
    ] {
        new(arrive(&mut calls, other, now));
    }
}

#[test]
fn an_id_that_comes_again_with_another_input_is_another_call() {
    let now = Instant::now();
    let rm = json!({"command": "rm -rf build"});
    let named = |entry, input: &Value| Arriving { input: Known::of(input), ..named(entry, "call_0") };
    for entry in [Host::Claude, Host::Cursor] {
        let mut calls = Calls::default();
        let first = new(arrive(&mut calls, named(Host::Claude, &ls()), now));
        // While the first is under way, and after it was decided.
        let second = new(arrive(&mut calls, named(entry, &rm), now));
        decide(&mut calls, first);
        calls.abandon(second);
        new(arrive(&mut calls, named(entry, &rm), now));
        assert!(is_decided(&arrive(&mut calls, named(entry, &ls()), now)));
    }
    // The same event of a host has all of the input; another event may have less of it.
    let mut calls = Calls::default();
    let more = json!({"command": "ls", "background": true});
    let id = new(arrive(&mut calls, named(Host::Claude, &more), now));
    decide(&mut calls, id);
    assert!(is_decided(&arrive(&mut calls, named(Host::Cursor, &ls()), now)));
    new(arrive(&mut calls, named(Host::Claude, &ls()), now));
    new(arrive(&mut calls, named(Host::Claude, &Value::Null), now));
}

#[test]
fn a_gate_that_opened_for_a_part_of_a_call_opens_for_nothing_that_was_not_shown() {
    let now = Instant::now();
    let harmless = json!({"description": "lists files"});
    let whole = json!({"description": "lists files", "command": "rm -rf build"});
    for shown in [&harmless, &json!({}), &json!({"zzz": 1})] {
        for call in [None, Some(digest_of_text("call_0"))] {
            let mut calls = Calls::default();
            let arriving = |entry, input: &Value| Arriving { call, ..gate(entry, input.clone()) };
            let id = new(arrive(&mut calls, arriving(Host::Codex, shown), now));
            decide(&mut calls, id);
            new(arrive(&mut calls, arriving(Host::Claude, &whole), now));
        }
    }
}

#[test]
fn a_review_of_a_part_of_a_result_is_none_of_what_it_was_not_shown() {
    let now = Instant::now();
    let whole = json!({"stdout": "key 1234", "exit": 0});
    for (shown, input) in [
        (json!({"stdout": "nothing"}), ls()),
        (json!({"exit": 0}), ls()),
        (json!({}), ls()),
        (json!("key 1234"), ls()),
        (whole.clone(), json!({})),
    ] {
        for (call, entry) in [
            (None, Host::Codex),
            (Some(digest_of_text("call_0")), Host::Codex),
            (Some(digest_of_text("call_0")), Host::Claude),
        ] {
            let mut calls = Calls::default();
            let review = |entry, input: &Value, output: &Value| Arriving {
                point: "after_tool",
                call,
                output: Some(Known::of(output)),
                ..gate(entry, input)
            };
            let id = new(arrive(&mut calls, review(entry, &input, &shown), now));
            decide(&mut calls, id);
            let id = new(arrive(&mut calls, review(Host::Claude, &ls(), &whole), now));
            decide(&mut calls, id);
            // What shows a part of what was reviewed is the same call.
            let part = json!({"stdout": "key 1234"});
            assert!(is_decided(&arrive(&mut calls, review(Host::Cursor, &ls(), &part), now)));
        }
    }
    let mut calls = Calls::default();
    let review = Arriving { point: "after_tool", ..gate(Host::Codex, ls()) };
    let id = new(arrive(&mut calls, review.clone(), now));
    decide(&mut calls, id);
    let output = Some(Known::of(&whole));
    new(arrive(
        &mut calls,
        Arriving { output, ..Arriving { entry: gate(Host::Claude, ls()).entry, ..review } },
        now,
    ));
}

#[test]
fn an_input_that_was_amended_is_known_by_its_id_too() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    let named = |input: Value| Arriving { input: Known::of(&input), ..named(Host::Claude, "a") };
    let id = new(arrive(&mut calls, named(ls()), now));
    let after = Amendment::default().with("tool_input", json!({"command": "ls -l"})).fields().clone();
    calls.decide(
        id,
        &Arc::new(Decided::of(&Outcome { verdict: Verdict::block("no"), after, ..Outcome::default() })),
        None,
    );
    assert!(is_decided(&arrive(&mut calls, named(ls()), now)));
    assert!(is_decided(&arrive(&mut calls, named(json!({"command": "ls -l"})), now)));
    new(arrive(&mut calls, named(json!({"command": "ls -a"})), now));
}

#[test]
fn an_id_that_comes_again_after_the_result_of_its_call_is_another_call() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    let gate = || Arriving { input: Known::of(&ls()), ..named(Host::Claude, "call_0") };
    let review = || Arriving { point: "after_tool", ..gate() };
    for _ in 0..2 {
        for arriving in [gate(), review()] {
            let id = new(arrive(&mut calls, arriving.clone(), now));
            decide(&mut calls, id);
            assert!(is_decided(&arrive(&mut calls, arriving, now)));
        }
    }
    // Results of other calls, sessions and of calls without an id are still known.
    let other = Arriving { call: Some(digest_of_text("call_1")), ..review() };
    let elsewhere = Arriving { session: "t".to_owned(), ..review() };
    let nameless = Arriving { call: None, ..review() };
    for known in [other, elsewhere, nameless] {
        let id = new(arrive(&mut calls, known, now));
        decide(&mut calls, id);
    }
    for arriving in [gate(), Arriving { call: None, ..gate() }] {
        arrive(&mut calls, arriving, now);
    }
    let reviews = calls.calls.iter().filter(|call| call.of.is_review());
    let known: Vec<_> = reviews.map(|call| (call.of.session.as_str(), call.of.call)).collect();
    let [first, second] = ["call_0", "call_1"].map(digest_of_text);
    assert_eq!(known, [("s", Some(second)), ("t", Some(first)), ("s", None)]);
    // One that is refused has no result, and its id is that of another call after a while.
    let mut calls = Calls::default();
    let id = new(arrive(&mut calls, gate(), now));
    decide(&mut calls, id);
    assert!(is_decided(&arrive(&mut calls, gate(), now + OPEN)));
    new(arrive(&mut calls, gate(), now + OPEN + Duration::from_nanos(1)));
}

#[test]
fn ho_41_without_an_id_the_members_that_both_inputs_have_say_it() {
    let now = Instant::now();
    for (input, is_same) in [
        (ls(), true),
        (json!({"command": "ls", "timeout": 1}), true),
        (json!({"command": "ls", "cwd": "/w"}), true),
        (json!({"command": "ls", "cwd": ""}), true),
        (json!({"command": "ls", "workdir": "/"}), false),
        // Nothing has judged where it writes.
        (json!({"command": "ls", "file_path": "/etc/passwd"}), false),
        (json!({"command": "rm"}), false),
        (json!({"timeout": 1}), false),
        (json!({}), false),
        (json!("ls"), false),
    ] {
        let found = arrive(&mut decided(now), gate(Host::Cursor, input.clone()), now);
        assert_eq!(is_decided(&found), is_same, "{input}");
    }
    let other_tool = Arriving { tool: None, ..gate(Host::Cursor, ls()) };
    new(arrive(&mut decided(now), other_tool, now));
    // One id alone says nothing.
    let with_id = Arriving { call: Some(digest_of_text("a")), ..gate(Host::Cursor, ls()) };
    assert!(is_decided(&arrive(&mut decided(now), with_id, now)));
}

#[test]
fn ho_41_what_comes_through_the_same_entry_is_the_next_call() {
    let now = Instant::now();
    new(arrive(&mut decided(now), gate(Host::Claude, ls()), now));
    let other_event =
        Arriving { entry: (Host::Claude, digest_of_text("f"), false), ..gate(Host::Claude, ls()) };
    assert!(is_decided(&arrive(&mut decided(now), other_event, now)));
    // So is what comes a second time through that of a partner.
    let mut calls = decided(now);
    assert!(is_decided(&arrive(&mut calls, gate(Host::Cursor, ls()), now)));
    new(arrive(&mut calls, gate(Host::Cursor, ls()), now));
    assert!(is_decided(&arrive(&mut calls, gate(Host::Copilot, ls()), now)));
}

#[test]
fn an_input_that_was_amended_is_known_by_either() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    let id = new(arrive(&mut calls, gate(Host::Claude, ls()), now));
    let after = Amendment::default().with("tool_input", json!({"command": "ls -l"})).fields().clone();
    calls.decide(
        id,
        &Arc::new(Decided::of(&Outcome { verdict: Verdict::block("no"), after, ..Outcome::default() })),
        None,
    );
    assert!(is_decided(&arrive(&mut calls, gate(Host::Cursor, json!({"command": "ls -l"})), now)));
    assert!(is_decided(&arrive(&mut calls, gate(Host::Copilot, ls()), now)));
}

#[test]
fn ho_40_a_call_finds_its_partner_for_ten_minutes() {
    let now = Instant::now();
    let found = arrive(&mut decided(now), gate(Host::Cursor, ls()), now + OPEN);
    assert!(is_decided(&found));
    new(arrive(&mut decided(now), gate(Host::Cursor, ls()), now + OPEN + Duration::from_nanos(1)));
}

#[test]
fn a_result_ends_its_call_and_has_partners_of_its_own() {
    let now = Instant::now();
    let review = |entry| Arriving { point: "after_tool", ..gate(entry, ls()) };
    let mut calls = decided(now);
    let id = new(arrive(&mut calls, review(Host::Claude), now));
    decide(&mut calls, id);
    assert!(is_decided(&arrive(&mut calls, review(Host::Cursor), now)));
    new(arrive(&mut calls, gate(Host::Cursor, ls()), now));
    for other in [
        Arriving { session: "t".to_owned(), ..review(Host::Claude) },
        Arriving { input: Known::of(&json!({"command": "rm"})), ..review(Host::Claude) },
    ] {
        let mut calls = decided(now);
        new(arrive(&mut calls, other, now));
        assert!(is_decided(&arrive(&mut calls, gate(Host::Cursor, ls()), now)));
    }
    // Of two calls with ids only the one that is named.
    let mut calls = Calls::default();
    for call in ["a", "b"] {
        let gate = Arriving { call: Some(digest_of_text(call)), ..gate(Host::Claude, ls()) };
        let id = new(arrive(&mut calls, gate, now));
        decide(&mut calls, id);
    }
    new(arrive(&mut calls, Arriving { call: Some(digest_of_text("b")), ..review(Host::Claude) }, now));
    let open: Vec<bool> = calls.calls.iter().map(|call: &Call| call.is_open).collect();
    assert_eq!(open, [true, false, true]);
}

#[test]
fn what_was_decided_long_ago_is_forgotten_and_what_is_under_way_is_not() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    let id = new(arrive(&mut calls, named(Host::Claude, "old"), now));
    new(arrive(&mut calls, named(Host::Claude, "slow"), now));
    decide(&mut calls, id);
    let later = now + OPEN + Duration::from_secs(1);
    new(arrive(&mut calls, named(Host::Claude, "now"), later));
    assert_eq!(calls.calls.len(), 2);
    assert!(matches!(arrive(&mut calls, named(Host::Claude, "slow"), later), Found::Undecided));
}

#[test]
fn of_too_many_calls_the_oldest_is_forgotten() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    for call in 0..=MOST {
        new(arrive(&mut calls, named(Host::Claude, &call.to_string()), now));
    }
    assert_eq!(calls.calls.len(), MOST);
    assert!(matches!(arrive(&mut calls, named(Host::Claude, "1"), now), Found::Undecided));
    new(arrive(&mut calls, named(Host::Claude, "0"), now));
}

#[test]
fn only_what_is_under_way_can_be_given_up() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    let [first, second] = ["a", "b"].map(|call| new(arrive(&mut calls, named(Host::Claude, call), now)));
    calls.abandon(first);
    new(arrive(&mut calls, named(Host::Claude, "a"), now));
    assert!(matches!(arrive(&mut calls, named(Host::Claude, "b"), now), Found::Undecided));
    decide(&mut calls, second);
    calls.abandon(second);
    assert!(is_decided(&arrive(&mut calls, named(Host::Claude, "b"), now)));
}

#[test]
fn a_result_ends_its_call_at_each_gate_that_it_has_passed_and_no_other_call() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    let permission = |entry| Arriving { point: "before_permission", ..gate(entry, ls()) };
    let rm = |entry| gate(entry, json!({"command": "rm"}));
    for arriving in [rm(Host::Claude), gate(Host::Claude, ls()), permission(Host::Claude)] {
        let id = new(arrive(&mut calls, arriving, now));
        decide(&mut calls, id);
    }
    new(arrive(&mut calls, Arriving { point: "after_tool", ..gate(Host::Claude, ls()) }, now));
    let open: Vec<bool> = calls.calls.iter().map(|call: &Call| call.is_open).collect();
    assert_eq!(open, [true, false, false, true]);
    assert!(is_decided(&arrive(&mut calls, rm(Host::Cursor), now)));
    new(arrive(&mut calls, permission(Host::Cursor), now));
    // The result of an earlier call is no gate.
    let review = || Arriving { point: "after_tool", ..gate(Host::Claude, ls()) };
    let mut calls = Calls::default();
    for arriving in [review(), permission(Host::Claude)] {
        let id = new(arrive(&mut calls, arriving, now));
        decide(&mut calls, id);
    }
    new(arrive(&mut calls, review(), now));
    let open: Vec<bool> = calls.calls.iter().map(|call: &Call| call.is_open).collect();
    assert_eq!(open, [true, false, true]);
}

/// What a call left that was amended to a text of that length.
fn amended_to(length: usize) -> Arc<Decided> {
    let input = json!({"command": "x".repeat(length)});
    let after = Amendment::default().with("tool_input", input).fields().clone();
    Arc::new(Decided::of(&Outcome { verdict: Verdict::block("no"), after, ..Outcome::default() }))
}

#[test]
fn of_calls_that_take_too_much_the_oldest_that_was_decided_is_forgotten_and_is_a_call_of_its_own_again() {
    let (mut calls, now) = (Calls::default(), Instant::now());
    new(arrive(&mut calls, named(Host::Claude, "under way"), now));
    for call in 0..40 {
        let id = new(arrive(&mut calls, named(Host::Claude, &call.to_string()), now));
        calls.decide(id, &amended_to(MOST_BYTES / 4), None);
        assert!(calls.weight() <= MOST_BYTES, "{}", calls.weight());
    }
    assert!(calls.calls.len() > 3);
    assert!(is_decided(&arrive(&mut calls, named(Host::Claude, "39"), now)));
    assert!(matches!(arrive(&mut calls, named(Host::Claude, "under way"), now), Found::Undecided));
    new(arrive(&mut calls, named(Host::Claude, "0"), now));
    // One that is too much by itself is not kept at all.
    let id = new(arrive(&mut calls, named(Host::Claude, "huge"), now));
    calls.decide(id, &amended_to(MOST_BYTES), None);
    assert_eq!(calls.calls.iter().filter(|call| call.outcome.is_some()).count(), 0);
    new(arrive(&mut calls, named(Host::Claude, "huge"), now));
    let left: usize = calls.calls.iter().map(Call::weight).sum();
    assert_eq!(calls.weight(), left);
}

#[test]
fn entries_through_which_a_call_comes_again_and_again_are_weighed() {
    let now = Instant::now();
    let mut calls = Calls::default();
    let id = new(arrive(&mut calls, named(Host::Claude, "a"), now));
    decide(&mut calls, id);
    let before = calls.weight();
    for event in 0..200 {
        let entry = (Host::Cursor, digest_of_text(&(event % 2).to_string()), false);
        let again = Arriving { entry, input: Known::of(&json!({})), ..named(Host::Cursor, "a") };
        assert!(is_decided(&arrive(&mut calls, again, now)));
    }
    assert_eq!(calls.weight(), before + 2 * size_of::<Entry>());
}
