//! What the settings have hear everything that is decided: files, commands, workers and posts.
//!
//! Each reads the feed in a task of its own, a tenth of a second behind it, many records at a time; no publisher and no other
//! reader waits for it. What the feed has given up before it was read is counted, and stands as `lost` among the records.

use std::convert::Infallible;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside::core::exchange::Addresses;
use lineside::core::invocation::{Environment, Program};
use lineside::core::{Diagnostic, Timestamp};
use lineside::dialects::native::{ObserveSettings, ObserveTo};
use lineside::exec::LineWorker;
use lineside::json::Value;
use lineside::log::Query;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::yield_now;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::api::shapes::SignalForm;
use crate::boxed::apart;
use crate::feed::{Feed, lost_fields};
use crate::outlet::Outlet;

mod rotated;

use rotated::Rotated;

/// How far behind the feed they read.
const BEHIND: Duration = Duration::from_millis(100);

/// How many records, and about how many bytes of them, are handed over at once.
const RECORDS: usize = 1_024;
const BYTES: usize = 1 << 20;

/// How many entries are taken out of the feed at once.
const AT_ONCE: usize = 64;

/// After how long what was not taken is tried again.
const AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(15)];

/// How long the rest may take when the daemon ends, of a worker that does not read.
const END: Duration = Duration::from_secs(10);

/// How large the file of what could not be delivered becomes.
const DEAD: u64 = 16 << 20;

/// One of them.
pub(crate) struct Observer {
    name: String,
    query: Query,
    to: To,
    /// Where what cannot be delivered is put.
    dead: Arc<Rotated>,
    count: Mutex<Count>,
}

enum To {
    File(Arc<Rotated>),
    /// A program has lines, and a server a list.
    Lines(Outlet),
    List(Outlet),
    /// A program that is kept. The task of the observer alone has it.
    Worker(Box<AsyncMutex<LineWorker>>),
}

/// What has become of records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Count {
    /// How many were delivered.
    pub(crate) delivered: u64,
    /// How many the feed has given up before they were read.
    pub(crate) lost: u64,
    /// How many could not be delivered, and are in the file of these, or lost where that cannot be written either.
    pub(crate) dead: u64,
    /// Up to which entry of the feed it has read.
    pub(crate) read: u64,
    /// Why the last delivery failed, until one succeeds.
    pub(crate) trouble: Option<String>,
}

/// Records as lines of JSON.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    records: u64,
    lost: u64,
}

impl Observer {
    /// Those of the settings; one whose query is none is a finding.
    pub(crate) fn all(
        settings: &[ObserveSettings],
        state: &Path,
        now: Timestamp,
    ) -> (Vec<Arc<Self>>, Vec<Diagnostic>) {
        let (mut all, mut findings) = (Vec::new(), Vec::new());
        for one in settings {
            match Query::parse(&one.query, now) {
                Ok(query) if query.is_about_shadows() => {
                    findings.push(wrong(one, &"`shadow` is for the log"));
                }
                Ok(query) => all.push(Arc::new(Self::new(one, query, state))),
                Err(error) => findings.push(wrong(one, &error)),
            }
        }
        (all, findings)
    }

