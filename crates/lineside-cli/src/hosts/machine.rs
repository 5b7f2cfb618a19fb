//! The agent programs on this machine: where each is, its version, our entries, and what may undo them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use futures_util::future::join_all;
use lineside::dialects::native::{ApprovalSettings, daemon_settings};
use lineside::dialects::{Managed, Places};
use lineside::hosts::install::{
    InstallError, InstalledFile, Interference, Level, NoPlaceError, files, installed, look as look_through,
    needed, passed,
};
use lineside::hosts::{Host, SERVED, hooks_in_front_matter};
use lineside::json::{Value, from_slice, json};
use lineside_account::{Account, Named, Places as Daemon};
use regex::Regex;

use super::codex;
use super::finding::Finding;
use crate::child::{End, Question};
use crate::linkage::loads_libraries;
use crate::on_path::{OnPath, find, is_program, own_command, own_path};
use crate::places::shown;

/// How long a program has to say its version; some load half a megabyte of a script first.
const LIMIT: Duration = Duration::from_secs(15);

/// The names of the programs of a host.
fn names(host: Host) -> &'static [&'static str] {
    match host {
        Host::Claude => &["claude"],
        Host::Codex => &["codex"],
        Host::Copilot => &["copilot"],
        Host::Cursor => &["cursor-agent", "cursor"],
        Host::Gemini => &["gemini"],
        Host::Kimi => &["kimi"],
        Host::Opencode => &["opencode"],
        Host::Qwen => &["qwen"],
    }
}

/// Where programs are that are on no path: below the home.
const AT_HOME: [&str; 8] = [
    ".local/bin", ".npm-global/bin", ".bun/bin", ".volta/bin", ".claude/local", ".cargo/bin",
    ".opencode/bin", "bin",
];

/// The same below the root.
const OF_ALL: [&str; 2] = ["/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin"];

/// Where programs are looked for beside PATH, for people.
pub(crate) fn places() -> String {
    let at_home = AT_HOME.map(|below| format!("~/{below}"));
    at_home.into_iter().chain(OF_ALL.map(str::to_owned)).collect::<Vec<_>>().join(", ")
}

/// An agent program on this machine.
pub(crate) struct Machine {
    pub(crate) host: Host,
    pub(crate) program: Option<PathBuf>,
    pub(crate) version: Option<String>,
    /// The files that have entries of ours.
    pub(crate) installed: Vec<(Level, InstalledFile)>,
    pub(crate) findings: Vec<Finding>,
}

/// The hosts whose programs are here.
pub(crate) fn found(places: &Places) -> Vec<Host> {
    SERVED.into_iter().filter(|host| program(*host, places).is_some()).collect()
}

/// What is left to do for the user after new entries were written, where the host asks for something.
pub(crate) fn left_to_do(host: Host) -> Option<&'static str> {
    match host {
        Host::Codex => Some(
            "codex runs none of them until you have seen them: start it, and at “Hooks need review” choose \
             “Trust all and continue”",
        ),
        _ => None,
    }
}

/// All hosts, whether they are here or not.
pub(crate) async fn look(places: &Places, daemon: &Daemon) -> Vec<Machine> {
    join_all(SERVED.map(|host| look_at(host, places, daemon))).await
}

async fn look_at(host: Host, places: &Places, daemon: &Daemon) -> Machine {
    let program = program(host, places);
    let version = match &program {
        Some(program) => version(program, places).await,
        None => None,
    };
    let mut machine = Machine { host, program, version, installed: Vec::new(), findings: Vec::new() };
    for level in [Level::User, Level::Project] {
        match installed(host, level, places) {
            Ok(files) => {
                // In the home that of the project is that of the user.
                let known: Vec<PathBuf> =
                    machine.installed.iter().map(|(_, known)| known.file.clone()).collect();
                let new = files.into_iter().filter(|file| !known.contains(&file.file));
                machine.installed.extend(new.map(|file| (level, file)));
            }
            Err(InstallError::NoPlace(error)) if !matches!(error, NoPlaceError::Relative { .. }) => {}
            Err(error) => {
                machine.findings.push(Finding::error(
                    format!("{:#}", anyhow::Error::from(error)),
                    "repair the file, then run it again",
                ));
            }
        }
    }
    machine.examine(places, daemon).await;
    machine
}

