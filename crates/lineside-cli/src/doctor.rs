//! `lineside doctor`: everything that a decision needs, from the program on the path to the entries of each host.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::Args;
use lineside::core::{Diagnostic, Severity};
use lineside::dialects::native::{PROTECT_POLICY, daemon_settings};
use lineside::dialects::{DIALECTS, Managed, Places, Trust};
use lineside::json::{Map, Value, json};
use lineside::{Assembly, Bus, Client};
use lineside_account::Named;
use lineside_daemon::socket::LONGEST;

use crate::control::{ANOTHER, failing_line, misplaced, to_end};
use crate::daemon_paths::DaemonPaths;
use crate::hosts::LookArgs;
use crate::hosts::finding::Finding;
use crate::hosts::machine::{self, Machine};
use crate::loading::{load_with_login, of_login, protection};
use crate::log::now;
use crate::painter::one_line;
use crate::places::{Ground, granted_places, shown};
use crate::project::{self, Found};
use crate::style::{Style, Styles, Tone, count, print, print_json};

/// How long the daemon has for its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Say what keeps hooks from deciding; `hosts` lists the agent programs.
///
/// Each finding comes with its remedy.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    look: LookArgs,
}

const EXIT_STATUS: &str = "\
Exit status:
  0    nothing is wrong
  1    something is wrong
  2    nothing could be done";

/// One thing that was looked at.
#[derive(Default)]
struct Looked {
    what: &'static str,
    /// How it is, in a few words.
    state: String,
    findings: Vec<Finding>,
    /// Whether it takes no part in decisions, and need not.
    is_idle: bool,
}

