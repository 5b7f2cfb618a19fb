//! What the guards of the standard policies cost: one usual command, from its event to the answer of every filter.
//!
//! Prints the median and the 99th percentile, and the median of each command; with `--quick` a tenth of the rounds.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_core::envelope::{Envelope, EventId, Source};
use lineside_core::json::json;
use lineside_core::{AnyEvent, Payload};
use lineside_dialects::native::Native;
use lineside_dialects::{Dialect, Places, Trust};
use lineside_points::BeforeTool;

/// Usual commands below 1 KiB.
const USUAL: [&str; 8] = [
    "ls -la src",
    "git status --short && git diff --stat",
    "cargo test -p core 2>&1 | tail -n 40",
    "rg -n 'fn main' --type rust | head -20",
    r#"cd frontend && npm run build 2>&1 | tail -n 20; git add -A && git commit -m "feat: say \"hello\" in $(date +%F)" && git push origin feature/hello"#,
    "for f in src/*.rs; do wc -l \"$f\"; done | sort -n | tail",
    "python3 - <<'E'\nimport json\nprint(json.load(open('a.json'))['b'])\nE",
    "find . -name '*.log' -mtime +7 -exec gzip {} +",
];

fn event(command: &str, number: u128) -> AnyEvent {
    let source =
        Source { project_root: Some("/proj".into()), cwd: Some("/proj".into()), ..Source::root("s") };
    let envelope = Envelope {
        id: EventId::from_u128(number),
        time: lineside_core::Timestamp::UNIX_EPOCH,
        seq: 1,
        source: Arc::new(source),
        cause: None,
        turn: None,
        extra: None,
    };
    let payload: Arc<dyn Payload> = Arc::new(BeforeTool::new("Bash", json!({ "command": command })));
    AnyEvent::new(envelope, payload)
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 2_000 } else { 20_000 };
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".config/lineside/hooks.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let all: Vec<&str> = lineside_policies::ALL.iter().map(|policy| policy.name).collect();
    std::fs::write(&file, format!("use: [{}]\n", all.join(", "))).unwrap();
    let places = Places {
        environment: [("HOME".to_owned(), home.path().display().to_string())].into(),
        project_root: None,
        cwd: home.path().to_owned(),
        trust: Trust::Withheld,
    };
    let began = Instant::now();
    let loaded = Native.load(&places);
    println!("{} hooks of {} policies, loaded in {:?}", loaded.hooks.len(), all.len(), began.elapsed());
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let mut took = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let event = event(USUAL[round % USUAL.len()], round as u128);
        let began = Instant::now();
        for found in &loaded.hooks {
            black_box(found.hook.select(&event));
        }
        took.push(began.elapsed());
    }
    for (number, command) in USUAL.iter().enumerate() {
        let own = took.iter().skip(number).step_by(USUAL.len()).copied().collect();
        println!("{:6.1} us  {}", part(own, 0.5), command.lines().next().unwrap_or_default());
    }
    println!("FIGURE guards/usual_p50 {:.1} us <=15", part(took.clone(), 0.5));
    println!("FIGURE guards/usual_p99 {:.1} us <=50", part(took, 0.99));
}

/// What so large a part of the calls took at most, in microseconds.
fn part(mut took: Vec<Duration>, part: f64) -> f64 {
    took.sort_unstable();
    took[((took.len() - 1) as f64 * part) as usize].as_nanos() as f64 / 1_000.0
}