/// The events whose entries end before a question that may wait there, the shortest time of these, and the time that it
/// takes.
fn too_short(
    host: Host,
    file: &InstalledFile,
    settings: &ApprovalSettings,
) -> Option<(String, Duration, Duration)> {
    let times = file.times.iter();
    let times = times.filter_map(|(event, allowed)| Some((event, *allowed, needed(host, event, settings)?)));
    let short: Vec<_> = times.filter(|(_, allowed, needed)| allowed < needed).collect();
    let (_, allowed, needed) = short.iter().min_by_key(|(_, allowed, _)| *allowed)?;
    let events: BTreeSet<&str> = short.iter().map(|(event, ..)| event.as_str()).collect();
    Some((events.into_iter().collect::<Vec<_>>().join(", "), *allowed, *needed))
}

/// The program of a host.
fn program(host: Host, places: &Places) -> Option<PathBuf> {
    let at_home = places.home().into_iter().flat_map(|home| AT_HOME.map(|below| home.join(below)));
    let usual: Vec<PathBuf> = at_home.chain(OF_ALL.map(PathBuf::from)).collect();
    let on_path = names(host).iter().find_map(|name| find(name));
    on_path.or_else(|| {
        let named = names(host).iter().flat_map(|name| usual.iter().map(move |folder| folder.join(name)));
        named.into_iter().find(|path| is_program(path))
    })
}

async fn version(program: &Path, places: &Places) -> Option<String> {
    static VERSION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\d+\.\d+[0-9A-Za-z.+-]*[0-9A-Za-z]").ok());
    if let Some(version) = of_package(program) {
        return Some(version);
    }
    let argv = [program.to_str()?.to_owned(), "--version".to_owned()];
    // No program asks for a newer version of itself then, or paints.
    let set = ["CI", "NO_COLOR", "NO_UPDATE_NOTIFIER"].map(|name| (name.into(), "1".into())).to_vec();
    let cwd = places.home().unwrap_or(Path::new("/"));
    let answered = Question { argv: &argv, stdin: b"", set, cwd, limit: LIMIT }.ask().await;
    if answered.end != End::Code(0) {
        return None;
    }
    let text = if answered.stdout.trim().is_empty() { answered.stderr } else { answered.stdout };
    Some(VERSION.as_ref()?.find(&text)?.as_str().to_owned())
}

/// The version of the package that a script belongs to. Asking it would take seconds, and some unpack themselves first.
fn of_package(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let file = real
        .ancestors()
        .skip(1)
        .take(4)
        .map(|folder| folder.join("package.json"))
        .find(|file| file.is_file())?;
    let package: Value = from_slice(&std::fs::read(file).ok()?).ok()?;
    // One without a program is not what was found.
    package.get("bin")?;
    package["version"].as_str().map(str::to_owned)
}

impl Machine {
    /// Whether anything of it is here.
    pub(crate) fn is_here(&self) -> bool {
        self.program.is_some() || !self.installed.is_empty() || !self.findings.is_empty()
    }