/// Runs the command.
///
/// # Errors
/// The project cannot be opened, no state folder is known, or the output cannot be written.
pub(crate) async fn run(args: &DoctorArgs, styles: Styles) -> Result<ExitCode> {
    let args = &args.look;
    let places = granted_places(args.project.as_deref())?;
    let of_shell = args.daemon.places(Named::default())?;
    let paths = args.daemon.paths()?;
    let mut all = vec![
        program(),
        switch(&paths),
        policy(&places),
        folder("state", &paths.state, &paths),
        socket(&paths),
    ];
    let (daemon, machines) = tokio::join!(daemon(&paths, &places), machine::look(&places, &of_shell));
    all.push(daemon);
    let here: Vec<Machine> = machines.into_iter().filter(Machine::is_here).collect();
    let is_behind_none = !here.is_empty() && here.iter().all(|machine| machine.installed.is_empty());
    if here.is_empty() {
        let state = "none was found on PATH or in the usual places".to_owned();
        all.push(Looked { what: "agents", state, is_idle: true, ..Looked::default() });
    }
    for machine in here {
        let is_idle = machine.installed.is_empty();
        let state = match (&machine.version, machine.installed.len()) {
            (_, 0) => format!("not installed; lineside install {}", machine.host),
            (version, _) => {
                let files = machine.installed.iter().map(|(_, file)| shown(&file.file, &places));
                let version = version.as_deref().map(|version| format!("{version}, ")).unwrap_or_default();
                let files: BTreeSet<_> = files.collect();
                format!("{version}installed in {}", files.into_iter().collect::<Vec<_>>().join(", "))
            }
        };
        all.push(Looked { what: machine.host.name(), state, findings: machine.findings, is_idle });
    }
    let wrong = all.iter().flat_map(|looked| &looked.findings).filter(|finding| finding.is_wrong()).count();
    if args.json {
        let checks: Vec<Value> = all.iter().map(Looked::object).collect();
        print_json(&json!({"wrong": wrong, "checks": checks}))?;
    } else {
        print(all.iter().flat_map(|looked| looked.lines(styles.out)))?;
        let sum = match wrong {
            0 if is_behind_none => "nothing is wrong, but no agent program starts lineside yet".to_owned(),
            0 => styles.out.paint(Tone::Good, "nothing is wrong"),
            wrong => styles.out.paint(Tone::Bad, &format!("{} wrong", count(wrong, "thing"))),
        };
        print([String::new(), sum])?;
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Looked {
    fn lines(&self, style: Style) -> Vec<String> {
        let is_wrong = self.findings.iter().any(Finding::is_wrong);
        let sign = match (is_wrong, self.is_idle) {
            (true, _) => style.paint(Tone::Bad, "✗"),
            (false, true) => style.paint(Tone::Dim, "–"),
            (false, false) => style.paint(Tone::Good, "✓"),
        };
        let mut lines = vec![format!("{sign} {:8}  {}", self.what, one_line(&self.state))];
        lines.extend(Finding::lines(&self.findings, style).into_iter().map(|line| format!("    {line}")));
        lines
    }

    fn object(&self) -> Value {
        let findings: Vec<Value> = self.findings.iter().map(Finding::object).collect();
        json!({"what": self.what, "state": self.state, "findings": findings})
    }
}

fn program() -> Looked {
    let name = machine::name_finding();
    let state = if name.is_none() { "`lineside` on PATH is this program" } else { "found by its path alone" };
    let preloaded = machine::preloaded();
    let loads = if preloaded.is_some() { ", but loads shared libraries" } else { "" };
    Looked {
        what: "program",
        state: format!("{state}, version {}{loads}", env!("CARGO_PKG_VERSION")),
        findings: name.into_iter().chain(preloaded).collect(),
        ..Looked::default()
    }
}

fn switch(paths: &DaemonPaths) -> Looked {
    let switch = paths.switch();
    if switch.is_off() {
        let text = format!("hooks are switched off by {}: every event passes", switch.path().display());
        return Looked {
            what: "switch",
            state: "off".to_owned(),
            findings: vec![Finding::error(text, "lineside on")],
            ..Looked::default()
        };
    }
    Looked { what: "switch", state: "hooks are on".to_owned(), findings: Vec::new(), ..Looked::default() }
}

/// Whether agents are kept from changing what decides about them.
fn policy(places: &Places) -> Looked {
    let (what, state) = ("policy", "agents may not change it".to_owned());
    if protection(places).is_some_and(|protection| protection.is_on()) {
        return Looked { what, state, ..Looked::default() };
    }
    let (settings, _) = daemon_settings(&project::of_user(places.environment.clone()), &Managed::default());
    let findings = settings.setting(PROTECT_POLICY).map(|set| {
        let text = format!(
            "{} switches `{PROTECT_POLICY}` off: agents may change hooks, settings and what was trusted",
            set.origin
        );
        Finding::note(
            text,
            "take the line out, then: lineside stop, and the next event starts another daemon",
        )
    });
    let state = match &findings {
        Some(_) => "agents may change it".to_owned(),
        None => "agents may change it, until lineside is installed in one".to_owned(),
    };
    Looked { what, state, is_idle: findings.is_none(), findings: findings.into_iter().collect() }
}

/// A folder that only its owner may enter. One that is not there yet is made when it is needed.
fn folder(what: &'static str, path: &Path, paths: &DaemonPaths) -> Looked {
    let state = path.display().to_string();
    let Ok(found) = path.symlink_metadata() else {
        let findings = unwritable(path, paths).into_iter().collect();
        return Looked { what, state: format!("{state} (not there yet)"), findings, ..Looked::default() };
    };
    let own = rustix::process::geteuid().as_raw();
    let mode = found.mode() & 0o777;
    let finding = if !found.is_dir() {
        Some(Finding::error(format!("{state} is a link or no folder"), format!("remove it: rm {state}")))
    } else if found.uid() != own {
        Some(Finding::error(
            format!("{state} belongs to user {}, not to {own}", found.uid()),
            format!(
                "run this as user {}, whose hooks these are, or name another one with --state",
                found.uid()
            ),
        ))
    } else if mode & 0o077 != 0 {
        Some(Finding::error(
            format!("others may enter {state} (mode {mode:o})"),
            format!("chmod 700 {state}"),
        ))
    } else {
        unwritable(path, paths)
    };
    Looked { what, state, findings: finding.into_iter().collect(), ..Looked::default() }
}

/// How much is written to see whether there is room: a daemon writes about as much when it starts.
static TRIAL: [u8; 64 << 10] = [0; 64 << 10];

/// That nothing can be written to a folder, or made where it is to be: no daemon starts there, and without one every gate
/// is closed.
fn unwritable(folder: &Path, paths: &DaemonPaths) -> Option<Finding> {
    let there = nearest(folder)?;
    let written = if !there.is_dir() {
        Err(std::io::ErrorKind::NotADirectory.into())
    } else if there == folder {
        let trial = folder.join(format!(".doctor-{}", std::process::id()));
        let written = std::fs::write(&trial, TRIAL);
        // What was not made cannot be removed.
        std::fs::remove_file(&trial).ok();
        written
    } else {
        may_write(there)
    };
    let error = written.err()?;
    let text = format!(
        "nothing can be written to {}: {error}; no daemon starts so, and without one every tool is refused",
        there.display()
    );
    // The switch is a file in one of these.
    let places = [Some(paths.state.as_path()), paths.socket.parent()];
    let may_be_off =
        |place: &Path| nearest(place).is_some_and(|there| there.is_dir() && may_write(there).is_ok());
    let until = match places.into_iter().flatten().any(may_be_off) {
        true => "lineside off",
        false => "lineside uninstall all, for hooks cannot be switched off either",
    };
    Some(Finding::error(text, format!("make room, or the folder writable; until then: {until}")))
}

/// The folder, or what is there of the path to it.
fn nearest(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|above| above.symlink_metadata().is_ok())
}

fn may_write(folder: &Path) -> std::io::Result<()> {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).map_err(Into::into)
}

