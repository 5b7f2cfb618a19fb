//! Which event waits for which: a session keeps the order of its input, and sessions do not wait for each other unless
//! one has started the other.
//!
//! An event waits for those before it in the input that belong to its own session. The first event of a session also
//! waits for what came before it in the sessions above; an event that names a child session waits for what came before
//! it in that session, and the end of a session for what came before it in those below. All of them point back, so no
//! circle can form.

use std::collections::HashMap;

use tokio::sync::watch;

/// Held while something is under way; dropping it lets those go on that wait for it.
pub(super) struct Pending(#[expect(dead_code, reason = "it is there to be dropped")] watch::Sender<()>);

/// The end of something under way, to be waited for.
#[derive(Clone)]
pub(super) struct Ended(watch::Receiver<()>);

/// Something under way, and its end.
pub(super) fn pending() -> (Pending, Ended) {
    let (sender, receiver) = watch::channel(());
    (Pending(sender), Ended(receiver))
}

impl Ended {
    /// Waits for it. Cancel safe.
    pub(super) async fn wait(mut self) {
        // Nothing is ever sent: the one thing that can happen is that the other side is dropped.
        self.0.changed().await.ok();
    }
}

/// What an event has to say about its place among the sessions.
pub(super) struct Place<'a> {
    pub(super) point: &'a str,
    pub(super) session: &'a str,
    pub(super) parent: Option<&'a str>,
    /// The session that it starts, or whose end it reports.
    pub(super) child: Option<&'a str>,
}

/// The sessions that events have named so far.
#[derive(Default)]
pub(super) struct Lanes {
    /// The end of the last event of each session.
    last: HashMap<String, Ended>,
    parents: HashMap<String, String>,
    children: HashMap<String, Vec<String>>,
}

impl Lanes {
    /// Lets an event in. Gives what it has to wait for, and what those after it wait for.
    pub(super) fn enter(&mut self, place: &Place<'_>) -> (Vec<Ended>, Pending) {
        let mut after = Vec::new();
        if let Some(last) = self.last.get(place.session) {
            after.push(last.clone());
        } else {
            if let Some(parent) = place.parent {
                self.is_below(place.session, parent);
            }
            after.extend(self.above(place.session).filter_map(|id| self.last.get(id).cloned()));
        }
        if let Some(child) = place.child.filter(|child| *child != place.session) {
            if place.point == "before_subagent" {
                self.is_below(child, place.session);
            }
            after.extend(self.last.get(child).cloned());
        }
        if place.point == "after_session" {
            self.below(place.session, &mut after);
        }
        let (pending, ended) = pending();
        self.last.insert(place.session.to_owned(), ended);
        (after, pending)
    }

    /// The first word about the parent of a session counts.
    fn is_below(&mut self, session: &str, parent: &str) {
        if session != parent && !self.parents.contains_key(session) {
            self.parents.insert(session.to_owned(), parent.to_owned());
            self.children.entry(parent.to_owned()).or_default().push(session.to_owned());
        }
    }

    fn above(&self, session: &str) -> impl Iterator<Item = &str> {
        // What a circle of names would make of it is refused when the session is opened.
        let first = self.parents.get(session);
        std::iter::successors(first, |id| self.parents.get(*id)).map(String::as_str).take(self.parents.len())
    }

    fn below(&self, session: &str, after: &mut Vec<Ended>) {
        let mut open: Vec<&str> = vec![session];
        let mut left = self.parents.len();
        while let Some(id) = open.pop() {
            for child in self.children.get(id).into_iter().flatten().take(left) {
                left = left.saturating_sub(1);
                after.extend(self.last.get(child).cloned());
                open.push(child);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event<'a>(session: &'a str) -> Place<'a> {
        Place { point: "on_idle", session, parent: None, child: None }
    }

    fn waits(after: &[Ended]) -> usize {
        after.iter().filter(|ended| ended.0.has_changed().is_ok()).count()
    }

    #[test]
    fn a_session_keeps_its_order_and_others_do_not_wait() {
        let mut lanes = Lanes::default();
        let (after, first) = lanes.enter(&event("a"));
        assert_eq!(waits(&after), 0);
        assert_eq!(waits(&lanes.enter(&event("b")).0), 0);
        let (after, _second) = lanes.enter(&event("a"));
        assert_eq!(waits(&after), 1);
        drop(first);
        assert_eq!(waits(&after), 0);
    }

    #[test]
    fn a_child_begins_after_what_came_before_it_above() {
        let mut lanes = Lanes::default();
        let (_, _root) = lanes.enter(&event("a"));
        let (_, _started) = lanes.enter(&Place { point: "before_subagent", child: Some("b"), ..event("a") });
        let (after, child) = lanes.enter(&event("b"));
        assert_eq!(waits(&after), 1, "for the event that starts it, which waits for the one before it");
        let (after, _deep) = lanes.enter(&Place { parent: Some("b"), ..event("c") });
        assert_eq!(waits(&after), 2, "for both above it");
        let (after, _) = lanes.enter(&event("b"));
        assert_eq!(waits(&after), 1, "only the first event waits for those above");
        drop(child);
    }

    #[test]
    fn the_end_of_a_child_and_of_a_session_come_after_what_came_before_them_below() {
        let mut lanes = Lanes::default();
        let (_, _child) = lanes.enter(&Place { parent: Some("a"), ..event("b") });
        let (after, reported) =
            lanes.enter(&Place { point: "after_subagent", child: Some("b"), ..event("a") });
        assert_eq!(waits(&after), 1);
        drop(reported);
        let (after, _) = lanes.enter(&Place { point: "after_session", ..event("a") });
        assert_eq!(waits(&after), 1);
    }

    #[test]
    fn names_that_form_a_circle_end() {
        let mut lanes = Lanes::default();
        for (session, parent) in [("a", "b"), ("b", "c"), ("c", "a")] {
            lanes.enter(&Place { parent: Some(parent), ..event(session) });
        }
        lanes.enter(&Place { point: "after_session", ..event("a") });
    }
}
