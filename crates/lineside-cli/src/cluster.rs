//! `lineside cluster`: the machines that this daemon shares its sessions with, and how it stands with their server.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use lineside::Client;
use lineside::json::{Map, Value, json};

use crate::control::{ControlArgs, NO_DAEMON, ask, is_no_daemon, span};
use crate::daemon_paths::DaemonPaths;
use crate::page::fitting::width;
use crate::painter::one_line;
use crate::style::{Style, Styles, Tone, count, print, print_json, tell};
use crate::table::{Cell, Table};

/// Say which machines share their sessions with the daemon, and how it stands with their server.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    control: ControlArgs,

    /// What to show, or to do; `status` and `members` without it.
    #[arg(value_enum, value_name = "WHAT")]
    what: Option<What>,

    /// With `drain`: how many seconds it waits at most for what is under way.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=3_600))]
    within: u64,
}

/// What can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// How it stands with the server.
    Status,
    /// The machines.
    Members,
    /// Have this machine leave: it takes nothing more of others, waits for what is under way, and leaves.
    Drain,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  it is together with the others; with `drain`, it has left and nothing was under way
  1  it is not, or one of them is not there; with `drain`, something was under way still
  2  it is in no cluster, or does not answer
  3  no daemon runs";

/// Runs the command.
///
/// # Errors
/// The daemon is in no cluster or does not answer, or the output cannot be written.
pub(crate) async fn run(args: &ClusterArgs, styles: Styles) -> Result<ExitCode> {
    let paths = args.control.daemon().paths()?;
    if args.what == Some(What::Drain) {
        return drain(args, &paths, styles).await;
    }
    let answer = ask(&paths, async |client| client.get::<Map>("/v1/status").await).await;
    let status = match answer {
        Err(error) if is_no_daemon(&error) => {
            tell(&format!("lineside: {error:#}; `lineside serve` starts one"));
            return Ok(ExitCode::from(NO_DAEMON));
        }
        answer => answer?,
    };
    let Some(cluster) = status.get("cluster").and_then(Value::as_object) else {
        bail!(
            "this daemon is in no cluster; `lineside serve --nats URL`, or `cluster:` in config.yaml, has it join one"
        );
    };
    match (args.control.is_json(), args.what) {
        (true, Some(What::Members)) => print_json(&cluster.get("members"))?,
        (true, _) => print_json(cluster)?,
        (false, what) => print(page(cluster, what, styles.out))?,
    }
    let is_there = |member: &Value| member["there"].as_bool() == Some(true);
    let sound = cluster.get("together").and_then(Value::as_bool) == Some(true)
        && members(cluster).iter().all(is_there);
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Has this machine leave.
async fn drain(args: &ClusterArgs, paths: &DaemonPaths, styles: Styles) -> Result<ExitCode> {
    let asked = Map::from_iter([("within_ms".to_owned(), json!(args.within * 1_000))]);
    let left: Map = match Client::new(&paths.socket).post("/v1/cluster/drain", &asked).await {
        Err(error) if error.is_no_daemon() => {
            tell(&format!("lineside: {error:#}; `lineside serve` starts one"));
            return Ok(ExitCode::from(NO_DAEMON));
        }
        answer => answer?,
    };
    let lines = drained(&left, styles.out);
    let is_over = lines.len() == 1;
    if args.control.is_json() {
        print_json(&left)?;
    } else {
        print(lines)?;
    }
    Ok(if is_over { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// That it has left, and below that what was under way still.
fn drained(left: &Map, style: Style) -> Vec<String> {
    let kinds = [
        (
            "here",
            "session of others",
            "had something below it here: its hooks in programs mean their on_failure",
        ),
        ("elsewhere", "session of this machine", "had something below it elsewhere, where the same holds"),
        ("keys", "key", "was held, and is free 10 seconds later"),
        (
            "jobs",
            "job",
            "ran on another machine than its own: its attempt has failed, and is tried again if it may be",
        ),
        ("windows", "window", "was open: this machine runs for what it holds, and another one may as well"),
    ];
    let mut lines =
        vec!["this machine has left its cluster; it joins again when the daemon is started again".to_owned()];
    for (field, what, so) in kinds {
        let number = left.get(field).and_then(Value::as_u64).unwrap_or_default();
        if number > 0 {
            lines.push(format!("{}: {number} × {what} {so}", style.paint(Tone::Warning, "warning")));
        }
    }
    lines
}

fn members(cluster: &Map) -> &[Value] {
    cluster.get("members").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// One line of it, for the status of the daemon: whether it is together, and which machines are not there.
pub(crate) fn summary(cluster: &Map, style: Style) -> String {
    let name = one_line(cluster.get("cluster").and_then(Value::as_str).unwrap_or_default());
    let (there, away): (Vec<_>, Vec<_>) =
        members(cluster).iter().partition(|member| member["there"].as_bool() == Some(true));
    let named = |member: &&Value| one_line(member["machine"].as_str().unwrap_or_default());
    let away = match away.iter().map(named).collect::<Vec<_>>() {
        none if none.is_empty() => String::new(),
        away => format!(", not there: {}", style.paint(Tone::Bad, &away.join(", "))),
    };
    let state = match cluster.get("together").and_then(Value::as_bool) {
        Some(true) => format!("together, {}{away}", count(there.len(), "machine")),
        _ => style.paint(Tone::Bad, "apart; `lineside cluster` says why"),
    };
    format!("  cluster   {name}: {state}")
}

/// The machines on one line of so many columns: those that are away first, with how long, and how many there are more.
pub(crate) fn machines(cluster: &Map, columns: usize, style: Style) -> String {
    let since = |millis: Option<&Value>| {
        span(Duration::from_millis(millis.and_then(Value::as_u64).unwrap_or_default()))
    };
    let is = |of: &Value, field: &str| of[field].as_bool() == Some(true);
    let apart = (cluster.get("together").and_then(Value::as_bool) != Some(true))
        .then(|| (Tone::Bad, format!("✗ apart for {}", since(cluster.get("since_ms")))));
    let mut all: Vec<&Value> = members(cluster).iter().collect();
    all.sort_by_key(|member| is(member, "there"));
    let machine = |member: &&Value| {
        let name = one_line(member["machine"].as_str().unwrap_or_default());
        match (is(member, "there"), is(member, "this")) {
            (false, _) => (Tone::Bad, format!("✗ {name} away for {}", since(member.get("heard_ms")))),
            (true, true) => (Tone::Good, format!("● {name} (this)")),
            (true, false) => (Tone::Good, format!("● {name}")),
        }
    };
    let parts: Vec<_> = apart.into_iter().chain(all.iter().map(machine)).collect();
    let head =
        format!("cluster {}", one_line(cluster.get("cluster").and_then(Value::as_str).unwrap_or_default()));
    let (mut used, mut line) = (width(&head), style.paint(Tone::Bold, &head));
    for (at, (tone, part)) in parts.iter().enumerate() {
        let more = format!("  and {} more", parts.len() - at);
        used += 2 + width(part);
        let is_last = at + 1 == parts.len();
        if used + if is_last { 0 } else { width(&more) } > columns {
            return line + &style.paint(Tone::Dim, &more);
        }
        line.push_str("  ");
        line.push_str(&style.paint(*tone, part));
    }
    line
}

fn page(cluster: &Map, what: Option<What>, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if what != Some(What::Members) {
        lines.extend(standing(cluster, style));
    }
    if what.is_none() {
        lines.push(String::new());
    }
    if what != Some(What::Status) {
        let rows = members(cluster).iter().map(row).collect();
        let heading = ["machine", "", "heard"];
        lines.extend(Table { heading: &heading, rows, stacked: &[] }.lines(None, style));
    }
    lines
}

fn standing(cluster: &Map, style: Style) -> Vec<String> {
    let text = |of: &Map, field: &str| one_line(of.get(field).and_then(Value::as_str).unwrap_or_default());
    let number = |field: &str| cluster.get(field).and_then(Value::as_u64).unwrap_or_default();
    let sessions =
        |field: &str, what: &str| count(usize::try_from(number(field)).unwrap_or(usize::MAX), what);
    let since = span(Duration::from_millis(number("since_ms")));
    let state = match cluster.get("together").and_then(Value::as_bool) {
        Some(true) if cluster.get("draining").and_then(Value::as_bool) == Some(true) => {
            style.paint(Tone::Warning, "leaving")
        }
        Some(true) => style.paint(Tone::Good, "together"),
        _ => style.paint(Tone::Bad, "apart"),
    };
    let mut lines = vec![format!("{state}  cluster {}, for {since}", text(cluster, "cluster"))];
    if cluster.get("why").is_some() {
        lines.push(format!("  why       {}", text(cluster, "why")));
    }
    lines.push(format!("  machine   {}", text(cluster, "machine")));
    if let Some(server) = cluster.get("server").and_then(Value::as_object) {
        let sync = match &*text(server, "sync") {
            "always" => "on its disk what it acknowledges".to_owned(),
            "unknown" => "does not say when it writes to its disk".to_owned(),
            within => format!("on its disk {within}"),
        };
        lines.push(format!("  server    {} {}, {sync}", text(server, "name"), text(server, "version")));
    }
    let unwritten = match number("unwritten") {
        0 => String::new(),
        some => format!(", {some} of them not written yet"),
    };
    lines.push(format!("  shares    {}{unwritten}", sessions("sessions", "session")));
    let more = match number("not_mirrored") {
        0 => String::new(),
        some => format!(", {some} more are looked up one by one"),
    };
    let below = sessions("stand_ins", "session");
    lines.push(format!(
        "  knows     {} of others{more}; {below} of others with something below here",
        sessions("mirrored", "session")
    ));
    if let Some(jobs) = cluster.get("jobs").and_then(Value::as_object) {
        let jobs_of = |field: &str| jobs.get(field).and_then(Value::as_u64).unwrap_or_default();
        lines.push(format!(
            "  jobs      {} of others here, {} of this machine elsewhere, {} named to others since the start",
            jobs_of("here"),
            jobs_of("elsewhere"),
            jobs_of("published")
        ));
    }
    lines
}

fn row(member: &Value) -> Vec<Cell> {
    let name = one_line(member["machine"].as_str().unwrap_or_default());
    let (state, tone) = match (member["this"].as_bool(), member["there"].as_bool()) {
        (Some(true), _) => ("this one", Tone::Bold),
        (_, Some(true)) => ("there", Tone::Good),
        _ => ("not there", Tone::Bad),
    };
    let heard = match member["this"].as_bool() {
        Some(true) => String::new(),
        _ => format!("{} ago", span(Duration::from_millis(member["heard_ms"].as_u64().unwrap_or_default()))),
    };
    vec![Cell::new(name), Cell::toned(state, tone), Cell::new(heard)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_under_way_when_a_machine_left_is_said() {
        let left = |here: u64| json!({"here": here, "elsewhere": 0, "keys": 0}).as_object().unwrap().clone();
        assert_eq!(drained(&left(0), Style::PLAIN).len(), 1);
        let lines = drained(&left(2), Style::PLAIN);
        assert!(lines.len() == 2 && lines[1].starts_with("warning: 2 × session of others had"), "{lines:?}");
    }

    #[test]
    fn a_page_names_the_machines_and_how_it_stands_with_their_server() {
        let cluster = json!({
            "cluster": "build", "machine": "a", "together": true, "since_ms": 61_000,
            "server": {"name": "n1", "version": "2.15.1", "sync": "within 120s"},
            "members": [
                {"machine": "a", "this": true, "there": true, "heard_ms": 0},
                {"machine": "b", "this": false, "there": true, "heard_ms": 1_200},
                {"machine": "c\u{1b}[2J", "this": false, "there": false, "heard_ms": 90_000},
            ],
            "sessions": 3, "unwritten": 1, "mirrored": 12, "not_mirrored": 0, "stand_ins": 2,
            "jobs": {"published": 9, "here": 1, "elsewhere": 4},
        });
        let Value::Object(cluster) = cluster else { panic!("it is an object") };
        insta::assert_snapshot!(page(&cluster, None, Style::PLAIN).join("\n"));
        let members = page(&cluster, Some(What::Members), Style::PLAIN);
        assert_eq!(members.len(), 4, "{members:?}");
        assert_eq!(
            summary(&cluster, Style::PLAIN),
            "  cluster   build: together, 2 machines, not there: c\\u{1b}[2J"
        );
        let mut apart = cluster.clone();
        apart.insert("together".to_owned(), json!(false));
        apart.insert("why".to_owned(), json!("connection refused"));
        apart.insert("server".to_owned(), Value::Null);
        insta::assert_snapshot!(page(&apart, Some(What::Status), Style::PLAIN).join("\n"));
    }
}
