//! What a step of the test is, and what may become of it.

use std::ops::AddAssign;

use anyhow::Result;

use crate::workspace::Workspace;

/// One thing that must hold.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// An error is a step that could not be judged; it counts as one failure.
    pub(crate) run: fn(&Workspace) -> Result<Outcome>,
}

/// What became of a step that could be judged.
pub(crate) enum Outcome {
    Judged(Counts),
    /// Not run, and why.
    Skipped(&'static str),
}

/// Tests that passed and tests that failed. A step that is not made of tests is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    pub(crate) const ONE_PASSED: Self = Self { passed: 1, failed: 0 };
    pub(crate) const ONE_FAILED: Self = Self { passed: 0, failed: 1 };
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}
