//! `cargo xtask crash --command`: `lineside run --journal` is killed in bursts of events and in a gentle flow, and is
//! judged by its own printed lines: background work that a line says is on the disk is done, or rests in the dead
//! letters.
//!
//! The work is a script that writes down the event it ran for; nothing else is believed of what was done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::life::until_rest;
use super::schedule::Schedule;

/// How many events a life gets at most.
const EVENTS: u32 = 80;

/// How many sessions they are of.
const SESSIONS: u32 = 4;

/// Without it the background hook would be a guard's, and the run would wait for it.
const HOOK: &str =
    "---\nname: work\ndescription: Writes down what it ran for.\ntrigger: before_tool\nasync: true\n---\n";

/// One write to the end of the file for each event.
const SCRIPT: &str = "#!/bin/sh\nexec sed -n 's/.*\\(event-[0-9]*-[0-9]*\\).*/\\1/p' >> \"$WORK_DONE\"\n";

/// How events reach a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// All at once.
    Burst,
    /// The next one when the decision about the one before is there.
    Gentle,
}

/// The command, and where it works.
pub(super) struct Shop {
    program: PathBuf,
    folder: PathBuf,
}

/// What the printed lines of all lives say, and what became of it.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// The events whose background work a line has said to be on the disk, with their ids.
    acknowledged: BTreeMap<String, String>,
    pub(super) kills: u32,
    pub(super) printed: usize,
    pub(super) dead: usize,
    pub(super) violations: Vec<String>,
}

impl Account {
    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// Believes what a line says.
    fn read(&mut self, line: &str) {
        let Ok(decision) = serde_json::from_str::<Value>(line) else { return };
        self.printed += 1;
        let is_kept = |claim: &Value| claim["as"] == "started" && claim["durability"] == "disk";
        let claims = decision["accepted"].as_array();
        let (Some(label), Some(id)) =
            (decision["payload"]["tool_input"]["command"].as_str(), decision["id"].as_str())
        else {
            return;
        };
        if claims.is_some_and(|claims| claims.iter().any(is_kept)) {
            self.acknowledged.insert(label.to_owned(), id.to_owned());
        }
    }

    /// Compares what was acknowledged with what was done, and with what rests dead.
    fn judge(&mut self, done: &BTreeSet<String>, dead: &BTreeSet<String>) {
        for (label, id) in &self.acknowledged {
            if done.contains(label) {
                continue;
            }
            if dead.contains(id) {
                self.dead += 1;
            } else {
                self.violations.push(format!("{label} was acknowledged, and its work was never done"));
            }
        }
    }
}

impl Shop {
    /// A project with one hook in the background.
    pub(super) fn open(program: PathBuf, folder: &Path) -> Result<Self> {
        let hook = folder.join("project/.agents/hooks/work");
        fs::create_dir_all(hook.join("scripts")).context("cannot make the project")?;
        fs::create_dir_all(folder.join("home"))?;
        fs::write(hook.join("HOOK.md"), HOOK)?;
        let script = hook.join("scripts/run.sh");
        fs::write(&script, SCRIPT)?;
        fs::set_permissions(script, fs::Permissions::from_mode(0o755))?;
        Ok(Self { program, folder: folder.to_path_buf() })
    }

    /// Lives and kills, and a last life that is let be.
    pub(super) fn work(&self, cycles: u32, seed: u64) -> Result<Account> {
        let mut schedule = Schedule::new(seed);
        let mut account = Account::default();
        for life in 1..=cycles {
            let flow = if life % 2 == 0 { Flow::Gentle } else { Flow::Burst };
            let time = schedule.micros(0, 400_000);
            self.live(life, flow, time, &mut account)?;
        }
        self.rest()?;
        account.judge(&self.done()?, &self.dead()?);
        Ok(account)
    }

    /// One life: events go in, lines come out, and so long after the first line it is killed.
    fn live(&self, life: u32, flow: Flow, time: Duration, account: &mut Account) -> Result<()> {
        let mut child = self.start()?;
        let said = listen(&mut child);
        let mut input = child.stdin.take().context("it has no standard input")?;
        // With the first decision everything is loaded; it is no part of the burst.
        input.write_all(event(life, 0).as_bytes())?;
        let first = said.recv().context("a life printed nothing")?;
        account.read(&first);
        let began = Instant::now();
        let feeder = match flow {
            Flow::Burst => Some(burst(input, life)),
            Flow::Gentle => {
                gentle(&mut input, life, &said, began + time, account);
                None
            }
        };
        sleep(time.saturating_sub(began.elapsed()));
        child.kill().context("it cannot be killed")?;
        child.wait()?;
        account.kills += 1;
        // What is in the pipe was printed.
        said.into_iter().for_each(|line| account.read(&line));
        if let Some(feeder) = feeder {
            // A pipe without a reader ends it early.
            feeder.join().ok();
        }
        Ok(())
    }

