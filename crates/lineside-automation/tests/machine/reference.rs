//! The reference: the same rules, asked of plain lists every millisecond, without a timer, a queue or an index.
//!
//! It is slow on purpose, and says each rule once, so that it can be read instead of believed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use lineside_automation::control::{AtEnd, Excess, OnBusy, Rules};
use lineside_automation::machine::{Occurrence, job::Why};
use lineside_core::hook::Join;
use lineside_core::{EventId, SessionId};

use crate::world::Ev;

mod ends;
mod lines;

/// Something said, in the words that the machine is translated to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Held(u64),
    Queued(u64, Vec<u32>),
    Refused(u32, Why),
    Started { job: u64, attempt: u32, all: Vec<u32> },
    CancelRun(u64),
    Retried(u64),
    Finished(u64),
    Dead(u64),
    Cancelled(u64, Why),
    Revived(u64),
}

#[derive(Debug, Clone, PartialEq)]
enum Stands {
    Held {
        window: String,
    },
    /// About to be accepted.
    New,
    Rate,
    Key,
    Turn,
    Running {
        cancelling: Option<Why>,
    },
    Pausing {
        until: u64,
    },
    Dead,
    Over,
}

#[derive(Debug, Clone)]
struct Job {
    automation: usize,
    /// The events that are held, each with its time.
    held: Vec<(u64, Ev)>,
    event: Ev,
    ids: Vec<EventId>,
    key: Option<String>,
    rate: Option<String>,
    stands: Stands,
    attempts: u32,
    ever_started: bool,
    /// Let in by its rate and not started since.
    admitted: bool,
}

pub(crate) struct Reference {
    rules: Vec<Arc<Rules>>,
    turns: usize,
    jobs: BTreeMap<u64, Job>,
    seen: HashSet<(usize, EventId)>,
    /// Every start that a rate has counted: automation, key, when.
    starts: Vec<(usize, String, u64)>,
    /// Jobs of sessions that have ended, and until when they have time.
    overdue: HashSet<(u64, u64)>,
    now: u64,
    last: u64,
    /// When each job got its key, counted.
    got_key: BTreeMap<u64, u64>,
    clock: u64,
    said: Vec<Said>,
}

impl Reference {
    pub(crate) fn new(rules: Vec<Arc<Rules>>, turns: usize) -> Self {
        Self {
            rules,
            turns,
            jobs: BTreeMap::new(),
            seen: HashSet::new(),
            starts: Vec::new(),
            overdue: HashSet::new(),
            now: 0,
            last: 0,
            got_key: BTreeMap::new(),
            clock: 0,
            said: Vec::new(),
        }
    }

