//! The table of faults, for hooks in a worker.

use lineside_core::failure::FailureKind;
use lineside_core::invocation::{Environment, Program};
use lineside_core::json::json;
use lineside_core::worker::{HookWorker, WorkerEnded, WorkerReach};
use lineside_exec::{Containment, LogSource};

use crate::room::{Room, containments, eventually, millis};
use crate::yard::{NODE, PYTHON, Yard, answered, bounds, failed, inside, with_each, with_raw};

#[test]
fn p01_a_hook_that_never_returns_is_out_of_time_and_its_worker_replaced() {
    with_each(async |_, yard, language| {
        for stuck in [language.endless, language.waits] {
            yard.answers().await;
            let stuck = yard.within(millis(200), json!({ "do": stuck })).await;
            assert_eq!(failed(stuck).0, FailureKind::Timeout);
            yard.answers().await;
        }
    });
}

#[test]
fn p02_helpers_of_a_worker_for_hooks_end_with_it() {
    with_each(async |room, yard, language| {
        assert_eq!(yard.have(language.helper).await, answered("{\"log\":1}"));
        // A helper that is just becoming another program is not seen for a moment.
        while room.processes().len() != 2 {
            tokio::time::sleep(millis(1)).await;
        }
        assert_eq!(failed(yard.have(language.killed).await).0, FailureKind::Signal);
        yard.answers().await;
        assert_eq!(room.processes().len(), 1, "the new worker alone");
    });
}

#[test]
fn p03_what_left_the_group_of_a_worker_for_hooks_ends_with_it() {
    for language in [&PYTHON, &NODE] {
        for containment in containments() {
            let room = Room::enter();
            let worker = language.worker(&room);
            room.block_on(async {
                let yard = Yard::keep(worker, containment);
                assert_eq!(yard.have(language.away).await, answered("{\"log\":1}"));
                while room.processes().len() != 2 {
                    tokio::time::sleep(millis(1)).await;
                }
                yard.worker.shutdown().await;
                assert_eq!(room.processes(), [""; 0], "dead when the worker has ended");
            });
            room.leave();
        }
    }
}

#[test]
fn p03_a_worker_for_hooks_that_was_dropped_ends_with_everybody() {
    for language in [&PYTHON, &NODE] {
        let room = Room::enter();
        let worker = language.worker(&room);
        room.block_on(async {
            let yard = Yard::keep(worker, Containment::new());
            yard.have(language.away).await;
            drop(yard);
            while !room.processes().is_empty() {
                tokio::time::sleep(millis(1)).await;
            }
        });
        room.leave();
    }
}

#[test]
fn p04_a_worker_that_stops_reading_blocks_nobody() {
    with_each(async |_, yard, language| {
        yard.answers().await;
        let large = json!({ "do": "1", "text": "x".repeat(4 << 20) });
        let stuck = yard.within(millis(300), json!({ "do": language.stopped }));
        let (stuck, large) = tokio::join!(stuck, yard.within(millis(300), large));
        assert_eq!((failed(stuck).0, failed(large).0), (FailureKind::Timeout, FailureKind::Timeout));
        yard.answers().await;
    });
    with_raw("say(type='hello', protocol=2)\ntime.sleep(600)", async |_, yard| {
        let large = json!({ "text": "x".repeat(1 << 20) });
        let (kind, _) = failed(yard.within(millis(300), large).await);
        assert_eq!(kind, FailureKind::Timeout);
    });
}

#[test]
fn p05_a_flood_of_a_worker_for_hooks_hides_no_answer() {
    with_each(async |_, yard, language| {
        assert_eq!(yard.have(language.floods).await, answered("{\"log\":1}"));
        yard.answers().await;
        assert!(yard.has_line(LogSource::Stderr, "yyyy"));
    });
}

#[test]
fn p07_a_worker_for_hooks_of_a_killed_program_wears_its_mark() {
    with_each(async |room, yard, language| {
        let mark = yard.said(language.mark).await;
        assert!(mark.as_str().unwrap().starts_with(&format!("{}-", std::process::id())), "{mark}");
        assert_eq!(Containment::end_orphans(), 0, "its program runs");
        assert_eq!(room.processes().len(), 1);
    });
}

