//! A session whose place is claimed: hooks of the sessions above can refuse its events, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, Installed, Interceptor, Session};
use lineside_core::hook::Hook;
use lineside_core::json::json;
use lineside_core::{
    AnyEvent, Failure, Judgement, Outcome, Part, Reply, Response, SkipReason, Strength, Verdict,
};
use lineside_points::{BeforeStop, BeforeTool};

/// A session, one below it whose place is claimed, and one below that.
async fn sessions(bus: &Bus) -> [Session; 3] {
    let above = bus.session("above").open().await.unwrap();
    let claimed = above.subagent("claimed").claimed().open().await.unwrap();
    let below = claimed.subagent("below").open().await.unwrap();
    [above, claimed, below]
}

fn call(command: &str) -> BeforeTool {
    BeforeTool::new("Shell", json!({"command": command}))
}

#[tokio::test]
async fn what_is_beyond_the_border_of_a_session_refuses_and_asks_there_and_opens_nothing() {
    let bus = Bus::new();
    let sessions = sessions(&bus).await;
    let gate = sessions[0].intercept::<BeforeTool>("judge").gate(async |call, _| {
        let verdict = match call.command().as_deref() {
            Some("rm") => Verdict::block("no"),
            Some("mv") => Verdict::ask("sure?"),
            _ => Verdict::allow_because("always"),
        };
        Judgement::from(verdict).append("listen")
    });
    gate.unwrap();
    for (session, opens) in sessions.iter().zip([true, false, false]) {
        let strengths = [("rm", Strength::Block), ("mv", Strength::Ask)];
        for (command, strength) in strengths {
            let decision = session.publish(call(command)).await.unwrap();
            assert_eq!(decision.verdict().strength(), strength, "{command}");
        }
        let decision = session.publish(call("ls")).await.unwrap();
        assert_eq!(decision.verdict().strength() == Strength::Allow, opens);
        let delivery = session.collect().ready();
        assert_eq!(!delivery.messages().is_empty(), opens, "{}", session.id());
    }
}

#[tokio::test]
async fn what_a_hook_beyond_the_border_would_change_is_refused_and_says_what_to_do() {
    let bus = Bus::new();
    let [above, claimed, below] = sessions(&bus).await;
    let amender =
        above.intercept::<BeforeTool>("rewrite").amend(async |call, _| match call.command().as_deref() {
            Some("ls") => Reply::amend(BeforeTool::amend().tool_input(json!({"command": "rm"}))),
            _ => Reply::amend(BeforeTool::amend().tool_input(call.tool_input.clone())),
        });
    amender.unwrap();
    let own = claimed.intercept::<BeforeTool>("own");
    own.priority(-1)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"n": 1}))))
        .unwrap();
    assert_eq!(above.publish(call("ls")).await.unwrap().into_payload().command().as_deref(), Some("rm"));
    for session in [claimed, below] {
        let decision = session.publish(call("ls")).await.unwrap();
        assert!(decision.is_refused());
        let reason = decision.reason().unwrap().as_str().to_owned();
        assert!(reason.contains("\"rewrite\"") && reason.contains("`lineside run`"), "{reason}");
        // What changes nothing refuses nothing, and hooks within the border have all their authority.
        let decision = session.publish(call("mv")).await.unwrap();
        assert_eq!(decision.into_payload().tool_input, json!({"n": 1}));
    }
}

struct Later;

impl Interceptor for Later {
    fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(async { Ok(Response::Verdict(Verdict::Continue)) })
    }
}

#[tokio::test]
async fn what_is_beyond_the_border_keeps_no_agent_working_and_is_not_started_in_the_background() {
    let bus = Bus::new();
    let [above, claimed, _below] = sessions(&bus).await;
    above.intercept::<BeforeStop>("on").gate(async |_, _| Verdict::block("go on")).unwrap();
    let point = lineside_points::find("before_stop").unwrap();
    for part in [Part::Detached, Part::PostDecision] {
        let hook = Hook::native("later", part).dialect("test").priority(1);
        above.of_dialect("test").attach(Installed { point, hook, run: Arc::new(Later) }).unwrap();
    }
    assert!(above.publish(BeforeStop::new(false)).await.unwrap().is_refused());
    let decision = claimed.publish(BeforeStop::new(false)).await.unwrap();
    assert!(!decision.is_refused());
    let runs = decision.receipt().unwrap().runs.iter();
    assert_eq!(runs.filter(|run| run.outcome == Outcome::Skipped(SkipReason::Unproven)).count(), 3);
}
