//! From decisions to lines: pure functions that know the width and the colours of the page, and nothing that runs.
//!
//! An event is one row: when, its verdict as a symbol, the agent, the point, what it is about, how long all hooks took.
//! Whatever a hook did beyond having no objection stands below it, with the name of the hook.

use std::borrow::Cow;
use std::time::Duration;

use lineside::bus::ContextMessage;
use lineside::core::outcome::FromHook;
use lineside::core::{Change, Hook, Layer, Outcome, Receipt, Run, SkipReason, Source, Strength};

use difference::difference;
use fitting::{column, cut, ends, wrapped};
use subject::{consequence, subject};

use crate::painter::in_passing;
use crate::style::{AGENTS, Style, Tone};

pub(crate) mod fitting;

pub(crate) mod difference;
pub(crate) mod subject;
pub(crate) mod unified;

/// The columns of a row; what it is about gets the rest.
const AGENT: usize = 10;
const POINT: usize = 16;
const TOOK: usize = 8;
/// Where the agent begins, and under it the label of a detail.
const INDENT: usize = 8;
/// Where the point begins, and under it the text of a detail.
const TEXT: usize = INDENT + AGENT + 1;
/// A page is never narrower, and rows are not spread over a wider one.
const NARROWEST: usize = 56;
const WIDEST: usize = 100;

/// Whose event a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// That of an agent: all are known, and the last one closes their tree.
    Agent,
    /// That of a session: they become known as they come.
    Session,
}

/// The page that decisions are printed on.
pub(crate) struct Page {
    pub(crate) width: usize,
    pub(crate) style: Style,
    project: String,
    who: Who,
    /// The agents or sessions so far.
    pub(crate) names: Vec<String>,
}

impl Page {
    /// A page of `columns` columns. Paths are shown relative to the project.
    pub(crate) fn new(columns: usize, style: Style, project: &str) -> Self {
        let width = columns.clamp(NARROWEST, WIDEST);
        Self { width, style, project: project.to_owned(), who: Who::Session, names: Vec::new() }
    }

    /// With rows by agent: these, the last of which closes the tree.
    pub(crate) fn of_agents(self, names: Vec<String>) -> Self {
        Self { who: Who::Agent, names, ..self }
    }

    /// Makes the session of an event known, up to so many that colours can tell apart.
    pub(crate) fn meet(&mut self, receipt: &Receipt) {
        let session = receipt.event.envelope().source.session.as_str();
        if self.names.len() < AGENTS.len() && !self.names.iter().any(|name| name == session) {
            self.names.push(session.to_owned());
        }
    }

    /// What became of something in the background since.
    pub(crate) fn later(&self, text: &str) -> Vec<String> {
        self.lines_below(Tone::Asked, "later", Tone::Plain, ends(text, self.width - TEXT))
    }

    /// One decision: its row, and below it what hooks did.
    pub(crate) fn decision(&self, at: Duration, receipt: &Receipt) -> Vec<String> {
        let mut lines = vec![self.row(at, receipt)];
        lines.extend(receipt.changes.iter().flat_map(|change| self.change(receipt, change)));
        lines.extend(self.objection(receipt));
        lines.extend(receipt.runs.iter().flat_map(|run| self.aside(receipt, run)));
        lines.extend(receipt.remarks.iter().flat_map(|remark| self.remark(receipt, remark)));
        lines
    }

