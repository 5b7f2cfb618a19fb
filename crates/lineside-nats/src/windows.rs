//! Windows of events that several machines hold together: the entry of a window has its events, and is written by the machine of
//! which the last one is. That machine has the window. When it is over it closes it, runs for all events that are in there, and
//! says so in the entry; the others see there what has become of theirs. Where it is gone, one of them has the window ten seconds
//! later.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use async_nats::jetstream::kv::{Store, UpdateErrorKind};
use bytes::Bytes;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, Shared};
use crate::keys::LEASE;
use crate::ledger::{PAUSE, found, millis};
use crate::settings::Token;

/// How often a machine looks at a window that another one has.
const LOOK: Duration = Duration::from_secs(1);
/// How long an entry may be, unless half a message of the server is shorter.
const LONGEST: usize = 512 << 10;

/// What a machine holds in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldEvents {
    /// The ids of its events, in order.
    pub ids: Vec<String>,
    /// How long it has to be quiet, and how long the first event waits at most.
    pub quiet: Duration,
    /// See `quiet`.
    pub at_most: Duration,
    /// With so many events it is over.
    pub count: usize,
    /// It is to be over at once.
    pub closes: bool,
}

/// The part of a machine in a window.
pub trait WindowPart: Send + Sync {
    /// What it holds now; `None` when that is nothing.
    fn held(&self) -> Option<HeldEvents>;
    /// These of its events, each one line.
    fn texts(&self, ids: &[String]) -> Vec<(String, String)>;
    /// Waits until it holds more, or the window is to be over. Cancel safe.
    fn changed(&self) -> impl Future<Output = ()> + Send;
    /// It has the window, with the events of all machines: returns when that is on its record.
    fn close(&self, all: Vec<String>) -> impl Future<Output = ()> + Send;
    /// These of its events are run for on another machine.
    fn elsewhere(&self, ids: Vec<String>);
}

/// How far a window has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// Its machine has it on its record, or is about to.
    Closing,
    Closed,
}

const STAGES: [(&str, Stage); 3] =
    [("open", Stage::Open), ("closing", Stage::Closing), ("closed", Stage::Closed)];

/// The entry of a window. Times are those of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    stage: Stage,
    first: u64,
    last: u64,
    /// The machine that has it, in this life.
    owner: String,
    /// The events, each with its id; of a window that is closed the ids alone.
    events: Vec<(String, String)>,
}

impl Entry {
    fn text(&self) -> String {
        let Self { stage, first, last, owner, events } = self;
        let word = STAGES.iter().find(|(_, known)| known == stage).map_or("", |(word, _)| word);
        let mut text = format!("{word} {first} {last} {owner}");
        for (id, event) in events {
            // A text takes what is written into it.
            write!(text, "\n{id} {event}").ok();
        }
        text
    }

    fn read(text: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(text).ok()?.split('\n');
        let mut head = lines.next()?.splitn(4, ' ');
        let word = head.next()?;
        let stage = STAGES.iter().find(|(known, _)| *known == word).map(|(_, stage)| *stage)?;
        let (first, last) = (head.next()?.parse().ok()?, head.next()?.parse().ok()?);
        let owner = head.next()?.to_owned();
        let event = |line: &str| line.split_once(' ').map(|(id, event)| (id.to_owned(), event.to_owned()));
        let events = lines.map(event).collect::<Option<_>>()?;
        Some(Self { stage, first, last, owner, events })
    }

    fn bytes(&self) -> usize {
        self.events.iter().map(|(id, event)| id.len() + event.len() + 2).sum()
    }
}

/// What is to be done next.
enum Next {
    Again,
    Wait(Duration),
}

impl Cluster {
    /// Takes part in a window until this machine holds nothing in it. While the server is away events wait; those of a window that
    /// is to be over at once are this machine's alone then.
    ///
    /// Dropping the future takes part no longer: what is in the window is another machine's, if one takes part.
    pub async fn take_part(&self, key: &Token, part: &impl WindowPart) {
        let mut health = self.0.health.subscribe();
        while let Some(held) = part.held() {
            if !health.borrow_and_update().link.is_together() {
                if held.closes {
                    part.close(Vec::new()).await;
                    continue;
                }
                tokio::select! {
                    _ = health.changed() => {}
                    () = part.changed() => {}
                }
                continue;
            }
            let next = look(&self.0, &format!("window.{key}"), part, &held).await;
            if let Next::Wait(wait) = next.unwrap_or(Next::Wait(PAUSE)) {
                tokio::select! {
                    () = sleep(wait) => {}
                    _ = health.changed() => {}
                    () = part.changed() => {}
                }
            }
        }
    }
}

