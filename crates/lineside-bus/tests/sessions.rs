//! The ends of sessions and of hooks: what a session takes with it, and what is dropped where.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "doubles/scripted.rs"]
mod scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_bus::{Bus, Installed, OpenSessionError, RegisterHookError, Session};
use lineside_core::hook::Hook;
use lineside_core::json::json;
use lineside_core::{Part, Reach, Source, Verdict};
use lineside_points::{AfterSubagent, BeforeTool};
use tokio::sync::Semaphore;

use scripted::scripted;

async fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    (bus, session)
}

fn call() -> BeforeTool {
    BeforeTool::new("Shell", json!({}))
}

#[tokio::test]
async fn a_second_close_does_not_touch_a_later_session_of_the_same_id() {
    let (bus, old) = session().await;
    old.close().await;
    let new = bus.session("s").open().await.unwrap();
    old.close().await;
    old.close_within(Duration::ZERO).await;
    assert!(bus.find("s").is_some_and(|found| found.is_open()));
    assert_eq!(bus.session("s").open().await.err(), Some(OpenSessionError::Taken("s".into())));
    bus.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no")).unwrap();
    assert!(new.publish(call()).await.unwrap().is_refused());
}

#[tokio::test]
async fn registering_on_a_closed_session_is_an_error() {
    let (bus, session) = session().await;
    let earlier = session.intercept::<BeforeTool>("earlier").gate(async |_, _| Verdict::Continue).unwrap();
    let child = session.subagent("child").open().await.unwrap();
    session.close().await;
    let closed = Some(RegisterHookError::Closed("s".into()));
    let gate = session.intercept::<BeforeTool>("late").gate(async |_, _| Verdict::block("no"));
    assert_eq!(gate.err(), closed);
    assert_eq!(session.observe::<BeforeTool>("late").run(async |_| ()).err(), closed);
    let installed = || Installed {
        point: lineside_points::find("before_tool").unwrap(),
        hook: Hook::native("late", Part::Gate).dialect("test"),
        run: scripted(async || ()),
    };
    assert_eq!(session.attach(installed()).err(), closed);
    assert_eq!(session.of_dialect("test").attach(installed()).err(), closed);
    // What its subagents inherit can still be taken away.
    assert!(child.hooks().iter().any(|(_, hook)| &*hook.name == "earlier"));
    assert!(earlier.remove());
    assert!(child.hooks().is_empty());
    drop(bus);
}

/// Calls the bus when it is dropped, as a value of a hook that cleans up behind itself might.
struct CallsWhenDropped {
    call: Box<dyn Fn() + Send + Sync>,
    dropped: Arc<AtomicUsize>,
}

impl Drop for CallsWhenDropped {
    fn drop(&mut self) {
        (self.call)();
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs something on a thread of its own; `None` when it has not ended after 20 s.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, ended) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        done.send(work())
    });
    ended.recv_timeout(Duration::from_secs(20)).ok()
}

/// Polls a future that has nothing to wait for.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).as_mut().poll(&mut cx) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn a_hook_may_call_the_bus_when_it_is_dropped() {
    type Make<'a> = &'a dyn Fn(&str) -> Installed;
    type End = fn(&Bus, &Session, Make<'_>);
    let ends: [(&str, End); 6] = [
        ("removed", |_, session, _| assert_eq!(session.remove("hook"), 1)),
        ("removed from the bus", |bus, _, _| assert_eq!(bus.remove("hook of the bus"), 1)),
        ("replaced", |bus, _, _| bus.install("set", Vec::new()).unwrap()),
        ("closed", |_, session, _| at_once(session.close())),
        ("closed by a drain", |bus, _, _| {
            drop(at_once(bus.drain(Duration::from_secs(1))));
        }),
        ("refused", |_, session, make| {
            let closed = session.bus().session("closed").open_now().unwrap();
            at_once(closed.close());
            assert!(closed.attach(make("refused")).is_err());
        }),
    ];
    for (name, end) in ends {
        let ended = in_time(move || {
            let bus = Bus::new();
            let session = bus.session("s").open_now().unwrap();
            let dropped = Arc::new(AtomicUsize::new(0));
            // Another bus's handle would do too; its own session's would keep the hook.
            let other = bus.session("other").open_now().unwrap();
            let make = |name: &str| {
                let bus = other.bus();
                let call = move || {
                    bus.intercept::<BeforeTool>("behind").gate(async |_, _| Verdict::Continue).unwrap();
                    bus.remove("behind");
                    drop((bus.sessions(), bus.find("s")));
                };
                let value =
                    Arc::new(CallsWhenDropped { call: Box::new(call), dropped: Arc::clone(&dropped) });
                let run = scripted(move || {
                    let value = Arc::clone(&value);
                    async move { drop(value) }
                });
                let point = lineside_points::find("before_tool").unwrap();
                Installed { point, hook: Hook::native(name, Part::Gate), run }
            };
            session.attach(make("hook")).unwrap();
            bus.attach(make("hook of the bus")).unwrap();
            bus.install("set", vec![make("hook of a set")]).unwrap();
            end(&bus, &session, &make);
            dropped.load(Ordering::SeqCst)
        });
        assert!(ended.is_some(), "{name}: it waits for itself");
        assert_eq!(ended, Some(1), "{name}");
    }
}

