//! Which hooks an event meets: wherever and in whatever order they were registered, and however many there are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_bus::{Bus, Cx, Decision, Installed, Registration, Session};
use lineside_core::hook::{Hook, Layer, Part};
use lineside_core::json::{Map, Value, json};
use lineside_core::matcher::{MatcherDraft, tool};
use lineside_core::{AnyEvent, Failure, Outcome, Payload, PointInfo, Reach, Response, SkipReason, Verdict};
use lineside_points::{AfterToolBatch, BeforeStop, BeforeTool, Custom, ToolCall};
use proptest::prelude::*;

/// Polls a future that has nothing to wait for.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

fn publish(session: &Session, tool: &str) -> Decision<BeforeTool> {
    now(session.publish(BeforeTool::new(tool, json!({})))).unwrap()
}

fn ran<P: lineside_core::Point>(decision: &Decision<P>) -> Vec<String> {
    let Some(receipt) = decision.receipt() else { return Vec::new() };
    let runs = receipt.runs.iter().filter(|run| run.outcome.has_run());
    runs.map(|run| receipt.name(run.hook).to_owned()).collect()
}

/// Answers always the same.
struct Says(Verdict);

impl Interceptor for Says {
    fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(std::future::ready(Ok(self.0.clone().into())))
    }
}

fn gate(name: impl Into<Arc<str>>, verdict: Verdict) -> Installed {
    let point = lineside_points::find("before_tool").unwrap();
    Installed { point, hook: Hook::native(name, Part::Gate), run: Arc::new(Says(verdict)) }
}

#[test]
fn hooks_at_other_points_stay_when_those_at_one_are_taken_away() {
    let declare = |name| lineside_points::custom::declare(name, &[]).unwrap();
    let points = [
        lineside_points::find("before_tool").unwrap(),
        lineside_points::find("before_stop").unwrap(),
        declare("x.test.before_registry_b"),
        declare("x.test.before_registry_a"),
    ];
    for gone in 0..points.len() {
        let bus = Bus::new();
        let session = bus.session("s").open_now().unwrap();
        let attach = |point: &'static PointInfo| {
            bus.attach(Installed { point, ..gate(point.name, Verdict::Continue) }).unwrap()
        };
        let registrations: Vec<_> = points.into_iter().map(attach).collect();
        assert!(registrations[gone].remove());
        let mut there: Vec<_> = session.hooks().iter().map(|(point, _)| *point).collect();
        there.sort_unstable();
        let mut expected: Vec<_> = points.iter().map(|point| point.name).collect();
        expected.remove(gone);
        expected.sort_unstable();
        assert_eq!(there, expected);
        for point in points {
            let payload: Arc<dyn Payload> = match point.name {
                "before_tool" => Arc::new(BeforeTool::new("a", json!({}))),
                "before_stop" => Arc::new(BeforeStop::new(false)),
                _ => Arc::new(Custom::new(point, Map::default())),
            };
            let receipt = now(session.any_event(payload).publish_any()).unwrap();
            assert_eq!(receipt.runs.len(), usize::from(point.name != points[gone].name), "{}", point.name);
        }
    }
}

/// A bus whose hooks are for tools of their own, but for one.
fn for_tools() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s").open_now().unwrap();
    let register = |name: &str, priority, draft: Option<MatcherDraft>| {
        let hook = bus.intercept::<BeforeTool>(name.to_owned()).priority(priority);
        let hook = match draft {
            Some(draft) => hook.matching(draft),
            None => hook,
        };
        hook.gate(async |_, _| Verdict::Continue).unwrap();
    };
    register("for a", 5, Some(tool("a")));
    register("for all", 4, None);
    register("for a and b", 3, Some(tool("a").tool("b").tool("a")));
    register("for b", 2, Some(tool("b")));
    register("for some", 1, Some(tool("[ac]*")));
    (bus, session)
}