fn socket(paths: &DaemonPaths) -> Looked {
    let path = &paths.socket;
    let mut looked = match path.parent() {
        // The folder of the state was looked at.
        Some(parent) if parent != paths.state => folder("socket", parent, paths),
        _ => Looked { what: "socket", state: String::new(), findings: Vec::new(), ..Looked::default() },
    };
    looked.state = path.display().to_string();
    if path.symlink_metadata().is_ok_and(|found| !found.file_type().is_socket()) {
        let text = format!(
            "{} is there and no socket: no daemon can be reached, and every tool is refused",
            looked.state
        );
        looked.findings.push(Finding::error(text, format!("remove it: rm {}", looked.state)));
    }
    let length = path.as_os_str().len();
    if length > LONGEST {
        let text = format!("the path of the socket has {length} bytes, and at most {LONGEST} fit");
        looked
            .findings
            .push(Finding::error(text, "name a shorter one: LINESIDE_SOCKET=/run/user/…/lineside.sock"));
    }
    looked
}

async fn daemon(paths: &DaemonPaths, places: &Places) -> Looked {
    let what = "daemon";
    let client = Client::new(&paths.socket);
    let status = tokio::time::timeout(PATIENCE, client.get::<Map>("/v1/status")).await;
    let status = match status {
        Ok(Ok(status)) => status,
        Ok(Err(error)) if error.is_no_daemon() => {
            let unwritten = unwritable(&paths.state, paths);
            let starts =
                if unwritten.is_none() { "; the first event starts one" } else { ", and none can start" };
            let state = format!("none runs{starts}");
            // One that runs says it itself.
            let settings = daemon_settings(places, &Managed::default()).1.into_iter().map(|wrong| {
                Finding::error(wrong.to_string(), "repair the file; until then nothing of it is set")
            });
            let mut findings: Vec<Finding> = settings.collect();
            let text = || "a daemon cannot start without its state folder".to_owned();
            findings.extend(unwritten.map(|finding| Finding { text: text(), ..finding }));
            findings.extend(loaded(&ground(paths, places)).await);
            findings.extend(project_finding(paths, places));
            return Looked { what, state, findings, ..Looked::default() };
        }
        Ok(Err(error)) => {
            let text = format!("the daemon cannot be asked: {error}");
            let findings = vec![Finding::error(text, "lineside stop, and the next event starts another")];
            return Looked {
                what,
                state: "does not answer as it should".to_owned(),
                findings,
                ..Looked::default()
            };
        }
        Err(_) => {
            let (at, limit) = (paths.socket.display(), PATIENCE.as_secs());
            let text = format!("the daemon at {at} does not answer within {limit} s");
            let remedy = format!("{}, and the next event starts another", to_end(&paths.socket).await);
            let findings = vec![Finding::error(text, remedy)];
            return Looked { what, state: "silent".to_owned(), findings, ..Looked::default() };
        }
    };
    let number = |field: &str| status.get(field).and_then(Value::as_u64).unwrap_or_default();
    let version = status.get("version").and_then(Value::as_str).unwrap_or_default();
    let state = format!(
        "process {}, {} in force",
        number("pid"),
        count(usize::try_from(number("hooks")).unwrap_or_default(), "hook")
    );
    let mut findings: Vec<Finding> = Vec::new();
    if version != env!("CARGO_PKG_VERSION") {
        let text = format!("the daemon has version {version}, this program {}", env!("CARGO_PKG_VERSION"));
        findings.push(Finding::warning(text, ANOTHER));
    }
    findings.extend(misplaced(&status).map(|(text, remedy)| Finding::warning(text, remedy)));
    findings.extend(unread_settings(&status, places));
    for finding in status.get("findings").and_then(Value::as_array).into_iter().flatten() {
        let text = finding["text"].as_str().unwrap_or_default();
        findings.push(match (finding["of"].as_str(), finding["severity"].as_str()) {
            (Some("settings"), _) => Finding::error(
                text,
                "repair the file, then: lineside stop, and the next event starts another",
            ),
            (Some("log"), Some("error")) => Finding::error(
                text,
                "make room or the file writable; decisions go on, and are not written down until then",
            ),
            (Some("log"), _) => Finding::note(text, "lineside log shows what is there"),
            (_, Some("error")) => Finding::error(text, BROKEN),
            _ => Finding::note(text, DOUBTFUL),
        });
    }
    let failing = status.get("failing").and_then(Value::as_array).into_iter().flatten();
    findings.extend(failing.map(|failing| {
        let remedy = "repair the hook; what it answers to an event: lineside run";
        Finding::warning(failing_line(failing), remedy)
    }));
    let unclassed = status.get("unclassed_tools").and_then(Value::as_array).into_iter().flatten();
    let unclassed: Vec<_> = unclassed.filter_map(Value::as_str).map(one_line).collect();
    if !unclassed.is_empty() {
        findings.push(Finding::note(
            format!("agents have called tools that are in no class: {}", unclassed.join(", ")),
            "a hook for `tool: Shell` is not asked about them; name those that it should see in its `match`",
        ));
    }
    let missed = of_login(&ground(paths, places)).await.unwrap_or_default();
    findings.extend(missed.iter().map(of_login_alone));
    if let Some(project) = project_finding(paths, places) {
        // What the daemon has of it, and calls that its hooks refused since, end in the same remedy.
        findings.retain(|finding| !finding.text.contains(&project.remedy));
        findings.push(project);
    }
    Looked { what, state, findings, ..Looked::default() }
}

