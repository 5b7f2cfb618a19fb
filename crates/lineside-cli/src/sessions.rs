//! The sessions of a stream of events: opened when an event of theirs comes, each below its parent.
//!
//! What an event says differently from its session is said on the event; sessions are opened with the defaults.

use std::sync::Arc;

use anyhow::Result;
use lineside::core::context::Bounds;
use lineside::core::{Agent, EventId, Receipt};
use lineside::wire::EventDraft;
use lineside::{Bus, ContextMessage, Delivery, Session};

use crate::lineage::{Lineage, named};

/// The sessions that events have named so far.
pub(crate) struct Sessions {
    bus: Bus,
    /// The root of the project, which is the working directory too.
    project: Arc<str>,
    lineage: Lineage,
}

/// Messages on their way to the reader of the decision. They go back when they are not accepted.
pub(crate) struct HandOver {
    deliveries: Vec<Delivery>,
    event: EventId,
}

impl HandOver {
    /// Those that do not stand in the decision itself.
    pub(crate) fn beside_the_decision(&self) -> impl Iterator<Item = &ContextMessage> {
        let all = self.deliveries.iter().flat_map(Delivery::messages);
        all.filter(|message| message.event != self.event)
    }

    /// The decision was read, or at least written: the messages are not delivered again.
    ///
    /// # Errors
    /// That cannot be kept, so the next process may give them once more.
    pub(crate) async fn accept(self) -> Result<()> {
        for delivery in self.deliveries {
            delivery.accept_durably().await?;
        }
        Ok(())
    }
}

impl Sessions {
    pub(crate) fn new(bus: &Bus, project: &Arc<str>) -> Self {
        Self { bus: bus.clone(), project: Arc::clone(project), lineage: Lineage::default() }
    }

    /// The session of an event, opened if it is not open.
    ///
    /// # Errors
    /// It was closed before, or would be below itself or below a closed session.
    pub(crate) fn of(&mut self, line: &EventDraft) -> Result<Session> {
        self.lineage.hear(line);
        let wanted = Wanted { id: named(line), parent: line.parent.as_deref(), host: line.host.as_deref() };
        self.get(&wanted, line.agent.as_ref())
    }

    /// A session below another one, both opened if they are not open.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn subagent(&mut self, parent: &str, id: &str, agent: Option<&Agent>) -> Result<Session> {
        self.get(&Wanted { id, parent: Some(parent), host: None }, agent)
    }

    /// The session of that id, opened as a root if it is not open.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn named(&mut self, id: &str) -> Result<Session> {
        self.get(&Wanted { id, parent: None, host: None }, None)
    }

    /// No event of this session is taken from now on. The session itself is for the caller to close.
    pub(crate) fn closed(&mut self, session: &Session) {
        self.lineage.closed(session.id().as_str());
    }

    fn get(&self, wanted: &Wanted<'_>, agent: Option<&Agent>) -> Result<Session> {
        if let Some(session) = self.bus.find(wanted.id) {
            return Ok(session);
        }
        let above = self.lineage.above(wanted.id, wanted.parent, |id| self.bus.find(id).is_some())?;
        let mut parent: Option<Session> = None;
        for id in above.iter().rev() {
            parent = Some(match self.bus.find(id) {
                Some(session) => session,
                None => self.open(id, parent.as_ref(), None, wanted.host)?,
            });
        }
        self.open(wanted.id, parent.as_ref(), agent, wanted.host)
    }

    fn open(
        &self,
        id: &str,
        parent: Option<&Session>,
        agent: Option<&Agent>,
        host: Option<&str>,
    ) -> Result<Session> {
        self.lineage.admit(id)?;
        let opening = match parent {
            None => self.bus.session(id),
            Some(parent) => parent.subagent(id).agent(self.lineage.agent_below(id, agent)),
        };
        let opening = opening.project_root(Arc::clone(&self.project)).cwd(Arc::clone(&self.project));
        let opening = match host {
            Some(host) => opening.host(host),
            None => opening,
        };
        Ok(opening.open_now()?)
    }
}