#[test]
fn hooks_for_other_tools_are_not_considered_and_known_when_asked() {
    let (_bus, session) = for_tools();
    let decision = publish(&session, "b");
    assert_eq!(ran(&decision), ["for all", "for a and b", "for b"]);
    let receipt = decision.receipt().unwrap();
    let considered: Vec<_> = receipt.hooks.iter().map(|hook| &*hook.name).collect();
    assert_eq!(considered, ["for all", "for a and b", "for b", "for some"]);
    assert_eq!(receipt.runs[3].outcome, Outcome::Skipped(SkipReason::Filter));
    let left_out: Vec<_> =
        receipt.left_out().iter().map(|(hook, why)| (hook.name.to_string(), *why)).collect();
    assert_eq!(left_out, [("for a".to_owned(), SkipReason::Filter)]);
    let json = receipt.to_json();
    let listed: Vec<_> = json["hooks"].as_array().unwrap().iter().map(|run| &run["hook"]).collect();
    assert_eq!(listed, ["for a", "for all", "for a and b", "for b", "for some"]);
    assert_eq!(json["hooks"][0], json!({"hook": "for a", "skipped": "filter"}));
    assert_eq!(ran(&publish(&session, "a")), ["for a", "for all", "for a and b", "for some"]);
    assert_eq!(ran(&publish(&session, "c")), ["for all", "for some"]);
    assert_eq!(ran(&publish(&session, "d")), ["for all"]);
    let all: Vec<_> = session.hooks().iter().map(|(_, hook)| hook.name.to_string()).collect();
    assert_eq!(all, ["for a", "for all", "for a and b", "for b", "for some"]);
}

#[test]
fn a_batch_meets_the_hooks_for_each_of_its_tools_once() {
    let bus = Bus::new();
    let session = bus.session("s").open_now().unwrap();
    for (name, draft) in [("a or b", tool("a").tool("b")), ("b", tool("b")), ("c", tool("c"))] {
        bus.intercept::<AfterToolBatch>(name).matching(draft).gate(async |_, _| Verdict::Continue).unwrap();
    }
    let call = |tool: &str| lineside_core::json::from_value::<ToolCall>(&json!({"tool_name": tool})).unwrap();
    let batch = AfterToolBatch::new(vec![call("a"), call("b"), call("a")], Vec::new());
    assert_eq!(ran(&now(session.publish(batch)).unwrap()), ["a or b", "b"]);
    let batch = AfterToolBatch::new(vec![call("d")], Vec::new());
    assert_eq!(ran(&now(session.publish(batch)).unwrap()), [""; 0]);
}

#[test]
fn a_call_of_a_class_meets_the_hooks_for_its_tool_and_for_its_class_once() {
    let bus = Bus::new();
    let session = bus.session("s").open_now().unwrap();
    for (name, draft) in [
        ("both", tool("Shell").tool("Bash")),
        ("class", tool("Shell")),
        ("tool", tool("Bash")),
        ("no", tool("x")),
    ] {
        bus.intercept::<BeforeTool>(name).matching(draft).gate(async |_, _| Verdict::Continue).unwrap();
    }
    let mut call = BeforeTool::new("Bash", json!({}));
    call.tool_class = Some("shell".to_owned());
    assert_eq!(ran(&now(session.publish(call)).unwrap()), ["both", "class", "tool"]);
    assert_eq!(ran(&publish(&session, "Bash")), ["both", "class", "tool"], "HO-13: the name has a class");
}

#[test]
fn there_may_be_as_many_hooks_at_a_point_as_one_likes() {
    for count in [65_535, 65_536, 65_537] {
        let bus = Bus::new();
        let session = bus.session("s").open_now().unwrap();
        let mut hooks: Vec<_> = (1..count).map(|n| gate(n.to_string(), Verdict::Continue)).collect();
        hooks.push(gate("last", Verdict::block("no")));
        bus.install("many", hooks).unwrap();
        let decision = publish(&session, "Shell");
        assert_eq!(decision.author().unwrap().name, "last".into());
        assert_eq!(decision.receipt().unwrap().runs.len(), count);
        // One more, on the session, is put among them.
        session.attach(gate("own", Verdict::stop("no"))).unwrap();
        assert!(publish(&session, "Shell").author().is_some_and(|hook| *hook.name == *"last"));
    }
}