#[tokio::test]
async fn what_keeps_a_subagent_working_goes_to_its_own_parents_child_alone() {
    let (bus, session) = session().await;
    let child = session.subagent("child").open().await.unwrap();
    let grandchild = child.subagent("grandchild").open().await.unwrap();
    let stranger = bus.session("stranger").open().await.unwrap();
    session.intercept::<AfterSubagent>("more").gate(async |_, _| Verdict::block("go on")).unwrap();
    let texts = |session: &Session| {
        session.collect().ready().accept().iter().map(|message| message.text.to_string()).collect::<Vec<_>>()
    };
    for (named, expected) in [("child", 0), ("grandchild", 1), ("stranger", 1), ("unknown", 1), ("s", 1)] {
        assert!(session.publish(AfterSubagent::new(named)).await.unwrap().is_refused());
        assert_eq!(texts(&session).len(), expected, "{named}");
        assert_eq!(texts(&child).len(), 1 - expected, "{named}");
        assert!(texts(&grandchild).is_empty() && texts(&stranger).is_empty(), "{named}");
    }
}

#[tokio::test]
async fn a_line_of_sessions_comes_to_an_end() {
    let bus = Bus::new();
    let mut session = bus.session("0").open().await.unwrap();
    for depth in 1..=Source::DEEPEST {
        session = session.subagent(depth.to_string()).open().await.unwrap();
    }
    assert_eq!(session.source().depth, 32);
    let error = session.subagent("33").open().await.err().unwrap();
    assert_eq!(error, OpenSessionError::TooDeep("33".into()));
    assert_eq!(error.to_string(), "session `33` would be more than 32 levels below its root");
    assert!(bus.find("33").is_none());
}

#[tokio::test]
async fn a_hook_that_holds_its_own_session_goes_with_it() {
    let bus = Bus::new();
    let kept = Arc::new(());
    let hold = |session: &Session, name: &'static str, reach| {
        let held = (session.clone(), Arc::clone(&kept));
        session
            .intercept::<BeforeTool>(name)
            .reach(reach)
            .gate(move |_, _| {
                let held = held.clone();
                async move {
                    drop(held);
                    Verdict::block("no")
                }
            })
            .unwrap();
    };
    let root = bus.session("root").open().await.unwrap();
    let child = root.subagent("child").open().await.unwrap();
    hold(&root, "of the root", Reach::Subtree);
    hold(&child, "of the child", Reach::Subtree);
    root.close().await;
    assert!(child.publish(call()).await.unwrap().is_refused(), "it inherits from a session that is closed");
    child.remove("of the child");
    assert!(child.publish(call()).await.unwrap().is_refused(), "it inherits from a session that is closed");
    hold(&child, "of the child", Reach::Subtree);
    assert_eq!(Arc::strong_count(&kept), 3);
    child.close().await;
    assert_eq!(Arc::strong_count(&kept), 1, "nothing needs them any more");
    // A hook of the bus that comes later does not bring them back.
    bus.intercept::<BeforeTool>("later").gate(async |_, _| Verdict::Continue).unwrap();
    assert_eq!(Arc::strong_count(&kept), 1);
    drop((root, child));
}

#[tokio::test]
async fn an_event_under_way_keeps_the_hooks_of_the_session_that_is_closed() {
    let (_bus, session) = session().await;
    let (inside, open) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (enters, waits) = (Arc::clone(&inside), Arc::clone(&open));
    session
        .intercept::<BeforeTool>("waits")
        .priority(1)
        .gate(move |_, _| {
            let (enters, waits) = (Arc::clone(&enters), Arc::clone(&waits));
            async move {
                enters.add_permits(1);
                waits.acquire().await.unwrap().forget();
                Verdict::Continue
            }
        })
        .unwrap();
    session.intercept::<BeforeTool>("blocks").gate(async |_, _| Verdict::block("no")).unwrap();
    let publisher = session.clone();
    let published = tokio::spawn(async move { publisher.publish(call()).await.unwrap() });
    inside.acquire().await.unwrap().forget();
    session.close_within(Duration::ZERO).await;
    open.add_permits(1);
    assert!(published.await.unwrap().is_refused());
}

