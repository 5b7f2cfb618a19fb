//! One hook at work: what it starts for an event.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lineside_core::control::Assignment;
use lineside_core::exchange::Post;
use lineside_core::invocation::{Environment, Invocation, Limits, Program};
use lineside_core::report::Report;
use lineside_core::worker::{HookCall, HookWorker, HookWorkerBounds, WorkerReach, WorkerStart};
use lineside_core::{Answer, AnyEvent, Failure, Propagation, SessionId, Strength};

use lineside_core::json::{Map, json};
use lineside_guards::Limit;

use super::definition::{Definition, Room, Run, Target, Warm};
use super::output::{self, Asker};
use super::report;
use crate::ending::cannot_start;
use crate::handler::{Call, Handler, Returned, Start, Work};
use crate::programs::project_of;

/// The longest answer, in bytes.
const LONGEST: usize = 1 << 20;

/// A hook that can run.
#[derive(Debug)]
pub(super) struct NativeHook {
    /// Its name.
    pub(super) name: Arc<str>,
    /// What it declares.
    pub(super) definition: Arc<Definition>,
    /// The runtime's own working directory, absolute.
    pub(super) cwd: Arc<Path>,
}

impl NativeHook {
    fn call_with(&self, event: &AnyEvent, text: String) -> Result<Call, Failure> {
        let tree = Some(event.envelope().source.root_session.clone());
        match &self.definition.run {
            Run::Command(program, room) => {
                Ok(Call::Command(self.invocation(program, room, &project_of(event, &self.cwd), text)?))
            }
            Run::Worker(warm, room) => {
                let directory = room.existing_directory(&project_of(event, &self.cwd))?;
                let (hook, timeout) = (self.name.to_string(), self.definition.timeout);
                let call = HookCall { environment: Propagation::none(), hook, event: text, timeout, tree };
                Ok(Call::Warm(Box::new(kept(warm, room, directory)), call))
            }
            Run::Post(target) => Ok(Call::Post(self.post(target, event, text))),
            Run::Rule(_) => Ok(Call::Nothing),
            Run::Attached(seat) => {
                let (hook, timeout) = (seat.called.clone(), self.definition.timeout);
                let call = HookCall { hook, event: text, environment: Propagation::none(), timeout, tree };
                let worker = HookWorker {
                    reach: WorkerReach::Attached(seat.number),
                    content: String::new(),
                    start: WorkerStart::Ahead,
                    bounds: HookWorkerBounds::default(),
                };
                Ok(Call::Warm(Box::new(worker), call))
            }
        }
    }

    fn invocation(
        &self,
        program: &Program,
        room: &Room,
        project: &Path,
        text: String,
    ) -> Result<Invocation, Failure> {
        Ok(Invocation {
            program: program.clone(),
            stdin: text.into_bytes(),
            environment: room.environment(),
            files: Vec::new(),
            working_directory: Some(room.existing_directory(project)?),
            limits: Limits {
                timeout: self.definition.timeout,
                stdout_bytes: LONGEST,
                stderr_bytes: LONGEST,
                leak_grace: Duration::from_millis(500),
                ..Limits::default()
            },
        })
    }

    fn post(&self, target: &Target, event: &AnyEvent, text: String) -> Post {
        let own = [("X-Lineside-Event".to_owned(), event.envelope().id.to_string())];
        let headers = target.headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
        Post {
            url: target.url.clone(),
            addresses: target.addresses,
            headers: own.into_iter().chain(headers).collect(),
            body: text.into_bytes(),
            timeout: self.definition.timeout,
            body_bytes: LONGEST,
        }
    }
}

impl Work for NativeHook {
    fn call(&self, event: &AnyEvent, assignment: Assignment) -> Result<Call, Failure> {
        let Assignment { job, attempt, events, fence } = assignment;
        let mut fields = event.to_json();
        let numbers = [("id", Some(job)), ("attempt", Some(attempt.into())), ("fence", fence)];
        let numbers =
            numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), json!(number?))));
        let of_job = numbers.chain([("events".to_owned(), json!(events))]).collect::<Map>();
        fields.insert("job".to_owned(), of_job.into());
        self.call_with(event, text(&fields)?)
    }

    fn report(&self, returned: &Returned) -> Result<Report, Failure> {
        report::read(returned)
    }
}

