//! What publishing costs, each figure beside its baseline in the same run.
//!
//! The two sides of a ratio are measured in alternation, in rounds, and the medians of the rounds are compared: the
//! time of a machine under load says little, the ratio says much. Criterion measures the same functions for history.
//! Prints `RATIO name value target` and `FIGURE name value unit target` lines.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::convert::Infallible;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::time::Instant;

use criterion::Criterion;
use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::message::{Context, Message};
use lineside_bus::{Bus, Cx, Intercept, Session};
use lineside_core::json::{Value, json};
use lineside_core::{Event, Verdict};
use lineside_points::{BeforeTool, OnIdle};
use tokio::runtime::Runtime;

const ROUNDS: usize = 60;
const CALLS: u32 = 2_000;

/// Nanoseconds per call of two ways of doing something, medians over alternating rounds.
fn alternate(mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        times.0.push(time(&mut one));
        times.1.push(time(&mut other));
    }
    (median(&mut times.0), median(&mut times.1))
}

fn time(run: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        run();
    }
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// An event whose making costs nothing, so that only publishing it is measured.
fn light() -> BeforeTool {
    BeforeTool::new(String::new(), Value::Null)
}

fn open(bus: &Bus, runtime: &Runtime, id: &str) -> Session {
    runtime.block_on(bus.session(id.to_owned()).open()).unwrap()
}

/// Polls a future that is ready at once where it stands, as `.await` does, without a runtime's own cost.
macro_rules! now {
    ($future:expr) => {{
        let mut future = std::pin::pin!($future);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match future.as_mut().poll(&mut cx) {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => unreachable!("nothing here waits"),
        }
    }};
}

async fn nothing(payload: OnIdle) -> Result<OnIdle, Infallible> {
    Ok(black_box(payload))
}

fn empty_channel(runtime: &Runtime) {
    let bus = Bus::new();
    let session = open(&bus, runtime, "empty");
    let (publish, call) = alternate(
        || drop(black_box(now!(session.publish(black_box(OnIdle::new()))))),
        || {
            black_box(now!(nothing(black_box(OnIdle::new()))).ok());
        },
    );
    println!("FIGURE publish/nothing_registered {:.0} ns_above_an_empty_async_fn <=30", publish - call);
    let (publish, call) = alternate(
        || drop(black_box(now!(session.publish(black_box(light()))))),
        || drop(black_box(now!(std::future::ready(black_box(light()))))),
    );
    println!(
        "FIGURE publish/nothing_registered_before_tool {:.0} ns_above_an_empty_async_fn <=30",
        publish - call
    );
}

type Direct = Box<dyn Fn(&BeforeTool) -> Pin<Box<dyn Future<Output = Verdict> + Send>>>;

fn inline_gates(runtime: &Runtime, count: usize, target: &str) {
    let bus = Bus::new();
    let session = open(&bus, runtime, "gates");
    let mut direct: Vec<Direct> = Vec::new();
    for index in 0..count {
        let gate = async |call: Event<BeforeTool>, _cx: Cx| {
            if call.tool_name == "never" { Verdict::block("never") } else { Verdict::Continue }
        };
        session.intercept::<BeforeTool>(format!("gate {index}")).gate(gate).unwrap();
        direct.push(Box::new(|call| {
            let refused = call.tool_name == "never";
            Box::pin(async move { if refused { Verdict::block("never") } else { Verdict::Continue } })
        }));
    }
    let (publish, call) = alternate(
        || drop(black_box(now!(session.publish(light())).unwrap())),
        || {
            let event = light();
            for gate in &direct {
                drop(black_box(now!(gate(&event))));
            }
        },
    );
    println!(
        "FIGURE publish/{count}_inline_gates {:.0} ns_above_calling_the_same_closures <={target}",
        publish - call
    );
}

struct Policy;

impl Actor for Policy {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(policy: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(policy)
    }
}

struct Bare;

impl Message<Bare> for Policy {
    type Reply = Result<Verdict, Infallible>;

    async fn handle(&mut self, _: Bare, _: &mut Context<Self, Self::Reply>) -> Self::Reply {
        Ok(Verdict::Continue)
    }
}

impl Message<Intercept<BeforeTool>> for Policy {
    type Reply = Result<Verdict, Infallible>;

    async fn handle(&mut self, _: Intercept<BeforeTool>, _: &mut Context<Self, Self::Reply>) -> Self::Reply {
        Ok(Verdict::Continue)
    }
}