/// What of the user's settings was written after the daemon has read them, and what is wrong with that.
fn unread_settings(status: &Map, places: &Places) -> Vec<Finding> {
    let uptime = status.get("uptime_ms").and_then(Value::as_i64);
    let started = uptime.map(|uptime| now().as_millisecond() - uptime);
    let file = places.configuration().map(|folder| folder.join("lineside/config.yaml"));
    let written = file.as_ref().and_then(|file| file.metadata().ok()?.modified().ok());
    let written = written.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    let written = written.and_then(|since| i64::try_from(since.as_millis()).ok());
    let (Some(file), Some(started), Some(written)) = (file, started, written) else { return Vec::new() };
    if written <= started {
        return Vec::new();
    }
    let wrong =
        daemon_settings(places, &Managed::default()).1.into_iter().map(|wrong| match wrong.severity {
            Severity::Error => {
                Finding::error(wrong.to_string(), "repair the file; until then a daemon takes nothing of it")
            }
            _ => Finding::warning(wrong.to_string(), "repair the file"),
        });
    let text = format!("{} has changed since the daemon started, which reads it then", shown(&file, places));
    wrong.chain([Finding::warning(text, ANOTHER)]).collect()
}

/// The hooks of the user and of the project.
fn ground(paths: &DaemonPaths, places: &Places) -> Ground {
    let found = project::find(places.work_dir(), &project::of_user(places.environment.clone()), paths);
    let is_trusted = found.as_ref().is_some_and(Found::is_trusted);
    let trust = if is_trusted { Trust::Granted } else { Trust::Withheld };
    let root = found.as_ref().map_or(places.work_dir(), Found::root).to_path_buf();
    let project = root.to_string_lossy().into();
    let places = Places { project_root: Some(root.clone()), cwd: root, trust, ..places.clone() };
    Ground { places, project, dialects: DIALECTS.to_vec(), found }
}

