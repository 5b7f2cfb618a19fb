//! One call from its arguments to its answer, in time.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::attempt::Attempt;
use crate::document::Document;
use crate::environment::Environment;
use crate::full_command::FullCommand;
use crate::gates::Host;
use crate::progress::Progress;
use crate::{Answer, Call, Closed, closed, places, silent};

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
    let host = arguments.host;
    let is_off = places::is_off(environment);
    let progress = Arc::new(Progress::new(began + limit(host, b"")));
    // Reading, connecting and waiting have no limit of their own; the second thread has it, and ends the process there.
    let watch = {
        let (arguments, environment) = (arguments.clone(), environment.clone());
        let progress = Arc::clone(&progress);
        move || {
            if let Some(document) = progress.limit() {
                let answer = undecided(&arguments, &environment, &document, is_off, Closed::Unreachable);
                print(&answer);
                std::process::exit(answer.exit.into());
            }
        }
    };
    if thread::Builder::new().stack_size(STACK).spawn(watch).is_err() {
        return undecided(arguments, environment, b"", is_off, Closed::Unreachable);
    }
    let event = arguments.event.as_deref();
    let given = arguments.document.as_ref();
    let attempt = Attempt { host, event, given, environment, full, is_off, progress: &progress };
    let (document, ended) = attempt.run(|document| began + limit(host, document));
    while !progress.end() {
        // The other thread is about to end the process.
        thread::park();
    }
    ended.unwrap_or_else(|why| undecided(arguments, environment, &document, is_off, why))
}

/// The answer to a call that no daemon has decided.
fn undecided(
    arguments: &Arguments,
    environment: &Environment,
    document: &[u8],
    is_off: bool,
    why: Closed,
) -> Answer {
    let Arguments { host, event, .. } = arguments;
    let call = Call { host: *host, event: event.as_deref(), stdin: document, environment };
    if is_off { silent(&call) } else { closed(&call, why) }
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
