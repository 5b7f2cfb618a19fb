//! Flow control tried out: what becomes of events at stated times under stated settings, as the machine of
//! `lineside-automation` has it. Nothing runs; runs are played, each taking as long as is said.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_automation::control::{Control, ControlError, Rate, Retry};
use lineside_automation::machine::job::Fence;
use lineside_automation::machine::{Bounds, Effect, Ended, Input, Machine, News};
use lineside_automation::offered::Offered;
use lineside_automation::unix_micros::UnixMicros;
use lineside_automation::{JobId, OnBusy, Report};
use lineside_core::flow::Debounce;
use lineside_core::{AnyEvent, Envelope, EventId, FailureKind, Point as _, Source, Timestamp};
use lineside_points::OnPermissionDenied;

/// How many events there are at most, and when the last of them may be.
const MOST: usize = 64;
const LATEST: Duration = Duration::from_secs(3_600);

/// After so many steps a play is given up: settings under which it does not end are shown as far as it came.
const STEPS: usize = 20_000;

/// What is tried out. Times are in milliseconds; 0 is «not at all».
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub struct Flow {
    /// When events come, separated by blanks; with `@` before it each has a key, as in `0 a@300 b@350`.
    pub events: String,
    /// Held until none has come for so long.
    pub quiet: u64,
    /// So long after the first one the run starts in any case; ten times `quiet` for 0.
    pub at_most: u64,
    /// What happens when the key is taken: `queue`, `coalesce`, `drop` or `restart`.
    pub on_busy: String,
    /// How many runs of a key go at a time.
    pub limit: u32,
    /// So many starts in `period`.
    pub starts: u32,
    /// In so long a time.
    pub period: u64,
    /// How often a run is tried in all.
    pub attempts: u32,
    /// From one attempt to the next.
    pub pause: u64,
    /// How long a run takes.
    pub takes: u64,
    /// How many attempts of each job fail.
    pub fails: u32,
}

impl Default for Flow {
    /// A burst of edits, and one while its run is under way.
    fn default() -> Self {
        Self {
            events: "0 300 700 1000 4200 4500 9000".to_owned(),
            quiet: 1_000,
            at_most: 0,
            on_busy: "coalesce".to_owned(),
            limit: 1,
            starts: 0,
            period: 0,
            attempts: 2,
            pause: 500,
            takes: 3_000,
            fails: 0,
        }
    }
}

/// Why something cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// An event has no time.
    #[error("`{0}` is no time of an event: milliseconds, with a key before it as in `a@300`")]
    Time(String),
    /// There are too many, or one is too late.
    #[error("at most {MOST} events within an hour can be played")]
    TooMuch,
    /// The word for what happens when the key is taken is none.
    #[error("`{0}` is none of queue, coalesce, drop and restart")]
    OnBusy(String),
    /// The settings cannot be meant.
    #[error(transparent)]
    Settings(#[from] ControlError),
}

/// An event that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    /// When, in milliseconds.
    pub at: u64,
    /// Its key; empty without one.
    pub key: String,
    /// Which job it became part of, by its place in [`Played::jobs`]; none for one that was refused.
    pub job: Option<usize>,
    /// Why it was refused.
    pub refused: Option<String>,
}

/// A job: from its first event to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlayedJob {
    /// The key of its events.
    pub key: String,
    /// When its first event came.
    pub since: u64,
    /// When it was held no longer.
    pub queued: Option<u64>,
    /// Its attempts.
    pub runs: Vec<Attempt>,
    /// What became of it, and when; none where the play was given up before.
    pub end: Option<(u64, Fate)>,
}

/// One attempt. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: Option<u64>,
    /// Whether it failed.
    pub failed: bool,
}

/// What became of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It came to a good end.
    Finished,
    /// It has failed as often as it may, and rests in the dead letters.
    Dead,
    /// It was cancelled, or another one has taken its place.
    Cancelled,
}

/// What became of all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Played {
    /// The events, in order.
    pub events: Vec<Came>,
    /// The jobs, in the order of their first events.
    pub jobs: Vec<PlayedJob>,
    /// When the last of it was, in milliseconds.
    pub end: u64,
}

