//! One worker process: its tree, its input, and what comes out of it as events.
//!
//! Its input and both outputs are moved at the same time, so that neither side can block the other (OC-70).
//! What a frame means is the supervisor's business.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::Duration;

use lineside_core::failure::FailureKind;
use lineside_core::invocation::{Invocation, Limits, Program};
use lineside_core::worker::WorkerSpec;
use tokio::net::unix::pipe::Sender;
use tokio::time::{Instant, sleep_until};

use super::calls::Ending;
use super::frames::{self, Frame};
use super::lines::{Line, Lines};
use super::log::{LogLevel, LogSource, WorkerLog};
use super::script::Script;
use crate::containment::Containment;
use crate::pipes::try_again;
use crate::spawn::{self, Beside, StartHookError};
use crate::tree::{Status, Sweep, Tree};

/// How long outputs are read after the process has exited, and an exit is waited for after `SIGKILL`.
const SETTLE: Duration = Duration::from_millis(400);
/// How often those who were killed are looked at.
const TICK: Duration = Duration::from_millis(2);
/// So much is handed to the input before more calls are written into its buffer.
const ENOUGH: usize = 64 * 1024;
/// What stands in a frame of the worker beside its value.
const MARGIN: usize = 4096;

/// A worker process.
#[derive(Debug)]
pub(super) struct Process {
    tree: Tree,
    input: Option<Sender>,
    unwritten: VecDeque<u8>,
    /// Somebody waits for room.
    crowded: bool,
    stdout: Lines,
    stderr: Lines,
    token: String,
    events: VecDeque<Event>,
    end: End,
}

/// What a process does.
#[derive(Debug)]
pub(super) enum Event {
    /// It wrote a frame.
    Frame(Frame),
    /// It wrote something else.
    Log(WorkerLog),
    /// There is room again for more frames.
    Room,
    /// It has ended, its whole group with it; nothing comes after this.
    Ended(Ending),
}

