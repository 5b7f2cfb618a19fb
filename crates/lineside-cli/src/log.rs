//! `lineside log`: what was decided, a line for each event. Reads the file of the decision log, with or without a daemon.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::Bus;
use lineside::core::Timestamp;
use lineside::json::{Map, Value};
use lineside::log::{Decision, FILE, Look, News, Query};
use lineside_daemon::switch::is_of_switch;

use crate::control::ask;
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::style::{COLUMNS, Style, Styles, Tone, columns, print_json, print_unbroken, tell};

pub(crate) mod line;
pub(crate) mod machines;
mod perfetto;

use line::{Lines, Order};

/// Show what was decided, a line for each event.
///
/// The query has words `key:value`, all of which have to hold, and texts that are searched for in payloads and reasons.
/// Values with commas between them are alternatives, and names may be globs.
#[derive(Debug, Args)]
#[command(after_help = GRAMMAR)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// What to look for, such as `verdict:block tool:Shell since:2d "rm -rf"`; everything when nothing is said.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Show at most so many, the latest; 50 when nothing is said, 100,000 with --perfetto.
    #[arg(long, short = 'n', value_name = "NUMBER")]
    limit: Option<usize>,

    /// Go on with what is decided from now on, until it is interrupted.
    #[arg(long, short, conflicts_with_all = ["tree", "csv"])]
    follow: bool,

    /// Put the events of each tree of sessions together, each session below the one that started it.
    #[arg(long)]
    tree: bool,

    /// Print one JSON object a line.
    #[arg(long, conflicts_with_all = ["csv", "tree"])]
    json: bool,

    /// Print a table of comma-separated values, with a heading.
    #[arg(long, conflicts_with = "tree")]
    csv: bool,

    /// Print a trace for <https://ui.perfetto.dev>: agents as lanes, with their tools, hooks and background work.
    #[arg(long, conflicts_with_all = ["csv", "follow", "json", "tree"])]
    perfetto: bool,

    /// What was decided on all machines of the cluster, with the machine of each; the daemon asks them.
    #[arg(long, conflicts_with_all = ["csv", "follow", "log", "perfetto", "tree"])]
    cluster: bool,
}

/// How many are shown, and how many are in a trace, when nothing is said.
const LIMIT: usize = 50;
const TRACED: usize = 100_000;

pub(crate) const GRAMMAR: &str = "\
Keys of a query:
  verdict:  continue, allow, ask, block, stop, or refused for the last two
  tool: point: hook: session: tree: agent: host: project:   a name, or a glob
  shadow:   what a hook in shadow would have done: block, ask, refused, amended, any, …
  failed:   how a hook failed: timeout, exit, signal, spawn, output, panic, closed, error, or any
  since: until:   2d, 3h, 10min, 2026-11-24, 2026-11-24T09:00:00Z
  took:     >50ms, <2s

Examples:
  lineside log verdict:refused since:2d
  lineside log tool:Shell hook:guard \"rm -rf\" --follow
  lineside why --refused            the last of them as a page";

/// How often a reader that follows looks.
const LOOK: Duration = Duration::from_millis(200);

/// Which log is read.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The file of the log; without it the one in the state folder of the daemon.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// The state folder of the daemon, where that is another one than usual.
    #[arg(long, value_name = "DIR", conflicts_with = "log")]
    state: Option<PathBuf>,
}

impl StoreArgs {
    /// The daemon that writes it.
    pub(crate) fn daemon(&self) -> DaemonArgs {
        DaemonArgs::of_state(self.state.clone())
    }

    /// Opens it, with what the daemon has decided so far.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub(crate) async fn open_written(&self) -> Result<Look> {
        if self.log.is_none() {
            written(&self.daemon().paths()?).await;
        }
        self.open()
    }

    /// The same as it lies there.
    ///
    /// # Errors
    /// As [`open_written`](Self::open_written).
    pub(crate) fn open(&self) -> Result<Look> {
        let path = match &self.log {
            Some(path) => path.clone(),
            None => self.daemon().paths()?.state.join(FILE),
        };
        Look::open(&path).with_context(|| match self.log {
            Some(_) => "cannot show what was decided",
            None => {
                "cannot show what was decided; the daemon writes the log, and --log FILE names another one"
            }
        })
    }
}

/// How long a daemon has to write down what it has decided.
const WRITTEN: Duration = Duration::from_secs(3);

/// Has the daemon write down what it has decided so far: its log is a moment behind. Without one nothing is waited for.
pub(crate) async fn written(paths: &DaemonPaths) {
    let asked = ask(paths, async |client| client.get::<Map>("/v1/receipts?most=0&written=true").await);
    tokio::time::timeout(WRITTEN, asked).await.ok();
}

/// The query of these arguments.
///
/// # Errors
/// It is none.
pub(crate) fn query(words: &[String]) -> Result<Query> {
    Ok(Query::parse(&query_text(words), now())?)
}

