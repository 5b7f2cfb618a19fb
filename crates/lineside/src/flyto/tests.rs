//! The laws of the manager.

use std::sync::Mutex;
use std::time::Duration;

use lineside_bus::Decision;
use lineside_core::json::json;
use lineside_core::{AgentKind, FailureKind, Outcome, Point, Strength, Verdict};
use lineside_dialects::{Places, Trust};
use lineside_points::{BeforeModel, BeforeStop, BeforeTool, OnNotification};
use tokio::sync::Semaphore;

use super::*;

const TYPE: &str = "pre_tool_use";

fn call() -> BeforeTool {
    BeforeTool::new("Bash", json!({"command": "ls"}))
}

/// A hook that does nothing.
fn idle(name: &str) -> Definition {
    Definition::function(async |_, _| None).name(name)
}

fn names(hooks: &[Arc<Hook>]) -> Vec<&str> {
    hooks.iter().map(|hook| &*hook.name).collect()
}

fn ran<P: Point>(decision: &Decision<P>) -> Vec<String> {
    let Some(receipt) = decision.receipt() else { return Vec::new() };
    let runs = receipt.runs.iter().filter(|run| run.outcome.has_run());
    runs.map(|run| receipt.name(run.hook).to_owned()).collect()
}

fn failed<P: Point>(decision: &Decision<P>) -> Vec<FailureKind> {
    let kind = |outcome: &Outcome| match outcome {
        Outcome::Failed { failure, .. } => Some(failure.kind),
        _ => None,
    };
    decision.receipt().unwrap().runs.iter().filter_map(|run| kind(&run.outcome)).collect()
}

async fn session(bus: &Bus) -> Session {
    bus.session("s1").project_root("/").open().await.unwrap()
}

fn blocks(reason: &str) -> Option<HookResult> {
    Some(HookResult { exit_code: 2, stderr: reason.to_owned(), ..HookResult::default() })
}

#[tokio::test]
async fn a_function_gets_the_type_and_the_variables_and_its_result_counts() {
    // FL-35
    let bus = Bus::new();
    let manager = Manager::of_bus(&bus);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let function = Definition::function(move |hook_type, variables: Variables| {
        told.lock().unwrap().push((hook_type.name(), variables));
        async { blocks("no") }
    });
    // The function goes before the command.
    manager.register(TYPE, function.or_command("exit 1").or_webhook("http://127.0.0.1:1/")).unwrap();
    let input = json!({"command": "x".repeat(100_000)});
    let decision = session(&bus).await.publish(BeforeTool::new("Bash", input)).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::block("no"));
    assert_eq!((ran(&decision), failed(&decision)), (vec!["pre_tool_use-0".to_owned()], Vec::new()));
    let (hook_type, variables) = seen.lock().unwrap().remove(0);
    assert_eq!((hook_type, variables["TOOL_NAME"].as_str()), (TYPE, "Bash"));
    assert!(variables["TOOL_INPUT"].len() > 100_000, "it is uncut");
}

#[tokio::test(start_paused = true)]
async fn a_function_that_panics_or_takes_too_long_has_failed_and_blocks_nothing() {
    // FL-35
    let bus = Bus::new();
    let manager = Manager::of_bus(&bus);
    let at_once = Definition::function(|_, _| -> std::future::Ready<_> { panic!("at once") });
    manager.register(TYPE, at_once).unwrap();
    manager.register(TYPE, Definition::function(async |_, _| panic!("later"))).unwrap();
    let slow =
        || Definition::function(async |_, _| std::future::pending().await).timeout(Duration::from_secs(2));
    manager.register(TYPE, slow()).unwrap();
    manager.register(TYPE, idle("next")).unwrap();
    let session = session(&bus).await;
    let decision = session.publish(call()).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::Continue);
    assert_eq!(failed(&decision), [FailureKind::Panic, FailureKind::Panic, FailureKind::Timeout]);
    assert_eq!(ran(&decision).len(), 4);

    // FL-25: at a stop it means stop.
    manager.register("stop", slow()).unwrap();
    let decision = session.publish(BeforeStop::new(false)).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::stop("stopped by hook"));
    assert_eq!(failed(&decision), [FailureKind::Timeout]);

    // FL-31
    manager.register("pre_sampling", slow().name("guard").block_on_failure()).unwrap();
    let decision = session.publish(BeforeModel::new("m")).await.unwrap();
    let reason = "hook \"guard\" failed: timed out after 2 s";
    assert_eq!(decision.verdict(), &Verdict::block(reason));
}

