//! An explanation as people read it.

use lineside::core::hook::Mode;
use lineside::core::{OnFailure, Part, SkipReason, Strength};
use lineside::listing::{Explained, Explanation, Foreseen};

use crate::automations;
use crate::list::{origin, part, shown_priority, trigger};
use crate::page::fitting::cut;
use crate::painter::one_line;
use crate::style::{Style, Tone, count};
use crate::table::{Cell, Table};

const HEADING: [&str; 10] = [
    "#", "hook", "priority", "layer", "dialect", "point", "part", "on failure", "would it run", "declared at",
];

/// The columns that go first where there is no room: where, what the file calls it, whose format, which layer, what it
/// may do, what its failure means, its priority.
const STACKED: [usize; 7] = [9, 5, 4, 3, 6, 7, 2];

/// How many signs are shown of a condition that does not hold; the file at the end of the line has all of it.
const MOST_OF_A_CONDITION: usize = 60;

/// The lines of the page.
pub(super) fn lines(explanation: &Explanation, columns: Option<usize>, style: Style) -> Vec<String> {
    let point = &explanation.event.point;
    let session = one_line(&explanation.event.session);
    let (running, broken): (Vec<_>, Vec<_>) =
        explanation.hooks.iter().filter(|hook| hook.skipped.is_none()).partition(|hook| hook.is_sound());
    let cannot = if broken.is_empty() { String::new() } else { format!(", {} cannot", broken.len()) };
    let running = running.len();
    let title = style.paint(Tone::Bold, point);
    let mut lines = vec![match (running + broken.len(), explanation.hooks.len()) {
        (0, _) => format!("{title} in session {session}: nothing would run"),
        (_, all) => {
            format!("{title} in session {session}: {running} of {} would run{cannot}", count(all, "hook"))
        }
    }];
    if explanation.hooks.is_empty() {
        lines.extend(no_hook_waits(explanation, columns, style));
        return lines;
    }
    lines.push(String::new());
    let rows = explanation.hooks.iter().map(row).collect();
    lines.extend(Table { heading: &HEADING, rows, stacked: &STACKED }.lines(columns, style));
    let automations = automations::lines(explanation.hooks.iter().map(|explained| &explained.listed));
    if !automations.is_empty() {
        lines.push(String::new());
        lines.extend(automations);
    }
    if running + broken.len() > 1 {
        lines.push(String::new());
        lines.push("For the event as it stands: an earlier hook may still block it or change it.".to_owned());
    }
    lines
}

/// How many hooks are named.
const NAMED: usize = 3;

/// What comes of the event, as far as that is known without running anything.
pub(super) fn verdict(foreseen: &Foreseen, style: Style) -> String {
    let named = |names: &[String]| {
        let shown: Vec<_> = names.iter().take(NAMED).map(|name| one_line(name)).collect();
        let more = names.len() - shown.len();
        shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
    };
    let Foreseen { verdict, by, open, .. } = foreseen;
    let (tone, mark) = match verdict {
        Strength::Block | Strength::Stop => (Tone::Bad, "✗"),
        Strength::Ask => (Tone::Asked, "?"),
        _ if open.is_empty() => {
            return format!("{}: no hook would object", style.paint(Tone::Good, "✓ continue"));
        }
        _ => {
            return format!("{}: {} would say when run", style.paint(Tone::Asked, "? open"), named(open));
        }
    };
    let painted = style.paint(tone, &format!("{mark} {verdict}"));
    if verdict.is_final() || open.is_empty() {
        return format!("{painted}, by {}", named(by));
    }
    format!("{painted} at least, by {}: {} would say when run", named(by), named(open))
}

fn no_hook_waits(explanation: &Explanation, columns: Option<usize>, style: Style) -> Vec<String> {
    let point = &explanation.event.point;
    if explanation.elsewhere.is_empty() {
        return vec!["No hook was found at all.".to_owned()];
    }
    let mut lines = vec![format!("No hook waits for {point}. Those that were found wait for:")];
    let rows = explanation
        .elsewhere
        .iter()
        .map(|(point, names)| vec![Cell::toned(point, Tone::Bold), Cell::new(names.join(", "))]);
    let table = Table { heading: &["point", "hooks"], rows: rows.collect(), stacked: &[1] };
    lines.extend(table.lines(columns, style).into_iter().skip(1));
    lines
}

fn row(explained: &Explained) -> Vec<Cell> {
    let listed = &explained.listed;
    let (fate, tone) = fate(explained);
    vec![
        Cell::new(listed.order.to_string()),
        Cell::toned(&listed.hook, Tone::Bold),
        Cell::new(shown_priority(listed.priority)),
        Cell::new(&listed.layer),
        Cell::new(&listed.dialect),
        Cell::new(trigger(listed)),
        Cell::new(part(listed)),
        Cell::new(on_failure(explained)),
        Cell::toned(fate, tone),
        Cell::toned(origin(listed.file.as_deref(), listed.line), Tone::Dim),
    ]
}

/// A hook that is not waited for has no authority, whatever its outcome.
fn on_failure(explained: &Explained) -> &'static str {
    let unheard = [Part::Detached.as_str(), Part::Observer.as_str()];
    match explained.listed.on_failure {
        _ if unheard.contains(&&*explained.listed.part) => "–",
        OnFailure::Block => "block",
        OnFailure::Continue => "continue",
    }
}

fn fate(explained: &Explained) -> (String, Tone) {
    let condition = explained.misfit.as_deref().or(explained.listed.condition.as_deref());
    match explained.skipped {
        None if explained.is_sound() => {
            let by = explained.fit.as_deref().map(|fit| format!(": {}", one_line(fit))).unwrap_or_default();
            match explained.listed.mode {
                Mode::Enforced => (format!("runs{by}"), Tone::Good),
                Mode::Shadow => (format!("runs in shadow{by}"), Tone::Warning),
            }
        }
        None => (explained.listed.state.clone(), Tone::Bad),
        Some(SkipReason::Filter) => {
            let condition = cut(condition.unwrap_or_default(), MOST_OF_A_CONDITION);
            (format!("filter: {condition}"), Tone::Warning)
        }
        Some(why) => (why.as_str().to_owned(), Tone::Warning),
    }
}
