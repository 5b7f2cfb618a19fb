//! The life of a worker, whatever it is: brought up, served, and brought up again when it ends unasked (OC-64 to OC-69)
//! or is needed again.
//!
//! One task runs this; the calls that it serves lie in [`Shared`], where callers put them and take them back.
//! What differs between one worker and another stands in its [`WorkerProfile`].

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside_core::UntilOver;
use lineside_core::failure::FailureKind;
use lineside_core::json::Value;
use lineside_core::worker::{StartWorkerError, WorkerReady, WorkerStart};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::calls::{Calls, Cancel, Ending, Refusal, one_line};
use super::connection::{Event, until};
use super::frames::{self, Frame};
use super::heartbeat::{HealthAction, Heartbeat};
use super::ids::Id;
use super::loading::{Live, Refused, bring_up};
use super::log::{LogLevel, WorkerLog};
use super::log_sink::LogSink;
use super::profile::{WhenDown, WorkerProfile};
use super::restarts::{Next, Restarts};
use super::transport::Connect;

/// What callers and the task share.
#[derive(Debug)]
pub(super) struct Shared {
    calls: Mutex<Calls>,
    /// There is a worker.
    there: watch::Sender<bool>,
    /// There is something new in `calls`.
    pub(super) wake: Notify,
    /// The worker is to end.
    pub(super) stop: CancellationToken,
    /// It is to end at once.
    pub(super) hurry: CancellationToken,
    /// It was let go of: it may take its time to end when no caller has it.
    pub(super) retired: AtomicBool,
}

impl Shared {
    pub(super) fn new(calls: Calls) -> Self {
        Self {
            calls: Mutex::new(calls),
            there: watch::Sender::new(false),
            wake: Notify::new(),
            stop: CancellationToken::new(),
            hurry: CancellationToken::new(),
            retired: AtomicBool::new(false),
        }
    }

    /// Whether there is a worker now.
    pub(super) fn is_there(&self) -> bool {
        *self.there.borrow()
    }

    /// Waits until there is one.
    pub(super) async fn connected(&self) {
        // Its sender is here, and not gone before.
        self.there.subscribe().wait_for(|there| *there).await.ok();
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What keeps one worker.
pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    pub(super) profile: WorkerProfile,
    pub(super) connect: Box<dyn Connect>,
    pub(super) log_sink: LogSink,
}

/// Receives the result of the first start; without a receiver, a failed start is retried.
pub(super) type FirstStart = Option<oneshot::Sender<Result<WorkerReady, StartWorkerError>>>;

impl Drop for Supervisor {
    /// When the task is over, also with its runtime, no call waits for it.
    fn drop(&mut self) {
        self.shared.calls().end(closed());
    }
}

fn closed() -> Refusal {
    Refusal { kind: FailureKind::Closed, why: "the worker is stopping".to_owned() }
}

/// There is no worker, because of this.
pub(super) fn spawn(why: &str) -> Refusal {
    Refusal { kind: FailureKind::Spawn, why: format!("the worker could not be started: {why}") }
}

/// There is no worker, because the program that it belongs to is not connected.
fn gone(why: &str) -> Refusal {
    Refusal {
        kind: FailureKind::Closed,
        why: format!("the program that runs this hook is not connected: {why}"),
    }
}

fn why(error: &StartWorkerError) -> &str {
    match error {
        StartWorkerError::NotFound { why } | StartWorkerError::Failed { why, .. } => why,
    }
}

/// Calls that the worker is to end: by when, and what is held until it has, or has ended itself.
type Cancelling = HashMap<Id, (Instant, Option<UntilOver>)>;

/// How serving a worker ended.
enum Served {
    /// The worker has ended without being asked to.
    Unasked(Ending),
    /// It was not needed, and has ended.
    Rested,
    /// It was asked to end, and has.
    Asked,
}

/// What becomes of a worker that is to end.
#[derive(Clone, Copy)]
enum Stop {
    /// It is not needed for now.
    Rest,
    /// It is not needed any more.
    End,
}

impl Supervisor {
    /// Keeps the worker running until it is asked to stop.
    pub(super) async fn run(mut self, mut first: FirstStart) {
        let mut refused = Refused::default();
        let mut restarts = Restarts::new(self.profile.patience);
        let mut again = false;
        if self.profile.meanwhile == WhenDown::FailAlways {
            self.shared.calls().refuse(gone("it has not come yet"));
        }
        loop {
            if self.wanted().await.is_none() {
                return;
            }
            let why = match self.bring_up(&mut refused).await {
                None => return,
                Some(Ok((mut live, ready))) => {
                    restarts.came();
                    self.greet(ready, first.take(), again);
                    self.shared.there.send_replace(true);
                    let served = self.serve(&mut live).await;
                    self.shared.there.send_replace(false);
                    match served {
                        Served::Asked => return,
                        Served::Rested => {
                            again = false;
                            continue;
                        }
                        Served::Unasked(ending) => {
                            self.lost(&ending);
                            ending.why
                        }
                    }
                }
                Some(Err(error)) => {
                    if let Some(first) = first.take() {
                        self.shared.calls().end(spawn(why(&error)));
                        drop(first.send(Err(error)));
                        return;
                    }
                    self.missed(&error);
                    why(&error).to_owned()
                }
            };
            again = true;
            if self.pause(&mut restarts, &why).await.is_none() {
                return;
            }
        }
    }

