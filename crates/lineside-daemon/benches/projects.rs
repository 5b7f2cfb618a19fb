//! What projects cost: an event beside 1, 10 and 1,000 that are loaded, the memory of one, the first event of a session in a
//! trusted project of 500 hook folders beside the load of these folders alone, and a hook that is run from the copies of what
//! was trusted beside one of the user that is run where it is.
//!
//! `cargo bench -p lineside-daemon --bench projects` prints lines `RATIO name value target` and `FIGURE name value unit
//! target`, of medians of interleaved samples.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lineside::client::Session;
use lineside::dialects::{Places, Trust};
use lineside::json::json;
use lineside::prelude::*;
use lineside::trust::{Reach, Store};
use lineside::{Assembly, Bus, Client};
use lineside_daemon::{Server, Settings};
use tempfile::TempDir;
use tokio::runtime::Builder;

/// How many projects are loaded in each daemon, and how many hooks one has.
const LOADED: [usize; 3] = [1, 10, 1_000];
const HOOKS: usize = 20;

/// How many rounds of how many events, one daemon after another in each round.
const ROUNDS: usize = 30;
const EVENTS: usize = 300;

/// How many runs of a hook a round has.
const RUNS: usize = 20;

const FOLDERS: usize = 500;
const STARTS: usize = 7;

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        first_event().await;
        run_from_copies().await;
        beside_others().await;
    });
}

/// A daemon of its own, with what a user has that has no hooks.
struct Room {
    folder: TempDir,
    server: Option<Server>,
}

impl Room {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: None }
    }

    async fn serve(&mut self) -> Client {
        let folder = self.path();
        let (socket, state) = (folder.join("run/lineside.sock"), folder.join("state"));
        let settings = Settings::new(socket.clone(), state, self.places());
        self.server = Some(Server::start(settings).await.unwrap());
        Client::new(socket)
    }

    async fn end(self) {
        if let Some(server) = self.server {
            server.end().await;
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn places(&self) -> Places {
        let home = self.path().join("home").to_string_lossy().into_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        let environment = [("HOME".to_owned(), home), ("PATH".to_owned(), path)].into();
        Places { environment, project_root: None, cwd: "/".into(), trust: Trust::Withheld }
    }

    /// A project of these files, which is trusted.
    fn project(&self, name: &str, files: &[(String, String)]) -> PathBuf {
        let root = self.path().join(name);
        fs::create_dir_all(root.join(".git")).unwrap();
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let assembly = Assembly::new(Bus::new()).of_project(&root);
        let read = assembly.read_project(&root, &self.places(), None);
        let store = Store::of(&self.path().join("state"));
        store.trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
        root
    }
}

async fn session(client: &Client, root: &Path) -> Session {
    let root = root.to_str().unwrap();
    client.session(root.replace('/', "-")).cwd(root).open().await.unwrap()
}

/// An event that no hook of these projects is for.
async fn publish(session: &Session) {
    let call = BeforeTool::new("ReadFile", json!({"path": "src/lib.rs"}));
    assert!(!session.publish(call).await.unwrap().is_refused());
}

/// What the first event of a session takes in a trusted project beyond the load of its hooks alone.
async fn first_event() {
    let folders = hook_folders();
    let (mut trusted, mut loaded) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let mut room = Room::new();
        let root = room.project("project", &folders);
        let places = Places { project_root: Some(root.clone()), cwd: root.clone(), ..room.places() };
        let granted = Places { trust: Trust::Granted, ..places };
        let started = Instant::now();
        let report = Assembly::new(Bus::new()).load(&granted).await.unwrap();
        loaded.push(started.elapsed());
        assert_eq!(report.hooks.len(), FOLDERS);
        let client = room.serve().await;
        let started = Instant::now();
        let session = session(&client, &root).await;
        publish(&session).await;
        trusted.push(started.elapsed());
        drop(session);
        room.end().await;
    }
    let beyond = median(&mut trusted).saturating_sub(median(&mut loaded));
    println!(
        "FIGURE projects/first_event_beside_500_trusted_folders {:.1} ms_beyond_loading_them <=60",
        beyond.as_secs_f64() * 1e3
    );
}

