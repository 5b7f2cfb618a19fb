//! Who goes on when: through its rate, to its key, to its turn.

use std::collections::HashSet;

use super::{Job, Reference, Said, Stands, ms};

impl Reference {
    /// Jobs that may go on go on: through their rate, to their key.
    pub(super) fn advance(&mut self) {
        loop {
            let mut moved = false;
            // Of rates that have room at the same instant, those of the automation that was registered first go first,
            // and who they let in goes on before the others.
            let mut let_in: Option<(usize, Option<String>)> = None;
            let mut line = self.in_line(|job| job.stands == Stands::Rate);
            line.sort_by_key(|id| (self.jobs[id].automation, self.jobs[id].rate.clone()));
            for id in line {
                let job = self.jobs[&id].clone();
                let rate = (job.automation, job.rate.clone());
                let others = let_in.as_ref().is_some_and(|before| *before != rate);
                if !others && self.has_start(job.automation, job.rate.as_deref().expect("it waits for it")) {
                    let own = self.job(id);
                    own.admitted = true;
                    own.stands = Stands::Key;
                    let_in = Some(rate);
                    moved = true;
                }
            }
            let mut blocked: HashSet<String> = HashSet::new();
            for id in self.in_line(|job| job.stands == Stands::Key) {
                let job = self.jobs[&id].clone();
                let limit = self.rules[job.automation].concurrency.as_ref().map_or(1, |(_, limit)| *limit);
                let free = match &job.key {
                    None => true,
                    // No job overtakes those before it in the line of its key.
                    Some(key) => !blocked.contains(key) && self.key_is_free(key, limit),
                };
                if free {
                    self.clock += 1;
                    self.got_key.insert(id, self.clock);
                    self.job(id).stands = Stands::Turn;
                    moved = true;
                } else {
                    blocked.extend(job.key);
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Whether a rate lets one more in.
    pub(super) fn has_start(&self, automation: usize, key: &str) -> bool {
        let (rate, _) = self.rules[automation].rate.as_ref().expect("it has a rate");
        let period = ms(rate.period);
        let of_key = |other: &Job| other.automation == automation && other.rate.as_deref() == Some(key);
        let admitted = self.jobs.values().filter(|job| of_key(job) && job.admitted).count();
        let started = self
            .starts
            .iter()
            .filter(|(own, of, when)| *own == automation && of == key && when + period > self.now);
        admitted + started.count() < rate.starts as usize
    }

    /// Whether one more may have a key: no limit of those that have it, nor its own, is exceeded.
    pub(super) fn key_is_free(&self, key: &str, limit: u32) -> bool {
        let holders = self.jobs.values().filter(|job| job.key.as_deref() == Some(key) && has_key(job));
        let limits =
            holders.map(|job| self.rules[job.automation].concurrency.as_ref().map_or(1, |own| own.1));
        let limits: Vec<u32> = limits.collect();
        limits.len() < limits.iter().copied().fold(limit, u32::min) as usize
    }

    pub(super) fn start(&mut self) {
        loop {
            self.advance();
            let running = self.ids(|job| matches!(job.stands, Stands::Running { .. })).len();
            let next = self.in_line(|job| job.stands == Stands::Turn).first().copied();
            let Some(id) = next.filter(|_| running < self.turns) else { return };
            let now = self.now;
            let job = self.job(id);
            job.attempts += 1;
            job.ever_started = true;
            job.stands = Stands::Running { cancelling: None };
            let counts = std::mem::take(&mut job.admitted);
            let job = job.clone();
            if let (true, Some(rate)) = (counts, job.rate) {
                self.starts.push((job.automation, rate, now));
            }
            self.said.push(Said::Started { job: id, attempt: job.attempts, all: job.event.all });
        }
    }

    /// The jobs for which this holds, in the order of a line: by priority, then by age.
    pub(super) fn in_line(&self, which: impl Fn(&Job) -> bool) -> Vec<u64> {
        let mut ids = self.ids(which);
        ids.sort_by_key(|id| (std::cmp::Reverse(self.rules[self.jobs[id].automation].priority), *id));
        ids
    }
}

fn has_key(job: &Job) -> bool {
    matches!(job.stands, Stands::Turn | Stands::Running { .. } | Stands::Pausing { .. })
}
