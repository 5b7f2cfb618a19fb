//! `lineside tap`: what happens in the daemon, as it happens. Reads the stream of signals, and goes on where it was when the
//! connection breaks.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use lineside::Client;
use lineside::client::{RequestError, Signals};
use lineside::json::{Map, Value, json};
use lineside::log::Decision;

use crate::control::NO_DAEMON;
use crate::daemon_paths::DaemonArgs;
use crate::log::line::{Lines, Order};
use crate::log::query_text;
use crate::page::fitting::column;
use crate::painter::one_line;
use crate::style::{COLUMNS, Style, Styles, Tone, columns, print_json, print_unbroken, tell};

/// Show what happens in the daemon, as it happens, until it is interrupted.
///
/// Decisions are lines as `lineside log` has them; between them stand sessions that begin and end, what came of background work,
/// context, questions for a person, and what was lost. When the daemon ends, it waits for the next one and goes on.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct TapArgs {
    /// What to look for, such as `verdict:refused tool:Shell`, in the words of `lineside log`; everything when nothing is said.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// In which form.
    #[arg(long, value_enum, default_value = "lines", value_name = "FORM")]
    format: Format,

    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Show each step of work in the background as well: without it, that it waits and begins, and that a hook which nothing
    /// waits for has come to a good end, is left out of the lines.
    #[arg(long)]
    all: bool,

    /// What happens on all machines of the cluster, with the machine of each; the daemon asks them.
    #[arg(long)]
    cluster: bool,

    #[command(flatten)]
    daemon: DaemonArgs,
}

const AFTER: &str = "\
Examples:
  lineside tap
  lineside tap verdict:refused,ask
  lineside tap session:s-main --json | jq .payload.tool_input.command
  lineside tap --cluster verdict:refused

Nothing waits for a reader: one that is too slow is told how much it has lost.
Exit status: 3 there is no daemon.";

/// How signals are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Lines,
    /// One JSON object a line, decisions as `lineside log --json` has them.
    Json,
    /// One CloudEvent (1.0, JSON) a line.
    Cloudevents,
}

/// The column of the machine's name.
const MACHINE: usize = 12;

/// How often it is looked whether there is a daemon again.
const AGAIN: Duration = Duration::from_millis(250);

/// Runs the command.
///
/// # Errors
/// The query is none, there is no daemon, or the output cannot be written.
pub(crate) async fn run(args: &TapArgs, styles: Styles) -> Result<ExitCode> {
    let client = Client::new(&args.daemon.paths()?.socket);
    let query = query_text(&args.query);
    let mut signals = match args.asked(&client, &query, None).await {
        Ok(signals) => signals,
        Err(error) if error.is_no_daemon() => {
            tell(&format!("lineside: {error}"));
            return Ok(ExitCode::from(NO_DAEMON));
        }
        Err(error) => return Err(error.into()),
    };
    signals.begins().await;
    tell(&styles.err.paint(Tone::Dim, "hears what happens from here on; Ctrl-C ends it"));
    let format = if args.json { Format::Json } else { args.format };
    let beside = if args.cluster { MACHINE + 2 } else { 0 };
    let page = Lines::new(columns().unwrap_or(COLUMNS).saturating_sub(beside), Order::ByTime, styles.out);
    let steps = (!args.all).then(HashSet::new);
    let mut lines = Page { lines: page, style: styles.out, steps };
    loop {
        while let Some(signal) = signals.next().await {
            show(&signal, signals.last().unwrap_or_default(), format, &mut lines)?;
        }
        let last = signals.last().map(str::to_owned);
        tell(&styles.err.paint(Tone::Warning, "the daemon has ended; this goes on when there is one again"));
        signals = again(args, &client, &query, last.as_deref()).await?;
        let is_same = !args.cluster && last.as_deref().map(daemon) == signals.last().map(daemon);
        tell(&styles.err.paint(Tone::Dim, if is_same { "it goes on where it was" } else { OTHER }));
    }
}

const OTHER: &str = "another daemon: what the last one did at its end is in `lineside log`";

/// The word for a daemon in the id of a signal.
fn daemon(id: &str) -> &str {
    id.split_once('-').map_or(id, |(daemon, _)| daemon)
}

