//! Names of jobs that any machine of a cluster may run, if it has the hook: a queue of work, of which each name is given to one
//! of the machines that ask for it. What a job is stays with its machine; a name that is lost, or that comes twice, costs that
//! machine one question.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{AckKind, Message, new};
use futures_util::future::try_join_all;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::time::timeout;

use crate::cluster::{Cluster, Shared};
use crate::streams::{is_not_there, with_copies};

/// How many names there may be, how long one stays that is not taken, and how long its server knows that it has had one.
const MOST: i64 = 1_000_000;
pub(crate) const KEPT: Duration = Duration::from_secs(60 * 60);
const KNOWN: Duration = Duration::from_secs(120);
/// The longest name, in bytes.
const LONGEST: i32 = 1 << 10;
/// How long a machine that has taken a name may say nothing of it, and how long it waits for one.
const TAKEN: Duration = Duration::from_secs(30);
const WAITED: Duration = Duration::from_secs(20);
/// How many names of one hook may be taken at once.
const MOST_TAKEN: i64 = 4_096;
/// How long the place of those that ask for the names of a hook stays when none does.
const UNUSED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the server may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How many hooks whose names wait are given at once.
const MOST_HOOKS: usize = 256;

/// A job, as the machines of a cluster call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobName {
    /// The machine that it is of.
    pub machine: String,
    /// The life of that machine.
    pub life: String,
    /// Its number there.
    pub job: u64,
    /// The key of the cluster that it needs, if it needs one.
    pub key: Option<String>,
}

/// A job that is to be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewName {
    /// Its number.
    pub job: u64,
    /// Tells this naming from an earlier one of the same job: what is named twice with one such word comes once.
    pub round: String,
    /// What its hook is called: two tokens with a dot between them, of which the second is no other hook's.
    pub hook: String,
    /// The key of the cluster that it needs.
    pub key: Option<String>,
}

/// The names of the jobs of one hook. All machines that have the hook have the same queue.
pub struct JobQueue {
    shared: Arc<Shared>,
    hook: String,
    consumer: Option<PullConsumer>,
}

impl fmt::Debug for JobQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobQueue").field("hook", &self.hook).finish_non_exhaustive()
    }
}

/// A name that this machine has taken. When it is dropped, another machine is given it half a minute later.
#[derive(Debug)]
pub struct TakenName {
    /// The name.
    pub name: JobName,
    message: Message,
}

impl JobName {
    fn text(&self) -> String {
        let Self { machine, life, job, key } = self;
        format!("{machine} {life} {job} {}", key.as_deref().unwrap_or_default())
    }

    fn read(text: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(text).ok()?.split(' ');
        let (machine, life) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let job = parts.next()?.parse().ok()?;
        let key = parts.next().filter(|key| !key.is_empty()).map(str::to_owned);
        Some(Self { machine, life, job, key })
    }
}

impl TakenName {
    /// Nothing more is to be done for it. Lost where the server does not hear it: it comes again.
    pub async fn done(self) {
        self.say(AckKind::Ack).await;
    }

    /// Another machine may have it, after this time.
    pub async fn back(self, after: Duration) {
        self.say(AckKind::Nak(Some(after))).await;
    }

    /// It is still this machine's; said every few seconds.
    pub async fn hold(&self) {
        self.say(AckKind::Progress).await;
    }

    async fn say(&self, kind: AckKind) {
        if let Err(error) = self.message.ack_with(kind).await {
            tracing::debug!(%error, "something was not said of the name of a job");
        }
    }
}

impl Cluster {
    /// Names jobs of this machine to the others: none of them or all, or some of them, when it fails. The server is asked for
    /// each: where its leader changes or it is full meanwhile it may have the last one, and not one before.
    ///
    /// Cancel safe: some may be named.
    ///
    /// # Errors
    /// The server cannot be asked, or there are as many names as there may be.
    pub async fn name_jobs(&self, names: Vec<NewName>) -> Result<(), String> {
        let shared = &self.0;
        stream(shared).await?;
        let context = new(shared.client.clone());
        let (machine, life) = (shared.settings.machine.to_string(), shared.settings.life.to_string());
        let mut sent = Vec::with_capacity(names.len());
        for NewName { job, round, hook, key } in names {
            let id = format!("{machine}.{life}.{job}.{round}");
            let name = JobName { machine: machine.clone(), life: life.clone(), job, key };
            let publish = PublishMessage::build().payload(name.text().into()).message_id(id);
            let acknowledged = context.send_publish(shared.subjects.jobs_of(&hook), publish).await;
            sent.push(acknowledged.map_err(|error| failed(shared, &error))?.into_future());
        }
        let kept = timeout(ANSWER, try_join_all(sent)).await;
        let kept = kept.map_err(|_| failed(shared, "the server does not answer"))?;
        kept.map(drop).map_err(|error| failed(shared, &error))
    }

