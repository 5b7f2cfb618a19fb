//! The lab's other half: flow control as a picture, before one writes it into a file. Its settings are the address, so that
//! what was tried can be shown to others.

use std::time::Duration;

use maud::{Markup, html};

use super::BASE;
use crate::flow::{Came, Fate, Flow, Played, PlayedJob};
use crate::text::{line, took};

/// The picture's width and the height of a row, in its own units, and where the time begins.
const WIDTH: f64 = 1_000.0;
const ROW: usize = 34;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 30.0;

/// The content: the settings, and what they come to.
#[must_use]
pub fn content(flow: &Flow) -> Markup {
    html! {
        h1 { "Lab" span.count { "flow control; nothing runs" } }
        (super::lab::tabs("/lab/flow"))
        div.lab.flow {
            form method="get" action={ (BASE) "/lab/flow" } {
                (settings(flow))
                button.accent { "Play" }
            }
            section aria-live="polite" aria-label="What becomes of the events" {
                @match &flow.play() {
                    Err(error) => p.wrong role="alert" { (line(&error.to_string())) },
                    Ok(played) => { (picture(played)) (table(played)) (as_written(flow)) },
                }
            }
        }
    }
}

fn settings(flow: &Flow) -> Markup {
    let number = |name: &str, label: &str, value: u64, about: &str| {
        html! { label { (label) input name=(name) type="number" min="0" max="3600000" value=(value) required title=(about); } }
    };
    html! {
        label { "Events, at milliseconds; " code { "a@300" } " has a key"
            input name="events" value=(line(&flow.events)) spellcheck="false" autocomplete="off";
        }
        fieldset { legend { "Debounce" }
            (number("quiet", "quiet", flow.quiet, "held until none has come for so long; 0 for not at all"))
            (number("at_most", "at most", flow.at_most, "so long after the first event the run starts in any case; 0 for ten times as long"))
        }
        fieldset { legend { "Key" }
            label { "when it is taken"
                select name="on_busy" {
                    @for word in ["queue", "coalesce", "drop", "restart"] {
                        option value=(word) selected[word == flow.on_busy] { (word) }
                    }
                }
            }
            (number("limit", "at a time", u64::from(flow.limit), "how many runs of a key go at a time"))
        }
        fieldset { legend { "Rate" }
            (number("starts", "starts", u64::from(flow.starts), "at most so many; 0 for no bound"))
            (number("period", "in", flow.period, "in so long a time"))
        }
        fieldset { legend { "Retry" }
            (number("attempts", "attempts", u64::from(flow.attempts), "how often a run is tried in all"))
            (number("pause", "pause", flow.pause, "from one attempt to the next"))
        }
        fieldset { legend { "Each run" }
            (number("takes", "takes", flow.takes, "how long"))
            (number("fails", "fails first", u64::from(flow.fails), "how many attempts of each job fail"))
        }
    }
}

fn picture(played: &Played) -> Markup {
    let refused: Vec<&Came> = played.events.iter().filter(|came| came.refused.is_some()).collect();
    let rows = played.jobs.len() + usize::from(!refused.is_empty());
    let height = ROW * rows + 30;
    let end = played.end.max(1) as f64;
    let x = |at: u64| LEFT + (WIDTH - LEFT - RIGHT) * at as f64 / end;
    let middle = |row: usize| ROW * row + ROW / 2;
    html! {
        svg.flow viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label="The events and jobs over time; the table below has the same" {
            @for tick in ticks(played.end) {
                line.f-grid x1=(x(tick)) x2=(x(tick)) y1="0" y2=(ROW * rows) {}
                text.f-tick x=(x(tick)) y=(height - 10) { (time(tick)) }
            }
            @for (row, job) in played.jobs.iter().enumerate() {
                (bars(job, middle(row), &x))
                text.f-label x="0" y=(middle(row) + 4) { (name(row, job)) }
                @for came in played.events.iter().filter(|came| came.job == Some(row)) {
                    circle.f-event cx=(x(came.at)) cy=(middle(row)) r="4" {}
                }
            }
            @if !refused.is_empty() {
                text.f-label x="0" y=(middle(played.jobs.len()) + 4) { "refused" }
                @for came in &refused { circle.f-refused cx=(x(came.at)) cy=(middle(played.jobs.len())) r="4" {} }
            }
        }
        p.f-legend {
            span { i.f-event {} "event" } span { i.f-held {} "held" } span { i.f-waits {} "waits" }
            span { i.f-ok {} "run" } span { i.f-failed {} "failed" }
        }
    }
}