/// What a hook takes that is run from the copies, beside the same one run where it is.
async fn run_from_copies() {
    let script = "#!/bin/sh\nexit 0\n".to_owned();
    let hooks =
        |file: &str| format!("hooks:\n  - {{name: guard, on: before_tool, command: [/bin/sh, {file}]}}\n");
    let (mut direct, mut copied) = (Room::new(), Room::new());
    let file = direct.path().join("guard.sh");
    fs::write(&file, &script).unwrap();
    let settings = direct.path().join("home/.config/lineside");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("hooks.yaml"), hooks(file.to_str().unwrap())).unwrap();
    let plain = direct.path().join("project");
    fs::create_dir(&plain).unwrap();
    let files = [(".lineside/hooks.yaml".to_owned(), hooks("guard.sh")), ("guard.sh".to_owned(), script)];
    let root = copied.project("project", &files);
    let (of_direct, of_copied) = (direct.serve().await, copied.serve().await);
    let sessions = [session(&of_direct, &plain).await, session(&of_copied, &root).await];
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (samples, session) in samples.iter_mut().zip(&sessions) {
            let started = Instant::now();
            for _ in 0..RUNS {
                publish(session).await;
            }
            samples.push(started.elapsed());
        }
    }
    let [direct_run, copied_run] = samples.each_mut().map(|samples| median(samples).as_secs_f64());
    println!(
        "RATIO projects/hook_run_from_a_copy_to_one_run_where_it_is {:.3} <=1.03",
        copied_run / direct_run
    );
    drop(sessions);
    direct.end().await;
    copied.end().await;
}

/// What an event takes, and what memory a project takes, beside others that are loaded.
async fn beside_others() {
    let mut rooms = Vec::new();
    for loaded in LOADED {
        let mut room = Room::new();
        let roots: Vec<_> = (0..loaded).map(|at| room.project(&format!("p{at}"), &own_file())).collect();
        let client = room.serve().await;
        // The first one brings what there is once.
        let first = session(&client, &roots[0]).await;
        publish(&first).await;
        let before = resident();
        let mut others = Vec::new();
        for root in &roots[1..] {
            others.push(session(&client, root).await);
        }
        let each = (resident() - before) / (loaded.max(2) as f64 - 1.0);
        if loaded == LOADED[2] {
            println!("FIGURE projects/memory_of_one_with_20_hooks_and_a_session {each:.0} KiB <=300");
        }
        rooms.push((room, first, others));
    }
    let mut samples = vec![Vec::new(); LOADED.len()];
    for _ in 0..ROUNDS {
        for (at, (_, first, _)) in rooms.iter().enumerate() {
            let started = Instant::now();
            for _ in 0..EVENTS {
                publish(first).await;
            }
            samples[at].push(started.elapsed());
        }
    }
    let medians: Vec<_> = samples.iter_mut().map(|samples| median(samples).as_secs_f64()).collect();
    for (at, loaded) in LOADED.into_iter().enumerate().skip(1) {
        println!("RATIO projects/event_beside_{loaded}_to_one {:.3} <=1.05", medians[at] / medians[0]);
    }
    for (room, first, others) in rooms {
        drop((first, others));
        room.end().await;
    }
}

fn own_file() -> Vec<(String, String)> {
    let hooks = (0..HOOKS).map(|at| {
        format!("  - {{name: guard-{at}, on: before_tool, match: {{tool: Shell}}, command: [./guard.sh]}}\n")
    });
    let hooks = format!("hooks:\n{}", hooks.collect::<String>());
    let guard = ("guard.sh".to_owned(), "#!/bin/sh\nexit 0\n".to_owned());
    vec![(".lineside/hooks.yaml".to_owned(), hooks), guard]
}

fn hook_folders() -> Vec<(String, String)> {
    let folder = |at: usize| {
        let front = format!(
            "---\nname: hook-{at}\ndescription: one of many\ntrigger: before_tool\nmatcher:\n  tool: Shell\n---\n"
        );
        let within = format!(".agents/hooks/hook-{at}");
        [
            (format!("{within}/HOOK.md"), front),
            (format!("{within}/scripts/run.sh"), "#!/bin/sh\nexit 0\n".to_owned()),
        ]
    };
    (0..FOLDERS).flat_map(folder).collect()
}

/// The memory of this process, in KiB.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}
