//! Jobs as people read them.

use lineside::automation::HookId;
use lineside::automation::unix_micros::UnixMicros;
use lineside::journal::Holder;
use lineside::wire::stamp;

use super::job::{self, Job, State};
use super::span::{length, seen_from, wide};
use crate::page::fitting::cut;
use crate::painter::one_line;
use crate::style::{Style, Tone, count};
use crate::table::{Cell, Table};

/// No name in a table is longer.
const NAME: usize = 20;

/// What stands before each column of a table.
const GAP: usize = 2;

/// The lines of a list of these jobs, of so many that there are, of which some are left out because nothing is to be said of them.
pub(super) fn list(
    jobs: &[&Job],
    (all, uneventful): (usize, usize),
    holder: Option<Holder>,
    now: UnixMicros,
    columns: usize,
    style: Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    if !jobs.is_empty() {
        let heading = ["job", "state", "automation", "session", "tries", "when", "about"];
        let rows: Vec<[String; 7]> = jobs.iter().map(|job| row(job, now)).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([heading[column].len()]).max().unwrap_or_default() + GAP
        };
        let room = columns.saturating_sub((0..6).map(width).sum::<usize>() + GAP);
        let cells = |(job, row): (&&Job, &[String; 7])| {
            let mut cells: Vec<Cell> = row[..6].iter().map(Cell::new).collect();
            cells[1] = Cell::toned(&row[1], job.tone());
            cells.push(Cell::toned(cut(&row[6], room), Tone::Dim));
            cells
        };
        let rows = jobs.iter().zip(&rows).map(cells).collect();
        lines = Table { heading: &heading, rows, stacked: &[] }.lines(None, style);
        lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
        lines.push(String::new());
    }
    lines.push(summary(jobs, all - uneventful));
    if uneventful > 0 {
        let text = format!(
            "{} of hooks in the background ended well; --all lists them too",
            count(uneventful, "run")
        );
        lines.push(text);
    }
    lines.extend(held(holder));
    lines
}

fn row(job: &Job, now: UnixMicros) -> [String; 7] {
    let short = |text: &str| cut(&one_line(text), NAME);
    [
        job.shown.job.to_string(),
        job.state.as_str().to_owned(),
        short(&job.name()),
        short(job.shown.session.as_str()),
        job.shown.attempts.len().to_string(),
        // As wide as it ever is, so that what stands beside it does not move.
        format!("{:10}", when(job, now)),
        one_line(&job.about()),
    ]
}

fn when(job: &Job, now: UnixMicros) -> String {
    match job.next() {
        Some(next) if next <= now => "due".to_owned(),
        Some(next) => seen_from(now, next),
        None => seen_from(now, job.since()),
    }
}

/// How many there are in each state.
fn summary(jobs: &[&Job], all: usize) -> String {
    if jobs.is_empty() {
        return match all {
            0 => "no job".to_owned(),
            _ => format!("none of {}", count(all, "job")),
        };
    }
    let states = <State as clap::ValueEnum>::value_variants().iter();
    let counts = states.map(|state| (state, jobs.iter().filter(|job| job.state == *state).count()));
    let red = jobs.iter().filter(|job| job.is_not_in_order()).count();
    let found = |state: State| match (state, red) {
        (_, 0) => String::new(),
        (State::Done, red) => format!(" ({red} found something wrong)"),
        _ => String::new(),
    };
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {}{}", state.as_str(), found(*state)))
        .collect();
    let of = if jobs.len() < all { format!(" of {all}") } else { String::new() };
    format!("{}{of}: {}", count(jobs.len(), "job"), counts.join(", "))
}

fn held(holder: Option<Holder>) -> Option<String> {
    holder.map(|holder| format!("{} has the journal open", super::change::who(holder.process)))
}

/// The lines of everything that is known of a job.
pub(super) fn show(job: &Job, holder: Option<Holder>, now: UnixMicros, style: Style) -> Vec<String> {
    let shown = &job.shown;
    let number = style.paint(Tone::Bold, &format!("job {}", shown.job));
    let state = style.paint(job.tone(), job.state.as_str());
    let about = job.why().unwrap_or_else(|| job.about());
    let about = if about == job.state.as_str() { String::new() } else { one_line(&about) };
    let mut lines = vec![wide(&format!("{number}  {state}"), &about), String::new()];
    let at = |moment: UnixMicros| format!("{} ({})", stamp(moment), seen_from(now, moment));
    let mut fields = match HookId::read(&shown.automation) {
        Some(HookId { dialect, line, file, trigger, name, .. }) => {
            vec![("hook", name), ("declared", format!("{file}:{line}, {trigger} of {dialect}"))]
        }
        None => vec![("automation", shown.automation.to_string())],
    };
    fields.push(("session", shown.session.to_string()));
    fields.extend(shown.key.as_ref().map(|key| ("key", key.to_string())));
    fields.push(("accepted", at(shown.accepted)));
    if job.since() != shown.accepted {
        fields.push((job.state.as_str(), at(job.since())));
    }
    fields.extend(job.next().map(|next| ("next", at(next))));
    let events = (0..).zip(&shown.events);
    fields.extend(events.map(|(index, id)| (if index == 0 { "events" } else { "" }, id.to_string())));
    let rows = fields.into_iter().map(|(name, text)| vec![Cell::toned(name, Tone::Dim), Cell::new(text)]);
    let table = Table { heading: &[], rows: rows.collect(), stacked: &[] };
    lines.extend(table.lines(None, style).into_iter().skip(1));
    if !shown.attempts.is_empty() {
        lines.push(String::new());
        lines.extend(attempts(job, style));
    }
    if let Some(held) = held(holder) {
        lines.extend([String::new(), held]);
    }
    lines
}

fn attempts(job: &Job, style: Style) -> Vec<String> {
    let all = job.shown.attempts.len();
    let rows = (1..).zip(&job.shown.attempts).map(|(number, attempt)| {
        let took = attempt.ended.as_ref().map(|(ended, _)| length(ended.since(attempt.started)));
        let (end, tone) = job::end(attempt, job.state, number == all);
        vec![
            Cell::new(number.to_string()),
            Cell::new(stamp(attempt.started)),
            Cell::new(took.as_deref().unwrap_or("-")),
            Cell::toned(end, tone),
        ]
    });
    let heading = ["attempt", "started", "took", "end"];
    Table { heading: &heading, rows: rows.collect(), stacked: &[] }.lines(None, style)
}
