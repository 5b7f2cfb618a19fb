//! What the daemon counts, in the text format of Prometheus.

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use lineside::core::Strength;
use lineside::log::Log;

use crate::daemon::Daemon;
use crate::measures::{BUCKETS, ByName, Counted, Figures, Times};

/// What the daemon counts, in the text format of Prometheus (0.0.4). Of hooks and points the first 256 and 64 have
/// figures of their own, and all further ones share those of `other`.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/metrics", tag = "daemon",
    responses((status = 200, content_type = "text/plain", body = String))
))]
pub(super) async fn metrics(state: State<Arc<Daemon>>) -> Response {
    let State(daemon) = state;
    let mut page = Page::default();
    single(&daemon, &mut page);
    of_decisions(&daemon.feed().measures.now(), &mut page);
    of_work(&daemon, &mut page);
    of_observers(&daemon, &mut page);
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    ([(header::CONTENT_TYPE, kind)], page.0).into_response()
}

/// What has one figure.
fn single(daemon: &Daemon, page: &mut Page) {
    let counts = &daemon.counts;
    let (signals, lost) = daemon.feed().counts();
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let number = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    let logged = daemon.feed().log().map(Log::state).unwrap_or_default();
    let (signal_bytes, receipt_bytes) = daemon.feed().bytes();
    let (host_sessions, host_bytes) = daemon.hosts.kept();
    let (hooks, hook_bytes) = daemon.attachments.kept();
    let counters = [
        ("requests", "Requests that came in.", read(&counts.requests)),
        ("problems", "Requests answered with a problem.", read(&counts.problems)),
        ("events", "Events that were decided.", read(&counts.events)),
        ("hook_failures", "Hooks that could not answer.", daemon.bus().failures()),
        ("signals", "Signals that were sent.", signals),
        ("log_written", "Records that the decision log has written.", logged.written),
        ("log_lost", "Records that it has lost.", logged.lost),
        ("signals_lost", "Signals that the feed did not take in time.", lost),
        (
            "deliveries_returned",
            "Deliveries that went back to their mailbox.",
            read(&counts.deliveries_returned),
        ),
        (
            "left_behind_lost",
            "Requests of publishers that left, given up with what had happened.",
            daemon.left_behind.lost(),
        ),
    ];
    let gauges = [
        ("connections", "Connections that are open.", read(&counts.connections)),
        ("sessions", "Sessions that are open.", number(daemon.bus().sessions().len())),
        ("receipt_bytes", "About what the receipts take that are kept.", number(receipt_bytes)),
        ("signal_bytes", "About what the signals take that are kept.", number(signal_bytes)),
        ("host_sessions", "Sessions of agent programs that are remembered.", number(host_sessions)),
        ("host_session_bytes", "About what is remembered of them.", number(host_bytes)),
        ("attached_hooks", "Hooks of attached programs.", number(hooks)),
        ("attached_hook_bytes", "How long their declarations are.", number(hook_bytes)),
        ("generation", "Which load of hook files is in force.", daemon.loaded().generation),
        ("log_waiting", "Records that wait for the decision log.", number(logged.waiting)),
        (
            "left_behind",
            "Requests that go on without their publishers.",
            number(daemon.left_behind.under_way()),
        ),
        ("approvals_waiting", "Questions that wait for a person.", number(daemon.approvals.count())),
    ];
    for (name, help, value) in counters {
        page.family(&format!("{name}_total"), "counter", help);
        page.sample(&format!("{name}_total"), &[], value);
    }
    for (name, help, value) in gauges {
        page.family(name, "gauge", help);
        page.sample(name, &[], value);
    }
}

