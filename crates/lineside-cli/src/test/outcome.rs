//! What came of suites, cases and steps.

use std::path::PathBuf;
use std::time::Duration;

use super::suite::Suite;

/// What came of one file.
#[derive(Debug)]
pub(super) struct SuiteOutcome {
    pub(super) file: PathBuf,
    /// The format that its hooks are written in; empty when that could not be read.
    pub(super) dialect: String,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
}

/// What was done with a file.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Its cases were run.
    Ran(Vec<CaseOutcome>),
    /// None was, for this reason.
    Skipped { cases: usize, why: String },
    /// It is no case file, for these reasons.
    Broken(Vec<String>),
}

/// What came of one case.
#[derive(Debug)]
pub(super) struct CaseOutcome {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) from: Option<String>,
    pub(super) status: Status,
    pub(super) took: Duration,
}

/// Whether a case did what it says.
#[derive(Debug)]
pub(super) enum Status {
    Passed,
    Failed(Vec<Fault>),
    /// It needs something that this build does not have.
    Unsupported(String),
}

/// Something that is not as the case says.
#[derive(Debug)]
pub(super) struct Fault {
    /// The step, counted from 1, and what it does; absent for a fault of the whole case.
    pub(super) step: Option<(usize, String)>,
    pub(super) mismatch: Mismatch,
}

/// A difference, or an error in place of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// The expectation.
    pub(super) what: String,
    /// What it asks for; absent for an error.
    pub(super) expected: Option<String>,
    /// What there was.
    pub(super) got: String,
}

/// How many cases passed, failed, and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

impl SuiteOutcome {
    pub(super) fn skipped(file: PathBuf, suite: Suite, why: String) -> Self {
        let outcome = Outcome::Skipped { cases: suite.cases.len(), why };
        Self { file, dialect: suite.dialect, outcome, took: Duration::ZERO }
    }

    pub(super) fn broken(file: PathBuf, errors: Vec<String>) -> Self {
        Self { file, dialect: String::new(), outcome: Outcome::Broken(errors), took: Duration::ZERO }
    }

    /// Its counts. A file that is no case file counts as one failure.
    pub(super) fn counts(&self) -> Counts {
        match &self.outcome {
            Outcome::Broken(_) => Counts { failed: 1, ..Counts::default() },
            Outcome::Skipped { cases, .. } => Counts { skipped: *cases, ..Counts::default() },
            Outcome::Ran(cases) => {
                let passed = cases.iter().filter(|case| matches!(case.status, Status::Passed)).count();
                Counts { passed, failed: cases.len() - passed, skipped: 0 }
            }
        }
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, more| Self {
            passed: sum.passed + more.passed,
            failed: sum.failed + more.failed,
            skipped: sum.skipped + more.skipped,
        })
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

impl Mismatch {
    pub(super) fn new(what: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self { what: what.into(), expected: Some(expected.into()), got: got.into() }
    }

    pub(super) fn error(error: &anyhow::Error) -> Self {
        Self { what: "error".to_owned(), expected: None, got: format!("{error:#}") }
    }
}
