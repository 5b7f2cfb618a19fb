//! What a person reads of a test run, and the line that a machine reads.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use super::step::{Counts, Outcome, Step};
use crate::paint::Ink;

/// A step that is over.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) took: Duration,
    pub(super) state: State,
}

/// What became of a step.
pub(super) enum State {
    Passed(Counts),
    Failed(Counts, String),
    Skipped(&'static str),
}

impl State {
    pub(super) fn of(outcome: Result<Outcome>) -> Self {
        match outcome {
            Ok(Outcome::Judged(counts)) if counts.failed == 0 => Self::Passed(counts),
            Ok(Outcome::Judged(counts)) => Self::Failed(counts, format!("{} failed", counts.failed)),
            Ok(Outcome::Skipped(why)) => Self::Skipped(why),
            Err(error) => Self::Failed(Counts::ONE_FAILED, format!("{error:#}")),
        }
    }

    fn counts(&self) -> Counts {
        match self {
            Self::Passed(counts) | Self::Failed(counts, _) => *counts,
            Self::Skipped(_) => Counts::default(),
        }
    }

    fn word(&self) -> std::borrow::Cow<'static, str> {
        match self {
            Self::Passed(_) => Ink::Green.on("ok     "),
            Self::Failed(..) => Ink::Red.on("FAILED "),
            Self::Skipped(_) => Ink::Yellow.on("skipped"),
        }
    }

    fn remark(&self) -> &str {
        match self {
            Self::Passed(_) => "",
            Self::Failed(_, why) => why,
            Self::Skipped(why) => why,
        }
    }
}

/// The heading of a step.
pub(super) fn begin(step: &Step) {
    println!("\n{} {}", Ink::Bold.on(format!("== {}", step.name)), Ink::Faint.on(step.about));
}

/// How it ended and how long it took.
pub(super) fn end(line: &Line) {
    let remark = line.state.remark();
    println!(
        "{} {} in {} {remark}",
        line.state.word().trim_end(),
        line.name,
        seconds(line.took).trim_start()
    );
}

/// The table of all steps and the closing line.
pub(super) fn conclude(lines: &[Line]) -> ExitCode {
    println!("\n{}", Ink::Bold.on("== summary"));
    let mut total = Counts::default();
    for line in lines {
        println!("{}", row(line).trim_end());
        total += line.state.counts();
    }
    println!("\n{}", closing(total));
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(line: &Line) -> String {
    let counts = line.state.counts();
    let passed =
        if counts == Counts::default() { String::new() } else { format!("{} passed", counts.passed) };
    let remark = line.state.remark().lines().next().unwrap_or_default();
    format!("  {:12} {} {} {passed:>12}  {remark}", line.name, line.state.word(), seconds(line.took))
}

/// Alone on its line, without colour: this is how a machine knows the end of a test run.
fn closing(total: Counts) -> String {
    format!("{} passed, {} failed", total.passed, total.failed)
}

fn seconds(time: Duration) -> String {
    format!("{:7.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_counts_as_one_failure_and_says_why() {
        let state = State::of(Err(anyhow::anyhow!("no such programme").context("cannot build")));
        assert_eq!(state.counts(), Counts::ONE_FAILED);
        assert_eq!(state.remark(), "cannot build: no such programme");
    }

    #[test]
    fn a_row_tells_counts_time_and_reason() {
        let state = State::of(Ok(Outcome::Judged(Counts { passed: 41, failed: 1 })));
        let row = row(&Line { name: "tests", took: Duration::from_millis(2_340), state });
        assert_eq!(crate::paint::washed(&row), "  tests        FAILED      2.3 s    41 passed  1 failed");
    }

    #[test]
    fn the_closing_line_is_only_numbers_and_words() {
        assert_eq!(closing(Counts { passed: 1200, failed: 0 }), "1200 passed, 0 failed");
    }
}
