//! The scenes that are played with a program, and what has to come of each.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::between;
use super::model::Model;
use super::newest::Offered;
use super::program::{Ground, Lack, Program};
use super::record;
use super::script::MARK;
use super::session_hook;
use crate::programme::{FOR_A_RUN, must};
use crate::workspace::Workspace;

/// How long a program may take for one prompt.
const FOR_A_PROMPT: Duration = Duration::from_secs(120);

/// How long a daemon may take to answer.
const FOR_A_DAEMON: Duration = Duration::from_secs(20);

/// The policies, for every agent program of the user.
const HOOKS: &str = "hooks:
  - {name: guard, on: before_tool, command: [node, $POLICY, guard], timeout: 3000, priority: 10}
  - {name: rewrite, on: before_tool, command: [node, $POLICY, rewrite], amends: true}
  - {name: hint, on: before_prompt, command: [node, $POLICY, hint]}
  - {name: finish, on: before_stop, command: [node, $POLICY, finish]}
  - name: tests
    on: after_tool
    match: {tool: Shell}
    command: [node, $POLICY, tests]
    automate: {debounce: {quiet: 60000}, join: before_next_model}
";

/// How the guard can misbehave, and what the table calls that.
pub(super) const FAULTS: [(&str, &str); 4] = [
    ("hangs", "hook hangs"),
    ("crashes", "hook crashes"),
    ("garbage", "hook prints garbage"),
    ("child", "child holds the pipe"),
];

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is as it must be.
    Holds,
    /// The program cannot do this; what is done instead is as it must be.
    Instead(&'static str),
    /// It is not.
    Fails(String),
}

/// What came of a check, as the table has it.
pub(super) fn said(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Holds => "holds".to_owned(),
        Outcome::Instead(what) => (*what).to_owned(),
        Outcome::Fails(why) => format!("**fails**: {why}"),
    }
}

/// A check, and what came of it.
pub(super) type Checked = (&'static str, Outcome);

/// A program on its own ground, with a daemon and a model of its own.
pub(super) struct Stage<'a> {
    pub(super) program: &'a Program,
    pub(super) ground: Ground,
    pub(super) folder: PathBuf,
    pub(super) model: Model,
    daemon: Option<Daemon>,
}

/// The folder in which a program is played with.
pub(super) fn folder(workspace: &Workspace, program: &Program) -> PathBuf {
    workspace.target.join("hosts").join(program.name)
}

/// The folder of the sockets of this run.
fn sockets() -> PathBuf {
    std::env::temp_dir().join(format!("lineside-hosts-{}", std::process::id()))
}

/// Removes the sockets of this run.
pub(super) fn leave() {
    // There are none where no program was played with.
    drop(fs::remove_dir_all(sockets()));
}

/// A folder of this run that others may not enter.
fn private() -> Result<PathBuf> {
    let folder = sockets();
    fs::create_dir_all(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
    Ok(folder)
}

/// A daemon that ends with its handle.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Ends the processes of a program.
fn end_all_of(program: &Path) {
    let Ok(program) = program.canonicalize() else { return };
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if fs::read_link(process.path().join("exe")).is_ok_and(|runs| runs == program) {
            // It may have ended by itself.
            drop(Command::new("kill").arg(process.file_name()).status());
        }
    }
}

impl Drop for Stage<'_> {
    /// Ends the daemons that calls have started, which run this stage's own copy of the command.
    fn drop(&mut self) {
        self.daemon = None;
        end_all_of(&self.folder.join("bin/lineside-full"));
    }
}