/// The text of the query of these arguments.
pub(crate) fn query_text(words: &[String]) -> String {
    // What a shell has taken the quotes off is one text again, unless it is a query by itself.
    let word = |word: &String| {
        let is_text = word.contains(char::is_whitespace) && !word.contains([':', '"']);
        if is_text { format!("\"{word}\"") } else { word.clone() }
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

pub(crate) fn now() -> Timestamp {
    // The bus reads the clock for all crates.
    Bus::new().wall_clock()
}

/// Runs the command.
///
/// # Errors
/// There is no log, it cannot be read, the query is none, or the output cannot be written.
pub(crate) async fn run(args: &LogArgs, styles: Styles) -> Result<ExitCode> {
    if args.cluster {
        return of_cluster(args, styles).await;
    }
    let query = query(&args.query)?;
    let look = args.store.open_written().await?;
    let usual = if args.perfetto { TRACED } else { LIMIT };
    let found = look.decisions(&query, args.limit.unwrap_or(usual))?;
    if args.perfetto {
        let mut decisions = Vec::with_capacity(found.len());
        for decision in &found {
            decisions.extend(look.why(&decision.id.to_string())?);
        }
        print_json(&perfetto::trace(&decisions))?;
        report(&look, &query, found.is_empty(), styles.err)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut after = look.last()?;
    let order = if args.tree { Order::ByTree } else { Order::ByTime };
    let mut lines = Lines::new(columns().unwrap_or(COLUMNS), order, styles.out);
    // Where there may be more decisions than are shown, only what came after the first.
    let is_all = found.len() < args.limit.unwrap_or(usual);
    let first = found.first().filter(|_| !is_all).map(|first| first.time);
    let switched = args.switched(&look, &query, first)?;
    let mut seen = switched.last().map_or_else(now, |last| last.time);
    // What is about no decision is not shown alone.
    args.show(&found, if found.is_empty() { &[] } else { &switched }, &mut lines)?;
    if args.limit.is_none() && (args.json || args.csv) && found.len() == LIMIT {
        tell(&format!("note: these are the latest {LIMIT}; --limit N has more"));
    }
    if !args.follow {
        report(&look, &query, found.is_empty(), styles.err)?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        tokio::time::sleep(LOOK).await;
        let found = look.after(after, &query)?;
        after = look.last()?.max(after);
        after = found.last().map_or(after, |decision| decision.row.max(after));
        let switched = args.switched(&look, &query, Some(seen))?;
        seen = switched.last().map_or(seen, |last| last.time);
        args.show(&found, &switched, &mut lines)?;
    }
}

async fn of_cluster(args: &LogArgs, styles: Styles) -> Result<ExitCode> {
    let (paths, most) = (args.store.daemon().paths()?, args.limit.unwrap_or(LIMIT));
    let all = machines::of_all(&paths, &query_text(&args.query), most, None).await?;
    let found = machines::latest(&all, most);
    if args.json {
        found.iter().try_for_each(|(.., object)| print_json(object))?;
    } else {
        let page = |columns| Lines::new(columns, Order::ByTime, styles.out);
        print_unbroken(machines::lines(&found, columns().unwrap_or(COLUMNS), page, styles.out))?;
    }
    if found.is_empty() {
        tell("nothing was found on any machine that has answered");
    }
    machines::report(&all, styles.err);
    Ok(ExitCode::SUCCESS)
}

impl LogArgs {
    /// That hooks were switched off and on, after a time, where the page is in the order of time.
    fn switched(&self, look: &Look, query: &Query, after: Option<Timestamp>) -> Result<Vec<News>> {
        if self.json || self.csv || self.tree {
            return Ok(Vec::new());
        }
        let mut news = look.announced(query, after)?;
        news.retain(|news| news.detail.as_deref().is_some_and(is_of_switch));
        Ok(news)
    }

    fn show(&self, found: &[Decision], switched: &[News], lines: &mut Lines) -> Result<()> {
        if self.json {
            found.iter().try_for_each(|decision| print_json(&decision.to_json()))?;
        } else if self.csv {
            print_unbroken([CSV.join(",")])?;
            print_unbroken(found.iter().map(csv))?;
        } else {
            let mut rest = switched;
            let mut all = Vec::new();
            if !switched.is_empty() {
                for decision in found {
                    let (before, after) =
                        rest.split_at(rest.partition_point(|news| news.time <= decision.time));
                    all.extend(before.iter().flat_map(|news| lines.of_news(&line_of(news))));
                    all.extend(lines.of(std::slice::from_ref(decision)));
                    rest = after;
                }
                all.extend(rest.iter().flat_map(|news| lines.of_news(&line_of(news))));
            } else {
                all = lines.of(found);
            }
            print_unbroken(all)?;
        }
        Ok(())
    }
}

/// News as the stream of the daemon has it.
fn line_of(news: &News) -> Map {
    let fields = [("kind", &*news.what), ("time", &*news.time.to_string())];
    let detail = news.detail.as_deref().map(|detail| ("detail", detail));
    fields.into_iter().chain(detail).map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// What is not among the lines.
fn report(look: &Look, query: &Query, nothing: bool, style: Style) -> Result<()> {
    if nothing {
        tell(nothing_found(look)?);
    }
    let lost = look.lost(query)?;
    if lost > 0 {
        let warning = style.paint(Tone::Warning, "warning");
        tell(&format!(
            "{warning}: {lost} records of this time are not in the log: it could not be written, or ended before it was"
        ));
    }
    Ok(())
}

/// That nothing was found, and what there is to do.
pub(crate) fn nothing_found(look: &Look) -> Result<&'static str> {
    Ok(match look.last()? {
        0 => {
            "the log is empty: nothing was decided so far; `lineside doctor` shows whether agents are connected"
        }
        _ => "nothing was found; `lineside log` without a query shows the latest",
    })
}

const CSV: [&str; 15] = [
    "id", "time", "session", "tree", "seq", "agent", "host", "project", "point", "tool", "verdict", "by",
    "reason", "took_us", "payload",
];

fn csv(decision: &Decision) -> String {
    let object = decision.to_json();
    let field = |name: &&str| {
        let text = match object.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let text = crate::painter::one_line(&text);
        if text.contains(['"', ',']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
    };
    CSV.iter().map(field).collect::<Vec<_>>().join(",")
}
