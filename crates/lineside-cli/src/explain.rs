//! `lineside explain`: what a command does, or which hooks would run for an event and why the others would not. Runs
//! neither.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use lineside::Bus;
use lineside::core::AnyEvent;
use lineside::dialects::DIALECTS;
use lineside::json::{Map, Value, json};
use lineside::listing::{self, Explanation};
use lineside::wire::{EventDraft, Vocabulary, publication};
use tokio::io::AsyncReadExt as _;

use crate::control::{OFF, ask};
use crate::daemon_paths::{AskArgs, DaemonPaths};
use crate::lineage::SESSION;
use crate::list::untrusted;
use crate::loading::{finding, load, untrusted_hooks};
use crate::places::PlaceArgs;
use crate::sessions::Sessions;
use crate::style::{Style, Styles, Tone, columns, print, print_json, tell};

mod command;
mod page;
mod report;

use command::{CommandArgs, Scene};

/// Say what a command does, or which hooks would run for an event.
///
/// Neither the command nor a hook is run. Plugins of OpenClaw and Flyto that are trusted are loaded all the same, because
/// they alone know which hooks they register. An event is one JSON object as `lineside run` reads it.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    places: PlaceArgs,

    #[command(flatten)]
    ask: AskArgs,

    /// Print one JSON object: `event`, `hooks`, `elsewhere` and `diagnostics`, and of a command what --batch has.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    command: CommandArgs,

    /// A command, such as "rm -rf build", or the file of an event; `-` or nothing for an event on standard input.
    ///
    /// The name of a file or of a point is an event, unless --shell, --cwd or --home say that it is a command.
    #[arg(value_name = "COMMAND|EVENT.json", conflicts_with = "batch")]
    subject: Option<PathBuf>,
}

/// What is to be explained.
enum Subject {
    Command(String),
    /// The text of one.
    Event(Vec<u8>),
}