#[tokio::test]
async fn registering_appends_and_an_unknown_type_changes_nothing() {
    // FL-36, FL-40
    let bus = Bus::new();
    let manager = Manager::of_bus(&bus);
    for name in ["a", "b", "a"] {
        manager.register(TYPE, idle(name)).unwrap();
    }
    let error = manager.register("PreToolUse", idle("c")).unwrap_err();
    assert_eq!(error.to_string(), "unknown hook type 'PreToolUse'; did you mean 'pre_tool_use'?");
    assert_eq!((names(&manager.list(TYPE)), manager.count(TYPE)), (vec!["a", "b", "a"], 3));
    assert!(manager.has_hooks(TYPE) && !manager.has_hooks("stop") && !manager.has_hooks("PreToolUse"));
    assert_eq!(Manager::of_bus(&bus).count(TYPE), 3, "there is one manager of the runtime");
    assert_eq!(ran(&session(&bus).await.publish(call()).await.unwrap()), ["a", "b", "a"]);
}

#[tokio::test]
async fn what_cannot_be_run_is_not_registered() {
    // FL-4, FL-36
    let manager = Manager::of_bus(&Bus::new());
    let refused = |definition: Definition| manager.register(TYPE, definition).unwrap_err().to_string();
    let nothing = "a hook needs a function, a command or a webhook URL";
    assert_eq!(refused(Definition::command(" ")), nothing);
    assert_eq!(refused(Definition::webhook("ftp://h/")), "`ftp://h/` is not an absolute http or https URL");
    let directory = Definition::command("true").plugin_dir("rel");
    assert_eq!(refused(directory), "the plugin directory `rel` is not absolute");
    assert_eq!(manager.count(TYPE), 0);
}

#[tokio::test]
async fn a_source_is_removed_exactly_and_the_rest_keeps_its_order() {
    // FL-37, FL-38, FL-39
    let bus = Bus::new();
    let manager = Manager::of_bus(&bus);
    bus.intercept::<BeforeTool>("native").gate(async |_, _| Verdict::Continue).unwrap();
    for (name, source) in [("a", "p"), ("b", ""), ("c", "p2"), ("d", "p"), ("e", "tenant:p"), ("f", "")] {
        manager.register(TYPE, idle(name).source(source)).unwrap();
    }
    manager.register("stop", idle("g").source("p")).unwrap();
    manager.register("stop", idle("h")).unwrap();

    assert_eq!(manager.unregister_by_source(TYPE, "unknown"), 0);
    assert_eq!(manager.unregister_by_source("unknown", "p"), 0);
    assert_eq!(manager.unregister_by_source(TYPE, "p"), 2);
    assert_eq!(manager.unregister_by_source(TYPE, "p"), 0);
    assert_eq!(names(&manager.list(TYPE)), ["b", "c", "e", "f"]);
    assert_eq!(names(&manager.list("stop")), ["g", "h"]);
    assert_eq!(manager.unregister_by_source(TYPE, ""), 2);
    assert_eq!(names(&manager.list(TYPE)), ["c", "e"]);
    assert_eq!(manager.unregister_all_by_source("p"), 1);
    assert_eq!(names(&manager.list("stop")), ["h"]);
    assert_eq!(manager.unregister(TYPE), 2);
    assert_eq!((manager.count(TYPE), manager.count("stop")), (0, 1));
    assert_eq!(ran(&session(&bus).await.publish(call()).await.unwrap()), ["native"]);
}

