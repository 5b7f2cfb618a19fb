//! The calls of a worker, whatever it is: which are waiting, sent or started, and what becomes of them when it ends (OC-64, OC-67).
//!
//! Values and no clock; who calls has the time, and the supervisor writes what is to be written.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::UntilOver;
use lineside_core::failure::FailureKind;
use lineside_core::worker::{CallClass, HandlerKey, Repeat, WorkerEnded};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::frames::{Outcome, Reason};
use super::ids::Id;

/// A call, whichever worker it is sent to. They count up, so that the order of calls is theirs.
pub(super) type Ticket = u64;

/// What is called and how.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The function of a plugin; a call of a hook names it in its frame.
    pub(super) handler: Option<HandlerKey>,
    pub(super) class: CallClass,
    /// The end of its frame.
    pub(super) body: Arc<[u8]>,
    pub(super) timeout: Duration,
    /// The caller's deadline.
    pub(super) until: Instant,
    pub(super) repeat: Repeat,
    /// The tree of sessions that it is for.
    pub(super) tree: Option<u64>,
}

/// What part of the room of a worker one tree of sessions leaves to others.
const OTHERS: usize = 8;

/// How many releases wait for a worker at most.
const RELEASES: usize = 4_096;

/// How many calls there may be, and what becomes of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Void calls that are not over.
    pub(super) void: usize,
    /// Calls that are with the worker.
    pub(super) in_flight: usize,
    /// Calls that wait beside those.
    pub(super) queue: usize,
    /// Whether a call that was sent and not started is sent once more when its worker ended.
    pub(super) resends: bool,
}

/// Why no call is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: FailureKind,
    pub(super) why: String,
}

/// How a worker ended under its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    /// `exit`, `signal`, or `closed` for a connection.
    pub(super) kind: FailureKind,
    pub(super) why: String,
}

/// A call that is over for us and was not for the worker.
#[derive(Debug)]
pub(super) struct Cancel {
    pub(super) id: Id,
    pub(super) reason: Reason,
    /// Dropped when the worker has ended it.
    pub(super) until_over: Option<UntilOver>,
}

#[derive(Debug)]
struct Call {
    order: Order,
    /// Absent for a call that is only repeated.
    reply: Option<oneshot::Sender<WorkerEnded>>,
    /// Dropped when the call is over for the worker as well.
    until_over: Option<UntilOver>,
    stage: Stage,
    resent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Sent(Id),
    Started(Id),
}

/// All calls that are not over.
#[derive(Debug)]
pub(super) struct Calls {
    last: Ticket,
    open: BTreeMap<Ticket, Call>,
    waiting: VecDeque<Ticket>,
    sent: HashMap<Id, Ticket>,
    /// Calls that are over for us and were not for the worker.
    to_cancel: VecDeque<Cancel>,
    /// Hooks that the worker may forget, and was not told of yet.
    to_release: VecDeque<String>,
    /// Calls that are repeated after a restart, by handler, in the order of their first sending.
    repeats: Vec<Order>,
    /// The time limits of calls without a waiter.
    unattended: BTreeMap<Ticket, Instant>,
    void: usize,
    room: Room,
    /// What the worker says it can do at a time.
    concurrency: usize,
    /// Dropped void calls: all, and those that were not reported yet.
    dropped: u64,
    untold: u64,
    refusal: Option<Refusal>,
}

impl Calls {
    pub(super) fn new(room: Room) -> Self {
        Self {
            last: 0,
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
            sent: HashMap::new(),
            to_cancel: VecDeque::new(),
            to_release: VecDeque::new(),
            repeats: Vec::new(),
            unattended: BTreeMap::new(),
            void: 0,
            room,
            concurrency: usize::MAX,
            dropped: 0,
            untold: 0,
            refusal: None,
        }
    }