/// Takes the messages out of the mailboxes: the reader of the decision has those of its event. Has the others as well,
/// which hooks have left that were not waited for; before a model call those are waited for that say so. All of them, and
/// uncut: how much of it goes to a model is for the reader of the decision.
pub(crate) async fn hand_over(bus: &Bus, session: &Session, receipt: &Receipt) -> HandOver {
    let collect = session.collect().at_most(Bounds::NONE);
    let mut deliveries = vec![match receipt.event.point().name {
        "before_model" => collect.before_next_model().await,
        _ => collect.ready(),
    }];
    if !receipt.context.is_empty()
        && let Some(child) = receipt.event.payload().text("child_session").and_then(|id| bus.find(id))
    {
        deliveries.push(child.collect().at_most(Bounds::NONE).ready());
    }
    HandOver { deliveries, event: receipt.event.envelope().id }
}

/// A session that is needed.
struct Wanted<'a> {
    id: &'a str,
    parent: Option<&'a str>,
    host: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use lineside::dialects::DIALECTS;
    use lineside::json::{Value, json};
    use lineside::wire::{Vocabulary, publication};

    use super::*;

    fn line(event: Value) -> EventDraft {
        let Value::Object(fields) = event else { panic!("an event is an object") };
        EventDraft::read(fields, &Vocabulary::new(DIALECTS)).unwrap()
    }

    fn sessions() -> Sessions {
        Sessions::new(&Bus::new(), &Arc::from("/p"))
    }

    #[tokio::test]
    async fn a_session_that_nobody_opened_is_a_root() {
        let session = sessions().of(&line(json!({"point": "on_idle"}))).unwrap();
        let source = session.source();
        assert_eq!((source.session.as_str(), source.depth), ("s1", 0));
        assert_eq!((source.project_root.as_deref(), source.cwd.as_deref()), (Some("/p"), Some("/p")));
        assert_eq!(source.agent, Agent::main("main"));
    }

    #[tokio::test]
    async fn a_parent_is_opened_first() {
        let mut sessions = sessions();
        let event = json!({"point": "on_idle", "session": "s3", "parent_session": "s2"});
        let session = sessions.of(&line(event)).unwrap();
        assert_eq!(session.source().parent_session.as_ref().unwrap().as_str(), "s2");
        assert_eq!(session.source().root_session.as_str(), "s2");
    }

    #[tokio::test]
    async fn an_announced_child_is_opened_by_its_own_first_event() {
        let mut sessions = sessions();
        let announcement = json!({"point": "before_subagent", "session": "a",
            "payload": {"child_session": "b", "agent_type": "reviewer"}});
        sessions.of(&line(announcement)).unwrap();
        assert!(sessions.bus.find("b").is_none());
        let session = sessions.of(&line(json!({"point": "on_idle", "session": "b"}))).unwrap();
        assert_eq!(session.source().parent_session.as_ref().unwrap().as_str(), "a");
        assert_eq!(session.source().agent, Agent::subagent("reviewer"));
    }

    #[tokio::test]
    async fn nobody_is_below_themselves_or_comes_back() {
        let mut sessions = sessions();
        let own_parent = json!({"point": "on_idle", "session": "a", "parent_session": "a"});
        let error = sessions.of(&line(own_parent)).err().unwrap();
        assert_eq!(error.to_string(), "session `a` cannot be below itself");
        let session = sessions.named("a").unwrap();
        sessions.closed(&session);
        session.close().await;
        let error = sessions.named("a").err().unwrap();
        assert_eq!(error.to_string(), "session `a` is closed");
        let below = json!({"point": "on_idle", "session": "b", "parent_session": "a"});
        let error = sessions.of(&line(below)).err().unwrap();
        assert_eq!(error.to_string(), "session `a` is closed");
    }

    #[tokio::test]
    async fn an_event_may_differ_from_its_session() {
        let mut sessions = sessions();
        let line = line(json!({"point": "on_idle", "cwd": "/p/src", "turn": 3, "host": "h", "k": 1,
            "agent": {"id": "x", "kind": "subagent"}, "time": "2026-03-02T09:14:00Z"}));
        let session = sessions.of(&line).unwrap();
        let receipt = publication(&session, line).publish_any().await.unwrap();
        let envelope = Value::Object(receipt.event.envelope().to_json("on_idle"));
        for (field, expected) in [
            ("cwd", json!("/p/src")),
            ("project_root", json!("/p")),
            ("turn", json!(3)),
            ("host", json!("h")),
            ("extra", json!({"k": 1})),
            ("agent", json!({"id": "x", "kind": "subagent"})),
            ("time", json!("2026-03-02T09:14:00.000Z")),
        ] {
            assert_eq!(envelope[field], expected, "{field}");
        }
    }
}
