//! An event that is amended and waits, in any order: its hooks are those that it began with, each in its turn.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, Installed, Interceptor, Session};
use lineside_core::hook::{Hook, Select};
use lineside_core::json::{Map, Value, json};
use lineside_core::matcher::MatcherDraft;
use lineside_core::outcome::Round;
use lineside_core::{Amendment, Answer, AnyEvent, Failure, Part, Payload, PointInfo, Response, Run};
use lineside_points::{BeforeTool, Custom};

/// Gives the thread back a few times, then amends what it may.
struct Hooked {
    yields: usize,
    amendment: Amendment,
}

impl Interceptor for Hooked {
    fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        let (yields, amendment) = (self.yields, self.amendment.clone());
        Box::pin(async move {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            Ok(Answer { amendment, ..Answer::default() }.into())
        })
    }
}

fn select(tools: &[&str]) -> Option<Arc<dyn Select>> {
    let matcher = tools.iter().fold(MatcherDraft::default(), |draft, name| draft.tool(*name));
    (!tools.is_empty()).then(|| Arc::new(matcher.compile().unwrap()) as _)
}

/// Hooks for any tool and for one, on the bus and on the session; those at the places that are set wait.
fn open(point: &'static PointInfo, amendment: &Amendment, waiting: u32) -> Session {
    let bus = Bus::new();
    let session = bus.session("s").open_now().unwrap();
    let hook = |place: u32, name: &str, part, tools: &[&str]| {
        let amendment = if part == Part::Amender { amendment.clone() } else { Amendment::default() };
        let yields = usize::from(waiting & 1 << place != 0) * 3;
        let hook = Hook::native(name, part).priority(9 - i32::try_from(place).unwrap()).when(select(tools));
        Installed { point, hook, run: Arc::new(Hooked { yields, amendment }) }
    };
    let of_bus = vec![
        hook(0, "any 0", Part::Gate, &[]),
        hook(2, "named 2", Part::Amender, &["Bash"]),
        hook(4, "any 4", Part::Gate, &[]),
    ];
    bus.install("test", of_bus).unwrap();
    for (place, tools) in [(1, &["Bash"][..]), (3, &["Bash", "Shell"]), (5, &["Shell"])] {
        let part = Part::Gate;
        session.attach(hook(place, &format!("named {place}"), part, tools)).unwrap();
    }
    session
}

/// Which hooks have run, in the first round and again.
async fn runs(session: &Session, payload: Arc<dyn Payload>) -> (Vec<String>, Vec<String>) {
    let receipt = session.any_event(payload).publish_any().await.unwrap();
    let (first, again): (Vec<_>, Vec<_>) =
        receipt.runs.iter().filter(|run| run.outcome.has_run()).partition(|run| run.round == Round::First);
    let names =
        |runs: Vec<&Run>| runs.iter().map(|run| receipt.name(run.hook).to_owned()).collect::<Vec<_>>();
    (names(first), names(again))
}

#[tokio::test]
async fn an_event_that_waits_has_the_hooks_that_it_began_with() {
    let amendment = Amendment::default().with("tool_input", json!({"command": "Shell"}));
    let payload: Arc<dyn Payload> = Arc::new(BeforeTool::new("Bash", json!({"command": "rm"})));
    let point = payload.info();
    let at_once = runs(&open(point, &amendment, 0), Arc::clone(&payload)).await;
    let expected = ["any 0", "named 1", "named 2", "named 3", "any 4", "named 5"].map(str::to_owned);
    assert_eq!(at_once.0, expected, "`Bash` is of the class of `Shell`");
    assert_eq!(at_once.1, ["any 0", "named 1"]);
    for waiting in 1..1 << 6 {
        let waited = runs(&open(point, &amendment, waiting), Arc::clone(&payload)).await;
        assert_eq!(waited, at_once, "{waiting:06b}");
    }
}

/// A vendor may let hooks change of what class a call is; those that name a class are met by what it has become.
#[tokio::test]
async fn a_class_that_is_amended_is_met_by_its_hooks() {
    let point = lineside_points::custom::declare("x.test.before_class", &["tool_class"]).unwrap();
    let amendment = Amendment::default().with("tool_class", json!("shell"));
    let Value::Object(fields) = json!({"tool_name": "Bash", "tool_class": "read"}) else { panic!() };
    let payload = || -> Arc<dyn Payload> { Arc::new(Custom::new(point, Map::clone(&fields))) };
    let at_once = runs(&open(point, &amendment, 0), payload()).await;
    assert!(at_once.0.contains(&"named 5".to_owned()), "{at_once:?}");
    for waiting in 1..1 << 6 {
        assert_eq!(runs(&open(point, &amendment, waiting), payload()).await, at_once, "{waiting:06b}");
    }
}
