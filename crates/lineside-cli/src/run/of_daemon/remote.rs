//! The sessions of a stream of events, in the daemon: opened, or taken over where they are open, when an event of theirs
//! comes, each below its parent.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Result;
use lineside::Client;
use lineside::client::Session;
use lineside::core::Agent;
use lineside::wire::EventDraft;
use tokio::sync::OnceCell;

use crate::lineage::{Lineage, named};

/// The sessions that events have named so far.
pub(super) struct RemoteSessions {
    client: Client,
    /// The root of the project, which is the working directory too.
    project: Arc<str>,
    lineage: RefCell<Lineage>,
    /// A session is opened once; those that need it wait for that, and others do not.
    open: RefCell<HashMap<String, Rc<OnceCell<Session>>>>,
}

impl RemoteSessions {
    pub(super) fn new(client: Client, project: &Arc<str>) -> Self {
        Self { client, project: Arc::clone(project), lineage: RefCell::default(), open: RefCell::default() }
    }

    /// The session of an event, opened if it is not open.
    ///
    /// # Errors
    /// It was closed before, would be below itself or below a closed session, or the daemon does not open it.
    pub(super) async fn of(&self, line: &EventDraft) -> Result<Session> {
        self.lineage.borrow_mut().hear(line);
        let (id, host) = (named(line), line.host.as_deref());
        if let Some(session) = self.find(id) {
            return Ok(session);
        }
        let is_open = |id: &str| self.find(id).is_some();
        let above = self.lineage.borrow().above(id, line.parent.as_deref(), is_open)?;
        let mut parent = None;
        for above in above.iter().rev() {
            parent = Some(self.opened(above, parent.as_ref(), None, host).await?);
        }
        self.opened(id, parent.as_ref(), line.agent.as_ref(), host).await
    }

    /// No event of this session is taken from now on.
    pub(super) fn closed(&self, session: &Session) {
        self.open.borrow_mut().remove(session.id().as_str());
        self.lineage.borrow_mut().closed(session.id().as_str());
    }

    fn find(&self, id: &str) -> Option<Session> {
        self.open.borrow().get(id)?.get().cloned()
    }

    async fn opened(
        &self,
        id: &str,
        parent: Option<&Session>,
        agent: Option<&Agent>,
        host: Option<&str>,
    ) -> Result<Session> {
        self.lineage.borrow().admit(id)?;
        let cell = Rc::clone(self.open.borrow_mut().entry(id.to_owned()).or_default());
        cell.get_or_try_init(|| self.open(id, parent, agent, host)).await.cloned()
    }

    async fn open(
        &self,
        id: &str,
        parent: Option<&Session>,
        agent: Option<&Agent>,
        host: Option<&str>,
    ) -> Result<Session> {
        let opening = match parent {
            None => self.client.session(id),
            Some(parent) => parent.subagent(id).agent(self.lineage.borrow().agent_below(id, agent)),
        };
        let opening = opening.project_root(&*self.project).cwd(&*self.project).resume();
        let opening = host.into_iter().fold(opening, lineside::client::OpenSession::host);
        Ok(opening.open().await?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use lineside::dialects::DIALECTS;
    use lineside::json::{Map, Value, from_slice, json};
    use lineside::wire::Vocabulary;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::Notify;

    use super::*;
    use crate::tasks::Beside;

    /// A daemon that opens every session, `slow` only once it may.
    struct Door {
        opened: Mutex<Vec<String>>,
        asked: Notify,
        may: Notify,
    }

    impl Door {
        async fn serve(self: Arc<Self>, listener: UnixListener) {
            let mut calls = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let door = Arc::clone(&self);
                calls.push(Beside::start(async move { door.answer(stream).await }));
            }
        }

        async fn answer(&self, mut stream: UnixStream) {
            let mut read = Vec::new();
            loop {
                while body_of(&read).is_none() {
                    if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let body = body_of(&std::mem::take(&mut read)).unwrap();
                let id = body["id"].as_str().unwrap().to_owned();
                self.opened.lock().unwrap().push(id.clone());
                if id == "slow" {
                    self.asked.notify_one();
                    self.may.notified().await;
                }
                let answer = r#"{"coverage": "c"}"#;
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n";
                stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
            }
        }
    }

    /// The object of a request that is there as a whole.
    fn body_of(read: &[u8]) -> Option<Map> {
        let head = read.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        from_slice(&read[head + 4..]).ok()
    }

    fn sessions(folder: &tempfile::TempDir) -> (RemoteSessions, Arc<Door>, Beside) {
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let door = Door { opened: Mutex::default(), asked: Notify::new(), may: Notify::new() };
        let door = Arc::new(door);
        let serving = Beside::start(Arc::clone(&door).serve(listener));
        (RemoteSessions::new(Client::new(&socket), &Arc::from("/p")), door, serving)
    }

    fn line(session: &str, parent: Option<&str>) -> EventDraft {
        let mut fields = Map::new();
        fields.insert("point".to_owned(), json!("on_idle"));
        fields.insert("session".to_owned(), json!(session));
        fields.extend(parent.map(|parent| ("parent_session".to_owned(), Value::from(parent))));
        EventDraft::read(fields, &Vocabulary::new(DIALECTS)).unwrap()
    }

    async fn in_time<T>(work: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(20), work).await.expect("a session waits for another one")
    }

    #[tokio::test]
    async fn a_session_does_not_wait_for_the_opening_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let (sessions, door, _serving) = sessions(&folder);
        let quick = async {
            door.asked.notified().await;
            let quick = sessions.of(&line("quick", None)).await.unwrap();
            assert_eq!(sessions.of(&line("quick", None)).await.unwrap().id(), quick.id());
            door.may.notify_one();
        };
        let slow = line("slow", None);
        let (slow, ()) = in_time(async { tokio::join!(sessions.of(&slow), quick) }).await;
        assert_eq!(slow.unwrap().id().as_str(), "slow");
        assert_eq!(*door.opened.lock().unwrap(), ["slow", "quick"], "each is opened once");
    }

    #[tokio::test]
    async fn two_sessions_below_one_that_is_being_opened_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let (sessions, door, _serving) = sessions(&folder);
        let opened = async {
            door.asked.notified().await;
            tokio::task::yield_now().await;
            door.may.notify_one();
        };
        let (a, b) = (line("a", Some("slow")), line("b", Some("slow")));
        let both = async { tokio::join!(sessions.of(&a), sessions.of(&b), opened) };
        let (a, b, ()) = in_time(both).await;
        sessions.closed(&a.unwrap());
        assert!(sessions.of(&line("a", None)).await.unwrap_err().to_string().ends_with("is closed"));
        drop(b.unwrap());
        let mut opened = door.opened.lock().unwrap().clone();
        opened.sort();
        assert_eq!(opened, ["a", "b", "slow"]);
    }
}
