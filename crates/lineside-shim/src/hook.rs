//! One call from its arguments to its answer, in time.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::attempt::{Attempt, STEPS, Step};
use crate::document::Document;
use crate::environment::Environment;
use crate::full_command::FullCommand;
use crate::gates::Host;
use crate::{Answer, Call, Closed, closed, places, silent};

/// How long a connection may take, from the moment at which the document was read; the start of a daemon is part of it.
const CONNECTION: Duration = Duration::from_secs(2);

/// How long the entry of a host lets its command run, as `lineside install` writes it.
const ENTRY: Duration = Duration::from_secs(60);
/// The same at the end of a session and at an interruption of Codex.
const ENTRY_OF_AN_END: Duration = Duration::from_secs(3);
/// How long before that the answer is there: the host never decides by its own limit.
const EARLIER: Duration = Duration::from_secs(1);

/// The stack of the second thread, in bytes: a document is read there, whose values may be nested.
const STACK: usize = 256 << 10;

/// `hook` with the arguments behind it.
pub(crate) fn run(arguments: &[OsString], environment: &Environment, full: &FullCommand) -> ExitCode {
    let began = Instant::now();
    let arguments = match Arguments::read(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let stderr = format!("lineside: {error}\n").into_bytes();
            return print(&Answer { stderr, exit: 2, ..Answer::default() });
        }
    };
    print(&answer(&arguments, environment, *full, began))
}

/// The answer to a call that began at that moment.
fn answer(arguments: &Arguments, environment: &Environment, full: FullCommand, began: Instant) -> Answer {
    let Arguments { host, event } = arguments;
    let is_off = places::is_off(environment);
    let (steps, come) = sync_channel(STEPS);
    let attempt = Attempt {
        host: *host,
        event: event.clone(),
        environment: Arc::new(environment.clone()),
        full,
        is_off,
        steps,
    };
    let host = *host;
    let run = move || attempt.run(|document| began + limit(host, document));
    // Reading, connecting and waiting have no limit of their own; this thread has it, and leaves the other one behind.
    if thread::Builder::new().stack_size(STACK).spawn(run).is_err() {
        let call = Call { host, event: event.as_deref(), stdin: b"", environment };
        return closed(&call, Closed::Unreachable);
    }
    let mut document = Arc::default();
    let mut until = began + limit(host, b"");
    let ended = loop {
        match come.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Step::Read(read)) => {
                document = read;
                until = began + limit(host, &document);
                until = until.min(Instant::now() + CONNECTION);
            }
            Ok(Step::Connected) => until = began + limit(host, &document),
            Ok(Step::Ended(ended)) => break ended,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                break Err(Closed::Unreachable);
            }
        }
    };
    let call = Call { host, event: event.as_deref(), stdin: &document, environment };
    match ended {
        Ok(answer) => answer,
        Err(_) if is_off => silent(&call),
        Err(why) => closed(&call, why),
    }
}

/// How long a call may take.
fn limit(host: Host, document: &[u8]) -> Duration {
    let is_end = |name: &str| matches!(name, "SessionEnd" | "Interrupt");
    let event = || Document::read(document)?.event;
    let entry = match host {
        Host::Codex if event().is_some_and(|name| is_end(&name)) => ENTRY_OF_AN_END,
        _ => ENTRY,
    };
    entry - EARLIER
}

/// Prints an answer. A host that has closed its side has the exit status alone.
fn print(answer: &Answer) -> ExitCode {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    if !answer.stdout.is_empty() {
        out.write_all(&answer.stdout).and_then(|()| out.flush()).ok();
    }
    if !answer.stderr.is_empty() {
        err.write_all(&answer.stderr).ok();
    }
    ExitCode::from(answer.exit)
}
