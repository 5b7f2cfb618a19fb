//! Shutting down: what is under way comes to its end, up to a deadline, and a report says what did not.

use std::time::Duration;

use lineside_core::budget::after;
use tokio::time::{Instant, timeout_at};

use crate::api::bus::Bus;
use crate::api::job_store::JobCounts;
use crate::hook::state::Node;

/// What a drain found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "it says what was lost"]
pub struct DrainReport {
    /// Events that were still undecided at the deadline.
    pub undecided: usize,
    /// Detached hooks that came to their own end, over the whole life of the sessions that went on until then.
    pub detached_finished: u64,
    /// Detached hooks that were cut short, likewise.
    pub detached_cut_short: u64,
    /// Events that observers have lost because they were too slow.
    pub observers_lost: u64,
    /// Observers that had not heard everything at the deadline.
    pub observers_behind: usize,
    /// Context messages that were not collected.
    pub context_waiting: usize,
    /// Context messages that did not fit into a mailbox, or waited too long for a session that was not opened.
    pub context_dropped: u64,
    /// What has become of the jobs of automations.
    pub jobs: JobCounts,
    /// What has become of context messages and is not on record, where there is a context journal.
    pub context_unkept: u64,
    /// Sessions that were still open.
    pub sessions: usize,
}

impl DrainReport {
    /// Whether everything came to its end and nothing was lost.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.undecided == 0
            && self.detached_cut_short == 0
            && self.observers_lost == 0
            && self.observers_behind == 0
            && self.context_dropped == 0
            && self.jobs.lost == 0
            && self.context_unkept == 0
    }

    /// Adds what has become of its work and of its messages.
    fn count(&mut self, session: &Node) {
        if let Some(background) = session.state.background_so_far() {
            let (finished, cut_short) = background.counts();
            self.detached_finished += finished;
            self.detached_cut_short += cut_short;
        }
        if let Some(mailbox) = session.state.mailbox_so_far() {
            let (waiting, dropped) = mailbox.counts();
            self.context_waiting += waiting;
            self.context_dropped += dropped;
        }
    }
}

impl Bus {
    /// Shuts the bus down: no new event or session is let in; what is under way comes to its end, up to `limit`.
    ///
    /// All sessions end at the same time, with those that were closed before and have not come to their end: the work of
    /// each has the whole limit, and its own patience where it has one.
    /// Jobs that are not settled at the limit are left to the next process where a journal keeps them, and are
    /// cancelled and counted as lost otherwise; after this, nothing becomes of them.
    ///
    /// Cancel safe: the bus is closed at the first poll; calling it again takes up the waiting. Called by a hook, it waits
    /// for the event of that hook too, up to `limit`.
    ///
    /// # Panics
    /// Outside a tokio runtime with time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_bus::Bus;
    /// use lineside_points::OnIdle;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let session = bus.session("s1").open().await?;
    /// let report = bus.drain(Duration::from_secs(10)).await;
    /// assert!(report.is_clean() && report.sessions == 1);
    /// assert!(session.publish(OnIdle::new()).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn drain(&self, limit: Duration) -> DrainReport {
        let deadline = after(Instant::now(), limit);
        let shared = &self.shared;
        let mut sessions = shared.close_to_events();
        let mut report = DrainReport::default();
        let decided = async {
            for session in &sessions {
                session.state.in_flight.emptied().await;
            }
        };
        if timeout_at(deadline, decided).await.is_err() {
            report.undecided = sessions.iter().map(|session| session.state.in_flight.inside()).sum();
        }
        sessions.retain(|session| session.is_open() || session.state.goes_on());
        report.sessions = sessions.iter().filter(|session| session.is_open()).count();
        let listeners = shared.tree.listeners(&sessions);
        let job_store = shared.job_store();
        if let Some(job_store) = &job_store {
            job_store.bus_ends();
        }
        // All of them, before any of them is waited for.
        for session in &sessions {
            shared.begin_end(session);
        }
        let ended = async {
            for session in &sessions {
                shared.has_ended(session).await;
            }
            if let Some(job_store) = &job_store {
                job_store.rested().await;
            }
        };
        let in_time = timeout_at(deadline, ended).await.is_ok();
        if let Some(job_store) = &job_store {
            report.jobs = job_store.bus_ended().await;
        }
        if !in_time {
            sessions.iter().for_each(|session| shared.cut(session));
        }
        for session in &sessions {
            // It has ended, or was cut a moment ago, with what has begun since.
            shared.end(session, Some(deadline)).await;
            report.count(session);
        }
        timeout_at(deadline, shared.endings.come()).await.ok();
        // They hear by themselves, all at the same time; here is only asked whether they have.
        for listener in listeners {
            report.observers_behind += usize::from(timeout_at(deadline, listener.flush()).await.is_err());
            report.observers_lost += listener.losses().0;
        }
        if let Some(log) = &shared.context {
            // Failed and late records are both counted below.
            timeout_at(deadline, log.kept(log.mark())).await.ok();
            report.context_unkept = log.behind();
            report.context_dropped += log.given_up();
        }
        report
    }
}
