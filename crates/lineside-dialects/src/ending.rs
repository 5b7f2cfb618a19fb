//! How a command has ended, in the words that every format shares: its status, or why the hook could not answer.

use std::fmt::Display;

use lineside_core::failure::seconds;
use lineside_core::invocation::{Ended, Exit};
use lineside_core::{Failure, FailureKind};
use lineside_redact::redact;

use crate::text::with_stderr;

/// The status with which a command ended by itself.
///
/// # Errors
/// It did not.
pub(crate) fn status(ended: &Ended) -> Result<i32, Failure> {
    match &ended.exit {
        Exit::Code(code) => Ok(*code),
        Exit::Signal(signal) => Err(failure(FailureKind::Signal, &format!("signal {signal}"), ended)),
        Exit::TimedOut { after } => {
            let detail = format!("timed out after {} s", seconds(*after));
            Err(failure(FailureKind::Timeout, &detail, ended))
        }
        Exit::NotStarted { why } => Err(cannot_start(why)),
        Exit::Lost => Err(failure(FailureKind::Exit, "exit status lost", ended)),
    }
}

/// A status that is a failure.
pub(crate) fn bad_status(code: i32, ended: &Ended) -> Failure {
    failure(FailureKind::Exit, &format!("exit status {code}"), ended)
}

/// A status that is a failure, of a run whose output is for a reader: with its last lines, on whichever stream they are.
pub(crate) fn bad_status_of_run(code: i32, ended: &Ended) -> Failure {
    let streams = [("stderr", &ended.stderr), ("output", &ended.stdout)];
    let mut said = streams.into_iter().map(|(name, stream)| (name, stream.trimmed_text()));
    let detail = format!("exit status {code}");
    Failure::new(
        FailureKind::Exit,
        match said.find(|(_, text)| !text.is_empty()) {
            // A secret that is cut is not known any more, so it goes first.
            Some((name, text)) => format!("{detail} ({name}: {})", last_lines(&redact(&text))),
            None => detail,
        },
    )
}

/// The last lines of a text: 20 at most, and 2,048 bytes.
fn last_lines(text: &str) -> &str {
    let within = (text.len().saturating_sub(2_048)..).find_map(|from| text.get(from..)).unwrap_or_default();
    let line = within.rmatch_indices('\n').nth(19).map_or(0, |(at, _)| at + 1);
    within.get(line..).unwrap_or(within)
}

/// What a command has printed cannot be read.
pub(crate) fn unreadable(error: impl Display, ended: &Ended) -> Failure {
    failure(FailureKind::Output, &format!("unreadable output: {error}"), ended)
}

/// Nothing is started.
pub(crate) fn cannot_start(why: impl Display) -> Failure {
    Failure::not_started(FailureKind::Spawn, format!("cannot start: {why}"))
}

/// With what the command has printed on standard error.
fn failure(kind: FailureKind, detail: &str, ended: &Ended) -> Failure {
    Failure::new(kind, with_stderr(detail, &ended.stderr))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
    use lineside_core::{Failure, FailureKind};

    use super::{bad_status, bad_status_of_run, status, unreadable};

    fn ended(exit: Exit, stderr: &str) -> Ended {
        Ended {
            exit,
            stdout: Captured::default(),
            stderr: Captured { bytes: stderr.into(), dropped: 0 },
            took: Duration::ZERO,
            leaked: Leaked::Nothing,
        }
    }

    #[test]
    fn a_failure_has_a_kind_and_a_detail() {
        let told = |failure: Failure, kind: FailureKind, detail: &str| {
            assert_eq!((failure.kind, &*failure.detail), (kind, detail));
        };
        let check = |exit: Exit, stderr: &str, kind: FailureKind, detail: &str| {
            told(status(&ended(exit, stderr)).unwrap_err(), kind, detail);
        };
        check(Exit::Signal(9), "", FailureKind::Signal, "signal 9");
        let after = Duration::from_secs(30);
        check(Exit::TimedOut { after }, "x", FailureKind::Timeout, "timed out after 30 s (stderr: x)");
        let why = "no such file".to_owned();
        check(Exit::NotStarted { why }, "", FailureKind::Spawn, "cannot start: no such file");
        check(Exit::Lost, " no\n", FailureKind::Exit, "exit status lost (stderr: no)");
        let failed = ended(Exit::Code(2), " boom \n");
        assert_eq!(status(&failed).unwrap(), 2);
        told(bad_status(2, &failed), FailureKind::Exit, "exit status 2 (stderr: boom)");
        let mut failed = ended(Exit::Code(3), "");
        told(bad_status_of_run(3, &failed), FailureKind::Exit, "exit status 3");
        failed.stdout.bytes = (0..40).map(|line| format!("line {line}\n")).collect::<String>().into();
        let detail = bad_status_of_run(3, &failed).detail;
        assert!(detail.starts_with("exit status 3 (output: line 20\n"), "{detail}");
        assert!(detail.ends_with("\nline 39)"), "{detail}");
        let detail = "unreadable output: an array (stderr: oops)";
        told(unreadable("an array", &ended(Exit::Code(0), "oops")), FailureKind::Output, detail);
    }
}