/// How near the end is.
#[derive(Debug, Clone, Copy)]
enum End {
    /// It runs.
    Far,
    /// It closed its output, and is killed unless it has exited by then.
    Silent { by: Instant },
    /// It was killed, because of this, and must have exited by then.
    Killed { why: &'static str, by: Instant },
    /// It has exited, and what it wrote is read until then.
    Exited { why: Option<&'static str>, by: Instant },
}

impl Process {
    /// Starts the worker and says hello.
    pub(super) async fn start(
        spec: &WorkerSpec,
        script: &Script,
        containment: &Containment,
    ) -> Result<Self, StartHookError> {
        let token = token();
        let hello = frames::hello(&token, spec.bounds.frame, &spec.hello);
        let mut argv = spec.program.argv.clone();
        argv.push(script.entry.clone().into());
        let limits = Limits::default();
        let invocation = Invocation {
            program: Program { argv, without_interpreter: None },
            stdin: hello,
            environment: spec.environment.clone(),
            files: Vec::new(),
            working_directory: spec.working_directory.clone(),
            limits,
        };
        let prepared = containment.prepare(&limits);
        let by = Instant::now() + limits.busy_retry;
        let beside = Beside { files: &[], mark: prepared.mark() };
        let mut child = spawn::start(&invocation, beside, by).await?;
        let pipes = pipes(&mut child, spec.bounds.frame.saturating_add(MARGIN));
        // The tree comes into being in any case: when anything fails here it is dropped, which kills it.
        let tree = Tree::new(child, prepared);
        tree.bound(&limits.resources).map_err(|source| StartHookError::Bound { source })?;
        let (input, stdout, stderr) = pipes.map_err(|source| StartHookError::Watch { source })?;
        let mut process = Self {
            tree,
            input: Some(input),
            unwritten: invocation.stdin.into(),
            crowded: false,
            stdout,
            stderr,
            token,
            events: VecDeque::new(),
            end: End::Far,
        };
        process.write();
        Ok(process)
    }

    /// Puts a frame behind those that are not written yet.
    pub(super) fn push(&mut self, frame: &[u8]) {
        self.unwritten.extend(frame);
    }

    /// Whether more than frames that cannot wait may be pushed; if not, an event says when.
    pub(super) fn has_room(&mut self) -> bool {
        self.crowded = self.unwritten.len() >= ENOUGH;
        !self.crowded
    }

    /// Whether it has exited or was killed.
    pub(super) fn is_ending(&self) -> bool {
        !matches!(self.end, End::Far | End::Silent { .. })
    }

    /// Kills the whole group; the event of the end follows.
    pub(super) fn kill(&mut self, why: &'static str) {
        if let End::Far | End::Silent { .. } = self.end {
            self.tree.kill();
            self.end = End::Killed { why, by: Instant::now() + SETTLE };
        }
    }

    /// Ends the whole group and waits for it, without a look at what it says.
    pub(super) async fn ended(mut self) {
        self.kill("it was not needed any more");
        while !matches!(self.event().await, Event::Ended(_)) {}
    }

    /// Waits for the next event, and writes meanwhile. Cancel safe.
    pub(super) async fn event(&mut self) -> Event {
        loop {
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            self.write();
            if !self.events.is_empty() {
                continue;
            }
            if let Some(ending) = self.concluded() {
                return Event::Ended(ending);
            }
            let by = match self.end {
                End::Far => None,
                End::Silent { by } | End::Killed { by, .. } => Some(by),
                // Those who left its group are looked for again and again.
                End::Exited { by, .. } => Some(by.min(Instant::now() + TICK)),
            };
            let exited = matches!(self.end, End::Exited { .. });
            tokio::select! {
                () = self.stdout.readable() => self.read_stdout(),
                () = self.stderr.readable() => self.read_stderr(),
                () = writable(self.input.as_ref()), if !self.unwritten.is_empty() => {}
                () = poll_fn(|cx| self.tree.poll_exit(cx)), if !exited => self.exited(),
                () = until(by) => self.too_late(),
            }
        }
    }

    /// What was waited for has not come.
    fn too_late(&mut self) {
        match self.end {
            // Nobody but us can close the output of a worker that goes on.
            End::Silent { .. } => self.kill("it closed its output"),
            _ => self.exited(),
        }
    }

    /// The leader has exited, or is not waited for any more.
    fn exited(&mut self) {
        let why = match self.end {
            End::Far | End::Silent { .. } => None,
            End::Killed { why, .. } => Some(why),
            End::Exited { .. } => return,
        };
        // Helpers of plugins hold the pipes, and end with the worker.
        self.tree.kill();
        self.end = End::Exited { why, by: Instant::now() + SETTLE };
        self.input = None;
    }

    /// How it ended, once everything that it wrote is read.
    fn concluded(&mut self) -> Option<Ending> {
        let End::Exited { why, by } = self.end else {
            if let End::Far = self.end
                && self.stdout.is_at_end()
            {
                self.end = End::Silent { by: Instant::now() + SETTLE };
            }
            return None;
        };
        let over = self.tree.sweep() == Sweep::Nobody && self.stdout.is_at_end() && self.stderr.is_at_end();
        if !over && Instant::now() < by {
            return None;
        }
        let signal = |why: String| Ending { kind: FailureKind::Signal, why };
        Some(match (why, self.tree.take_status()) {
            (Some(why), _) => signal(format!("the worker was killed: {why}")),
            (None, Status::Known(status)) => match status.signal() {
                Some(number) => signal(format!("the worker was ended by signal {number}")),
                None => Ending {
                    kind: FailureKind::Exit,
                    why: format!("the worker ended with status {}", status.code().unwrap_or_default()),
                },
            },
            (None, Status::Lost) => Ending { kind: FailureKind::Exit, why: "the worker ended".to_owned() },
        })
    }

    fn write(&mut self) {
        while let Some(input) = &self.input
            && !self.unwritten.is_empty()
        {
            match input.try_write(self.unwritten.as_slices().0) {
                Ok(bytes) => drop(self.unwritten.drain(..bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if try_again(&error) => {}
                // Nobody reads any more: its end is near.
                Err(_) => self.input = None,
            }
        }
        if self.input.is_none() {
            self.unwritten.clear();
        }
        if self.crowded && self.unwritten.len() < ENOUGH {
            self.crowded = false;
            self.events.push_back(Event::Room);
        }
    }

    fn read_stdout(&mut self) {
        let Self { stdout, events, token, .. } = self;
        stdout.read(|line| {
            events.push_back(match line {
                Line::Whole(line) => match frames::read(&line, token) {
                    Some(frame) => Event::Frame(frame),
                    None => Event::Log(WorkerLog::output(LogSource::Stray, &line)),
                },
                Line::TooLong(bytes) => too_long(bytes),
            });
        });
    }

    fn read_stderr(&mut self) {
        let Self { stderr, events, .. } = self;
        stderr.read(|line| {
            events.push_back(match line {
                Line::Whole(line) => Event::Log(WorkerLog::output(LogSource::Stderr, &line)),
                Line::TooLong(bytes) => too_long(bytes),
            });
        });
    }
}

fn too_long(bytes: usize) -> Event {
    let text = format!("a line of {bytes} bytes was dropped");
    Event::Log(WorkerLog::supervisor(LogLevel::Warn, text))
}

async fn writable(input: Option<&Sender>) {
    match input {
        // An error shows itself when it is written.
        Some(input) => drop(input.writable().await),
        None => std::future::pending().await,
    }
}

/// The moment, if there is one.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn pipes(child: &mut Child, frame: usize) -> io::Result<(Sender, Lines, Lines)> {
    const LINE_OF_STDERR: usize = 64 * 1024;
    let missing = || io::Error::other("a pipe is missing");
    let input = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
    rustix::io::ioctl_fionbio(&input, true)?;
    Ok((
        Sender::from_owned_fd_unchecked(input)?,
        Lines::new(child.stdout.take().ok_or_else(missing)?.into(), frame)?,
        Lines::new(child.stderr.take().ok_or_else(missing)?.into(), LINE_OF_STDERR)?,
    ))
}

/// New for each worker (OC-72).
fn token() -> String {
    let mut bytes = [0_u8; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    let filled = rustix::rand::getrandom(&mut bytes, flags).unwrap_or(0);
    if filled < bytes.len() {
        // A kernel without randomness: what keeps hash maps apart has to do.
        use std::hash::{BuildHasher, RandomState};
        let random = || RandomState::new().hash_one(Instant::now()).to_ne_bytes();
        bytes = [random(), random()].concat().try_into().unwrap_or(bytes);
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