impl Handler for NativeHook {
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure> {
        if let Run::Rule(_) = &self.definition.run {
            return Ok(Call::Nothing);
        }
        self.call_with(event, event.to_text())
    }

    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        if let Run::Rule(ruling) = &self.definition.run {
            return Ok(ruling.answer(event));
        }
        let asker = Asker {
            point: event.point(),
            judges: self.definition.judges(event.point()),
            is_async: self.definition.is_async,
            amends: self.definition.amends,
        };
        output::read(asker, event, returned)
    }

    fn forget(&self, is_open: &dyn Fn(&SessionId) -> bool) {
        if let Some(limit) = self.definition.limit() {
            limit.forget(is_open);
        }
    }

    fn limit(&self) -> Option<&Limit> {
        self.definition.limit()
    }

    fn says(&self) -> Option<Strength> {
        match &self.definition.run {
            Run::Rule(ruling) if ruling.limit.is_none() => Some(ruling.strength),
            _ => None,
        }
    }

    fn worker(&self, work_dir: &Path) -> Option<HookWorker> {
        match &self.definition.run {
            Run::Worker(warm, room) => Some(kept(warm, room, room.directory(&self.cwd.join(work_dir)))),
            Run::Command(..) | Run::Post(_) | Run::Attached(_) | Run::Rule(_) => None,
        }
    }

    fn start(&self, work_dir: &Path) -> Option<Start> {
        let (program, room) = match &self.definition.run {
            Run::Command(program, room) => (program.clone(), room),
            Run::Worker(warm, room) => (Program::argv(&warm.program), room),
            Run::Post(target) => return Some(Start::Post(target.url.clone())),
            Run::Attached(_) | Run::Rule(_) => return None,
        };
        let working_directory = room.directory(&self.cwd.join(work_dir));
        Some(Start::Program { program, environment: room.environment(), working_directory })
    }
}

impl Room {
    fn environment(&self) -> Environment {
        let set = self.variables.iter().map(|(name, value)| (name.into(), value.into()));
        Environment { inherit: self.inherit.clone(), remove: Vec::new(), set: set.collect() }
    }

    fn directory(&self, project: &Path) -> PathBuf {
        self.directory.as_ref().map_or_else(|| project.to_path_buf(), |directory| project.join(directory))
    }

    fn existing_directory(&self, project: &Path) -> Result<PathBuf, Failure> {
        let directory = self.directory(project);
        if directory.is_dir() {
            return Ok(directory);
        }
        Err(cannot_start(format_args!("the working directory {} is missing", directory.display())))
    }
}

/// The worker; nothing of one hook alone is in it, so that hooks which name an equal one share it.
///
/// However an event spells the directory, it is the same worker.
fn kept(warm: &Warm, room: &Room, directory: PathBuf) -> HookWorker {
    let directory = directory.canonicalize().unwrap_or(directory);
    let bounds = HookWorkerBounds::default();
    HookWorker {
        content: content(&warm.program, &directory),
        reach: WorkerReach::Program {
            program: Program::argv(&warm.program),
            environment: room.environment(),
            working_directory: Some(directory),
        },
        start: warm.start,
        bounds: HookWorkerBounds { idle: warm.idle.or(bounds.idle), ..bounds },
    }
}

/// What tells this state of the files that a program is named by, such as a script behind its interpreter, from an
/// earlier one. A worker of an earlier one is not asked any more.
fn content(program: &[String], directory: &Path) -> String {
    let state = |named: &String| -> Option<(u64, SystemTime)> {
        let metadata = directory.join(named).metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((metadata.len(), metadata.modified().ok()?))
    };
    let states: Vec<_> = program.iter().map(state).collect();
    format!("{states:?}")
}

/// An event, in one line.
fn text(event: &Map) -> Result<String, Failure> {
    lineside_core::json::to_string(event).map_err(cannot_start)
}

#[cfg(test)]
mod tests;
