//! `lineside dump`: the settings and the hooks in force, each value with the file and the line that say so.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lineside::assembly::{LoadReport, LoadedHook};
use lineside::core::{OnFailure, Origin};
use lineside::dialects::Managed;
use lineside::dialects::native::{Setting, daemon_settings};
use lineside::json::{Value, json, to_value};

use crate::list;
use crate::loading::{exit_status, load, tell_findings};
use crate::places::LookArgs;
use crate::style::{Styles, Tone, columns, print, print_json};
use crate::table::{Cell, Table};

/// Print every setting and hook in force, with the file and line that say so.
///
/// Of a hook that a lower layer has tightened, its time and what its failure means have the line of that layer. No hook is run.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    look: LookArgs,
}

const EXIT_STATUS: &str = "\
Exit status:
  0    nothing has an error
  1    something has an error
  2    nothing could be done";

/// Runs the command.
///
/// # Errors
/// The project cannot be opened, or the output cannot be written.
pub(crate) async fn run(args: &DumpArgs, styles: Styles) -> Result<ExitCode> {
    let ground = args.look.places.ground()?;
    let (settings, wrong) = daemon_settings(&ground.places, &Managed::default());
    let (_assembly, mut report) = load(&ground).await?;
    report.diagnostics.splice(0..0, wrong);
    if args.look.json {
        let settings: Vec<Value> = settings.set.iter().map(setting_object).collect();
        let hooks: Result<Vec<Value>, _> =
            report.hooks.iter().map(|found| hook_object(&report, found)).collect();
        print_json(&json!({"settings": settings, "hooks": hooks?, "diagnostics": report.diagnostics}))?;
        return Ok(exit_status(&report.diagnostics));
    }
    tell_findings(&report, styles.err);
    let rows: Vec<Vec<Cell>> = settings.set.iter().map(setting_row).collect();
    let rows: Vec<Vec<Cell>> =
        rows.into_iter().chain(report.hooks.iter().flat_map(|found| rows_of(&report, found))).collect();
    if rows.is_empty() {
        print(["nothing is set, and no hook was found"])?;
    } else {
        print(
            Table { heading: &["value", "of", "is", "layer", "set at"], rows, stacked: &[] }
                .lines(columns(), styles.out),
        )?;
    }
    Ok(exit_status(&report.diagnostics))
}

/// A value of a hook, with its place.
struct Stated<'a> {
    key: &'static str,
    value: String,
    layer: &'static str,
    origin: Option<&'a Origin>,
}

/// The values of a hook that layers below its own may have tightened, each with where it comes from.
fn stated<'a>(report: &'a LoadReport, found: &'a LoadedHook) -> [Stated<'a>; 2] {
    let hook = &found.hook;
    let asked = |is_from: &dyn Fn(&lineside::core::hook::Tighter) -> bool| {
        let mut about = report
            .tightenings
            .iter()
            .filter(|(dialect, asked)| *dialect == hook.dialect && asked.is_about(hook));
        let from = about
            .find(|(_, asked)| is_from(&asked.asked))
            .map(|(_, asked)| (asked.layer, Some(&asked.origin)));
        let (layer, origin) = from.unwrap_or((hook.layer, hook.origin.as_ref()));
        (layer.as_str(), origin)
    };
    let (layer, origin) = asked(&|asked| asked.timeout == Some(hook.timeout));
    let timeout = Stated { key: "timeout", value: format!("{} ms", hook.timeout.as_millis()), layer, origin };
    let blocks = hook.on_failure == OnFailure::Block;
    let (layer, origin) = asked(&|asked| blocks && asked.on_failure == Some(OnFailure::Block));
    let meaning = if blocks { "block" } else { "continue" };
    [timeout, Stated { key: "on_failure", value: meaning.to_owned(), layer, origin }]
}

fn place(origin: Option<&Origin>) -> String {
    let file = origin.map(|origin| origin.file.to_string_lossy());
    list::origin(file.as_deref(), origin.map(|origin| origin.line))
}

fn setting_row(setting: &Setting) -> Vec<Cell> {
    vec![
        Cell::toned(&setting.key, Tone::Bold),
        Cell::new("settings"),
        Cell::new(&setting.value),
        Cell::new(setting.layer.as_str()),
        Cell::toned(place(Some(&setting.origin)), Tone::Dim),
    ]
}

fn rows_of(report: &LoadReport, found: &LoadedHook) -> Vec<Vec<Cell>> {
    let hook = &found.hook;
    let state =
        format!("{}, {}, priority {}", found.state.as_str(), hook.part.as_str(), list::priority(hook));
    let first = vec![
        Cell::toned(&*hook.name, Tone::Bold),
        Cell::new(found.point),
        Cell::new(state),
        Cell::new(hook.layer.as_str()),
        Cell::toned(place(hook.origin.as_ref()), Tone::Dim),
    ];
    let others = stated(report, found).map(|stated| {
        vec![
            Cell::new(format!("  {}", stated.key)),
            Cell::new(""),
            Cell::new(&stated.value),
            Cell::new(stated.layer),
            Cell::toned(place(stated.origin), Tone::Dim),
        ]
    });
    std::iter::once(first).chain(others).collect()
}

fn setting_object(setting: &Setting) -> Value {
    let Setting { key, value, layer, origin } = setting;
    json!({"key": key, "value": value, "layer": layer, "origin": origin})
}

fn hook_object(report: &LoadReport, found: &LoadedHook) -> Result<Value> {
    let hook = &found.hook;
    let mut object = json!({
        "hook": hook.name, "dialect": hook.dialect, "layer": hook.layer, "point": found.point, "part": hook.part,
        "priority": hook.priority, "state": found.state.as_str(), "origin": hook.origin,
    });
    for Stated { key, value, layer, origin } in stated(report, found) {
        object[key] = to_value(&json!({"value": value, "layer": layer, "origin": origin}))?;
    }
    Ok(object)
}
