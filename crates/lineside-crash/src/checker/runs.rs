//! Runs: how often, one at a time, with fences that grow, for the last of a burst.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::judgement::{Judgement, Violation};
use crate::contract;
use crate::log::{How, Label, Line, Start};

#[derive(Default)]
struct Runs<'a> {
    life: u32,
    /// The runs that are under way.
    running: BTreeMap<u64, &'a Start>,
    /// The jobs that have come to their end in this life.
    ended: HashSet<(&'a str, u64)>,
    /// The starts of each job, and its last attempt.
    starts: BTreeMap<(&'a str, u64), (u32, u32)>,
    /// The starts for each event of an automation that has it in one job only.
    events: BTreeMap<(&'a str, &'a Label), u32>,
    /// The greatest fence of the lives before.
    before: u64,
    /// The fences of this life.
    fences: HashSet<u64>,
}

pub(super) fn check(lines: &[Line], judgement: &mut Judgement) {
    let mut runs = Runs::default();
    for line in lines {
        match line {
            Line::Born { life } => {
                judgement.figures.killed += runs.running.len() as u64;
                runs.born(*life);
            }
            Line::Started(start) => {
                judgement.figures.runs += 1;
                judgement.violations.extend(runs.started(start));
            }
            Line::Ended { run, how } => match runs.running.remove(run) {
                Some(start) if *how == How::Well => {
                    runs.ended.insert((&start.automation, start.job));
                }
                Some(_) => {}
                None => {
                    let life = runs.life;
                    judgement.violations.push(Violation::EndOfNothing { run: *run, life });
                }
            },
            Line::Clash { key, .. } => {
                judgement.violations.push(Violation::Clash { key: key.clone(), life: runs.life });
            }
            _ => {}
        }
    }
    judgement.violations.extend(runs.too_often());
}

impl<'a> Runs<'a> {
    fn born(&mut self, life: u32) {
        self.life = life;
        self.running.clear();
        self.ended.clear();
        self.before = self.fences.drain().fold(self.before, u64::max);
    }

    fn started(&mut self, start: &'a Start) -> Vec<Violation> {
        let mut violations = Vec::new();
        let (life, automation) = (self.life, start.automation.clone());
        let Some(contract) = contract::of(&start.automation) else {
            return vec![Violation::Unknown { automation }];
        };
        if start.fence <= self.before {
            violations.push(Violation::Fence { fence: start.fence, before: self.before, life });
        }
        if !self.fences.insert(start.fence) {
            violations.push(Violation::FenceTwice { fence: start.fence, life });
        }
        let (starts, last) = self.starts.entry((&start.automation, start.job)).or_default();
        *starts += 1;
        let before = std::mem::replace(last, start.attempt);
        if start.attempt <= before {
            violations.push(Violation::Attempt {
                automation: automation.clone(),
                job: start.job,
                attempt: start.attempt,
                before,
            });
        }
        if self.ended.contains(&(&*start.automation, start.job)) {
            violations.push(Violation::AgainAfterEnd { automation: automation.clone(), job: start.job });
        }
        if contract.one_job {
            for label in &start.labels {
                *self.events.entry((&start.automation, label)).or_default() += 1;
            }
        }
        if contract.held
            && let Some(last) = start.labels.iter().max()
            && *last != start.last
        {
            let (last, had, run) = (last.clone(), start.last.clone(), start.run);
            violations.push(Violation::NotTheLast { automation, run, life, last, had });
        }
        if let Some(key) = &start.key {
            let same = self.running.values().filter(|other| other.key.as_ref() == Some(key));
            violations.extend(same.map(|other| Violation::Together {
                key: key.clone(),
                first: other.run,
                second: start.run,
                life,
            }));
        }
        self.running.insert(start.run, start);
        violations
    }

    fn too_often(&self) -> Vec<Violation> {
        let most: HashMap<_, _> =
            contract::CONTRACTS.iter().map(|contract| (contract.name, contract.attempts)).collect();
        let over = |automation: &str, starts: u32| most.get(automation).is_some_and(|most| starts > *most);
        let jobs = self
            .starts
            .iter()
            .filter(|((automation, _), (starts, last))| over(automation, *starts) || over(automation, *last));
        let jobs = jobs.map(|((automation, job), (starts, last))| Violation::TooOften {
            automation: (*automation).to_owned(),
            job: *job,
            starts: *starts.max(last),
        });
        let events = self.events.iter().filter(|((automation, _), starts)| over(automation, **starts));
        let events = events.map(|((automation, label), starts)| Violation::EventTooOften {
            automation: (*automation).to_owned(),
            label: (*label).clone(),
            starts: *starts,
        });
        jobs.chain(events).collect()
    }
}
