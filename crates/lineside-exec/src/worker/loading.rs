//! Bringing a worker up: hello, then one plugin after the other, where it has any (OC-22, OC-72 to OC-74).

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use lineside_core::budget::after;
use lineside_core::json::{Map, Value};
use lineside_core::worker::{HandlerKey, PluginLoaded, StartWorkerError, WorkerReady};
use tokio::time::Instant;

use super::connection::{Connection, Event, until};
use super::frames::{self, Frame, Reason};
use super::ids::{Ids, token};
use super::log_sink::LogSink;
use super::profile::WorkerProfile;
use super::transport::Connect;

/// A worker that can be called.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) connection: Connection,
    /// Their numbers in this worker.
    pub(super) handlers: HashMap<HandlerKey, u64>,
    /// What its calls are known by.
    pub(super) ids: Ids,
}

/// Plugins that are not given to a worker again: by their place, and why.
#[derive(Debug, Default)]
pub(super) struct Refused(HashMap<usize, PluginLoaded>);

/// Connects to a worker and loads the plugins.
///
/// A plugin under which it ends, or that it cannot be stopped from loading, is refused from then on, and the worker is
/// started anew without it, so this ends after as many starts as there are plugins at the latest.
/// Dropping the future kills the worker.
pub(super) async fn bring_up(
    profile: &WorkerProfile,
    connect: &mut dyn Connect,
    refused: &mut Refused,
    log_sink: &mut LogSink,
) -> Result<(Live, WorkerReady), StartWorkerError> {
    loop {
        let (mut live, hello) = greet(profile, connect, log_sink).await?;
        match load_all(&mut live, profile, refused, log_sink).await {
            Loading::Done(plugins) => return Ok((live, WorkerReady { hello, plugins })),
            Loading::Broken => live.connection.ended(log_sink).await,
        }
    }
}

/// The time in which a worker must have done something while it is brought up.
///
/// The time that it spends waiting for a processor on a busy machine does not count, up to [`MOST_STARVED`] times the time
/// itself or [`STARVED_ANYWAY`], whichever is longer. A call that waits for the worker has a time of its own, which this does not extend.
struct Allowance {
    time: Duration,
    from: Instant,
    starved: Duration,
}

impl Allowance {
    /// From now on.
    fn of(connection: &Connection, time: Duration) -> Self {
        Self { time, from: Instant::now(), starved: connection.starved() }
    }

    /// When it is over, by what is known now; later looks may find a later moment.
    fn end(&self, connection: &Connection) -> Instant {
        let starved = connection.starved().saturating_sub(self.starved);
        let most = STARVED_ANYWAY.max(self.time * MOST_STARVED);
        after(self.from, self.time.saturating_add(starved.min(most)))
    }
}

/// A machine on which a start takes three times as long does not start programs any more.
const MOST_STARVED: u32 = 2;

/// What a short time is extended by at most: where it is half a second, three times that is soon over on a busy machine.
const STARVED_ANYWAY: Duration = Duration::from_secs(10);

async fn greet(
    profile: &WorkerProfile,
    connect: &mut dyn Connect,
    log_sink: &mut LogSink,
) -> Result<(Live, Map), StartWorkerError> {
    let transport = connect.connect().await?;
    log_sink.forget();
    let token = profile.protocol.has_token.then(token);
    let hello = frames::hello(profile.protocol, token.as_deref(), profile.frame, &profile.hello);
    let mut connection = Connection::new(transport, token, profile.frame, hello);
    let allowance = Allowance::of(&connection, profile.greeting);
    let mut by = allowance.end(&connection);
    let failed = |log_sink: &LogSink, why: &str, hello| {
        Err(StartWorkerError::Failed { why: log_sink.with_stderr(why), hello })
    };
    loop {
        let event = tokio::select! {
            event = connection.event(log_sink) => event,
            () = until(Some(by)) => {
                by = allowance.end(&connection);
                if by > Instant::now() {
                    continue;
                }
                connection.ended(log_sink).await;
                return failed(log_sink, &format!("it said no hello within {:?}", profile.greeting), None);
            }
        };
        match event {
            Event::Frame(Frame::Hello(mut hello)) => {
                hello.remove("type");
                let spoken = hello.get("protocol").and_then(Value::as_u64);
                if spoken != Some(profile.protocol.version) {
                    connection.ended(log_sink).await;
                    return failed(log_sink, &profile.protocol.not_spoken(spoken), Some(hello));
                }
                let ids = if profile.protocol.has_token { Ids::Counted(0) } else { Ids::Random(Vec::new()) };
                return Ok((Live { connection, handlers: HashMap::new(), ids }, hello));
            }
            Event::Frame(frame) => log_sink.frame(frame),
            Event::Room => {}
            Event::Ended(ending) => return failed(log_sink, &ending.why, None),
        }
    }
}

