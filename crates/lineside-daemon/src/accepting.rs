//! Letting connections in: whose each is, whether there is room for it, and when its turn is.
//!
//! The system has one queue for all that ask to be let in. It is emptied at once, whatever else the daemon has to do, and who
//! was let in waits for a turn: a process that connects in a loop has others wait for a turn of theirs, and for nothing that
//! it has put in the way.

use std::future::Future;
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use futures_util::poll;
use lineside::stream::Stream as UnixStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{unconstrained, yield_now};
use tokio::time::{Instant, sleep, timeout};

use crate::agents::Of;
use crate::boxed::spawn;
use crate::connections::{LOOK, Tasks, serve};
use crate::daemon::Daemon;
use crate::lineage::Process;
use crate::place::Place;
use crate::shared_stream::Stream;
use crate::shares::{PART, Share, Shares, Tree};
use crate::socket::Socket;
use crate::strangers::{MOST, Strangers};
use crate::turns::Turns;

/// How long accepting rests when the system refuses, for example for want of descriptors.
const REST: Duration = Duration::from_millis(50);

/// What part of the room of the socket is for the calls of agent programs alone.
const RESERVED: usize = 16;

/// How many connections are begun with at the same time.
const AT_ONCE: usize = 32;

/// After how many of its steps letting in has other tasks of its thread have a turn, however many ask.
const STEPS: usize = 1_024;

/// Where connections come from.
pub(crate) trait Source: Send + Sync + 'static {
    /// A connection that waits for its turn.
    type Waiting: Send + 'static;
    type Io: Stream;

    /// The next connection, and the process at its other end, where the system knows it.
    fn next(&mut self) -> impl Future<Output = io::Result<(Self::Waiting, Option<Process>)>> + Send;

    /// A connection whose turn it is.
    fn open(waiting: Self::Waiting) -> io::Result<Self::Io>;

    /// Whether a connection may be that of another user until it has shown otherwise.
    fn has_strangers(&self) -> bool;

    /// The word for it.
    fn door(&self) -> &'static str;
}

impl Source for Socket {
    type Waiting = StdUnixStream;
    type Io = UnixStream;

    async fn next(&mut self) -> io::Result<(Self::Waiting, Option<Process>)> {
        loop {
            if let Ok(accepted) = timeout(LOOK, self.accept()).await {
                return accepted.map(|(stream, pid)| (stream, pid.and_then(Process::of)));
            }
            self.renew().await;
        }
    }

    fn open(waiting: Self::Waiting) -> io::Result<Self::Io> {
        UnixStream::register(waiting)
    }

    fn has_strangers(&self) -> bool {
        false
    }

    fn door(&self) -> &'static str {
        "socket"
    }
}

impl Source for TcpListener {
    type Waiting = TcpStream;
    type Io = TcpStream;

    async fn next(&mut self) -> io::Result<(Self::Waiting, Option<Process>)> {
        let (stream, _) = self.accept().await?;
        stream.set_nodelay(true)?;
        Ok((stream, None))
    }

    fn open(waiting: Self::Waiting) -> io::Result<Self::Io> {
        Ok(waiting)
    }

    fn has_strangers(&self) -> bool {
        true
    }

    fn door(&self) -> &'static str {
        "http"
    }
}

/// A connection that was let in.
struct LetIn<S: Source> {
    stream: S::Waiting,
    name: Arc<str>,
    peer: Option<Process>,
    place: Arc<Place>,
}

/// A door: the room behind it, and who has which part of that.
struct Door {
    /// How many it serves at once.
    all: usize,
    room: Arc<Semaphore>,
    /// The last of the room, for the calls of agent programs alone.
    reserve: Arc<Semaphore>,
    shares: Shares,
    own_shares: Shares,
    /// Of a door at which others than the user can ask.
    strangers: Option<Arc<Strangers>>,
    /// When it was said last that one was closed.
    said: Option<Instant>,
}

impl Door {
    fn of(all: usize, has_strangers: bool) -> Self {
        let reserved = if has_strangers { 0 } else { all / RESERVED };
        let [room, reserve] = [all - reserved, reserved].map(|most| Arc::new(Semaphore::new(most)));
        let (shares, own_shares) = (Shares::of(all), Shares::of(reserved));
        let strangers = has_strangers.then(|| Strangers::new(all));
        Self { all, room, reserve, shares, own_shares, strangers, said: None }
    }

    /// Waits for room, and says whether that is of the last. A stranger takes none before it has shown who it is.
    async fn taken(&self) -> (Option<OwnedSemaphorePermit>, bool) {
        if self.strangers.is_some() {
            return (None, false);
        }
        tokio::select! {
            biased;
            room = Arc::clone(&self.room).acquire_owned() => (room.ok(), false),
            room = Arc::clone(&self.reserve).acquire_owned() => (room.ok(), true),
        }
    }

    /// Whose connection it is, where that has to be known: each has a turn at once, or as many as a tree may.
    fn whose(&self, daemon: &Daemon, peer: Option<Process>, has_turn: bool) -> Of {
        if self.strangers.is_some() || (has_turn && !self.is_crowded()) {
            return None;
        }
        daemon.agents.whose(peer)
    }

    /// Whether less than a part of the room is free: where one is, no tree has more than that.
    fn is_crowded(&self) -> bool {
        let reserved = self.all / RESERVED;
        self.strangers.is_none() && self.room.available_permits() < self.all - reserved - self.all / PART
    }