#[test]
fn every_way_of_registering_gives_a_hook_the_layer_of_its_place() {
    let bus = Bus::new();
    let root = bus.session("root").open_now().unwrap();
    let session = root.subagent("child").open_now().unwrap();
    let installed = |name: &str| {
        let mut installed = gate(name, Verdict::Continue);
        installed.hook.dialect = "test";
        (installed.hook.layer, installed.hook.depth) = (Layer::Managed, 7);
        installed
    };
    session.attach(installed("attached")).unwrap();
    session.of_dialect("test").attach(installed("of its format")).unwrap();
    let typed = session.intercept::<BeforeTool>("typed").layer(Layer::Managed);
    typed.gate(async |_, _| Verdict::Continue).unwrap();
    for (_, hook) in session.hooks() {
        assert_eq!((hook.layer, hook.depth), (Layer::Session, 1), "{}", hook.name);
    }
    bus.attach(installed("attached")).unwrap();
    bus.of_dialect("test").attach(installed("of its format")).unwrap();
    bus.install("set", vec![installed("of a set")]).unwrap();
    let of_the_bus = root.hooks();
    assert_eq!(of_the_bus.len(), 3);
    for (_, hook) in of_the_bus {
        assert_eq!((hook.layer, hook.depth), (Layer::Managed, 0), "{}", hook.name);
    }
}

