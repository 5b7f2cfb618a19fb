//! A daemon that is killed while its decision log is written as fast as agents publish: the store opens, what was committed
//! is there, what is not is the tail of what was answered, and the next daemon says how much that is.

use std::time::{Duration, Instant};

use lineside::Client;
use lineside::client::Session;
use lineside::core::Timestamp;
use lineside::log::{Look, Query};
use lineside::prelude::*;
use tokio::time::timeout;

use crate::daemon::Daemon;
use crate::stage::Stage;

/// How often it is killed, unless `LINESIDE_LIVES` says otherwise.
const LIVES: u64 = 5;

/// How many agents publish at once.
const AGENTS: u64 = 16;

/// When a life without an end has none: far beyond every deadline of what it does.
const HUNG: Duration = Duration::from_secs(120);

/// A guard that answers where the bus is.
const HOOKS: &str = "hooks:
  - {name: no-push, on: before_tool, match: {runs: {program: git, subcommand: push}}, verdict: block, reason: a person pushes}
";

/// The id of each event that was answered, in order, and when.
type Answered = Vec<(String, Instant)>;

async fn agent(session: Session) -> (String, Answered) {
    let mut answered = Answered::new();
    for number in 0_u64.. {
        let call = BeforeTool::new("Shell", json!({"command": format!("cargo test page_{number}")}));
        let Ok(decision) = session.publish(call).await else { break };
        answered.push((decision.id().unwrap().to_owned(), Instant::now()));
    }
    (session.id().to_string(), answered)
}

/// A number that looks like chance and is the same each time.
fn mixed(number: u64) -> u64 {
    let number =
        (number ^ (number >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number ^ (number >> 27)
}

/// What one kill has cost.
#[derive(Default)]
struct Cost {
    answered: usize,
    /// Answered, and not in the log.
    missing: u64,
    /// How many the next daemon says to be lost.
    told: u64,
    /// How long before the kill the oldest of them was answered.
    oldest: Duration,
}

impl Cost {
    /// Looks for what was answered: what is there is all of it up to a point of each session, in the order of the answers.
    fn of(look: &Look, answered: Vec<(String, Answered)>, killed: Instant) -> Self {
        let mut cost = Self::default();
        for (session, answered) in answered {
            let query = Query::parse(&format!("session:{session}"), Timestamp::UNIX_EPOCH).unwrap();
            let kept = look.decisions(&query, usize::MAX).unwrap();
            let kept: Vec<(String, u64)> = kept.iter().map(|it| (it.id.to_string(), it.seq)).collect();
            // The last one may have been decided and its answer not have come.
            assert!(kept.len() <= answered.len() + 1, "{session}: more than was published");
            for (index, ((id, seq), (wanted, _))) in kept.iter().zip(&answered).enumerate() {
                assert_eq!((id, *seq), (wanted, index as u64 + 1), "{session}: a gap before the tail");
            }
            let tail = answered.get(kept.len()..).unwrap_or_default();
            cost.answered += answered.len();
            cost.missing += tail.len() as u64;
            let oldest = tail.first().map(|(_, at)| killed.saturating_duration_since(*at));
            cost.oldest = cost.oldest.max(oldest.unwrap_or_default());
        }
        cost
    }
}

/// Has agents publish until so many events were answered, and kills the daemon in the middle of it.
async fn life(stage: &Stage, life: u64) -> (Vec<(String, Answered)>, Instant, f64) {
    let daemon = Daemon::start(stage);
    let client = Client::new(stage.path("home/.local/state/lineside/lineside.sock"));
    let project = stage.path("project").display().to_string();
    let mut sessions = Vec::new();
    for number in 0..AGENTS {
        let session = client.session(format!("life-{life}-{number}")).cwd(project.clone());
        sessions.push(session.open().await.unwrap());
    }
    let began = Instant::now();
    let agents: Vec<_> = sessions.into_iter().map(|session| tokio::spawn(agent(session))).collect();
    // At another point of the work of the writer each time; the agents are in the middle of theirs then.
    tokio::time::sleep(Duration::from_micros(400_000 + mixed(life) % 1_000_000)).await;
    let killed = Instant::now();
    daemon.kill();
    let mut answered = Vec::new();
    for agent in agents {
        answered.push(agent.await.unwrap());
    }
    let count: usize = answered.iter().map(|(_, answered)| answered.len()).sum();
    let rate = f64::from(u32::try_from(count).unwrap()) / killed.duration_since(began).as_secs_f64();
    (answered, killed, rate)
}

/// Waits until the daemon says in its status that records of the one before are lost. It reads the store beside its start.
async fn said(stage: &Stage) {
    while !stage.run(&["status", "--json"], "").out.contains("records of the run before") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_is_killed_while_it_writes_the_log_loses_its_tail_and_the_next_one_says_so() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", HOOKS);
    let lives = std::env::var("LINESIDE_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(LIVES);
    let file = stage.path("home/.local/state/lineside/log.sqlite");
    let (mut answered, mut missing, mut told, mut oldest, mut rates) = (0, 0, 0, Duration::ZERO, Vec::new());
    for number in 0..lives {
        let (all, killed, rate) = timeout(HUNG, life(&stage, number)).await.expect("a life has no end");
        rates.push(rate);
        let daemon = Daemon::start(&stage);
        let look = Look::open(&file).unwrap();
        let mut cost = Cost::of(&look, all, killed);
        assert!(cost.answered > 0, "nothing was published");
        if cost.missing > 0 {
            timeout(HUNG, said(&stage)).await.expect("nothing is said of what is missing");
        }
        cost.told = look.lost(&Query::default()).unwrap() - told;
        // What was decided and not answered is lost as well, and so is what the daemon itself had to say.
        assert!(cost.told <= cost.missing + 2 * AGENTS, "{} told, {} missing", cost.told, cost.missing);
        daemon.kill();
        answered += cost.answered;
        missing += cost.missing;
        told += cost.told;
        oldest = oldest.max(cost.oldest);
    }
    // What is said to be lost was counted a moment before the kill at the latest.
    assert!(2 * told >= missing, "{told} of {missing} are told");
    rates.sort_by(f64::total_cmp);
    println!(
        "{lives} kills, {answered} events answered, {:.0} a second; {missing} not in the log, {told} told, the oldest of \
         them answered {} ms before its kill",
        rates[rates.len() / 2],
        oldest.as_millis()
    );
}
