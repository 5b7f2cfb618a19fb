//! An ill-behaved hook: does the things that its arguments say, one after another.
//!
//! It is the one helper of the tests with real processes, and no part of the product.

use std::error::Error;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, getppid, kill_process, setpriority_process, setsid};

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
