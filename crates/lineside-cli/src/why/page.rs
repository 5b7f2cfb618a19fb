//! A decision as people read it: what happened, every hook in order, what was changed, told, and begun.

use std::time::Duration;

use lineside::core::Strength;
use lineside::dialects::native::policies;
use lineside::json::{self, Map, Value};
use lineside::log::{Considered, Given, News, Why};

use crate::control::span;
use crate::log::line::{about, mark, word};
use crate::page::difference::difference;
use crate::page::fitting::{cut, whole, width, wrapped};
use crate::page::milliseconds;
use crate::painter::{in_passing, one_line};
use crate::style::{Style, Tone, count};
use crate::table::{Cell, Table};

/// Where the values of the head begin.
const LABEL: usize = 12;
/// A page is never narrower, and texts are not spread over a wider one.
const NARROWEST: usize = 56;
const WIDEST: usize = 120;
/// No text on the page has more lines.
const LONGEST: usize = 12;

/// The lines of the page.
pub(crate) fn lines(why: &Why, columns: usize, style: Style) -> Vec<String> {
    let page = Page::new(columns, style, why.decision.project.as_deref());
    let mut lines = page.head(why);
    lines.extend(page.hooks(&why.hooks));
    lines.extend(page.approval(&why.given));
    lines.extend(page.changes(&why.given));
    let lost = super::lost(why);
    lines.extend(lost.iter().flat_map(|(_, text)| page.text(Tone::Warning, text)));
    lines.extend(page.told(why));
    lines.extend(page.since(&why.since));
    lines
}

/// What a person does about a policy whose verdict this is: nothing where it has not judged the call.
fn of_policy(why: &Why) -> Option<&'static str> {
    let decision = &why.decision;
    let is_policy = policies().iter().any(|policy| Some(policy.name) == decision.by.as_deref());
    if !is_policy || decision.verdict <= Strength::Allow {
        return None;
    }
    let is_author =
        |hook: &&Considered| Some(&hook.hook) == decision.by.as_ref() && hook.origin == decision.by_origin;
    let has_failed = why
        .hooks
        .iter()
        .filter(is_author)
        .any(|hook| hook.what == "failed" && hook.verdict == Some(decision.verdict));
    Some(match decision.of_hooks.unwrap_or(decision.verdict) {
        _ if has_failed => {
            "a policy, which has failed and has not judged this: the reason says what to repair"
        }
        Strength::Ask if decision.verdict > Strength::Ask => {
            "a policy, which asks, and no person has said yes; what it need not ask about a person says below `use`, as `- NAME: {except: …}` (guards.md)"
        }
        Strength::Ask => {
            "a policy, which asks; what it need not ask about a person says below `use`, as `- NAME: {except: …}` (guards.md)"
        }
        _ => {
            "a policy; where it is too strict a person says so below `use`, as `- NAME: ask` or `- NAME: {except: …}` (guards.md)"
        }
    })
}

/// How such a page is written: its width, its colours, and the project within which paths are shown.
pub(crate) struct Page {
    width: usize,
    style: Style,
    project: String,
    /// Whether values are shown whole.
    is_whole: bool,
}

impl Page {
    pub(crate) fn new(columns: usize, style: Style, project: Option<&str>) -> Self {
        let project = project.unwrap_or_default().to_owned();
        Self { width: columns.clamp(NARROWEST, WIDEST), style, project, is_whole: false }
    }

    /// The same with nothing left out of values, for a person who agrees to what stands there.
    pub(crate) fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    fn title(&self, text: &str) -> [String; 2] {
        [String::new(), self.style.paint(Tone::Bold, text)]
    }

    /// A text below a title; what goes on stands a little further to the right.
    pub(crate) fn text(&self, tone: Tone, text: &str) -> Vec<String> {
        let lines = wrapped(text, self.width - 4, LONGEST).into_iter();
        let indent = |index| if index == 0 { 2 } else { 4 };
        let line = |(index, line): (usize, String)| {
            format!("{:1$}{2}", "", indent(index), self.style.paint(tone, &line))
        };
        lines.enumerate().map(line).collect()
    }

