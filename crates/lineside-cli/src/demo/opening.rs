//! The head of the page: what is going to play, and the hooks in force, in the order in which they run.

use std::sync::Arc;

use lineside::core::{Hook, Layer, Part};

use crate::page::Page;
use crate::page::fitting::{column, cut, wrapped};
use crate::style::Tone;

/// Hooks by their points, as a session gives them.
type Hooks = Vec<(&'static str, Arc<Hook>)>;

/// What plays and what does not.
const WHAT: &str = "The agents are a recording. The hooks are real: five formats, closures, an actor.";

/// The columns of the table.
const POINT: usize = 17;
const PRIORITY: usize = 4;
const NAME: usize = 26;

impl Page {
    /// The head of the page.
    pub(crate) fn opening(&self, events: usize, hooks: &Hooks) -> Vec<String> {
        let title = format!("{} agents, {events} events, {} hooks", self.names.len(), hooks.len());
        let head = format!("{}{:>PRIORITY$}  {}kind", column("point", POINT), "prio", column("hook", NAME));
        let mut lines = vec![format!("{}  {title}", self.style.paint(Tone::Bold, "lineside demo"))];
        lines.extend(wrapped(WHAT, self.width, 2));
        lines.extend([String::new(), self.style.paint(Tone::Dim, &cut(&head, self.width))]);
        let mut last = "";
        for (point, hook) in hooks {
            let shown = if *point == last { "" } else { point };
            last = point;
            lines.push(self.in_force(shown, hook));
        }
        lines.push(String::new());
        lines.push(self.legend());
        lines.push(String::new());
        lines
    }

    fn in_force(&self, point: &str, hook: &Hook) -> String {
        let priority = if hook.part == Part::Observer { String::new() } else { crate::list::priority(hook) };
        let room = self.width.saturating_sub(POINT + PRIORITY + 2 + NAME);
        format!(
            "{}{}  {}{}",
            column(point, POINT),
            self.style.paint(Tone::Dim, &format!("{priority:>PRIORITY$}")),
            column(&hook.name, NAME),
            self.style.paint(Tone::Dim, &cut(&kind(hook), room)),
        )
    }

    fn legend(&self) -> String {
        let marks = [
            (Tone::Good, "✓", "no objection"),
            (Tone::Warning, "~", "amended"),
            (Tone::Asked, "?", "ask"),
            (Tone::Bad, "✗", "refused"),
        ];
        let told = marks.map(|(tone, mark, word)| format!("{} {word}", self.style.paint(tone, mark)));
        told.join("   ")
    }
}

/// What a hook is.
fn kind(hook: &Hook) -> String {
    let runs = if hook.dialect == "native" { &*hook.source } else { hook.dialect };
    let how = match hook.part {
        Part::Detached | Part::PostDecision => ", in the background",
        Part::Amender if hook.dialect == "native" => ", amends",
        _ => "",
    };
    let place = if hook.layer == Layer::Session { ", on main's session" } else { "" };
    format!("{runs}{how}{place}")
}