/// What happens to the hooks of a small tree of sessions.
#[derive(Debug, Clone)]
enum Change {
    Register { place: usize, priority: i32, layer: Layer, reach: Reach, tools: Vec<&'static str> },
    Remove(usize),
    Switch { place: usize, off: bool },
    Install { count: usize, tool: Option<&'static str> },
}

const TOOLS: [&str; 3] = ["a", "b", "c"];
/// The bus, a session, its child, and another child of the session.
const PLACES: usize = 4;

fn change() -> impl Strategy<Value = Change> {
    let layer = prop_oneof![Just(Layer::Managed), Just(Layer::User), Just(Layer::Session)];
    let reach = prop_oneof![3 => Just(Reach::Subtree), 1 => Just(Reach::Itself), 1 => Just(Reach::Children)];
    let tools = proptest::collection::vec(proptest::sample::select(&TOOLS[..]), 0..3);
    let register =
        (0..PLACES, -1..2, layer, reach, tools).prop_map(|(place, priority, layer, reach, tools)| {
            Change::Register { place, priority, layer, reach, tools }
        });
    prop_oneof![
        8 => register,
        2 => (0usize..64).prop_map(Change::Remove),
        1 => (0..PLACES, any::<bool>()).prop_map(|(place, off)| Change::Switch { place, off }),
        1 => (0usize..40, proptest::option::of(proptest::sample::select(&TOOLS[..])))
            .prop_map(|(count, tool)| Change::Install { count, tool }),
    ]
}

/// A hook, as the model knows it.
#[derive(Debug, Clone)]
struct Known {
    name: String,
    place: usize,
    order: (i32, Layer, usize, usize),
    reach: Reach,
    tools: Vec<&'static str>,
    installed: bool,
}

/// How far a session is below a place; `None` when it is not below it.
fn levels(place: usize, session: usize) -> Option<u32> {
    match (place, session) {
        (0, _) => Some(0),
        (a, b) if a == b => Some(0),
        (1, _) => Some(1),
        _ => None,
    }
}

/// The hooks that a session is under, in their order, as a list that is filtered and sorted says it.
fn expected(known: &[Known], off: &[bool; PLACES], session: usize, tool: &str) -> (Vec<String>, Vec<String>) {
    let mut under: Vec<_> = known
        .iter()
        .filter(|hook| levels(hook.place, session).is_some_and(|n| hook.place == 0 || hook.reach.covers(n)))
        .collect();
    under.sort_by_key(|hook| hook.order);
    let runs = |hook: &&&Known| !off[hook.place] && (hook.tools.is_empty() || hook.tools.contains(&tool));
    let names = |hooks: Vec<&&Known>| hooks.iter().map(|hook| hook.name.clone()).collect();
    (names(under.iter().collect()), names(under.iter().filter(runs).collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_event_meets_the_hooks_that_a_sorted_list_would_have(changes in proptest::collection::vec(change(), 1..60)) {
        let bus = Bus::new();
        let root = bus.session("root").open_now().unwrap();
        let children = ["one", "two"].map(|name| root.subagent(name).open_now().unwrap());
        let sessions = [&root, &children[0], &children[1]];
        let place = |place: usize| sessions[place - 1];
        let mut known: Vec<Known> = Vec::new();
        let mut handles: Vec<(String, Registration)> = Vec::new();
        let mut off = [false; PLACES];
        for (number, change) in changes.into_iter().enumerate() {
            match change {
                Change::Register { place: at, priority, layer, reach, tools } => {
                    let mut installed = gate(number.to_string(), Verdict::Continue);
                    let hook = &mut installed.hook;
                    (hook.dialect, hook.priority, hook.layer, hook.reach) = ("test", priority, layer, reach);
                    if !tools.is_empty() {
                        let draft = tools.iter().fold(MatcherDraft::default(), |draft, name| draft.tool(*name));
                        hook.select = Some(Arc::new(draft.compile().unwrap()));
                    }
                    let (layer, depth) = match at {
                        0 => (layer, 0),
                        1 => (Layer::Session, 0),
                        _ => (Layer::Session, 1),
                    };
                    let registration = match at {
                        0 => bus.attach(installed),
                        at => place(at).attach(installed),
                    };
                    handles.push((number.to_string(), registration.unwrap()));
                    known.push(Known {
                        name: number.to_string(), place: at, order: (-priority, layer, depth, known_next(&known)),
                        reach, tools, installed: false,
                    });
                }
                Change::Remove(which) => {
                    if !handles.is_empty() {
                        let (name, registration) = handles.swap_remove(which % handles.len());
                        prop_assert!(registration.remove());
                        prop_assert!(!registration.remove());
                        known.retain(|hook| hook.name != name);
                    }
                }
                Change::Switch { place: at, off: switched } => {
                    off[at] = switched;
                    let hooks = if at == 0 { bus.of_dialect("test") } else { place(at).of_dialect("test") };
                    if switched { hooks.switch_off() } else { hooks.switch_on() }
                }
                Change::Install { count, tool: only } => {
                    known.retain(|hook| !hook.installed);
                    let installed = (0..count).map(|n| {
                        let mut installed = gate(format!("{number}-{n}"), Verdict::Continue);
                        installed.hook.dialect = "test";
                        installed.hook.select = only.map(|only| -> Arc<dyn lineside_core::hook::Select> {
                            Arc::new(tool(only).compile().unwrap())
                        });
                        installed
                    });
                    bus.install("set", installed.collect()).unwrap();
                    for n in 0..count {
                        known.push(Known {
                            name: format!("{number}-{n}"), place: 0,
                            order: (0, Layer::Session, 0, known_next(&known)),
                            reach: Reach::Subtree, tools: only.into_iter().collect(), installed: true,
                        });
                    }
                }
            }
            for (index, session) in (1..).zip(sessions) {
                for tool in TOOLS {
                    let (all, running) = expected(&known, &off, index, tool);
                    let decision = publish(session, tool);
                    prop_assert_eq!(ran(&decision), running);
                    let listed: Vec<_> = session.hooks().iter().map(|(_, hook)| hook.name.to_string()).collect();
                    prop_assert_eq!(&listed, &all);
                    if let Some(receipt) = decision.receipt() {
                        let json = receipt.to_json();
                        let told: Vec<_> = json["hooks"].as_array().unwrap().iter().map(|run| run["hook"].clone()).collect();
                        prop_assert_eq!(told, all.into_iter().map(Value::from).collect::<Vec<_>>());
                    }
                }
            }
        }
        // Sessions that are under the same hooks have the same coverage, and only they.
        let lists = sessions.map(|session| session.hooks().iter().map(|(_, hook)| hook.registration).collect::<Vec<_>>());
        prop_assert_eq!(lists[1] == lists[2], children[0].coverage() == children[1].coverage());
    }
}

/// The number of the next registration.
fn known_next(known: &[Known]) -> usize {
    known.iter().map(|hook| hook.order.3).max().unwrap_or_default() + 1
}
