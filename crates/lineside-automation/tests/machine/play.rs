//! Plays a script to the machine and to the reference at the same time: they have to say the same, at the same time.

use std::collections::BTreeMap;
use std::sync::Arc;

use lineside_automation::control::{Rules, Work};
use lineside_automation::machine::job::{Fence, JobId};
use lineside_automation::machine::{Bounds, Effect, Ended, Input, Machine, News};
use lineside_automation::record::Record;
use lineside_automation::report::Report;
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::FailureKind;
use proptest::prelude::*;

use crate::reference::{Reference, Said};
use crate::world::{Ev, Happens, Script, Told, script, session_id};

/// The machine, and what drives it: it is called when something happens and when it wanted to be called.
pub(crate) struct Player {
    pub(crate) machine: Machine<Ev>,
    pub(crate) runs: BTreeMap<JobId, Fence>,
    pub(crate) wake: Option<u64>,
    pub(crate) effects: Vec<(u64, Effect<Ev>)>,
    /// The automations whose runs have their turns elsewhere.
    pub(crate) in_turn: Vec<Arc<str>>,
    /// Whether all of their runs begin; else every other one ends before it has had its turn.
    pub(crate) all_begin: bool,
}

pub(crate) fn name(automation: usize) -> Arc<str> {
    Arc::from(format!("a{automation}"))
}

impl Player {
    pub(crate) fn new(rules: &[Arc<Rules>], turns: usize) -> Self {
        let bounds = Bounds { running: turns, ..Bounds::default() };
        let mut player = Self::of(Machine::new(bounds), rules);
        for (number, rules) in rules.iter().enumerate() {
            player.step(0, Input::Registered(name(number), Arc::clone(rules)));
        }
        player
    }

    pub(crate) fn of(machine: Machine<Ev>, rules: &[Arc<Rules>]) -> Self {
        let in_turn = (0..).zip(rules).filter(|(_, rules)| rules.work == Work::ExternalSlot);
        let in_turn = in_turn.map(|(number, _)| name(number)).collect();
        Self { machine, runs: BTreeMap::new(), wake: None, effects: Vec::new(), in_turn, all_begin: false }
    }

    /// One step, and what the reference would say of it. What is to be handed over is, at once.
    pub(crate) fn step(&mut self, now: u64, input: Input<Ev>) -> Vec<Said> {
        let mut said = Vec::new();
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for effect in self.machine.step(UnixMicros::millis(now), input) {
                said.extend(self.take(&effect, &mut inputs));
                self.effects.push((now, effect));
            }
        }
        said
    }

    fn take(&mut self, effect: &Effect<Ev>, inputs: &mut Vec<Input<Ev>>) -> Option<Said> {
        match effect {
            Effect::Persist(_)
            | Effect::Gone(_)
            | Effect::Over(_)
            | Effect::CutShort(_)
            | Effect::Granted(_)
            | Effect::Turn(..)
            | Effect::Window(..)
            | Effect::Rate(..)
            | Effect::Lent(_) => None,
            Effect::WakeAt(at) => {
                self.wake = Some(at.0.div_ceil(1000));
                None
            }
            Effect::Start(run) => {
                self.runs.insert(run.job, run.fence);
                let begins = self.all_begin || run.fence.0 % 2 == 0;
                if self.in_turn.contains(&run.automation) && begins {
                    inputs.push(Input::Begins(run.job, run.fence));
                }
                Some(Said::Started { job: run.job.0, attempt: run.attempt, all: run.event.all.clone() })
            }
            Effect::Cancel(job, fence) => {
                assert_eq!(self.runs.get(job), Some(fence), "only what runs is cancelled");
                Some(Said::CancelRun(job.0))
            }
            Effect::Deliver(job, ..) => {
                inputs.push(Input::Delivered(*job));
                None
            }
            Effect::Announce(told) => {
                let id = told.job.map_or(0, |job| job.0);
                match &told.news {
                    News::Held => Some(Said::Held(id)),
                    News::Queued => None,
                    News::Refused(why) => {
                        let number = u32::try_from(told.event.as_u128()).unwrap();
                        Some(Said::Refused(number, why.clone()))
                    }
                    News::Started(_) | News::Forgotten => None,
                    News::Retried { .. } => Some(Said::Retried(id)),
                    News::Finished => Some(Said::Finished(id)),
                    News::Dead(_) => Some(Said::Dead(id)),
                    News::Cancelled(why) => Some(Said::Cancelled(id, why.clone())),
                    News::Revived => Some(Said::Revived(id)),
                    News::Parked | News::Stale => panic!("{told:?}"),
                }
            }
        }
    }

    pub(crate) fn ended(&mut self, now: u64, job: u64, fails: Option<bool>) -> Vec<Said> {
        let fence = *self.runs.get(&JobId(job)).expect("it runs");
        let ended = match fails {
            None => Ended::Cancelled,
            Some(true) => Ended::With(Err((FailureKind::Error, "no".to_owned()))),
            Some(false) => Ended::With(Ok(Report::success("ok"))),
        };
        let said = self.step(now, Input::Ended(JobId(job), fence, ended));
        // It may have been started again by now.
        if self.runs.get(&JobId(job)) == Some(&fence) {
            self.runs.remove(&JobId(job));
        }
        said
    }
}

/// What was accepted is read with its events from the record, not from the news.
fn queued(told: &mut Told, effects: &[(u64, Effect<Ev>)]) -> Vec<Said> {
    let mut of = |effect: &Effect<Ev>| match effect {
        Effect::Persist(record) => {
            let (job, all) = told.by(record)?;
            matches!(record, Record::Accepted { .. }).then(|| Said::Queued(job.0, all.clone()))
        }
        _ => None,
    };
    effects.iter().filter_map(|(_, effect)| of(effect)).collect()
}

