//! From places to a bus with hooks on it, and what is said about those that do not load.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use lineside::LoadReport;
use lineside::assembly::HookFiles;
use lineside::core::{Diagnostic, Severity, SkipReason};
use lineside::dialects::native::daemon_settings;
use lineside::dialects::{DIALECTS, Managed, Places, Trust, UnspokenFile, unspoken_files};
use lineside::protection::Protection;
use lineside::{Assembly, Bus, Containment, PluginLine, State};

use crate::daemon_paths::DaemonPaths;
use crate::excerpt;
use crate::on_path::login_path;
use crate::painter::one_line;
use crate::places::Ground;
use crate::project::of_user;
use crate::style::{Style, Tone, count, tell};

/// A bus with the hooks of these places.
///
/// # Errors
/// More hooks at one point than can be numbered.
pub(crate) async fn load(ground: &Ground) -> Result<(Assembly, LoadReport)> {
    load_on(Bus::new(), ground, Plugins::Unheard).await
}

/// What becomes of what plugins log and print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plugins {
    /// It is not shown.
    Unheard,
    /// It goes to standard error, line by line, with the plugin that said it.
    Shown(Style),
}

/// As [`load`], on a bus that is there.
///
/// # Errors
/// As there.
pub(crate) async fn load_on(bus: Bus, ground: &Ground, plugins: Plugins) -> Result<(Assembly, LoadReport)> {
    let mut assembly = Assembly::new(bus);
    if let Plugins::Shown(style) = plugins {
        assembly = assembly.plugin_log(move |line| shown(line, style).iter().for_each(|line| tell(line)));
    }
    load_into(assembly, ground).await
}

/// An assembly with the hooks of these places.
///
/// # Errors
/// As [`load`].
pub(crate) async fn load_into(assembly: Assembly, ground: &Ground) -> Result<(Assembly, LoadReport)> {
    let assembly = assembly.only(ground.dialects.iter().copied());
    let files = read(&assembly, ground)?;
    let report = install(&assembly, files, ground).await?;
    Ok((assembly, report))
}

/// What a daemon that a call of an agent starts, with the `PATH` of a login, does not find of what this process finds.
///
/// # Errors
/// As [`load`].
pub(crate) async fn of_login(ground: &Ground) -> Result<Vec<Diagnostic>> {
    let assembly = Assembly::new(Bus::new()).only(ground.dialects.iter().copied());
    missed(&read(&assembly, ground)?, ground).await
}

/// An assembly with the hooks of these places, and what [a daemon that a call starts](of_login) does not find of them.
///
/// # Errors
/// As [`load`].
pub(crate) async fn load_with_login(
    assembly: Assembly,
    ground: &Ground,
) -> Result<(Assembly, LoadReport, Result<Vec<Diagnostic>>)> {
    let assembly = assembly.only(ground.dialects.iter().copied());
    let files = read(&assembly, ground)?;
    let missed = missed(&files, ground).await;
    let report = install(&assembly, files, ground).await?;
    Ok((assembly, report, missed))
}

fn read(assembly: &Assembly, ground: &Ground) -> Result<HookFiles> {
    let files = match &ground.found {
        Some(found) => found.files(assembly, &ground.places.environment)?,
        None => assembly.read(&ground.places),
    };
    let Some(protection) = protection(&ground.places) else { return Ok(files) };
    let files = files.protected(&protection);
    let trusted = ground.places.project_root.as_ref().filter(|_| ground.places.trust == Trust::Granted);
    Ok(trusted.into_iter().fold(files, |files, root| files.protected_within(root, &protection)))
}

async fn install(assembly: &Assembly, files: HookFiles, ground: &Ground) -> Result<LoadReport> {
    let mut report = assembly.install(files).await.context("failed to load hooks")?;
    if ground.dialects.len() == DIALECTS.len() {
        report.diagnostics.extend(unspoken_files(&ground.places).iter().map(unspoken));
    }
    Ok(report)
}