    /// A reason with the lines that it has, as what a program has printed, and how they are indented.
    fn reason(&self, tone: Tone, text: &str) -> Vec<String> {
        let said = text.lines().filter(|line| !line.trim().is_empty());
        let lines = said.flat_map(|line| {
            let indent = (line.len() - line.trim_start().len()).min(LABEL);
            let broken = wrapped(line, self.width - 4 - indent, LONGEST).into_iter();
            broken.map(move |line| format!("{:indent$}{line}", ""))
        });
        let mut lines: Vec<String> = lines.take(LONGEST + 1).collect();
        if lines.len() > LONGEST {
            lines.truncate(LONGEST - 1);
            lines.push("…".to_owned());
        }
        let place = |index| if index == 0 { 2 } else { 4 };
        let line = |(index, line): (usize, String)| {
            format!("{:1$}{2}", "", place(index), self.style.paint(tone, &line))
        };
        lines.into_iter().enumerate().map(line).collect()
    }

    /// Where a hook is declared, within the project where it is there.
    pub(crate) fn place<'a>(&self, origin: Option<&'a str>) -> &'a str {
        let origin = origin.unwrap_or_default();
        let below = origin.strip_prefix(&self.project).filter(|_| !self.project.is_empty());
        below.and_then(|path| path.strip_prefix('/')).unwrap_or(origin)
    }

    /// A value with its label in front of it.
    pub(crate) fn field(&self, label: &str, text: &str) -> Vec<String> {
        let room = self.width - LABEL;
        let lines = if self.is_whole { whole(text, room) } else { wrapped(text, room, LONGEST) };
        let mut lines = lines.into_iter();
        let label = self.style.paint(Tone::Dim, &format!("{:LABEL$}", format!("  {label}")));
        let mut told = vec![label + &lines.next().unwrap_or_default()];
        told.extend(lines.map(|line| format!("{:LABEL$}{line}", "")));
        told
    }

    fn head(&self, why: &Why) -> Vec<String> {
        let decision = &why.decision;
        let (symbol, tone) = mark(decision);
        let verdict = format!("{symbol} {}", word(decision));
        let title = format!("{verdict}  {}  ", decision.point);
        let about = cut(&about(decision), self.width.saturating_sub(width(&title)));
        let painted = format!("{}  {}  ", self.style.paint(tone, &verdict), decision.point);
        let mut lines = vec![painted + &self.style.paint(Tone::Bold, &about)];
        if let Some(reason) = &decision.reason {
            lines.extend(self.reason(Tone::Plain, reason));
        }
        if let Some(by) = &decision.by {
            let at = self.place(decision.by_origin.as_deref());
            let by = if at.is_empty() { format!("by {by}") } else { format!("by {by}, {at}") };
            lines.extend(self.text(Tone::Dim, &by));
            lines.extend(of_policy(why).into_iter().flat_map(|text| self.text(Tone::Dim, text)));
        }
        lines.push(String::new());
        let agent = match decision.agent_type.as_deref().filter(|kind| *kind != decision.agent) {
            Some(kind) => format!("{} ({kind})", decision.agent),
            None => decision.agent.clone(),
        };
        let above = decision.parent.as_deref().map(|parent| format!(", below {parent}")).unwrap_or_default();
        let host = decision.host.as_deref().map(|host| format!(" of {host}")).unwrap_or_default();
        lines.extend(self.field("event", &decision.id.to_string()));
        lines.extend(self.field("time", &format!("{:.3}", decision.time)));
        lines.extend(self.field("session", &format!("{}{above}, event {}", decision.session, decision.seq)));
        lines.extend(self.field("agent", &format!("{agent}{host}")));
        lines.extend(decision.project.iter().flat_map(|project| self.field("project", project)));
        if let Ok(Value::Object(payload)) = json::from_str(&decision.payload) {
            lines.extend(self.payload(&payload));
        }
        lines.extend(self.field("hooks", &self.sum(why)));
        lines
    }

    /// What the event says, a line for each field that has a text, the tool's input field by field.
    pub(crate) fn payload(&self, payload: &Map) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, value) in payload.iter() {
            match value {
                Value::Object(inner) if !inner.is_empty() => {
                    for (inner, value) in inner.iter() {
                        lines.extend(self.field(&cut(&one_line(inner), LABEL - 3), &shown(value)));
                    }
                }
                Value::Null => {}
                _ if name == "tool_class" => {}
                value => {
                    let name = match name.strip_prefix("tool_") {
                        Some("name") => "tool",
                        Some(name) => name,
                        None => name,
                    };
                    lines.extend(self.field(&cut(&one_line(name), LABEL - 3), &shown(value)));
                }
            }
        }
        lines
    }

    fn sum(&self, why: &Why) -> String {
        let ran = why.hooks.iter().filter(|hook| !hook.is_skipped).count();
        let generation = why
            .decision
            .generation
            .map(|generation| format!(", generation {generation}"))
            .unwrap_or_default();
        let considered = count(why.hooks.len(), "hook");
        format!("{considered} considered, {ran} ran, {}{generation}", milliseconds(why.decision.took))
    }

    fn hooks(&self, hooks: &[Considered]) -> Vec<String> {
        if hooks.is_empty() {
            return [self.title("No hook waits for this event").to_vec()].concat();
        }
        let mut lines = self.title("Every hook, in order").to_vec();
        let rows = hooks.iter().map(|hook| self.row(hook)).collect();
        let table =
            Table { heading: &["", "hook", "", "", "took", "declared at"], rows, stacked: &[5, 2, 3] };
        let table = table.lines(Some(self.width), self.style);
        lines.extend(table.into_iter().skip(1).map(|line| line.trim_end().to_owned()));
        lines
    }

    fn row(&self, hook: &Considered) -> Vec<Cell> {
        let detail = hook.detail.as_deref().map(in_passing).unwrap_or_default();
        let (sign, what, tone) = match (&*hook.what, hook.verdict) {
            ("answered", Some(verdict @ (Strength::Continue | Strength::Allow))) => {
                ("✓", verdict.to_string(), Tone::Good)
            }
            ("answered", Some(Strength::Ask)) => ("?", "ask".to_owned(), Tone::Asked),
            ("answered", verdict) => {
                ("✗", verdict.map(|verdict| verdict.to_string()).unwrap_or_default(), Tone::Bad)
            }
            ("failed", verdict) => {
                let kind = hook.failed.as_deref().unwrap_or_default();
                let verdict = verdict.map(|verdict| format!(", counts as {verdict}")).unwrap_or_default();
                ("!", format!("failed ({kind}){verdict}: {detail}"), Tone::Asked)
            }
            ("shadow", None) => ("◌", "in shadow, without an answer so far".to_owned(), Tone::Dim),
            ("shadow", Some(verdict)) => {
                let tone = if verdict > Strength::Allow { Tone::Warning } else { Tone::Dim };
                let failed = hook.failed.as_deref().map(|kind| format!("failed ({kind}), "));
                let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
                let failed = failed.unwrap_or_default();
                ("◌", format!("in shadow: {failed}would {verdict}{detail}"), tone)
            }
            // What is within a policy is for programs.
            ("filter", _) if !detail.is_empty() && !detail.contains('{') => {
                ("–", format!("does not fit: {detail}"), Tone::Dim)
            }
            _ if hook.is_skipped => ("–", hook.why_skipped().to_owned(), Tone::Dim),
            (what, _) => {
                ("→", format!("{} in the background", what.replace("detached", "started")), Tone::Plain)
            }
        };
        let what =
            if hook.what == "answered" && !detail.is_empty() { format!("{what}: {detail}") } else { what };
        vec![
            Cell::toned(sign, tone),
            Cell::toned(&hook.hook, if hook.is_skipped { Tone::Dim } else { Tone::Bold }),
            Cell::toned(&hook.layer, Tone::Dim),
            Cell::toned(what, tone),
            // As wide as it ever is, so that the page does not change with it.
            Cell::new(hook.took.map(|took| format!("{:>9}", milliseconds(took))).unwrap_or_default()),
            Cell::toned(self.place(hook.origin.as_deref()), Tone::Dim),
        ]
    }

    /// Who has answered what a hook has asked.
    fn approval(&self, given: &[Given]) -> Vec<String> {
        let mut lines = Vec::new();
        for given in given.iter().filter(|given| given.what == "approval") {
            let approval = json::from_str::<Value>(&given.text).unwrap_or_default();
            let text = |field: &str| one_line(approval[field].as_str().unwrap_or_default());
            let hook = one_line(given.hook.as_deref().unwrap_or_default());
            lines.extend(self.title(&format!("The question of {hook} was answered")));
            let waited = Duration::from_millis(approval["waited_ms"].as_u64().unwrap_or_default());
            let scope = match &*text("scope") {
                "once" => "for this once".to_owned(),
                scope => format!("for the {scope}"),
            };
            let tone = if text("answer") == "allow" { Tone::Good } else { Tone::Bad };
            let answer = format!("{} by {}, {scope}", text("answer"), text("by"));
            lines.extend(self.text(tone, &answer));
            let when = format!("question {}, answered at {}, after {}", text("id"), text("at"), span(waited));
            lines.extend(self.text(Tone::Dim, &when));
        }
        lines
    }

    fn changes(&self, given: &[Given]) -> Vec<String> {
        let mut lines = Vec::new();
        for change in given {
            let fate = match &*change.what {
                "change" => "was changed by",
                "shadow_change" => "would have been changed by the shadow",
                _ => continue,
            };
            let [field, by] =
                [&change.field, &change.hook].map(|text| one_line(text.as_deref().unwrap_or_default()));
            lines.extend(self.title(&format!("{field} {fate} {by}")));
            let value = |text: &str| json::from_str::<Value>(text).unwrap_or_default();
            let before = change.before.as_deref().map(value).unwrap_or_default();
            let (before, after) = difference(&before, &value(&change.text));
            let line = |sign: &str, tone, text: &String| {
                let text = cut(&in_passing(&format!("{sign} {text}")), self.width - 2);
                format!("  {}", self.style.paint(tone, &text))
            };
            lines.extend(before.iter().take(LONGEST).map(|text| line("-", Tone::Bad, text)));
            lines.extend(after.iter().take(LONGEST).map(|text| line("+", Tone::Good, text)));
        }
        lines
    }

    /// What the agent and the user have heard of it.
    fn told(&self, why: &Why) -> Vec<String> {
        let mut lines = Vec::new();
        let is_told = |given: &&Given| given.what != "approval" && !given.what.ends_with("change");
        let heard = why.given.iter().filter(is_told);
        let said: Vec<String> = heard
            .map(|given| {
                let to = match &*given.what {
                    "context" => "to the agent's context, by",
                    "notice" => "to the user, by",
                    "shadow_context" => "would have gone to the agent's context, by",
                    "shadow_notice" => "would have gone to the user, by",
                    _ => "remark on",
                };
                format!("{to} {}: {}", given.hook.as_deref().unwrap_or_default(), given.text)
            })
            .collect();
        let reason = why.decision.reason.as_ref().filter(|_| why.decision.verdict > Strength::Allow);
        if reason.is_none() && said.is_empty() {
            return lines;
        }
        lines.extend(self.title("What was said"));
        if let Some(reason) = reason {
            lines.extend(self.reason(Tone::Plain, &format!("to the agent: {reason}")));
        }
        lines.extend(said.iter().flat_map(|text| self.text(Tone::Message, text)));
        lines
    }

    fn since(&self, since: &[News]) -> Vec<String> {
        if since.is_empty() {
            return Vec::new();
        }
        let mut lines = self.title("What became of it").to_vec();
        let rows = since.iter().map(|news| {
            let job = news.job.map(|job| format!("job {job}")).unwrap_or_default();
            let what = news.what.strip_prefix("job_").unwrap_or(&news.what).replace('_', " ");
            let tone = if what.contains("dead") || what.contains("failed") { Tone::Bad } else { Tone::Plain };
            vec![
                Cell::toned(format!("{:.3}", news.time).get(11..23).unwrap_or_default(), Tone::Dim),
                Cell::toned(news.hook.as_deref().unwrap_or_default(), Tone::Bold),
                Cell::new(job),
                Cell::toned(what, tone),
                Cell::new(news.took.map(milliseconds).unwrap_or_default()),
                Cell::new(news.detail.as_deref().map(in_passing).unwrap_or_default()),
            ]
        });
        let table = Table { heading: &["", "", "", "", "", ""], rows: rows.collect(), stacked: &[] };
        lines.extend(table.lines(Some(self.width), self.style).into_iter().skip(1));
        lines
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
