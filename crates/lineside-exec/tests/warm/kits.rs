//! What the kits promise.

use lineside_core::Propagation;
use lineside_core::failure::FailureKind;
use lineside_core::json::{Value, json};
use lineside_core::worker::{HookCall, WorkerEnded};
use lineside_exec::LogSource;

use crate::room::{PATIENCE, Room, made, millis};
use crate::yard::{Language, PYTHON, Yard, answered, failed, with_each};

#[test]
fn one_process_answers_every_call() {
    with_each(async |room, yard, language| {
        assert_eq!(room.processes(), [""; 0], "started by its first call");
        let first = yard.said(language.pid).await;
        assert_eq!(yard.said(language.pid).await, first);
        assert_eq!(room.processes().len(), 1);
    });
}

#[test]
fn calls_run_at_the_same_time() {
    with_each(async |room, yard, language| {
        let meet = |mine, other| {
            yard.ask(json!({ "do": language.meets, "mine": room.text(mine), "other": room.text(other) }))
        };
        let (one, two) = tokio::join!(meet("one", "two"), meet("two", "one"));
        assert_eq!((one, two), (answered("{\"log\":1}"), answered("{\"log\":1}")));
    });
}

/// A kit may let the thread that reads run a call of a hook that is quick; it reads on all the same.
#[test]
fn a_call_is_read_while_a_hook_that_was_quick_until_then_waits() {
    with_each(async |room, yard, language| {
        for _ in 0..3 {
            yard.answers().await;
        }
        meet(room, yard, language).await;
    });
}

/// The thread of the Python kit that looks after slow calls sleeps when there have been none for a while.
#[test]
fn a_worker_without_calls_does_nothing_and_reads_on_afterwards_while_a_hook_waits() {
    with_each(async |room, yard, language| {
        let pid = yard.said(language.pid).await;
        yard.answers().await;
        loop {
            let before = switches(&pid);
            tokio::time::sleep(millis(300)).await;
            if switches(&pid) == before {
                break;
            }
        }
        meet(room, yard, language).await;
    });
}

/// A slow hook is handed over at once: no look is needed to learn that it is slow.
#[test]
fn a_call_of_a_slow_hook_keeps_no_other_one_waiting_until_a_look() {
    PYTHON.with(async |room, yard| {
        let looks_never = "__import__('lineside_hook').__dict__.update(_TICK=600) or time.sleep(0.005)";
        assert_eq!(yard.have(looks_never).await, answered("{\"log\":null}"));
        meet(room, yard, &PYTHON).await;
    });
}

/// Two calls, each of which ends only when the other one has begun.
async fn meet(room: &Room, yard: &Yard, language: &Language) {
    let meet = |mine, other| {
        yard.ask(json!({ "do": language.meets, "mine": room.text(mine), "other": room.text(other) }))
    };
    let two = async {
        made(&room.path("one")).await;
        meet("two", "one").await
    };
    let (one, two) = tokio::join!(meet("one", "two"), two);
    assert_eq!((one, two), (answered("{\"log\":1}"), answered("{\"log\":1}")));
}

/// How often the threads of a process have given up a processor, in all.
fn switches(pid: &Value) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let counts = threads.map(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let count = |line: &str| line.split_once("ctxt_switches:")?.1.trim().parse::<u64>().ok();
        status.lines().filter_map(count).sum::<u64>()
    });
    counts.sum()
}

#[test]
fn plain_and_asynchronous_functions_are_hooks_by_name() {
    with_each(async |_, yard, language| {
        let event = match language.program {
            "python3" => "asyncio.sleep(0, call.hook)",
            _ => "sleep(0, call.hook)",
        };
        let event = json!({ "do": event }).to_string();
        let call = HookCall {
            environment: Propagation::none(),
            hook: "async".to_owned(),
            event,
            timeout: PATIENCE,
            tree: None,
        };
        assert_eq!(yard.worker.call(call).await, answered("{\"log\":\"async\"}"));
    });
}

#[test]
fn what_a_hook_prints_is_its_log_and_no_answer() {
    with_each(async |_, yard, language| {
        assert_eq!(yard.have(language.prints).await, answered("{\"log\":1}"));
        yard.line(LogSource::Stderr, "to be seen").await;
        assert!(!yard.has_line(LogSource::Stray, ""), "{:?}", yard.logs());
        yard.answers().await;
    });
}

#[test]
fn an_exception_is_a_failure_with_its_trace_in_the_log() {
    with_each(async |_, yard, language| {
        let (kind, why) = failed(yard.have(language.fails).await);
        assert_eq!((kind, why.contains("boom")), (FailureKind::Panic, true), "{why}");
        yard.line(LogSource::Stderr, "worker.").await;
        yard.answers().await;
    });
}