struct Both {
    player: Player,
    told: Told,
    reference: Reference,
    /// When each run ends, and whether it fails; `None` once it is to be cancelled.
    running: BTreeMap<u64, (u64, bool)>,
    cancelled: Vec<(u64, u64)>,
    starts: usize,
    script: Script,
    now: u64,
}

impl Both {
    fn compare(
        &mut self,
        machine: Vec<Said>,
        reference: Vec<Said>,
        mark: usize,
    ) -> Result<(), TestCaseError> {
        let queued = queued(&mut self.told, &self.player.effects[mark..]);
        let (told, accepted): (Vec<_>, Vec<_>) =
            reference.into_iter().partition(|said| !matches!(said, Said::Queued(..)));
        prop_assert_eq!(&queued, &accepted, "at {}", self.now);
        prop_assert_eq!(sorted(&machine), sorted(&told), "at {}", self.now);
        // The starts also come in the same order.
        let starts = |said: &[Said]| -> Vec<Said> {
            said.iter().filter(|said| matches!(said, Said::Started { .. })).cloned().collect()
        };
        prop_assert_eq!(starts(&machine), starts(&told), "at {}", self.now);
        for said in machine {
            match said {
                Said::Started { job, .. } => {
                    let run = self.script.runs[self.starts % self.script.runs.len()];
                    self.starts += 1;
                    self.running.insert(job, (self.now + run.takes, run.fails));
                }
                // It takes a moment until a run that is cancelled has ended.
                Said::CancelRun(job) => self.cancelled.push((self.now + 2, job)),
                _ => {}
            }
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), TestCaseError> {
        let (mark, now) = (self.player.effects.len(), self.now);
        // The machine is only called when it wanted to be.
        let machine = if self.player.wake.is_some_and(|wake| wake <= now) {
            self.player.wake = None;
            self.player.step(now, Input::Tick)
        } else {
            Vec::new()
        };
        let reference = self.reference.tick(now);
        self.compare(machine, reference, mark)?;
        let cancelled: Vec<u64> =
            self.cancelled.iter().filter(|(when, _)| *when <= now).map(|(_, job)| *job).collect();
        self.cancelled.retain(|(when, _)| *when > now);
        for job in cancelled {
            if self.running.remove(&job).is_some() {
                self.end(job, None)?;
            }
        }
        let due: Vec<(u64, bool)> = self
            .running
            .iter()
            .filter(|(_, (when, _))| *when <= now)
            .map(|(job, run)| (*job, run.1))
            .collect();
        for (job, fails) in due {
            // One that ends may have had another one cancelled meanwhile, which then ends by itself.
            if self.running.remove(&job).is_some() {
                self.cancelled.retain(|(_, other)| *other != job);
                self.end(job, Some(fails))?;
            }
        }
        Ok(())
    }

    fn end(&mut self, job: u64, fails: Option<bool>) -> Result<(), TestCaseError> {
        let mark = self.player.effects.len();
        let machine = self.player.ended(self.now, job, fails);
        let reference = self.reference.ended(job, fails);
        self.compare(machine, reference, mark)
    }

    fn happens(&mut self, happens: Happens) -> Result<(), TestCaseError> {
        let (mark, now) = (self.player.effects.len(), self.now);
        let (input, reference) = match happens {
            Happens::Offer { automation, event } => {
                (Input::Offered(name(automation), event.clone()), self.reference.offer(automation, event))
            }
            Happens::Cancel { automation, event } => (
                Input::Cancelling(name(automation), event.clone()),
                self.reference.cancel_key(automation, &event),
            ),
            Happens::Release(session) => {
                (Input::Release(session_id(session)), self.reference.release(&session_id(session)))
            }
            Happens::SessionEnds(session) => {
                (Input::SessionEnds(session_id(session)), self.reference.session_ends(&session_id(session)))
            }
            Happens::SessionCut(session) => {
                (Input::SessionCut(session_id(session)), self.reference.session_cut(&session_id(session)))
            }
            Happens::Drop(job) => (Input::Drop(JobId(job)), self.reference.drop_job(job)),
            Happens::Revive(job) => (Input::Revive(JobId(job)), self.reference.revive(job)),
        };
        let machine = self.player.step(now, input);
        self.compare(machine, reference, mark)
    }
}

fn sorted(said: &[Said]) -> Vec<String> {
    let mut said: Vec<String> = said.iter().map(|said| format!("{said:?}")).collect();
    said.sort();
    said
}

fn play(script: Script) -> Result<(), TestCaseError> {
    let rules = script.rules();
    let mut both = Both {
        // A rate counts a start when the run begins, and the reference when it starts.
        player: Player { all_begin: true, ..Player::new(&rules, script.turns) },
        told: Told::default(),
        reference: Reference::new(rules, script.turns),
        running: BTreeMap::new(),
        cancelled: Vec::new(),
        starts: 0,
        now: 0,
        script: script.clone(),
    };
    for (after, happens) in script.happens {
        for _ in 0..after {
            both.now += 1;
            both.tick()?;
        }
        both.happens(happens)?;
    }
    for _ in 0..20_000 {
        if both.reference.is_idle() {
            break;
        }
        both.now += 1;
        both.tick()?;
    }
    prop_assert!(both.reference.is_idle(), "everything comes to an end");
    prop_assert_eq!(both.player.machine.live(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(1024)) })]

    /// Whatever is declared and whatever happens: the machine does what the rules say, when they say it.
    #[test]
    fn the_machine_does_what_the_reference_says(script in script()) {
        play(script)?;
    }
}

/// How many cases there are, unless the environment wants another number.
pub(crate) fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