/// The two sides run as loops inside the runtime, in alternation.
async fn actor_gate() {
    let bus = Bus::new();
    let session = bus.session("actor").open().await.unwrap();
    let policy = Policy::spawn(Policy);
    session.intercept::<BeforeTool>("policy").actor(policy.clone()).unwrap();
    let mut publishing = Vec::new();
    let mut asking = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(session.publish(light()).await.unwrap().is_refused());
        }
        publishing.push(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(policy.ask(Bare).await.unwrap());
        }
        asking.push(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    let (publish, ask) = (median(&mut publishing), median(&mut asking));
    println!("FIGURE publish/1_actor_gate {publish:.0} ns -");
    println!("FIGURE kameo/bare_ask {ask:.0} ns -");
    println!("RATIO publish/1_actor_gate_to_a_bare_ask {:.2} <=1.5", publish / ask);
}

/// What one more observer adds, beside pushing the same reference into a bounded queue that is emptied.
async fn one_observer_more() {
    let bus = Bus::new();
    let session = bus.session("observers").open().await.unwrap();
    session.observe::<BeforeTool>("first").run(async |_| ()).unwrap();
    let more = bus.session("more").open().await.unwrap();
    for name in ["first", "second"] {
        more.observe::<BeforeTool>(name).run(async |_| ()).unwrap();
    }
    let (sender, mut receiver) = tokio::sync::mpsc::channel(256);
    let emptied = tokio::task::LocalSet::new();
    emptied
        .run_until(async move {
            tokio::task::spawn_local(async move { while receiver.recv().await.is_some() {} });
            let (mut one, mut two, mut push) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                for (times, session) in [(&mut one, &session), (&mut two, &more)] {
                    let mut spent = 0;
                    for _ in 0..CALLS / 100 {
                        let start = Instant::now();
                        for _ in 0..100 {
                            black_box(session.publish(light()).await.unwrap().is_refused());
                        }
                        spent += start.elapsed().as_nanos();
                        tokio::task::yield_now().await;
                        tokio::task::yield_now().await;
                    }
                    times.push(spent as f64 / f64::from(CALLS));
                }
                let item = std::sync::Arc::new(());
                let mut spent = 0;
                for _ in 0..CALLS / 100 {
                    let start = Instant::now();
                    for _ in 0..100 {
                        sender.try_send(std::sync::Arc::clone(&item)).ok();
                    }
                    spent += start.elapsed().as_nanos();
                    tokio::task::yield_now().await;
                }
                push.push(spent as f64 / f64::from(CALLS));
            }
            let (one, two, push) = (median(&mut one), median(&mut two), median(&mut push));
            println!("FIGURE publish/one_observer_more {:.0} ns_added -", two - one);
            println!("FIGURE tokio/bounded_push {push:.0} ns -");
            println!("RATIO publish/one_observer_more_to_a_bounded_push {:.2} <=1", (two - one) / push);
        })
        .await;
}

fn child_sessions(runtime: &Runtime) {
    const CHILDREN: usize = 10_000;
    let bus = Bus::new();
    let root = open(&bus, runtime, "root");
    root.intercept::<BeforeTool>("inherited").gate(async |_, _| Verdict::Continue).unwrap();
    let names: Vec<_> = (0..CHILDREN).map(|index| format!("child-{index}")).collect();
    let mut children = Vec::with_capacity(CHILDREN);
    let start = Instant::now();
    for name in names {
        children.push(root.subagent(name).open_now().unwrap());
    }
    let each = start.elapsed().as_nanos() as f64 / CHILDREN as f64 / 1000.0;
    println!("FIGURE sessions/opening_one {each:.2} us <=10");
    black_box(children);
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    empty_channel(&runtime);
    inline_gates(&runtime, 1, "250");
    inline_gates(&runtime, 10, "600");
    runtime.block_on(actor_gate());
    runtime.block_on(one_observer_more());
    child_sessions(&runtime);
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    history(&mut criterion, &runtime);
    criterion.final_summary();
}

/// The same in criterion, for comparing one day with another.
fn history(criterion: &mut Criterion, runtime: &Runtime) {
    let bus = Bus::new();
    let session = open(&bus, runtime, "history");
    criterion.bench_function("publish/nothing_registered", |bencher| {
        bencher.iter(|| now!(session.publish(light())));
    });
    session.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).unwrap();
    criterion
        .bench_function("publish/1_inline_gate", |bencher| bencher.iter(|| now!(session.publish(light()))));
    let json = json!({"command": "cargo test --workspace", "timeout_ms": 60_000});
    criterion.bench_function("publish/1_inline_gate_real_payload", |bencher| {
        bencher.iter(|| now!(session.publish(BeforeTool::new("Shell", json.clone()))));
    });
}
