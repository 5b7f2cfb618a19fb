//! `cargo xtask test`: everything that must hold, in one command.
//!
//! Every step runs, whatever became of those before it; the last line counts.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

pub(crate) mod step;
mod steps;

mod cargo_tests;
mod conformance;
mod crates;
pub(crate) mod elsewhere;
mod examples;
mod features;
pub(crate) mod node;
mod plugins;
mod python;
mod rig;
mod tally;

mod report;

use report::{Line, State};
use step::Step;

/// The steps in the order in which they run.
pub(crate) fn every_step() -> Vec<&'static Step> {
    steps::STEPS.iter().collect()
}

/// The steps with these names, separated by commas, in the order in which they run.
pub(crate) fn steps_named(names: &str) -> Result<Vec<&'static Step>> {
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    if let Some(unknown) = names.iter().find(|name| !steps::STEPS.iter().any(|step| step.name == **name)) {
        bail!("there is no step `{unknown}`; `cargo xtask test --list` shows them");
    }
    Ok(steps::STEPS.iter().filter(|step| names.contains(&step.name)).collect())
}

/// Says what there is to run.
pub(crate) fn list() {
    for step in &steps::STEPS {
        println!("{:12} {}", step.name, step.about);
    }
}

/// Runs the steps one after the other and reports them together.
pub(crate) fn run(workspace: &Workspace, steps: &[&Step]) -> Result<ExitCode> {
    let lines: Vec<Line> = steps.iter().map(|step| take(workspace, step)).collect();
    Ok(report::conclude(&lines))
}

fn take(workspace: &Workspace, step: &Step) -> Line {
    report::begin(step);
    let began = Instant::now();
    let outcome = (step.run)(workspace);
    let line = Line { name: step.name, took: began.elapsed(), state: State::of(outcome) };
    report::end(&line);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        let chosen: Vec<_> = steps_named("tidy, fmt").unwrap().iter().map(|step| step.name).collect();
        assert_eq!(chosen, ["fmt", "tidy"]);
    }

    #[test]
    fn an_unknown_step_is_named() {
        let error = steps_named("fmt,lint").err().unwrap();
        assert!(error.to_string().starts_with("there is no step `lint`"), "{error}");
    }
}