    async fn examine(&mut self, places: &Places, daemon: &Daemon) {
        let host = self.host;
        // What is wrong with the settings is reported where the daemon is looked at.
        let approvals = daemon_settings(places, &Managed::default()).0.approvals;
        for (level, file) in &self.installed {
            let again = match level {
                Level::User => format!("lineside install {host}"),
                Level::Project => {
                    format!("lineside install {host} --project={}", places.work_dir().display())
                }
            };
            let at = shown(&file.file, places);
            if !file.missing.is_empty() {
                let text = format!("{at} has no entry for {}", file.missing.join(", "));
                self.findings.push(Finding::warning(text, again.clone()));
            }
            for named in file.places.iter().filter(|named| !is_of(daemon, named)) {
                let named =
                    if named.is_empty() { "the account's own places".to_owned() } else { named.join(" ") };
                let text = format!(
                    "{at} asks the daemon of {named}, and this shell another one: {}",
                    daemon.socket.display()
                );
                self.findings.push(Finding::warning(text, again.clone()));
            }
            let short = approvals.iter().filter_map(|settings| too_short(host, file, settings));
            for (events, allowed, needed) in short {
                let text = format!(
                    "{at} ends a call at {events} after {} s, and a question that waits there needs {} s by `approvals`",
                    allowed.as_secs(),
                    needed.as_secs()
                );
                self.findings.push(Finding::error(text, again.clone()));
            }
            for program in &file.programs {
                let is_there = if program.contains('/') {
                    is_program(Path::new(program))
                } else {
                    find(program).is_some()
                };
                if is_there && !program.contains('/') {
                    let text = format!(
                        "{at} starts `{program}` by its name, so a program of that name in a folder that a project puts on \
                         PATH would answer for it"
                    );
                    self.findings.push(Finding::warning(text, again.clone()));
                }
                if !is_there {
                    let text = format!("{at} starts `{program}`, and there is no such program");
                    self.findings.push(Finding::error(text, again.clone()));
                }
            }
        }
        self.findings.extend(passed(host, places).into_iter().map(|passed| {
            let text = format!(
                "{} is set, so {host} reads {} and not {}, which has the entries",
                passed.variable,
                shown(&passed.reads, places),
                shown(&passed.file, places)
            );
            Finding::error(text, format!("lineside install {host}"))
        }));
        if host == Host::Claude {
            let found = hooks_in_front_matter(places).into_iter();
            self.findings.extend(found.map(|origin| {
                let at = format!("{}:{}", shown(&origin.file, places), origin.line);
                Finding::note(
                    format!("{at}: hooks in the front matter of a skill or an agent are not imported"),
                    "claude runs them itself; for other agents, put them into .claude/settings.json",
                )
            }));
        }
        if self.installed.is_empty() {
            return;
        }
        // Of two programs under one name each reads its own.
        let has_entry = |file: &PathBuf| self.installed.iter().any(|(_, entered)| entered.file == *file);
        let of_user = files(host, Level::User, places).unwrap_or_default();
        if of_user.iter().any(has_entry) {
            let without = of_user.iter().filter(|file| !has_entry(file));
            self.findings.extend(without.map(|file| {
                let text = format!(
                    "{} has no entry: no hook sees what the program does that reads it",
                    shown(file, places)
                );
                Finding::error(text, format!("lineside install {host}"))
            }));
        }
        self.findings.extend(look_through(host, places).into_iter().map(|beside| told(host, beside, places)));
        if host == Host::Codex {
            if let Some(program) = &self.program {
                self.findings.extend(codex::untrusted(program, places).await);
            }
            self.findings.push(Finding::note(
                "codex fires no hook for `write_stdin`: what is typed into an interactive shell is seen by no policy",
                "block commands that start an interactive shell where that matters",
            ));
        }
    }

    /// The same for programs.
    pub(crate) fn object(&self) -> Value {
        let files: Vec<Value> = self
            .installed
            .iter()
            .map(|(level, file)| {
                json!({
                    "level": level.name(), "file": file.file, "events": file.events, "missing": file.missing,
                    "programs": file.programs, "places": file.places,
                })
            })
            .collect();
        let findings: Vec<Value> = self.findings.iter().map(Finding::object).collect();
        json!({
            "host": self.host.name(), "title": self.host.title(), "program": self.program, "version": self.version,
            "installed": files, "findings": findings,
        })
    }
}

/// The daemon that the entries of a host name: the one in whose state folder their installation was recorded, whatever the
/// environment is by now. `None` where there are no entries, or they cannot be read.
pub(crate) fn recorded(host: Host, level: Level, places: &Places) -> Option<Daemon> {
    let files = installed(host, level, places).ok()?;
    files.iter().flat_map(|file| &file.places).find_map(|named| daemon_of(named))
}