    /// Has this machine ask for the names of the jobs of a hook.
    #[must_use]
    pub fn job_queue(&self, hook: &str) -> JobQueue {
        JobQueue { shared: Arc::clone(&self.0), hook: hook.to_owned(), consumer: None }
    }

    /// The hooks of which names wait, or are taken; a few hundred of them.
    ///
    /// Cancel safe.
    pub async fn hooks_with_jobs(&self) -> Vec<String> {
        let shared = &self.0;
        let asked = async {
            let stream = new(shared.client.clone()).get_stream_no_info(shared.subjects.jobs()).await.ok()?;
            let subjects = stream.info_with_subjects(shared.subjects.jobs_of(">")).await.ok()?;
            let prefix = shared.subjects.jobs_of("");
            let hook = |(subject, _): (String, usize)| subject.strip_prefix(&prefix).map(str::to_owned);
            let hooks = subjects.take(MOST_HOOKS).try_filter_map(|found| std::future::ready(Ok(hook(found))));
            hooks.try_collect().await.ok()
        };
        timeout(ANSWER, asked).await.ok().flatten().unwrap_or_default()
    }
}

impl JobQueue {
    /// The next name; `None` when there is none for a while. A name that was given while the future is dropped comes again
    /// later.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn next(&mut self) -> Result<Option<TakenName>, String> {
        let consumer = match self.consumer.take() {
            Some(consumer) => consumer,
            None => self.consumer().await?,
        };
        let batch = consumer.batch().max_messages(1).expires(WAITED).messages();
        let mut batch = batch.await.map_err(|error| failed(&self.shared, &error))?;
        let next = timeout(WAITED + ANSWER, batch.next()).await;
        let next = next.map_err(|_| failed(&self.shared, "the server does not answer"))?;
        let next = next.transpose().map_err(|error| failed(&self.shared, &error))?;
        self.consumer = Some(consumer);
        let Some(message) = next else { return Ok(None) };
        let Some(name) = JobName::read(&message.payload) else {
            message.ack().await.ok();
            return Ok(None);
        };
        Ok(Some(TakenName { name, message }))
    }

    /// What the server knows of those that ask; it is made where it is not there.
    async fn consumer(&self) -> Result<PullConsumer, String> {
        let wanted = pull::Config {
            durable_name: self.hook.rsplit('.').next().map(str::to_owned),
            filter_subject: self.shared.subjects.jobs_of(&self.hook),
            ack_wait: TAKEN,
            max_ack_pending: MOST_TAKEN,
            inactive_threshold: UNUSED,
            ..pull::Config::default()
        };
        let stream = stream(&self.shared).await?;
        stream.create_consumer(wanted).await.map_err(|error| failed(&self.shared, &error))
    }
}

/// Why the server cannot be asked. The stream may have gone with what it had.
fn failed(shared: &Shared, why: impl fmt::Display) -> String {
    shared.has_jobs.store(false, Ordering::Relaxed);
    format!("failed to use the stream {}: {why}", shared.subjects.jobs())
}

/// The stream, which the first that needs it makes.
async fn stream(shared: &Arc<Shared>) -> Result<Stream<()>, String> {
    let context = new(shared.client.clone());
    let name = shared.subjects.jobs();
    if shared.has_jobs.load(Ordering::Relaxed) {
        return context.get_stream_no_info(&name).await.map_err(|error| failed(shared, &error));
    }
    let make = |num_replicas| {
        let wanted = Config {
            name: name.clone(),
            description: Some("names of jobs of a lineside cluster".to_owned()),
            subjects: vec![shared.subjects.jobs_of(">")],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            max_messages: MOST,
            max_message_size: LONGEST,
            max_age: KEPT,
            duplicate_window: KNOWN,
            num_replicas,
            ..Config::default()
        };
        context.create_stream(wanted)
    };
    match context.get_stream(&name).await {
        Err(error) if is_not_there(&error) => with_copies(&name, make).await.map(drop)?,
        found => found.map(drop).map_err(|error| failed(shared, &error))?,
    }
    shared.has_jobs.store(true, Ordering::Relaxed);
    context.get_stream_no_info(&name).await.map_err(|error| failed(shared, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_job_is_read_as_it_is_written() {
        for key in [None, Some("00ff".to_owned())] {
            let name = JobName { machine: "a".to_owned(), life: "17".to_owned(), job: u64::MAX, key };
            assert_eq!(JobName::read(name.text().as_bytes()), Some(name));
        }
        for wrong in ["", "a", "a 1", "a 1 x", "\u{0}"] {
            assert_eq!(JobName::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