/// One look at a window, and what this machine does about it; `None` where the server does not say.
async fn look(shared: &Shared, key: &str, part: &impl WindowPart, held: &HeldEvents) -> Option<Next> {
    let (store, now) = shared.ledger().await?;
    let found = found(&store, key).await?;
    let own = format!("{} {}", shared.settings.machine, shared.settings.life);
    let known = Entry::read(&found.value);
    let lapsed = now.saturating_sub(found.written) >= millis(LEASE);
    let entry = match known {
        Some(entry) if entry.stage == Stage::Closed => {
            let gone = of_these(&held.ids, &entry, true);
            if !gone.is_empty() {
                part.elsewhere(gone);
                return Some(Next::Again);
            }
            None
        }
        Some(entry) if entry.stage == Stage::Closing && entry.owner == own => {
            return finish((&store, key), entry, found.revision, part).await;
        }
        Some(entry) if entry.stage == Stage::Closing && !lapsed => return Some(Next::Wait(LOOK)),
        open => open,
    };
    let new = Entry { stage: Stage::Open, first: now, last: now, owner: String::new(), events: Vec::new() };
    let mut entry = entry.unwrap_or(new);
    let missing = of_these(&held.ids, &entry, false);
    let texts = part.texts(&missing);
    let most = (shared.client.max_payload() / 2).min(LONGEST);
    let longer: usize = texts.iter().map(|(id, event)| id.len() + event.len() + 2).sum();
    let fits = entry.bytes() + longer <= most;
    if !texts.is_empty() && fits {
        entry.events.extend(texts);
        (entry.stage, entry.last, entry.owner) = (Stage::Open, now, own);
        return written(&store, key, &entry, found.revision).await.map(|_| Next::Again);
    }
    // A longer one is not written, and the run of this machine has all that it holds.
    let at_once = held.closes || !fits || entry.events.len() >= held.count;
    let quiet = entry.last.saturating_add(millis(held.quiet));
    let due = if at_once { now } else { quiet.min(entry.first.saturating_add(millis(held.at_most))) };
    let is_own = entry.owner == own || held.closes || !fits;
    let due = if is_own { due } else { due.saturating_add(millis(LEASE)) };
    if now < due {
        let wait = Duration::from_millis(due - now);
        return Some(Next::Wait(if is_own { wait } else { wait.min(LOOK) }));
    }
    (entry.stage, entry.owner) = (Stage::Closing, own);
    match written(&store, key, &entry, found.revision).await? {
        Some(revision) => finish((&store, key), entry, revision, part).await,
        None => Some(Next::Again),
    }
}

/// This machine has the window: it has that on record, and says so.
async fn finish(
    (store, key): (&Store, &str),
    entry: Entry,
    revision: u64,
    part: &impl WindowPart,
) -> Option<Next> {
    let ids = entry.events.iter().map(|(id, _)| (id.clone(), String::new())).collect();
    let closed = Entry { stage: Stage::Closed, events: ids, ..entry.clone() };
    let until = Instant::now() + LEASE;
    part.close(entry.events.into_iter().map(|(_, event)| event).collect()).await;
    while written(store, key, &closed, revision).await.is_none() && Instant::now() < until {
        sleep(PAUSE).await;
    }
    Some(Next::Again)
}

/// Writes an entry, unless another machine has: its revision then. `None` where it is not known.
async fn written(store: &Store, key: &str, entry: &Entry, revision: u64) -> Option<Option<u64>> {
    match store.update(key, Bytes::from(entry.text()), revision).await {
        Ok(revision) => Some(Some(revision)),
        Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Some(None),
        Err(error) => {
            tracing::debug!(%error, "a window was not written");
            None
        }
    }
}

/// Those of these events that are in an entry, or that are not.
fn of_these(ids: &[String], entry: &Entry, are_in: bool) -> Vec<String> {
    let known: HashSet<&str> = entry.events.iter().map(|(id, _)| id.as_str()).collect();
    ids.iter().filter(|id| known.contains(id.as_str()) == are_in).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_is_written() {
        let events = vec![("e1".to_owned(), r#"{"a": 1}"#.to_owned()), ("e2".to_owned(), String::new())];
        for (_, stage) in STAGES {
            for events in [events.clone(), Vec::new()] {
                let entry = Entry { stage, first: 1, last: u64::MAX, owner: "m 17".to_owned(), events };
                assert_eq!(Entry::read(entry.text().as_bytes()), Some(entry));
            }
        }
        for wrong in ["", "open", "open 1 2", "ajar 1 2 m 17", "open 1 x m 17", "open 1 2 m 17\ne1"] {
            assert_eq!(Entry::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
