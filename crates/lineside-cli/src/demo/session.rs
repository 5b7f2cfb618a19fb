//! The recorded session: what three agents published, one event a line, as `lineside run` reads it too.
//!
//! Only what the agents did is recorded. What the hooks say to it is found out anew each time.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use lineside::bus::publish::Publication;
use lineside::core::envelope::Model;
use lineside::core::{Agent, Payload, Point};
use lineside::json::Map;
use lineside::points;
use lineside::{Bus, Session};
use serde::Deserialize;

const RECORDING: &str = include_str!("../../embedded/sessions/demo.jsonl");

/// One event of the recording.
pub(super) struct Recorded {
    pub(super) session: String,
    pub(super) agent: Agent,
    pub(super) payload: Arc<dyn Payload>,
    parent: Option<String>,
    turn: u64,
    model: Model,
}

/// A line of the recording. Times and numbers are given anew, by the bus.
#[derive(Deserialize)]
struct Line {
    point: String,
    session: String,
    parent_session: Option<String>,
    agent: Agent,
    turn: u64,
    model: Model,
    payload: Map,
}

/// All events of the recording, in their order.
///
/// # Errors
/// A line that is no event.
pub(super) fn recorded() -> Result<Vec<Recorded>> {
    let read = |(index, line)| read(line).with_context(|| format!("line {} of the recording", index + 1));
    RECORDING.lines().enumerate().map(read).collect()
}

fn read(line: &str) -> Result<Recorded> {
    let line: Line = lineside::json::from_str(line)?;
    let point = points::find(&line.point)?;
    let payload = (point.decode)(point, line.payload)?;
    let Line { session, parent_session: parent, agent, turn, model, .. } = line;
    Ok(Recorded { session, agent, payload, parent, turn, model })
}

/// The ids of all agents, in the order in which they come.
pub(super) fn agents(recorded: &[Recorded]) -> Vec<String> {
    let mut agents: Vec<String> = Vec::new();
    for event in recorded {
        if agents.iter().all(|agent| **agent != *event.agent.id) {
            agents.push(event.agent.id.to_string());
        }
    }
    agents
}

impl Recorded {
    /// The session of the event, opened at its first one; a subagent's is opened below that of its parent.
    ///
    /// # Errors
    /// The bus does not take it.
    pub(super) async fn open(&self, bus: &Bus, project_root: &str) -> Result<Session> {
        Ok(self.open_as(bus, project_root, &str::to_owned).await?.0)
    }

    /// The same, with sessions of other names; and whether it was opened now.
    ///
    /// # Errors
    /// The bus does not take it.
    pub(super) async fn open_as(
        &self,
        bus: &Bus,
        project_root: &str,
        name: &impl Fn(&str) -> String,
    ) -> Result<(Session, bool)> {
        let id = name(&self.session);
        if let Some(session) = bus.find(&id) {
            return Ok((session, false));
        }
        let opening = match self.parent.as_deref().and_then(|parent| bus.find(&name(parent))) {
            Some(parent) => parent.subagent(id),
            None => bus.session(id),
        };
        let opening = opening.agent(self.agent.clone()).model(self.model.clone());
        let opened = opening.project_root(project_root).cwd(project_root).host("demo").open().await?;
        Ok((opened, true))
    }

    /// Whether the event belongs to the point `P`.
    pub(super) fn is<P: Point>(&self) -> bool {
        self.payload.info() == P::INFO
    }

    /// The event, ready to be published.
    pub(super) fn publication(&self, session: &Session) -> Publication<Arc<dyn Payload>> {
        session.any_event(Arc::clone(&self.payload)).turn(self.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_has_three_agents_and_two_of_them_are_below_the_first() {
        let recorded = recorded().unwrap();
        let mut agents: Vec<_> =
            recorded.iter().map(|event| (&*event.agent.id, event.parent.as_deref())).collect();
        agents.sort_unstable();
        agents.dedup();
        assert_eq!(agents, [("main", None), ("reviewer", Some("s-main")), ("tester", Some("s-main"))]);
    }

    #[test]
    fn its_numbers_have_no_gap() {
        let mut last = std::collections::HashMap::new();
        for line in RECORDING.lines() {
            let event: lineside::json::Value = lineside::json::from_str(line).unwrap();
            let seq = event["seq"].as_u64().unwrap();
            let before = last.insert(event["session"].to_string(), seq).unwrap_or(0);
            assert_eq!(seq, before + 1, "{line}");
        }
    }
}
