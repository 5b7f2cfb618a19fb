//! The sessions of a stream of events, in the daemon: opened, or taken over where they are open, when an event of theirs
//! comes, each below its parent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use anyhow::{Result, bail};
use lineside::Client;
use lineside::client::Session;
use lineside::core::Agent;
use lineside::wire::EventDraft;

use crate::sessions::named;

/// The sessions that events have named so far.
pub(super) struct RemoteSessions {
    client: Client,
    /// The root of the project, which is the working directory too.
    project: Arc<str>,
    open: HashMap<String, Session>,
    closed: HashSet<String>,
    /// Sessions that a `before_subagent` has announced: the session above each, and the role of its agent.
    announced: HashMap<String, (String, Option<String>)>,
}

impl RemoteSessions {
    pub(super) fn new(client: Client, project: &Arc<str>) -> Self {
        Self {
            client,
            project: Arc::clone(project),
            open: HashMap::new(),
            closed: HashSet::new(),
            announced: HashMap::new(),
        }
    }

    /// The session of an event, opened if it is not open.
    ///
    /// # Errors
    /// It was closed before, would be below itself or below a closed session, or the daemon does not open it.
    pub(super) async fn of(&mut self, line: &EventDraft) -> Result<Session> {
        if line.point.name == "before_subagent"
            && let Some(child) = line.payload.text("child_session")
        {
            let role = line.payload.text("agent_type").map(str::to_owned);
            self.announced.insert(child.to_owned(), (named(line).to_owned(), role));
        }
        let id = named(line);
        if let Some(session) = self.open.get(id) {
            return Ok(session.clone());
        }
        let mut parent = None;
        for above in self.lineage(id, line.parent.as_deref())?.iter().rev() {
            parent = Some(match self.open.get(above) {
                Some(session) => session.clone(),
                None => self.open(above, parent.as_ref(), None, line.host.as_deref()).await?,
            });
        }
        self.open(id, parent.as_ref(), line.agent.as_ref(), line.host.as_deref()).await
    }

    /// No event of this session is taken from now on.
    pub(super) fn closed(&mut self, session: &Session) {
        self.open.remove(session.id().as_str());
        self.closed.insert(session.id().to_string());
    }

    /// The sessions above one that is not open, from the nearest up to the first that is open or has none above it.
    fn lineage(&self, id: &str, parent: Option<&str>) -> Result<Vec<String>> {
        let announced = |id: &str| self.announced.get(id).map(|(parent, _)| parent.clone());
        let mut above = Vec::new();
        let mut next = parent.map(str::to_owned).or_else(|| announced(id));
        while let Some(parent) = next {
            if parent == id || above.contains(&parent) {
                bail!("session `{id}` cannot be below itself");
            }
            next = if self.open.contains_key(&parent) { None } else { announced(&parent) };
            above.push(parent);
        }
        Ok(above)
    }

    async fn open(
        &mut self,
        id: &str,
        parent: Option<&Session>,
        agent: Option<&Agent>,
        host: Option<&str>,
    ) -> Result<Session> {
        if self.closed.contains(id) {
            bail!("session `{id}` is closed");
        }
        let opening = match parent {
            None => self.client.session(id),
            Some(parent) => {
                let role = self.announced.get(id).and_then(|(_, role)| role.as_deref());
                let agent = agent.cloned().unwrap_or_else(|| Agent::subagent(role.unwrap_or("subagent")));
                parent.subagent(id).agent(agent)
            }
        };
        let opening = opening.project_root(&*self.project).cwd(&*self.project).resume();
        let opening = host.into_iter().fold(opening, lineside::client::OpenSession::host);
        let session = opening.open().await?;
        self.open.insert(id.to_owned(), session.clone());
        Ok(session)
    }
}