/// Runs the command.
///
/// # Errors
/// The project, the event or the commands cannot be opened, the event is none, there is no daemon to be asked, or the
/// output cannot be written.
pub(crate) async fn run(args: &ExplainArgs, styles: Styles) -> Result<ExitCode> {
    if let Some(file) = &args.command.batch {
        let scene = args.command.scene(&args.places)?;
        scene.batch(&read(Some(file)).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let subject = args.subject().await?;
    let (text, command) = match subject {
        Subject::Command(command) => (event_of(&command), Some((command, args.command.scene(&args.places)?))),
        Subject::Event(text) => (text, None),
    };
    let name = name_of(args.subject.as_deref());
    let (explanation, note) = match args.ask.paths()? {
        Some(paths) => by_daemon(&text, &name, &paths).await?,
        None => by_what_is_here(&text, &name, &args.places).await?,
    };
    let is_off = args.ask.of_daemon().is_ok_and(|paths| paths.switch().is_off());
    let notes = is_off.then(|| OFF.to_owned()).into_iter().chain(note).collect();
    let explained = ExplainedSubject { explanation, notes, command };
    if args.json {
        print_json(&explained.object()?)?;
    } else {
        print(explained.lines(columns(), styles.out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What was explained, and what became of it.
pub(crate) struct ExplainedSubject {
    explanation: Explanation,
    /// That hooks are off, or not trusted.
    notes: Vec<String>,
    command: Option<(String, Scene)>,
}

impl ExplainedSubject {
    /// What a command does in the shell of this name, where this process works, and what the daemon's hooks would say.
    ///
    /// # Errors
    /// The project cannot be opened, or the daemon does not answer.
    pub(crate) async fn of_command(command: &str, shell: &str, paths: &DaemonPaths) -> Result<Self> {
        let scene = CommandArgs::of_shell(shell).scene(&PlaceArgs::of(None))?;
        let (explanation, note) = by_daemon(&event_of(command), "the command", paths).await?;
        let notes = note.into_iter().collect();
        Ok(Self { explanation, notes, command: Some((command.to_owned(), scene)) })
    }

    /// What would become of the event of this text, where this process works.
    ///
    /// # Errors
    /// The text is no event, or the daemon does not answer.
    pub(crate) async fn of_event(text: &str, paths: &DaemonPaths) -> Result<Self> {
        let (explanation, note) = by_daemon(text.as_bytes(), "the event", paths).await?;
        Ok(Self { explanation, notes: note.into_iter().collect(), command: None })
    }

    /// As programs read it.
    fn object(&self) -> Result<Value> {
        let mut object = lineside::json::to_value(&self.explanation)?;
        if let (Some((command, scene)), Some(object)) = (&self.command, object.as_object_mut()) {
            object.extend(scene.object(command.as_bytes()));
        }
        Ok(object)
    }

    /// As people read it.
    pub(crate) fn lines(&self, columns: Option<usize>, style: Style) -> Vec<String> {
        let Self { explanation, notes, command } = self;
        let mut lines = vec![page::verdict(&explanation.foreseen, style)];
        if let Some((command, scene)) = command {
            lines.extend(report::lines(command, scene, &explanation.hooks, columns, style));
            lines.extend([String::new(), style.paint(Tone::Bold, "Hooks")]);
        }
        lines.extend(page::lines(explanation, columns, style));
        if !explanation.diagnostics.is_empty() {
            lines.extend([String::new(), "Found while loading:".to_owned()]);
        }
        let found = explanation.diagnostics.iter();
        lines.extend(found.map(|diagnostic| format!("  {}", finding(diagnostic, style))));
        lines.extend(notes.iter().flat_map(|note| [String::new(), note.clone()]));
        lines
    }
}

/// What the daemon says of an event, and that hooks are not trusted.
async fn by_daemon(text: &[u8], name: &str, paths: &DaemonPaths) -> Result<(Explanation, Option<String>)> {
    let what = || format!("cannot explain {name}");
    // What is no event is reported in the same words as without a daemon.
    EventDraft::parse(text, &Vocabulary::new(DIALECTS)).with_context(what)?;
    let mut event: Map = lineside::json::from_slice(text).with_context(what)?;
    event.get_or_insert_with("session", || json!(SESSION));
    let here = std::env::current_dir().context("failed to read the working directory")?;
    event.get_or_insert_with("cwd", || json!(here.to_string_lossy()));
    let explanation: Explanation =
        ask(paths, async |client| client.post("/v1/explain", &event).await).await?;
    let hooks: Vec<_> = explanation.hooks.iter().map(|hook| hook.listed.clone()).collect();
    let note = untrusted_hooks(untrusted(&hooks));
    Ok((explanation, note))
}

/// The same of the hooks that are found here.
async fn by_what_is_here(
    text: &[u8],
    name: &str,
    places: &PlaceArgs,
) -> Result<(Explanation, Option<String>)> {
    let ground = places.ground()?;
    let (assembly, report) = load(&ground).await?;
    let line = EventDraft::parse(text, &Vocabulary::new(&ground.dialects))
        .with_context(|| format!("cannot explain {name}"))?;
    let event = as_event(line, &ground.project).await?;
    let session = assembly.bus().session(event.envelope().source.session.clone()).open().await?;
    Ok((listing::explain(&session, &event, &report), crate::loading::untrusted(&report)))
}

impl ExplainArgs {
    /// What the argument names: a file and a point are events, another text is a command.
    async fn subject(&self) -> Result<Subject> {
        let name = self.subject.as_deref().filter(|name| *name != Path::new("-"));
        let Some(name) = name else { return Ok(Subject::Event(read(None).await?)) };
        let text = name.to_str();
        if let Some(text) = text.filter(|_| self.command.are_of_a_command()) {
            return Ok(Subject::Command(text.to_owned()));
        }
        if name.symlink_metadata().is_ok() {
            return read(Some(name)).await.map(Subject::Event);
        }
        match text {
            Some(text) if lineside::points::find(text).is_ok() => {
                Ok(Subject::Event(json!({"point": text}).to_string().into_bytes()))
            }
            Some(text) if !is_name_of_json(text) => Ok(Subject::Command(text.to_owned())),
            _ => bail!(
                "there is no file {}; an event is a file with one JSON object, a command is explained with --shell bash",
                name.display()
            ),
        }
    }
}

/// Whether a text names a file of JSON rather than a command.
fn is_name_of_json(text: &str) -> bool {
    let suffixes = [".json", ".jsonl"];
    !text.contains(' ') && suffixes.iter().any(|suffix| text.ends_with(suffix))
}

/// Reads aside, so that a signal still ends the command while nothing comes.
async fn read(path: Option<&Path>) -> Result<Vec<u8>> {
    match path {
        Some(path) if path != Path::new("-") => {
            tokio::fs::read(path).await.with_context(|| format!("failed to open {}", path.display()))
        }
        _ => {
            if std::io::stdin().is_terminal() {
                tell("reading from this terminal; Ctrl-D ends the input");
            }
            let mut text = Vec::new();
            tokio::io::stdin().read_to_end(&mut text).await.context("failed to read stdin")?;
            Ok(text)
        }
    }
}

/// The event of a shell that is to run a command.
fn event_of(command: &str) -> Vec<u8> {
    let payload = json!({"tool_name": "Shell", "tool_input": {"command": command}});
    json!({"point": "before_tool", "payload": payload}).to_string().into_bytes()
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
