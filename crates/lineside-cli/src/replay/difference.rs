//! What would be decided differently, and what all of it comes to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use lineside::core::Strength;
use lineside::json::{Map, Value, json};
use lineside::log::Kept;
use lineside::points;

use super::against::Against;
use super::recording::Recording;
use crate::page::fitting::{column, wrapped};
use crate::page::subject::subject;
use crate::painter::{in_passing, one_line};
use crate::style::{COLUMNS, Style, Tone, columns, count, print_json, print_unbroken};

/// What is decided now.
pub(super) struct Now {
    pub(super) verdict: Strength,
    pub(super) by: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) payload: Map,
    /// The hooks that were not run.
    pub(super) not_run: Vec<String>,
    /// Whether they could have changed nothing.
    pub(super) is_certain: bool,
}

/// A decision then and now.
pub(super) struct Difference {
    pub(super) then: Recording,
    pub(super) now: Now,
}

impl Difference {
    fn is_one(&self) -> bool {
        let payload = self.then.left.as_ref().is_some_and(|left| *left != self.now.payload);
        self.then.verdict != self.now.verdict || payload && !self.now.verdict.is_final()
    }

    fn json(&self) -> Value {
        let Self { then, now } = self;
        json!({
            "kind": "difference", "id": then.id, "point": then.text("point"), "session": then.text("session"),
            "time": then.text("time"), "payload": then.fields.get("payload"), "certain": now.is_certain, "not_run": now.not_run,
            "then": {"verdict": then.verdict, "by": then.by, "reason": then.reason, "payload": then.left},
            "now": {"verdict": now.verdict, "by": now.by, "reason": now.reason, "payload": now.payload},
        })
    }

    fn lines(&self, style: Style) -> Vec<String> {
        let Self { then, now } = self;
        let width = columns().unwrap_or(COLUMNS);
        let point = then.text("point");
        let payload = then.fields.get("payload").and_then(Value::as_object).cloned().unwrap_or_default();
        let known = points::find(point).ok().and_then(|point| (point.decode)(point, payload).ok());
        let about = known.map(|payload| subject(&*payload)).unwrap_or_default();
        let time = then.text("time").get(..19).unwrap_or_default().replace('T', " ");
        let head = format!("{time:<19}  {}  {about}", column(point, 16));
        let mut lines = vec![style.paint(Tone::Bold, &crate::page::fitting::cut(&in_passing(&head), width))];
        let mut said = |label: &str, verdict: Strength, by: &Option<String>, reason: &Option<String>| {
            let tone = if verdict > Strength::Ask { Tone::Bad } else { Tone::Good };
            let by = by.as_deref().map(|by| format!(", by {by}")).unwrap_or_default();
            let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = wrapped(&one_line(&format!("{verdict}{by}{reason}")), width.saturating_sub(8), 3);
            let mut text = text.into_iter();
            let first = text.next().unwrap_or_default();
            lines.push(format!("  {label}  {}", style.paint(tone, &first)));
            lines.extend(text.map(|line| format!("        {}", style.paint(tone, &line))));
        };
        said("then", then.verdict, &then.by, &then.reason);
        said("now ", now.verdict, &now.by, &now.reason);
        if then.verdict == now.verdict {
            lines.push("        the payload that is left is another one".to_owned());
        }
        if !now.is_certain {
            lines.push(
                style.paint(Tone::Dim, &format!("        not run: {}", one_line(&now.not_run.join(", ")))),
            );
        }
        lines
    }
}

/// What a replay comes to, printed as it goes.
pub(super) struct Report {
    as_json: bool,
    style: Style,
    /// Whose hooks judge, and of which project they are.
    whose: String,
    project: Option<PathBuf>,
    /// How many events were of other projects.
    elsewhere: u64,
    replayed: u64,
    differ: u64,
    redacted: u64,
    uncertain: u64,
    refused: BTreeMap<String, u64>,
    not_run: BTreeMap<String, u64>,
    left_out: BTreeMap<String, u64>,
}

impl Report {
    /// Prints whose hooks judge.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(super) fn new(as_json: bool, style: Style, against: &Against) -> Result<Self> {
        let (whose, project) = (against.whose.clone(), against.project.clone());
        if !as_json {
            print_unbroken([style.paint(Tone::Dim, &format!("hooks {whose}")), String::new()])?;
        }
        let (refused, not_run, left_out) = Default::default();
        let (elsewhere, replayed, differ, redacted, uncertain) = Default::default();
        Ok(Self {
            as_json,
            style,
            whose,
            project,
            elsewhere,
            replayed,
            differ,
            redacted,
            uncertain,
            refused,
            not_run,
            left_out,
        })
    }

    /// Counts a decision, and prints it where it differs.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(super) fn take(&mut self, difference: &Difference) -> Result<()> {
        self.replayed += 1;
        let is_elsewhere = |project: &PathBuf| {
            let root = difference.then.text("project_root");
            !root.is_empty() && Path::new(root) != project
        };
        self.elsewhere += u64::from(self.project.as_ref().is_some_and(is_elsewhere));
        self.redacted += u64::from(difference.then.kept == Kept::Redacted);
        self.uncertain += u64::from(!difference.now.is_certain);
        for hook in &difference.now.not_run {
            *self.not_run.entry(hook.clone()).or_default() += 1;
        }
        if difference.now.verdict.is_final() {
            let by = difference.now.by.clone().unwrap_or_default();
            *self.refused.entry(by).or_default() += 1;
        }
        if !difference.is_one() {
            return Ok(());
        }
        self.differ += 1;
        if self.as_json {
            print_json(&difference.json())?;
        } else {
            print_unbroken(difference.lines(self.style))?;
        }
        Ok(())
    }

    /// Counts an event that cannot be published once more.
    pub(super) fn left_out(&mut self, why: &str) {
        *self.left_out.entry(why.to_owned()).or_default() += 1;
    }

    /// Prints what it comes to.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(super) fn finish(self) -> Result<ExitCode> {
        let code = if self.differ > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        if self.as_json {
            print_json(&json!({
                "kind": "sum", "hooks": self.whose, "elsewhere": self.elsewhere, "replayed": self.replayed, "differ": self.differ, "redacted": self.redacted,
                "uncertain": self.uncertain, "refused": self.refused, "not_run": self.not_run, "left_out": self.left_out,
            }))?;
            return Ok(code);
        }
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let tone = if self.differ > 0 { Tone::Bad } else { Tone::Good };
        let differ = self.style.paint(tone, &format!("{} decided differently", self.differ));
        let mut lines = vec![format!("{} replayed, {differ}", count(number(self.replayed), "event"))];
        if self.differ > 0 {
            lines.insert(0, String::new());
        }
        if self.elsewhere > 0 {
            lines.push(format!("{} of other projects, judged without the hooks of those", self.elsewhere));
        }
        if self.redacted > 0 {
            lines.push(format!(
                "{} had values that were redacted, and were judged without them",
                self.redacted
            ));
        }
        if self.uncertain > 0 {
            lines.push(format!("{} may be decided otherwise by hooks that were not run:", self.uncertain));
            let of = |(hook, count): (&String, &u64)| format!("  {} {count} times", one_line(hook));
            lines.extend(self.not_run.iter().map(of));
            lines.push("  --live runs them, in a copy of the project; `pure: true` says that one does nothing but answer".to_owned());
        }
        lines.extend(
            self.left_out.iter().map(|(why, count)| format!("{count} not replayed: {}", one_line(why))),
        );
        print_unbroken(lines)?;
        Ok(code)
    }
}