fn of_decisions(counted: &Counted, page: &mut Page) {
    let verdicts = |page: &mut Page, name: &str, label: &str, by_name: &ByName| {
        for (value, figures) in by_name.sorted() {
            for (verdict, count) in by_verdict(&figures.verdicts) {
                page.sample(name, &[(label, value), ("verdict", verdict)], count);
            }
        }
    };
    let times = |page: &mut Page, name: &str, label: &str, by_name: &ByName| {
        for (value, Figures { times, .. }) in by_name.sorted() {
            page.histogram(name, (label, value), times);
        }
    };
    page.family("decisions_total", "counter", "Events that were decided, by point and verdict.");
    verdicts(page, "decisions_total", "point", &counted.points);
    page.family("decision_seconds", "histogram", "From the publication of an event to its decision.");
    times(page, "decision_seconds", "point", &counted.points);
    page.family("hook_answers_total", "counter", "What hooks have answered.");
    verdicts(page, "hook_answers_total", "hook", &counted.hooks);
    page.family("hook_failed_total", "counter", "Runs of hooks that could not answer.");
    for (hook, Figures { failed, .. }) in counted.hooks.sorted() {
        page.sample("hook_failed_total", &[("hook", hook)], failed);
    }
    page.family("hook_seconds", "histogram", "How long hooks ran, those in the background as well.");
    times(page, "hook_seconds", "hook", &counted.hooks);
    page.family("approvals_asked_total", "counter", "Questions that have waited for a person.");
    page.sample("approvals_asked_total", &[], counted.asked);
    page.family("approvals_answered_total", "counter", "What was answered to them.");
    for (verdict, count) in by_verdict(&counted.answered) {
        page.sample("approvals_answered_total", &[("verdict", verdict)], count);
    }
    let mut jobs: Vec<_> = counted.jobs.iter().collect();
    jobs.sort_unstable();
    page.family("job_steps_total", "counter", "What has become of the jobs of background work.");
    for (step, count) in jobs {
        let step = step.strip_prefix("job_").unwrap_or(step);
        page.sample("job_steps_total", &[("step", step)], count);
    }
}

fn of_work(daemon: &Daemon, page: &mut Page) {
    page.family("jobs", "gauge", "Jobs of background work that are known, by state.");
    for (state, count) in daemon.automations.jobs().by_state() {
        page.sample("jobs", &[("state", state)], count);
    }
}

/// Their number is that of the settings.
fn of_observers(daemon: &Daemon, page: &mut Page) {
    let (last, _) = daemon.feed().counts();
    let all: Vec<_> = daemon.observers.iter().map(|observer| (observer.name(), observer.count())).collect();
    let mut family = |name: &str, kind, help, value: &dyn Fn(&crate::observers::Count) -> u64| {
        page.family(name, kind, help);
        for (observer, count) in &all {
            page.sample(name, &[("observer", observer)], value(count));
        }
    };
    family("observer_delivered_total", "counter", "Records that observers have.", &|count| count.delivered);
    family("observer_lost_total", "counter", "Signals that came too fast for them.", &|count| count.lost);
    family("observer_dead_total", "counter", "Records that could not be delivered.", &|count| count.dead);
    family("observer_waiting", "gauge", "Signals that they have not read yet.", &|count| {
        last.saturating_sub(count.read)
    });
}

fn by_verdict(counts: &[u64; Strength::ALL.len()]) -> impl Iterator<Item = (&'static str, u64)> {
    Strength::ALL.iter().map(|strength| strength.as_str()).zip(counts.iter().copied())
}

/// The text, with names that begin with `lineside_`. Writing to a string does not fail.
#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.0, "# HELP lineside_{name} {help}\n# TYPE lineside_{name} {kind}").ok();
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        write!(self.0, "lineside_{name}").ok();
        for (place, (label, text)) in labels.iter().enumerate() {
            write!(self.0, "{}{label}=\"", if place == 0 { '{' } else { ',' }).ok();
            for char in text.chars() {
                match char {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
        writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" }).ok();
    }

    fn histogram(&mut self, name: &str, label: (&str, &str), times: &Times) {
        let (bucket, mut so_far) = (format!("{name}_bucket"), 0);
        for ((_, bound), count) in BUCKETS.iter().zip(times.buckets) {
            so_far += count;
            self.sample(&bucket, &[label, ("le", bound)], so_far);
        }
        self.sample(&bucket, &[label, ("le", "+Inf")], times.count);
        self.sample(&format!("{name}_sum"), &[label], times.sum.as_secs_f64());
        self.sample(&format!("{name}_count"), &[label], times.count);
    }
}
