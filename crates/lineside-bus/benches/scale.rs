//! How cost grows with the number of hooks and of sessions: registering, publishing, and what a session takes.
//!
//! Each figure is of three sizes, so that its growth is seen; the target belongs to the greatest. Where work may be put
//! off to the first event, the figure holds that event, too. Prints `FIGURE name value unit target` lines.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_bus::{Bus, Cx, Installed, Session};
use lineside_core::hook::Hook;
use lineside_core::json::Value;
use lineside_core::matcher::tool;
use lineside_core::{AnyEvent, Failure, Part, Point as _, PointInfo, Response, Verdict};
use lineside_points::{BeforeTool, CATALOGUE};

/// Hooks on the bus under which the sessions with a hook of their own stand.
const BUS_HOOKS: usize = 1_000;
/// A figure is the median of this many rounds, or of as many as fit into [`PATIENCE`].
const ROUNDS: usize = 15;
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    // `--quick` measures each once.
    let rounds = if std::env::args().any(|argument| argument == "--quick") { 1 } else { ROUNDS };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    for (hooks, target) in [(10, "-"), (1_000, "-"), (10_000, "<=20")] {
        let time = median(rounds, || one_after_another(hooks));
        println!("FIGURE scale/register_{hooks} {:.3} ms_with_the_first_publish {target}", millis(time));
        let time = median(rounds, || in_a_batch(hooks));
        println!(
            "FIGURE scale/register_{hooks}_in_a_batch {:.3} ms_with_the_first_publish {target}",
            millis(time)
        );
    }
    for (hooks, target) in [(10, "-"), (1_000, "-"), (10_000, "<=100")] {
        let time = in_turns(rounds, hooks);
        println!("FIGURE scale/register_among_{hooks} {:.1} us_with_a_publish {target}", micros(time));
    }
    for (hooks, target) in [(10, "-"), (1_000, "<=1000"), (10_000, "<=1000")] {
        println!("FIGURE scale/publish_1_of_{hooks} {:.0} ns {target}", one_of(rounds, hooks));
    }
    for (sessions, target) in [(10, "-"), (1_000, "-"), (100_000, "<=1")] {
        let [first, all] = over_sessions(rounds, &plain_sessions(sessions));
        println!(
            "FIGURE scale/bus_hook_over_{sessions}_plain_sessions {:.3} ms_with_1_publish {target}",
            millis(first)
        );
        println!(
            "FIGURE scale/bus_hook_over_{sessions}_plain_sessions/all {:.3} ms_with_a_publish_each -",
            millis(all)
        );
    }
    for (sessions, time, bytes) in [(10, "-", "-"), (1_000, "-", "-"), (10_000, "<=30", "<=1536")] {
        let (bus, bytes_each) = sessions_with_a_hook(sessions);
        println!("FIGURE scale/session_with_a_hook_of_{sessions} {bytes_each} bytes_after_a_publish {bytes}");
        let [first, all] = over_sessions(rounds, &bus);
        println!(
            "FIGURE scale/bus_hook_over_{sessions}_sessions {:.3} ms_with_1_publish {time}",
            millis(first)
        );
        println!(
            "FIGURE scale/bus_hook_over_{sessions}_sessions/all {:.3} ms_with_a_publish_each -",
            millis(all)
        );
    }
}

/// A gate behind the trait, for what is installed rather than registered.
struct Passes;

impl Interceptor for Passes {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(std::future::ready(Ok(Response::from(Verdict::Continue))))
    }
}

/// A gate for one tool, which no other gate is for.
fn installed(number: usize, point: &'static PointInfo) -> Installed {
    let mut hook = Hook::native(format!("gate {number}"), Part::Gate);
    hook.select = Some(Arc::new(tool(format!("tool {number}")).compile().unwrap()));
    Installed { point, hook, run: Arc::new(Passes) }
}

fn call(number: usize) -> BeforeTool {
    BeforeTool::new(format!("tool {number}"), Value::Null)
}

fn publish(session: &Session, number: usize) {
    assert!(!black_box(now(session.publish(call(number)))).unwrap().is_refused());
}

/// Polls a future that is ready at once where it stands, without a runtime's own cost.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

fn register(bus: &Bus, number: usize) -> lineside_bus::Registration {
    let gate = bus.intercept::<BeforeTool>(format!("gate {number}")).matching(tool(format!("tool {number}")));
    gate.gate(async |_, _| Verdict::Continue).unwrap()
}