#[test]
fn p08_a_worker_for_hooks_that_ends_while_it_is_shut_down_is_over_once() {
    with_each(async |_, yard, language| {
        yard.answers().await;
        let dies = yard.have(language.killed);
        let (died, (), ()) = tokio::join!(dies, yard.worker.shutdown(), yard.worker.shutdown());
        assert!(matches!(failed(died).0, FailureKind::Signal | FailureKind::Closed));
        assert_eq!(failed(yard.have("1").await).0, FailureKind::Closed);
    });
}

#[test]
fn p09_a_worker_for_hooks_that_cannot_be_started_says_why() {
    for (program, part) in [("no-such-program", "cannot find program"), ("/", "cannot run")] {
        let room = Room::enter();
        let environment = Environment { set: room.mark(), ..Environment::default() };
        let reach =
            WorkerReach::Program { program: Program::argv([program]), environment, working_directory: None };
        let worker = HookWorker { reach, ..PYTHON.worker(&room) };
        inside(room, worker, async |_, yard| {
            let (kind, why) = failed(yard.have("1").await);
            assert_eq!(kind, FailureKind::Spawn);
            assert!(why.contains(part) || why.contains("directory") || why.contains("denied"), "{why}");
        });
    }
}

#[test]
fn p09_a_program_that_says_no_hello_is_no_worker() {
    for (source, part) in [
        ("time.sleep(600)", "no hello"),
        (
            "say(type='hello', protocol=1)\ntime.sleep(600)",
            "does not speak version 2 of the protocol but version 1: `lineside kit`",
        ),
        ("say(type='hello', protocol=3)\ntime.sleep(600)", "does not speak version 2"),
        ("say(type='pong')\nsys.exit(3)", "status 3"),
        ("put('{\"type\":\"hello\",\"proto')\nos.kill(os.getpid(), 9)", "signal 9"),
    ] {
        let hello = if part == "no hello" { millis(300) } else { bounds().hello };
        let bounds = lineside_core::worker::HookWorkerBounds { hello, ..bounds() };
        crate::yard::with_raw_in(source, bounds, async |room, yard| {
            let (kind, why) = failed(yard.ask(json!({})).await);
            assert_eq!((kind, why.contains(part)), (FailureKind::Spawn, true), "{why}");
            assert_eq!(room.processes(), [""; 0]);
        });
    }
}

#[test]
fn p09_a_worker_that_dies_at_its_start_says_so_with_its_last_words() {
    let source = "sys.stderr.write('Bearer abcdefgh12345678\\n' + 'x' * 3000 + '\\n')\nfor line in range(40): sys.stderr.write(f'line {line}\\n')\nimport no_such_module";
    with_raw(source, async |_, yard| {
        let (kind, why) = failed(yard.ask(json!({})).await);
        assert_eq!(kind, FailureKind::Spawn);
        assert!(
            why.starts_with("the worker could not be started: the worker ended with status 1 (stderr: "),
            "{why}"
        );
        assert!(why.contains("ModuleNotFoundError: No module named 'no_such_module'"), "{why}");
        assert!(
            why.contains("line 39") && !why.contains("line 9 ") && !why.contains('\n') && why.len() < 2300,
            "{why}"
        );
    });
    let source = "say(type='hello', protocol=2)
sys.stderr.write('an old word\\n')
for call in calls():
    if call['event'] == 'die':
        sys.stderr.write('password=hunter22\\n')
        raise RuntimeError('out of memory')
    say(type='answer', id=call['id'], answer={})";
    with_raw(source, async |_, yard| {
        // The two streams are read each by itself: at the second answer the word has been read in any case.
        assert_eq!(yard.ask(json!("live")).await, answered("{}"));
        assert_eq!(yard.ask(json!("live")).await, answered("{}"));
        let (kind, why) = failed(yard.ask(json!("die")).await);
        assert_eq!(kind, FailureKind::Exit);
        assert!(
            why.ends_with("RuntimeError: out of memory)") && why.contains("password=[redacted]"),
            "{why}"
        );
        assert!(!why.contains("old word"), "of what came after its last answer: {why}");
    });
    // After the last attempt as well.
    with_raw("import no_such_module", async |_, yard| {
        for _ in 0..5 {
            assert_eq!(failed(yard.ask(json!({})).await).0, FailureKind::Spawn);
        }
        let (_, why) = failed(yard.ask(json!({})).await);
        assert!(why.contains("too often") && why.contains("No module named"), "{why}");
    });
}

