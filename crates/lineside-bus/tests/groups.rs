//! Gates of equal priority: running them at the same time decides as asking them one after the other does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, Installed, Interceptor};
use lineside_core::hook::Hook;
use lineside_core::json::json;
use lineside_core::{
    Amendment, Answer, AnyEvent, Failure, FailureKind, OnFailure, Part, Receipt, Response, Verdict,
};
use lineside_points::BeforeTool;

/// A gate that is asked, waits for so many turns of its task, and gives this.
struct Gives(Result<Answer, Failure>, usize);

impl Interceptor for Gives {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let Self(given, turns) = self;
        let (given, turns) = (given.clone(), *turns);
        Box::pin(async move {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            given.map(Response::from)
        })
    }
}

fn failure(taken_as: Option<Verdict>) -> Result<Answer, Failure> {
    let taken_as = taken_as.map(|verdict| Box::new(verdict.into()));
    Err(Failure { taken_as, ..Failure::new(FailureKind::Exit, "exit status 1") })
}

async fn decided(priorities: [i32; 2], first: (&Result<Answer, Failure>, usize, OnFailure)) -> Arc<Receipt> {
    let point = lineside_points::find("before_tool").unwrap();
    let (given, turns, on_failure) = first;
    let gate = |name: &str, priority, on_failure, run: Gives| {
        let hook = Hook::native(name, Part::Gate).priority(priority).on_failure(on_failure);
        Installed { point, hook, run: Arc::new(run) }
    };
    let refuses = Gives(Ok(Verdict::block("the other refuses").into()), 1);
    let bus = Bus::new();
    let gates = vec![
        gate("first", priorities[0], on_failure, Gives(given.clone(), turns)),
        gate("other", priorities[1], OnFailure::Block, refuses),
    ];
    bus.install("test", gates).unwrap();
    let session = bus.session("s").open().await.unwrap();
    session.any_event(Arc::new(BeforeTool::new("Shell", json!({})))).publish_any().await.unwrap()
}

#[tokio::test]
async fn what_a_gate_is_taken_to_have_said_decides_whether_those_beside_it_are_cancelled() {
    let amends = Amendment::default().with("tool_input", json!({"n": 1}));
    let given = [
        Ok(Answer::default()),
        Ok(Verdict::block("the first refuses").into()),
        Ok(Answer { amendment: amends.clone(), ..Answer::default() }),
        failure(None),
        failure(Some(Verdict::Continue)),
        failure(Some(Verdict::ask("a person"))),
        failure(Some(Verdict::block("it is taken to refuse"))),
    ];
    for given in &given {
        for on_failure in [OnFailure::Block, OnFailure::Continue] {
            for turns in [0, 1, 3] {
                let together = decided([5, 5], (given, turns, on_failure)).await;
                let in_turn = decided([5, 4], (given, turns, on_failure)).await;
                assert_eq!(together.verdict, in_turn.verdict, "{given:?} {on_failure:?} {turns}");
                let skipped = |receipt: &Receipt| {
                    receipt.runs.iter().map(|run| run.outcome.has_run()).collect::<Vec<_>>()
                };
                assert_eq!(skipped(&together), skipped(&in_turn), "{given:?} {on_failure:?} {turns}");
            }
        }
    }
}