/// A bus with so many gates and one session.
fn bus_with(hooks: usize) -> (Bus, Session) {
    let bus = Bus::new();
    bus.install("gates", (0..hooks).map(|number| installed(number, BeforeTool::INFO)).collect()).unwrap();
    let session = bus.session("s").open_now().unwrap();
    (bus, session)
}

fn one_after_another(hooks: usize) -> Duration {
    let bus = Bus::new();
    let session = bus.session("s").open_now().unwrap();
    let began = Instant::now();
    for number in 0..hooks {
        register(&bus, number);
    }
    publish(&session, 0);
    began.elapsed()
}

fn in_a_batch(hooks: usize) -> Duration {
    let bus = Bus::new();
    let session = bus.session("s").open_now().unwrap();
    let began = Instant::now();
    let batch = (0..hooks).map(|number| installed(number, BeforeTool::INFO)).collect();
    bus.install("gates", batch).unwrap();
    publish(&session, 0);
    began.elapsed()
}

/// One hook more and an event, in turns, where so many hooks are there already.
fn in_turns(rounds: usize, hooks: usize) -> Duration {
    let (bus, session) = bus_with(hooks);
    publish(&session, 0);
    let mut number = hooks;
    median(rounds.max(9), || {
        let began = Instant::now();
        register(&bus, number);
        publish(&session, number);
        number += 1;
        began.elapsed()
    })
}

/// Nanoseconds for an event that one of so many hooks is for.
fn one_of(rounds: usize, hooks: usize) -> f64 {
    const CALLS: u32 = 200;
    let (_bus, session) = bus_with(hooks);
    publish(&session, hooks / 2);
    // Made outside of the measure: the row is about finding the hook, not about making the event.
    let round = median(rounds, || {
        let calls: Vec<BeforeTool> = (0..CALLS).map(|_| call(hooks / 2)).collect();
        let began = Instant::now();
        for call in calls {
            drop(black_box(now(session.publish(call)).unwrap()));
        }
        began.elapsed()
    });
    round.as_nanos() as f64 / f64::from(CALLS)
}

fn plain_sessions(count: usize) -> Bus {
    let bus = Bus::new();
    open(&bus, count);
    bus
}

fn open(bus: &Bus, count: usize) {
    for number in 0..count {
        bus.session(format!("session {number}")).open_now().unwrap();
    }
}

/// Sessions with a hook of their own under hooks of the bus at every point that has gates, and what one of them takes.
fn sessions_with_a_hook(count: usize) -> (Bus, i64) {
    let bus = Bus::new();
    let points: Vec<&'static PointInfo> =
        CATALOGUE.iter().copied().filter(|point| point.phase.may_intercept()).collect();
    let hooks = (0..BUS_HOOKS).map(|number| installed(number, points[number % points.len()])).collect();
    bus.install("gates", hooks).unwrap();
    let taken = allocation_counter::measure(|| {
        open(&bus, count);
        for session in sessions(&bus, count) {
            session.intercept::<BeforeTool>("own").gate(async |_, _| Verdict::Continue).unwrap();
            publish(&session, 0);
        }
    });
    (bus, taken.bytes_current / count as i64)
}

fn sessions(bus: &Bus, count: usize) -> impl Iterator<Item = Session> {
    (0..count).map(|number| bus.find(&format!("session {number}")).unwrap())
}

/// One hook more on the bus and the first event of one session, and of all.
fn over_sessions(rounds: usize, bus: &Bus) -> [Duration; 2] {
    let open = bus.sessions().len();
    let handles: Vec<Session> = sessions(bus, open).collect();
    let measure = |publishing: &[Session]| {
        median(rounds, || {
            let began = Instant::now();
            let registered = register(bus, BUS_HOOKS);
            for session in publishing {
                publish(session, BUS_HOOKS);
            }
            let took = began.elapsed();
            assert!(registered.remove());
            publish(&handles[0], BUS_HOOKS);
            took
        })
    };
    [measure(&handles[..1]), measure(&handles)]
}

fn median(rounds: usize, mut measure: impl FnMut() -> Duration) -> Duration {
    let began = Instant::now();
    let mut times = vec![measure()];
    while times.len() < rounds && began.elapsed() < PATIENCE {
        times.push(measure());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
