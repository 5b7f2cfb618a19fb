//! Bursts in virtual time, from the bus's point of view.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_automation::{Automations, HookId, HookJobSpec, HookJobs, Recording};
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Interceptor, Session};
use lineside_core::flow::{Debounce, Retries};
use lineside_core::hook::{Hook, Join, Standby};
use lineside_core::{Agent, AnyEvent, Failure, Outcome, Part, Response, SkipReason, Verdict};
use lineside_points::AfterToolBatch;
use lineside_points::parts::{ChangedFile, ToolCall};
use tokio::time::{Instant, sleep};

/// When it ran, and for which tools, files and turn.
type Ran = (u64, Vec<String>, Vec<String>, Option<u64>);

struct Lint {
    adopted: Arc<HookJobs>,
    began: Instant,
    ran: Arc<Mutex<Vec<Ran>>>,
}

impl Interceptor for Lint {
    fn intercept(&self, event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let event = event.typed::<AfterToolBatch>().unwrap();
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        let tools = event.tool_calls.iter().map(|call| call.tool_name.clone()).collect();
        let files = event.changed_files.iter().map(|file| file.path.clone()).collect();
        self.ran.lock().unwrap().push((ms, tools, files, event.envelope().turn));
        Box::pin(async { Ok(Verdict::Continue.into()) })
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        Some(Arc::clone(&self.adopted) as _)
    }
}

struct Scene {
    session: Session,
    ran: Arc<Mutex<Vec<Ran>>>,
}

async fn scene(join: Join) -> Scene {
    let bus = Bus::new();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let pace = Debounce { quiet: Duration::from_millis(100), at_most: Duration::from_millis(350) };
    let few = |event: &AnyEvent| {
        let files = event.payload_json()["changed_files"].as_array().map_or(0, Vec::len);
        (files == 0).then_some(SkipReason::Filter)
    };
    let hook = Hook::native("lint", Part::PostDecision).join(join);
    let adopted = Automations::of(&bus).unwrap().hook_jobs().adopt(HookJobSpec {
        id: HookId::in_memory("test", "lint"),
        recording: Recording::Memory,
        debounce: Some(pace),
        retry: Retries::default(),
        key: None,
        join,
        lane: hook.lane,
        last: Box::new(few),
        standby: Standby::Ready,
    });
    let run = Arc::new(Lint { adopted, began: Instant::now(), ran: Arc::clone(&ran) });
    let point = lineside_points::find("after_tool_batch").unwrap();
    bus.install("test", vec![Installed { point, hook, run }]).unwrap();
    Scene { session: bus.session("s").open().await.unwrap(), ran }
}

impl Scene {
    async fn publish(&self, tool: &str, file: Option<&str>, turn: u64) {
        self.publish_by(Agent::main("main"), tool, file, turn).await;
    }

    async fn publish_by(&self, agent: Agent, tool: &str, file: Option<&str>, turn: u64) {
        let calls = vec![ToolCall { tool_name: tool.to_owned(), ..ToolCall::default() }];
        let files = file.map(|path| ChangedFile { path: path.to_owned(), ..ChangedFile::default() });
        let batch = AfterToolBatch::new(calls, files.into_iter().collect::<Vec<_>>());
        let decision = self.session.event(batch).agent(agent).turn(turn).publish().await.unwrap();
        let outcome = &decision.receipt().unwrap().runs[0].outcome;
        assert_eq!(*outcome, Outcome::Skipped(SkipReason::Debounced));
    }

    fn ran(&self) -> Vec<Ran> {
        std::mem::take(&mut self.ran.lock().unwrap())
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

async fn pass(ms: u64) {
    sleep(Duration::from_millis(ms)).await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_becomes_one_run_with_its_lists_joined_and_the_last_envelope() {
    // CH-53, CH-54
    let scene = scene(Join::Background).await;
    scene.publish("Edit", Some("a.go"), 1).await;
    pass(60).await;
    scene.publish("Write", Some("b.go"), 2).await;
    pass(60).await;
    scene.publish("Edit", Some("a.go"), 3).await;
    pass(99).await;
    assert!(scene.ran().is_empty());
    pass(2).await;
    assert_eq!(scene.ran(), [(220, words(&["Edit", "Write", "Edit"]), words(&["b.go", "a.go"]), Some(3))]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_that_never_ends_runs_at_its_longest_wait() {
    // CH-53
    let scene = scene(Join::Background).await;
    for turn in 0..10 {
        scene.publish("Edit", Some("a.go"), turn).await;
        pass(50).await;
    }
    pass(300).await;
    let when: Vec<u64> = scene.ran().iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(when, [350, 550]);
}

#[tokio::test(start_paused = true)]
async fn each_agent_has_its_own_bursts() {
    // CH-53
    let scene = scene(Join::Background).await;
    scene.publish("Edit", Some("a.go"), 1).await;
    scene.publish_by(Agent::subagent("other"), "Edit", Some("b.go"), 1).await;
    pass(101).await;
    assert_eq!(scene.ran().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_burst_that_comes_to_nothing_does_not_run() {
    // CH-54
    let scene = scene(Join::Background).await;
    scene.publish("Read", None, 1).await;
    scene.publish("Read", None, 2).await;
    pass(200).await;
    assert!(scene.ran().is_empty());
    scene.session.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_collection_starts_a_joined_burst_at_once_and_leaves_a_background_one() {
    // CH-50
    for (join, ran) in [(Join::BeforeNextModel, 1), (Join::Background, 0)] {
        let scene = scene(join).await;
        scene.publish("Edit", Some("a.go"), 1).await;
        drop(scene.session.collect().before_next_model().await);
        assert_eq!(scene.ran().len(), ran);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_session_starts_what_is_held_and_waits_for_it() {
    // CH-60
    let scene = scene(Join::Background).await;
    scene.publish("Edit", Some("a.go"), 1).await;
    scene.session.close().await;
    assert_eq!(scene.ran().len(), 1);
    pass(200).await;
    assert!(scene.ran().is_empty(), "nothing runs twice");
}
