//! `lineside explain`: which hooks would run for an event, in which order, and why the others would not. Runs no hook.

use std::io::{ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::Bus;
use lineside::core::AnyEvent;
use lineside::dialects::DIALECTS;
use lineside::json::{Map, json};
use lineside::listing::{self, Explanation};
use lineside::wire::{EventDraft, Vocabulary, publication};
use tokio::io::AsyncReadExt as _;

use crate::control::ask;
use crate::daemon_paths::AskArgs;
use crate::lineage::SESSION;
use crate::list::untrusted;
use crate::loading::{finding, load, untrusted_hooks};
use crate::places::PlaceArgs;
use crate::sessions::Sessions;
use crate::style::{Styles, columns, print, print_json, tell};

mod page;

/// Say which hooks would run for an event, and why the others not.
///
/// No hook is run. Plugins of OpenClaw and Flyto that are trusted are loaded all the same, because they alone know which
/// hooks they register. The event is one JSON object as `lineside run` reads it.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    places: PlaceArgs,

    #[command(flatten)]
    ask: AskArgs,

    /// Print one JSON object: `event`, `hooks`, `elsewhere` and `diagnostics`.
    #[arg(long)]
    json: bool,

    /// The event, one JSON object; `-` or nothing for standard input. A command line such as "rm -rf /" stands for the event of
    /// a shell that is to run it.
    #[arg(value_name = "EVENT.json")]
    event: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The project or the event cannot be opened, the event is none, there is no daemon to be asked, or the output cannot be
/// written.
pub(crate) async fn run(args: &ExplainArgs, styles: Styles) -> Result<ExitCode> {
    let text = read(args.event.as_deref()).await?;
    let what = || format!("cannot explain {}", name_of(args.event.as_deref()));
    let (explanation, untrusted) = match args.ask.paths()? {
        Some(paths) => {
            // What is no event is reported in the same words as without a daemon.
            EventDraft::parse(&text, &Vocabulary::new(DIALECTS)).with_context(what)?;
            let mut event: Map = lineside::json::from_slice(&text).with_context(what)?;
            event.get_or_insert_with("session", || json!(SESSION));
            let here = std::env::current_dir().context("failed to read the working directory")?;
            event.get_or_insert_with("cwd", || json!(here.to_string_lossy()));
            let explanation: Explanation =
                ask(&paths, async |client| client.post("/v1/explain", &event).await).await?;
            let hooks: Vec<_> = explanation.hooks.iter().map(|hook| hook.listed.clone()).collect();
            let note = untrusted_hooks(untrusted(&hooks));
            (explanation, note)
        }
        None => {
            let ground = args.places.ground()?;
            let (assembly, report) = load(&ground).await?;
            let line = EventDraft::parse(&text, &Vocabulary::new(&ground.dialects)).with_context(what)?;
            let event = as_event(line, &ground.project).await?;
            let session = assembly.bus().session(event.envelope().source.session.clone()).open().await?;
            (listing::explain(&session, &event, &report), crate::loading::untrusted(&report))
        }
    };
    if args.json {
        print_json(&explanation)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(page::lines(&explanation, columns(), styles.out))?;
    if !explanation.diagnostics.is_empty() {
        print(["", "Found while loading:"])?;
    }
    print(explanation.diagnostics.iter().map(|diagnostic| format!("  {}", finding(diagnostic, styles.out))))?;
    if let Some(note) = untrusted {
        print(["", &note])?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads aside, so that a signal still ends the command while nothing comes.
async fn read(path: Option<&Path>) -> Result<Vec<u8>> {
    match path {
        Some(path) if path != Path::new("-") => {
            match (tokio::fs::read(path).await, path.to_str().and_then(as_command)) {
                (Err(error), Some(event)) if error.kind() == ErrorKind::NotFound => {
                    tell(&format!(
                        "note: there is no such file, so this is about a shell with: {}",
                        path.display()
                    ));
                    Ok(event)
                }
                (text, _) => text.with_context(|| {
                    format!("failed to open {}; the event is a file with one JSON object", path.display())
                }),
            }
        }
        _ => {
            if std::io::stdin().is_terminal() {
                tell("reading an event from this terminal, one JSON object; Ctrl-D ends the input");
            }
            let mut text = Vec::new();
            tokio::io::stdin().read_to_end(&mut text).await.context("failed to read stdin")?;
            Ok(text)
        }
    }
}

/// The event of a shell that is to run what stands where a file was to be named: a command line has a blank.
fn as_command(line: &str) -> Option<Vec<u8>> {
    let call =
        json!({"point": "before_tool", "payload": {"tool_name": "Shell", "tool_input": {"command": line}}});
    line.trim().contains(' ').then(|| call.to_string().into_bytes())
}

fn name_of(path: Option<&Path>) -> String {
    path.map_or_else(|| "stdin".to_owned(), |path| path.display().to_string())
}

/// The event as it would reach the hooks: published on a bus that has none.
async fn as_event(line: EventDraft, project: &std::sync::Arc<str>) -> Result<AnyEvent> {
    let silent = Bus::new();
    let session = Sessions::new(&silent, project).of(&line)?;
    let receipt = publication(&session, line).publish_any().await?;
    Ok(receipt.event.clone())
}
