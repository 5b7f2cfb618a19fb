//! When the timer of a call is armed that has not answered at once, and whether its task is woken for that.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use lineside_bus::interceptor::{BoxFuture, Latency};
use lineside_bus::{Bus, Cx, Installed, Interceptor};
use lineside_core::json::json;
use lineside_core::{AnyEvent, Failure, Hook, Part, Point, Response};
use lineside_points::BeforeTool;

/// Never answers.
struct Silent(Latency);

impl Interceptor for Silent {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(std::future::pending())
    }

    fn latency(&self) -> Latency {
        self.0
    }
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_something_outside_does_not_wake_its_task_and_is_out_of_time_all_the_same() {
    for (latency, wakes) in [(Latency::Short, 1), (Latency::Long, 0)] {
        let bus = Bus::new();
        let session = bus.session("s").open().await.unwrap();
        let hook = Hook::native("silent", Part::LoneGate).dialect("theirs").timeout(Duration::from_secs(3));
        let run = Arc::new(Silent(latency));
        session.of_dialect("theirs").attach(Installed { point: BeforeTool::INFO, hook, run }).unwrap();
        let mut publish = pin!(session.publish(BeforeTool::new("Shell", json!({}))));
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&woken));
        assert!(publish.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(woken.0.load(Ordering::Relaxed), wakes, "{latency:?}");
        assert!(publish.await.unwrap().is_refused(), "{latency:?}");
    }
}