    /// The time is `now`; whatever is due happens.
    pub(crate) fn tick(&mut self, now: u64) -> Vec<Said> {
        self.now = now;
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    fn due(&mut self) {
        self.advance();
        let mut windows: Vec<(u64, usize, String, u64)> = Vec::new();
        for (id, job) in &self.jobs {
            if let Stands::Held { window } = &job.stands {
                let due = self.window_due(job);
                if due <= self.now {
                    windows.push((due, job.automation, window.clone(), *id));
                }
            }
        }
        windows.sort();
        for (_, _, _, id) in windows {
            self.close(id);
        }
        self.advance();
        for id in self.ids(|job| matches!(job.stands, Stands::Pausing { .. })) {
            if matches!(self.jobs[&id].stands, Stands::Pausing { until } if until <= self.now) {
                self.job(id).stands = Stands::Turn;
            }
        }
        for id in self.ids(|_| true) {
            if self.overdue.contains(&(id, self.now)) {
                self.cancel(id, Why::SessionEnded);
            }
        }
    }

    fn window_due(&self, job: &Job) -> u64 {
        let hold = self.rules[job.automation].hold.expect("what is held is held by a rule");
        let (first, last) = (job.held[0].0, job.held[job.held.len() - 1].0);
        if job.held.len() >= hold.count {
            return last;
        }
        (last + ms(hold.pace.quiet)).min(first + ms(hold.pace.at_most))
    }

    pub(crate) fn offer(&mut self, automation: usize, event: Ev) -> Vec<Said> {
        let rules = Arc::clone(&self.rules[automation]);
        let window = event.key(rules.hold_key.text());
        let same = |job: &Job| {
            job.automation == automation
                && matches!(&job.stands, Stands::Held { window: own } if *own == window)
        };
        if let Some(id) = self.ids(same).first().copied().filter(|_| rules.hold.is_some()) {
            let now = self.now;
            self.job(id).held.push((now, event));
            self.said.push(Said::Held(id));
            self.close_if_full(id);
        } else {
            let rate = rules.rate.as_ref().map(|(_, template)| event.key(template.text()));
            let drops = rules.rate.as_ref().is_some_and(|(rate, _)| rate.excess == Excess::Drop);
            if drops && !self.has_start(automation, rate.as_deref().expect("there is a rate")) {
                self.said.push(Said::Refused(event.number, Why::Rate));
            } else if rules.hold.is_none() && self.seen.contains(&(automation, event.id())) {
                self.said.push(Said::Refused(event.number, Why::Duplicate));
            } else {
                self.last += 1;
                let id = self.last;
                let held = rules.hold.is_some();
                let job = Job {
                    automation,
                    held: vec![(self.now, event.clone())],
                    ids: vec![event.id()],
                    event,
                    key: None,
                    rate: rate.filter(|_| held && drops),
                    stands: if held { Stands::Held { window } } else { Stands::New },
                    attempts: 0,
                    ever_started: false,
                    admitted: held && drops,
                };
                // What is not held has no rate until it is accepted.
                self.jobs.insert(id, job);
                if held {
                    self.said.push(Said::Held(id));
                    self.close_if_full(id);
                } else {
                    self.accept(id);
                }
            }
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    fn close_if_full(&mut self, id: u64) {
        if self.window_due(&self.jobs[&id]) <= self.now {
            self.close(id);
        }
    }

    /// A window becomes a job, of the events that the automation has not had.
    fn close(&mut self, id: u64) {
        let job = self.job(id).clone();
        let mut events: Vec<Ev> = Vec::new();
        for (_, event) in &job.held {
            let known = self.seen.contains(&(job.automation, event.id()))
                || events.iter().any(|other| other.id() == event.id());
            if !known {
                events.push(event.clone());
            }
        }
        match Ev::merge(&events) {
            None => self.end(id, Said::Cancelled(id, Why::Duplicate), Stands::Over),
            Some(event) => {
                self.set_event(id, event);
                let own = self.job(id);
                own.ids = events.iter().map(Occurrence::id).collect();
                own.stands = Stands::New;
                self.accept(id);
            }
        }
    }

    /// A job is accepted: it meets what has its key.
    fn accept(&mut self, id: u64) {
        let job = self.jobs[&id].clone();
        let rules = Arc::clone(&self.rules[job.automation]);
        let key = rules.concurrency.as_ref().map(|(template, _)| job.event.key(template.text()));
        let mut replaced = None;
        if let (Some(key), true) = (&key, rules.on_busy != OnBusy::Queue) {
            let pending = |other: &Job| {
                other.automation == job.automation
                    && other.key.as_ref() == Some(key)
                    && !other.ever_started
                    && matches!(other.stands, Stands::Rate | Stands::Key | Stands::Turn)
            };
            let pending = self.ids(pending).first().copied();
            let waiting = |other: &Job| other.key.as_ref() == Some(key) && other.stands == Stands::Key;
            let limit = rules.concurrency.as_ref().map_or(1, |(_, limit)| *limit);
            let busy = pending.is_some() || !self.ids(waiting).is_empty() || !self.key_is_free(key, limit);
            match (rules.on_busy, pending) {
                (OnBusy::Coalesce | OnBusy::Restart, Some(other)) => {
                    let merged = Ev::merge(&[self.jobs[&other].event.clone(), job.event.clone()]);
                    for event in &job.ids {
                        self.seen.insert((job.automation, *event));
                    }
                    self.set_event(other, merged.expect("two events"));
                    self.job(other).ids.extend(&job.ids);
                    return self.end(id, Said::Cancelled(id, Why::Coalesced(other.job())), Stands::Over);
                }
                (OnBusy::Drop, _) if busy => {
                    return self.end(id, Said::Cancelled(id, Why::Busy), Stands::Over);
                }
                (OnBusy::Restart, None) if busy => {
                    let own = |other: &Job| {
                        other.automation == job.automation
                            && other.key.as_ref() == Some(key)
                            && matches!(
                                other.stands,
                                Stands::Turn | Stands::Running { cancelling: None } | Stands::Pausing { .. }
                            )
                    };
                    // The one that has had the key for longest.
                    let mut own = self.ids(own);
                    own.sort_by_key(|id| self.got_key.get(id).copied());
                    replaced = own.first().copied();
                    if let Some(other) = replaced {
                        let merged = Ev::merge(&[self.jobs[&other].event.clone(), job.event.clone()]);
                        let mut ids = self.jobs[&other].ids.clone();
                        ids.extend(&job.ids);
                        self.set_event(id, merged.expect("two events"));
                        self.job(id).ids = ids;
                    }
                }
                _ => {}
            }
        }
        let rate = rules.rate.as_ref().map(|(_, template)| self.jobs[&id].event.key(template.text()));
        let drops = rules.rate.as_ref().is_some_and(|(rate, _)| rate.excess == Excess::Drop);
        let own = self.job(id);
        if own.rate.is_none() {
            own.rate = rate;
            own.admitted = drops;
        }
        own.key = key;
        own.stands = if own.rate.is_some() && !own.admitted { Stands::Rate } else { Stands::Key };
        let (automation, ids, all) = (own.automation, own.ids.clone(), own.event.all.clone());
        for event in ids {
            self.seen.insert((automation, event));
        }
        self.said.push(Said::Queued(id, all));
        self.advance();
        if let Some(other) = replaced {
            self.cancel(other, Why::Restarted(id.job()));
        }
    }

    /// A job belongs to the session of its last event.
    fn set_event(&mut self, id: u64, event: Ev) {
        if self.jobs[&id].event.session != event.session {
            self.overdue.retain(|(job, _)| *job != id);
        }
        self.job(id).event = event;
    }

    pub(crate) fn release(&mut self, session: &SessionId) -> Vec<Said> {
        for id in self.held_of(session) {
            if self.rules[self.jobs[&id].automation].join == Join::BeforeNextModel {
                self.close(id);
            }
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    pub(crate) fn session_ends(&mut self, session: &SessionId) -> Vec<Said> {
        let own =
            |job: &Job| job.event.session() == session && !matches!(job.stands, Stands::Over | Stands::Dead);
        for id in self.ids(own) {
            if let AtEnd::Drain(deadline) = self.rules[self.jobs[&id].automation].at_end {
                self.overdue.insert((id, self.now + ms(deadline)));
            }
        }
        for id in self.held_of(session) {
            if self.rules[self.jobs[&id].automation].at_end != AtEnd::LeaveRunning {
                self.close(id);
            }
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    pub(crate) fn session_cut(&mut self, session: &SessionId) -> Vec<Said> {
        let meant = |job: &Job| job.event.session() == session;
        let ended: HashSet<u64> = self.overdue.iter().map(|(id, _)| *id).collect();
        for id in self.ids(meant).into_iter().filter(|id| ended.contains(id)) {
            self.cancel(id, Why::SessionEnded);
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    fn held_of(&self, session: &SessionId) -> Vec<u64> {
        self.ids(|job| matches!(job.stands, Stands::Held { .. }) && job.event.session() == session)
    }

    fn cancel(&mut self, id: u64, why: Why) {
        match &mut self.job(id).stands {
            Stands::Over | Stands::Dead | Stands::Running { cancelling: Some(_) } => {}
            Stands::Running { cancelling } => {
                *cancelling = Some(why);
                self.said.push(Said::CancelRun(id));
            }
            _ => self.end(id, Said::Cancelled(id, why), Stands::Over),
        }
    }

    fn end(&mut self, id: u64, said: Said, stands: Stands) {
        let job = self.job(id);
        job.admitted = false;
        if stands == Stands::Over {
            self.jobs.remove(&id);
        } else {
            job.stands = stands;
        }
        self.said.push(said);
        self.advance();
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.ids(|job| !matches!(job.stands, Stands::Over | Stands::Dead)).is_empty()
    }

    fn job(&mut self, id: u64) -> &mut Job {
        self.jobs.get_mut(&id).expect("the job is there")
    }

    fn ids(&self, which: impl Fn(&Job) -> bool) -> Vec<u64> {
        self.jobs.iter().filter(|(_, job)| which(job)).map(|(id, _)| *id).collect()
    }
}

fn ms(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("tests are short")
}

trait AsJob {
    fn job(self) -> lineside_automation::machine::job::JobId;
}

impl AsJob for u64 {
    fn job(self) -> lineside_automation::machine::job::JobId {
        lineside_automation::machine::job::JobId(self)
    }
}
