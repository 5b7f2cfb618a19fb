//! A session that is closed is not opened by an event that comes late, whatever else is under way.

use std::sync::Arc;

use lineside::Bus;
use shuttle::thread;

use crate::closed::{Closed, OpenedBy};
use crate::explored;

/// As a program does that asks for the session.
fn open(bus: &Bus, closed: &Closed) -> bool {
    closed
        .opening("s", OpenedBy::Request, || bus.session("s").open_now())
        .is_some_and(|opened| opened.is_ok())
}

/// As an event does whose session is not open.
fn comes_late(bus: &Bus, closed: &Closed) -> bool {
    bus.find("s").is_none()
        && closed
            .opening("s", OpenedBy::Event, || bus.session("s").open_now())
            .is_some_and(|opened| opened.is_ok())
}

/// As a request does that closes the session it has found.
fn close(bus: &Bus, closed: &Closed) -> bool {
    let Some(session) = bus.find("s") else { return false };
    closed.note("s", || session.is_open());
    shuttle::future::block_on(session.close());
    true
}

#[test]
fn a_session_that_was_closed_stays_closed_for_events_whoever_opens_it_meanwhile() {
    explored(|| {
        let (bus, closed) = (Bus::new(), Arc::new(Closed::default()));
        assert!(open(&bus, &closed));
        let tasks: Vec<_> = [close, open, close, comes_late]
            .into_iter()
            .map(|does| {
                let (bus, closed) = (bus.clone(), Arc::clone(&closed));
                thread::spawn(move || does(&bus, &closed))
            })
            .collect();
        let done: Vec<bool> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        let is_open = bus.find("s").is_some();
        assert_eq!(is_open, !closed.contains("s"), "{done:?}");
        assert!(is_open || !comes_late(&bus, &closed), "closed, and an event opens it: {done:?}");
    });
}

#[test]
fn the_last_ones_are_remembered_and_not_the_first() {
    let model = || {
        let closed = Closed::most(3);
        for id in ["a", "b", "c", "d", "d"] {
            closed.note(id, || true);
        }
        assert_eq!(["a", "b", "c", "d"].map(|id| closed.contains(id)), [false, true, true, true]);
        assert_eq!(closed.opening("d", OpenedBy::Request, || Err::<(), _>(())), Some(Err(())));
        assert!(closed.contains("d"), "what is not opened stays closed");
        assert_eq!(closed.opening("c", OpenedBy::Event, || Ok::<_, ()>(())), None);
        assert_eq!(closed.opening("c", OpenedBy::Request, || Ok::<_, ()>(())), Some(Ok(())));
        closed.note("e", || true);
        closed.note("of another one", || false);
        assert!(!closed.contains("of another one"));
        assert_eq!(["b", "c", "d", "e"].map(|id| closed.contains(id)), [true, false, true, true]);
        for number in 0..30 {
            closed.note(&number.to_string(), || true);
        }
        assert!((0..30).all(|number| closed.contains(&number.to_string()) == (number >= 27)));
        assert!(!["b", "d", "e"].map(|id| closed.contains(id)).contains(&true));
    };
    shuttle::check_random(model, 1);
}

#[test]
fn of_what_is_opened_and_closed_again_and_again_the_last_closing_counts() {
    let model = || {
        let closed = Closed::most(3);
        for _ in 0..3 {
            closed.note("a", || true);
            closed.forget("a");
        }
        for id in ["b", "a", "c"] {
            closed.note(id, || true);
        }
        assert!(["a", "b", "c"].into_iter().all(|id| closed.contains(id)));
        closed.note("d", || true);
        assert_eq!(["b", "a", "c", "d"].map(|id| closed.contains(id)), [false, true, true, true]);
        // More often than is kept of what was opened again.
        for _ in 0..5_000 {
            closed.forget("a");
            closed.note("a", || true);
        }
        closed.note("e", || true);
        assert_eq!(["c", "d", "a", "e"].map(|id| closed.contains(id)), [false, true, true, true]);
    };
    shuttle::check_random(model, 1);
}
