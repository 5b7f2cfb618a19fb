//! `lineside explain`: which hooks would run for an event, in which order, and why the others would not. Runs no hook.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::Bus;
use lineside::core::{AnyEvent, SkipReason};
use lineside::json::{Value, json};
use lineside::wire::{EventDraft, Vocabulary, publication};

use crate::list::{Listed, is_same, listed};
use crate::loading::{finding, load, untrusted};
use crate::painter::json_line;
use crate::places::PlaceArgs;
use crate::sessions::Sessions;
use crate::style::{Styles, columns, print, tell};

mod page;

/// Say which hooks would run for an event, and why the others not.
///
/// No hook is run. Plugins of OpenClaw and Flyto that are trusted are loaded all the same, because they alone know which
/// hooks they register. The event is one JSON object as `lineside run` reads it.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    places: PlaceArgs,

    /// Print one JSON object: `event`, `hooks`, `elsewhere` and `diagnostics`.
    #[arg(long)]
    json: bool,

    /// The event, one JSON object; `-` or nothing for standard input.
    #[arg(value_name = "EVENT.json")]
    event: Option<PathBuf>,
}

/// What would become of one hook.
pub(crate) struct Explained {
    pub(crate) listed: Listed,
    /// Why it would not run; `None` when it would.
    pub(crate) skipped: Option<SkipReason>,
}

/// What would become of an event.
pub(crate) struct Explanation {
    pub(crate) event: AnyEvent,
    /// The hooks that wait for its point, in the order in which they run.
    pub(crate) hooks: Vec<Explained>,
    /// The names of the hooks at other points.
    pub(crate) elsewhere: BTreeMap<&'static str, Vec<String>>,
}

/// Runs the command.
///
/// # Errors
/// The project or the event cannot be opened, the event is none, or the output cannot be written.
pub(crate) async fn run(args: &ExplainArgs, styles: Styles) -> Result<ExitCode> {
    let ground = args.places.ground()?;
    let text = read(args.event.as_deref())?;
    let (assembly, report) = load(&ground).await?;
    let line = EventDraft::parse(&text, &Vocabulary::new(&ground.dialects))
        .with_context(|| format!("cannot explain {}", name_of(args.event.as_deref())))?;
    let event = as_event(line, &ground.project).await?;
    let explanation = explain(event, assembly.bus(), listed(&assembly, &report).await?).await?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let mut json = explanation.to_json();
        json["diagnostics"] = json!(report.diagnostics);
        out.write_all(json_line(&json)?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&mut out, page::lines(&explanation, columns(), styles.out))?;
    if !report.diagnostics.is_empty() {
        print(&mut out, ["", "Found while loading:"])?;
    }
    print(
        &mut out,
        report.diagnostics.iter().map(|diagnostic| format!("  {}", finding(diagnostic, styles.out))),
    )?;
    if let Some(note) = untrusted(&report) {
        print(&mut out, ["", &note])?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: Option<&Path>) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    match path {
        Some(path) if path != Path::new("-") => {
            text = std::fs::read(path).with_context(|| format!("failed to open {}", path.display()))?;
        }
        _ => {
            if std::io::stdin().is_terminal() {
                tell("reading an event from this terminal, one JSON object; Ctrl-D ends the input");
            }
            std::io::stdin().read_to_end(&mut text).context("failed to read stdin")?;
        }
    }
    Ok(text)
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

async fn explain(event: AnyEvent, bus: &Bus, all: Vec<Listed>) -> Result<Explanation> {
    let session = bus.session(event.envelope().source.session.clone()).open().await?;
    let verdicts = session.explain(&event);
    let point = event.point().name;
    let mut elsewhere: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut hooks = Vec::new();
    for listed in all {
        if listed.point != point {
            elsewhere.entry(listed.point).or_default().push(listed.hook.name.to_string());
            continue;
        }
        let found = verdicts
            .iter()
            .find(|(hook, _)| is_same(hook, &listed.hook) && hook.registration == listed.hook.registration);
        if let Some((_, skipped)) = found {
            hooks.push(Explained { listed, skipped: *skipped });
        }
    }
    Ok(Explanation { event, hooks, elsewhere })
}

impl Explanation {
    fn to_json(&self) -> Value {
        let envelope = self.event.envelope();
        let hooks: Vec<Value> = self
            .hooks
            .iter()
            .map(|explained| {
                let mut hook = explained.listed.to_json();
                hook["runs"] = json!(explained.skipped.is_none());
                hook["skipped"] = json!(explained.skipped);
                hook
            })
            .collect();
        json!({
            "event": {"point": self.event.point().name, "session": envelope.source.session},
            "hooks": hooks,
            "elsewhere": self.elsewhere,
        })
    }
}