/// The stream of the next daemon that answers.
async fn again(args: &TapArgs, client: &Client, query: &str, last: Option<&str>) -> Result<Signals> {
    loop {
        tokio::time::sleep(AGAIN).await;
        match args.asked(client, query, last).await {
            Ok(mut signals) => {
                signals.begins().await;
                return Ok(signals);
            }
            Err(RequestError::NoDaemon { .. } | RequestError::Broken { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl TapArgs {
    async fn asked(
        &self,
        client: &Client,
        query: &str,
        after: Option<&str>,
    ) -> Result<Signals, RequestError> {
        match self.cluster {
            true => client.signals_of_cluster(query).await,
            false => client.signals_as_logged(query, after).await,
        }
    }
}

/// The lines of signals; of several machines each with the name of its own in front.
struct Page {
    lines: Lines,
    style: Style,
    /// The hooks that nothing waits for of which a run was seen, where steps are left out.
    steps: Option<HashSet<String>>,
}

/// The steps of background work on the way to what comes of it.
const STEPS: [&str; 3] = ["job_held", "job_queued", "job_started"];
/// How many hooks are known that nothing waits for; the end of each run of further ones is shown.
const HOOKS: usize = 1_024;

impl Page {
    /// Whether it is a step of background work, of which there is no line.
    fn is_step(&mut self, signal: &Map) -> bool {
        let Some(seen) = &mut self.steps else { return false };
        let text = |field: &str| signal.get(field).and_then(Value::as_str).unwrap_or_default();
        match (text("kind"), text("hook")) {
            ("detached_finished", hook) => {
                if seen.len() < HOOKS {
                    seen.insert(hook.to_owned());
                }
                true
            }
            ("job_finished", hook) => seen.contains(hook),
            (kind, _) => STEPS.contains(&kind),
        }
    }

    fn of(&mut self, signal: &Map) -> Vec<String> {
        let lines = match Decision::of_json(signal) {
            Some(decision) => self.lines.of(&[decision]),
            None => self.lines.of_news(signal),
        };
        let Some(machine) = signal.get("machine").and_then(Value::as_str) else { return lines };
        let named = column(&one_line(machine), MACHINE);
        let in_front = |line: String| format!("{}  {line}", self.style.paint(Tone::Dim, &named));
        lines.into_iter().map(in_front).collect()
    }
}

fn show(signal: &Map, id: &str, format: Format, page: &mut Page) -> Result<()> {
    match format {
        Format::Json => print_json(signal)?,
        Format::Cloudevents => print_json(&cloud_event(signal, id))?,
        Format::Lines if page.is_step(signal) => {}
        Format::Lines => print_unbroken(page.of(signal))?,
    }
    Ok(())
}

/// The signal as a CloudEvent: <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md>.
fn cloud_event(signal: &Map, id: &str) -> Value {
    let text = |field: &str| signal.get(field).and_then(Value::as_str);
    let mut source = "/lineside".to_owned();
    for (what, name) in [("machines", text("machine")), ("sessions", text("session"))] {
        source.extend(name.map(|name| format!("/{what}/{}", escaped(name))));
    }
    let mut event = json!({
        "specversion": "1.0", "id": id, "source": source, "type": format!("lineside.{}", text("kind").unwrap_or("unknown")),
        "datacontenttype": "application/json", "data": signal,
    });
    let subject = text("point").or_else(|| text("hook"));
    for (name, value) in [("time", text("time")), ("subject", subject)] {
        if let (Some(value), Value::Object(fields)) = (value, &mut event) {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    event
}

/// A name as a part of a path of a URI.
fn escaped(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            byte => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_signal_of_a_cluster_names_its_machine() {
        let mut page =
            Page { lines: Lines::new(100, Order::ByTime, Style::PLAIN), style: Style::PLAIN, steps: None };
        let of = |machine: &str| {
            let signal = json!({
                "kind": "machine_away", "machine": machine, "time": "2026-11-24T05:06:43.372Z", "detail": "it is gone",
            });
            signal.as_object().unwrap().clone()
        };
        let lines = [page.of(&of("b")), page.of(&of("a-long-name-of-a-machine"))].concat();
        assert!(
            lines[1].starts_with("b             05:06:43 !") && lines[1].contains("it is gone"),
            "{lines:?}"
        );
        assert!(lines[2].starts_with("a-long-name…  05:06:43 !"), "{lines:?}");
    }

    #[test]
    fn the_runs_of_a_log_that_end_well_are_no_lines_and_those_of_an_automation_are() {
        let style = Style::PLAIN;
        let page = |steps| Page { lines: Lines::new(100, Order::ByTime, style), style, steps };
        let news = [
            ("job_queued", "log"),
            ("job_started", "log"),
            ("detached_finished", "log"),
            ("job_finished", "log"),
            ("job_queued", "log"),
            ("detached_failed", "log"),
            ("job_dead", "log"),
            ("job_held", "tests"),
            ("job_queued", "tests"),
            ("job_started", "tests"),
            ("job_finished", "tests"),
        ];
        let signal = |(kind, hook): &(&str, &str)| {
            let signal = json!({"kind": kind, "hook": hook, "time": "2026-11-24T05:06:43.372Z"});
            signal.as_object().unwrap().clone()
        };
        let shown = |mut page: Page| {
            let shown = news.iter().filter(|news| !page.is_step(&signal(news)));
            shown.copied().collect::<Vec<_>>()
        };
        let ends = [("detached_failed", "log"), ("job_dead", "log"), ("job_finished", "tests")];
        assert_eq!(shown(page(Some(HashSet::new()))), ends);
        assert_eq!(shown(page(None)), news);
    }

    #[test]
    fn a_signal_is_a_cloud_event() {
        let signal = json!({
            "kind": "decided", "session": "a/b c", "time": "2026-11-24T05:06:43.372Z", "point": "before_tool", "verdict": "block",
        });
        let Value::Object(signal) = signal else { panic!() };
        let event = cloud_event(&signal, "5e0c7a11-17");
        assert_eq!(
            event,
            json!({
                "specversion": "1.0", "id": "5e0c7a11-17", "source": "/lineside/sessions/a%2Fb%20c", "type": "lineside.decided",
                "datacontenttype": "application/json", "data": signal, "time": "2026-11-24T05:06:43.372Z", "subject": "before_tool",
            })
        );
    }
}