    /// Messages that have reached the context of an agent.
    pub(crate) fn delivery<'a>(&self, messages: impl IntoIterator<Item = &'a ContextMessage>) -> Vec<String> {
        let told = |message: &ContextMessage| {
            let text = format!("{}: {}", message.hook, message.text);
            self.detail(Tone::Message, "context", Tone::Plain, &text)
        };
        messages.into_iter().flat_map(told).collect()
    }

    fn row(&self, at: Duration, receipt: &Receipt) -> String {
        let (symbol, tone) = mark(receipt);
        let event = &receipt.event;
        let about = subject(event.original());
        let room = self.width - TEXT - POINT - 1 - TOOK;
        let heard = receipt.runs.iter().any(|run| run.outcome.has_run());
        let (about, took) = match heard {
            true => (column(&about, room), format!("{:>TOOK$}", milliseconds(receipt.took))),
            false => (cut(&about, room + TOOK), String::new()),
        };
        let loud = if receipt.verdict.strength() > Strength::Allow { Tone::Bold } else { Tone::Plain };
        format!(
            "{} {} {} {} {}{}",
            self.style.paint(Tone::Dim, &format!("{:5.3}", at.as_secs_f64())),
            self.style.paint(tone, symbol),
            self.who(&event.envelope().source),
            column(event.point().name, POINT),
            self.style.paint(loud, &about),
            self.style.paint(Tone::Dim, &took),
        )
    }

    /// The agent or the session in its colour, at its place in the tree.
    fn who(&self, source: &Source) -> String {
        let id = match self.who {
            Who::Agent => &*source.agent.id,
            Who::Session => source.session.as_str(),
        };
        let number = self.names.iter().position(|name| name == id).unwrap_or(self.names.len());
        let branch = match (self.who, number) {
            (Who::Session, _) if source.parent_session.is_some() => "└ ",
            (Who::Session, _) | (Who::Agent, 0) => "",
            (Who::Agent, last) if last + 1 == self.names.len() => "└ ",
            (Who::Agent, _) => "├ ",
        };
        let name = column(&in_passing(id), AGENT - branch.chars().count());
        self.style.paint(Tone::Dim, branch) + &self.style.paint(Tone::Agent(number), &name)
    }

    /// An amendment, before and after.
    fn change(&self, receipt: &Receipt, FromHook { hook, what }: &FromHook<Change>) -> Vec<String> {
        let field = &what.field;
        let text =
            receipt.hook(*hook).map_or(field.clone(), |hook| format!("{field} by {}", self.whose(hook)));
        let mut lines = self.detail(Tone::Warning, "amends", Tone::Plain, &text);
        let (before, after) = difference(&what.before, &what.after);
        let line = |sign: &str, tone: Tone, text: &str| {
            let text = cut(&in_passing(&format!("{sign} {text}")), self.width - TEXT);
            format!("{:TEXT$}{}", "", self.style.paint(tone, &text))
        };
        lines.extend(before.iter().map(|text| line("-", Tone::Dim, text)));
        lines.extend(after.iter().map(|text| line("+", Tone::Warning, text)));
        lines
    }

    /// A refusal, a question, or an approval that says why: the reason, by whom, and what comes of it.
    fn objection(&self, receipt: &Receipt) -> Vec<String> {
        let strength = receipt.verdict.strength();
        let Some(reason) = receipt.verdict.reason() else { return Vec::new() };
        let (_, tone) = mark(receipt);
        let author = receipt.author.and_then(|index| Some((index, receipt.hook(index)?)));
        let run = author.and_then(|(index, _)| {
            receipt.runs.iter().rev().find(|run| run.hook == index && run.outcome.has_run())
        });
        let reason = match run {
            Some(Run { outcome: Outcome::Failed { .. }, .. }) => ends(reason.as_str(), self.width - TEXT),
            _ => self.wrapped(reason.as_str()),
        };
        let mut lines = self.lines_below(tone, strength.as_str(), Tone::Bold, reason);
        let by = author.map_or("nobody".to_owned(), |(_, hook)| {
            let took = run.map(|run| format!(", {}", milliseconds(run.took))).unwrap_or_default();
            format!("{}{took}", self.whose(hook))
        });
        lines.extend(self.detail(Tone::Dim, "by", Tone::Plain, &by));
        if strength > Strength::Allow
            && let Some(text) = consequence(receipt.event.point(), strength.is_final())
        {
            lines.extend(self.detail(Tone::Dim, "so", Tone::Dim, text));
        }
        lines
    }

    /// What a hook did that is neither an amendment nor the verdict: it failed, or is not waited for.
    fn aside(&self, receipt: &Receipt, run: &Run) -> Vec<String> {
        let name = receipt.name(run.hook);
        match &run.outcome {
            Outcome::Failed { failure, verdict } => {
                let (text, columns) = (format!("{name}: {failure}"), self.width - TEXT);
                let counts = format!("counts as {}", verdict.strength());
                let mut lines = wrapped(&format!("{text}; {counts}"), columns, usize::MAX);
                if lines.len() > 3 {
                    lines = ends(&text, columns);
                    lines.push(counts);
                }
                self.lines_below(Tone::Asked, "failed", Tone::Plain, lines)
            }
            Outcome::Detached => {
                let text = format!("{name} in the background; the agent goes on");
                self.detail(Tone::Dim, "starts", Tone::Dim, &text)
            }
            Outcome::Offered(taken) => {
                let text = format!("{name}, an automation; the agent goes on");
                self.detail(Tone::Dim, taken.as_str(), Tone::Dim, &text)
            }
            Outcome::Skipped(SkipReason::Untrusted) => {
                let text = format!("{name}: its project is not trusted");
                self.detail(Tone::Asked, "untrusted", Tone::Plain, &text)
            }
            Outcome::Answered(_) | Outcome::Skipped(_) => Vec::new(),
        }
    }

    /// What a person should know of a hook.
    fn remark(
        &self,
        receipt: &Receipt,
        FromHook { hook, what }: &FromHook<Cow<'static, str>>,
    ) -> Vec<String> {
        let text = format!("{}: {what}", receipt.name(*hook));
        self.detail(Tone::Asked, "remark", Tone::Plain, &text)
    }

    /// A hook by the place that declares it: its file, or what it is and whose.
    fn whose(&self, hook: &Hook) -> String {
        if let Some(origin) = &hook.origin {
            let origin = origin.to_string();
            let below = origin.strip_prefix(&self.project).and_then(|path| path.strip_prefix('/'));
            return below.unwrap_or(&origin).to_owned();
        }
        let whose = if hook.layer == Layer::Session { " on main's session" } else { "" };
        format!("{} ({}{whose})", hook.name, hook.source)
    }

    /// A line below a row, continued where it is too long for one.
    fn detail(&self, tone: Tone, label: &str, text_tone: Tone, text: &str) -> Vec<String> {
        self.lines_below(tone, label, text_tone, self.wrapped(text))
    }

    fn wrapped(&self, text: &str) -> Vec<String> {
        wrapped(text, self.width - TEXT, 3)
    }

    fn lines_below(&self, tone: Tone, label: &str, text_tone: Tone, lines: Vec<String>) -> Vec<String> {
        let label = self.style.paint(tone, &column(label, AGENT));
        let mut lines = lines.into_iter();
        let first = lines.next().unwrap_or_default();
        let mut told = vec![format!("{:INDENT$}{label} {}", "", self.style.paint(text_tone, &first))];
        told.extend(lines.map(|line| format!("{:TEXT$}{}", "", self.style.paint(text_tone, &line))));
        told
    }
}

/// The symbol of a decision.
fn mark(receipt: &Receipt) -> (&'static str, Tone) {
    match receipt.verdict.strength() {
        Strength::Continue | Strength::Allow if receipt.changes.is_empty() => ("✓", Tone::Good),
        Strength::Continue | Strength::Allow => ("~", Tone::Warning),
        Strength::Ask => ("?", Tone::Asked),
        Strength::Block | Strength::Stop => ("✗", Tone::Bad),
    }
}

/// A duration in milliseconds with a tenth, or without where there are hundreds of them.
pub(crate) fn milliseconds(took: Duration) -> String {
    let took = took.as_secs_f64() * 1000.0;
    if took < 99.95 { format!("{took:.1} ms") } else { format!("{took:.0} ms") }
}

#[cfg(test)]
mod tests;
