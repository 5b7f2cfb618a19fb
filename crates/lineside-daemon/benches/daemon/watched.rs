//! What publishers pay for a dashboard that is open, and what the daemon weighs for one that does not read.

use std::time::{Duration, Instant};

use lineside::Client;
use lineside::client::Session;
use lineside::json::Map;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::{Party, burst, publish};

/// How many agents the dashboard shows.
const AGENTS: usize = 2_000;
/// How many rounds of how many requests, with a dashboard and without one in turns: a round lasts for some of its frames.
const ROUNDS: usize = 20;
const REQUESTS: usize = 3_000;
/// For how long a dashboard does not read, unless `LINESIDE_BENCH_SECONDS` says otherwise.
const STALLS: u64 = 20;

/// Publishers with and without a dashboard, and a dashboard that stops reading.
pub(super) fn watched(runtime: &Runtime) {
    let room = tempfile::tempdir().unwrap();
    let daemon = Party::start("daemon", room.path());
    let client = Client::new(room.path().join("run/lineside.sock"));
    let (sessions, browser) = runtime.block_on(async {
        let mut sessions = Vec::new();
        for number in 0..AGENTS {
            sessions.push(client.session(format!("agent-{number}")).open().await.unwrap());
        }
        (sessions, Browser::of(&client).await)
    });
    beside(runtime, &browser, &sessions);
    stalled(runtime, &daemon, &browser, &sessions);
}

fn beside(runtime: &Runtime, browser: &Browser, sessions: &[Session]) {
    let mut rounds = [Vec::new(), Vec::new()];
    let mut next = sessions.iter().cycle();
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            for (is_watched, rounds) in rounds.iter_mut().enumerate() {
                let reads = if is_watched == 1 { Some(browser.opened().await) } else { None };
                let mut samples = Vec::with_capacity(REQUESTS);
                for session in next.by_ref().take(REQUESTS) {
                    let begun = Instant::now();
                    publish(session).await;
                    samples.push(begun.elapsed());
                }
                if let Some(reads) = reads {
                    assert!(!reads.is_finished(), "the stream has ended");
                    reads.abort();
                }
                samples.sort_unstable();
                rounds.push([50, 99].map(|share| samples[samples.len() * share / 100]));
            }
        }
    });
    // The medians of the rounds: what else the machine does falls into some of them.
    let [alone, watched] = rounds
        .map(|rounds| [0, 1].map(|share| super::median(rounds.iter().map(|round| round[share]).collect())));
    println!("FIGURE daemon/publish_beside_a_dashboard {:.1} us -", watched[0] * 1e6);
    println!("RATIO daemon/publish_beside_a_dashboard/alone {:.2} <=1.05", watched[0] / alone[0]);
    println!("RATIO daemon/publish_beside_a_dashboard_p99/alone {:.2} <=1.1", watched[1] / alone[1]);
}

fn stalled(runtime: &Runtime, daemon: &Party, browser: &Browser, sessions: &[Session]) {
    let seconds = std::env::var("LINESIDE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(STALLS));
    let work = async |line: usize, until: Instant| {
        let own: Vec<&Session> = sessions.iter().skip(line).step_by(64).collect();
        let mut count = 0;
        while Instant::now() < until {
            for session in &own {
                publish(session).await;
                count += 1;
            }
        }
        count
    };
    // Whatever remembers the last of something is full after this.
    let until = Instant::now() + time;
    runtime.block_on(burst(|line| work(line, until)));
    let empty = daemon.resident();
    let until = Instant::now() + time;
    runtime.block_on(burst(|line| work(line, until)));
    let before = daemon.resident();
    let mut frames = runtime.block_on(browser.frames());
    let until = Instant::now() + time;
    let events = runtime.block_on(burst(|line| work(line, until)));
    let after = daemon.resident();
    println!(
        "FIGURE daemon/events_beside_a_stalled_dashboard {:.0} per_second -",
        events as f64 / time.as_secs_f64()
    );
    println!(
        "FIGURE daemon/growth_beside_a_stalled_dashboard {:.1} MiB <=8",
        (after as f64 - before as f64) / 1024.0
    );
    println!("FIGURE daemon/growth_without_a_dashboard {:.1} MiB -", (before as f64 - empty as f64) / 1024.0);
    let mut begun = [0; 4];
    runtime.block_on(frames.read_exact(&mut begun)).unwrap();
    assert_eq!(&begun, b"HTTP");
}

/// A browser of a person.
struct Browser {
    address: String,
    cookie: String,
}

impl Browser {
    async fn of(client: &Client) -> Self {
        let invited: Map = client.post("/v1/dashboard", &Map::new()).await.unwrap();
        let url = invited["url"].as_str().map(str::to_owned).unwrap();
        let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut browser = Self { address: address.to_owned(), cookie: String::new() };
        let mut answer = String::new();
        let mut stream = browser.asks(&format!("/{path}"), "close").await;
        stream.read_to_string(&mut answer).await.unwrap();
        let cookie = answer.split("set-cookie: ").nth(1).unwrap_or_else(|| panic!("{answer}"));
        browser.cookie = cookie.split(';').next().map(str::to_owned).unwrap();
        browser
    }

    async fn asks(&self, path: &str, connection: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\nconnection: {connection}\r\n\r\n",
            self.address, self.cookie
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    /// A page that has been shown everything, and reads on.
    async fn opened(&self) -> JoinHandle<()> {
        let mut frames = self.frames().await;
        let mut part = vec![0; 65_536];
        let mut seen = Vec::new();
        while !seen.ends_with(b"\n\n") || !seen.windows(5).any(|bytes| bytes == b"event") {
            let read = frames.read(&mut part).await.unwrap();
            assert!(read > 0, "the stream has ended");
            // Each piece of the body ends with a line of its own.
            seen.extend(part[..read].strip_suffix(b"\r\n").unwrap_or(&part[..read]));
        }
        tokio::spawn(async move { while frames.read(&mut part).await.is_ok_and(|read| read > 0) {} })
    }

    async fn frames(&self) -> TcpStream {
        self.asks("/dashboard/events", "keep-alive").await
    }
}
