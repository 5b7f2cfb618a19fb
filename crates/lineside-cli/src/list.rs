//! `lineside list`: every hook that is found, point by point, in the order in which the hooks run there.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use lineside::assembly::{Found, Report};
use lineside::core::control::Control;
use lineside::core::hook::LAST;
use lineside::core::{Hook, Origin, Part};
use lineside::dialects::{Inert, Why};
use lineside::json::{Value, json};
use lineside::{Assembly, State};

use crate::automations;
use crate::loading::{exit_status, load, tell_findings};
use crate::painter::{json_line, one_line};
use crate::places::LookArgs;
use crate::style::{Style, Styles, Tone, columns, count, print};
use crate::table::{Cell, Table};

/// List every hook that is found, with its place and whether it can run.
///
/// Findings about hooks that do not load, or will not do what their authors expect, go to standard error. No hook is
/// run; plugins of OpenClaw and Flyto that are trusted are loaded, because they alone know which hooks they register.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    look: LookArgs,
}

const EXIT_STATUS: &str = "\
Exit status:
  0    every hook that was found could be loaded
  1    something has an error
  2    nothing could be done";

/// Runs the command.
///
/// # Errors
/// The project cannot be opened, or the output cannot be written.
pub(crate) async fn run(args: &ListArgs, styles: Styles) -> Result<ExitCode> {
    let ground = args.look.places.ground()?;
    let (assembly, report) = load(&ground).await?;
    let hooks = listed(&assembly, &report).await?;
    let mut out = std::io::stdout().lock();
    if args.look.json {
        let inert = report.inert.iter().map(|(dialect, inert)| inert_json(dialect, inert));
        let hooks: Vec<_> = hooks.iter().map(Listed::to_json).chain(inert).collect();
        let all = json!({"hooks": hooks, "diagnostics": report.diagnostics});
        out.write_all(json_line(&all)?.as_bytes())?;
        return Ok(exit_status(&report));
    }
    tell_findings(&report, styles.err);
    print(&mut out, page(hooks, &report.inert, columns(), styles.out))?;
    if report.hooks.is_empty() && report.inert.is_empty() {
        let names: Vec<_> = ground.dialects.iter().map(|dialect| dialect.name()).collect();
        let project = one_line(&ground.project);
        print(&mut out, [format!("no hook was found for {project} (looked for {})", names.join(", "))])?;
    }
    Ok(exit_status(&report))
}

/// A hook at one of its points.
pub(crate) struct Listed {
    pub(crate) hook: Hook,
    pub(crate) point: &'static str,
    /// Its place in the order of the point, counted from 1.
    pub(crate) order: usize,
    /// What its own format calls the point.
    pub(crate) trigger: String,
    pub(crate) state: State,
    /// How it is paced, if it is an automation.
    pub(crate) control: Option<Arc<Control>>,
}

/// What was found, in the order in which it would run.
///
/// # Errors
/// The bus does not open a session.
pub(crate) async fn listed(assembly: &Assembly, report: &Report) -> Result<Vec<Listed>> {
    // A session is what hooks are ordered for.
    let session = assembly.bus().session("list").open().await?;
    let hooks = session.hooks();
    session.close().await;
    let mut listed: Vec<Listed> = Vec::new();
    for (point, hook) in hooks {
        let is_it = |found: &&Found| is_same(&found.hook, &hook) && found.point == point;
        // An automation may have several hooks at one point, in the order in which they were found.
        let earlier =
            listed.iter().filter(|other| is_same(&other.hook, &hook) && other.point == point).count();
        let Some(found) = report.hooks.iter().filter(is_it).nth(earlier) else { continue };
        let before = listed.iter().filter(|other| other.point == point).count();
        let (trigger, state, control) = (found.trigger.clone(), found.state, found.control.clone());
        listed.push(Listed { hook: (*hook).clone(), point, order: before + 1, trigger, state, control });
    }
    Ok(listed)
}

/// Whether two descriptions are of one hook; the registration number is not known before it is installed.
pub(crate) fn is_same(a: &Hook, b: &Hook) -> bool {
    (&a.name, a.dialect, &a.origin, a.layer) == (&b.name, b.dialect, &b.origin, b.layer)
}

impl Listed {
    /// Where it is declared, relative to the current directory where it lies below it.
    pub(crate) fn origin(&self) -> String {
        self.hook.origin.as_ref().map(shown_origin).unwrap_or_default()
    }

