//! What is asked of the daemon and of its decision log beside the stream, and what is changed there. A change is a person's:
//! below an agent it is refused before anything is asked.

use std::collections::HashSet;

use anyhow::Result;
use lineside::json::{Map, Value, json};
use lineside::log::{Decision, FILE, Look, LookError, Query, Stats, Why};

use crate::control;
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::log::now;
use crate::painter::one_line;
use crate::person::refuse_agents;
use crate::stats::PARTS;
use crate::tasks::apart;

/// How many decisions a timeline has, and how many jobs are listed.
const DECISIONS: usize = 500;
const JOBS: usize = 200;

/// Something that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    Sessions,
    Status,
    Approvals,
    Jobs,
    /// What hooks did in the events that a query finds.
    Hooks(String),
    /// The sessions in which a decision is that a query finds.
    Only(String),
    /// The decisions of a session, or of all of its tree, that a query finds.
    Timeline {
        session: String,
        is_tree: bool,
        query: String,
    },
    Why(String),
    Answer {
        id: String,
        answer: &'static str,
        scope: &'static str,
    },
    Retry(u64),
    Drop(u64),
}

/// What comes of it.
#[derive(Debug)]
pub(super) enum Told {
    Sessions(Vec<Map>),
    Status(Map),
    Approvals(Vec<Value>),
    Jobs(Vec<Map>),
    Hooks(Box<Stats>),
    Only(HashSet<String>),
    Timeline(Vec<Decision>),
    Why(Option<Box<Why>>),
    /// It was done, in words.
    Done(String),
    /// It was not, and why.
    Failed(String),
    /// There is no daemon.
    Gone,
}

impl Ask {
    /// Whether it changes something.
    pub(super) fn is_change(&self) -> bool {
        matches!(self, Self::Answer { .. } | Self::Retry(_) | Self::Drop(_))
    }
}

/// Where is asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) daemon: DaemonArgs,
    pub(super) paths: DaemonPaths,
}

impl Asked {
    /// Asks.
    pub(super) async fn ask(self, ask: Ask) -> (Ask, Told) {
        let told = match self.told(&ask).await {
            Ok(told) => told,
            Err(error) if control::is_no_daemon(&error) => Told::Gone,
            Err(error) => Told::Failed(one_line(&format!("{error:#}"))),
        };
        (ask, told)
    }

    async fn told(&self, ask: &Ask) -> Result<Told> {
        if ask.is_change() {
            refuse_agents(&self.daemon).await?;
        }
        Ok(match ask.clone() {
            Ask::Sessions => Told::Sessions(objects(&self.get("/v1/sessions").await?, "sessions")),
            Ask::Status => Told::Status(self.get("/v1/status").await?),
            Ask::Approvals => {
                let found = self.get("/v1/approvals").await?;
                Told::Approvals(objects(&found, "waiting").into_iter().map(Value::Object).collect())
            }
            Ask::Jobs => {
                let mut jobs = Vec::new();
                for state in ["dead", "live"] {
                    let path = format!("/v1/jobs?state={state}&most={JOBS}");
                    jobs.extend(objects(&self.get(&path).await?, "jobs"));
                }
                Told::Jobs(jobs)
            }
            Ask::Hooks(query) => {
                let query = Query::parse(&query, now())?;
                Told::Hooks(Box::new(
                    self.look(move |look| look.stats(&query, PARTS, 0)).await?.unwrap_or_default(),
                ))
            }
            Ask::Only(query) => {
                let query = Query::parse(&query, now())?;
                Told::Only(self.look(move |look| look.sessions_of(&query)).await?.unwrap_or_default())
            }
            Ask::Timeline { session, is_tree, query } => {
                let of = if is_tree { Query::of_tree(&session) } else { Query::of_session(&session) };
                let query = Query::parse(&query, now())?.within(of);
                let found = self.look(move |look| look.decisions(&query, DECISIONS)).await?;
                Told::Timeline(found.unwrap_or_default())
            }
            Ask::Why(event) => {
                let found = self.look(move |look| look.why(&event)).await?.unwrap_or_default();
                Told::Why(found.into_iter().next().map(Box::new))
            }
            Ask::Answer { id, answer, scope } => {
                let body = Map::from_iter([
                    ("answer".to_owned(), json!(answer)),
                    ("scope".to_owned(), json!(scope)),
                ]);
                self.post(&format!("/v1/approvals/{id}"), body).await?;
                let for_what = if scope == "once" { "this once" } else { "in this session" };
                Told::Done(format!("question {id}: {answer}, {for_what}"))
            }
            Ask::Retry(job) => {
                self.post(&format!("/v1/jobs/{job}/retry"), Map::new()).await?;
                Told::Done(format!("job {job} is taken up again"))
            }
            Ask::Drop(job) => {
                let path = format!("/v1/jobs/{job}");
                control::ask(&self.paths, async |client| client.delete::<Map>(&path).await).await?;
                Told::Done(format!("job {job} is dropped"))
            }
        })
    }

    async fn get(&self, path: &str) -> Result<Map> {
        control::ask(&self.paths, async |client| client.get::<Map>(path).await).await
    }

    async fn post(&self, path: &str, body: Map) -> Result<Map> {
        control::ask(&self.paths, async |client| client.post::<Map>(path, &body).await).await
    }

    /// Asks the log on a thread of its own; `None` where there is none, or none so far.
    async fn look<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Look) -> Result<T, LookError> + Send + 'static,
    ) -> Result<Option<T>> {
        let path = self.paths.state.join(FILE);
        match apart(move || ask(&Look::open(&path)?)).await? {
            Ok(found) => Ok(Some(found)),
            Err(LookError::NotThere(_) | LookError::Version(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn objects(found: &Map, field: &str) -> Vec<Map> {
    let all = found.get(field).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_object).cloned().collect()
}