#[tokio::test]
async fn an_event_uses_the_list_as_it_was_and_hooks_change_it_from_within() {
    // FL-41, FL-43
    let bus = Bus::new();
    let manager = Manager::of_bus(&bus);
    let own = manager.clone();
    let changing = Definition::function(move |_, _| {
        let own = own.clone();
        async move {
            own.unregister(TYPE);
            own.register(TYPE, idle("new")).unwrap();
            None
        }
    });
    manager.register(TYPE, changing.name("changing")).unwrap();
    manager.register(TYPE, idle("second")).unwrap();
    let session = session(&bus).await;
    assert_eq!(ran(&session.publish(call()).await.unwrap()), ["changing", "second"]);
    assert_eq!(ran(&session.publish(call()).await.unwrap()), ["new"]);
}

#[test]
fn registering_and_removing_are_safe_from_any_thread() {
    // FL-43
    let manager = Manager::of_bus(&Bus::new());
    std::thread::scope(|scope| {
        for source in ["a", "b", "c", "d"] {
            let manager = &manager;
            scope.spawn(move || {
                for _ in 0..25 {
                    manager.register(TYPE, idle("h").source(source)).unwrap();
                    manager.register("stop", idle("h").source(source)).unwrap();
                }
                assert_eq!(manager.unregister_by_source(TYPE, source), 25);
            });
        }
    });
    assert_eq!((manager.count(TYPE), manager.count("stop")), (0, 100));
}

#[tokio::test]
async fn disabling_skips_every_hook_and_keeps_it() {
    // FL-42
    let bus = Bus::new();
    let manager = Manager::of_bus(&bus);
    manager.register(TYPE, idle("a")).unwrap();
    let session = session(&bus).await;
    Manager::of_session(&session).register(TYPE, idle("b")).unwrap();
    for _ in 0..2 {
        manager.disable();
        assert!(!manager.has_hooks(TYPE));
        assert_eq!(manager.count(TYPE), 1);
        let decision = session.publish(call()).await.unwrap();
        assert_eq!(ran(&decision), ["b"]);
        let skipped = &decision.receipt().unwrap().runs[1].outcome;
        assert_eq!(skipped, &Outcome::Skipped(SkipReason::Disabled));
    }
    // FL-44: the session's manager is another one.
    assert!(Manager::of_session(&session).has_hooks(TYPE));
    assert_eq!(names(&in_force(&session, TYPE)), ["b"]);
    manager.register(TYPE, idle("c")).unwrap();
    for _ in 0..2 {
        manager.enable();
        assert!(manager.has_hooks(TYPE));
        assert_eq!(ran(&session.publish(call()).await.unwrap()), ["b", "a", "c"]);
    }
}

#[tokio::test]
async fn a_session_has_its_own_list_then_its_parents_then_the_runtimes() {
    // FL-44, FL-45
    let bus = Bus::new();
    let root = session(&bus).await;
    let child = root.subagent("s2").open().await.unwrap();
    let grandchild = child.subagent("s3").open().await.unwrap();
    let other = bus.session("s9").open().await.unwrap();
    for (manager, name) in [
        (Manager::of_bus(&bus), "runtime"),
        (Manager::of_session(&grandchild), "grandchild"),
        (Manager::of_session(&root), "root"),
        (Manager::of_session(&child), "child"),
    ] {
        for number in [1, 2] {
            manager.register(TYPE, idle(&format!("{name} {number}")).source("same")).unwrap();
        }
    }
    let expected =
        ["grandchild 1", "grandchild 2", "child 1", "child 2", "root 1", "root 2", "runtime 1", "runtime 2"];
    for (session, expected) in [
        (&grandchild, &expected[..]),
        (&child, &expected[2..]),
        (&root, &expected[4..]),
        (&other, &expected[6..]),
    ] {
        assert_eq!(ran(&session.publish(call()).await.unwrap()), expected);
        assert_eq!(names(&in_force(session, TYPE)), expected);
    }
    // Each manager speaks of its own list only.
    assert_eq!(Manager::of_session(&child).unregister_all_by_source("same"), 2);
    assert_eq!(in_force(&grandchild, TYPE).len(), 6);
    Manager::of_bus(&bus).unregister(TYPE);
    assert!(in_force(&other, TYPE).is_empty());
    assert_eq!(ran(&root.publish(call()).await.unwrap()), ["root 1", "root 2"]);
}

