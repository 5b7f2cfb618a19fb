//! `lineside uninstall --everything`: nothing of lineside is left, of any daemon that this account's entries name.
//!
//! Its order is its own safety: what starts a daemon goes before the daemon, entries before the program that they start, and
//! the list is shown before a person types the word.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use lineside::dialects::native::{ObserveTo, daemon_settings};
use lineside::dialects::{Managed, Places};
use lineside::hosts::install::{Level, files, recorded, uninstall};
use lineside::hosts::{Host, SERVED};
use lineside_account::Named;

use super::performed;
use crate::child::{End, Question};
use crate::control::{StopArgs, stop};
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::hosts::machine;
use crate::installation::{Installation, Removal, own_installation};
use crate::on_path::own_path;
use crate::painter::one_line;
use crate::person::{daemons, types};
use crate::places::{granted_places, shown};
use crate::serve::unit;
use crate::style::{Styles, Tone, print, tell};

/// What is typed.
const WORD: &str = "everything";
const ELSEWHERE: &str =
    "everything is removed by a person at a terminal alone; `lineside uninstall all` takes the entries out";

/// How long the system has to let go of a unit.
const PATIENCE: Duration = Duration::from_secs(30);

/// What there is.
struct Everything {
    /// Programs with entries, each with where its files are and the state folder that knows of them.
    entries: BTreeSet<Entry>,
    units: Vec<PathBuf>,
    daemons: Vec<DaemonPaths>,
    /// Folders and files of ours.
    kept: Vec<PathBuf>,
    installation: Installation,
    home: PathBuf,
    places: Places,
}

/// The files of a program at one level.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    file: PathBuf,
    host: &'static str,
    /// The root of the project; none for those of the user.
    project: Option<PathBuf>,
    state: PathBuf,
}

/// Runs it.
///
/// # Errors
/// Something cannot be found, or consent cannot be asked for.
pub(super) async fn run(styles: Styles) -> Result<ExitCode> {
    let everything = Everything::find()?;
    print(everything.lines(styles))?;
    if !types(WORD, "remove all of this", &ELSEWHERE)? {
        tell("nothing was removed");
        return Ok(ExitCode::FAILURE);
    }
    let stays = everything.stays();
    let wrong = everything.remove().await;
    for wrong in &wrong {
        tell(&format!("{}: {}", styles.err.paint(Tone::Bad, "error"), one_line(wrong)));
    }
    if wrong.is_empty() {
        print(["all of this was removed".to_owned()])?;
        print(stays.iter().map(|path| {
            format!("what stays is yours to remove: {}", one_line(&path.display().to_string()))
        }))?;
    }
    if let Removal::By(command) = &everything.installation.removal {
        print([format!("what is left are the programs: {}", one_line(command))])?;
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Everything {
    fn find() -> Result<Self> {
        let (places, own) = (granted_places(None)?, DaemonArgs::default());
        let of_account = own.places(Named::default())?;
        let daemons = daemons(&own, Vec::new())?;
        let mut entries = BTreeSet::new();
        for daemon in &daemons {
            for file in recorded(&daemon.state) {
                entries.extend(entry(&file, &places, &daemon.state));
            }
        }
        // Those whose record is gone.
        for host in SERVED {
            let state = machine::recorded(host, Level::User, &places).map(|daemon| daemon.state);
            for file in files(host, Level::User, &places).into_iter().flatten().filter(|_| state.is_some()) {
                let state = state.clone().unwrap_or_default();
                entries.insert(Entry { file, host: host.name(), project: None, state });
            }
        }
        let units = unit::all()?.into_iter().filter(|unit| unit.symlink_metadata().is_ok()).collect();
        let sockets = daemons.iter().flat_map(|daemon| {
            let mut lock = daemon.socket.clone().into_os_string();
            lock.push(".lock");
            [daemon.socket.clone(), lock.into(), daemon.socket.with_file_name("off")]
        });
        let folders =
            daemons.iter().map(|daemon| daemon.state.clone()).chain([of_account.config.join("lineside")]);
        let kept: BTreeSet<PathBuf> =
            sockets.chain(folders).filter(|path| path.symlink_metadata().is_ok()).collect();
        let is_within = |path: &PathBuf| kept.iter().any(|other| other != path && path.starts_with(other));
        let kept = kept.iter().filter(|path| !is_within(path)).cloned().collect();
        let installation = own_installation()?;
        Ok(Self { entries, units, daemons, kept, installation, home: of_account.home, places })
    }

    fn lines(&self, styles: Styles) -> Vec<String> {
        let path = |path: &Path| format!("  {}", one_line(&shown(path, &self.places)));
        let head = |text: &str| styles.out.paint(Tone::Bold, text);
        let mut lines = Vec::new();
        let mut part = |title: &str, of: Vec<String>| {
            if !of.is_empty() {
                lines.push(head(title));
                lines.extend(of);
            }
        };
        part("entries in", self.entries.iter().map(|entry| path(&entry.file)).collect());
        part("units", self.units.iter().map(|unit| path(unit)).collect());
        part("hooks, settings, state and logs", self.kept.iter().map(|kept| path(kept)).collect());
        match &self.installation.removal {
            Removal::Files(files) => {
                part("programs, completions and the manual", files.iter().map(|file| path(file)).collect());
            }
            Removal::By(command) => {
                part("programs, which you remove afterwards", vec![format!("  {}", one_line(command))]);
            }
            Removal::None => {}
        }
        lines.push("Hooks in folders of projects, and those that other programs read, stay.".to_owned());
        lines
    }

    /// What is not removed: files that observers have written, and a program that nothing is known to have installed.
    fn stays(&self) -> Vec<PathBuf> {
        let observers = daemon_settings(&self.places, &Managed::default()).0.observe.into_iter();
        let files = observers.filter_map(|observer| match observer.to {
            ObserveTo::File { path, .. } => Some(path),
            _ => None,
        });
        let is_copy = matches!(self.installation.removal, Removal::None);
        files.chain(own_path().ok().filter(|_| is_copy)).filter(|path| path.exists()).collect()
    }

    /// Removes it; gives what did not go.
    async fn remove(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if !self.units.is_empty() {
            wrong.extend(release().await);
        }
        let units = self.units.iter();
        wrong.extend(units.filter_map(|unit| self.away(unit).err()).map(|error| format!("{error:#}")));
        for daemon in &self.daemons {
            let ended = stop(&StopArgs::of(DaemonArgs::at(daemon))).await;
            wrong.extend(ended.err().map(|error| format!("{error:#}")));
        }
        for entry in &self.entries {
            wrong.extend(entry.take_out().err().map(|error| format!("{}: {error:#}", entry.file.display())));
        }
        let programs = match &self.installation.removal {
            Removal::Files(files) => &files[..],
            Removal::By(_) | Removal::None => &[],
        };
        // Without its entries nothing starts it again.
        if wrong.is_empty() {
            let all = self.kept.iter().chain(programs);
            wrong.extend(all.filter_map(|path| self.away(path).err()).map(|error| format!("{error:#}")));
        } else {
            wrong.push("because of that, the rest stays".to_owned());
        }
        wrong
    }

    /// Removes a file, or a folder with what is in it, and the folders above that have nothing else, up to the home or the
    /// folder of the installation.
    fn away(&self, path: &Path) -> Result<()> {
        let removed = match path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("failed to remove {}", path.display()));
            }
            _ => {}
        }
        let is_ours = |folder: &&Path| {
            let within = |top: &Path| folder.starts_with(top) && *folder != top;
            within(&self.home) || within(&self.installation.place) || folder.ends_with("lineside")
        };
        let above = path.ancestors().skip(1).take_while(is_ours);
        // One that holds something else is left by the system itself.
        above.map_while(|folder| fs::remove_dir(folder).ok()).for_each(drop);
        Ok(())
    }
}