/// What a daemon would find in the hook files, and what one that a call starts would not. No hook is run, and no plugin is
/// loaded.
async fn loaded(ground: &Ground) -> Vec<Finding> {
    match load_with_login(Assembly::new(Bus::new()).without_effects(), ground).await {
        Ok((_assembly, report, missed)) => {
            let is_of_file = |finding: &&Diagnostic| {
                // How a project stands as a whole has a finding of its own.
                finding
                    .origin
                    .as_ref()
                    .is_none_or(|origin| Some(&*origin.file) != ground.places.project_root.as_ref())
            };
            let found = report.diagnostics.iter().filter(is_of_file).map(of_hooks);
            let missed = missed.unwrap_or_default();
            found.chain(missed.iter().map(of_login_alone)).collect()
        }
        Err(error) => vec![Finding::error(format!("{error:#}"), "lineside check has the whole list")],
    }
}

/// What is in the `PATH` of this shell, and not in that of a daemon which a call starts.
fn of_login_alone(missed: &Diagnostic) -> Finding {
    let remedy =
        "name the folder in ~/.config/lineside/config.yaml, `daemon: {path: [FOLDER]}`, then: lineside stop";
    Finding::warning(missed.to_string(), remedy)
}

/// A finding about hook files.
fn of_hooks(diagnostic: &Diagnostic) -> Finding {
    if diagnostic.severity == Severity::Error {
        return Finding::error(diagnostic.to_string(), BROKEN);
    }
    Finding::note(diagnostic.to_string(), DOUBTFUL)
}

/// What to do about an error in a hook file, and about anything else there.
const BROKEN: &str = "repair the file; lineside check has the whole list";
const DOUBTFUL: &str = "lineside check has the whole list";

/// The hooks of this project, where they do not hold.
///
/// The hooks in files of agent programs are left out: the program runs them itself.
fn project_finding(paths: &DaemonPaths, places: &Places) -> Option<Finding> {
    let found = project::find(places.work_dir(), &project::of_user(places.environment.clone()), paths)?;
    let (text, remedy) = found.wrong()?;
    Some(if found.is_of_programs_alone() {
        Finding::note(text, remedy)
    } else {
        Finding::error(text, remedy)
    })
}