    /// A life without events, which finishes what the others have accepted.
    fn rest(&self) -> Result<()> {
        let mut child = self.start()?;
        drop(child.stdin.take());
        let said = listen(&mut child);
        let status = until_rest(&mut child)?;
        said.into_iter().for_each(drop);
        ensure!(status.success(), "the last life ended with {status}\n{}", self.complaints());
        Ok(())
    }

    fn start(&self) -> Result<Child> {
        let complaints = File::options().create(true).append(true).open(self.folder.join("stderr"))?;
        self.command()
            .args(["run", "--json", "--project", ".", "--journal", "../journal"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()
            .with_context(|| format!("{} did not start", self.program.display()))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(self.folder.join("project"))
            .env("HOME", self.folder.join("home"))
            .env("WORK_DONE", self.folder.join("done"));
        command
    }

    /// The events that the script ran for.
    fn done(&self) -> Result<BTreeSet<String>> {
        let done = fs::read_to_string(self.folder.join("done")).context("no work was done at all")?;
        Ok(done.lines().map(str::to_owned).collect())
    }

    /// The ids of the events whose work rests dead.
    fn dead(&self) -> Result<BTreeSet<String>> {
        let output =
            self.command().args(["jobs", "--journal", "../journal", "--json", "--state", "dead"]).output()?;
        ensure!(output.status.success(), "`lineside jobs` ended with {}", output.status);
        let text = String::from_utf8_lossy(&output.stdout);
        let jobs = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events = jobs.flat_map(|job| job["events"].as_array().cloned().unwrap_or_default());
        Ok(events.filter_map(|id| id.as_str().map(str::to_owned)).collect())
    }

    /// What the lives have said on standard error.
    pub(super) fn complaints(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }
}

fn event(life: u32, number: u32) -> String {
    let session = format!("s{}", number % SESSIONS);
    let payload = json!({"tool_name": "Shell", "tool_input": {"command": format!("event-{life}-{number}")}});
    format!("{}\n", json!({"point": "before_tool", "session": session, "payload": payload}))
}

/// What a life prints, line by line. A line that a kill has cut was not printed.
fn listen(child: &mut Child) -> Receiver<String> {
    let (told, said) = sync_channel(EVENTS as usize + 1);
    if let Some(out) = child.stdout.take() {
        spawn(move || {
            let mut out = BufReader::new(out);
            let mut line = String::new();
            while out.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
                if told.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
    }
    said
}

fn burst(mut input: ChildStdin, life: u32) -> JoinHandle<()> {
    spawn(move || {
        let events: String = (1..EVENTS).map(|number| event(life, number)).collect();
        if input.write_all(events.as_bytes()).is_ok() {
            // Its input does not end before it is killed.
            sleep(Duration::from_secs(1));
        }
    })
}

fn gentle(input: &mut ChildStdin, life: u32, said: &Receiver<String>, until: Instant, account: &mut Account) {
    for number in 1..EVENTS {
        if input.write_all(event(life, number).as_bytes()).is_err() {
            return;
        }
        let Ok(line) = said.recv_timeout(until.saturating_duration_since(Instant::now())) else { return };
        account.read(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str, id: &str, claim: &Value) -> String {
        json!({"id": id, "payload": {"tool_input": {"command": label}}, "accepted": claim}).to_string()
    }

    #[test]
    fn a_line_that_claims_the_disk_is_held_to_it() {
        let mut account = Account::default();
        let disk = json!([{"hook": "work", "as": "started", "durability": "disk"}]);
        account.read(&line("event-1-1", "a", &disk));
        account.read(&line("event-1-2", "b", &disk));
        account.read(&line("event-1-3", "c", &disk));
        account.read(&line(
            "event-1-4",
            "d",
            &json!([{"hook": "work", "as": "started", "durability": "memory"}]),
        ));
        account.read("no json");
        account.judge(&BTreeSet::from(["event-1-1".to_owned()]), &BTreeSet::from(["b".to_owned()]));
        assert_eq!((account.printed, account.acknowledged(), account.dead), (4, 3, 1));
        assert_eq!(account.violations, ["event-1-3 was acknowledged, and its work was never done"]);
    }
}
