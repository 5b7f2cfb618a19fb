//! Reading from a runner's output how many tests passed.
//!
//! Each runner has its own last word, and only that one is read: the output of a failing test may hold the last word
//! of another runner.

use super::step::Counts;
use crate::paint;
use crate::programme::Ended;

/// Whose output it is.
#[derive(Clone, Copy)]
pub(super) enum Runner {
    /// `Summary [ 0.5s] 3 tests run: 2 passed (1 slow), 1 failed, 0 skipped`, once.
    Nextest,
    /// `test result: ok. 3 passed; 0 failed; 0 ignored; …`, once for each test binary.
    Libtest,
    /// `3 passed, 0 failed`, of `lineside test`, once.
    Cases,
    /// `ℹ pass 3`, and lines for what failed and was cancelled, once.
    Node,
}

/// What the runner counted. One that does not end well has failed, even if it counted no failure.
/// Nothing when it ended well and counted nothing.
pub(super) fn tally(runner: Runner, ended: &Ended) -> Option<Counts> {
    let mut words = ended.lines.iter().filter_map(|line| last_word(runner, &paint::washed(line)));
    let counted = match runner {
        Runner::Libtest | Runner::Node => words.reduce(|mut sum, more| {
            sum += more;
            sum
        }),
        Runner::Nextest | Runner::Cases => words.next_back(),
    };
    if ended.status.success() {
        return counted;
    }
    let mut counts = counted.unwrap_or_default();
    counts.failed = counts.failed.max(1);
    Some(counts)
}

fn last_word(runner: Runner, line: &str) -> Option<Counts> {
    let line = line.trim();
    match runner {
        Runner::Nextest => {
            line.strip_prefix("Summary [").and_then(|rest| rest.split_once("run:")).map(|(_, c)| counts(c))
        }
        Runner::Libtest => {
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")).map(|(_, c)| counts(c))
        }
        Runner::Cases => {
            let shape: Vec<&str> = line.split(' ').collect();
            let fits = matches!(shape[..], [_, "passed,", _, "failed"]);
            fits.then(|| counts(line)).filter(|counts| *counts != Counts::default())
        }
        Runner::Node => {
            let (word, number) = line.strip_prefix("ℹ ")?.split_once(' ')?;
            let number = number.parse().ok()?;
            match word {
                "pass" => Some(Counts { passed: number, failed: 0 }),
                "fail" | "cancelled" => Some(Counts { passed: 0, failed: number }),
                _ => None,
            }
        }
    }
}

/// `2 passed (1 slow), 1 failed, 1 timed out`: what did not pass and was not skipped has failed.
fn counts(text: &str) -> Counts {
    let mut counts = Counts::default();
    for part in text.split([',', ';']) {
        let Some((number, word)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match word.split(" (").next() {
            Some("passed") => counts.passed += number,
            Some("failed" | "exec failed" | "timed out") => counts.failed += number,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn check(runner: Runner, code: i32, output: &str, expected: Option<(u64, u64)>) {
        let status = ExitStatus::from_raw(code << 8);
        let counts = tally(runner, &Ended { status, lines: output.lines().map(str::to_owned).collect() });
        assert_eq!(counts.map(|counts| (counts.passed, counts.failed)), expected);
    }

    #[test]
    fn nextest_counts_once_whatever_its_tests_print() {
        let output = "test result: FAILED. 0 passed; 1 failed; 0 ignored\n\
            \x1b[31;1m     Summary\x1b[0m [   0.512s] 12/14 tests run: 9 passed (1 slow, 1 leaky), 2 failed, 1 timed out, 3 skipped";
        check(Runner::Nextest, 100, output, Some((9, 3)));
    }

    #[test]
    fn libtest_counts_for_each_binary() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s";
        check(Runner::Libtest, 101, output, Some((4, 2)));
    }

    #[test]
    fn cases_end_with_a_line_of_their_own() {
        check(Runner::Cases, 0, "1 passed, 0 failed\nok agenthooks.a\n207 passed, 0 failed", Some((207, 0)));
        check(Runner::Cases, 0, "0 passed, 0 failed", None);
        check(Runner::Cases, 0, "", None);
    }

    #[test]
    fn node_counts_what_it_cancels_as_failed() {
        let output = "ℹ tests 6\nℹ suites 0\nℹ pass 3\nℹ fail 1\nℹ cancelled 2\nℹ duration_ms 6852.9";
        check(Runner::Node, 1, output, Some((3, 3)));
    }

    #[test]
    fn a_bad_end_is_a_failure() {
        check(Runner::Libtest, 101, "error: could not compile", Some((0, 1)));
        check(Runner::Cases, 1, "5 passed, 0 failed", Some((5, 1)));
    }
}
