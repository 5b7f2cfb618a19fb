//! The member's life: it connects, reads the registry, writes its own part of it, and hears; when the connection breaks, it
//! begins again. This file is the task owner of the crate.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::kv::{self, Operation, Store};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, Message, Request, ServerInfo, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use crate::cluster::Shared;
use crate::connecting::Told;
use crate::health::{Link, ServerFacts, ServerSync};
use crate::members::{BEAT, Word};
use crate::questions::Question;
use crate::registry::{EntryName, Write};
use crate::settings::Sync;
use crate::streams::{is_not_there, with_copies};
use crate::subjects::parts;

/// The pause after an attempt to join over a connection that stands.
const PAUSE: Duration = Duration::from_secs(1);
/// How long an answer of the server may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How long the question for the server's settings may take, and the one whether another daemon has the machine's name.
const SHORT: Duration = Duration::from_secs(1);
/// After this time no other daemon has the name of this machine, or it would have said so.
const ALONE: Duration = Duration::from_secs(2 * BEAT.as_secs() + 1);
/// How many entries are being written at once.
const WRITES: usize = 64;
/// How long the bucket keeps what is not written again, and how often it is.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const RENEWED: Duration = Duration::from_secs(8 * 60 * 60);
/// The least version of a server.
const VERSION: (u64, u64) = (2, 10);
/// The question for who is asked.
const WHO: &[u8] = b"who";

/// Why it is not together, in words for people.
type Why = String;

/// Starts the member's task.
pub(crate) fn spawn(shared: &Arc<Shared>, linked: watch::Receiver<Told>, asked: mpsc::Sender<Question>) {
    let held = Arc::clone(shared);
    shared.tracker().spawn(async move { live(&held, linked, asked).await });
}

async fn live(shared: &Shared, mut linked: watch::Receiver<Told>, asked: mpsc::Sender<Question>) {
    let ending = shared.ending.clone();
    let mut times = 0;
    loop {
        let wrong = linked.borrow_and_update().wrong.clone();
        if shared.client.connection_state() == State::Connected {
            times += 1;
            let broken = async {
                loop {
                    if linked.changed().await.is_err() || shared.client.connection_state() != State::Connected
                    {
                        return;
                    }
                }
            };
            let why = tokio::select! {
                () = ending.cancelled() => break,
                () = broken => "the connection to the server is gone".to_owned(),
                why = together(shared, times, &asked) => why,
            };
            away(shared, why);
            tokio::select! {
                () = ending.cancelled() => break,
                () = sleep(PAUSE), if shared.client.connection_state() == State::Connected => {}
                changed = linked.changed() => if changed.is_err() { return },
            }
            continue;
        }
        if !wrong.is_empty() {
            away(shared, wrong);
        }
        tokio::select! {
            () = ending.cancelled() => break,
            changed = linked.changed() => if changed.is_err() { return },
        }
    }
    go(shared).await;
}

/// It is no longer together.
fn away(shared: &Shared, why: Why) {
    shared.health.send_modify(|health| {
        let since = match &health.link {
            Link::Away { since, .. } => *since,
            Link::Together { .. } => Instant::now(),
        };
        health.link = Link::Away { since, why };
    });
}

