//! One life of the programme, from its start to its kill.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Judgement;
use super::schedule::Strike;

/// How a life ended.
#[derive(Debug)]
pub(crate) enum Fate {
    Killed(Whilst),
    EndedByItself(ExitStatus),
}

/// What it was seen to do when it was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whilst {
    /// It was putting a snapshot in the place of records, or had just done so.
    Compacting,
    /// Anything.
    Living,
}

/// What is killed, and where it lives.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) seed: u64,
}

/// How long one waits for a compaction; a life that has none is killed all the same.
const FOR_A_COMPACTION: Duration = Duration::from_millis(120);

/// How long the last life has.
const FOR_REST: Duration = Duration::from_secs(180);

/// How long one waits for what a life says of itself.
const FOR_A_WORD: Duration = Duration::from_secs(20);

/// What a life says, line by line.
fn listen(child: &mut Child) -> Receiver<String> {
    let (told, said) = sync_channel(4);
    if let Some(out) = child.stdout.take() {
        spawn(move || BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| told.send(line)));
    }
    said
}

/// Waits until a life has said this, or ended.
fn hear(said: &Receiver<String>, wanted: &str) {
    while said.recv_timeout(FOR_A_WORD).is_ok_and(|line| line != wanted) {}
}

impl Program {
    /// Starts a life and ends it as the strike says.
    pub(crate) fn live(&self, life: u32, strike: Strike) -> Result<Fate> {
        let mut child = self.start(life, &[])?;
        let said = listen(&mut child);
        let mut whilst = Whilst::Living;
        match strike {
            Strike::Starting(time) => sleep(time),
            Strike::Recovering(time) => {
                hear(&said, "opening");
                sleep(time);
            }
            Strike::Working(time) => {
                hear(&said, "open");
                sleep(time);
            }
            Strike::Compacting(time) => {
                hear(&said, "open");
                whilst = self.await_compaction();
                sleep(time);
            }
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Fate::EndedByItself(status));
        }
        child.kill().context("it cannot be killed")?;
        child.wait()?;
        Ok(Fate::Killed(whilst))
    }

    /// A life that ends by itself when all jobs are settled.
    pub(crate) fn drain(&self, life: u32) -> Result<()> {
        let mut child = self.start(life, &["--drain"])?;
        let status = until_rest(&mut child)?;
        ensure!(status.success(), "the last life ended with {status}\n{}", self.complaints());
        Ok(())
    }

    /// What the judge says of all lives.
    pub(crate) fn judge(&self) -> Result<Judgement> {
        let output = Command::new(&self.path).arg("judge").arg(&self.folder).output()?;
        let said = serde_json::from_slice(&output.stdout);
        said.with_context(|| format!("the judge said: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// What lives have said on standard error.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }

    fn start(&self, life: u32, more: &[&str]) -> Result<Child> {
        let complaints = File::options().create(true).append(true).open(self.folder.join("stderr"))?;
        Command::new(&self.path)
            .arg("live")
            .arg(&self.folder)
            .args([life.to_string(), self.seed.to_string()])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()
            .with_context(|| format!("{} did not start", self.path.display()))
    }

    /// Waits until the files of the journal show that a snapshot is being made, or was made just now.
    fn await_compaction(&self) -> Whilst {
        let deadline = Instant::now() + FOR_A_COMPACTION;
        let before = self.snapshots();
        while Instant::now() < deadline {
            if self.snapshots() != before {
                return Whilst::Compacting;
            }
            sleep(Duration::from_micros(100));
        }
        Whilst::Living
    }

    fn snapshots(&self) -> Vec<String> {
        let mut names = Vec::new();
        for journal in ["jobs", "context"] {
            let files = fs::read_dir(self.folder.join("journal").join(journal)).into_iter().flatten();
            let files = files.flatten().filter_map(|file| file.file_name().into_string().ok());
            names.extend(files.filter(|name| name.contains(".snapshot")));
        }
        names
    }
}

/// Waits for a life that ends by itself. One that takes too long is killed, and that is an error.
pub(super) fn until_rest(child: &mut Child) -> Result<ExitStatus> {
    let deadline = Instant::now() + FOR_REST;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("the last life did not come to rest within {FOR_REST:?}");
        }
        sleep(Duration::from_millis(5));
    }
}
