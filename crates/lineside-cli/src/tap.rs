//! `lineside tap`: what happens in the daemon, as it happens. Reads the stream of signals, and goes on where it was when the
//! connection breaks.

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
use crate::style::{COLUMNS, Styles, Tone, columns, print_json, print_unbroken, tell};

/// Show what happens in the daemon, as it happens, until it is interrupted.
///
/// Decisions are lines as `lineside log` has them; between them stand sessions that begin and end, background work,
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

    #[command(flatten)]
    daemon: DaemonArgs,
}

const AFTER: &str = "\
Examples:
  lineside tap
  lineside tap verdict:refused,ask
  lineside tap session:s-main --json | jq .payload.tool_input.command

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

/// How often it is looked whether there is a daemon again.
const AGAIN: Duration = Duration::from_millis(250);

/// Runs the command.
///
/// # Errors
/// The query is none, there is no daemon, or the output cannot be written.
pub(crate) async fn run(args: &TapArgs, styles: Styles) -> Result<ExitCode> {
    let client = Client::new(&args.daemon.paths()?.socket);
    let query = query_text(&args.query);
    let mut signals = match client.signals_as_logged(&query, None).await {
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
    let mut lines = Lines::new(columns().unwrap_or(COLUMNS), Order::ByTime, styles.out);
    loop {
        while let Some(signal) = signals.next().await {
            show(&signal, signals.last().unwrap_or_default(), format, &mut lines)?;
        }
        let last = signals.last().map(str::to_owned);
        tell(&styles.err.paint(Tone::Warning, "the daemon has ended; this goes on when there is one again"));
        signals = again(&client, &query, last.as_deref()).await?;
        let is_same = last.as_deref().map(daemon) == signals.last().map(daemon);
        tell(&styles.err.paint(Tone::Dim, if is_same { "it goes on where it was" } else { OTHER }));
    }
}

const OTHER: &str = "another daemon: what the last one did at its end is in `lineside log`";

/// The word for a daemon in the id of a signal.
fn daemon(id: &str) -> &str {
    id.split_once('-').map_or(id, |(daemon, _)| daemon)
}

/// The stream of the next daemon that answers.
async fn again(client: &Client, query: &str, last: Option<&str>) -> Result<Signals> {
    loop {
        tokio::time::sleep(AGAIN).await;
        match client.signals_as_logged(query, last).await {
            Ok(mut signals) => {
                signals.begins().await;
                return Ok(signals);
            }
            Err(RequestError::NoDaemon { .. } | RequestError::Broken { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn show(signal: &Map, id: &str, format: Format, lines: &mut Lines) -> Result<()> {
    match format {
        Format::Json => print_json(signal)?,
        Format::Cloudevents => print_json(&cloud_event(signal, id))?,
        Format::Lines => print_unbroken(match Decision::of_json(signal) {
            Some(decision) => lines.of(&[decision]),
            None => lines.of_news(signal),
        })?,
    }
    Ok(())
}

/// The signal as a CloudEvent: <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md>.
fn cloud_event(signal: &Map, id: &str) -> Value {
    let text = |field: &str| signal.get(field).and_then(Value::as_str);
    let source = match text("session") {
        Some(session) => format!("/lineside/sessions/{}", escaped(session)),
        None => "/lineside".to_owned(),
    };
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
