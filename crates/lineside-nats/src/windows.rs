//! Windows of events that several machines hold together: the entry of a window has its events, and is written by the machine of
//! which the last one is. That machine has the window. When it is over it closes it, runs for all events that are in there, and
//! says so in the entry; the others see there what has become of theirs. Where it is gone, one of them has the window ten seconds
//! later.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::Subscriber;
use async_nats::jetstream::kv::{Store, UpdateErrorKind};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, Shared};
use crate::keys::{EARLIER, LEASE};
use crate::ledger::{PAUSE, found, millis};
use crate::settings::{JoinSettings, Token};

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
    /// The machine that has it, in this life, and which of its parts: two projects of one name are two.
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
        let JoinSettings { machine, life, .. } = &self.0.settings;
        let own = format!("{machine} {life} {}", self.0.parts.fetch_add(1, Ordering::Relaxed));
        let mut seat = Seat { shared: &self.0, key, own, closings: None };
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
            if let Next::Wait(wait) = seat.look(part, &held).await.unwrap_or(Next::Wait(PAUSE)) {
                tokio::select! {
                    () = seat.closed(part) => {}
                    () = sleep(wait) => {}
                    _ = health.changed() => {}
                    () = part.changed() => {}
                }
            }
        }
    }
}

/// The part of a machine in a window, as the others see it.
struct Seat<'a> {
    shared: &'a Shared,
    key: &'a Token,
    /// See [`Entry::owner`].
    own: String,
    /// What becomes of windows of the key: the entry may be that of the next one when it is looked at.
    closings: Option<Subscriber>,
}

impl Seat<'_> {
    /// One look at a window, and what this machine does about it; `None` where the server does not say.
    async fn look(&mut self, part: &impl WindowPart, held: &HeldEvents) -> Option<Next> {
        if self.closings.is_none() {
            let subject = self.shared.subjects.closed_window(self.key);
            self.closings = Some(self.shared.client.subscribe(subject).await.ok()?);
        }
        let (store, now) = self.shared.ledger().await?;
        let key = &*format!("window.{}", self.key);
        let found = found(&store, key).await?;
        // What was closed before that has been heard by now.
        if self.closed(part).now_or_never().is_some() {
            return Some(Next::Again);
        }
        let known = Entry::read(&found.value);
        let lapsed = now.saturating_sub(found.written) >= millis(LEASE);
        let entry = match known {
            Some(entry) if entry.stage == Stage::Closed => {
                if gone(part, &entry) {
                    return Some(Next::Again);
                }
                None
            }
            Some(entry) if entry.stage == Stage::Closing && entry.owner == self.own => {
                return self.take((&store, key), entry, found.revision, part).await;
            }
            Some(entry) if entry.stage == Stage::Closing && !lapsed => return Some(Next::Wait(LOOK)),
            open => open,
        };
        let new =
            Entry { stage: Stage::Open, first: now, last: now, owner: String::new(), events: Vec::new() };
        let mut entry = entry.unwrap_or(new);
        let missing = of_these(&held.ids, &entry, false);
        let texts = part.texts(&missing);
        let most = (self.shared.client.max_payload() / 2).min(LONGEST);
        let longer: usize = texts.iter().map(|(id, event)| id.len() + event.len() + 2).sum();
        let fits = entry.bytes() + longer <= most;
        if !texts.is_empty() && fits {
            entry.events.extend(texts);
            (entry.stage, entry.last, entry.owner) = (Stage::Open, now, self.own.clone());
            return written(&store, key, &entry, found.revision).await.map(|_| Next::Again);
        }
        // A longer one is not written, and the run of this machine has all that it holds.
        let at_once = held.closes || !fits || entry.events.len() >= held.count;
        let quiet = entry.last.saturating_add(millis(held.quiet));
        let due = if at_once { now } else { quiet.min(entry.first.saturating_add(millis(held.at_most))) };
        let is_own = entry.owner == self.own || held.closes || !fits;
        let due = if is_own { due } else { due.saturating_add(millis(LEASE)) };
        if now < due {
            let wait = Duration::from_millis(due - now);
            return Some(Next::Wait(if is_own { wait } else { wait.min(LOOK) }));
        }
        self.take((&store, key), entry, found.revision, part).await
    }

    /// Has a window that is over from here on, and runs for it, unless this machine has stood still since it said so: another
    /// one may have it then.
    async fn take(
        &self,
        (store, key): (&Store, &str),
        mut entry: Entry,
        revision: u64,
        part: &impl WindowPart,
    ) -> Option<Next> {
        let clock = &self.shared.settings.clock;
        let until = clock.now() + LEASE - EARLIER;
        (entry.stage, entry.owner) = (Stage::Closing, self.own.clone());
        match written(store, key, &entry, revision).await? {
            Some(revision) if clock.now() < until => self.finish((store, key), entry, revision, part).await,
            _ => Some(Next::Again),
        }
    }

    /// Waits until another machine has run for what is held here. Cancel safe.
    async fn closed(&mut self, part: &impl WindowPart) {
        if let Some(closings) = &mut self.closings {
            while let Some(message) = closings.next().await {
                if Entry::read(&message.payload).is_some_and(|entry| gone(part, &entry)) {
                    return;
                }
            }
        }
        std::future::pending::<()>().await;
    }

    /// This machine has the window: it has that on record, and says so.
    async fn finish(
        &self,
        (store, key): (&Store, &str),
        entry: Entry,
        revision: u64,
        part: &impl WindowPart,
    ) -> Option<Next> {
        let ids = entry.events.iter().map(|(id, _)| (id.clone(), String::new())).collect();
        let closed = Entry { stage: Stage::Closed, events: ids, ..entry.clone() };
        let until = Instant::now() + LEASE;
        part.close(entry.events.into_iter().map(|(_, event)| event).collect()).await;
        // Before the next window can begin.
        let subject = self.shared.subjects.closed_window(self.key);
        self.shared.client.publish(subject, closed.text().into()).await.ok();
        while written(store, key, &closed, revision).await.is_none() && Instant::now() < until {
            sleep(PAUSE).await;
        }
        Some(Next::Again)
    }
}

/// Whether a machine has run for events that are held here, which is said to them.
fn gone(part: &impl WindowPart, closed: &Entry) -> bool {
    let gone = part.held().map(|held| of_these(&held.ids, closed, true)).unwrap_or_default();
    let are_some = !gone.is_empty();
    if are_some {
        part.elsewhere(gone);
    }
    are_some
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
