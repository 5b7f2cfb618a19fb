//! Programs of others that are asked a question: started without a terminal, with bounds on time and output.
//!
//! Input and outputs are files, so a process that such a program leaves behind holds nothing up. What is started for
//! hooks goes through `lineside::exec`, which also ends what is left behind; here a daemon may be left behind on purpose.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often it is looked whether something has come.
const LOOK: Duration = Duration::from_millis(2);

/// How many bytes of an output are read.
const LONGEST: u64 = 1 << 20;

/// A question: a program, what it reads, and where and how it runs.
pub(crate) struct Question<'a> {
    pub(crate) argv: &'a [String],
    pub(crate) stdin: &'a [u8],
    pub(crate) set: Vec<(OsString, OsString)>,
    pub(crate) cwd: &'a Path,
    pub(crate) limit: Duration,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) end: End,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Code(i32),
    Signal(i32),
    /// It was killed at the limit.
    Late,
    /// It was not started, for this reason.
    NotStarted(String),
}

impl Question<'_> {
    /// Runs the program to its end, or to the limit.
    pub(crate) async fn ask(self) -> Answered {
        let began = Instant::now();
        let asked = async {
            let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
            let mut stdin = tempfile::tempfile()?;
            stdin.write_all(self.stdin)?;
            stdin.seek(SeekFrom::Start(0))?;
            let mut child = Running(self.start(stdin.into(), &out, &err)?);
            let end = loop {
                match child.0.try_wait()? {
                    Some(status) => break ended(status),
                    None if began.elapsed() > self.limit => break End::Late,
                    None => tokio::time::sleep(LOOK).await,
                }
            };
            Ok((end, text(&out)?, text(&err)?))
        };
        let asked: io::Result<_> = asked.await;
        let took = began.elapsed();
        match asked {
            Ok((end, stdout, stderr)) => Answered { end, stdout, stderr, took },
            Err(error) => {
                let end = End::NotStarted(error.to_string());
                Answered { end, stdout: String::new(), stderr: String::new(), took }
            }
        }
    }

    /// Keeps the input open until a line of the output is the one that is wanted, and ends the program then.
    ///
    /// # Errors
    /// It cannot be started, ends before, or is late.
    pub(crate) async fn line(self, wanted: impl Fn(&str) -> bool) -> io::Result<String> {
        let began = Instant::now();
        let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut child = Running(self.start(Stdio::piped(), &out, &err)?);
        let mut stdin = child.0.stdin.take();
        if let Some(stdin) = &mut stdin {
            stdin.write_all(self.stdin)?;
        }
        loop {
            let has_ended = child.0.try_wait()?.is_some();
            let text = text(&out)?;
            // The last line may not be whole yet.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            if let Some(line) = whole.lines().find(|line| wanted(line)) {
                return Ok(line.to_owned());
            }
            if has_ended {
                return Err(io::Error::other("it ended without an answer"));
            }
            if began.elapsed() > self.limit {
                return Err(io::Error::other(format!("no answer within {} s", self.limit.as_secs())));
            }
            tokio::time::sleep(LOOK * 10).await;
        }
    }

    fn start(&self, stdin: Stdio, out: &File, err: &File) -> io::Result<Child> {
        let (program, arguments) = self.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        Command::new(program)
            .args(arguments)
            .envs(self.set.iter().map(|(name, value)| (name, value)))
            .current_dir(self.cwd)
            .stdin(stdin)
            .stdout(out.try_clone()?)
            .stderr(err.try_clone()?)
            .process_group(0)
            .spawn()
    }
}

/// A process whose group is killed when it is no longer waited for.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            kill_process_group(pid, Signal::KILL).ok();
        }
        self.0.wait().ok();
    }
}

fn ended(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

/// What a file has. The place at which the program goes on writing is shared with it, so it is left where it is.
fn text(file: &File) -> io::Result<String> {
    let length = file.metadata()?.len().min(LONGEST);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(argv: &[String], limit: u64) -> Question<'_> {
        let cwd = Path::new("/");
        Question { argv, stdin: b"in\n", set: Vec::new(), cwd, limit: Duration::from_millis(limit) }
    }

    fn shell(line: &str) -> [String; 3] {
        ["/bin/sh", "-c", line].map(str::to_owned)
    }

    #[tokio::test]
    async fn a_program_answers_and_what_it_leaves_behind_holds_nothing_up() {
        let argv = shell("cat; echo no >&2; sleep 60 & exit 3");
        let answered = question(&argv, 20_000).ask().await;
        assert_eq!((answered.end, &*answered.stdout, &*answered.stderr), (End::Code(3), "in\n", "no\n"));
        assert!(answered.took < Duration::from_secs(20));
        let missing = ["/nowhere/at/all".to_owned()];
        assert!(matches!(question(&missing, 100).ask().await.end, End::NotStarted(_)));
        assert_eq!(question(&shell("exec sleep 60"), 50).ask().await.end, End::Late);
    }

    #[tokio::test]
    async fn a_line_is_waited_for_with_the_input_open() {
        let argv = shell("read line; echo first; echo \"got $line\"; cat");
        let line = question(&argv, 20_000).line(|line| line.starts_with("got")).await.unwrap();
        assert_eq!(line, "got in");
        assert!(question(&shell("echo one"), 20_000).line(|line| line == "two").await.is_err());
        assert!(question(&shell("exec sleep 60"), 50).line(|_| true).await.is_err());
    }
}
