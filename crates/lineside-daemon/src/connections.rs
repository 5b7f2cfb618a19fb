//! The task owner of the crate: connections, the feed, and what goes back in time run here, tracked and cancelled.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use lineside::Session;
use lineside::hosts::Afterwards;
use lineside::stream::Stream as UnixStream;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::boxed::{apart, spawn};
use crate::caller::{Caller, Connection};
use crate::daemon::Daemon;
use crate::lineage::Process;
use crate::pace::Pace;
use crate::place::Place;
use crate::publishing;
use crate::shared_stream::{SharedStream, Stream};
use crate::strangers::LONGEST_HEAD;

/// How long the end of the daemon waits for clients to take the answers that they are owed.
const OWED: Duration = Duration::from_secs(2);

/// For how long signals that nothing waits for are taken together: at this pace the bus keeps 400,000 a second.
const TOGETHER: Duration = Duration::from_millis(10);

/// How often deliveries are looked through for those that were not accepted, and the path of the socket for its file.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// In how many looks each agent program has its turn, and how many have it in each look at least.
const ROUND: usize = 15;
const AT_LEAST: usize = 32;

/// Everything that a daemon runs beside requests. Clones run in the same places.
#[derive(Clone)]
pub(crate) struct Tasks {
    pub(crate) tracker: TaskTracker,
    /// Cancelled when connections are to end after the answers that they owe.
    pub(crate) graceful: CancellationToken,
    /// Cancelled when what never ends by itself is to end.
    now: CancellationToken,
    /// Cancelled when connections are not waited for any more.
    pub(crate) cut: CancellationToken,
    /// How many connections each door has room for.
    pub(crate) connections: usize,
}

impl Tasks {
    pub(crate) fn new(connections: usize, daemon: &Daemon) -> Self {
        let connections = connections.min(Semaphore::MAX_PERMITS);
        Self {
            tracker: daemon.tracker.clone(),
            graceful: CancellationToken::new(),
            now: CancellationToken::new(),
            cut: daemon.cut.clone(),
            connections,
        }
    }

    /// Serves the listeners that are opened while the daemon runs.
    pub(crate) fn accept_later(
        &self,
        daemon: &Arc<Daemon>,
        mut listeners: mpsc::Receiver<TcpListener>,
        router: Router,
    ) {
        let (tasks, daemon) = (self.clone(), Arc::clone(daemon));
        spawn(&self.tracker, async move {
            loop {
                let opened = tokio::select! {
                    () = tasks.graceful.cancelled() => return,
                    opened = listeners.recv() => opened,
                };
                match opened {
                    Some(listener) => tasks.accept(&daemon, listener, router.clone()),
                    None => return,
                }
            }
        });
    }

    /// Has the feed take what the bus sends: at once where it is read, and else many signals at a time. A task that is
    /// woken for each event costs the event more than its dispatch.
    pub(crate) fn feed(&self, daemon: &Arc<Daemon>) {
        let (daemon, now) = (Arc::clone(daemon), self.now.clone());
        spawn(&self.tracker, async move {
            let rested = async {
                loop {
                    // Made before the feed takes what there is: what is sent after that wakes it.
                    let (mut later, is_read) = (daemon.bus().signals(), daemon.feed().has_readers());
                    if later.next().await.is_none() {
                        return;
                    }
                    drop(later);
                    if !is_read {
                        sleep(TOGETHER).await;
                    }
                }
            };
            tokio::select! {
                () = now.cancelled() => {}
                () = rested => {}
            }
        });
    }

    /// Has what observes read the feed from here on.
    pub(crate) fn observe(&self, daemon: &Arc<Daemon>) {
        let (at, _) = daemon.feed().counts();
        for observer in &daemon.observers {
            let (daemon, now, observer) = (Arc::clone(daemon), self.now.clone(), Arc::clone(observer));
            spawn(&self.tracker, async move { observer.run(daemon.feed(), at, &now).await });
        }
        #[cfg(feature = "otel")]
        let (daemon, now) = (Arc::clone(daemon), self.now.clone());
        #[cfg(feature = "otel")]
        spawn(
            &self.tracker,
            async move { daemon.telemetry.export(daemon.feed(), daemon.bus(), at, &now).await },
        );
    }