#[test]
fn a_function_that_hears_of_its_cancellation_costs_nobody_anything() {
    with_each(async |_, yard, language| {
        let before = yard.said(language.pid).await;
        let call = json!({ "do": language.until_cancelled });
        let (kind, _) = failed(yard.within(millis(100), call).await);
        assert_eq!(kind, FailureKind::Timeout);
        assert_eq!(yard.said(language.pid).await, before, "the same process");
    });
}

#[test]
fn an_asynchronous_function_is_interrupted_where_it_waits() {
    with_each(async |_, yard, language| {
        let before = yard.said(language.pid).await;
        let event = match language.program {
            "python3" => "asyncio.sleep(600)",
            _ => "sleep(600000, 1, { signal: call.signal })",
        };
        let event = json!({ "do": event }).to_string();
        let call = HookCall {
            environment: Propagation::none(),
            hook: "async".to_owned(),
            event,
            timeout: millis(100),
            tree: None,
        };
        assert_eq!(failed(yard.worker.call(call).await).0, FailureKind::Timeout);
        assert_eq!(yard.said(language.pid).await, before, "the same process");
    });
}

#[test]
fn a_call_that_nobody_waits_for_is_cancelled() {
    with_each(async |room, yard, language| {
        let before = yard.said(language.pid).await;
        let begun = room.path("begun");
        let done = match language.program {
            "python3" => "open(event['begun'], 'w').close() or",
            _ => "fs.writeFileSync(event.begun, '') ||",
        };
        let event = json!({ "do": format!("{done} {}", language.until_cancelled), "begun": begun });
        tokio::select! {
            ended = yard.ask(event) => panic!("{ended:?}"),
            () = made(&begun) => {}
        }
        assert_eq!(yard.said(language.pid).await, before, "the same process");
        assert_eq!(yard.worker.under_way(), 0);
    });
}

#[test]
fn the_same_file_is_a_plain_command_too() {
    with_each(async |room, yard, language| {
        yard.answers().await;
        let script = room.text(if language.program == "python3" { "worker.py" } else { "worker.mjs" });
        let mut command = room.command(&[language.program, &script]);
        command.stdin = json!({ "do": "1 + 1", "context": { "hook": "check" } }).to_string().into_bytes();
        let ended = lineside_exec::Runner::new().run(&command).await;
        assert_eq!(ended.stdout.trimmed_text(), "{\"log\":2}");
        command.stdin = json!({ "do": language.fails }).to_string().into_bytes();
        let ended = lineside_exec::Runner::new().run(&command).await;
        assert_eq!(
            (ended.exit, ended.stdout.trimmed_text()),
            (lineside_core::invocation::Exit::Code(1), String::new())
        );
    });
}

#[test]
fn text_goes_there_and_back_as_it_is() {
    with_each(async |_, yard, language| {
        let text = "\u{0}\u{feff}\u{202e}\u{1f600}\r\n\u{2028}é";
        let event = match language.program {
            "python3" => "event['text']",
            _ => "event.text",
        };
        let WorkerEnded::Answered(said) = yard.ask(json!({ "do": event, "text": text })).await else {
            panic!("no answer");
        };
        let said: Value = lineside_core::json::from_str(&said).unwrap();
        assert_eq!(said["log"], json!(text));
    });
}

/// An answer without its decision allows, so a misspelt key is reported; a key that resembles none is ignored.
#[test]
fn a_key_that_looks_like_another_one_is_warned_of() {
    with_each(async |room, _, language| {
        let (name, source) = match language.program {
            "python3" => (
                "slip.py",
                "from lineside_hook import hook, serve\nhook(lambda event: {'decison': 'deny', 'other': 1})\nserve()\n",
            ),
            _ => (
                "slip.mjs",
                "import { hook, serve } from './lineside-hook.mjs';\nhook(() => ({ decison: 'deny', other: 1 }));\nserve();\n",
            ),
        };
        let script = room.file(name, source, 0o644);
        let mut command = room.command(&[language.program, script.to_str().unwrap()]);
        command.stdin = b"{}\n".to_vec();
        let ended = lineside_exec::Runner::new().run(&command).await;
        assert_eq!(ended.stdout.trimmed_text(), "{\"decison\":\"deny\",\"other\":1}");
        assert_eq!(
            ended.stderr.trimmed_text(),
            "warning: an answer has the key 'decison', did you mean 'decision'?"
        );
    });
}