#[tokio::test]
async fn what_is_open_is_bounded_in_all_and_in_one_tree_and_a_closed_session_makes_room() {
    let bus = Bus::builder().sessions_at_most(32, 1 << 20).build();
    let root = bus.session("root").open().await.unwrap();
    let mut below = Vec::new();
    for number in 1..4 {
        below.push(root.subagent(format!("below {number}")).open().await.unwrap());
    }
    let refused = |id: &str| Some(OpenSessionError::TooMany(id.into()));
    for _ in 4..40 {
        assert_eq!(below[0].subagent("too many").open().await.err(), refused("too many"));
    }
    for number in 4..32 {
        bus.session(format!("other {number}")).open().await.unwrap();
    }
    for _ in 32..320 {
        assert_eq!(bus.session("too many").open().await.err(), refused("too many"));
    }
    below.pop().unwrap().close().await;
    root.subagent("again").open().await.unwrap();
    // Long texts count as many short ones do.
    let bus = Bus::builder().sessions_at_most(1_000, 8 << 10).build();
    let root = bus.session("root").open().await.unwrap();
    let long = "x".repeat(1_000);
    assert_eq!(root.subagent("a").cwd(long.as_str()).open().await.err(), refused("a"));
    for number in 0..8 {
        bus.session(number.to_string()).cwd(long.as_str()).open().await.unwrap();
    }
    for _ in 8..80 {
        assert_eq!(bus.session("b").cwd(long.as_str()).open().await.err(), refused("b"));
    }
}

#[tokio::test]
async fn what_is_below_a_session_leaves_some_of_its_tree_to_it_and_trees_of_one_quota_share() {
    let bus = Bus::builder().sessions_at_most(8 * 640, 1 << 30).build();
    let open_below = async |above: &lineside_bus::Session, name: &str| {
        let mut open = Vec::new();
        for number in 0..700 {
            open.extend(above.subagent(format!("{name} {number}")).open().await);
        }
        open
    };
    let root = bus.session("root").open().await.unwrap();
    let child = root.subagent("child").open().await.unwrap();
    let grandchild = child.subagent("grandchild").open().await.unwrap();
    let below = open_below(&grandchild, "below").await;
    assert_eq!(below.len(), 640 - 20 - 1);
    assert_eq!(open_below(&child, "beside").await.len(), 9);
    assert_eq!(open_below(&root, "of root").await.len(), 9);
    // Roots that count in one quota have it together, and the others have all that is left.
    let quota = bus.quota(16);
    let mut roots = Vec::new();
    for number in 0..700 {
        roots.extend(bus.session(format!("root {number}")).within(&quota).open().await);
    }
    assert_eq!(roots.len(), 320);
    assert!(roots[0].subagent("of a full quota").open().await.is_err());
    bus.session("beside").open().await.unwrap();
    for root in roots.drain(..) {
        root.close().await;
    }
    assert!(quota.is_unused());
    bus.session("again").within(&quota).open().await.unwrap();
}

#[tokio::test]
async fn a_closed_session_counts_as_long_as_something_open_is_below_it() {
    const CHAIN: usize = 16;
    let text = "x".repeat(4_000);
    // Opens a session below the last one, and closes that, and so on; gives the last one.
    let chain = async |bus: &Bus, name: usize| {
        let mut last = bus.session(format!("{name} 0")).cwd(text.as_str()).open().await?;
        for number in 1..CHAIN {
            let next =
                last.subagent(format!("{name} {number}")).cwd(format!("{number}{text}")).open().await?;
            std::mem::replace(&mut last, next).close().await;
        }
        Ok::<_, OpenSessionError>(last)
    };
    // Room for nine chains, in bytes or in number; ten times as many are begun.
    for (sessions, bytes) in [(100_000, 9 * CHAIN * 4_096), (9 * CHAIN, 1 << 30)] {
        let bus = Bus::builder().sessions_at_most(sessions, bytes).build();
        let mut open = Vec::new();
        for name in 0..90 {
            match chain(&bus, name).await {
                Ok(last) => open.push(last),
                Err(error) => assert!(matches!(error, OpenSessionError::TooMany(_)), "{error}"),
            }
        }
        assert_eq!(open.len(), 9);
        for last in open.drain(..) {
            last.close().await;
        }
        chain(&bus, 90).await.unwrap();
    }
    // And in one tree, of which an eighth of all is the bound.
    let bus = Bus::builder().sessions_at_most(8 * CHAIN, 1 << 30).build();
    let root = bus.session("root").open().await.unwrap();
    let mut kept = Vec::new();
    for number in 0..10 * CHAIN {
        let Ok(above) = root.subagent(format!("above {number}")).open().await else { continue };
        kept.extend(above.subagent(format!("below {number}")).open().await);
        above.close().await;
    }
    assert_eq!(kept.len(), (CHAIN - 1) / 2);
}