#[tokio::test]
async fn asynchronous_hooks_run_in_the_same_order_and_decide_nothing() {
    // FL-32, FL-44
    let bus = Bus::new();
    let session = session(&bus).await;
    let (log, gate) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Semaphore::new(0)));
    let logs = |name: &'static str, waits: bool| {
        let (log, gate) = (Arc::clone(&log), Arc::clone(&gate));
        let function = Definition::function(move |_, _| {
            let (log, gate) = (Arc::clone(&log), Arc::clone(&gate));
            async move {
                if waits {
                    gate.acquire().await.unwrap().forget();
                }
                log.lock().unwrap().push(name);
                blocks("ignored")
            }
        });
        function.name(name)
    };
    Manager::of_bus(&bus).register("notification", logs("runtime", false)).unwrap();
    Manager::of_session(&session).register("notification", logs("session", true)).unwrap();
    let decision = session.publish(OnNotification::new("m")).await.unwrap();
    assert_eq!(decision.verdict().strength(), Strength::Continue);
    Manager::of_bus(&bus).register(TYPE, logs("async", false).asynchronous()).unwrap();
    let decision = session.publish(call()).await.unwrap();
    assert_eq!(decision.verdict().strength(), Strength::Continue);
    gate.add_permits(1);
    session.close().await;
    let log = log.lock().unwrap();
    let of_event: Vec<_> = log.iter().filter(|name| **name != "async").copied().collect();
    assert_eq!((of_event, log.len()), (vec!["session", "runtime"], 3));
}

#[tokio::test]
async fn hooks_from_files_belong_to_the_runtimes_manager_and_only_they_are_loaded_again() {
    // FL-45, FL-46, FL-47
    let room = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let file = room.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let settings = "home/.flyto/settings.json";
    let plugin = "home/.flyto/plugins/audit/hooks.json";
    write(
        settings,
        r#"{"hooks": {"pre_tool_use": [{"name": "f1", "command": "printf '%s %s' $SESSION_ID $AGENT_KIND > seen"}]}}"#,
    );
    write(plugin, r#"{"hooks": {"pre_tool_use": [{"name": "f2", "command": "true"}]}}"#);
    let home = room.path().join("home").to_str().unwrap().to_owned();
    let places = Places {
        environment: std::collections::BTreeMap::from([("HOME".to_owned(), home)]),
        project_root: Some(room.path().to_owned()),
        cwd: room.path().to_owned(),
        trust: Trust::Granted,
    };
    let assembly = Assembly::new(Bus::new());
    assembly.load(&places).await.unwrap();
    let manager = assembly.flyto();
    manager.register(TYPE, idle("mine").source("audit")).unwrap();
    assert_eq!(names(&manager.list(TYPE)), ["f1", "f2", "mine"]);

    let root = assembly.bus().session("s1").project_root(room.path().to_str().unwrap()).open().await.unwrap();
    let child = root.subagent("s2").open().await.unwrap();
    assert_eq!(child.source().agent.kind, AgentKind::Subagent);
    assembly.flyto_of(&root).register(TYPE, Definition::command("true").name("parent's")).unwrap();
    assert_eq!(ran(&child.publish(call()).await.unwrap()), ["parent's", "f1", "f2", "mine"]);
    assert_eq!(std::fs::read_to_string(room.path().join("seen")).unwrap(), "s2 subagent");

    write(settings, r#"{"hooks": {"pre_tool_use": [{"name": "f3", "command": "true"}]}}"#);
    assembly.load(&places).await.unwrap();
    assert_eq!(names(&manager.list(TYPE)), ["f3", "f2", "mine"]);
    // FL-37: a plugin that was found and one that was registered are the same thing.
    assert_eq!(manager.unregister_by_source(TYPE, "audit"), 2);
    manager.disable();
    assembly.load(&places).await.unwrap();
    assert_eq!(ran(&child.publish(call()).await.unwrap()), ["parent's"]);
    assert_eq!(assembly.drain(Duration::from_secs(5)).await.undecided, 0);
}