    /// Everything about it.
    pub(crate) fn to_json(&self) -> Value {
        let hook = &self.hook;
        json!({
            "hook": hook.name,
            "point": self.point,
            "order": self.order,
            "priority": hook.priority,
            "layer": hook.layer,
            "dialect": hook.dialect,
            "trigger": self.trigger,
            "part": hook.part.as_str(),
            "on_failure": hook.on_failure,
            "timeout_ms": u64::try_from(hook.timeout.as_millis()).unwrap_or(u64::MAX),
            "condition": hook.select.as_ref().map(|select| select.describe()).filter(|text| !text.is_empty()),
            "file": hook.origin.as_ref().map(|origin| origin.file.to_string_lossy()),
            "line": hook.origin.as_ref().map(|origin| origin.line),
            "state": self.state.as_str(),
            "automate": self.control.as_ref().map(|control| control.to_json()),
        })
    }
}

fn shown_origin(origin: &Origin) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| origin.file.strip_prefix(here).ok().map(Path::to_path_buf));
    match below {
        Some(file) => format!("{}:{}", file.display(), origin.line),
        None => origin.to_string(),
    }
}

fn inert_json(dialect: &str, inert: &Inert) -> Value {
    json!({
        "hook": inert.name,
        "point": inert.point.map(|point| point.name),
        "layer": inert.layer,
        "dialect": dialect,
        "trigger": inert.trigger,
        "file": inert.origin.as_ref().map(|origin| origin.file.to_string_lossy()),
        "line": inert.origin.as_ref().map(|origin| origin.line),
        "state": why(inert.why),
    })
}

/// The word for what keeps something from being a hook.
fn why(why: Why) -> &'static str {
    match why {
        Why::Error => "error",
        Why::NeverFires => State::NeverFires.as_str(),
        Why::Disabled => "disabled",
    }
}

/// The columns that go first where there is no room: where, what the file calls it, whose format, which layer, what it
/// may do, its priority.
const STACKED: [usize; 6] = [9, 6, 5, 4, 7, 3];

fn page(
    hooks: Vec<Listed>,
    inert: &[(&'static str, Inert)],
    columns: Option<usize>,
    style: Style,
) -> Vec<String> {
    let number = hooks.len();
    let automations = automations::lines(hooks.iter());
    if number + inert.len() == 0 {
        return Vec::new();
    }
    let heading =
        ["point", "#", "hook", "priority", "layer", "dialect", "trigger", "part", "state", "declared at"];
    let mut last = "";
    let rows = hooks.into_iter().map(|listed| {
        let point =
            if std::mem::replace(&mut last, listed.point) == listed.point { "" } else { listed.point };
        let tone = if listed.state == State::Ready { Tone::Good } else { Tone::Warning };
        vec![
            Cell::toned(point, Tone::Bold),
            Cell::new(listed.order.to_string()),
            Cell::new(&listed.hook.name),
            Cell::new(priority(&listed.hook)),
            Cell::new(listed.hook.layer.as_str()),
            Cell::new(listed.hook.dialect),
            Cell::new(&listed.trigger),
            Cell::new(part(&listed.hook)),
            Cell::toned(listed.state.as_str(), tone),
            Cell::toned(listed.origin(), Tone::Dim),
        ]
    });
    let mut last = None;
    let others = inert.iter().map(|(dialect, inert)| {
        let point = inert.point.map_or("-", |point| point.name);
        let shown = if last.replace(point) == Some(point) { "" } else { point };
        vec![
            Cell::toned(shown, Tone::Bold),
            Cell::new("-"),
            Cell::new(&inert.name),
            Cell::new(""),
            Cell::new(inert.layer.as_str()),
            Cell::new(*dialect),
            Cell::new(&inert.trigger),
            Cell::new(""),
            Cell::toned(why(inert.why), if inert.why == Why::Error { Tone::Bad } else { Tone::Warning }),
            Cell::toned(inert.origin.as_ref().map(shown_origin).unwrap_or_default(), Tone::Dim),
        ]
    });
    let rows = rows.chain(others).collect();
    let mut lines = Table { heading: &heading, rows, stacked: &STACKED }.lines(columns, style);
    if !automations.is_empty() {
        lines.push(String::new());
        lines.extend(automations);
    }
    lines.push(String::new());
    let not = if inert.is_empty() { String::new() } else { format!(", {} that cannot run", inert.len()) };
    lines.push(format!("{}{not}", count(number, "hook")));
    lines
}

/// Its priority; the least one is a word.
pub(crate) fn priority(hook: &Hook) -> String {
    if hook.priority == LAST { "last".to_owned() } else { hook.priority.to_string() }
}

/// What a hook takes part in, and what its failure means where that matters.
pub(crate) fn part(hook: &Hook) -> &'static str {
    match hook.part {
        Part::Detached => "in background",
        other => other.as_str(),
    }
}
