//! What hooks did: how often, what they said, how long it took, how they failed; and background work with its keys.

use std::collections::BTreeMap;
use std::time::Duration;

use lineside_core::Strength;
use lineside_log::{HookStats, Stats};
use maud::{Markup, html};

use super::{BASE, decision_link, raw, session_link};
use crate::text::{encoded, line, number, took};

/// A job of background work.
#[derive(Debug, Clone, Default)]
pub struct JobRow {
    /// Its number.
    pub job: u64,
    /// `debouncing`, `waiting`, `running`, `retrying`, `delivering`, `done`, `dead` or `cancelled`.
    pub state: String,
    /// Where it stands and why.
    pub about: String,
    /// The hook.
    pub hook: String,
    /// The session, and its last event.
    pub session: String,
    /// See [`session`](Self::session).
    pub event: Option<String>,
    /// Its concurrency key.
    pub key: Option<String>,
    /// How many attempts it has had.
    pub attempts: usize,
    /// Why it has come to a bad end.
    pub why: Option<String>,
}

/// The content: of hooks what a query finds, of jobs those that are live or dead, of all so many. `may_change` says whether a
/// person can take up or drop dead ones here.
#[must_use]
pub fn content(stats: Option<&Stats>, jobs: &[JobRow], more: usize, may_change: bool) -> Markup {
    let of = |state: &'static str| jobs.iter().filter(move |job| job.state == state);
    let live: Vec<&JobRow> = jobs.iter().filter(|job| job.state != "dead").collect();
    html! {
        h1 { "Hooks and automations" @if let Some(stats) = stats { span.count { (number(stats.events)) " events, " (number(stats.refused)) " refused" } } }
        @match stats {
            None => p.none { "The decision log is off, so there is nothing to count from." },
            Some(stats) if stats.hooks.is_empty() => p.none { "No hook has run in this time." },
            Some(stats) => (table(stats)),
        }
        div.pair {
            section aria-labelledby="work" {
                h2 #work { "Background work" span.count { (live.len() + more) " live" } }
                (keys(jobs))
                @if live.is_empty() { p.none { "Nothing waits or runs." } } @else { (list(&live, false)) }
                @if more > 0 { p.none { "and " (number(more as u64)) " more; " code { "lineside jobs" } " has all of them" } }
            }
            section aria-labelledby="dead" {
                h2 #dead { "Dead letters" span.count { (of("dead").count()) } }
                @if of("dead").next().is_none() { p.none { "None." } }
                @else { (list(&of("dead").collect::<Vec<_>>(), may_change)) }
            }
        }
    }
}

fn table(stats: &Stats) -> Markup {
    html! {
        div.scroll { table.rows.hooks {
            thead { tr { th { "hook" } th.num { "calls" } th { "said" } th { "latency, 1 µs to 16 s" } th.num { "p50" } th.num { "p99" } th { "failed" } th { "in shadow" } } }
            tbody { @for hook in &stats.hooks { (row(hook)) } }
        } }
    }
}

fn row(hook: &HookStats) -> Markup {
    let said = |strength: Strength| hook.verdicts.get(&strength).copied().unwrap_or_default();
    let failed: u64 = hook.failures.values().sum();
    // What it is offered, it takes and runs for later: that is no answer, and has no time.
    let is_background = hook.verdicts.is_empty() && failed == 0 && hook.shadows == 0;
    html! {
        tr {
            td { a href={ (BASE) "/decisions?q=" (encoded(&format!("hook:\"{}\"", hook.hook.replace('"', "?")))) } { b { (line(&hook.hook)) } } }
            td.num { (number(hook.calls)) }
            td { @if is_background { span.dim { "runs in the background" } } @else { (shares(hook.calls, [("continue", said(Strength::Continue) + said(Strength::Allow)), ("ask", said(Strength::Ask)), ("block", said(Strength::Block) + said(Strength::Stop)), ("failed", failed), ("shadow", hook.shadows)])) } }
            td { @if !is_background { (histogram(&hook.histogram)) } }
            td.num { @if !is_background { (took(hook.p50)) } }
            td.num { @if !is_background { (took(hook.p99)) } }
            td { @for (kind, count) in &hook.failures { span.v-failed { (kind) " " (number(*count)) } " " } }
            td.dim {
                @if hook.shadows > 0 {
                    (number(hook.shadows)) @if hook.shadows == 1 { " run" } @else { " runs" }
                    @for (would, count) in &hook.would { ", would " (would.as_str()) " " (number(*count)) }
                    @if hook.would_amend > 0 { ", would change " (number(hook.would_amend)) }
                }
            }
        }
    }
}

