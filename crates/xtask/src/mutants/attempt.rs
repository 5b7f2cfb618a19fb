//! One run of a test program: silent, within a time and a memory, and nothing of it stays behind.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// A loop that has lost its end takes memory until there is none.
const KIBIBYTES: u64 = 16 * 1024 * 1024;

/// A program that has not had the processor for so long waits for what never comes: no test sleeps as long, and what
/// wants the processor gets it sooner, whatever else there is to do.
const STILL: Duration = Duration::from_secs(20);

/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The folder for temporary files of the programs: what is killed does not remove its own. Two runs of this chore at a
/// time have one each.
pub(super) fn scratch() -> PathBuf {
    env::temp_dir().join(format!("lineside-mutants-{}", process::id()))
}

/// A program, without arguments yet, which is given no more than the memory above and so much time of the processor:
/// a loop that does not end is noticed by that, and a loaded machine is not.
pub(super) fn bounded(program: &Path, busy: Duration) -> Command {
    let limits = format!("ulimit -v {KIBIBYTES}; ulimit -t {}", busy.as_secs());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(program).env("TMPDIR", scratch());
    command
}

/// How it ended, and None where it did not within `limit` or waited for ever.
pub(super) fn attempt(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>> {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = silent.process_group(0).spawn().context("a test program did not start")?;
    let until = Instant::now() + limit;
    let mut ended = child.try_wait()?;
    let (mut used, mut since, mut looked) = (0, Instant::now(), Instant::now());
    while ended.is_none() && Instant::now() < until && since.elapsed() < STILL {
        thread::sleep(Duration::from_millis(2));
        ended = child.try_wait()?;
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            let before = std::mem::replace(&mut used, processor_time(child.id()));
            if before != used {
                since = looked;
            }
        }
    }
    // What it has started is in its group.
    let mut kill = Command::new("kill");
    kill.args(["-KILL", "--", &format!("-{}", child.id())]).stderr(Stdio::null());
    kill.status().context("`kill` did not start")?;
    child.wait()?;
    Ok(ended)
}

/// How much of the processor a process group has had, its children that are gone included, in ticks.
fn processor_time(group: u32) -> u64 {
    let stats = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter_map(|stat| of_group(&stat, group)).sum()
}

/// From one `/proc/PID/stat`, whose fields are those of proc(5).
fn of_group(stat: &str, group: u32) -> Option<u64> {
    // The name before it may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let is_of_it = fields.get(2)?.parse() == Ok(group);
    is_of_it.then(|| fields.iter().skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_group_is_that_of_its_processes() {
        let stat = "7 (a) b) c) S 1 42 7 0 -1 0 1 2 3 4 50 6 700 8 20 0 1 0";
        assert_eq!((of_group(stat, 42), of_group(stat, 7)), (Some(50 + 6 + 700 + 8), None));
        assert_eq!(of_group("", 42), None);
    }

    #[test]
    fn what_does_not_end_is_killed_with_what_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let busy = Duration::from_secs(60);
        let mut command = bounded(Path::new("/bin/sh"), busy);
        // Both hold the pipe open; its reader comes to the end when they are gone.
        command.args(["-c", "exec 3<>\"$0\"; sleep 600 & sleep 600"]).arg(&pipe);
        assert!(attempt(&mut command, Duration::from_millis(50)).unwrap().is_none());
        let mut ended = bounded(Path::new("/bin/sh"), busy);
        ended.args(["-c", "exit 3"]);
        assert_eq!(attempt(&mut ended, Duration::from_secs(60)).unwrap().unwrap().code(), Some(3));
        let mut endless = bounded(Path::new("/bin/sh"), Duration::from_secs(1));
        endless.args(["-c", "while :; do :; done"]);
        assert!(!attempt(&mut endless, Duration::from_secs(600)).unwrap().unwrap().success());
    }
}
