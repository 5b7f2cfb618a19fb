//! A private daemon with as many agents as one likes, to look at its dashboard: `fleet AGENTS EVENTS_A_SECOND [EVENTS]`.
//!
//! The agents are made up; the hooks, the decisions, the log and the questions for a person are real. It prints the address
//! of the dashboard, once for each line on its standard input, and ends with that. After so many events the agents rest, and
//! it prints `still`.

use std::error::Error;
use std::io::{BufRead as _, stdin};
use std::path::Path;

use lineside::automation::{Automate as _, Report};
use lineside::dialects::native::{ApprovalSettings, WhoseAsks};
use lineside::dialects::{Places, Trust};
use lineside::json::Map;
use lineside::prelude::*;
use lineside::{Bus, Client};
use lineside_daemon::{Server, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::{MissedTickBehavior, interval, sleep};

const HOSTS: [&str; 5] = ["claude-code", "codex", "gemini-cli", "opencode", "qwen-code"];
const PROJECTS: [&str; 6] = ["atlas", "billing", "compiler", "docs", "importer", "website"];
const ROLES: [&str; 5] = ["reviewer", "tester", "explorer", "writer", "planner"];
const COMMANDS: [&str; 9] = [
    "cargo test --workspace",
    "rg -n 'fn main' src",
    "git status --short",
    "npm run build",
    "rm -rf / --no-preserve-root",
    "ls -la target/debug",
    "python3 tools/import.py --dry-run",
    "git push origin main",
    "make -j4",
];

/// Calls that a person has to decide: the program, its session, the folder, the command.
const PUSHES: [(&str, &str, &str, &str); 3] = [
    ("claude", "billing-release", "billing", "git push origin main"),
    ("codex", "website-deploy", "website", "npm run build && git push --force-with-lease origin production"),
    ("claude", "docs-review", "docs", "git push --tags"),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let agents = arguments.next().transpose()?.unwrap_or(50);
    let rate = arguments.next().transpose()?.unwrap_or(40);
    let most = arguments.next().transpose()?.unwrap_or(usize::MAX);
    let folder = tempfile::tempdir()?;
    let places = Places {
        environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        project_root: None,
        cwd: folder.path().to_owned(),
        trust: Trust::Withheld,
    };
    let mut settings = Settings::new(folder.path().join("run/socket"), folder.path().join("state"), places);
    settings.approvals = Some(ApprovalSettings { of: WhoseAsks::All, ..ApprovalSettings::default() });
    let server = Server::start(settings).await?;
    hooks(server.bus())?;
    let sessions = open(server.bus(), agents).await?;
    let client = Client::new(server.socket());
    let questions = futures_util::future::try_join_all(PUSHES.map(|call| question(server.socket(), call)));
    let (asks, mut asked) = tokio::sync::mpsc::channel::<()>(1);
    std::thread::spawn(move || {
        for _line in stdin().lock().lines() {
            if asks.blocking_send(()).is_err() {
                return;
            }
        }
    });
    let asking = async {
        loop {
            let invited = client.post::<Map>("/v1/dashboard", &Map::new()).await?;
            println!("{}", invited.get("url").and_then(Value::as_str).unwrap_or_default());
            if asked.recv().await.is_none() {
                return Ok::<_, Box<dyn Error>>(());
            }
        }
    };
    tokio::select! {
        ended = asking => ended?,
        ended = live(&sessions, rate, most) => ended?,
        ended = answered(questions) => ended?,
    }
    server.end().await;
    Ok(())
}

/// The call of an agent program, whose question waits for a person.
async fn question(
    socket: &Path,
    (host, session, folder, command): (&str, &str, &str, &str),
) -> Result<(), Box<dyn Error>> {
    let call = json!({
        "session_id": session, "cwd": format!("/home/me/{folder}"), "hook_event_name": "PreToolUse",
        "tool_name": "Shell", "tool_input": {"command": command},
    });
    let call = call.to_string();
    let mut stream = UnixStream::connect(socket).await?;
    let head = format!(
        "POST /v1/hosts/{host} HTTP/1.1\r\nhost: lineside\r\nlineside-protocol: 1\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        call.len()
    );
    stream.write_all(&[head.as_bytes(), call.as_bytes()].concat()).await?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await?;
    if answer == *b"HTTP/1.1 200" { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into()) }
}