async fn missed(files: &HookFiles, ground: &Ground) -> Result<Vec<Diagnostic>> {
    let mut environment = ground.places.environment.clone();
    let (settings, _) = daemon_settings(&of_user(environment.clone()), &Managed::default());
    let path = login_path(ground.places.home().unwrap_or(Path::new("/")), &settings)?;
    let path = path.to_string_lossy().into_owned();
    if environment.get("PATH") == Some(&path) {
        return Ok(Vec::new());
    }
    let found = async |environment| {
        let assembly = Assembly::new(Bus::new()).without_effects().environment(environment);
        assembly.install(files.without_plugins()).await.context("failed to load hooks")
    };
    let here = found(environment.clone()).await?;
    environment.insert("PATH".to_owned(), path);
    let there = found(environment).await?;
    let here: HashSet<_> = here.diagnostics.iter().map(|found| (&found.origin, &*found.text)).collect();
    let missed = there.diagnostics.into_iter().filter(|found| !here.contains(&(&found.origin, &*found.text)));
    let text = |text| format!("in a daemon that a call starts, and not in this shell: {text}");
    Ok(missed.map(|found| Diagnostic::warning(found.origin, text(found.text))).collect())
}

/// What keeps agents from changing what decides about them, as the usual daemon has it.
pub(crate) fn protection(places: &Places) -> Option<Protection> {
    let DaemonPaths { socket, state } = DaemonPaths::usual().ok()?;
    let (settings, _) = daemon_settings(&of_user(places.environment.clone()), &Managed::default());
    Some(Protection::of(&settings, &state, &socket))
}

/// That a file with hooks is not read, and what to do about it.
fn unspoken(UnspokenFile { program, file, .. }: &UnspokenFile) -> Diagnostic {
    let text = format!(
        "{}: the hooks of {program} are not run, because this version does not know their format; {program} runs them \
         itself, and what lineside is to run too belongs into a file of one of its formats (`lineside list --help`)",
        file.display()
    );
    Diagnostic::warning(None, text)
}

/// `guard info: text`, for each line of the text.
fn shown(line: &PluginLine, style: Style) -> Vec<String> {
    let PluginLine { dialect, plugin, level, text } = line;
    let who = style.paint(Tone::Dim, &format!("{} {level}:", one_line(plugin.as_deref().unwrap_or(dialect))));
    text.lines().map(|line| format!("{who} {}", one_line(line))).collect()
}

/// Ends what an earlier life of the command was killed over: its hooks, its workers, and what they have started.
pub(crate) fn end_leftovers() {
    let ended = Containment::end_orphans();
    if ended > 0 {
        let processes = if ended == 1 { "process" } else { "processes" };
        tell(&format!("note: {ended} {processes} of an earlier run that was killed: ended"));
    }
}

/// A finding as people read it: severity, place, text.
pub(crate) fn finding(diagnostic: &Diagnostic, style: Style) -> String {
    let tone = match diagnostic.severity {
        Severity::Note => Tone::Bold,
        Severity::Warning => Tone::Warning,
        Severity::Error => Tone::Bad,
    };
    let severity = style.paint(tone, diagnostic.severity.as_str());
    format!("{severity}: {}", one_line(&diagnostic.to_string()))
}

/// The same with the line of its file that it is about.
pub(crate) fn finding_lines(diagnostic: &Diagnostic, style: Style) -> Vec<String> {
    let excerpt = diagnostic.origin.iter().flat_map(|origin| excerpt::of(origin, &diagnostic.text, style));
    std::iter::once(finding(diagnostic, style)).chain(excerpt).collect()
}

/// Reports on standard error what was wrong, and which hooks do not run because the project is not trusted.
pub(crate) fn tell_findings(report: &LoadReport, style: Style) {
    tell_all(&report.diagnostics, untrusted(report), style);
}

/// The same of findings that may be those of a daemon.
pub(crate) fn tell_all(diagnostics: &[Diagnostic], note: Option<String>, style: Style) {
    for diagnostic in diagnostics {
        finding_lines(diagnostic, style).iter().for_each(|line| tell(line));
    }
    if let Some(note) = note {
        tell(&format!("{}: {note}", style.paint(Tone::Bold, "note")));
    }
}

/// Success, unless a finding is an error.
pub(crate) fn exit_status(diagnostics: &[Diagnostic]) -> ExitCode {
    if errors(diagnostics) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many findings are errors.
pub(crate) fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count()
}

/// What to say about hooks that are not trusted.
pub(crate) fn untrusted(report: &LoadReport) -> Option<String> {
    let off = report.hooks.iter().filter(|found| found.state == State::Off(SkipReason::Untrusted)).count();
    untrusted_hooks(off)
}

/// What to say about so many of them.
pub(crate) fn untrusted_hooks(off: usize) -> Option<String> {
    let verb = if off == 1 { "is" } else { "are" };
    (off > 0).then(|| {
        format!(
            "{} of the project {verb} not trusted and will not be started; look at what they run: lineside trust",
            count(off, "hook")
        )
    })
}
