//! What the machine costs: a job that is accepted, in time and in memory, and an event that is held.
//!
//! `cargo bench -p lineside-automation` prints lines `FIGURE name value unit target` and `RATIO name value target`, of
//! medians of interleaved rounds: what a noisy machine does to one of them it does to the others as well.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_automation::bursts::Bursts;
use lineside_automation::control::{Control, Rules};
use lineside_automation::machine::{Bounds, Effect, Ended, Input, Machine, Occurrence};
use lineside_automation::offered::Offered;
use lineside_automation::report::Report;
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::Timestamp;
use lineside_core::flow::Debounce;
use lineside_core::{AnyEvent, Envelope, EventId, Point as _, Source};
use lineside_points::OnPermissionDenied;

const EVENTS: u64 = 1_000_000;
const KEYS: u64 = 10_000;
const WINDOWS: u64 = 1_000;
const ROUNDS: usize = 5;

fn main() {
    // `--quick` measures each once.
    let rounds = if std::env::args().any(|argument| argument == "--quick") { 1 } else { ROUNDS };
    enqueue(rounds);
    debounce(rounds);
}

/// Events as the bus has them, with so many different tools.
fn events(tools: u64) -> Vec<Offered> {
    let sources: Vec<Arc<Source>> =
        (0..100).map(|n| Arc::new(Source::root(format!("session {n}")))).collect();
    (0..EVENTS)
        .map(|number| {
            let envelope = Envelope {
                id: EventId::from_u128(u128::from(number)),
                time: Timestamp::UNIX_EPOCH,
                seq: number,
                source: Arc::clone(&sources[(number % 100) as usize]),
                cause: None,
                turn: None,
                extra: None,
            };
            let payload = OnPermissionDenied::new(format!("tool {}", number % tools));
            Offered::from(AnyEvent::new(envelope, Arc::new(payload)))
        })
        .collect()
}

fn machine(control: &Control) -> (Machine<Offered>, Arc<str>) {
    let rules: Arc<Rules> = Arc::new(control.check(OnPermissionDenied::INFO, &[]).unwrap());
    let id: Arc<str> = Arc::from("bench");
    let mut machine = Machine::new(Bounds::default());
    drop(machine.step(UnixMicros(0), Input::Registered(Arc::clone(&id), rules)));
    (machine, id)
}

fn enqueue(rounds: usize) {
    let events = events(KEYS);
    let control = Control { concurrency: Some("lint:{payload.tool_name}".to_owned()), ..Control::default() };
    let (mut accepted, mut ended, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut machine, id) = machine(&control);
        let mut runs = Vec::new();
        let before = resident();
        let began = Instant::now();
        for (number, event) in events.iter().enumerate() {
            let effects =
                machine.step(UnixMicros(number as u64), Input::Offered(Arc::clone(&id), event.clone()));
            take(effects, &mut runs);
        }
        accepted.push(began.elapsed());
        bytes.push(resident().saturating_sub(before) / EVENTS);
        let began = Instant::now();
        let mut now = EVENTS;
        while let Some((job, fence)) = runs.pop() {
            now += 1;
            let ending = Ended::With(Ok(Report::success("ok")));
            take(machine.step(UnixMicros(now), Input::Ended(job, fence, ending)), &mut runs);
        }
        ended.push(began.elapsed());
        assert_eq!(machine.live(), 0);
    }
    // Later rounds take what the earlier ones gave back to the allocator.
    let most = bytes.iter().max().unwrap();
    println!("FIGURE enqueue {} ns <=3000", per_event(median(&mut accepted)));
    println!("FIGURE enqueue/run_and_end {} ns -", per_event(median(&mut ended)));
    println!("FIGURE enqueue/memory {} bytes_per_job <=512", most);
}

type Runs = Vec<(lineside_automation::JobId, lineside_automation::machine::job::Fence)>;

fn take(effects: Vec<Effect<Offered>>, runs: &mut Runs) {
    for effect in effects {
        if let Effect::Start(run) = effect {
            runs.push((run.job, run.fence));
        }
    }
}

fn debounce(rounds: usize) {
    let events = events(WINDOWS);
    let pace = Debounce::quiet(Duration::from_secs(60)).at_most(Duration::from_secs(600));
    let control = Control {
        debounce: Some(pace),
        hold_key: Some("{payload.tool_name}".to_owned()),
        ..Control::default()
    };
    let template = control.check(OnPermissionDenied::INFO, &[]).unwrap().hold_key;
    let (mut inserts, mut bursts, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        let mut map: HashMap<EventId, Offered> = HashMap::new();
        for event in &events {
            map.insert(event.id(), event.clone());
        }
        inserts.push(began.elapsed());
        drop(black_box(map));

        let began = Instant::now();
        let mut held: Bursts<Arc<str>, Offered, UnixMicros> = Bursts::new(pace);
        let mut key = String::new();
        for (number, event) in events.iter().enumerate() {
            key.clear();
            event.render(&template, &mut key);
            held.push_with(&*key, || Arc::from(&*key), UnixMicros(number as u64), |_| event.clone());
        }
        bursts.push(began.elapsed());
        drop(black_box(held));

        let (mut machine, id) = machine(&control);
        let began = Instant::now();
        for (number, event) in events.iter().enumerate() {
            black_box(
                machine.step(UnixMicros(number as u64), Input::Offered(Arc::clone(&id), event.clone())),
            );
        }
        steps.push(began.elapsed());
        assert_eq!(machine.live() as u64, WINDOWS);
    }
    let (insert, burst, step) = (median(&mut inserts), median(&mut bursts), median(&mut steps));
    let ratio = |time: Duration| time.as_secs_f64() / insert.as_secs_f64();
    println!("FIGURE debounce/insert {} ns -", per_event(insert));
    println!("FIGURE debounce/step {} ns <=3000", per_event(step));
    println!("RATIO debounce/insert {:.2} <=2", ratio(step));
    println!("RATIO debounce/bursts_alone/insert {:.2} <=2", ratio(burst));
}

fn per_event(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap() / EVENTS
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// What the process has in memory.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}
