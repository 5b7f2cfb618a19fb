//! What a foreign hook runs for an event, and how what came of it is read. Both are pure: running is left to the caller.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::control::Assignment;
use lineside_core::exchange::{Post, Posted};
use lineside_core::invocation::{Ended, Environment, Invocation, Program};
use lineside_core::report::Report;
use lineside_core::worker::{HookCall, HookWorker, WorkerCall, WorkerEnded};
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Notice, SessionId, SkipReason, Strength};
use lineside_guards::Limit;

use crate::near_keys::AnswerKeys;

/// The pure half of a foreign hook: event to call, result to answer.
pub trait Handler: Send + Sync {
    /// What is to be run for this event.
    ///
    /// # Errors
    /// The hook cannot be started, which is found out without starting anything.
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure>;

    /// Reads how the call ended.
    ///
    /// # Errors
    /// The hook could not answer: it failed to start, ran out of time, exited with a failing status, or printed what
    /// its format does not allow.
    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure>;

    /// What a failure amounts to when the hook declares that its failure refuses the event; `None` for the usual
    /// block. For formats that put the refusal of a stop in words of their own, or in which some stops are final.
    fn refuse(&self, event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        let _ = (event, failure);
        None
    }

    /// Lets go of what it remembers of sessions that are no longer open. It is called before an answer is read for which
    /// nothing was started.
    fn forget(&self, _is_open: &dyn Fn(&SessionId) -> bool) {}

    /// The limit that it counts events by, which goes on with what it has counted when the file of the hook is loaded again.
    fn limit(&self) -> Option<&Limit> {
        None
    }

    /// What it says of every event that its filters let through, where nothing has to run for that; `None` where only a run,
    /// or what has happened before, shows it.
    fn says(&self) -> Option<Strength> {
        None
    }

    /// Why the hook does not run for the event that a burst of held events came to; `None` when it does.
    fn skips_burst(&self, event: &AnyEvent) -> Option<SkipReason> {
        let _ = event;
        None
    }

    /// Whether hooks of this format hand variables on to later hooks of the same session.
    fn shares_variables(&self) -> bool {
        false
    }

    /// The variable that names a file in which the hook may leave assignments for later hooks; `None` where it may not.
    fn assignments_variable(&self, event: &AnyEvent) -> Option<&'static str> {
        let _ = event;
        None
    }

    /// What the hook hands on, from what came of its call and from what it has left in its file.
    fn handed_on(&self, event: &AnyEvent, returned: &Returned, assignments: &str) -> HandedOn {
        let _ = (event, returned, assignments);
        HandedOn::default()
    }

    /// The worker that the hook runs in when events are about this directory; `None` for a hook that has none.
    fn worker(&self, work_dir: &Path) -> Option<HookWorker> {
        let _ = work_dir;
        None
    }

    /// The keys that an object may have which the hook prints, so that one that is nearly one of them is remarked.
    fn answer_keys(&self) -> AnswerKeys {
        AnswerKeys::default()
    }

    /// Whether what the hook starts lies beside its own file, whatever events are about.
    fn starts_its_own(&self) -> bool {
        false
    }

    /// What the hook starts when events are about this directory, so that the load can report that it is missing;
    /// `None` for a hook that starts nothing, or of whose start a diagnostic of its format reports.
    fn start(&self, work_dir: &Path) -> Option<Start> {
        let _ = work_dir;
        None
    }

    /// The failure of an attempt that was not started because the time of all hooks of its kind was used up.
    fn out_of_time(&self, time: Duration) -> Failure {
        let whole = lineside_core::failure::seconds(time);
        Failure::not_started(FailureKind::Timeout, format!("chain budget of {whole} s used up"))
    }

    /// The lines of the dialect's own debug log for a moment of a run. They are written together.
    fn log(&self, stage: &LogStage<'_>) -> Vec<String> {
        let _ = stage;
        Vec::new()
    }
}

/// What a hook hands on to later hooks of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandedOn {
    /// Variables, in the order in which they were assigned; of two of one name the later one counts.
    pub variables: Vec<(String, String)>,
    /// What the user reads of it.
    pub notice: Option<Notice>,
}