    /// Loads hooks anew when their files change.
    pub(crate) fn reload(&self, daemon: &Arc<Daemon>) {
        let (daemon, now) = (Arc::clone(daemon), self.now.clone());
        spawn(&self.tracker, async move {
            loop {
                tokio::select! {
                    () = now.cancelled() => return,
                    () = daemon.ending.cancelled() => return,
                    () = daemon.changes.next() => {}
                }
                // A load is not cut: what it has started is to be ended by the end of the daemon.
                match daemon.load_changed().await {
                    Ok(Some(loaded)) => {
                        tracing::info!(generation = loaded.generation, "loaded changed hooks");
                    }
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(%error, "the changed hooks cannot be loaded; those before stay in force");
                    }
                }
            }
        });
    }

    /// Puts context back that was not accepted in time, and forgets sessions of hosts that were silent for too long.
    pub(crate) fn put_back(&self, daemon: &Arc<Daemon>) {
        let (daemon, now) = (Arc::clone(daemon), self.now.clone());
        spawn(&self.tracker, async move {
            loop {
                tokio::select! {
                    () = now.cancelled() => return,
                    () = sleep(LOOK) => {}
                }
                let returned = daemon.deliveries.put_back(Instant::now());
                let returned = u64::try_from(returned).unwrap_or(u64::MAX);
                daemon.counts.deliveries_returned.fetch_add(returned, Ordering::Relaxed);
                daemon.hosts.expire();
                daemon.projects.forget_unused(Instant::now(), &daemon.agents.left()).await;
            }
        });
    }

    /// Ends the sessions of agent programs whose process has ended, and those that were silent for long and have none. Each
    /// is looked at within [`ROUND`], for which `/proc` is read once.
    pub(crate) fn look_after_agents(&self, daemon: &Arc<Daemon>) {
        let (daemon, now) = (Arc::clone(daemon), self.now.clone());
        spawn(&self.tracker, async move {
            loop {
                tokio::select! {
                    () = now.cancelled() => return,
                    () = sleep(LOOK) => {}
                }
                let most = daemon.agents.count() / ROUND + AT_LEAST;
                for id in daemon.agents.over(daemon.settings.limits.silent, most) {
                    match daemon.bus().find(&id) {
                        Some(session) => close(&daemon, session).await,
                        None => daemon.agents.forget(&id),
                    }
                }
            }
        });
    }

    /// Lets no connection in, and has connections end after the answers that they owe.
    pub(crate) fn wind_up(&self) {
        self.graceful.cancel();
    }

    /// Ends everything. Connections have [`OWED`] for the answers that they owe; what has not ended after `limit` is
    /// left behind.
    pub(crate) async fn end(&self, limit: Duration) {
        self.graceful.cancel();
        self.now.cancel();
        self.tracker.close();
        if timeout(limit.min(OWED), self.tracker.wait()).await.is_ok() {
            return;
        }
        self.cut.cancel();
        if timeout(limit, self.tracker.wait()).await.is_err() {
            tracing::warn!(tasks = self.tracker.len(), "ended with tasks under way");
        }
    }

    /// Has the log write everything that has happened, for as long as `limit`.
    pub(crate) async fn write_down(&self, daemon: &Arc<Daemon>, limit: Duration) {
        if timeout(limit, written(daemon)).await.is_err() {
            tracing::warn!("ended before the decision log was written");
        }
    }
}

/// Waits until the log has everything that has happened so far. Where the disk takes nothing, that keeps one thread.
pub(crate) async fn written(daemon: &Arc<Daemon>) {
    let daemon = Arc::clone(daemon);
    let Ok(turn) = Arc::clone(&daemon.flushing).acquire_owned().await else { return };
    let flush = move || {
        daemon.feed().log().map(lineside::log::Log::flush);
        drop(turn);
    };
    apart(flush).await.ok();
}

/// A stream as it is served.
type Served<S> = Pin<Box<TimeoutWriter<SharedStream<S>>>>;

