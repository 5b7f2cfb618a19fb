//! An ill-behaved hook: does the things that its arguments say, one after another.
//!
//! It is the one helper of the tests with real processes, and no part of the product.

use std::error::Error;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lineside_core::invocation::{Ended, Environment, Invocation, Limits, Program};
use lineside_exec::Runner;
use rustix::process::{
    Resource, Rlimit, Signal, getpid, getppid, getrlimit, kill_process, setpriority_process, setrlimit,
    setsid,
};

/// Tells a helper whose helper it is.
const PARENT: &str = "LINESIDE_MISBEHAVE_PARENT";

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let mut steps = std::env::args().skip(1);
    while let Some(step) = steps.next() {
        let mut value = || steps.next().ok_or("a step lacks its value");
        match step.as_str() {
            "say" => put(&mut io::stdout(), value()?.as_bytes())?,
            "complain" => put(&mut io::stderr(), value()?.as_bytes())?,
            "echo" => drop(io::copy(&mut io::stdin(), &mut io::stdout())?),
            "count" => put(&mut io::stdout(), read()?.to_string().as_bytes())?,
            "show" => {
                let shown = std::env::var(value()?).unwrap_or_else(|_| "-".to_owned());
                put(&mut io::stdout(), shown.as_bytes())?;
            }
            "show-all" => {
                for (name, value) in std::env::vars() {
                    put(&mut io::stdout(), format!("{name}={value}\n").as_bytes())?;
                }
            }
            "flood" => flood(&mut io::stdout(), value()?.parse()?)?,
            "flood-errors" => flood(&mut io::stderr(), value()?.parse()?)?,
            "touch" => std::fs::write(value()?, "")?,
            "await" => wait_for(Path::new(&value()?)),
            "await-orphaned" => {
                let parent: i32 = std::env::var(PARENT)?.parse()?;
                wait_until(|| getppid().is_none_or(|now| now.as_raw_nonzero().get() != parent));
            }
            "sleep" => wait_until(|| false),
            "stop" => kill_process(getpid(), Signal::STOP)?,
            "die" => {
                let signal = signal(&value()?)?;
                // The first SIGSEGV only takes away the handler of Rust's runtime.
                loop {
                    kill_process(getpid(), signal)?;
                }
            }
            "exit" => std::process::exit(value()?.parse()?),
            "leave-group" => drop(setsid()?),
            "be-nice" => setpriority_process(None, 19)?,
            "ignore-term" => return ignoring_term(steps),
            "take-mark-off" => return without_mark(steps),
            // Two processes, each of which does the same until the depth is 0, and all of them sleep.
            "bomb" => bomb(value()?.parse()?)?,
            // A process in a session of its own takes its place, again and again, until there is this file.
            "hydra" => return hydra(&value()?, steps),
            "allocate" => drop(std::hint::black_box(vec![1_u8; value()?.parse::<usize>()? << 20])),
            "open" => put(&mut io::stdout(), opened(value()?.parse()?).to_string().as_bytes())?,
            // Runs so many hooks that do what follows, each for so many milliseconds at most; says how each ended.
            "run-hooks" => return run_hooks(value()?.parse()?, value()?.parse()?, steps.collect()),
            // What follows is done by a helper that is left behind, with our pipes or without; `end` ends it.
            "helper" => helper(&mut steps, false)?,
            "quiet-helper" => helper(&mut steps, true)?,
            other => return Err(format!("unknown step {other}").into()),
        }
    }
    Ok(())
}

fn put(to: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

fn read() -> io::Result<usize> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)
}

fn flood(to: &mut dyn Write, mebibytes: usize) -> io::Result<()> {
    // Some of it is neither text nor harmless on a terminal.
    let block: Vec<u8> = b"\x1b[31m\xff\x00y\n".iter().copied().cycle().take(1 << 20).collect();
    for _ in 0..mebibytes {
        to.write_all(&block)?;
    }
    to.flush()
}

fn wait_for(path: &Path) {
    wait_until(|| path.exists());
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(name: &str) -> Result<Signal, String> {
    match name {
        "SEGV" => Ok(Signal::SEGV),
        "KILL" => Ok(Signal::KILL),
        "TERM" => Ok(Signal::TERM),
        "ABRT" => Ok(Signal::ABORT),
        other => Err(format!("unknown signal {other}")),
    }
}

/// An ignored signal stays ignored across `exec`; the shell is the way to ignore one without `unsafe`.
fn ignoring_term(steps: impl Iterator<Item = String>) -> Outcome {
    use std::os::unix::process::CommandExt;
    let line = "trap '' TERM; exec \"$@\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line, "sh"]).arg(std::env::current_exe()?).args(steps);
    Err(shell.exec().into())
}

fn without_mark(steps: impl Iterator<Item = String>) -> Outcome {
    use std::os::unix::process::CommandExt;
    let maximum = getrlimit(Resource::Locks).maximum;
    setrlimit(Resource::Locks, Rlimit { current: maximum, maximum })?;
    let mut again = Command::new(std::env::current_exe()?);
    Err(again.args(steps).env_remove("LINESIDE_RUN").exec().into())
}

fn bomb(depth: u32) -> Outcome {
    for _ in 0..2 {
        if depth > 0 {
            quiet(&["bomb", &(depth - 1).to_string(), "sleep"])?;
        }
    }
    Ok(())
}

fn hydra(until: &str, steps: impl Iterator<Item = String>) -> Outcome {
    setsid().ok();
    let steps: Vec<String> = steps.collect();
    for step in steps.chunks(2) {
        if let [step, path] = step
            && step == "touch"
        {
            std::fs::write(path, "")?;
        }
    }
    if !Path::new(until).exists() {
        quiet(&["hydra", until])?;
    }
    Ok(())
}

/// Starts another one of us, without pipes.
fn quiet(steps: &[&str]) -> Outcome {
    let mut other = Command::new(std::env::current_exe()?);
    other.args(steps).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    other.spawn()?;
    Ok(())
}

/// How many files could be opened.
fn opened(files: usize) -> usize {
    let open = |_| std::fs::File::open("/dev/null").ok();
    (0..files).map_while(open).collect::<Vec<_>>().len()
}

/// Is a program that runs hooks, to be killed or stopped itself.
fn run_hooks(hooks: usize, timeout: u64, steps: Vec<String>) -> Outcome {
    let mut argv = vec![std::env::current_exe()?.into_os_string()];
    argv.extend(steps.into_iter().map(Into::into));
    let invocation = Invocation {
        program: Program::argv(argv),
        stdin: Vec::new(),
        environment: Environment::default(),
        working_directory: None,
        files: Vec::new(),
        limits: Limits { timeout: Duration::from_millis(timeout), ..Limits::default() },
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let runner = Runner::new();
        let mut runs = tokio::task::JoinSet::new();
        for _ in 0..hooks {
            let (runner, invocation) = (runner.clone(), invocation.clone());
            runs.spawn(async move { runner.run(&invocation).await });
        }
        while let Some(ended) = runs.join_next().await {
            let Ended { exit, stdout, .. } = ended?;
            println!("{exit:?} {}", stdout.trimmed_text());
        }
        Ok(())
    })
}

fn helper(steps: &mut impl Iterator<Item = String>, quiet: bool) -> Outcome {
    let mut helper = Command::new(std::env::current_exe()?);
    helper.args(steps.take_while(|step| step != "end"));
    helper.env(PARENT, std::process::id().to_string());
    if quiet {
        helper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    }
    helper.spawn()?;
    Ok(())
}