/// The pure half of an automation: event to call, result to report.
pub trait Work: Send + Sync {
    /// What is to be run for this event, which is what all events of the job come to.
    ///
    /// # Errors
    /// It cannot be started, which is found out without starting anything.
    fn call(&self, event: &AnyEvent, assignment: Assignment) -> Result<Call, Failure>;

    /// Reads how the call ended.
    ///
    /// # Errors
    /// It came to no result: it failed to start, ran out of time, ended with a status that is none, or printed what
    /// the format does not allow. This is tried again, if the rules say so.
    fn report(&self, returned: &Returned) -> Result<Report, Failure>;
}

/// What is to be run.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "the largest is the usual one, and a call moves once")]
pub enum Call {
    /// A command.
    Command(Invocation),
    /// A request over HTTP.
    Post(Post),
    /// A function in the worker that the load of the hooks has started.
    Worker(Box<WorkerCall>),
    /// A hook in a worker, which is shared by all hooks that name an equal one.
    Warm(Box<HookWorker>, HookCall),
    /// Nothing: the answer is known without running anything.
    Nothing,
}

/// What a hook starts, as far as it is known before there is an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A program.
    Program {
        /// The program and its arguments.
        program: Program,
        /// Its environment, with what decides where the program is found.
        environment: Environment,
        /// Its working directory.
        working_directory: PathBuf,
    },
    /// No program: a request to this address.
    Post(String),
    /// A program that is not there; a diagnostic of the format reports it.
    Missing,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Returned {
    /// How the command ended.
    Command(Ended),
    /// How the request ended.
    Post(Posted),
    /// How the call of the worker ended.
    Worker(WorkerEnded),
    /// Nothing was run.
    Nothing,
}

impl Returned {
    /// How the command ended.
    ///
    /// # Errors
    /// Something else was run, which is a fault of the caller.
    pub fn command(&self) -> Result<&Ended, Failure> {
        match self {
            Self::Command(ended) => Ok(ended),
            Self::Post(_) | Self::Worker(_) | Self::Nothing => {
                Err(Failure::not_started(FailureKind::Error, "a command was to be run, and none was"))
            }
        }
    }

    /// What a hook in a worker has answered: JSON as it was written, or nothing.
    ///
    /// # Errors
    /// It could not answer, or something else was run, which is a fault of the caller.
    pub fn warm(&self) -> Result<&str, Failure> {
        let Self::Worker(ended) = self else {
            let detail = "a hook in a worker was to be asked, and none was";
            return Err(Failure::not_started(FailureKind::Error, detail));
        };
        match ended {
            WorkerEnded::Answered(text) => Ok(text),
            WorkerEnded::Failed { kind, message, started } => {
                Err(Failure { started: *started, ..Failure::new(*kind, message.clone()) })
            }
            WorkerEnded::TooLarge => {
                let detail = "the event is larger than a line to a worker may be";
                Err(Failure::not_started(FailureKind::Output, detail))
            }
            WorkerEnded::Dropped => {
                Err(Failure::not_started(FailureKind::Error, "too many calls wait for the worker already"))
            }
            WorkerEnded::Returned(_) => {
                Err(Failure::new(FailureKind::Error, "a hook was to answer, and something else did"))
            }
        }
    }
}

/// A moment of a run that a debug log may tell of.
#[derive(Debug, Clone, Copy)]
pub enum LogStage<'a> {
    /// It is about to start.
    Starting {
        /// What it is started with.
        call: &'a Call,
    },
    /// It does not run for this event.
    Skipped {
        /// Why.
        why: SkipReason,
    },
    /// It has ended.
    Finished {
        /// What it was started with; absent when nothing was started.
        call: Option<&'a Call>,
        /// What came of the call; absent when nothing was started.
        returned: Option<&'a Returned>,
        /// What was made of it.
        result: &'a Result<Answer, Failure>,
        /// From before the start to the end.
        took: Duration,
    },
}
