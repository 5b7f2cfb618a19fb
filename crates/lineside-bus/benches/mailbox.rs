//! What context costs: putting messages into a mailbox, collecting them, and making one text of them.
//!
//! Prints `FIGURE name value unit target` lines; criterion measures the same for history.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use criterion::{BatchSize, Criterion};
use lineside_bus::extension::DeferredMessage;
use lineside_bus::{Bus, Session};
use lineside_core::{Append, EventId};

const ROUNDS: usize = 400;
const MESSAGES: usize = 100;

/// A message of a usual length, about the length of a line that a linter writes.
const TEXT: &str =
    "error[E0308]: mismatched types in crates/lineside-bus/src/mailbox.rs:120:24: expected `usize`\n";

/// Puts so many messages into the mailbox.
fn fill(session: &Session, bus: &Bus) {
    for _ in 0..MESSAGES {
        let late = DeferredMessage {
            hook: "lint".into(),
            dialect: "native",
            point: "on_idle".into(),
            event: EventId::from_u128(0),
            seq: 0,
            id: None,
            append: Append::system(TEXT),
            keeps_working: false,
        };
        black_box(bus.deliver(session.id(), late).is_durable());
    }
}

fn collect(session: &Session) {
    assert_eq!(black_box(session.collect().ready().accept()).len(), MESSAGES);
}

/// The median of the times of `run`, in microseconds, with `before` outside the measure.
fn median(mut before: impl FnMut(), mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            before();
            let start = Instant::now();
            run();
            start.elapsed().as_nanos() as f64 / 1_000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let bus = Bus::new();
    let session = runtime.block_on(bus.session("s").open()).unwrap();
    let time = median(|| fill(&session, &bus), || collect(&session));
    println!("FIGURE mailbox/collect_with_100_waiting {time:.1} us <=50");
    let time = median(|| drop(session.collect().ready().accept()), || fill(&session, &bus));
    println!("FIGURE mailbox/100_appends {time:.1} us -");
    session.collect().ready().accept();
    fill(&session, &bus);
    let delivery = session.collect().ready();
    let time = median(|| (), || drop(black_box(delivery.text())));
    println!("FIGURE mailbox/one_text_of_100 {time:.1} us -");
    drop(delivery.accept());

    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    criterion.bench_function("mailbox/collect_with_100_waiting", |bencher| {
        bencher.iter_batched(|| fill(&session, &bus), |()| collect(&session), BatchSize::PerIteration);
    });
    criterion.final_summary();
}