#[test]
fn p09_a_slow_hello_delays_the_calls_and_fails_none() {
    with_raw(
        "while not os.path.exists(sys.argv[0] + '.go'): time.sleep(0.001)
say(type='hello', protocol=2)
for call in calls(): say(type='answer', id=call['id'], answer={})",
        async |room, yard| {
            let go = async {
                while room.processes().is_empty() {
                    tokio::time::sleep(millis(1)).await;
                }
                room.file("raw.py.go", "", 0o644);
            };
            let (ended, other, ()) = tokio::join!(yard.ask(json!({})), yard.ask(json!({})), go);
            assert_eq!((ended, other), (answered("{}"), answered("{}")));
        },
    );
}

#[test]
fn p10_the_end_of_a_worker_for_hooks_says_how_it_ended() {
    with_each(async |_, yard, language| {
        for (how, kind, part) in [
            (language.exits, FailureKind::Exit, "status 7"),
            (language.killed, FailureKind::Signal, "signal 9"),
        ] {
            let (found, why) = failed(yard.have(how).await);
            assert_eq!((found, why.contains(part)), (kind, true), "{why}");
        }
        yard.answers().await;
    });
}

#[test]
fn p11_a_worker_for_hooks_that_stopped_itself_is_replaced() {
    with_each(async |_, yard, language| {
        yard.answers().await;
        let stops = yard.within(millis(300), json!({ "do": language.stopped })).await;
        assert_eq!(failed(stops).0, FailureKind::Timeout);
        yard.answers().await;
    });
}

#[test]
fn d03_a_hook_that_cannot_answer_has_failed_and_has_not_allowed() {
    with_each(async |_, yard, language| {
        for said in [language.fails, "no such thing", language.too_deep] {
            let (kind, why) = failed(yard.have(said).await);
            assert!(kind == FailureKind::Panic && !why.is_empty() && !why.contains('\n'), "{why}");
        }
        yard.answers().await;
    });
}

#[test]
fn d11_a_worker_for_hooks_that_ends_again_and_again_is_not_started_for_a_while_and_calls_fail() {
    with_each(async |room, yard, language| {
        for _ in 0..5 {
            assert_eq!(failed(yard.have(language.killed).await).0, FailureKind::Signal);
        }
        let began = std::time::Instant::now();
        let (kind, why) = failed(yard.have("1").await);
        assert_eq!((kind, why.contains("too often")), (FailureKind::Spawn, true), "{why}");
        assert!(began.elapsed() < millis(500), "at once, without waiting for the next start");
        eventually("no worker is left", || room.processes().is_empty());
    });
}

#[test]
fn i01_what_is_no_unicode_is_no_answer_of_a_worker() {
    with_raw(
        "say(type='hello', protocol=2)
for call in calls():
    sys.stdout.buffer.write(b'{\"type\":\"answer\",\"id\":\"%s\",\"answer\":{\"log\":\"\\xff\"}}\\n' % call['id'].encode())
    sys.stdout.buffer.flush()",
        async |_, yard| {
            yard.warm().await;
            let (kind, _) = failed(yard.within(millis(200), json!({})).await);
            assert_eq!(kind, FailureKind::Timeout);
            yard.line(LogSource::Stray, "answer").await;
        },
    );
}

