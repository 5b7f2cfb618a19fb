//! `lineside demo HOST`: a recorded session of an agent program plays through the real hook command and a daemon of its
//! own.
//!
//! The agent program is a recording; everything else is real: each call is a process of `lineside hook`, the daemon
//! holds the bus, the policies are commands in a `hooks.yaml`. The daemon, its home and its socket are those of the
//! stage, and gone with it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use tokio::time::sleep;

use super::screen::{Pace, Screen};
use crate::page::fitting::{column, cut, wrapped};
use crate::style::{Tone, print};

mod plugin;
mod recording;
mod said;

use recording::{Call, Head, RECORDINGS, Recording};
use said::Said;

/// The policies of the stage, for every agent program of its user.
const HOOKS: &str = include_str!("host/hooks.yaml");

/// The rest after a call.
const BEAT: Duration = Duration::from_millis(90);

/// How long the daemon may take to answer.
const READY: Duration = Duration::from_secs(20);

/// The widths of the columns.
const EVENT: usize = 20;
const ABOUT: usize = 27;
const TOOK: usize = 8;

/// Plays the recording of a program.
///
/// # Errors
/// There is none of that name, the daemon does not start, or the output cannot be written.
pub(crate) async fn run(name: &str, screen: Screen) -> Result<ExitCode> {
    let Some(recording) = Recording::named(name) else {
        let names: Vec<&str> = RECORDINGS.iter().map(|recording| recording.name).collect();
        bail!("there is no recording of `{name}`; there are {}", names.join(", "));
    };
    let stage = Stage::set().await?;
    let (head, calls) = recording.read(&stage.home(), &stage.project())?;
    print(opening(screen, &head, calls.len()))?;
    let mut tally: BTreeMap<Said, usize> = BTreeMap::new();
    let mut times = Vec::new();
    for call in &calls {
        let Answer { said, text, took } =
            if head.has_plugin() { stage.ask(&head.host, call)? } else { stage.call(&head.host, call)? };
        *tally.entry(said).or_default() += 1;
        times.push(took);
        print(line(screen, call, said, &text, took))?;
        if screen.pace == Pace::Played {
            sleep(BEAT).await;
        }
    }
    print(summary(screen, &tally, times))?;
    Ok(ExitCode::SUCCESS)
}

fn opening(screen: Screen, head: &Head, calls: usize) -> Vec<String> {
    let what = if head.has_plugin() { "plugin" } else { "hook command" };
    let title = format!("{} {}, {calls} calls of its {what}", head.program, head.version);
    let what = if head.has_plugin() {
        "The agent program and its plugin are a recording. The daemon and the policies are real: a removal is refused, \
         and a command is rewritten."
    } else {
        "The agent program is a recording. The hook command, the daemon and the policies are real: a removal is \
         refused, a command is rewritten, a hint is added, and an agent may not stop at once."
    };
    let mut lines = vec![format!("{}  {title}", screen.style.paint(Tone::Bold, "lineside demo"))];
    lines.extend(wrapped(what, screen.columns, 3));
    lines.push(String::new());
    let head = format!("  {}{}{:>6}  what it is told", column("event", EVENT), column("about", ABOUT), "ms");
    lines.push(screen.style.paint(Tone::Dim, &cut(&head, screen.columns)));
    lines
}

fn line(screen: Screen, call: &Call, said: Said, text: &str, took: Duration) -> Vec<String> {
    let (tone, mark) = said.mark();
    let about = crate::painter::in_passing(&call.about());
    let room = screen.columns.saturating_sub(2 + EVENT + ABOUT + TOOK);
    vec![format!(
        "{} {}{}{}  {}",
        screen.style.paint(tone, mark),
        column(call.name(), EVENT),
        column(&cut(&about, ABOUT - 1), ABOUT),
        screen.style.paint(Tone::Dim, &format!("{:>6}", took.as_millis())),
        cut(&crate::painter::in_passing(&said::words(text)), room),
    )]
}

