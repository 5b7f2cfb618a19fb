//! How a process ended to a failure, if it is one (CH-33, CH-36, CH-62).

use lineside_core::failure::seconds;
use lineside_core::invocation::{Captured, Ended, Exit};
use lineside_core::{Failure, FailureKind};

use super::output::ReadOutputError;
use crate::text::with_stderr;

/// Whether it exited with 0 in time.
///
/// # Errors
/// It did not.
pub(super) fn exited_well(ended: &Ended) -> Result<(), Failure> {
    let told = |kind, detail: String| Err(failure(kind, &detail, &ended.stderr));
    match &ended.exit {
        Exit::Code(0) => Ok(()),
        Exit::Code(code) => told(FailureKind::Exit, format!("exit status {code}")),
        Exit::Signal(signal) => told(FailureKind::Signal, format!("signal {signal}")),
        Exit::TimedOut { after } => {
            told(FailureKind::Timeout, format!("timed out after {} s", seconds(*after)))
        }
        Exit::Lost => told(FailureKind::Exit, "exit status lost".to_owned()),
        // A start that the system refuses is a run all the same, which is tried again (CH-32, CH-52).
        Exit::NotStarted { why } => Err(Failure::new(FailureKind::Spawn, format!("cannot start: {why}"))),
    }
}

/// The failure of a hook whose output cannot be read.
pub(super) fn unreadable(error: &ReadOutputError, ended: &Ended) -> Failure {
    failure(FailureKind::Output, &format!("unreadable output: {error}"), &ended.stderr)
}

fn failure(kind: FailureKind, detail: &str, stderr: &Captured) -> Failure {
    Failure::new(kind, with_stderr(detail, stderr))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_core::FailureKind;
    use lineside_core::invocation::{Captured, Ended, Exit, Leaked};

    use super::{exited_well, unreadable};
    use crate::chord::output::ReadOutputError;

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
        // CH-32, CH-33, CH-36, CH-61, CH-62
        let check = |exit: Exit, stderr: &str, kind: FailureKind, detail: &str| {
            let failure = exited_well(&ended(exit, stderr)).unwrap_err();
            assert_eq!((failure.kind, &*failure.detail), (kind, detail));
        };
        check(Exit::Code(1), "", FailureKind::Exit, "exit status 1");
        check(Exit::Code(2), " boom \n", FailureKind::Exit, "exit status 2 (stderr: boom)");
        check(Exit::Code(127), "", FailureKind::Exit, "exit status 127");
        check(Exit::Signal(9), "", FailureKind::Signal, "signal 9");
        let after = Duration::from_secs(30);
        check(Exit::TimedOut { after }, "x", FailureKind::Timeout, "timed out after 30 s (stderr: x)");
        let why = "no such file".to_owned();
        check(Exit::NotStarted { why }, "", FailureKind::Spawn, "cannot start: no such file");
        let long = "é".repeat(2000);
        let expected = format!("exit status 1 (stderr: {})", "é".repeat(1024));
        check(Exit::Code(1), &long, FailureKind::Exit, &expected);
        assert!(exited_well(&ended(Exit::Code(0), "noise")).is_ok());
        let failure = unreadable(&ReadOutputError::Array, &ended(Exit::Code(0), "oops"));
        assert_eq!(failure.detail, "unreadable output: an array (stderr: oops)");
        assert_eq!(failure.kind, FailureKind::Output);
    }
}