/// What is to come.
#[derive(Debug, Clone)]
enum Next {
    Event(usize),
    End(JobId, Fence),
    Tick,
}

impl Flow {
    /// Plays it.
    ///
    /// # Errors
    /// Those of [`FlowError`].
    pub fn play(&self) -> Result<Played, FlowError> {
        let events = self.came()?;
        let rules = self.control()?.check(OnPermissionDenied::INFO, &[])?;
        let mut play = Play {
            flow: self,
            machine: Machine::new(Bounds { running: usize::MAX, ..Bounds::default() }),
            coming: BTreeMap::new(),
            last: 0,
            jobs: BTreeMap::new(),
            played: Played { events, ..Played::default() },
        };
        let id: Arc<str> = Arc::from("flow");
        play.step(0, Input::Registered(Arc::clone(&id), Arc::new(rules)));
        for (number, at) in play.played.events.iter().map(|came| came.at).enumerate().collect::<Vec<_>>() {
            play.comes(at, Next::Event(number));
        }
        for _ in 0..STEPS {
            let Some(((at, _), next)) = play.coming.pop_first() else { break };
            let event = if let Next::Event(number) = next { Some(number) } else { None };
            let input = match next {
                Next::Event(number) => Input::Offered(Arc::clone(&id), play.offered(number)),
                Next::End(job, fence) => match play.ended(at, job) {
                    Some(ended) => Input::Ended(job, fence, ended),
                    None => continue,
                },
                Next::Tick => Input::Tick,
            };
            play.step(at, input);
            if let Some(number) = event {
                play.joins(number);
            }
        }
        Ok(play.played)
    }

    /// The settings, as an author declares them.
    ///
    /// # Errors
    /// The word for what happens when the key is taken is none.
    pub fn control(&self) -> Result<Control, FlowError> {
        let millis = |millis: u64| Some(Duration::from_millis(millis)).filter(|time| !time.is_zero());
        let debounce = millis(self.quiet).map(|quiet| match millis(self.at_most) {
            Some(at_most) => Debounce::quiet(quiet).at_most(at_most),
            None => Debounce::quiet(quiet),
        });
        let key = "{payload.tool_name}".to_owned();
        let rate = Some(self.starts).filter(|starts| *starts > 0);
        Ok(Control {
            debounce,
            hold_key: debounce.map(|_| key.clone()),
            rate: rate.map(|starts| Rate::new(starts, Duration::from_millis(self.period)).per(key.clone())),
            on_busy: match &*self.on_busy {
                "queue" => OnBusy::Queue,
                "coalesce" => OnBusy::Coalesce,
                "drop" => OnBusy::Drop,
                "restart" => OnBusy::Restart,
                other => return Err(FlowError::OnBusy(other.to_owned())),
            },
            concurrency: Some(key),
            limit: self.limit,
            retry: Retry::constant(self.attempts, Duration::from_millis(self.pause)),
            timeout: LATEST,
            ..Control::default()
        })
    }

    fn came(&self) -> Result<Vec<Came>, FlowError> {
        let read = |word: &str| {
            let (key, time) = word.rsplit_once('@').unwrap_or(("", word));
            let at = time.parse().map_err(|_| FlowError::Time(word.to_owned()))?;
            Ok(Came { at, key: key.to_owned(), job: None, refused: None })
        };
        let words: Vec<&str> = self.events.split_ascii_whitespace().take(MOST + 1).collect();
        let mut events = words.into_iter().map(read).collect::<Result<Vec<Came>, FlowError>>()?;
        events.sort_by_key(|came| came.at);
        let is_late = |last: &Came| Duration::from_millis(last.at) > LATEST;
        if events.len() > MOST || events.last().is_some_and(is_late) || self.takes > 3_600_000 {
            return Err(FlowError::TooMuch);
        }
        Ok(events)
    }
}

/// A play that is under way.
struct Play<'a> {
    flow: &'a Flow,
    machine: Machine<Offered>,
    /// By time, and of one time in the order in which it was noted.
    coming: BTreeMap<(u64, u64), Next>,
    last: u64,
    jobs: BTreeMap<JobId, usize>,
    played: Played,
}