/// Has a connection be one for events, once it is free.
pub(crate) fn publish(daemon: &Arc<Daemon>, upgrade: OnUpgrade, from: Connection, caller: Caller) {
    let held = Arc::clone(daemon);
    spawn(&daemon.tracker, async move {
        let Connection { stream, peer, place: _place, .. } = from;
        if let Some((stream, begun)) = freed(upgrade, stream, held.ending.clone()).await {
            let daemon = Arc::clone(&held);
            let served = publishing::serve(held, stream, begun, caller);
            daemon.agents.in_turn(peer, served).await;
        }
    });
}

/// The stream of a connection that gets another protocol, and what was read of that already.
pub(crate) async fn freed(
    upgrade: OnUpgrade,
    stream: Arc<dyn Any + Send + Sync>,
    ending: CancellationToken,
) -> Option<(UnixStream, Vec<u8>)> {
    let upgraded = tokio::select! {
        upgraded = upgrade => upgraded,
        () = ending.cancelled() => return None,
    };
    let upgraded = upgraded.inspect_err(|error| tracing::debug!(%error, "who asked for it is gone")).ok()?;
    let Ok(parts) = upgraded.downcast::<TokioIo<Served<UnixStream>>>() else {
        tracing::warn!("another protocol was asked for over something else than the socket");
        return None;
    };
    let begun = Vec::from(parts.read_buf);
    // What served it lets go of it here; ours is the last.
    drop(parts.io);
    let stream = stream.downcast::<UnixStream>().ok().and_then(Arc::into_inner);
    if stream.is_none() {
        tracing::warn!("another protocol was asked for over a connection that is in use");
    }
    Some((stream?, begun))
}

/// Closes a session, and those of a host's subagents with it: their events are refused when this returns, and what they
/// run comes to its end without a waiter.
pub(crate) async fn close(daemon: &Daemon, session: Session) {
    daemon.note_closed(&session);
    let hosts = daemon.hosts.clone();
    let mut closing = Box::pin(async move { hosts.end(&session).await });
    if futures_util::poll!(&mut closing).is_pending() {
        spawn(&daemon.tracker, closing);
    }
}

/// Does what a call of an agent program has left to be done, which its answer does not wait for.
pub(crate) fn afterwards(daemon: &Arc<Daemon>, afterwards: Afterwards) {
    let held = Arc::clone(daemon);
    spawn(&daemon.tracker, async move {
        match afterwards.run().await {
            Ok(receipts) => receipts.iter().for_each(|receipt| held.note(receipt)),
            Err(error) => tracing::debug!(%error, "what follows from a call was not published"),
        }
    });
}

/// One connection to its end.
pub(crate) async fn serve(
    stream: impl Stream,
    (name, peer, place): (Arc<str>, Option<Process>, Arc<Place>),
    router: Router,
    daemon: &Arc<Daemon>,
    (graceful, cut): (CancellationToken, CancellationToken),
) {
    let limits = &daemon.settings.limits;
    let stream = SharedStream::new(stream);
    let seen = Arc::new(stream.other());
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(limits.unread));
    let pace = Pace::default();
    let mut builder = http1::Builder::new();
    let gives_way = place.gives_way();
    if gives_way.is_some() {
        builder.max_buf_size(LONGEST_HEAD);
    }
    let gives_way = gives_way.unwrap_or_default();
    // That the peer is gone under a request is seen here, and without a read that hardly ever finds anything.
    builder.timer(pace.clone()).header_read_timeout(limits.head).keep_alive(true).half_close(true);
    let router = TowerToHyperService::new(router);
    // Who gives the connection another protocol is the last to have its stream, before this returns.
    let looked_at = Arc::downgrade(&seen);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (name, place, daemon) = (Arc::clone(&name), Arc::clone(&place), Arc::clone(daemon));
        request.extensions_mut().insert(Connection { name, peer, stream: seen.held(), place });
        let answer = router.call(request);
        async move { daemon.agents.in_turn(peer, answer).await }
    });
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service).with_upgrades();
    tokio::pin!(connection);
    let mut asked = false;
    loop {
        tokio::select! {
            ended = pace.keep(connection.as_mut(), |cx| {
                looked_at.upgrade().map_or(Poll::Pending, |seen| seen.poll_gone(cx))
            }) => {
                if let Some(Err(error)) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            () = graceful.cancelled(), if !asked => {
                asked = true;
                connection.as_mut().graceful_shutdown();
            }
            () = cut.cancelled() => return,
            () = gives_way.cancelled() => return,
        }
    }
}