/// A bar of parts, each with how many there are.
fn shares(all: u64, parts: [(&str, u64); 5]) -> Markup {
    let all = all.max(parts.iter().map(|(_, count)| count).sum()).max(1);
    let (mut bars, mut at) = (String::new(), 0.0);
    for (class, count) in parts.iter().filter(|(_, count)| *count > 0) {
        let width = (*count as f64 / all as f64 * 100.0).max(1.5);
        bars.push_str(&format!(
            "<rect class=\"b-{class}\" x=\"{at:.1}\" width=\"{width:.1}\" height=\"8\"/>"
        ));
        at += width;
    }
    let words: Vec<String> =
        parts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{word} {count}")).collect();
    html! {
        span.shares {
            svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=(words.join(", ")) { (raw(bars)) }
            small { (words.join(" · ")) }
        }
    }
}

/// How long runs took: a bar for each doubling of the time.
fn histogram(counts: &[u64]) -> Markup {
    let most = counts.iter().copied().max().unwrap_or_default().max(1) as f64;
    let mut bars = String::new();
    for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = (*count as f64 / most * 22.0).max(1.5);
        let upto = took(Duration::from_micros(1 << at));
        bars.push_str(&format!(
            "<rect x=\"{}\" y=\"{:.1}\" width=\"4\" height=\"{height:.1}\"><title>up to {upto}: {count}</title></rect>",
            at * 5,
            24.0 - height
        ));
    }
    html! { svg.histogram viewBox="0 0 125 24" width="125" height="24" role="img" aria-label="times of its runs" { (raw(bars)) } }
}

/// Keys, each with the jobs that have it and how many wait for it.
fn keys(jobs: &[JobRow]) -> Markup {
    let mut keys: BTreeMap<&str, (Vec<u64>, usize)> = BTreeMap::new();
    for job in jobs {
        let Some(key) = &job.key else { continue };
        match &*job.state {
            "running" | "delivering" => keys.entry(key).or_default().0.push(job.job),
            "waiting" | "retrying" => keys.entry(key).or_default().1 += 1,
            _ => {}
        }
    }
    html! {
        @if !keys.is_empty() {
            table.rows.small {
                thead { tr { th { "key" } th { "held by" } th.num { "wait" } } }
                tbody { @for (key, (holders, waiters)) in &keys {
                    tr { td { code { (line(key)) } } td { @for job in holders { "job " (job) " " } @if holders.is_empty() { span.dim { "none" } } } td.num { (waiters) } }
                } }
            }
        }
    }
}

fn list(jobs: &[&JobRow], may_change: bool) -> Markup {
    html! {
        div.scroll { table.rows.small {
            thead { tr { th { "job" } th { "hook" } th { "state" } th { "why" } th { "session" } th { span.sr { "change" } } } }
            tbody { @for job in jobs {
                tr {
                    td.num { @match &job.event { Some(event) => (decision_link(event, &job.job.to_string())), None => (job.job) } }
                    td { b { (line(&job.hook)) } }
                    td.{ "j-" (job.state) } { (job.state) @if job.attempts > 1 { " · attempt " (job.attempts) } }
                    td.text { (line(job.why.as_deref().unwrap_or(&job.about))) @if let Some(key) = &job.key { " · key " code { (line(key)) } } }
                    td { (session_link(&job.session, &job.session)) }
                    td {
                        @if job.state == "dead" && may_change {
                            form.inline method="post" action={ (BASE) "/jobs/" (job.job) "/retry" } { button { "Retry" } }
                            form.inline method="post" action={ (BASE) "/jobs/" (job.job) "/drop" } { button.bad { "Drop" } }
                        }
                    }
                }
            } }
        } }
    }
}
