//! `cargo xtask bench`: every bench target of the workspace, and one table of what they measured.
//!
//! A figure over its target is marked and fails nothing: times of a shared machine are for reading.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::paint::Ink;
use crate::programme::{FOR_A_BUILD, watch};
use crate::workspace::Workspace;

mod figures;

use figures::{Figure, Judgement};

/// How long to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Full,
    /// Criterion's `--quick`: fewer samples.
    Quick,
}

/// Runs them all. Fails only when one of them does not end well.
pub(crate) fn run(workspace: &Workspace, length: Length) -> Result<ExitCode> {
    let mut figures = Vec::new();
    let mut crashed = Vec::new();
    for (package, target) in workspace.targets("bench") {
        println!("{}", Ink::Bold.on(format!("{} {}", package.name, target.name)));
        let mut bench = workspace.cargo(["bench", "--package", &package.name, "--bench", &target.name]);
        if length == Length::Quick {
            bench.args(["--", "--quick"]);
        }
        let ended = watch(&mut bench, FOR_A_BUILD)?;
        figures.extend(ended.lines.iter().filter_map(|line| Figure::read(line)));
        if !ended.status.success() {
            crashed.push(format!("{} {}", package.name, target.name));
        }
    }
    print_table(&figures);
    if !crashed.is_empty() {
        bail!("these benches crashed: {}", crashed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table(figures: &[Figure]) {
    let widest =
        |cell: fn(&Figure) -> &str| figures.iter().map(|figure| cell(figure).len()).max().unwrap_or_default();
    let (name, value) = (widest(|figure| &figure.name), widest(|figure| &figure.value));
    let (unit, target) = (widest(|figure| &figure.unit), widest(|figure| &figure.target));
    println!();
    for figure in figures {
        let mark = match figure.judgement() {
            Judgement::Met => Ink::Green.on("pass"),
            Judgement::Missed => Ink::Red.on("over"),
            Judgement::NoTarget => Ink::Faint.on("-"),
        };
        println!(
            "{:name$}  {:>value$} {:unit$}  {:>target$}  {mark}",
            figure.name, figure.value, figure.unit, figure.target
        );
    }
}