enum Loading {
    Done(Vec<PluginLoaded>),
    /// The worker is of no use any more.
    Broken,
}

async fn load_all(
    live: &mut Live,
    profile: &WorkerProfile,
    refused: &mut Refused,
    log_sink: &mut LogSink,
) -> Loading {
    let mut loaded = Vec::with_capacity(profile.plugins.len());
    for (place, plugin) in profile.plugins.iter().enumerate() {
        if let Some(why) = refused.0.get(&place) {
            loaded.push(why.clone());
            continue;
        }
        match load(live, &plugin.load, profile, log_sink).await {
            One::Answered(frame) => {
                live.handlers.extend(handlers(&frame));
                loaded.push(PluginLoaded::Answered(frame));
            }
            One::TimedOut => {
                refused.0.insert(place, PluginLoaded::TimedOut);
                loaded.push(PluginLoaded::TimedOut);
            }
            One::Stuck => {
                refused.0.insert(place, PluginLoaded::TimedOut);
                return Loading::Broken;
            }
            One::Died(why) => {
                refused.0.insert(place, PluginLoaded::Died { why });
                return Loading::Broken;
            }
        }
    }
    Loading::Done(loaded)
}

/// The longest that the worker may wait for something from outside, such as a registry, while it loads a plugin.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// How the loading of one plugin ended.
enum One {
    Answered(Map),
    /// It took too long, and the worker goes on.
    TimedOut,
    /// It took too long, and the worker does not hear us.
    Stuck,
    /// The worker has ended.
    Died(String),
}

async fn load(live: &mut Live, how: &Map, profile: &WorkerProfile, log_sink: &mut LogSink) -> One {
    let id = live.ids.next();
    live.connection.push(&frames::load(id, how));
    let allowance = Allowance::of(&live.connection, profile.loading);
    let mut by = allowance.end(&live.connection);
    let mut cancelled = false;
    loop {
        let event = tokio::select! {
            event = live.connection.event(log_sink) => event,
            () = until(Some(by)) => {
                let extended = allowance.end(&live.connection);
                if !cancelled && extended > Instant::now() {
                    by = extended;
                    continue;
                }
                if mem::replace(&mut cancelled, true) {
                    return One::Stuck;
                }
                live.connection.push(&frames::cancel(id, Reason::Timeout));
                by = after(Instant::now(), profile.cancel);
                continue;
            }
        };
        match event {
            // After a cancel as well: it was ready at that very moment, the cancel finds nothing, and it is loaded.
            Event::Frame(Frame::Loaded { id: loaded, mut frame }) if loaded == id => {
                frame.remove("id");
                return One::Answered(frame);
            }
            Event::Frame(Frame::Cancelled { id: over }) if over == id => return One::TimedOut,
            Event::Frame(Frame::Waiting { id: waiting, time }) if waiting == id && !cancelled => {
                by = by.max(after(Instant::now(), time.min(LONGEST_WAIT)));
            }
            Event::Frame(frame) => log_sink.frame(frame),
            Event::Room => {}
            Event::Ended(ending) => return One::Died(log_sink.with_stderr(&ending.why)),
        }
    }
}

/// The handlers of a `loaded` frame and their numbers.
fn handlers(frame: &Map) -> Vec<(HandlerKey, u64)> {
    let plugin = frame.get("plugin").and_then(|plugin| plugin.get("id")).and_then(Value::as_str);
    let registrations = frame.get("registrations").and_then(Value::as_array);
    let (Some(plugin), Some(registrations)) = (plugin, registrations) else {
        return Vec::new();
    };
    let mut nth: HashMap<&str, u32> = HashMap::new();
    let numbered = registrations.iter().filter_map(|registration| {
        let hook = registration.get("hook")?.as_str()?;
        let number = registration.get("handler")?.as_u64()?;
        let nth = nth.entry(hook).and_modify(|nth| *nth += 1).or_insert(1);
        Some((HandlerKey { plugin: plugin.to_owned(), hook: hook.to_owned(), nth: *nth }, number))
    });
    numbered.collect()
}

#[cfg(test)]
mod tests;