    /// Takes a call, or says how it ended at once.
    pub(super) fn add(
        &mut self,
        order: Order,
        until_over: Option<UntilOver>,
    ) -> Result<(Ticket, oneshot::Receiver<WorkerEnded>), WorkerEnded> {
        if let Some(Refusal { kind, why }) = &self.refusal {
            return Err(WorkerEnded::Failed { kind: *kind, message: why.clone(), started: false });
        }
        if order.class == CallClass::Void && self.void >= self.room.void {
            self.dropped += 1;
            self.untold += 1;
            return Err(WorkerEnded::Dropped); // OC-43
        }
        let free = self.room.queue.saturating_sub(self.waiting.len());
        // A tree has no more than so many times of what is left: a further one always finds a place.
        let is_too_much = || self.waits_of(order.tree) > free.saturating_mul(OTHERS - 1);
        if free == 0 || order.tree.is_some() && is_too_much() {
            self.dropped += 1;
            return Err(WorkerEnded::Dropped);
        }
        if order.repeat == Repeat::Ends {
            self.forget_repeats();
        }
        let (reply, answer) = oneshot::channel();
        let ticket = self.open(order, Some(reply), until_over);
        self.waiting.push_back(ticket);
        Ok((ticket, answer))
    }

    fn waits_of(&self, tree: Option<u64>) -> usize {
        self.waiting.iter().filter(|ticket| self.tree_of(ticket) == tree).count()
    }

    fn tree_of(&self, ticket: &Ticket) -> Option<u64> {
        self.open.get(ticket)?.order.tree
    }

    /// The place of the call that is to be written next: of the tree that has the fewest with the worker, the first. None
    /// has all of the worker.
    fn next(&self) -> Option<usize> {
        let most = self.room.in_flight.min(self.concurrency);
        if self.sent.len() >= most {
            return None;
        }
        let of_one = most - most / OTHERS;
        if self.sent.len() < of_one && self.waiting.len() <= 1 || most == usize::MAX {
            return (!self.waiting.is_empty()).then_some(0);
        }
        let mut sent: HashMap<u64, usize> = HashMap::new();
        self.sent
            .values()
            .filter_map(|ticket| self.tree_of(ticket))
            .for_each(|tree| *sent.entry(tree).or_default() += 1);
        let has = |ticket: &Ticket| {
            self.tree_of(ticket).and_then(|tree| sent.get(&tree).copied()).unwrap_or_default()
        };
        let waiting = self.waiting.iter().map(has).enumerate().filter(|(_, has)| *has < of_one);
        waiting.min_by_key(|(place, has)| (*has, *place)).map(|(place, _)| place)
    }

    fn open(
        &mut self,
        order: Order,
        reply: Option<oneshot::Sender<WorkerEnded>>,
        until_over: Option<UntilOver>,
    ) -> Ticket {
        self.last += 1;
        self.void += usize::from(order.class == CallClass::Void);
        let call = Call { order, reply, until_over, stage: Stage::Waiting, resent: false };
        self.open.insert(self.last, call);
        self.last
    }

    /// Nothing is repeated after a restart.
    pub(super) fn forget_repeats(&mut self) {
        self.repeats.clear();
    }