impl<'a> Stage<'a> {
    /// Lays everything out: the program, its settings, our entries, the policies, the daemon.
    pub(super) fn set(workspace: &Workspace, program: &'a Program, installed: PathBuf) -> Result<Self> {
        let folder = folder(workspace, program);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let ground = Ground {
            home: folder.join("home"),
            project: folder.join("project"),
            installed,
            lineside: folder.join("bin"),
            // A socket's path may have a hundred bytes, so it is not in the target directory.
            socket: private()?.join(format!("{}.sock", program.name)),
        };
        fs::create_dir_all(&ground.home)?;
        fs::create_dir_all(&ground.project)?;
        must(Command::new("git").args(["init", "-q"]).arg(&ground.project), FOR_A_RUN)?;
        fs::create_dir_all(&ground.lineside)?;
        for (built, name) in [("lineside-shim", "lineside"), ("lineside", "lineside-full")] {
            let into = ground.lineside.join(name);
            fs::copy(workspace.target.join("debug").join(built), &into)
                .with_context(|| format!("no {built}"))?;
        }
        let model = Model::start(program.agent, &ground.project)?;
        program.configure(&ground, model.port)?;
        let policy = folder.join("policy.mjs");
        fs::write(&policy, include_str!("policy.mjs"))?;
        let hooks = ground.home.join(".config/lineside");
        fs::create_dir_all(&hooks)?;
        fs::write(hooks.join("hooks.yaml"), HOOKS.replace("$POLICY", &policy.to_string_lossy()))?;
        let mut stage = Self { program, ground, folder, model, daemon: None };
        stage.misbehave("not")?;
        stage.serve()?;
        Ok(stage)
    }

