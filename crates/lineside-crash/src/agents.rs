//! The agents of a life: they publish, wait until the journal has what they said, and collect what is for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;
use lineside::automation::Automations;
use lineside::automation::jobs::{Which, WhichState};
use lineside::prelude::*;
use tokio::time::sleep;

use crate::contract::{BATCHES, EDITS, READS, SHELLS};
use crate::crew::{self, Crew};
use crate::life;
use crate::log::{Label, Line, Published};

/// The sessions, each with its project and its publishers. One publisher's name is the session's where messages for
/// the context are distinguished by it.
pub(crate) const SESSIONS: [(&str, &str, &[&str]); 5] = [
    ("s0", "a", &["s0"]),
    ("s1", "a", &["s1"]),
    ("s2", "b", &["s2"]),
    ("s3", "b", &["s3"]),
    ("shared", "a", &["x", "y"]),
];

/// With more jobs than this that are not settled, publishing stops.
const ENOUGH: usize = 60;

/// A publisher.
pub(crate) struct Publisher {
    pub(crate) crew: Arc<Crew>,
    pub(crate) automations: Automations,
    pub(crate) session: Session,
    pub(crate) name: &'static str,
    pub(crate) life: u32,
    pub(crate) rng: Rng,
    /// There is enough to do.
    pub(crate) enough: Arc<AtomicBool>,
}

impl Publisher {
    /// Publishes until it is killed.
    ///
    /// # Errors
    /// An event is refused, or nothing is kept any more.
    pub(crate) async fn publish(mut self) -> Result<()> {
        let mut number = 0;
        loop {
            while self.enough.load(Ordering::Relaxed) {
                sleep(millis(2)).await;
            }
            let kind = match self.rng.u32(..10) {
                0..4 if self.has_own_session() => BATCHES,
                4..6 if self.has_own_session() => READS,
                6..8 => EDITS,
                _ => SHELLS,
            };
            let mut events = Vec::new();
            for _ in 0..self.rng.usize(1..5) {
                number += 1;
                let label = Label { publisher: self.name.to_owned(), life: self.life, number };
                let id = self.event(kind, &label).await?;
                events.push(Published { label, id });
                if self.rng.bool() {
                    sleep(Duration::from_micros(self.rng.u64(..1500))).await;
                }
            }
            self.automations.kept().await?;
            self.crew.say(&Line::Acknowledged { kind: kind.to_owned(), events });
            sleep(Duration::from_micros(self.rng.u64(..4000))).await;
        }
    }

    fn has_own_session(&self) -> bool {
        self.session.id().as_str() == self.name
    }

    /// Publishes one event and gives its id.
    async fn event(&self, kind: &str, label: &Label) -> Result<String> {
        let (turn, name) = (crew::turn(label), label.to_string());
        let of_tool = |tool: &str| AfterTool::new(tool, json!(name));
        let id = match kind {
            BATCHES => {
                let changed = vec![ChangedFile { path: name, ..ChangedFile::default() }];
                let batch = AfterToolBatch::new(Vec::new(), changed);
                self.session.event(batch).turn(turn).publish().await?.id()
            }
            SHELLS => self.session.event(of_tool(crew::SHELL)).turn(turn).publish().await?.id(),
            EDITS => self.session.event(of_tool(crew::EDIT)).turn(turn).publish().await?.id(),
            _ => self.session.event(of_tool(crew::READ)).turn(turn).publish().await?.id(),
        };
        Ok(id.to_string())
    }
}

/// Watches that there is never too much to do, and clears the dead letters away: as long as they rest, they are part of
/// every snapshot.
pub(crate) async fn pace(crew: Arc<Crew>, automations: Automations, enough: Arc<AtomicBool>) {
    let live = Which { state: WhichState::Live, ..Which::default() };
    let dead = Which { state: WhichState::Dead, ..Which::default() };
    let jobs = automations.jobs();
    for round in 0_u64.. {
        enough.store(jobs.list(&live).len() > ENOUGH, Ordering::Relaxed);
        if round % CLEARING == 0 {
            for job in jobs.list(&dead) {
                crew.say(&life::rests(&job));
                // No other task drops any.
                let _was_dead = jobs.drop(job.job);
            }
        }
        sleep(millis(4)).await;
    }
}

/// Every so many looks, the dead letters are cleared away.
const CLEARING: u64 = 8;

/// Collects what is for a session, and accepts most of it.
///
/// # Errors
/// It cannot be kept that something was accepted.
pub(crate) async fn collect(crew: Arc<Crew>, session: Session, mut rng: Rng) -> Result<()> {
    loop {
        sleep(Duration::from_micros(rng.u64(..3000))).await;
        take(&crew, &session, rng.u32(..10) < 7).await?;
    }
}

/// Collects once. Gives how many messages there were.
///
/// # Errors
/// It cannot be kept that something was accepted.
pub(crate) async fn take(crew: &Crew, session: &Session, accepts: bool) -> Result<usize> {
    let delivery = session.collect().ready();
    let messages: Vec<String> = delivery.messages().iter().map(|message| message.event.to_string()).collect();
    let count = messages.len();
    if count > 0 {
        let session = session.id().to_string();
        crew.say(&Line::Delivered { session: session.clone(), messages: messages.clone() });
        if accepts {
            delivery.accept_durably().await?;
            crew.say(&Line::Accepted { session, messages });
        }
    }
    Ok(count)
}
