//! One life of a process: a bus whose jobs are in the journal of a folder, with the Chord hooks of that folder.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use lineside::automation::jobs::Which;
use lineside::automation::machine::JobSummary;
use lineside::automation::{Automations, HookId};
use lineside::bus::Signals;
use lineside::bus::signal::Watched;
use lineside::dialects::{self, Places, Trust};
use lineside::durable::{Durable, OpenDurableError};
use lineside::prelude::*;
use lineside::{Assembly, Signal};
use lineside_journal::OpenJournalError;

/// The variable that tells a process of this programme that it is a life, and in which folder.
pub(crate) const FOLDER: &str = "LINESIDE_TEST_LIFE";

/// A project with Chord hooks, and a journal beside it.
pub(crate) struct Ground {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Ground {
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        std::fs::create_dir(path.join(".chord")).unwrap();
        let ground = Self { _folder: folder, path };
        ground.configure(config);
        ground.pipe("began");
        ground
    }

    pub(crate) fn configure(&self, config: &str) {
        std::fs::write(self.path.join(".chord/config.yaml"), config).unwrap();
    }

    fn pipe(&self, name: &str) {
        assert!(Command::new("mkfifo").arg(self.path.join(name)).status().unwrap().success());
    }

    pub(crate) fn read(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// From now on the hooks do what they are meant to do.
    pub(crate) fn is_second_life(&self) {
        std::fs::write(self.path.join("second"), "").unwrap();
    }

    /// Waits until a hook says that it has begun.
    pub(crate) fn has_begun(&self) -> String {
        let mut line = String::new();
        BufReader::new(std::fs::File::open(self.path.join("began")).unwrap()).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// A life in a process of its own, up to where all it has accepted is on record.
    pub(crate) fn other_process(&self, publishes: &str) -> Other {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["a_life_keeps_what_it_accepts", "--exact", "--nocapture"])
            .env(FOLDER, &self.path)
            .env("LINESIDE_TEST_PUBLISHES", publishes)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let kept = said.by_ref().lines().any(|line| line.unwrap().ends_with("everything is on record"));
        assert!(kept, "the other process has ended early");
        Other { child, _said: said }
    }
}

/// Another process.
pub(crate) struct Other {
    child: Child,
    /// Kept open, so that nothing but the kill ends it.
    _said: BufReader<ChildStdout>,
}

impl Other {
    /// `SIGKILL`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        assert_eq!(self.child.wait().unwrap().signal(), Some(9));
    }
}

/// A life in this process.
pub(crate) struct Life {
    pub(crate) assembly: Assembly,
    pub(crate) automations: Automations,
    pub(crate) signals: Signals,
    _durable: Durable,
}

impl Life {
    pub(crate) async fn begin(folder: &Path) -> Self {
        let bus = Bus::new();
        let durable = loop {
            match Durable::open(folder.join("journal")) {
                Ok(durable) => break durable,
                // An earlier life in this process comes to its end in tasks of its own.
                Err(OpenDurableError { source: OpenJournalError::Locked { holder, .. }, .. })
                    if holder == Some(std::process::id()) =>
                {
                    tokio::task::yield_now().await;
                }
                Err(error) => panic!("{error}"),
            }
        };
        let (automations, recovered) = durable.automations(&bus, Default::default()).unwrap();
        assert!(recovered.findings.is_empty(), "{:?}", recovered.findings);
        let signals = bus.signals();
        let assembly = loaded(bus, folder).await;
        Self { assembly, automations, signals, _durable: durable }
    }

    pub(crate) async fn session(&self) -> Session {
        self.assembly.bus().session("s1").open().await.unwrap()
    }

    pub(crate) fn jobs(&self) -> Vec<JobSummary> {
        self.automations.jobs().list(&Which::default())
    }

    /// The names of the hooks of the jobs, with where each stands.
    pub(crate) fn standings(&self) -> Vec<(String, String)> {
        let name = |shown: &JobSummary| HookId::read(&shown.automation).unwrap().name;
        self.jobs().iter().map(|shown| (name(shown), shown.standing.to_string())).collect()
    }

    /// What was signalled up to now.
    pub(crate) fn signalled(&mut self) -> Vec<Signal> {
        let mut all = Vec::new();
        while let Some(watched) = self.signals.try_next() {
            match watched {
                Watched::Signal(signal) => all.push(signal),
                Watched::Lost(lost) => panic!("{lost} signals were lost"),
            }
        }
        all
    }
}

/// A bus with the Chord hooks of a folder.
pub(crate) async fn loaded(bus: Bus, folder: &Path) -> Assembly {
    let assembly = Assembly::new(bus).only(dialects::find("chord"));
    let environment = [("HOME", folder.join("nobody").to_string_lossy().into_owned())];
    let places = Places {
        environment: environment
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        project_root: Some(folder.to_owned()),
        cwd: folder.to_owned(),
        trust: Trust::Granted,
    };
    assert_eq!(assembly.load(&places).await.unwrap().diagnostics, []);
    assembly
}

/// One event for each word.
pub(crate) async fn publish(session: &Session, words: &str) {
    for word in words.split_whitespace() {
        match word {
            "idle" => drop(session.publish(lineside::points::OnIdle::new()).await.unwrap()),
            path => {
                let file = ChangedFile { path: path.to_owned(), ..ChangedFile::default() };
                drop(session.publish(AfterToolBatch::new(Vec::new(), vec![file])).await.unwrap());
            }
        }
    }
}