impl Play<'_> {
    fn comes(&mut self, at: u64, next: Next) {
        self.last += 1;
        self.coming.insert((at, self.last), next);
    }

    fn offered(&self, number: usize) -> Offered {
        let id = EventId::from_u128(number as u128);
        let source = Arc::new(Source::root("flow"));
        let (time, seq) = (Timestamp::UNIX_EPOCH, number as u64 + 1);
        let envelope = Envelope { id, time, seq, source, cause: None, turn: None, extra: None };
        let key = self.played.events.get(number).map(|came| came.key.clone()).unwrap_or_default();
        Offered::from(AnyEvent::new(envelope, Arc::new(OnPermissionDenied::new(key))))
    }

    /// How the last run of a job ends; nothing of one that has ended already.
    fn ended(&mut self, at: u64, job: JobId) -> Option<Ended> {
        let fails = self.flow.fails as usize;
        let job = self.jobs.get(&job).and_then(|place| self.played.jobs.get_mut(*place))?;
        let (made, last) = (job.runs.len(), job.runs.last_mut().filter(|run| run.end.is_none())?);
        (last.end, last.failed) = (Some(at), made <= fails);
        Some(Ended::With(match last.failed {
            true => Err((FailureKind::Exit, "played".to_owned())),
            false => Ok(Report::success("played")),
        }))
    }

    /// An event of which nothing was announced is held with the others of its key, or waits with them.
    fn joins(&mut self, number: usize) {
        let Some(came) = self.played.events.get_mut(number) else { return };
        let waits = |job: &PlayedJob| job.key == came.key && job.runs.is_empty() && job.end.is_none();
        if came.job.is_none() && came.refused.is_none() {
            came.job = self.played.jobs.iter().rposition(waits);
        }
    }

    fn step(&mut self, at: u64, input: Input<Offered>) {
        self.played.end = self.played.end.max(at);
        for effect in self.machine.step(UnixMicros::millis(at), input) {
            match effect {
                Effect::Start(run) => self.comes(at + self.flow.takes, Next::End(run.job, run.fence)),
                Effect::Cancel(job, fence) => {
                    let runs = self.jobs.get(&job).and_then(|place| self.played.jobs.get_mut(*place));
                    if let Some(run) = runs.and_then(|job| job.runs.last_mut()) {
                        run.end.get_or_insert(at);
                    }
                    self.step(at, Input::Ended(job, fence, Ended::Cancelled));
                }
                Effect::WakeAt(time) => self.comes(time.0.div_ceil(1_000), Next::Tick),
                Effect::Deliver(job, ..) => self.step(at, Input::Delivered(job)),
                Effect::Announce(found) => self.heard(at, found.job, found.event, &found.news),
                _ => {}
            }
        }
    }

    fn heard(&mut self, at: u64, job: Option<JobId>, event: EventId, news: &News) {
        let number = usize::try_from(event.as_u128()).unwrap_or(usize::MAX);
        let Some(job) = job else {
            if let (News::Refused(why), Some(came)) = (news, self.played.events.get_mut(number)) {
                came.refused = Some(why.to_string());
            }
            return;
        };
        let place = *self.jobs.entry(job).or_insert_with(|| {
            let key = self.played.events.get(number).map(|came| came.key.clone()).unwrap_or_default();
            self.played.jobs.push(PlayedJob { key, since: at, ..PlayedJob::default() });
            self.played.jobs.len() - 1
        });
        if let Some(came) = self.played.events.get_mut(number).filter(|came| came.at == at) {
            came.job.get_or_insert(place);
        }
        let Some(played) = self.played.jobs.get_mut(place) else { return };
        match news {
            News::Queued => played.queued = played.queued.or(Some(at)),
            News::Started(_) => played.runs.push(Attempt { begin: at, end: None, failed: false }),
            News::Finished => played.end = Some((at, Fate::Finished)),
            News::Dead(_) => played.end = Some((at, Fate::Dead)),
            News::Cancelled(_) | News::Refused(_) => played.end = Some((at, Fate::Cancelled)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(flow: &Flow) -> Played {
        flow.play().unwrap()
    }

    fn of(events: &str) -> Flow {
        let on_busy = "queue".to_owned();
        Flow {
            events: events.to_owned(),
            quiet: 0,
            on_busy,
            attempts: 1,
            pause: 100,
            takes: 1_000,
            ..Flow::default()
        }
    }

    /// When each attempt of each job was.
    fn runs(played: &Played) -> Vec<Vec<(u64, u64, bool)>> {
        let run = |run: &Attempt| (run.begin, run.end.unwrap(), run.failed);
        played.jobs.iter().map(|job| job.runs.iter().map(run).collect()).collect()
    }

    #[test]
    fn a_burst_is_one_run_and_what_comes_meanwhile_is_the_next() {
        let played = played(&Flow::default());
        let ok = |begin| vec![(begin, begin + 3_000, false)];
        assert_eq!(runs(&played), [ok(2_000), ok(5_500), ok(10_000)]);
        assert_eq!(
            played.events.iter().map(|came| came.job).collect::<Vec<_>>(),
            [0, 0, 0, 0, 1, 1, 2].map(Some)
        );
        assert_eq!((played.jobs[0].since, played.jobs[0].queued), (0, Some(2_000)));
        assert!(played.jobs.iter().all(|job| matches!(job.end, Some((_, Fate::Finished)))));
        assert_eq!(played.end, 13_000);
    }

    #[test]
    fn runs_of_one_key_go_one_at_a_time_and_those_of_others_beside_them() {
        let queue = played(&of("a@0 b@100 a@200"));
        assert_eq!(runs(&queue), [[(0, 1_000, false)], [(100, 1_100, false)], [(1_000, 2_000, false)]]);
        let dropped = played(&Flow { on_busy: "drop".to_owned(), ..of("a@0 a@200 a@1500") });
        assert_eq!((&dropped.jobs[1].runs, dropped.jobs[1].end), (&vec![], Some((200, Fate::Cancelled))));
        let restarted = played(&Flow { on_busy: "restart".to_owned(), ..of("a@0 a@200") });
        assert_eq!(runs(&restarted).concat(), [(0, 200, false), (200, 1_200, false)]);
        let two = played(&Flow { limit: 2, ..of("a@0 a@200 a@300") });
        assert_eq!(runs(&two).concat(), [(0, 1_000, false), (200, 1_200, false), (1_000, 2_000, false)]);
    }

    #[test]
    fn what_fails_is_tried_again_and_dies_in_the_end() {
        let again = played(&Flow { attempts: 3, fails: 1, ..of("0") });
        assert_eq!(runs(&again), [[(0, 1_000, true), (1_100, 2_100, false)]]);
        let dead = played(&Flow { attempts: 2, fails: 9, ..of("0") });
        assert_eq!(runs(&dead), [[(0, 1_000, true), (1_100, 2_100, true)]]);
        assert_eq!(dead.jobs[0].end, Some((2_100, Fate::Dead)));
        let rate = played(&Flow { starts: 1, period: 5_000, limit: 8, ..of("0 1 2") });
        assert_eq!(runs(&rate).concat().iter().map(|run| run.0).collect::<Vec<_>>(), [0, 5_000, 10_000]);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (flow, why) in [
            (of("soon"), "`soon` is no time"),
            (of("3600001"), "within an hour"),
            (of(&"1 ".repeat(65)), "at most 64"),
            (Flow { on_busy: "wait".to_owned(), ..of("0") }, "`wait` is none of"),
            (Flow { attempts: 0, ..of("0") }, "attempts"),
            (Flow { limit: 0, ..of("0") }, "limit"),
        ] {
            let error = flow.play().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(played(&of("")), Played::default());
        // Sizes at the limit end.
        let all = (0..64).map(|at| format!("{at} ")).collect::<String>();
        let long = played(&Flow { attempts: 1_000, fails: u32::MAX, takes: 0, pause: 0, ..of(&all) });
        assert!(long.jobs.len() <= 64);
    }
}
