//! `cargo xtask crash`: a programme with a journal is killed at random, again and again, and what it leaves is judged.
//!
//! When it is killed follows from a seed; what it is doing then is up to the machine. The programme and the judge are
//! `lineside-crash`: here is only who kills.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::paint::Ink;
use crate::programme::{FOR_A_BUILD, must, watch};
use crate::test::step::{Counts, Outcome};
use crate::workspace::Workspace;

mod command;
mod life;
mod schedule;

use command::Shop;
use life::{Fate, Program, Whilst};
use schedule::Schedule;

/// How often it is killed when nothing else is said: a minute on two slow cores.
const CYCLES: u32 = 200;

/// How often the command is killed as a step of the test: a few seconds.
const CYCLES_OF_COMMAND: u32 = 12;

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// A programme that uses the library.
    Programme,
    /// `lineside run --journal`.
    Command,
    /// `lineside serve`, with its clients.
    Daemon,
    /// The same, judged by what its decision log has.
    Log,
}

/// How often the daemon is killed when nothing else is said, and how often while its log is written as fast as it can be.
const CYCLES_OF_DAEMON: u32 = 50;
const CYCLES_OF_LOG: u32 = 100;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    victim: Victim,
    cycles: u32,
    /// Another one each time when it is not said.
    seed: Option<u64>,
}

impl Order {
    /// Reads `--command`, `--daemon` or `--log`, `--cycles N` and `--seed N`.
    pub(crate) fn read(arguments: &[&str]) -> Result<Self> {
        let (victim, arguments) = match arguments {
            ["--command", rest @ ..] => (Victim::Command, rest),
            ["--daemon", rest @ ..] => (Victim::Daemon, rest),
            ["--log", rest @ ..] => (Victim::Log, rest),
            all => (Victim::Programme, all),
        };
        let cycles = match victim {
            Victim::Programme | Victim::Command => CYCLES,
            Victim::Daemon => CYCLES_OF_DAEMON,
            Victim::Log => CYCLES_OF_LOG,
        };
        let mut order = Self { victim, cycles, seed: None };
        for pair in arguments.chunks(2) {
            let number = |text: &str| text.parse::<u64>().with_context(|| format!("`{text}` is no number"));
            match pair {
                ["--cycles", cycles] => order.cycles = u32::try_from(number(cycles)?)?,
                ["--seed", seed] if !matches!(victim, Victim::Daemon | Victim::Log) => {
                    order.seed = Some(number(seed)?);
                }
                _ => bail!("`crash` does not take `{}`; `cargo xtask` shows what it takes", pair.join(" ")),
            }
        }
        ensure!(order.cycles > 0, "without a cycle nothing is found out");
        Ok(order)
    }
}

