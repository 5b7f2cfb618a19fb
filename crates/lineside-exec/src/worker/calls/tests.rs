//! What becomes of calls, without a process.

use lineside_core::json::json;

use super::Id::Counted;
use super::*;

fn of_plugins(void: usize) -> Room {
    Room { void, in_flight: usize::MAX, queue: usize::MAX, resends: true }
}

fn of_hooks(in_flight: usize, queue: usize) -> Calls {
    Calls::new(Room { void: usize::MAX, in_flight, queue, resends: false })
}

fn order(hook: &str, class: CallClass, repeat: Repeat) -> Order {
    let handler = HandlerKey { plugin: "p".to_owned(), hook: hook.to_owned(), nth: 1 };
    let (body, timeout) = (hook.as_bytes().into(), Duration::from_secs(1));
    Order {
        handler: Some(handler),
        class,
        body,
        timeout,
        until: Instant::now() + timeout,
        repeat,
        tree: None,
    }
}

fn modifying(hook: &str) -> Order {
    order(hook, CallClass::Modifying, Repeat::No)
}

fn signal() -> Ending {
    Ending { kind: FailureKind::Signal, why: "killed".to_owned() }
}

fn failed(kind: FailureKind, message: &str, started: bool) -> WorkerEnded {
    WorkerEnded::Failed { kind, message: message.to_owned(), started }
}

/// The hooks that are written next, with ids from this one on.
fn sent(calls: &mut Calls, from: u64) -> Vec<String> {
    (from..).map_while(|id| calls.send(Counted(id))).map(|(_, order)| order.handler.unwrap().hook).collect()
}

/// OC-64: what had started fails; what had not is sent once more, in its order, before what came later.
#[test]
fn what_was_not_started_is_sent_once_more_and_not_twice() {
    let mut calls = Calls::new(of_plugins(9));
    let (_, mut started) = calls.add(modifying("started"), None).unwrap();
    let (_, mut one) = calls.add(modifying("one"), None).unwrap();
    let (_, mut two) = calls.add(modifying("two"), None).unwrap();
    assert_eq!(sent(&mut calls, 1), ["started", "one", "two"]);
    calls.started(Counted(1));
    let (_, mut later) = calls.add(modifying("later"), None).unwrap();
    calls.ended(&signal());
    assert_eq!(started.try_recv().unwrap(), failed(FailureKind::Signal, "killed", true));
    assert_eq!(sent(&mut calls, 1), ["one", "two", "later"]);
    calls.answered(Counted(1), Outcome::Returned(Some(json!(1))));
    assert_eq!(one.try_recv().unwrap(), WorkerEnded::Returned(Some(json!(1))));
    calls.ended(&signal());
    assert_eq!(two.try_recv().unwrap(), failed(FailureKind::Signal, "killed", false));
    assert!(later.try_recv().is_err(), "it was sent for the first time");
    assert_eq!(sent(&mut calls, 1), ["later"]);
}

/// OC-77, OC-78: a second answer, and one to nothing, is known to be none.
#[test]
fn an_answer_counts_once() {
    let mut calls = Calls::new(of_plugins(9));
    let (ticket, _answer) = calls.add(modifying("a"), None).unwrap();
    sent(&mut calls, 5);
    assert!(calls.answered(Counted(5), Outcome::Returned(None)));
    assert!(!calls.answered(Counted(5), Outcome::Returned(None)));
    assert!(!calls.answered(Counted(6), Outcome::Returned(None)));
    assert!(!calls.give_up(ticket, Reason::Timeout));
    assert!(calls.next_cancel().is_none(), "it was over");
}

/// OC-78: only what was sent has to be cancelled.
#[test]
fn a_call_that_is_given_up_is_cancelled_where_it_is() {
    let mut calls = Calls::new(of_plugins(9));
    let (waiting, _a) = calls.add(modifying("a"), None).unwrap();
    assert!(!calls.give_up(waiting, Reason::Gone));
    assert!(calls.next_cancel().is_none() && !calls.has_waiting());
    let (running, _b) = calls.add(modifying("b"), None).unwrap();
    sent(&mut calls, 3);
    calls.started(Counted(3));
    assert!(calls.give_up(running, Reason::Timeout), "it had been started");
    let cancel = calls.next_cancel().map(|cancel| (cancel.id, cancel.reason));
    assert_eq!(cancel, Some((Counted(3), Reason::Timeout)));
    assert_eq!(calls.under_way(), 0);
}

/// OC-43: what is over makes room.
#[test]
fn void_calls_are_counted_until_they_are_over() {
    let mut calls = Calls::new(of_plugins(1));
    let void = || order("v", CallClass::Void, Repeat::No);
    let (_, _first) = calls.add(void(), None).unwrap();
    assert_eq!(calls.add(void(), None).unwrap_err(), WorkerEnded::Dropped);
    calls.add(modifying("a"), None).unwrap();
    assert_eq!((calls.dropped(), calls.take_dropped(), calls.take_dropped()), (1, 1, 0));
    sent(&mut calls, 1);
    calls.answered(Counted(1), Outcome::Returned(None));
    assert!(calls.add(void(), None).is_ok());
}

// OC-54, OC-66.
#[test]
fn while_there_is_no_worker_calls_fail_at_once() {
    let mut calls = Calls::new(of_plugins(9));
    let (_, mut waiting) = calls.add(modifying("a"), None).unwrap();
    calls.refuse(Refusal { kind: FailureKind::Spawn, why: "none".to_owned() });
    assert_eq!(waiting.try_recv().unwrap(), failed(FailureKind::Spawn, "none", false));
    assert_eq!(calls.add(modifying("a"), None).unwrap_err(), failed(FailureKind::Spawn, "none", false));
    calls.accept();
    assert!(calls.add(modifying("a"), None).is_ok());
}