    /// The part of what its tree may have, where that counts, and whether it is one of the last now. `None` for one too many.
    fn share(&self, daemon: &Daemon, of: Of, peer: Option<Process>) -> Option<(Option<Share>, bool)> {
        let Some((tree, is_entry)) = of.filter(|_| self.is_crowded()) else { return Some((None, false)) };
        match self.shares.take(tree, 1) {
            None if tree == Tree::Rest && daemon.agents.is_told_apart_as_a_persons(peer) => {
                Some((Some(self.shares.take(Tree::Person, 1)?), false))
            }
            None if is_entry => Some((Some(self.own_shares.take(tree, 1)?), true)),
            share => Some((Some(share?), false)),
        }
    }

    fn say_closed(&mut self, peer: Option<Process>) {
        if self.said.is_none_or(|said| said.elapsed() > LOOK) {
            self.said = Some(Instant::now());
            let process = peer.map(|peer| peer.pid);
            tracing::warn!(process, "closed a connection: what its agent has started has as many as it may");
        }
    }
}

impl Tasks {
    /// Serves what comes in by one door until the daemon ends.
    ///
    /// Each door has room of its own. At the socket what an agent has started has a part of it, and some of it is left for
    /// the calls of agent programs. At loopback HTTP a connection has a part in that when it has shown the token; until
    /// then it is one of few strangers.
    pub(crate) fn accept(&self, daemon: &Arc<Daemon>, source: impl Source, router: Router) {
        let door = Door::of(self.connections, source.has_strangers());
        // The runtime would have it rest after some hundred steps, behind everything that those whom it let in have to do.
        let letting_in = unconstrained(let_in(self.clone(), Arc::clone(daemon), source, door, router));
        spawn(&self.tracker, letting_in);
    }
}

async fn let_in<S: Source>(tasks: Tasks, daemon: Arc<Daemon>, mut source: S, mut door: Door, router: Router) {
    let beginning = Arc::new(Semaphore::new(AT_ONCE));
    // Strangers have no room that could end: the one that came first gives way, as it does when it has had its turn.
    let mut turns = Turns::of(if door.strangers.is_some() { MOST } else { usize::MAX });
    for step in 1_usize.. {
        if step.is_multiple_of(STEPS) {
            yield_now().await;
        }
        // Neither before the other: a queue of the system that is never empty keeps none that is in from its turn.
        let (stream, (taken, is_last)) = tokio::select! {
            () = tasks.graceful.cancelled() => return,
            turn = Arc::clone(&beginning).acquire_owned(), if !turns.is_empty() => {
                if let (Some(next), Ok(turn)) = (turns.next(), turn) {
                    begin(&tasks, &daemon, next, turn, router.clone());
                }
                continue;
            }
            accepted = async {
                let taken = door.taken().await;
                (source.next().await, taken)
            } => accepted,
        };
        let (stream, peer) = match stream {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                sleep(REST).await;
                continue;
            }
        };
        let turn = if turns.is_empty() { Arc::clone(&beginning).try_acquire_owned().ok() } else { None };
        let of = door.whose(&daemon, peer, turn.is_some());
        let Some((share, is_of_own)) = door.share(&daemon, of, peer) else {
            door.say_closed(peer);
            continue;
        };
        let number = daemon.counts.accepted.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("{}:{number}", source.door()).into();
        let stranger = door.strangers.as_ref().map(Strangers::come);
        let room = Arc::clone(&door.room);
        let place = Arc::new(Place::new(&daemon, room, taken, stranger, (is_last || is_of_own, share)));
        let let_in = LetIn::<S> { stream, name, peer, place };
        match turn {
            Some(turn) => begin(&tasks, &daemon, let_in, turn, router.clone()),
            None => drop(turns.wait(of, let_in)),
        }
    }
}

/// Serves a connection. Its turn is over when it waits for something for the first time: what has a request then, and hooks
/// that wait for nothing, is done by that.
fn begin<S: Source>(
    tasks: &Tasks,
    daemon: &Arc<Daemon>,
    let_in: LetIn<S>,
    turn: OwnedSemaphorePermit,
    router: Router,
) {
    let (daemon, of) = (Arc::clone(daemon), tasks.clone());
    spawn(&tasks.tracker, async move {
        let LetIn { stream, name, peer, place } = let_in;
        let stream = match S::open(stream) {
            Ok(stream) => stream,
            Err(error) => return tracing::warn!(%error, "failed to serve a connection"),
        };
        let ends = (of.graceful, of.cut);
        let mut served = pin!(serve(stream, (name, peer, place), router, &daemon, ends));
        let begun = poll!(served.as_mut());
        drop(turn);
        if begun.is_pending() {
            served.await;
        }
    });
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::serve::Server;

    #[tokio::test]
    async fn the_queue_of_the_system_is_emptied_before_those_who_are_let_in_are_done() {
        const ASKED: u64 = 600;
        let folder = tempfile::tempdir().unwrap();
        let server = Server::in_folder(folder.path()).await;
        let before = server.daemon.counts.accepted.load(Ordering::Relaxed);
        // Each is a request whose sender does not wait for the answer.
        for _ in 0..ASKED {
            let mut stream = StdUnixStream::connect(server.socket()).unwrap();
            stream.write_all(b"GET /v1/status HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        }
        let mut turns = 0;
        while server.daemon.counts.accepted.load(Ordering::Relaxed) - before < ASKED {
            turns += 1;
            yield_now().await;
        }
        assert!(turns <= 5, "{turns} turns of all others are between them");
        server.end().await;
    }
}
