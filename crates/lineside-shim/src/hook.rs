//! One call from its arguments to its answer, in time.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lineside_account::{Account, ConnectError, Places, connect};

use crate::arguments::Arguments;
use crate::attempt::Attempt;
use crate::document::Document;
use crate::environment::Environment;
use crate::full_command::FullCommand;
use crate::gates::Host;
use crate::progress::Progress;
use crate::start::start;
use crate::{Answer, Call, Closed, closed, silent};

/// How long the entry of a host lets its command run, unless it says otherwise.
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
    if let Some((option, places)) = arguments.split_first()
        && option == "--start"
    {
        return start_alone(places, *full);
    }
    let arguments = match Arguments::read(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let stderr = format!("lineside: {error}\n").into_bytes();
            return print(&Answer { stderr, exit: 2, ..Answer::default() }).into();
        }
    };
    print(&answer(&arguments, environment, *full, began)).into()
}

/// `hook --start` with places behind it: has a daemon answer there, unless hooks are off. It is for a plugin, which would
/// start one in the environment of its program. Exits with 0 when it has, else with 2.
fn start_alone(places: &[OsString], full: FullCommand) -> ExitCode {
    let account = Account::own();
    let lives = Arguments::places(places)
        .ok()
        .and_then(|named| Some((Places::of(&account, &named)?, named)))
        .is_some_and(|(places, named)| {
            places.is_off()
                || match connect(&places.socket) {
                    Err(ConnectError::Absent) => start(full, &account, &places, &named),
                    connected => connected.is_ok(),
                }
        });
    ExitCode::from(if lives { 0 } else { 2 })
}

/// The answer to a call that began at that moment.
fn answer(arguments: &Arguments, environment: &Environment, full: FullCommand, began: Instant) -> Answer {
    let host = arguments.host;
    let progress = Arc::new(Progress::new(began + limit(host, arguments.within, b"")));
    // Reading, connecting and waiting have no limit of their own; the second thread has it, and ends the process there.
    let watch = {
        let arguments = arguments.clone();
        let progress = Arc::clone(&progress);
        move || {
            if let Some((document, late)) = progress.limit() {
                let answer = undecided(&arguments, &document, progress.is_off(), late);
                std::process::exit(print(&answer).into());
            }
        }
    };
    if thread::Builder::new().stack_size(STACK).spawn(watch).is_err() {
        return undecided(arguments, b"", false, Closed::Unreachable);
    }
    let event = arguments.event.as_deref();
    let given = arguments.document.as_ref();
    let named = &arguments.named;
    let attempt = Attempt { host, event, given, environment, named, full, progress: &progress };
    let (document, ended) = attempt.run(|document| began + limit(host, arguments.within, document));
    while !progress.end() {
        // The other thread is about to end the process.
        thread::park();
    }
    ended.unwrap_or_else(|why| undecided(arguments, &document, progress.is_off(), why))
}

/// The answer to a call that no daemon has decided.
fn undecided(arguments: &Arguments, document: &[u8], is_off: bool, why: Closed) -> Answer {
    let Arguments { host, event, .. } = arguments;
    let call = Call { host: *host, event: event.as_deref(), stdin: document, grant: None };
    if is_off { silent(&call) } else { closed(&call, why) }
}

/// How long a call may take.
fn limit(host: Host, within: Option<Duration>, document: &[u8]) -> Duration {
    let is_end = |name: &str| matches!(name, "SessionEnd" | "Interrupt");
    let event = || Document::read(document)?.event;
    let entry = match host {
        Host::Codex if event().is_some_and(|name| is_end(&name)) => ENTRY_OF_AN_END,
        _ => within.unwrap_or(ENTRY),
    };
    entry - EARLIER
}

/// Prints an answer, and gives the exit status.
///
/// Words that cannot be written were perhaps a refusal: the status says it then, which every host takes for one, and
/// standard error says why. A host that has closed its side has the status alone.
fn print(answer: &Answer) -> u8 {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    let written = match &answer.stdout[..] {
        [] => Ok(()),
        // A process that is started without one has the null device there.
        _ if is_null(&out) => Err(io::Error::other("there is no standard output")),
        words => out.write_all(words).and_then(|()| out.flush()),
    };
    err.write_all(&answer.stderr).ok();
    let Err(error) = written else { return answer.exit };
    writeln!(err, "lineside: the answer could not be written ({error}), so this was denied").ok();
    2
}

/// Whether something is the null device.
fn is_null(output: impl AsFd) -> bool {
    let device = |found: Metadata| found.file_type().is_char_device().then_some(found.rdev());
    let own = output.as_fd().try_clone_to_owned().and_then(|output| File::from(output).metadata());
    let null = fs::metadata("/dev/null").ok().and_then(device);
    null.is_some() && own.ok().and_then(device) == null
}
