//! `lineside check`: whether every hook that is found loads. For continuous integration, and before one relies on it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lineside::core::{Diagnostic, OnFailure, Severity};
use lineside::dialects::Managed;
use lineside::dialects::native::{ObserveSettings, ObserveTo, daemon_settings};
use lineside::json::json;
use lineside::{Assembly, Bus, LoadReport, LoadedHook, State};

use crate::control::tell_off;
use crate::daemon_paths::DaemonPaths;
use crate::loading::{exit_status, finding_lines, load_with_login, untrusted};
use crate::log::query;
use crate::on_path::{find, is_program};
use crate::places::LookArgs;
use crate::style::{Styles, Tone, count, print, print_json};

/// Say whether every hook loads, and what is wrong where not.
///
/// What is wrong with the settings of the daemon is said as well.
/// No hook is run; plugins of OpenClaw and Flyto that are trusted are loaded, because they alone know which hooks they
/// register.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    look: LookArgs,
}

const EXIT_STATUS: &str = "\
Exit status:
  0    nothing has an error; there may be warnings
  1    something has an error, or a guard refuses everything because its program is missing
  2    nothing could be done";

/// Runs the command.
///
/// # Errors
/// The project cannot be opened, or the output cannot be written.
pub(crate) async fn run(args: &CheckArgs, styles: Styles) -> Result<ExitCode> {
    let ground = args.look.places.ground()?;
    let (_assembly, mut report, missed) = load_with_login(Assembly::new(Bus::new()), &ground).await?;
    let (settings, findings) = daemon_settings(&ground.places, &Managed::default());
    report.diagnostics.extend(findings);
    report.diagnostics.extend(settings.observe.iter().filter_map(|to| unseen(to, &settings.path)));
    report.diagnostics.extend(settings.observe.iter().filter_map(deaf));
    report.diagnostics.extend(missed?);
    let of = |severity| report.diagnostics.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let ready = report.hooks.iter().filter(|found| found.state == State::Ready);
    // One at several points counts once.
    let shadows = ready.clone().filter(|found| found.hook.is_shadow());
    let shadows = shadows.map(|found| found.number).collect::<HashSet<_>>().len();
    let ready = ready.map(|found| found.number).collect::<HashSet<_>>().len();
    if args.look.json {
        let all = json!({
            "hooks": ready, "shadows": shadows, "errors": errors, "warnings": warnings, "diagnostics": report.diagnostics,
        });
        print_json(&all)?;
        return Ok(exit(&report));
    }
    tell_off(DaemonPaths::usual(), styles.err);
    print(report.diagnostics.iter().flat_map(|diagnostic| finding_lines(diagnostic, styles.out)))?;
    if let Some(note) = untrusted(&report) {
        print([format!("{}: {note}", styles.out.paint(Tone::Bold, "note"))])?;
    }
    let tone = match (errors, warnings) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Warning,
        _ => Tone::Bad,
    };
    let shadows = if shadows > 0 { format!(", {shadows} of them in shadow") } else { String::new() };
    let sum = format!(
        "{} ready{shadows}, {}, {}",
        count(ready, "hook"),
        count(errors, "error"),
        count(warnings, "warning")
    );
    print([styles.out.paint(tone, &sum)])?;
    Ok(exit(&report))
}

/// That the program of an observer is not there.
fn unseen(observer: &ObserveSettings, folders: &[PathBuf]) -> Option<Diagnostic> {
    let (ObserveTo::Command(words) | ObserveTo::Worker(words)) = &observer.to else { return None };
    let program = words.first()?;
    let is_there = match program.contains('/') {
        true => is_program(Path::new(program)),
        false => find(program).is_some() || folders.iter().any(|folder| is_program(&folder.join(program))),
    };
    let text = format!(
        "observer \"{}\": cannot find program `{program}`; install it or correct the path",
        observer.name
    );
    (!is_there).then(|| Diagnostic::warning(observer.origin.clone(), text))
}

/// That the query of an observer is none, so that it would hear nothing.
fn deaf(observer: &ObserveSettings) -> Option<Diagnostic> {
    let error = query(std::slice::from_ref(&observer.query)).err()?;
    let text = format!("observer \"{}\" hears nothing: {error}", observer.name);
    Some(Diagnostic::error(observer.origin.clone(), text))
}

/// Failure also where a guard refuses every event that it is asked about, because what it starts is not there.
fn exit(report: &LoadReport) -> ExitCode {
    let refuses = |found: &LoadedHook| {
        found.state == State::ProgramMissing
            && found.hook.part.is_gate()
            && !found.hook.is_shadow()
            && found.hook.on_failure == OnFailure::Block
    };
    if report.hooks.iter().any(refuses) { ExitCode::FAILURE } else { exit_status(&report.diagnostics) }
}