/// Tells the others that this machine leaves, and takes out what it has written.
async fn go(shared: &Shared) {
    if !shared.health.borrow().link.is_together() {
        return;
    }
    let Shared { client, settings, subjects, .. } = shared;
    client.publish(subjects.alive(), Word::Go.text(&settings.life).into()).await.ok();
    let taken_out = async {
        let bucket = jetstream(client).get_stream(format!("KV_{}", subjects.bucket())).await;
        match bucket {
            Ok(bucket) => {
                let all = bucket.purge().filter(subjects.entries_of(settings.life.as_str())).await;
                all.map(drop).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        }
    };
    if let Err(error) = taken_out.await {
        tracing::warn!(error, "what this machine has in the registry is left there");
    }
    client.flush().await.ok();
    away(shared, "this machine has left".to_owned());
}

fn jetstream(client: &Client) -> Context {
    let mut context = jetstream::new(client.clone());
    context.set_timeout(ANSWER);
    context
}

/// One connection, from its beginning until it is of no use any more: gives why.
async fn together(shared: &Shared, times: u64, asked: &mpsc::Sender<Question>) -> Why {
    match joined(shared).await {
        Ok(mut hearing) => {
            let link = Link::Together { since: Instant::now(), times };
            shared.health.send_modify(|health| health.link = link);
            hearing.hear(shared, asked).await
        }
        Err(why) => why,
    }
}

/// What a member hears.
struct Hearing {
    store: Store,
    entries: kv::Watch,
    questions: Subscriber,
    alive: Subscriber,
    /// Lives of a machine of this name that have left entries.
    earlier: HashSet<String>,
}

async fn joined(shared: &Shared) -> Result<Hearing, Why> {
    let Shared { client, settings, subjects, .. } = shared;
    let facts = server(client).await?;
    if settings.sync == Sync::Always && facts.sync != ServerSync::Always {
        let says = match facts.sync {
            ServerSync::Within(time) => format!("it syncs within {time:?}"),
            _ => "it does not say so to this user".to_owned(),
        };
        return Err(format!(
            "the server is required to have everything on the disk (require_fsync), and {says}"
        ));
    }
    shared.health.send_modify(|health| health.server = Some(facts));
    is_free(shared).await?;
    let sessions = Bucket {
        name: subjects.bucket(),
        description: "sessions of the daemons of a lineside cluster",
        kept: KEPT,
    };
    let store = bucket(shared, sessions).await?;
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("failed to {what}: {error}");
    let questions = client.subscribe(subjects.to_this()).await.map_err(|error| failed("listen", &error))?;
    let alive = client.subscribe(subjects.all_alive()).await.map_err(|error| failed("listen", &error))?;
    let word = Word::Come.text(&settings.life);
    client.publish(subjects.alive(), word.into()).await.map_err(|error| failed("say so", &error))?;
    let mut entries =
        store.watch_with_history(">").await.map_err(|error| failed("read the registry", &error))?;
    let earlier = read(shared, &store, &mut entries).await?;
    Ok(Hearing { store, entries, questions, alive, earlier })
}

/// What the server says of itself.
async fn server(client: &Client) -> Result<ServerFacts, Why> {
    let ServerInfo { server_id, server_name, version, max_payload, jetstream, .. } = client.server_info();
    let mut numbers = version.split('.').map_while(|number| number.parse::<u64>().ok());
    let known = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if known < VERSION {
        return Err(format!("the server has version {version}; {}.{} is the least", VERSION.0, VERSION.1));
    }
    if !jetstream {
        return Err("the server has no JetStream".to_owned());
    }
    let request = Request::new().payload(r#"{"config":true}"#.into()).timeout(Some(SHORT));
    let asked = client.send_request(format!("$SYS.REQ.SERVER.{server_id}.JSZ"), request).await;
    let sync = asked.map_or(ServerSync::Unknown, |answer| ServerSync::read(&answer.payload));
    Ok(ServerFacts { name: server_name, version, longest: max_payload, sync })
}

/// That no other daemon has the name of this machine.
async fn is_free(shared: &Shared) -> Result<(), Why> {
    let Shared { client, settings, subjects, .. } = shared;
    let request = Request::new().payload(Bytes::from_static(WHO)).timeout(Some(SHORT));
    match client.send_request(subjects.to_this(), request).await {
        Ok(answer) if answer.payload != settings.life.as_str().as_bytes() => Err(taken(shared)),
        _ => Ok(()),
    }
}

fn taken(shared: &Shared) -> Why {
    format!("another daemon is machine `{}` of the cluster; name this one otherwise", shared.settings.machine)
}

/// What a bucket is to be.
pub(crate) struct Bucket {
    pub(crate) name: String,
    pub(crate) description: &'static str,
    /// How long an entry stays that is not written again.
    pub(crate) kept: Duration,
}

/// A bucket, which is made where there is none.
pub(crate) async fn bucket(shared: &Shared, wanted: Bucket) -> Result<Store, Why> {
    let Bucket { name, description, kept } = wanted;
    let context = jetstream(&shared.client);
    match context.get_key_value(&name).await {
        Err(error) if is_not_there(&error) => {}
        found => return found.map_err(|error| format!("failed to open the bucket {name}: {error}")),
    }
    let make = |num_replicas| {
        let config = kv::Config {
            bucket: name.clone(),
            description: description.to_owned(),
            history: 1,
            max_age: kept,
            num_replicas,
            ..kv::Config::default()
        };
        context.create_key_value(config)
    };
    with_copies(&name, make).await
}

/// Reads everything that the bucket has, and finds out what of this machine's is to be written. Gives the other lives of this
/// machine that have entries.
async fn read(shared: &Shared, store: &Store, entries: &mut kv::Watch) -> Result<HashSet<String>, Why> {
    let mut found = HashSet::new();
    let mut lives = HashSet::new();
    let (machine, own_life) = (shared.settings.machine.as_str(), shared.settings.life.as_str());
    let is_empty = store.status().await.map_err(|error| format!("failed to read the registry: {error}"))?;
    if is_empty.values() > 0 {
        loop {
            let Ok(entry) = timeout(ANSWER, entries.next()).await else {
                return Err("failed to read the registry: it does not come".to_owned());
            };
            let entry = entry.ok_or("failed to read the registry: it has ended")?;
            let entry = entry.map_err(|error| format!("failed to read the registry: {error}"))?;
            if let Some((of, life, name)) = parts(&entry.key)
                && entry.operation == Operation::Put
            {
                found.insert(name);
                match of == machine {
                    true if life == own_life => shared.registry().found_own(name, &entry.value),
                    true => {
                        lives.insert(life.to_owned());
                    }
                    false => shared.registry().take(name, (of, life), entry.revision, &entry.value),
                }
            }
            if entry.seen_current {
                break;
            }
        }
    }
    shared.registry().found_all(&found);
    shared.changed.notify_one();
    Ok(lives)
}

/// Takes out what earlier lives of this machine have left.
async fn take_out(shared: &Shared, store: &Store, earlier: HashSet<String>) -> Result<(), Why> {
    for life in earlier {
        let all = store.stream.purge().filter(shared.subjects.entries_of(&life)).await;
        all.map_err(|error| format!("failed to take out what an earlier start has left: {error}"))?;
    }
    Ok(())
}

type Written = Pin<Box<dyn Future<Output = (EntryName, Result<(), Why>)> + Send>>;

impl Hearing {
    async fn hear(&mut self, shared: &Shared, asked: &mpsc::Sender<Question>) -> Why {
        let Shared { client, subjects, settings, .. } = shared;
        let mut beat = interval(BEAT);
        let mut renewed = interval(RENEWED);
        for ticks in [&mut beat, &mut renewed] {
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        renewed.reset();
        let (mut writing, mut under_way) = (FuturesUnordered::<Written>::new(), HashSet::new());
        let alone_at = Instant::now() + ALONE;
        loop {
            while writing.len() < WRITES {
                let Some(write) = shared.registry().next_write(&under_way) else { break };
                under_way.insert(name_of(&write));
                writing.push(self.write((subjects.key(name_of(&write)), client.max_payload()), write));
            }
            tokio::select! {
                biased;
                question = self.questions.next() => match question {
                    Some(message) => take(shared, asked, message).await,
                    None => return "the server no longer passes questions on".to_owned(),
                },
                Some((name, written)) = writing.next(), if !writing.is_empty() => {
                    under_way.remove(&name);
                    if let Err(why) = written {
                        shared.registry().not_written(name);
                        return why;
                    }
                }
                heard = self.alive.next() => match heard {
                    Some(message) => if let Err(why) = said(shared, &message).await {
                        return why;
                    },
                    None => return "the server no longer passes words on".to_owned(),
                },
                entry = self.entries.next() => match entry {
                    Some(Ok(entry)) => changed(shared, &entry),
                    Some(Err(error)) => return format!("the registry is no longer read: {error}"),
                    None => return "the registry is no longer read".to_owned(),
                },
                () = shared.to_write.notified() => {}
                _ = beat.tick() => {
                    if let Err(error) = client.publish(subjects.alive(), Word::Here.text(&settings.life).into()).await {
                        return error.to_string();
                    }
                }
                _ = renewed.tick() => shared.registry().write_all_but(&HashSet::new()),
                () = sleep_until(alone_at), if !self.earlier.is_empty() => {
                    if let Err(why) = take_out(shared, &self.store, std::mem::take(&mut self.earlier)).await {
                        return why;
                    }
                }
            }
        }
    }

    /// Writes an entry. One that is longer than the server takes is taken out, as if this machine did not have it: an earlier
    /// value says what is no longer so, and the other entries do not wait for it.
    fn write(&self, (key, longest): (String, usize), write: Write) -> Written {
        let store = self.store.clone();
        Box::pin(async move {
            let name = name_of(&write);
            let written = match write {
                Write::Put(_, value) if value.len() > longest => {
                    let length = value.len();
                    tracing::warn!(%name, length, longest, "an entry is longer than the server takes, and left out");
                    store.delete(&key).await.map_err(|error| error.to_string())
                }
                Write::Put(_, value) => {
                    store.put(&key, value).await.map(drop).map_err(|error| error.to_string())
                }
                Write::Delete(_) => store.delete(&key).await.map_err(|error| error.to_string()),
            };
            (name, written.map_err(|error| format!("failed to write to the registry: {error}")))
        })
    }
}

/// A machine says that it comes, is there, or goes.
///
/// # Errors
/// Another daemon has the name of this machine too, and this one leaves: of two that have come at once, the one whose life has
/// the lesser name stays.
async fn said(shared: &Shared, message: &Message) -> Result<(), Why> {
    let Some(machine) = message.subject.rsplit('.').next() else { return Ok(()) };
    let Some((word, life)) = Word::read(&message.payload) else { return Ok(()) };
    let own_life = shared.settings.life.as_str();
    let is_self = machine == shared.settings.machine.as_str();
    if is_self && life != own_life {
        if word == Word::Go {
            return Ok(());
        }
        if life < own_life {
            return Err(taken(shared));
        }
        let word = Word::Here.text(&shared.settings.life);
        shared.client.publish(shared.subjects.alive(), word.into()).await.ok();
        // The others have dropped it for what the other one has.
        shared.registry().write_all_but(&HashSet::new());
        return Ok(());
    }
    let goes_on = shared.members().hear(machine, (word, life), Instant::now());
    if is_self {
        return Ok(());
    }
    if goes_on {
        // What it has written again may have come before the word of the other one, and was dropped with that.
        return Err(format!("machine `{machine}` was two for a moment: the registry is read anew"));
    }
    if word == Word::Come {
        // It has to know that this one is there.
        let word = Word::Here.text(&shared.settings.life);
        shared.client.publish(shared.subjects.alive(), word.into()).await.ok();
        shared.registry().came(machine);
    }
    let is_over = |of: &str, its: &str| of == machine && ((its == life) == (word == Word::Go));
    shared.registry().drop_all(is_over);
    shared.changed.notify_one();
    Ok(())
}

fn name_of(write: &Write) -> EntryName {
    match write {
        Write::Put(name, _) | Write::Delete(name) => *name,
    }
}

/// Another machine has changed an entry; what this one has written comes back as well, and is known.
fn changed(shared: &Shared, entry: &kv::Entry) {
    let Some((machine, life, name)) = parts(&entry.key) else { return };
    let is_own = machine == shared.settings.machine.as_str();
    // What was on its way when its machine left comes after that word.
    if is_own || shared.members().is_over(machine, life) {
        return;
    }
    let mut registry = shared.registry();
    match entry.operation {
        Operation::Put => registry.take(name, (machine, life), entry.revision, &entry.value),
        _ => registry.gone(name, machine),
    }
    let not_mirrored = registry.not_mirrored;
    drop(registry);
    shared
        .health
        .send_if_modified(|health| std::mem::replace(&mut health.not_mirrored, not_mirrored) != not_mirrored);
    shared.changed.notify_one();
}

/// Hands a question on.
async fn take(shared: &Shared, asked: &mpsc::Sender<Question>, message: Message) {
    let question = Question::of(&shared.client, message);
    if question.text == WHO {
        question.answer(Bytes::from(shared.settings.life.to_string())).await;
        return;
    }
    let waits = match shared.at_once.get() {
        Some(take) => take(question),
        None => Some(question),
    };
    if let Some(question) = waits
        && let Err(error) = asked.try_send(question)
    {
        error.into_inner().refuse().await;
    }
}