fn summary(screen: Screen, tally: &BTreeMap<Said, usize>, mut times: Vec<Duration>) -> Vec<String> {
    let count = |said| tally.get(&said).copied().unwrap_or_default();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let text = format!(
        "{} refused, {} rewritten, {} with context, {} without a word; {:.1} ms in the middle for a call",
        count(Said::Refused),
        count(Said::Rewritten),
        count(Said::Context),
        count(Said::Nothing),
        median.as_secs_f64() * 1000.0
    );
    let mut lines = vec![String::new()];
    lines.extend(wrapped(&text, screen.columns, 2));
    lines
}

/// What a call was answered.
struct Answer {
    said: Said,
    /// What the host receives: the document, or standard error.
    text: String,
    took: Duration,
}

/// A home, a project and a daemon of their own. Dropping it ends the daemon and removes the rest.
struct Stage {
    folder: TempDir,
    daemon: Child,
    /// The program that is the hook command.
    lineside: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A daemon that has ended by itself is gone already.
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}

impl Stage {
    /// Lays out the stage, and waits until its daemon answers.
    ///
    /// # Errors
    /// The folder for temporary files cannot be written to, or the daemon does not answer.
    async fn set() -> Result<Self> {
        let private = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("lineside-demo-").permissions(private).tempdir()?;
        for path in ["home/.config/lineside", "project"] {
            fs::create_dir_all(folder.path().join(path))?;
        }
        fs::write(folder.path().join("home/.config/lineside/hooks.yaml"), HOOKS)?;
        let full = std::env::current_exe().context("this program does not know where it is")?;
        let mut serve = Command::new(&full);
        serve.arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = on_stage(&mut serve, &folder).spawn().context("the daemon did not start")?;
        // Where the installed command is two programs, the small one is the hook command.
        let beside = full.with_file_name("lineside");
        let lineside = if full.ends_with("lineside-full") && beside.exists() { beside } else { full };
        let mut stage = Self { folder, daemon, lineside };
        stage.ready().await?;
        Ok(stage)
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    async fn ready(&mut self) -> Result<()> {
        let began = Instant::now();
        while UnixStream::connect(self.folder.path().join("socket")).is_err() {
            ensure!(self.daemon.try_wait()?.is_none(), "the daemon of the demo has ended");
            ensure!(began.elapsed() < READY, "the daemon of the demo does not answer");
            sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Makes a call as the plugin of the host has made it.
    ///
    /// # Errors
    /// The daemon does not answer.
    fn ask(&self, host: &str, call: &Call) -> Result<Answer> {
        let document = lineside::json::to_string(&call.stdin).unwrap_or_default();
        let began = Instant::now();
        let text = plugin::ask(&self.folder.path().join("socket"), host, &document)?;
        Ok(Answer { said: Said::of(Some(0), &text), text: text.trim().to_owned(), took: began.elapsed() })
    }

    /// Makes a call as the host has made it.
    ///
    /// # Errors
    /// The hook command does not start.
    fn call(&self, host: &str, call: &Call) -> Result<Answer> {
        let mut command = Command::new(&self.lineside);
        command.args(["hook", host, "--home"]).arg(self.home());
        command.arg("--socket").arg(self.folder.path().join("socket"));
        if let Some(event) = &call.event {
            command.args(["--event", event]);
        }
        on_stage(&mut command, &self.folder).current_dir(self.project()).envs(&call.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().context("the hook command did not start")?;
        if let Some(mut stdin) = child.stdin.take() {
            let document = lineside::json::to_string(&call.stdin).unwrap_or_default();
            // One that has answered early reads no further.
            drop(stdin.write_all(document.as_bytes()));
        }
        let ended = child.wait_with_output()?;
        let took = began.elapsed();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        let text = if stdout.trim().is_empty() { stderr.trim() } else { stdout.trim() };
        Ok(Answer { said: Said::of(ended.status.code(), &stdout), text: text.to_owned(), took })
    }
}

/// A process of the stage: nothing of the user who watches is in its environment.
fn on_stage<'a>(command: &'a mut Command, folder: &TempDir) -> &'a mut Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", folder.path().join("home"));
    command.env("LINESIDE_SOCKET", folder.path().join("socket"))
}