/// OC-67: once for each handler, first, and not what was not told yet; with its own time.
#[test]
fn repeats_go_first_and_end() {
    let told = |hook: &str| order(hook, CallClass::Void, Repeat::AfterRestart);
    let mut calls = Calls::new(of_plugins(9));
    for hook in ["one", "two", "one"] {
        calls.add(told(hook), None).unwrap();
    }
    sent(&mut calls, 1);
    for id in 1..=3 {
        calls.answered(Counted(id), Outcome::Returned(None));
    }
    calls.add(modifying("later"), None).unwrap();
    calls.ended(&signal());
    let now = Instant::now();
    calls.repeat(now);
    assert_eq!(calls.next_unattended(), Some(now + Duration::from_secs(1)));
    assert_eq!(sent(&mut calls, 1), ["two", "one", "later"]);
    calls.expire(now + Duration::from_secs(1));
    assert_eq!(calls.next_cancel().map(|cancel| cancel.reason), Some(Reason::Timeout));

    calls.add(told("two"), None).unwrap();
    calls.ended(&signal());
    calls.repeat(now);
    let again = sent(&mut calls, 1);
    assert_eq!(again.iter().filter(|hook| *hook == "two").count(), 1, "{again:?}");

    for ends in [true, false] {
        let mut calls = Calls::new(of_plugins(9));
        calls.add(told("one"), None).unwrap();
        sent(&mut calls, 1);
        calls.answered(Counted(1), Outcome::Returned(None));
        if ends {
            calls.add(order("end", CallClass::Void, Repeat::Ends), None).unwrap();
        } else {
            calls.forget_repeats();
        }
        calls.ended(&signal());
        calls.repeat(now);
        assert!(!sent(&mut calls, 2).contains(&"one".to_owned()));
    }
}

// OC-54, OC-58, OC-77.
#[test]
fn a_failure_has_its_kind_and_one_line() {
    for (word, kind) in [
        ("panic", FailureKind::Panic),
        ("output", FailureKind::Output),
        ("exit", FailureKind::Exit),
        ("closed", FailureKind::Closed),
        ("new", FailureKind::Output),
    ] {
        let mut calls = Calls::new(of_plugins(9));
        let (_, mut answer) = calls.add(modifying("a"), None).unwrap();
        sent(&mut calls, 1);
        let outcome = Outcome::Failed { kind: word.to_owned(), message: " a\n\tb\u{1b}[31m ".to_owned() };
        calls.answered(Counted(1), outcome);
        assert_eq!(answer.try_recv().unwrap(), failed(kind, "a b [31m", false));
    }
    assert_eq!(one_line(" \n "), "unknown error");
}

#[test]
fn a_worker_has_so_many_calls_at_a_time_and_what_is_beyond_the_queue_is_not_taken() {
    let mut calls = of_hooks(2, 2);
    let (ticket, _a) = calls.add(modifying("a"), None).unwrap();
    let (_, _b) = calls.add(modifying("b"), None).unwrap();
    assert_eq!(calls.add(modifying("c"), None).unwrap_err(), WorkerEnded::Dropped);
    assert_eq!(sent(&mut calls, 1), ["a", "b"]);
    let (_, _c) = calls.add(modifying("c"), None).unwrap();
    assert!(!calls.may_send(), "two are with it");
    calls.give_up(ticket, Reason::Timeout);
    assert!(calls.may_send());
    calls.limit(Some(1));
    assert!(!calls.may_send(), "it says itself that it can do one");
    calls.limit(Some(0));
    calls.answered(Counted(2), Outcome::Answered(String::new()));
    assert!(calls.may_send(), "none would be no worker");
    assert_eq!(calls.dropped(), 1);
}

/// A hook may have done something: it is not run twice for one event because it is not known whether it has begun.
#[test]
fn a_call_of_a_hook_that_was_sent_is_not_sent_again() {
    let mut calls = of_hooks(1, 9);
    let (_, mut one) = calls.add(modifying("one"), None).unwrap();
    calls.send(Counted(1));
    let (_, mut two) = calls.add(modifying("two"), None).unwrap();
    calls.ended(&signal());
    assert_eq!(one.try_recv().unwrap(), failed(FailureKind::Signal, "killed", true));
    assert!(two.try_recv().is_err(), "it waits for the next worker");
    assert_eq!(sent(&mut calls, 1), ["two"]);
}

#[test]
fn no_tree_of_sessions_takes_all_the_room_of_a_worker() {
    let mut calls = of_hooks(8, 16);
    let of = |hook: &str, tree| Order { tree: Some(tree), ..modifying(hook) };
    let taken: Vec<_> = (0..1_000).map_while(|_| calls.add(of("one", 1), None).ok()).collect();
    assert!((10..16).contains(&taken.len()), "{}", taken.len());
    let mut next = calls.add(of("other", 2), None).unwrap().1;
    // Its turn is before those of a tree that has more with the worker.
    assert_eq!(sent(&mut calls, 1), [&["one"][..], &["other"], &["one"; 6]].concat());
    assert!(!calls.may_send() && calls.has_waiting(), "a place is left");
    calls.answered(Counted(2), Outcome::Returned(Some(json!(1))));
    assert_eq!(next.try_recv().unwrap(), WorkerEnded::Returned(Some(json!(1))));
    let _third = calls.add(of("third", 3), None).unwrap();
    assert_eq!(sent(&mut calls, 20), ["third"]);
    calls.answered(Counted(1), Outcome::Returned(Some(json!(1))));
    assert_eq!(sent(&mut calls, 30), ["one"], "in turn");
}