    /// Takes no more calls and fails those that wait; those that were sent go on.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        for ticket in std::mem::take(&mut self.waiting) {
            self.fail(ticket, refusal.kind, &refusal.why);
        }
        self.refusal = Some(refusal);
    }

    /// Fails the calls that wait, and takes others.
    pub(super) fn fail_waiting(&mut self, refusal: Refusal) {
        self.refuse(refusal);
        self.accept();
    }

    /// Takes calls again.
    pub(super) fn accept(&mut self) {
        self.refusal = None;
    }

    /// No call goes on.
    pub(super) fn end(&mut self, refusal: Refusal) {
        let open: Vec<Ticket> = self.open.keys().copied().collect();
        for ticket in open {
            self.fail(ticket, refusal.kind, &refusal.why);
        }
        self.waiting.clear();
        self.to_cancel.clear();
        self.to_release.clear();
        self.refusal.get_or_insert(refusal);
    }

    /// The next call to be written, which counts as sent with this id.
    pub(super) fn send(&mut self, id: Id) -> Option<(Ticket, Order)> {
        let ticket = self.next().and_then(|place| self.waiting.remove(place))?;
        let call = self.open.get_mut(&ticket)?;
        call.stage = Stage::Sent(id);
        let order = call.order.clone();
        self.sent.insert(id, ticket);
        if order.repeat == Repeat::AfterRestart && call.reply.is_some() {
            self.repeats.retain(|repeat| repeat.handler != order.handler);
            self.repeats.push(order.clone());
        }
        Some((ticket, order))
    }

    /// Whether a call waits to be written.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether one may be written.
    pub(super) fn may_send(&self) -> bool {
        self.next().is_some()
    }

    /// What the worker says it can do at a time, if it says that.
    pub(super) fn limit(&mut self, concurrency: Option<usize>) {
        self.concurrency = concurrency.map_or(usize::MAX, |calls| calls.max(1));
    }

    /// Whether there is no call that is not over.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The worker is about to run the function.
    pub(super) fn started(&mut self, id: Id) {
        let call = self.sent.get(&id).and_then(|ticket| self.open.get_mut(ticket));
        if let Some(call) = call {
            call.stage = Stage::Started(id);
        }
    }

    /// The worker has answered. Says whether it was asked.
    pub(super) fn answered(&mut self, id: Id, outcome: Outcome) -> bool {
        let Some(ticket) = self.sent.get(&id).copied() else {
            // It may have been given up just now; then there is nothing left to be cancelled.
            let given_up = self.to_cancel.iter().position(|cancel| cancel.id == id);
            return given_up.and_then(|place| self.to_cancel.remove(place)).is_some();
        };
        let started = self.open.get(&ticket).is_some_and(|call| self.has_started(call.stage));
        let ended = match outcome {
            Outcome::Returned(value) => WorkerEnded::Returned(value),
            Outcome::Answered(said) => WorkerEnded::Answered(said),
            Outcome::Failed { kind, message } => {
                WorkerEnded::Failed { kind: kind_of(&kind), message: one_line(&message), started }
            }
        };
        self.close(ticket, ended);
        true
    }

    /// The call is over for us. Says whether the function had been started.
    pub(super) fn give_up(&mut self, ticket: Ticket, reason: Reason) -> bool {
        let Some(Call { stage, until_over, .. }) = self.forget(ticket) else {
            return false;
        };
        match stage {
            Stage::Waiting => {
                self.waiting.retain(|waiting| *waiting != ticket);
                false
            }
            Stage::Sent(id) | Stage::Started(id) => {
                self.to_cancel.push_back(Cancel { id, reason, until_over });
                self.has_started(stage)
            }
        }
    }

    /// The next call whose cancellation has to be sent.
    pub(super) fn next_cancel(&mut self) -> Option<Cancel> {
        self.to_cancel.pop_front()
    }

    /// A hook is asked no more. One that a worker which reads nothing is not told of stays with that worker.
    pub(super) fn release(&mut self, hook: String) {
        if self.to_release.len() < RELEASES {
            self.to_release.push_back(hook);
        }
    }

    /// The next hook whose release has to be sent.
    pub(super) fn next_release(&mut self) -> Option<String> {
        self.to_release.pop_front()
    }

    /// The handler of a call that was just sent is gone.
    pub(super) fn gone(&mut self, ticket: Ticket) {
        self.fail(ticket, FailureKind::Closed, "the handler is gone");
    }

    /// OC-64: what had started fails, what had not is sent once more, before later calls. Where that is not known
    /// what has started, all that was sent fails.
    pub(super) fn ended(&mut self, ending: &Ending) {
        self.to_cancel.clear();
        self.to_release.clear();
        let open: Vec<(Ticket, Stage, bool)> =
            self.open.iter().map(|(ticket, call)| (*ticket, call.stage, call.resent)).collect();
        let mut again = Vec::new();
        for (ticket, stage, resent) in open {
            match stage {
                Stage::Waiting => {}
                Stage::Sent(_) if self.room.resends && !resent => again.push(ticket),
                Stage::Sent(_) | Stage::Started(_) => self.fail(ticket, ending.kind, &ending.why),
            }
        }
        for ticket in again.into_iter().rev() {
            if let Some(call) = self.open.get_mut(&ticket) {
                call.stage = Stage::Waiting;
                call.resent = true;
                self.waiting.push_front(ticket);
            }
        }
        self.sent.clear();
    }

    /// OC-67: repeated calls go before all others, except those that were not sent yet.
    pub(super) fn repeat(&mut self, now: Instant) {
        let waits = |calls: &Self, order: &Order| {
            let mut waiting = calls.waiting.iter().filter_map(|ticket| calls.open.get(ticket));
            waiting
                .any(|call| call.order.repeat == Repeat::AfterRestart && call.order.handler == order.handler)
        };
        for order in self.repeats.clone().into_iter().rev() {
            if waits(self, &order) {
                continue;
            }
            let until = now + order.timeout;
            let ticket = self.open(order, None, None);
            self.waiting.push_front(ticket);
            self.unattended.insert(ticket, until);
        }
    }

    /// The next time limit of a call without a waiter.
    pub(super) fn next_unattended(&self) -> Option<Instant> {
        self.unattended.values().min().copied()
    }

    /// Gives up calls without a waiter whose time is over.
    pub(super) fn expire(&mut self, now: Instant) {
        let over: Vec<Ticket> =
            self.unattended.iter().filter(|(_, until)| **until <= now).map(|(ticket, _)| *ticket).collect();
        for ticket in over {
            self.give_up(ticket, Reason::Timeout);
        }
    }

    /// Void calls that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Those of them that were not taken from here.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.untold)
    }

    /// Calls that were sent and are not over.
    pub(super) fn under_way(&self) -> usize {
        self.sent.len()
    }

    /// Where that is not known, a sent call counts as started.
    fn has_started(&self, stage: Stage) -> bool {
        match stage {
            Stage::Waiting => false,
            Stage::Sent(_) => !self.room.resends,
            Stage::Started(_) => true,
        }
    }

    fn fail(&mut self, ticket: Ticket, kind: FailureKind, why: &str) {
        let started = self.open.get(&ticket).is_some_and(|call| self.has_started(call.stage));
        self.close(ticket, WorkerEnded::Failed { kind, message: why.to_owned(), started });
    }

    fn close(&mut self, ticket: Ticket, ended: WorkerEnded) {
        if let Some(reply) = self.forget(ticket).and_then(|call| call.reply) {
            // Who waited may be gone, and has then given the call up.
            drop(reply.send(ended));
        }
    }

    fn forget(&mut self, ticket: Ticket) -> Option<Call> {
        let call = self.open.remove(&ticket)?;
        self.void -= usize::from(call.order.class == CallClass::Void);
        self.unattended.remove(&ticket);
        if let Stage::Sent(id) | Stage::Started(id) = call.stage {
            self.sent.remove(&id);
        }
        Some(call)
    }
}

fn kind_of(word: &str) -> FailureKind {
    match word {
        "panic" => FailureKind::Panic,
        "exit" => FailureKind::Exit,
        "closed" => FailureKind::Closed,
        _ => FailureKind::Output,
    }
}

/// Control characters and line ends as spaces, runs of spaces as one (OC-58).
pub(super) fn one_line(text: &str) -> String {
    let spaced = text.replace(|c: char| c.is_control() || c.is_whitespace(), " ");
    let line = spaced.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.is_empty() { "unknown error".to_owned() } else { line }
}

#[cfg(test)]
mod tests;