    /// Waits until a worker is wanted. `None` if it is asked to stop meanwhile.
    async fn wanted(&self) -> Option<()> {
        while self.profile.start == WorkerStart::OnUse && !self.shared.calls().has_waiting() {
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => return None,
                () = self.shared.wake.notified() => {}
            }
        }
        Some(())
    }

    /// `None` if the worker is asked to stop meanwhile.
    async fn bring_up(
        &mut self,
        refused: &mut Refused,
    ) -> Option<Result<(Live, WorkerReady), StartWorkerError>> {
        let Self { shared, profile, connect, log_sink } = self;
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => None,
            brought = bring_up(profile, &mut **connect, refused, log_sink) => Some(brought),
        }
    }

    /// There is a worker.
    fn greet(&mut self, ready: WorkerReady, first: FirstStart, again: bool) {
        let concurrency = ready.hello.get("concurrency").and_then(Value::as_u64);
        let mut calls = self.shared.calls();
        calls.limit(concurrency.and_then(|calls| usize::try_from(calls).ok()));
        if self.profile.meanwhile == WhenDown::FailAlways {
            calls.accept();
        }
        if again {
            calls.repeat(Instant::now()); // OC-67
        }
        drop(calls);
        if again {
            self.log_sink.say(WorkerLog::Restarted(ready));
        } else if let Some(first) = first {
            // Who waited for it may be gone; then the worker is to stop as well.
            drop(first.send(Ok(ready)));
        }
    }

    /// The worker has ended without being asked to.
    fn lost(&mut self, ending: &Ending) {
        self.log_sink.supervisor(LogLevel::Error, format!("the worker is gone: {}", ending.why));
        let mut calls = self.shared.calls();
        calls.ended(ending); // OC-64
        if matches!(self.profile.meanwhile, WhenDown::Fail | WhenDown::FailAlways) {
            calls.refuse(gone(&ending.why));
        }
    }

    /// There is none to be had.
    fn missed(&mut self, error: &StartWorkerError) {
        let why = why(error);
        self.log_sink.supervisor(LogLevel::Error, format!("the worker could not be started: {why}"));
        match self.profile.meanwhile {
            WhenDown::Wait => {}
            WhenDown::WaitForStart => self.shared.calls().fail_waiting(spawn(why)),
            WhenDown::Fail | WhenDown::FailAlways => self.shared.calls().refuse(gone(why)),
        }
    }

    /// OC-66: until the next one may be started. `None` if the worker is asked to stop meanwhile.
    async fn pause(&mut self, restarts: &mut Restarts, why: &str) -> Option<()> {
        match restarts.ended(Instant::now()) {
            Next::Start(wait) => self.wait(wait).await?,
            Next::Pause(pause) => {
                let text =
                    format!("it ended too often and is not started for {pause:?}; the last time, {why}");
                self.shared.calls().refuse(spawn(&text));
                let text = one_line(&text);
                if restarts.tells() {
                    self.log_sink.say(WorkerLog::GaveUp { text });
                }
                self.wait(pause).await?;
            }
        }
        if self.profile.meanwhile != WhenDown::FailAlways {
            self.shared.calls().accept();
        }
        Some(())
    }

    async fn wait(&self, time: Duration) -> Option<()> {
        tokio::select! {
            biased;
            () = self.shared.stop.cancelled() => None,
            () = tokio::time::sleep(time) => Some(()),
        }
    }

    async fn serve(&mut self, live: &mut Live) -> Served {
        let shared = Arc::clone(&self.shared);
        let mut cancelling = Cancelling::new();
        let mut stopping: Option<(Instant, Stop)> = None;
        let mut distrusted = false;
        let mut heartbeat = Heartbeat::new(self.profile.health, self.profile.idle, Instant::now());
        let mut alarm = pin!(sleep_until(heartbeat.due().unwrap_or_else(Instant::now)));
        loop {
            let now = Instant::now();
            if shared.hurry.is_cancelled() {
                live.connection.kill("it was dropped");
            } else if stopping.is_some_and(|(by, _)| by <= now) {
                live.connection.kill("it did not stop in time");
            } else if cancelling.values().any(|(by, _)| *by <= now) {
                live.connection.kill("it did not answer"); // OC-65
            }
            if shared.stop.is_cancelled() && !matches!(stopping, Some((_, Stop::End))) {
                shared.calls().refuse(closed());
                stopping = Some((stopping.map_or_else(|| self.stop(live, now), |(by, _)| by), Stop::End));
            }
            if self.write(live, &mut cancelling, now, stopping.is_some()) {
                heartbeat.busy(now);
            }

            let by = stopping.map(|(by, _)| by);
            let timers = [cancelling.values().map(|(by, _)| *by).min(), shared.calls().next_unattended(), by];
            let next = timers.into_iter().flatten().filter(|by| *by > now).min();
            let event = tokio::select! {
                biased;
                event = live.connection.event(&mut self.log_sink) => event,
                () = shared.wake.notified() => continue,
                () = shared.hurry.cancelled(), if !live.connection.is_ending() => continue,
                () = shared.stop.cancelled(), if !matches!(stopping, Some((_, Stop::End))) => continue,
                () = until(next) => continue,
                () = &mut alarm, if heartbeat.due().is_some() && stopping.is_none() && !live.connection.is_ending() => {
                    let now = Instant::now();
                    match heartbeat.look(now) {
                        HealthAction::Nothing => {}
                        HealthAction::Ask => live.connection.push(&frames::ping()),
                        HealthAction::Dead => live.connection.kill("it did not say that it is there"),
                        HealthAction::Idle if shared.calls().is_empty() && cancelling.is_empty() => {
                            stopping = Some((self.stop(live, now), Stop::Rest));
                        }
                        HealthAction::Idle => heartbeat.busy(now),
                    }
                    alarm.as_mut().reset(heartbeat.due().unwrap_or(now));
                    continue;
                }
            };
            match event {
                Event::Ended(ending) => {
                    return match stopping {
                        Some((_, Stop::End)) => Served::Asked,
                        Some((_, Stop::Rest)) => Served::Rested,
                        None => {
                            let why = self.log_sink.with_stderr(&ending.why);
                            Served::Unasked(Ending { why, ..ending })
                        }
                    };
                }
                Event::Room => {}
                // Its further output is ignored.
                Event::Frame(_) if distrusted => {}
                Event::Frame(frame) => {
                    let now = Instant::now();
                    heartbeat.heard(now);
                    if let Frame::Result { .. } = frame {
                        heartbeat.busy(now);
                        self.log_sink.forget();
                    }
                    if self.hear(frame, &mut cancelling) == Heard::Unasked {
                        distrusted = true;
                        live.connection.kill("it answered what it was not asked");
                    }
                }
            }
        }
    }

    /// Tells the worker to end, and says when it must have (OC-69).
    fn stop(&self, live: &mut Live, now: Instant) -> Instant {
        let grace = self.profile.shutdown;
        live.connection.push(&frames::shutdown(self.profile.protocol, grace));
        now + grace + SLACK
    }

    /// Writes what is to be written: what is over first, then the next calls. Says whether any call is not over.
    fn write(&mut self, live: &mut Live, cancelling: &mut Cancelling, now: Instant, stopping: bool) -> bool {
        let mut calls = self.shared.calls();
        calls.expire(now);
        while let Some(Cancel { id, reason, until_over }) = calls.next_cancel() {
            live.connection.push(&frames::cancel(id, reason));
            cancelling.insert(id, (now + self.profile.cancel, until_over));
        }
        while live.connection.has_room()
            && let Some(hook) = calls.next_release()
        {
            live.connection.push(&frames::released(&hook));
        }
        let may_send = !stopping && (cancelling.is_empty() || !self.profile.waits_for_ends);
        while may_send && calls.may_send() && live.connection.has_room() {
            let id = live.ids.next();
            let Some((ticket, order)) = calls.send(id) else { break };
            let head = match &order.handler {
                None => frames::hook_head(id, order.until.saturating_duration_since(now)),
                Some(key) => match live.handlers.get(key) {
                    Some(handler) => frames::call_head(id, *handler),
                    None => {
                        calls.gone(ticket);
                        continue;
                    }
                },
            };
            live.connection.push(head.as_bytes());
            live.connection.push(&order.body);
        }
        let dropped = calls.take_dropped();
        let needed = !calls.is_empty();
        drop(calls);
        for _ in 0..dropped {
            self.log_sink.supervisor(LogLevel::Warn, "queue full; dropping hook"); // OC-43
        }
        needed
    }

    /// An answer to nothing that was asked is nothing that a worker would say: something else has come out among its
    /// frames.
    fn hear(&mut self, frame: Frame, cancelling: &mut Cancelling) -> Heard {
        match frame {
            Frame::Unasked => return Heard::Unasked,
            Frame::Started { id } => self.shared.calls().started(id),
            Frame::Result { id, outcome } => {
                let known = self.shared.calls().answered(id, outcome);
                // A result may have been on its way when its call was cancelled.
                if !known && !cancelling.contains_key(&id) {
                    return Heard::Unasked;
                }
                if self.profile.waits_for_ends {
                    cancelling.remove(&id);
                }
            }
            Frame::Cancelled { id } => drop(cancelling.remove(&id)),
            other => self.log_sink.frame(other),
        }
        Heard::Expected
    }
}

/// What a frame is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Expected,
    Unasked,
}

/// The worker ends itself at the end of its grace; it is killed so much later.
const SLACK: Duration = Duration::from_millis(50);
