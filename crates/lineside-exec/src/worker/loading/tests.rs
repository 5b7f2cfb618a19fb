//! How long a worker has until it is there, and what its handlers are known by.

use std::io;
use std::task::{Context, Poll};

use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_core::worker::{HookWorkerBounds, WorkerStart};

use super::*;
use crate::worker::WorkerListener;
use crate::worker::calls::Ending;
use crate::worker::transport::{Connecting, Output, Transport};

// OC-29, OC-73.
#[test]
fn handlers_are_known_by_their_place_among_those_of_the_same_hook() {
    let frame = json!({ "plugin": { "id": "p" }, "registrations": [
        { "kind": "hook", "handler": 4, "hook": "agent_end" },
        { "kind": "command", "name": "x" },
        { "kind": "hook", "hook": "before_install", "fires": false },
        { "kind": "hook", "handler": 5, "hook": "before_tool_call" },
        { "kind": "hook", "handler": 6, "hook": "agent_end" },
    ] });
    let key = |hook: &str, nth| HandlerKey { plugin: "p".to_owned(), hook: hook.to_owned(), nth };
    assert_eq!(
        handlers(frame.as_object().unwrap()),
        [(key("agent_end", 1), 4), (key("before_tool_call", 1), 5), (key("agent_end", 2), 6)]
    );
}

/// A worker that says nothing, and waits for a processor for this part of its time.
#[derive(Debug)]
struct Silent {
    since: Instant,
    percent: u32,
    killed: bool,
}

impl Connect for u32 {
    fn connect(&mut self) -> Connecting<'_> {
        let silent = Silent { since: Instant::now(), percent: *self, killed: false };
        Box::pin(async { Ok(Box::new(silent) as Box<dyn Transport>) })
    }
}

impl Transport for Silent {
    fn try_read(&mut self, _from: Output, _into: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn poll_readable(&mut self, _from: Output, _cx: &mut Context<'_>) -> Poll<()> {
        if self.killed { Poll::Ready(()) } else { Poll::Pending }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn poll_writable(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn close_input(&mut self) {}

    fn poll_gone(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        if self.killed { Poll::Ready(()) } else { Poll::Pending }
    }

    fn starved(&self) -> Duration {
        self.since.elapsed() * self.percent / 100
    }

    fn kill(&mut self) {
        self.killed = true;
    }

    fn is_deserted(&mut self) -> bool {
        self.killed
    }

    fn ending(&mut self, _why: Option<&'static str>) -> Ending {
        Ending { kind: FailureKind::Signal, why: "it was killed".to_owned() }
    }
}

/// After how many seconds a worker is given up that has this time, says nothing and waits for a processor for this part
/// of it.
async fn given_up_after(hello: Duration, percent: u32) -> u64 {
    let bounds = HookWorkerBounds { hello, ..HookWorkerBounds::default() };
    let profile = WorkerProfile::of_hooks(bounds, WorkerStart::Ahead);
    let mut log_sink = LogSink::new(WorkerListener::new(|_| {}));
    let began = Instant::now();
    let mut connect = percent;
    let error = bring_up(&profile, &mut connect, &mut Refused::default(), &mut log_sink).await.unwrap_err();
    assert!(
        matches!(error, StartWorkerError::Failed { why, .. } if why == format!("it said no hello within {hello:?}"))
    );
    began.elapsed().as_secs()
}

/// A hung worker is given up after its time, one that waits for a processor has that time in full; neither is waited for
/// without end.
#[tokio::test(start_paused = true)]
async fn what_a_start_waits_for_a_processor_is_not_counted() {
    for (time, percent, seconds) in [
        (5_000, 0, 5),
        (5_000, 50, 10),
        (5_000, 90, 15),
        (5_000, 100, 15),
        (500, 0, 0),
        (500, 90, 5),
        (500, 100, 10),
    ] {
        let given_up = given_up_after(Duration::from_millis(time), percent).await;
        assert_eq!(given_up, seconds, "{time} ms, {percent} %");
    }
}