impl Entry {
    fn take_out(&self) -> Result<()> {
        let host = Host::named(self.host).context("there is no such program")?;
        let level = if self.project.is_some() { Level::Project } else { Level::User };
        let places = granted_places(self.project.as_deref())?;
        performed(uninstall(host, level, &places, &self.state), false, &self.state)?;
        Ok(())
    }
}

/// What a recorded file is: of the user, or of the project whose folder is above it. None where the variable that once led
/// its program there is gone.
fn entry(file: &Path, places: &Places, state: &Path) -> Option<Entry> {
    let has = |host: Host, level: Level, places: &Places| {
        files(host, level, places).is_ok_and(|files| files.iter().any(|known| known == file))
    };
    let entry = |host: Host, project: Option<PathBuf>| Entry {
        file: file.to_owned(),
        host: host.name(),
        project,
        state: state.to_owned(),
    };
    if let Some(host) = SERVED.into_iter().find(|host| has(*host, Level::User, places)) {
        return Some(entry(host, None));
    }
    file.ancestors().skip(1).find_map(|root| {
        let places = granted_places(Some(root)).ok()?;
        let host = SERVED.into_iter().find(|host| has(*host, Level::Project, &places))?;
        Some(entry(host, Some(root.to_owned())))
    })
}

/// Has the system no longer start or hold the daemon; gives why it would not.
async fn release() -> Option<String> {
    let argv = unit::release();
    let cwd = Path::new("/");
    let answered = Question { argv: &argv, stdin: b"", set: Vec::new(), cwd, limit: PATIENCE }.ask().await;
    match answered.end {
        // Where there is no such program or no session, nothing holds the units either.
        End::Code(_) | End::NotStarted(_) => None,
        End::Late | End::Signal(_) => Some(format!("`{}` does not end", argv.join(" "))),
    }
}