/// What a job was over its time: held, then waiting, then running and between attempts.
fn bars(job: &PlayedJob, middle: usize, x: &dyn Fn(u64) -> f64) -> Markup {
    let bar = |class: &str, begin: u64, end: u64| {
        let width = (x(end) - x(begin)).max(1.0);
        html! { rect class=(class) x=(x(begin)) y=(middle - 9) width=(width) height="18" rx="4" {} }
    };
    let over = job.end.map(|(at, _)| at);
    let begun = job.runs.first().map(|run| run.begin).or(over).unwrap_or(job.since);
    let queued = job.queued.unwrap_or(begun);
    html! {
        @if queued > job.since { (bar("f-held", job.since, queued)) }
        @if begun > queued { (bar("f-waits", queued, begun)) }
        @for pair in job.runs.windows(2) {
            @if let [one, next] = pair {
                line.f-pause x1=(x(one.end.unwrap_or(one.begin))) x2=(x(next.begin)) y1=(middle) y2=(middle) {}
            }
        }
        @for run in &job.runs {
            (bar(if run.failed { "f-failed" } else { "f-ok" }, run.begin, run.end.unwrap_or(run.begin)))
        }
        @if let Some((at, fate)) = job.end { text.f-fate x=(x(at) + 6.0) y=(middle + 4) { (sign(fate)) } }
    }
}

/// The same in words.
fn table(played: &Played) -> Markup {
    html! {
        div.scroll { table.rows.small {
            thead { tr { th { "job" } th { "events" } th { "held" } th { "waits" } th { "attempts" } th { "ends" } } }
            tbody {
                @for (row, job) in played.jobs.iter().enumerate() {
                    @let begun = job.runs.first().map(|run| run.begin);
                    @let queued = job.queued.or(begun).unwrap_or(job.since);
                    tr {
                        td { (name(row, job)) }
                        td { (played.events.iter().filter(|came| came.job == Some(row)).map(|came| time(came.at)).collect::<Vec<_>>().join(", ")) }
                        td { (time(queued - job.since)) }
                        td { (begun.map_or_else(|| "–".to_owned(), |begun| time(begun.saturating_sub(queued)))) }
                        td { (job.runs.iter().map(|run| format!("{}{}", time(run.begin), if run.failed { " failed" } else { "" })).collect::<Vec<_>>().join(", ")) }
                        td { @match job.end { Some((at, fate)) => { (sign(fate)) " " (word(fate)) " at " (time(at)) }, None => "goes on" } }
                    }
                }
                @for came in played.events.iter().filter(|came| came.refused.is_some()) {
                    tr { td { "–" } td { (time(came.at)) } td colspan="4" { "refused: " (line(came.refused.as_deref().unwrap_or_default())) } }
                }
            }
        } }
    }
}

/// The settings as they stand in a file of hooks.
fn as_written(flow: &Flow) -> Markup {
    let mut lines = vec!["automate:".to_owned()];
    let mut add = |is_set: bool, text: String| lines.extend(is_set.then_some(format!("  {text}")));
    add(flow.starts > 0, format!("rate: {{starts: {}, period: {}}}", flow.starts, flow.period));
    let at_most = if flow.at_most > 0 { flow.at_most } else { flow.quiet.saturating_mul(10) };
    add(flow.quiet > 0, format!("debounce: {{quiet: {}, at_most: {at_most}}}", flow.quiet));
    add(true, "concurrency: \"{project_root}\"".to_owned());
    add(flow.limit != 1, format!("limit: {}", flow.limit));
    add(flow.on_busy != "queue", format!("on_busy: {}", flow.on_busy));
    add(flow.attempts > 1, format!("retry: {{attempts: {}, constant: {}}}", flow.attempts, flow.pause));
    html! {
        h2 { "In a file of hooks" }
        pre { (lines.join("\n")) }
    }
}

fn name(row: usize, job: &PlayedJob) -> String {
    let key = if job.key.is_empty() { String::new() } else { format!(" · {}", line(&job.key)) };
    format!("job {}{key}", row + 1)
}

fn sign(fate: Fate) -> &'static str {
    match fate {
        Fate::Finished => "✓",
        Fate::Dead => "✗",
        Fate::Cancelled => "⊘",
    }
}

fn word(fate: Fate) -> &'static str {
    match fate {
        Fate::Finished => "finished",
        Fate::Dead => "dead",
        Fate::Cancelled => "cancelled",
    }
}

fn time(millis: u64) -> String {
    if millis == 0 { "0".to_owned() } else { took(Duration::from_millis(millis)) }
}

/// The times that are named below the picture, at most eleven.
fn ticks(end: u64) -> impl Iterator<Item = u64> {
    let steps = (0..).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let step = steps.into_iter().find(|step| end / step <= 10).unwrap_or(1);
    (0..=end / step).map(move |tick| tick * step)
}