    /// The stage of another program in a project of its own beside this one's, with the same home and daemon.
    pub(super) fn beside<'b>(
        &self,
        program: &'b Program,
        installed: PathBuf,
        name: &str,
    ) -> Result<Stage<'b>> {
        let folder = self.folder.join(name);
        let ground = Ground { project: folder.join("project"), ..self.ground.of(installed) };
        fs::create_dir_all(&ground.project)?;
        must(Command::new("git").args(["init", "-q"]).arg(&ground.project), FOR_A_RUN)?;
        let model = Model::start(program.agent, &ground.project)?;
        program.configure(&ground, model.port)?;
        Ok(Stage { program, ground, folder, model, daemon: None })
    }

    /// Shows that nothing but our entries keeps the command from running, then installs them.
    fn install(&self) -> Result<Outcome> {
        if self.gate("without.log")? == Outcome::Holds {
            return Ok(Outcome::Fails(
                "the command does not run without them either, so nothing is shown".to_owned(),
            ));
        }
        self.install_entries(self.program.host)?;
        Ok(Outcome::Instead("it runs"))
    }

    /// Installs our entries for a host.
    pub(super) fn install_entries(&self, host: &str) -> Result<()> {
        let mut install = self.lineside();
        install.args(["install", host, "--user"]);
        must(&mut install, FOR_A_RUN).context("our entries cannot be installed")?;
        Ok(())
    }

    /// The command `lineside` of this ground.
    pub(super) fn lineside(&self) -> Command {
        let mut command = Command::new(self.ground.lineside.join("lineside"));
        let inherited = std::env::var("PATH").unwrap_or_default();
        command.env_clear().env("PATH", format!("{}:{inherited}", self.ground.lineside.display()));
        command.env("HOME", &self.ground.home).env("LINESIDE_SOCKET", &self.ground.socket);
        command.current_dir(&self.ground.project);
        command
    }

    /// Starts the daemon, and waits until it answers.
    pub(super) fn serve(&mut self) -> Result<()> {
        self.daemon = None;
        let log = fs::File::create(self.folder.join("daemon.log"))?;
        let mut serve = self.lineside();
        serve.arg("serve").stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.daemon = Some(Daemon(serve.spawn().context("the daemon did not start")?));
        let began = Instant::now();
        while UnixStream::connect(&self.ground.socket).is_err() {
            ensure!(
                began.elapsed() < FOR_A_DAEMON,
                "the daemon does not answer; {}",
                self.folder.join("daemon.log").display()
            );
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Says how the guard misbehaves from now on.
    fn misbehave(&self, how: &str) -> Result<()> {
        Ok(fs::write(self.folder.join("MODE"), how)?)
    }

    /// Puts a prompt to the program. Gives what its model was asked.
    pub(super) fn play(&self, script: &str, log: &str) -> Result<Vec<String>> {
        for file in ["one.txt", "sub.txt"] {
            drop(fs::remove_file(self.ground.project.join(file)));
        }
        drop(fs::remove_dir_all(self.ground.project.join("taken")));
        let precious = self.ground.project.join("precious");
        fs::create_dir_all(&precious)?;
        fs::write(precious.join("file.txt"), "keep\n")?;
        let before = self.model.asked().len();
        let mut command = self.program.command(
            &self.ground,
            self.model.port,
            &format!("Tidy the project up. {MARK}{script}"),
        );
        let file = fs::File::create(self.folder.join(log))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut child = command.spawn().with_context(|| format!("{} did not start", self.program.name))?;
        let began = Instant::now();
        while child.try_wait()?.is_none() {
            if began.elapsed() > FOR_A_PROMPT {
                child.kill()?;
                child.wait()?;
                anyhow::bail!(
                    "it did not end within {FOR_A_PROMPT:?}; see {}",
                    self.folder.join(log).display()
                );
            }
            sleep(Duration::from_millis(50));
        }
        let asked = self.model.asked().split_off(before);
        ensure!(!asked.is_empty(), "its model was asked nothing; see {}", self.folder.join(log).display());
        fs::write(self.folder.join(format!("{log}.asked")), asked.join("\n"))?;
        Ok(asked)
    }

    /// Records a turn in which everything happens. Gives how many calls it has.
    pub(super) fn record(mut self, into: &Path) -> Result<usize> {
        if let Outcome::Fails(why) = self.install()? {
            anyhow::bail!("{why}");
        }
        let calls = record::stand_in(&self.ground, &self.folder)?;
        if self.program.host == "opencode" {
            let own = private()?.join("between.sock");
            between::listen(&own, &self.ground.socket, &calls, self.program.host)?;
            self.ground.socket = own;
        }
        self.play("all", "all.log")?;
        record::write(self.program, &self.ground, &calls, into)
    }

    pub(super) fn is_kept(&self) -> bool {
        self.ground.project.join("precious/file.txt").exists()
    }

    fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.ground.project.join(file)).ok()
    }

    /// Plays every scene. What cannot be played fails its checks. Gives also the tools that the model was offered.
    pub(super) fn check(mut self) -> (Vec<Checked>, Offered) {
        let checked = self.checked();
        (checked, Offered::of(&self.model.asked()))
    }

    fn checked(&mut self) -> Vec<Checked> {
        let failed = |error: anyhow::Error| Outcome::Fails(format!("{error:#}"));
        let installed = self.install().unwrap_or_else(failed);
        let is_installed = !matches!(installed, Outcome::Fails(_));
        let mut checked = vec![("without our entries", installed)];
        if !is_installed {
            return checked;
        }
        self.hook_on_the_session();
        match self.play("all", "all.log") {
            Ok(asked) => checked.extend(self.whole(&asked)),
            Err(error) => checked.push(("dangerous command", failed(error))),
        }
        let heard = self.misbehave("tests").and_then(|()| self.red_tests("tests.log"));
        checked.push(("red tests", heard.unwrap_or_else(failed)));
        let spelt = self.policies();
        checked.push(("standard policies", spelt.unwrap_or_else(failed)));
        for (mode, name) in FAULTS {
            let outcome = self.misbehave(mode).and_then(|()| self.gate(&format!("{mode}.log")));
            checked.push((name, outcome.unwrap_or_else(failed)));
        }
        // It dies when the prompt has passed and before the command is called.
        if let Some(daemon) = self.daemon.take() {
            self.model.before_answer_to("play:gate", move || drop(daemon));
        }
        let outcome = self.misbehave("not").and_then(|()| self.killed("killed.log"));
        checked.push(("daemon killed", outcome.unwrap_or_else(failed)));
        drop(fs::remove_file(&self.ground.socket));
        checked
    }

    /// Has a hook registered on the session of the agent, before it starts its subagent.
    fn hook_on_the_session(&self) {
        let (socket, log) = (self.ground.socket.clone(), self.folder.join("session-hook.log"));
        self.model.before_answer_to("REFUSED-BY-GUARD", move || {
            if let Err(error) = session_hook::register(&socket) {
                // The check of the subagent fails then; this says why.
                drop(fs::write(log, format!("{error:#}")));
            }
        });
    }

    /// What has to come of a turn in which everything happens.
    fn whole(&self, asked: &[String]) -> Vec<Checked> {
        let reached = |text: &str| asked.iter().any(|request| request.contains(text));
        let lacks = |lack| self.program.lacks.contains(&lack);
        let must = |holds: bool, why: &str| {
            if holds { Outcome::Holds } else { Outcome::Fails(why.to_owned()) }
        };
        let instead = |what, outcome: Outcome| match outcome {
            Outcome::Holds => Outcome::Instead(what),
            other => other,
        };
        let one = self.text("one.txt");
        vec![
            (
                "dangerous command",
                must(
                    self.is_kept() && reached("REFUSED-BY-GUARD"),
                    "it ran, or its model does not know why it did not",
                ),
            ),
            (
                "rewrite",
                if lacks(Lack::Rewrites) {
                    instead(
                        "refused, with the input to repeat",
                        must(one.is_none() && reached("echo ONE"), "it ran unamended"),
                    )
                } else {
                    must(one.as_deref() == Some("ONE\n"), &format!("one.txt has {one:?}"))
                },
            ),
            (
                "context",
                if lacks(Lack::Context) {
                    instead(
                        "has no field for it",
                        must(!reached("HINT-OF-LINESIDE"), "its model has read it all the same"),
                    )
                } else {
                    must(reached("HINT-OF-LINESIDE"), "its model has not read it")
                },
            ),
            (
                "blocked stop",
                if lacks(Lack::Stops) {
                    Outcome::Instead("cannot be blocked")
                } else {
                    must(reached("NOT-YET-FINISHED"), "its agent was not kept working")
                },
            ),
            (
                "subagent",
                if lacks(Lack::Subagents) {
                    instead(
                        "as the session",
                        must(
                            self.is_kept() && self.text("sub.txt").is_some(),
                            "it did not work, or its command ran",
                        ),
                    )
                } else {
                    must(
                        self.is_kept() && self.text("sub.txt").is_some() && reached(session_hook::REASON),
                        "it did not work, or its command ran, or no hook of the session met it",
                    )
                },
            ),
        ]
    }

    /// What has to come of tests that fail after the last edit, when the agent has nothing more to do.
    fn red_tests(&self, log: &str) -> Result<Outcome> {
        let asked = self.play("edit", log)?;
        fs::remove_file(self.ground.project.join("red.txt")).context("the edit was not made")?;
        let is_heard = asked.iter().any(|request| request.contains("RED-TESTS"));
        Ok(match (self.program.lacks.contains(&Lack::Stops), is_heard) {
            (false, true) => Outcome::Holds,
            (true, false) => Outcome::Instead("cannot be blocked"),
            _ => Outcome::Fails("its model has not heard of them before it has ended".to_owned()),
        })
    }

    /// What has to come of it when the daemon is gone: the call starts another one, which decides.
    fn killed(&self, log: &str) -> Result<Outcome> {
        let asked = self.play("gate", log)?;
        let is_decided = asked.iter().any(|request| request.contains("REFUSED-BY-GUARD"));
        Ok(match (self.is_kept(), is_decided) {
            (true, true) => Outcome::Holds,
            (true, false) => Outcome::Fails("no other daemon has decided".to_owned()),
            (false, _) => Outcome::Fails("the command ran".to_owned()),
        })
    }

    /// What has to come of a dangerous command when something is wrong.
    fn gate(&self, log: &str) -> Result<Outcome> {
        self.play("gate", log)?;
        Ok(if self.is_kept() { Outcome::Holds } else { Outcome::Fails("the command ran".to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn all_that_run_a_program_are_ended_and_what_runs_another_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("program");
        assert!(Command::new("cp").arg("/bin/sleep").arg(&copy).status().unwrap().success());
        let begun = |program: &Path, time: &str| Command::new(program).arg(time).spawn().unwrap();
        let (mut other, mut own) =
            (begun(Path::new("/bin/sleep"), "600"), [(); 2].map(|()| begun(&copy, "5")));
        end_all_of(&copy);
        for own in &mut own {
            assert_eq!(own.wait().unwrap().signal(), Some(15));
        }
        assert!(other.try_wait().unwrap().is_none());
        other.kill().and_then(|()| other.wait()).unwrap();
    }
}