    fn new(settings: &ObserveSettings, query: Query, state: &Path) -> Self {
        let name = settings.name.clone();
        let dead = Arc::new(Rotated::new(state.join("observe").join(format!("{name}.dead.jsonl")), DEAD, 1));
        let to = match &settings.to {
            ObserveTo::File { path, bytes, keep } => {
                To::File(Arc::new(Rotated::new(path.clone(), *bytes, *keep)))
            }
            ObserveTo::Command(words) => To::Lines(Outlet::command(words)),
            ObserveTo::Worker(words) => {
                let (program, environment) = (Program::argv(words), Environment::default());
                let worker = LineWorker::new(program, environment, Some(PathBuf::from("/")));
                To::Worker(Box::new(AsyncMutex::new(worker)))
            }
            ObserveTo::Post(url, headers) => {
                let headers = headers.iter().map(|(name, text)| (name.clone(), text.reveal().to_owned()));
                // The settings are those of the machine and of the user, who may name any address.
                To::List(Outlet::post(url, Addresses::Any, headers.collect()))
            }
        };
        Self { name, query, to, dead, count: Mutex::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn count(&self) -> Count {
        self.counting().clone()
    }

    fn counting(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over what the feed takes after this entry, until this token is cancelled, and what there is then.
    pub(crate) async fn run(&self, feed: &Feed, mut after: u64, ending: &CancellationToken) {
        let mut news = feed.watch_behind();
        loop {
            let more = async {
                let is_there = *news.borrow_and_update() > after || news.changed().await.is_ok();
                sleep(BEHIND).await;
                is_there
            };
            let more = async {
                tokio::select! {
                    biased;
                    is_there = more => is_there,
                    never = self.keep() => match never {},
                }
            };
            let goes_on = ending.run_until_cancelled(more).await.unwrap_or(false);
            loop {
                let batch = self.batch(feed, &mut after).await;
                {
                    let mut count = self.counting();
                    (count.lost, count.read) = (count.lost + batch.lost, after);
                }
                if batch.records == 0 {
                    break;
                }
                self.deliver(batch, ending).await;
            }
            if !goes_on {
                break;
            }
        }
        match &self.to {
            To::File(_) => {}
            To::Lines(outlet) | To::List(outlet) => outlet.end().await,
            To::Worker(worker) => {
                let left = worker.lock().await.end(END).await;
                let records = left.iter().filter(|byte| **byte == b'\n').count() as u64;
                if records > 0 {
                    {
                        let mut count = self.counting();
                        count.delivered = count.delivered.saturating_sub(records);
                    }
                    self.put_aside(left.into(), records).await;
                }
            }
        }
    }

    /// Keeps what is to run while there is nothing to deliver.
    async fn keep(&self) -> Infallible {
        let To::Worker(worker) = &self.to else { return pending().await };
        let mut worker = worker.lock().await;
        loop {
            let why = worker.keep().await;
            self.counting().trouble = Some(why);
        }
    }

    /// The next records that are asked for.
    async fn batch(&self, feed: &Feed, after: &mut u64) -> Batch {
        let mut batch = Batch::default();
        loop {
            let (lost, entries) = feed.after(*after, AT_ONCE);
            *after += lost;
            if lost > 0 {
                batch.lost += lost;
                batch.push(&Value::Object(lost_fields(lost)));
            }
            let Some(last) = entries.last() else { return batch };
            *after = last.id;
            for entry in &entries {
                if self.query.fits(&entry.record()) {
                    batch.push(&Value::Object(entry.to_json(SignalForm::Log).1));
                }
            }
            if batch.records >= RECORDS as u64 || batch.text.len() >= BYTES {
                return batch;
            }
            yield_now().await;
        }
    }

    /// Hands a batch over, at the third attempt after the first at the latest; then it is put aside.
    async fn deliver(&self, batch: Batch, ending: &CancellationToken) {
        let text: Arc<[u8]> = batch.text.into();
        let mut waits = AGAIN.into_iter();
        loop {
            let Err(why) = self.hand_over(&text, ending).await else {
                let mut count = self.counting();
                count.delivered += batch.records;
                count.trouble = None;
                return;
            };
            tracing::warn!(observer = self.name, why, "what was observed cannot be delivered");
            self.counting().trouble = Some(why);
            let rested = match waits.next() {
                Some(wait) => ending.run_until_cancelled(sleep(wait)).await,
                None => None,
            };
            if rested.is_none() {
                break;
            }
        }
        self.put_aside(text, batch.records).await;
    }

    /// Puts what cannot be delivered into the file of it.
    async fn put_aside(&self, text: Arc<[u8]>, records: u64) {
        let dead = Arc::clone(&self.dead);
        let kept = apart(move || dead.append(&text)).await;
        let mut count = self.counting();
        count.dead += records;
        if let Ok(Err(error)) = kept {
            let why = count.trouble.take().unwrap_or_default();
            count.trouble = Some(format!("{why}; it cannot be put aside either: {error}"));
        }
    }

    async fn hand_over(&self, text: &Arc<[u8]>, ending: &CancellationToken) -> Result<(), String> {
        match &self.to {
            To::File(file) => {
                let (file, text) = (Arc::clone(file), Arc::clone(text));
                let written = apart(move || file.append(&text)).await;
                written.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
            }
            To::Lines(outlet) => outlet.take(text.to_vec()).await,
            To::List(outlet) => outlet.take(listed(text)).await,
            // One that does not read may take its time: the feed goes on, and what it loses is counted.
            To::Worker(worker) => {
                let mut worker = worker.lock().await;
                tokio::select! {
                    biased;
                    given = worker.give(text) => given,
                    // What it has not taken is put aside at its end.
                    () = async { ending.cancelled().await; sleep(END).await } => Ok(()),
                }
            }
        }
    }
}

/// Lines of JSON as one list.
fn listed(lines: &[u8]) -> Vec<u8> {
    let mut list = vec![b'['];
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if list.len() > 1 {
            list.push(b',');
        }
        list.extend_from_slice(line);
    }
    list.push(b']');
    list
}

impl Batch {
    fn push(&mut self, record: &Value) {
        self.text.extend_from_slice(record.to_string().as_bytes());
        self.text.push(b'\n');
        self.records += 1;
    }
}

fn wrong(settings: &ObserveSettings, why: &dyn std::fmt::Display) -> Diagnostic {
    let text = format!("observer \"{}\" hears nothing: {why}", settings.name);
    Diagnostic::error(Some(settings.origin.clone()), text)
}
