//! Running a programme: its lines are shown as they come and kept, and it ends in time.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// For what compiles: a fresh machine with two slow cores stays well below it.
pub(crate) const FOR_A_BUILD: Duration = Duration::from_secs(3600);
/// For what has a night: thousands of cycles where the test command has hundreds.
pub(crate) const FOR_A_NIGHT: Duration = Duration::from_secs(4 * 3600);
/// For what only runs: an example, the demo, a suite of cases.
pub(crate) const FOR_A_RUN: Duration = Duration::from_secs(600);

/// How a programme ended and what it said on both of its outputs.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) lines: Vec<String>,
}

/// Runs a programme without stdin, showing its lines. Fails when it does not start or does not end within `limit`; an
/// exit code of its own is for the caller to judge.
pub(crate) fn watch(command: &mut Command, limit: Duration) -> Result<Ended> {
    let shown = shown(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{shown}` did not start"))?;
    let heard = listen(&mut child);
    match follow(&heard, Instant::now() + limit) {
        Some(lines) => {
            Ok(Ended { status: child.wait().with_context(|| format!("`{shown}` was lost"))?, lines })
        }
        None => {
            child
                .kill()
                .with_context(|| format!("`{shown}` did not end within {limit:?} and cannot be killed"))?;
            child.wait().with_context(|| format!("`{shown}` was lost"))?;
            bail!("`{shown}` did not end within {limit:?} and was killed")
        }
    }
}

/// The same, where anything but exit code 0 is a failure.
pub(crate) fn must(command: &mut Command, limit: Duration) -> Result<Ended> {
    let ended = watch(command, limit)?;
    ensure!(ended.status.success(), "`{}` ended with {}", shown(command), ended.status);
    Ok(ended)
}

/// Whether a programme starts and exits with 0. It is neither shown nor heard.
pub(crate) fn answers(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// The programme and its arguments, as they are typed.
pub(crate) fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn listen(child: &mut Child) -> Receiver<String> {
    let (sender, heard) = sync_channel(256);
    if let Some(stdout) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || pump(stdout, &sender));
    }
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || pump(stderr, &sender));
    }
    heard
}

fn pump(output: impl Read, sender: &SyncSender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        if sender.send(text).is_err() {
            return;
        }
        line.clear();
    }
}

/// Every line until both outputs are closed; nothing when that is later than `deadline`.
fn follow(heard: &Receiver<String>, deadline: Instant) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                println!("{line}");
                lines.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => return Some(lines),
            Err(RecvTimeoutError::Timeout) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_outputs_are_kept_and_the_code_is_told() {
        let ended = watch(&mut shell("echo out; echo err >&2; exit 3"), FOR_A_RUN).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.lines.contains(&"out".to_owned()) && ended.lines.contains(&"err".to_owned()));
    }

    #[test]
    fn a_programme_that_does_not_end_is_killed() {
        let error = watch(&mut shell("exec sleep 60"), Duration::from_millis(50)).err().unwrap();
        assert!(error.to_string().contains("did not end within 50ms"), "{error}");
    }

    #[test]
    fn a_missing_programme_is_named() {
        let error = must(&mut Command::new("no-such-programme"), FOR_A_RUN).err().unwrap();
        assert_eq!(error.to_string(), "`no-such-programme` did not start");
    }
}