/// Kills so often, and says what was found.
pub(crate) fn run(workspace: &Workspace, order: Order) -> Result<ExitCode> {
    let kept = match order.victim {
        Victim::Programme => kill(workspace, order)?,
        Victim::Command => kill_command(workspace, order)?,
        Victim::Daemon => kill_daemon(workspace, "daemon_kills", order)?,
        Victim::Log => kill_daemon(workspace, "log_kills", order)?,
    };
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The step of the test.
pub(crate) fn judge(workspace: &Workspace) -> Result<Outcome> {
    let mut counts = Counts::default();
    let programme = Order { victim: Victim::Programme, cycles: CYCLES, seed: None };
    let command = Order { victim: Victim::Command, cycles: CYCLES_OF_COMMAND, seed: None };
    for kept in [kill(workspace, programme)?, kill_command(workspace, command)?] {
        counts += if kept { Counts::ONE_PASSED } else { Counts::ONE_FAILED };
    }
    Ok(Outcome::Judged(counts))
}

/// Whether the daemon kept what the tests of a module say, over so many lives. That it is killed at another point of its work in each
/// is the tests' own affair; they are among the tests of the command, with fewer lives.
fn kill_daemon(workspace: &Workspace, module: &str, order: Order) -> Result<bool> {
    let test = ["test", "--quiet", "--package", "lineside-cli", "--test", "cli", module, "--", "--nocapture"];
    let ended = watch(workspace.cargo(test).env("LINESIDE_LIVES", order.cycles.to_string()), FOR_A_BUILD)?;
    Ok(ended.status.success())
}

/// Whether the command kept what its printed lines say.
fn kill_command(workspace: &Workspace, order: Order) -> Result<bool> {
    must(&mut workspace.cargo(["build", "--quiet", "--package", "lineside-cli"]), FOR_A_BUILD)?;
    let seed = order.seed.unwrap_or_else(schedule::seed);
    let folder = workspace.target.join("crash").join(format!("command-{seed}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    println!("the command: {} lives, seed {seed}", order.cycles);
    let shop = Shop::open(workspace.target.join("debug/lineside"), &folder)?;
    match shop.work(order.cycles, seed) {
        Ok(account) => {
            println!(
                "{} kills, {} decisions printed, {} acknowledged, {} dead letters",
                account.kills,
                account.printed,
                account.acknowledged(),
                account.dead
            );
            let ink = if account.violations.is_empty() { Ink::Green } else { Ink::Red };
            println!("{}", ink.on(format!("violations {}", account.violations.len())));
            if account.violations.is_empty() && account.acknowledged() > 0 {
                fs::remove_dir_all(&folder).context("cannot tidy up")?;
                return Ok(true);
            }
            for violation in &account.violations {
                println!("{} {violation}", Ink::Red.on("violation"));
            }
        }
        Err(error) => println!("{} {error:#}\n{}", Ink::Red.on("violation"), shop.complaints()),
    }
    println!("everything it has left is in {}", folder.display());
    println!(
        "again, with the same times:  cargo xtask crash --command --cycles {} --seed {seed}",
        order.cycles
    );
    Ok(false)
}

/// What the judge says.
#[derive(Deserialize)]
struct Judgement {
    figures: serde_json::Map<String, Value>,
    violations: Vec<String>,
}

/// Whether every promise was kept.
fn kill(workspace: &Workspace, order: Order) -> Result<bool> {
    must(&mut workspace.cargo(["build", "--quiet", "--package", "lineside-crash"]), FOR_A_BUILD)?;
    let seed = order.seed.unwrap_or_else(schedule::seed);
    let folder = workspace.target.join("crash").join(seed.to_string());
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    println!("{} cycles, seed {seed}", order.cycles);
    let program =
        Program { path: workspace.target.join("debug/lineside-crash"), folder: folder.clone(), seed };
    match cycles(&program, order.cycles) {
        Ok((judgement, kills)) => {
            tell(&judgement, order.cycles, kills);
            if judgement.violations.is_empty() {
                fs::remove_dir_all(&folder).context("cannot tidy up")?;
                return Ok(true);
            }
            for violation in &judgement.violations {
                println!("{} {violation}", Ink::Red.on("violation"));
            }
        }
        Err(error) => println!("{} {error:#}", Ink::Red.on("violation")),
    }
    println!("everything it has left is in {}", folder.display());
    println!("again, with the same kills:  cargo xtask crash --cycles {} --seed {seed}", order.cycles);
    println!("judge what is there again:   {} judge {}", program.path.display(), folder.display());
    Ok(false)
}

/// How often it was killed.
#[derive(Debug, Clone, Copy, Default)]
struct Kills {
    all: u32,
    /// While a snapshot was put in the place of records, or just after.
    compacting: u32,
}

/// Lives and deaths, and the life that brings everything to rest.
fn cycles(program: &Program, cycles: u32) -> Result<(Judgement, Kills)> {
    let mut kills = Kills::default();
    let mut life = 0;
    for strikes in Schedule::new(program.seed).take(cycles as usize) {
        for strike in strikes {
            life += 1;
            match program.live(life, strike)? {
                Fate::Killed(whilst) => {
                    kills.all += 1;
                    kills.compacting += u32::from(whilst == Whilst::Compacting);
                }
                Fate::EndedByItself(how) => {
                    bail!("life {life} ended by itself: {how}\n{}", program.complaints());
                }
            }
        }
    }
    program.drain(life + 1)?;
    Ok((program.judge()?, kills))
}

fn tell(judgement: &Judgement, cycles: u32, kills: Kills) {
    let figure = |name: &str| judgement.figures.get(name).and_then(Value::as_u64).unwrap_or_default();
    let violations = judgement.violations.len();
    println!(
        "{cycles} cycles, {} kills: {} before the journal was open, {} at a compaction",
        kills.all,
        figure("lives").saturating_sub(figure("opened")),
        kills.compacting
    );
    println!(
        "{} acknowledged (an event for one automation), {} jobs, {} runs, {} of which were killed",
        figure("acknowledged"),
        figure("jobs"),
        figure("runs"),
        figure("killed")
    );
    println!(
        "{} dead letters, {} messages accepted, {} files written",
        figure("dead"),
        figure("accepted"),
        figure("files")
    );
    let ink = if violations == 0 { Ink::Green } else { Ink::Red };
    println!("{}", ink.on(format!("violations {violations}")));
    if violations == 0 {
        // With no violation in n cycles, their rate is below 3/n with a probability of 95 %.
        let bound = 300.0 / f64::from(cycles);
        println!("95 % upper bound of the violations per cycle: 3/{cycles} = {bound:.2} %");
    }
}