/// Ends when it fails, and not when all have been answered.
async fn answered<T>(
    questions: impl Future<Output = Result<T, Box<dyn Error>>>,
) -> Result<(), Box<dyn Error>> {
    questions.await?;
    std::future::pending().await
}

/// What all agents are under.
fn hooks(bus: &Bus) -> Result<(), Box<dyn Error>> {
    bus.intercept::<BeforeTool>("no-rm-rf").priority(900).matching(tool("Shell")).gate(async |call, _| {
        match call.command().as_deref() {
            Some(command) if command.contains("rm -rf /") => {
                Verdict::block("refuses to delete the root of the system")
            }
            _ => Verdict::Continue,
        }
    })?;
    bus.intercept::<BeforeTool>("push-needs-a-person")
        .matching(tool("Shell").text("git push"))
        .gate(async |_, _| Verdict::ask("a push leaves this machine; a person decides"))?;
    bus.intercept::<BeforeTool>("build-in-quiet").matching(tool("Shell").text("^make")).amend(
        async |call, _| {
            let command = call.command().unwrap_or_default().into_owned() + " --silent";
            Reply::amend(BeforeTool::amend().tool_input(json!({"command": command})))
        },
    )?;
    bus.intercept::<BeforeTool>("slow-scan")
        .matching(tool("Shell").text("import"))
        .on_failure(OnFailure::Continue)
        .timeout(millis(20))
        .gate(async |call, _| {
            let long =
                if call.command().is_some_and(|command| command.len().is_multiple_of(7)) { 50 } else { 4 };
            sleep(millis(long)).await;
            Verdict::Continue
        })?;
    bus.automate::<AfterTool>("lint").run(async |_, _| {
        sleep(millis(120)).await;
        Ok(Report::success("nothing to say"))
    })?;
    Ok(())
}

/// Trees of up to eight agents.
async fn open(bus: &Bus, agents: usize) -> Result<Vec<Session>, Box<dyn Error>> {
    let mut sessions: Vec<Session> = Vec::with_capacity(agents);
    for number in 0..agents {
        let tree = number / 8;
        let id = format!("{}-{number:04}", PROJECTS[tree % PROJECTS.len()]);
        let opening = match number % 8 {
            0 => bus.session(id).agent(Agent::main("main")),
            at => {
                let above = if at > 4 { sessions.len() - 3 } else { sessions.len() - at };
                sessions[above].subagent(id).agent(Agent::subagent(ROLES[number % ROLES.len()]))
            }
        };
        let root = format!("/home/me/{}", PROJECTS[tree % PROJECTS.len()]);
        sessions.push(opening.host(HOSTS[tree % HOSTS.len()]).project_root(root).open().await?);
    }
    Ok(sessions)
}

/// So many events of all agents at this rate, and then nothing, for as long as it is polled. Some agents are more careless than others, and one in
/// twenty does the same again and again.
async fn live(sessions: &[Session], rate: usize, most: usize) -> Result<(), Box<dyn Error>> {
    let mut ticks = interval(millis(10));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut number, mut owed, mut seed) = (0_usize, 0_f64, 7_u64);
    while number < most {
        ticks.tick().await;
        owed += rate as f64 / 100.0;
        let mut due = Vec::new();
        while owed >= 1.0 && number < most && !sessions.is_empty() {
            owed -= 1.0;
            number += 1;
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = usize::try_from(seed >> 33).unwrap_or_default();
            // A third of the agents is busy.
            let at = (random % sessions.len() / 3 * 3 + number / 4_000) % sessions.len();
            due.push(event(&sessions[at], at, random));
        }
        futures_util::future::try_join_all(due).await?;
    }
    println!("still");
    std::future::pending().await
}

async fn event(session: &Session, agent: usize, random: usize) -> Result<(), Box<dyn Error>> {
    let is_stubborn = agent % 60 == 21;
    let command = match (is_stubborn, random % 40) {
        (true, _) => COMMANDS[4],
        (_, 0) => COMMANDS[4],
        (_, 1) => COMMANDS[7],
        (_, other) => COMMANDS[[0, 1, 2, 3, 5, 6, 8][other % 7]],
    };
    let call = format!("call-{random}");
    let before = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await?;
    if !before.is_refused() && !random.is_multiple_of(13) {
        tokio::task::yield_now().await;
        let after = session.publish(AfterTool::new("Shell", format!("done: {call}"))).await?;
        assert!(!after.is_refused(), "no hook refuses a result");
    }
    Ok(())
}