/// Whether an entry that names these places comes to this daemon.
fn is_of(daemon: &Daemon, arguments: &[String]) -> bool {
    daemon_of(arguments).is_some_and(|found| found == *daemon)
}

/// The daemon of an entry that names these places.
fn daemon_of(arguments: &[String]) -> Option<Daemon> {
    let mut named = Named::default();
    for pair in arguments.chunks_exact(2) {
        if let Some(place) = named.option(&pair[0]) {
            *place = Some(PathBuf::from(&pair[1]));
        }
    }
    Daemon::of(&Account::own(), &named)
}

/// What stands beside our entries, as a finding.
fn told(host: Host, beside: Interference, places: &Places) -> Finding {
    let at = |file: &Path, line: usize| format!("{}:{line}", shown(file, places));
    let again = |file: &PathBuf| {
        let of_project = files(host, Level::Project, places).is_ok_and(|files| files.contains(file));
        format!("lineside install {host}{}", if of_project { " --project" } else { "" })
    };
    match beside {
        Interference::Rival { file, line, event, position } => {
            let rule = match host {
                Host::Claude | Host::Codex => "the one that ends last",
                Host::Gemini => "the last one declared",
                _ => "one that may not be ours",
            };
            Finding::note(
                format!(
                    "{}: hook {position} of {event} may change the call too; of two changes {host} takes {rule}",
                    at(&file, line)
                ),
                "move it to a hook of lineside, such as one in .agents/hooks, which runs beside the others in order",
            )
        }
        Interference::Cut { file, line, event, seconds } => Finding::warning(
            format!(
                "{}: {host} cuts the time of {event} to {seconds} s, and warns of it in each session",
                at(&file, line)
            ),
            format!("set `timeout` to {seconds} there"),
        ),
        Interference::Open { file, line, event } => Finding::warning(
            format!("{}: {host} goes on at {event} when `lineside` is gone or is killed", at(&file, line)),
            again(&file),
        ),
        Interference::Lost { file, line } => Finding::warning(
            format!(
                "{}: Copilot runs these entries of an earlier version too, without their arguments, and refuses each call",
                at(&file, line)
            ),
            again(&file),
        ),
        Interference::Off { file, by } => {
            let by = by.map_or_else(
                || format!("the settings of {host} switch"),
                |by| format!("{} switches", shown(&by, places)),
            );
            Finding::error(
                format!("{by} the hooks of {} off, so {host} asks no hook", shown(&file, places)),
                "take that setting out there, or do not start the program in this folder",
            )
        }
        Interference::Unreadable { file, reason } => {
            Finding::warning(format!("{}: {reason}", shown(&file, places)), "repair the file")
        }
    }
}

/// What keeps a host from asking the entries that it has.
pub(crate) fn obstacles(host: Host, places: &Places) -> Vec<Finding> {
    let all = look_through(host, places).into_iter();
    let all = all.filter(|beside| matches!(beside, Interference::Off { .. }));
    all.map(|beside| told(host, beside, places)).collect()
}

/// Whether the name `lineside` finds this program, where an entry relies on it.
pub(crate) fn name_finding() -> Option<Finding> {
    match own_command() {
        Ok(OnPath { remark: None, .. }) => None,
        Ok(OnPath { remark: Some(remark), .. }) => {
            Some(Finding::note(remark, "put the folder of this program on PATH, and install again"))
        }
        Err(error) => Some(Finding::error(format!("{error:#}"), "install the program under its own name")),
    }
}

/// What is wrong with a program of entries that loads libraries: it runs in the environment of agents, which may name some.
pub(crate) fn preloaded() -> Option<Finding> {
    let program = own_path().ok().filter(|program| loads_libraries(program))?;
    let text = format!(
        "{} loads shared libraries: a variable LD_PRELOAD of an agent runs within it, and may answer for your hooks",
        program.display()
    );
    let remedy =
        "in the sources of lineside: cargo xtask install, which puts a small program there that loads none";
    Some(Finding::warning(text, remedy))
}