#[test]
fn i03_an_answer_that_is_very_deep_goes_on_unread() {
    with_raw(
        "say(type='hello', protocol=2)
for call in calls(): put('{\"type\":\"answer\",\"id\":\"%s\",\"answer\":%s}\\n' % (call['id'], '[' * 100000 + ']' * 100000))",
        async |_, yard| {
            let WorkerEnded::Answered(text) = yard.ask(json!({})).await else { panic!("no answer") };
            assert_eq!(text.len(), 200_000);
        },
    );
}

#[test]
fn i04_a_hook_that_cannot_be_shown_the_whole_event_has_not_allowed_it() {
    with_each(async |_, yard, _| {
        let large = json!({ "do": "1", "text": "x".repeat(11 << 20) });
        assert_eq!(yard.ask(large).await, WorkerEnded::TooLarge);
        yard.answers().await;
    });
}

#[test]
fn i05_numbers_that_json_cannot_say_are_no_answer() {
    with_each(async |_, yard, language| {
        let (said, expected) = match language.program {
            "python3" => ("float('nan')", None),
            // What JavaScript writes for it is null.
            _ => ("NaN", Some("{\"log\":null}")),
        };
        let ended = yard.have(said).await;
        match expected {
            Some(text) => assert_eq!(ended, answered(text)),
            None => assert_eq!(failed(ended).0, FailureKind::Panic),
        }
    });
}

#[test]
fn i06_noise_of_a_worker_is_no_answer() {
    with_raw(
        "put('booting…\\n')
say(type='hello', protocol=2)
for call in calls():
    put('<html>\\n[]\\nnull\\n{\\n{\"type\":\"answer\",\"id\":1,\"id\":1}\\n{} {}\\n\\n')
    say(type='cancelled', id='0' * 32)
    say(type='answer', id=call['id'], answer={'log': 1})",
        async |_, yard| {
            assert_eq!(yard.ask(json!({})).await, answered("{\"log\": 1}"));
            assert_eq!(yard.ask(json!({})).await, answered("{\"log\": 1}"));
            for noise in ["<html>", "[]", "null", "{} {}"] {
                assert!(yard.has_line(LogSource::Stray, noise), "{noise}: {:?}", yard.logs());
            }
        },
    );
}

#[test]
fn i06_half_a_line_is_no_answer() {
    let half = "say(type='hello', protocol=2)
for call in calls():
    put('{\"type\":\"answer\",\"id\":\"%s\",' % call['id'])";
    with_raw(&format!("{half}\n    time.sleep(600)"), async |room, yard| {
        yard.warm().await;
        let (kind, _) = failed(yard.within(millis(200), json!({})).await);
        assert_eq!(kind, FailureKind::Timeout);
        eventually_none(room).await;
    });
    with_raw(&format!("{half}\n    sys.exit(0)"), async |_, yard| {
        let (kind, why) = failed(yard.ask(json!({})).await);
        assert_eq!((kind, why.contains("status 0")), (FailureKind::Exit, true), "{why}");
    });
}

#[test]
fn i04_a_line_that_is_too_long_is_dropped_and_the_call_is_out_of_time() {
    let bounds = lineside_core::worker::HookWorkerBounds { frame: 100_000, ..bounds() };
    crate::yard::with_raw_in(
        "say(type='hello', protocol=2)
for call in calls():
    say(type='answer', id=call['id'], answer={'log': 'x' * call['event']['size']})",
        bounds,
        async |_, yard| {
            yard.warm().await;
            let (kind, _) = failed(yard.within(millis(500), json!({ "size": 1_000_000 })).await);
            assert_eq!(kind, FailureKind::Timeout);
            assert!(yard.has_line(LogSource::Supervisor, "bytes was dropped"), "{:?}", yard.logs());
            let ended = yard.ask(json!({ "size": 90_000 })).await;
            assert!(matches!(ended, WorkerEnded::Answered(_)), "{ended:?}");
        },
    );
}

async fn eventually_none(room: &Room) {
    while !room.processes().is_empty() {
        tokio::time::sleep(millis(1)).await;
    }
}
