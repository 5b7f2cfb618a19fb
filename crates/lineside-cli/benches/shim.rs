//! What an agent program waits for at each of its steps: whole processes of `lineside hook claude` against a warm daemon,
//! in alternation with `/bin/true`; and with policies against without.
//!
//! The program is the one that `LINESIDE_SHIM` names, as `cargo xtask bench` builds it. Prints `RATIO` and `FIGURE` lines;
//! with `--quick` a tenth of the rounds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lineside::dialects::{Places, Trust};
use lineside::prelude::*;
use lineside_daemon::{Server, Settings};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// How often each process is started, and how often ten of them are.
const ROUNDS: usize = 2_000;
const ROUNDS_OF_TEN: usize = 300;
const TEN: usize = 10;
/// The most that the file may have, in KiB.
const MOST: u64 = 600;

/// As a host sends it.
const DOCUMENT: &str = r#"{"session_id":"3f6f0c1e-1f0a-4f6e-9a55-0a2d5c1f7b11","transcript_path":"/home/user/.claude/projects/p/3f6f0c1e.jsonl","cwd":"/home/user/project","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cargo test --workspace","description":"Run the tests of the workspace"},"tool_use_id":"toolu_01ABCDEF"}"#;

fn main() {
    let Some(shim) = std::env::var_os("LINESIDE_SHIM").map(PathBuf::from) else {
        println!("LINESIDE_SHIM names no program; `cargo xtask bench --only shim` builds one");
        return;
    };
    let quick = std::env::args().any(|argument| argument == "--quick");
    let of = |rounds: usize| if quick { rounds / 10 } else { rounds };
    let size = shim.metadata().unwrap().len().div_ceil(1024);
    println!("FIGURE shim/size {size} KiB <={MOST}");

    let house = House::new("");
    let hook = house.hook(&shim);
    compare("no-hooks", "1.3", of(ROUNDS), 1, [&nothing, &hook]);
    compare("ten-parallel", "1.5", of(ROUNDS_OF_TEN), TEN, [&nothing, &hook]);
    let guarded = House::new("use: [standard]\n");
    compare("standard-policies", "1.03", of(ROUNDS), 1, [&hook, &guarded.hook(&shim)]);
    guarded.close();
    house.close();

    let house = House::new("");
    for number in 0..TEN {
        let name = format!("gate-{number}");
        let gate = house.server.bus().intercept::<BeforeTool>(name).gate(async |call, _| {
            match call.command().as_deref() {
                Some(command) if command.contains("rm -rf /") => Verdict::block("refuses to delete /"),
                _ => Verdict::Continue,
            }
        });
        gate.unwrap();
    }
    compare("ten-gates", "1.5", of(ROUNDS), 1, [&nothing, &house.hook(&shim)]);
    house.close();
}

/// A daemon in folders of its own.
struct House {
    folder: TempDir,
    server: Server,
    /// On whose threads it runs.
    runtime: Runtime,
}

impl House {
    /// With this as the user's file of hooks.
    fn new(hooks: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().to_path_buf();
        let file = cwd.join(".config/lineside/hooks.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, hooks).unwrap();
        let environment = [("HOME".to_owned(), cwd.display().to_string())].into();
        let places = Places { environment, project_root: None, cwd: cwd.clone(), trust: Trust::Withheld };
        let settings = Settings::new(cwd.join("run/lineside.sock"), cwd.join("state"), places);
        let server = runtime.block_on(Server::start(settings)).unwrap();
        Self { folder, server, runtime }
    }

    fn hook(&self, shim: &Path) -> impl Fn() -> Command + use<> {
        let (shim, home) = (shim.to_owned(), self.folder.path().to_owned());
        move || {
            let mut command = Command::new(&shim);
            command.args(["hook", "claude", "--home"]).arg(&home).env_clear();
            command.arg("--socket").arg(home.join("run/lineside.sock"));
            command
        }
    }

    fn close(self) {
        self.runtime.block_on(self.server.end());
    }
}

fn nothing() -> Command {
    let mut command = Command::new("/bin/true");
    command.env_clear();
    command
}

/// Both in alternation, and the ratio of the second's median to that of the first.
fn compare(name: &str, target: &str, rounds: usize, at_once: usize, both: [&dyn Fn() -> Command; 2]) {
    let (mut own, mut other) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for round in 0..rounds + rounds / 10 {
        let pair = both.map(|command| time(at_once, command));
        // The first ones warm up.
        if round >= rounds / 10 {
            other.push(pair[0]);
            own.push(pair[1]);
        }
    }
    let (own, other) = (median(&mut own), median(&mut other));
    println!("RATIO shim/{name} {:.3} <={target}", own.as_secs_f64() / other.as_secs_f64());
    println!("FIGURE shim/{name}/time {:.0} us -", own.as_secs_f64() * 1e6);
    println!("FIGURE shim/{name}/against {:.0} us -", other.as_secs_f64() * 1e6);
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How long so many processes take from the start of the first to the end of the last.
fn time(at_once: usize, command: &dyn Fn() -> Command) -> Duration {
    let began = Instant::now();
    let started: Vec<Child> = (0..at_once).map(|_| start(command())).collect();
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    }
    began.elapsed()
}

/// Starts it with the document on its standard input, whether it reads that or not.
fn start(mut command: Command) -> Child {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(DOCUMENT.as_bytes()).unwrap();
    drop(writer);
    command.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}
