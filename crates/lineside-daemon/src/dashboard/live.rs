//! The model of what agents do now, brought up to date when a page asks, at most ten times a second.
//!
//! It reads what the feed keeps anyway, and waits for nothing: while no page is open it costs nothing, and what happened
//! meanwhile is not caught up with but begun anew from the sessions that are open.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lineside::Bus;
use lineside::core::SessionId;
use lineside::core::envelope::Source;
use lineside::fleet::Model;
use tokio::time::Instant;

use crate::approvals::Approvals;
use crate::feed::{Feed, What};

/// How often it is brought up to date at most.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// When it was not looked at for so long, what it has missed is no loss.
const AWAY: Duration = Duration::from_secs(2);
/// How many entries of the feed are taken at once.
const AT_ONCE: usize = 256;

/// The model and how far it has come.
#[derive(Default)]
pub(crate) struct Live(Mutex<State>);

#[derive(Default)]
struct State {
    model: Model,
    after: u64,
    looked: Option<Instant>,
}

impl Live {
    /// Looks at the model as it is now.
    pub(crate) fn look<T>(
        &self,
        (feed, bus, approvals): (&Feed, &Bus, &Approvals),
        look: impl FnOnce(&Model, i64) -> T,
    ) -> T {
        let now = bus.wall_clock().as_millisecond();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.refresh(feed, bus, now) {
            let waiting = approvals.list();
            state.model.questions(waiting.iter().map(|(question, _)| question.fields()));
            state.model.settle(now);
        }
        look(&state.model, now)
    }
}

impl State {
    /// Takes in what there is, unless that was done a moment ago.
    fn refresh(&mut self, feed: &Feed, bus: &Bus, now: i64) -> bool {
        let at = Instant::now();
        let since = self.looked.map(|looked| at.duration_since(looked));
        if since.is_some_and(|since| since < TICK.mul_f64(0.8)) {
            return false;
        }
        self.looked = Some(at);
        let is_anew = since.is_none_or(|since| since > AWAY);
        if is_anew {
            self.after = feed.counts().0;
            self.model.forget();
            self.begin(bus, now);
            for receipt in feed.receipts(None, usize::MAX) {
                let is_open = bus.find(receipt.event.envelope().source.session.as_str()).is_some();
                if is_open {
                    self.model.decided(&receipt, receipt.event.envelope().time.as_millisecond());
                } else {
                    self.model.recall(&receipt);
                }
            }
        }
        let source =
            |session: &SessionId| bus.find(session.as_str()).map(|session| Source::clone(session.source()));
        loop {
            let (lost, entries) = feed.after(self.after, AT_ONCE);
            if lost > 0 {
                self.model.lose(lost);
                self.begin(bus, now);
            }
            let Some(last) = entries.last().map(|entry| entry.id) else { break };
            self.after = last;
            for entry in &entries {
                match &entry.what {
                    What::Signal(signal) => self.model.hear(signal, now, source),
                    What::Lost(lost) => self.model.lose(*lost),
                }
            }
        }
        true
    }

    /// The sessions that are open, whatever was heard of them.
    fn begin(&mut self, bus: &Bus, now: i64) {
        self.model.retain(|session| bus.find(session.as_str()).is_some());
        for session in bus.sessions() {
            if let Some(session) = bus.find(session.as_str()) {
                self.model.open(session.source(), now);
            }
        }
    }
}
