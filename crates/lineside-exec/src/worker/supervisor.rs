//! The life of a worker: brought up, served, and brought up again when it ends unasked (OC-64 to OC-69).
//!
//! One task runs this; the calls that it serves lie in [`Shared`], where callers put them and take them back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside_core::failure::FailureKind;
use lineside_core::worker::{StartWorkerError, WorkerReady, WorkerSpec};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::calls::{Calls, Ending, Refusal};
use super::frames::{self, Frame};
use super::loading::{Live, Refused, bring_up};
use super::log::{LogLevel, WorkerLog};
use super::process::{Event, until};
use super::restarts::{Next, Restarts};
use super::script::Script;
use super::voice::Voice;
use crate::containment::Containment;

/// What callers and the task share.
#[derive(Debug)]
pub(super) struct Shared {
    calls: Mutex<Calls>,
    /// There is something new in `calls`.
    pub(super) wake: Notify,
    /// The worker is to end.
    pub(super) stop: CancellationToken,
    /// It is to end at once.
    pub(super) hurry: CancellationToken,
}

impl Shared {
    pub(super) fn new(calls: Calls) -> Self {
        Self {
            calls: Mutex::new(calls),
            wake: Notify::new(),
            stop: CancellationToken::new(),
            hurry: CancellationToken::new(),
        }
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What keeps one worker.
pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    pub(super) spec: WorkerSpec,
    pub(super) script: Script,
    pub(super) containment: Containment,
    pub(super) voice: Voice,
}

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
    Refusal { kind: FailureKind::Spawn, why: format!("no worker can be had: {why}") }
}

fn why(error: &StartWorkerError) -> &str {
    match error {
        StartWorkerError::NotFound { why } | StartWorkerError::Failed { why, .. } => why,
    }
}

/// How serving a worker ended.
enum Served {
    /// The worker is gone, and nobody asked it to.
    Unasked(Ending),
    /// It was told to end, and has.
    Asked,
}

impl Supervisor {
    /// Keeps the worker until it is told to stop; the first start is reported.
    pub(super) async fn run(mut self, first: oneshot::Sender<Result<WorkerReady, StartWorkerError>>) {
        let mut refused = Refused::default();
        let mut restarts = Restarts::default();
        let mut live = match self.bring_up(&mut refused).await {
            None => return,
            Some(Ok((live, ready))) => {
                // Who waited for it may be gone; then the worker is to stop as well.
                drop(first.send(Ok(ready)));
                live
            }
            Some(Err(error)) => {
                self.shared.calls().end(spawn(why(&error)));
                drop(first.send(Err(error)));
                return;
            }
        };
        while let Served::Unasked(ending) = self.serve(&mut live).await {
            self.voice.supervisor(LogLevel::Error, format!("the worker is gone: {}", ending.why));
            self.shared.calls().ended(&ending); // OC-64
            live = match self.restart(&mut restarts, &mut refused).await {
                Some(live) => live,
                None => return,
            };
            self.shared.calls().repeat(Instant::now()); // OC-67
        }
    }

    /// Nothing if the worker is told to stop meanwhile.
    async fn bring_up(
        &mut self,
        refused: &mut Refused,
    ) -> Option<Result<(Live, WorkerReady), StartWorkerError>> {
        tokio::select! {
            biased;
            () = self.shared.stop.cancelled() => None,
            brought = bring_up(&self.spec, &self.script, &self.containment, refused, &mut self.voice) => Some(brought),
        }
    }

    /// OC-66. Nothing if the worker is told to stop meanwhile.
    async fn restart(&mut self, restarts: &mut Restarts, refused: &mut Refused) -> Option<Live> {
        loop {
            match restarts.ended(Instant::now()) {
                Next::Start(wait) => self.wait(wait).await?,
                Next::Pause(pause) => {
                    let text = format!("the worker ended too often and is not started for {pause:?}");
                    self.shared.calls().refuse(spawn(&text));
                    self.voice.say(WorkerLog::GaveUp { text });
                    self.wait(pause).await?;
                    self.shared.calls().accept();
                }
            }
            match self.bring_up(refused).await? {
                Ok((live, ready)) => {
                    self.voice.say(WorkerLog::Restarted(ready));
                    return Some(live);
                }
                Err(error) => {
                    let text = format!("the worker could not be started again: {}", why(&error));
                    self.voice.supervisor(LogLevel::Error, text);
                }
            }
        }
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
        let mut cancelling: HashMap<u64, Instant> = HashMap::new();
        let mut stopping: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if shared.hurry.is_cancelled() {
                live.process.kill("it was dropped");
            } else if stopping.is_some_and(|by| by <= now) {
                live.process.kill("it did not stop in time");
            } else if cancelling.values().any(|by| *by <= now) {
                live.process.kill("it did not answer"); // OC-65
            }
            if shared.stop.is_cancelled() && stopping.is_none() {
                let grace = self.spec.bounds.shutdown;
                shared.calls().refuse(closed());
                live.process.push(&frames::shutdown(grace)); // OC-69
                stopping = Some(now + grace + SLACK);
            }
            self.write(live, &mut cancelling, now);

            let timers = [cancelling.values().min().copied(), shared.calls().next_unattended(), stopping];
            let next = timers.into_iter().flatten().filter(|by| *by > now).min();
            let event = tokio::select! {
                biased;
                event = live.process.event() => event,
                () = shared.wake.notified() => continue,
                () = shared.hurry.cancelled(), if !live.process.is_ending() => continue,
                () = shared.stop.cancelled(), if stopping.is_none() => continue,
                () = until(next) => continue,
            };
            match event {
                Event::Ended(_) if stopping.is_some() => return Served::Asked,
                Event::Ended(ending) => return Served::Unasked(ending),
                Event::Room => {}
                Event::Log(log) => self.voice.say(log),
                Event::Frame(frame) => self.hear(frame, &mut cancelling),
            }
        }
    }

    /// Writes what is to be written: what is over first, then the next calls.
    fn write(&mut self, live: &mut Live, cancelling: &mut HashMap<u64, Instant>, now: Instant) {
        let mut calls = self.shared.calls();
        calls.expire(now);
        while let Some((id, reason)) = calls.next_cancel() {
            live.process.push(&frames::cancel(id, reason));
            cancelling.insert(id, now + self.spec.bounds.cancel);
        }
        while calls.has_waiting() && live.process.has_room() {
            let id = live.last_id + 1;
            let Some((ticket, order)) = calls.send(id) else { break };
            let Some(handler) = live.handlers.get(&order.handler) else {
                calls.gone(ticket);
                continue;
            };
            live.last_id = id;
            live.process.push(frames::call_head(id, *handler).as_bytes());
            live.process.push(&order.body);
        }
        let dropped = calls.take_dropped();
        drop(calls);
        for _ in 0..dropped {
            self.voice.supervisor(LogLevel::Warn, "queue full; dropping hook"); // OC-43
        }
    }

    fn hear(&mut self, frame: Frame, cancelling: &mut HashMap<u64, Instant>) {
        match frame {
            Frame::Started { id } => self.shared.calls().started(id),
            Frame::Result { id, outcome } => {
                let known = self.shared.calls().answered(id, outcome);
                // A result may have been on its way when its call was cancelled.
                if !known && !cancelling.contains_key(&id) {
                    self.voice.supervisor(LogLevel::Warn, format!("a result of no call was dropped: {id}"));
                }
            }
            Frame::Cancelled { id } => drop(cancelling.remove(&id)),
            other => self.voice.frame(other),
        }
    }
}

/// The worker ends itself at the end of its grace; it is killed so much later.
const SLACK: Duration = Duration::from_millis(50);
