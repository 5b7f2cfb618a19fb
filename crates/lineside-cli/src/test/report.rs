//! The report: a line for each suite, what was wrong, and the sum; or one JSON object.

use anyhow::Result;
use lineside::core::failure::seconds;
use lineside::json::{Value, json};

use super::outcome::{CaseOutcome, Counts, Fault, Outcome, Status, SuiteOutcome};
use crate::painter::one_line;
use crate::style::{Style, Styles, Tone, count, print, print_json};

/// Prints outcomes as they come.
pub(super) struct Printer {
    json: bool,
    style: Style,
}

impl Printer {
    pub(super) fn new(json: bool, styles: Styles) -> Self {
        Self { json, style: styles.out }
    }

    /// A suite has come to its end.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(super) fn suite(&self, suite: &SuiteOutcome) -> Result<()> {
        if self.json {
            return Ok(());
        }
        Ok(print(lines(suite, self.style))?)
    }

    /// All have; gives the sum.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(super) fn finish(&self, suites: &[SuiteOutcome]) -> Result<Counts> {
        let total: Counts = suites.iter().map(SuiteOutcome::counts).sum();
        if self.json {
            let suites: Vec<Value> = suites.iter().map(suite_json).collect();
            let Counts { passed, failed, skipped } = total;
            let all = json!({"passed": passed, "failed": failed, "skipped": skipped, "suites": suites});
            print_json(&all)?;
        } else {
            let tone = if total.failed == 0 { Tone::Good } else { Tone::Bad };
            print([self.style.paint(tone, &total.to_string())])?;
        }
        Ok(total)
    }
}

fn lines(suite: &SuiteOutcome, style: Style) -> Vec<String> {
    let file = one_line(&suite.file.to_string_lossy());
    let mut lines = match &suite.outcome {
        Outcome::Skipped { cases, why } => {
            let label = style.paint(Tone::Warning, "skipped");
            return vec![format!("{label} {file}: {}: {}", count(*cases, "case"), one_line(why))];
        }
        Outcome::Broken(errors) => {
            let mut lines = vec![format!("{} {file}: not a case file", style.paint(Tone::Bad, "FAILED"))];
            lines.extend(errors.iter().map(|error| format!("  {}", one_line(error))));
            lines
        }
        Outcome::Ran(cases) => {
            let failed = suite.counts().failed > 0;
            let (tone, label) = if failed { (Tone::Bad, "FAILED") } else { (Tone::Good, "ok") };
            let took = seconds(suite.took);
            let head = format!(
                "{} {file} ({}): {}, {took} s",
                style.paint(tone, label),
                one_line(&suite.dialect),
                suite.counts()
            );
            std::iter::once(head).chain(cases.iter().flat_map(|case| case_lines(case, style))).collect()
        }
    };
    if suite.counts().failed > 0 {
        lines.push(String::new());
    }
    lines
}

fn case_lines(case: &CaseOutcome, style: Style) -> Vec<String> {
    let faults = match &case.status {
        Status::Passed => return Vec::new(),
        Status::Unsupported(why) => vec![format!("    unsupported: {}", one_line(why))],
        Status::Failed(faults) => fault_lines(faults, style),
    };
    let id = style.paint(Tone::Bold, &one_line(&case.id));
    let mut lines = vec![String::new(), format!("  {id}: {}", one_line(&case.title))];
    if let Some(from) = &case.from {
        lines.push(format!("    from {}", one_line(from)));
    }
    lines.extend(faults);
    lines
}

fn fault_lines(faults: &[Fault], style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last = None;
    for Fault { step, mismatch } in faults {
        if let Some((number, act)) = step
            && last != Some(number)
        {
            lines.push(format!("    step {number}, {}:", one_line(act)));
            last = Some(number);
        }
        let (what, got) = (one_line(&mismatch.what), one_line(&mismatch.got));
        match &mismatch.expected {
            None => lines.push(format!("      {what}: {}", style.paint(Tone::Bad, &got))),
            Some(expected) => {
                lines.push(format!("      {what}"));
                lines.push(format!("        expected  {}", style.paint(Tone::Good, &one_line(expected))));
                lines.push(format!("        got       {}", style.paint(Tone::Bad, &got)));
            }
        }
    }
    lines
}

fn suite_json(suite: &SuiteOutcome) -> Value {
    let (status, cases, reasons) = match &suite.outcome {
        Outcome::Ran(cases) => {
            let status = if suite.counts().failed == 0 { "passed" } else { "failed" };
            (status, cases.iter().map(case_json).collect::<Vec<_>>(), Vec::new())
        }
        Outcome::Skipped { why, .. } => ("skipped", Vec::new(), vec![why.clone()]),
        Outcome::Broken(errors) => ("failed", Vec::new(), errors.clone()),
    };
    let Counts { passed, failed, skipped } = suite.counts();
    json!({
        "file": suite.file.to_string_lossy(),
        "dialect": suite.dialect,
        "status": status,
        "passed": passed,
        "failed": failed,
        "skipped": skipped,
        "reasons": reasons,
        "took_ms": millis(suite.took),
        "cases": cases,
    })
}

fn case_json(case: &CaseOutcome) -> Value {
    let (status, failures) = match &case.status {
        Status::Passed => ("passed", Vec::new()),
        Status::Unsupported(why) => ("unsupported", vec![json!({"what": "unsupported", "got": why})]),
        Status::Failed(faults) => ("failed", faults.iter().map(fault_json).collect()),
    };
    json!({
        "id": case.id,
        "title": case.title,
        "from": case.from,
        "status": status,
        "failures": failures,
        "took_ms": millis(case.took),
    })
}

fn fault_json(fault: &Fault) -> Value {
    let (number, act) = fault.step.clone().unzip();
    let mismatch = &fault.mismatch;
    json!({
        "step": number,
        "act": act,
        "what": mismatch.what,
        "expected": mismatch.expected,
        "got": mismatch.got,
    })
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
