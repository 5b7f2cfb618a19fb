//! `lineside stats`: what many decisions come to, by hook and by session; from the decision log.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lineside::core::{Strength, Timestamp};
use lineside::hosts::install::TRIAL_SESSION;
use lineside::json::{Value, json};
use lineside::log::{HookStats, SessionStats, Stats};

use crate::log::{GRAMMAR, StoreArgs, nothing_found, query};
use crate::page::fitting::wrapped;
use crate::page::milliseconds;
use crate::painter::one_line;
use crate::style::{COLUMNS, Style, Styles, Tone, columns, count, print_json, print_unbroken};
use crate::table::{Cell, Table};

/// Count what hooks said, how they failed and how long they took.
///
/// Counts the events that a query finds, or all of the log.
#[derive(Debug, Args)]
#[command(after_help = GRAMMAR)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// Which events are counted, such as `since:1d host:codex`.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Count what the hooks in shadow would have said and changed.
    #[arg(long)]
    shadow: bool,

    /// How many sessions are shown, those with most events.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    sessions: usize,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// How many parts of time the sparkline has.
pub(crate) const PARTS: usize = 48;

/// The bars of a sparkline, from nothing to most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Runs the command.
///
/// # Errors
/// There is no log, it cannot be read, the query is none, or the output cannot be written.
pub(crate) fn run(args: &StatsArgs, styles: Styles) -> Result<ExitCode> {
    let look = args.store.open()?;
    let stats = look.stats(&query(&args.query)?, PARTS, args.sessions)?;
    if stats.events == 0 && !args.json {
        print_unbroken([nothing_found(&look)?.to_owned()])?;
    } else if args.json {
        print_json(&object(&stats))?;
    } else {
        let lines = if args.shadow { shadows } else { lines };
        print_unbroken(lines(&stats, columns().unwrap_or(COLUMNS), styles.out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines of a page of at most so many columns; none where nothing was found.
pub(crate) fn lines(stats: &Stats, columns: usize, style: Style) -> Vec<String> {
    let (Some(from), Some(to)) = (stats.from, stats.to) else { return Vec::new() };
    let refused = style
        .paint(if stats.refused > 0 { Tone::Bad } else { Tone::Dim }, &format!("{} refused", stats.refused));
    let lost = if stats.lost > 0 {
        style.paint(Tone::Warning, &format!(", {} lost", stats.lost))
    } else {
        String::new()
    };
    let mut lines = vec![
        format!("{}, {refused}{lost}", events(stats, style)),
        style.paint(Tone::Dim, &format!("from {} to {}", time(from), time(to))),
        String::new(),
        format!("  {}  events", sparkline(stats.over_time.iter().map(|part| part.0))),
    ];
    if stats.refused > 0 {
        let bars = style.paint(Tone::Bad, &sparkline(stats.over_time.iter().map(|part| part.1)));
        lines.push(format!("  {bars}  refused"));
    }
    lines.push(String::new());
    let names = names(&stats.hooks);
    let rows = stats.hooks.iter().zip(&names).map(|(stats, name)| hook(stats, name)).collect();
    let heading = ["hook", "calls", "continue", "allow", "ask", "block", "stop", "failed", "p50", "p99"];
    lines.extend(Table { heading: &heading, rows, stacked: &[3, 6, 2, 7] }.lines(Some(columns), style));
    if stats.hooks.iter().any(|hook| hook.shadows > 0) {
        lines.push(style.paint(Tone::Dim, "what hooks in shadow would have said: lineside stats --shadow"));
    }
    lines.push(String::new());
    let rows = stats.sessions.iter().map(session).collect();
    let heading = ["session", "host", "events", "refused", "waited", "in hooks"];
    lines.extend(Table { heading: &heading, rows, stacked: &[1] }.lines(Some(columns), style));
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// What hooks in shadow would have done.
pub(crate) fn shadows(stats: &Stats, columns: usize, style: Style) -> Vec<String> {
    let (Some(from), Some(to)) = (stats.from, stats.to) else { return Vec::new() };
    let names = names(&stats.hooks);
    let in_shadow = stats.hooks.iter().zip(&names).filter(|(hook, _)| hook.shadows > 0);
    let rows: Vec<_> = in_shadow.map(|(hook, name)| shadow(hook, name)).collect();
    let mut lines = vec![
        events(stats, style),
        style.paint(Tone::Dim, &format!("from {} to {}", time(from), time(to))),
        String::new(),
    ];
    if rows.is_empty() {
        let how = "no hook ran in shadow; one runs so with `mode: shadow` in its entry of hooks.yaml";
        lines.extend(wrapped(how, columns, usize::MAX));
        return lines;
    }
    let heading =
        ["hook", "runs", "would refuse", "ask", "amend", "allow", "failed", "no answer", "p50", "p99"];
    lines.extend(Table { heading: &heading, rows, stacked: &[5, 7, 8, 6] }.lines(Some(columns), style));
    lines.push(String::new());
    lines.push(style.paint(
        Tone::Dim,
        "lineside log shadow:refused hook:NAME   shows which; lineside enforce NAME   has it count",
    ));
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// How many events a hook in shadow would have refused.
pub(crate) fn would_refuse(hook: &HookStats) -> u64 {
    [Strength::Block, Strength::Stop].iter().filter_map(|strength| hook.would.get(strength)).sum()
}

/// How many events there were.
fn events(stats: &Stats, style: Style) -> String {
    style.paint(Tone::Bold, &count(usize::try_from(stats.events).unwrap_or(usize::MAX), "event"))
}

/// What each hook is called: its name, with its file where hooks of several files have that.
fn names(hooks: &[HookStats]) -> Vec<String> {
    let is_several = |name: &str| hooks.iter().filter(|other| other.hook == name).count() > 1;
    let of = |hook: &HookStats| match &hook.file {
        Some(file) if is_several(&hook.hook) => format!("{} ({})", hook.hook, one_line(file)),
        _ => hook.hook.clone(),
    };
    hooks.iter().map(of).collect()
}

fn shadow(hook: &HookStats, name: &str) -> Vec<Cell> {
    let number =
        |count: u64, tone| Cell::toned(if count > 0 { count.to_string() } else { String::new() }, tone);
    let would = |strength| hook.would.get(&strength).copied().unwrap_or_default();
    let answered: u64 = hook.would.values().sum();
    let failed: Vec<String> = hook.failures.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    vec![
        Cell::toned(name, Tone::Bold),
        Cell::new(hook.shadows.to_string()),
        number(would_refuse(hook), Tone::Bad),
        number(would(Strength::Ask), Tone::Asked),
        number(hook.would_amend, Tone::Warning),
        number(would(Strength::Allow), Tone::Good),
        Cell::toned(failed.join(", "), Tone::Warning),
        number(hook.shadows.saturating_sub(answered), Tone::Warning),
        Cell::new(milliseconds(hook.shadow_p50)),
        Cell::new(milliseconds(hook.shadow_p99)),
    ]
}

fn time(time: Timestamp) -> String {
    format!("{time:.0}").replace('T', " ")
}

fn hook(hook: &HookStats, name: &str) -> Vec<Cell> {
    let said = |strength, tone| {
        let count = hook.verdicts.get(&strength).copied().unwrap_or_default();
        Cell::toned(if count > 0 { count.to_string() } else { String::new() }, tone)
    };
    let failed: Vec<String> = hook.failures.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    vec![
        Cell::toned(name, Tone::Bold),
        Cell::new(hook.calls.to_string()),
        said(Strength::Continue, Tone::Plain),
        said(Strength::Allow, Tone::Good),
        said(Strength::Ask, Tone::Asked),
        said(Strength::Block, Tone::Bad),
        said(Strength::Stop, Tone::Bad),
        Cell::toned(failed.join(", "), Tone::Warning),
        Cell::new(milliseconds(hook.p50)),
        Cell::new(milliseconds(hook.p99)),
    ]
}

fn session(session: &SessionStats) -> Vec<Cell> {
    let refused = if session.refused > 0 { session.refused.to_string() } else { String::new() };
    let name = match &*session.session {
        TRIAL_SESSION => Cell::toned("an entry, tried by lineside install", Tone::Dim),
        name => Cell::toned(name, Tone::Bold),
    };
    vec![
        name,
        Cell::new(session.host.as_deref().unwrap_or_default()),
        Cell::new(session.events.to_string()),
        Cell::toned(refused, Tone::Bad),
        Cell::new(milliseconds(session.waited)),
        Cell::new(milliseconds(session.in_hooks)),
    ]
}

/// A bar for each part; one that has anything is higher than one that has nothing.
pub(crate) fn sparkline(parts: impl Iterator<Item = u64> + Clone) -> String {
    let most = parts.clone().max().unwrap_or_default().max(1);
    let bar = |part: u64| {
        let height = if part == 0 { 0 } else { 1 + (part - 1) * 6 / most };
        usize::try_from(height).ok().and_then(|height| BARS.get(height)).copied().unwrap_or(' ')
    };
    parts.map(bar).collect()
}

fn object(stats: &Stats) -> Value {
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let verdicts = |hook: &HookStats| {
        hook.verdicts.iter().map(|(verdict, count)| (verdict.as_str().to_owned(), json!(count))).collect()
    };
    let would = |hook: &HookStats| {
        hook.would.iter().map(|(verdict, count)| (verdict.as_str().to_owned(), json!(count))).collect()
    };
    let hooks = stats.hooks.iter().map(|hook| {
        json!({
            "shadow": {"runs": hook.shadows, "verdicts": Value::Object(would(hook)), "amended": hook.would_amend,
                "p50_us": micros(hook.shadow_p50), "p99_us": micros(hook.shadow_p99)},
            "hook": hook.hook, "file": hook.file, "calls": hook.calls, "verdicts": Value::Object(verdicts(hook)), "failures": hook.failures,
            "p50_us": micros(hook.p50), "p99_us": micros(hook.p99),
        })
    });
    let sessions = stats.sessions.iter().map(|one| {
        json!({
            "session": one.session, "host": one.host, "events": one.events, "refused": one.refused,
            "waited_us": micros(one.waited), "in_hooks_us": micros(one.in_hooks),
        })
    });
    json!({
        "events": stats.events, "refused": stats.refused, "lost": stats.lost,
        "from": stats.from.map(|time| time.to_string()), "to": stats.to.map(|time| time.to_string()),
        "over_time": stats.over_time, "hooks": hooks.collect::<Vec<_>>(), "sessions": sessions.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_part_that_has_anything_is_seen() {
        assert_eq!(sparkline([0, 1, 500, 1_000].into_iter()), "▁▂▄▇");
        assert_eq!(sparkline([0, 0].into_iter()), "▁▁");
    }
}
