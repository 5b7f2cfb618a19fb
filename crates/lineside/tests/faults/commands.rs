//! Guards that are commands.

use std::sync::atomic::{AtomicBool, Ordering};

use lineside::core::FailureKind;
use lineside::prelude::*;

use crate::bench::{Bench, cause, shell};

/// A guard that cannot answer, how its end is called, and a part of why.
const CANNOT_ANSWER: &[(&str, FailureKind, &str)] = &[
    ("#!/bin/sh\nexit 1\n", FailureKind::Exit, "exit status 1"),
    ("#!/bin/sh\nexit 3\n", FailureKind::Exit, "exit status 3"),
    ("#!/bin/sh\nexit 126\n", FailureKind::Exit, "exit status 126"),
    ("#!/bin/sh\nexit 127\n", FailureKind::Exit, "exit status 127"),
    ("#!/bin/sh\nexit 255\n", FailureKind::Exit, "exit status 255"),
    ("#!/bin/sh\nkill -SEGV $$\n", FailureKind::Signal, "signal 11"),
    ("#!/bin/sh\nkill -KILL $$\n", FailureKind::Signal, "signal 9"),
    ("#!/no/such/interpreter\n", FailureKind::Spawn, "interpreter"),
    ("#!/bin/sh\nexec sleep 600\n", FailureKind::Timeout, "timed out after 1 s"),
    ("#!/bin/sh\necho '{\"decision\": \"maybe\"}'\n", FailureKind::Output, "decision"),
    ("#!/bin/sh\necho '{\"decision\": 1}'\n", FailureKind::Output, "decision"),
    ("#!/bin/sh\nprintf '{\"decision\": \"allow\"'\n", FailureKind::Output, "unreadable"),
    ("#!/bin/sh\necho '{} {}'\n", FailureKind::Output, "unreadable"),
    ("#!/bin/sh\necho '[]'\n", FailureKind::Output, "not an object"),
    ("#!/bin/sh\necho null\n", FailureKind::Output, "not an object"),
];

#[test]
fn d03_a_command_that_cannot_answer_meets_its_policy_and_says_why() {
    for (script, kind, part) in CANNOT_ANSWER {
        for (policy, refused) in [("block", true), ("continue", false)] {
            let bench = Bench::enter();
            bench.hook("h", &format!("timeout: 1000\non_failure: {policy}"), script);
            bench.run(async |stage| {
                let decision = stage.shell("ls").await;
                assert_eq!(decision.is_refused(), refused, "{script} {policy}");
                let cause = cause(&decision);
                assert_eq!(cause.kind, *kind, "{script}: {cause}");
                assert!(cause.detail.contains(part), "{script}: {cause}");
                assert_eq!(decision.payload().command().as_deref(), Some("ls"));
                assert_eq!(stage.assembly.bus().failures(), 1, "counted, whatever its policy");
            });
        }
    }
}

#[test]
fn p10_only_an_exit_that_says_so_lets_an_action_pass() {
    for (code, refused) in
        [(0, false), (1, true), (2, true), (3, true), (126, true), (127, true), (255, true)]
    {
        let bench = Bench::enter();
        bench.hook("h", "on_failure: block", &format!("#!/bin/sh\nexit {code}\n"));
        bench.run(async |stage| assert_eq!(stage.shell("ls").await.is_refused(), refused, "{code}"));
    }
}

#[test]
fn p01_a_guard_that_ignores_sigterm_blocks_in_time() {
    let bench = Bench::enter();
    bench.hook(
        "h",
        "timeout: 300\non_failure: block",
        "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 600; done\n",
    );
    bench.run(async |stage| {
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        assert_eq!(cause(&decision).kind, FailureKind::Timeout);
    });
}

#[test]
fn p02_a_decision_counts_at_the_exit_although_a_helper_holds_the_pipe() {
    let bench = Bench::enter();
    let done = bench.path("done");
    let helper = format!("(while ! [ -e {} ]; do sleep 0.01; done) &", done.display());
    bench.hook("h", "", &format!("#!/bin/sh\n{helper}\necho not that >&2; exit 2\n"));
    bench.run(async |stage| {
        assert_eq!(stage.shell("ls").await.verdict(), &Verdict::block("not that"));
        // Agent Hooks leaves it alone.
        std::fs::write(&done, "").unwrap();
    });
}

#[test]
fn p03_what_left_the_group_of_a_guard_ends_at_its_timeout() {
    let bench = Bench::enter();
    let script = "#!/bin/sh\n(setsid sh -c 'trap \"\" TERM; sleep 600' >/dev/null 2>&1 &)\nsleep 600\n";
    bench.hook("h", "timeout: 500\non_failure: block", script);
    bench.run(async |stage| assert_eq!(cause(&stage.shell("ls").await).kind, FailureKind::Timeout));
}

#[test]
fn p04_a_guard_that_does_not_read_is_heard() {
    let bench = Bench::enter();
    bench.hook("h", "", "#!/bin/sh\necho not that >&2; exit 2\n");
    bench.run(async |stage| {
        let decision = stage.shell(&"x".repeat(1 << 20)).await;
        assert_eq!(decision.verdict(), &Verdict::block("not that"));
    });
}

#[test]
fn p05_a_decision_that_is_longer_than_its_limit_is_none() {
    let bench = Bench::enter();
    let script = "#!/bin/sh\nprintf '{\"log\": \"'; head -c 11000000 /dev/zero | tr '\\0' x; printf '\"}'\n";
    bench.hook("h", "on_failure: block", script);
    bench.run(async |stage| {
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        assert_eq!(cause(&decision).kind, FailureKind::Output);
    });
}

#[test]
fn p09_a_guard_whose_program_has_gone_blocks_and_names_it() {
    let bench = Bench::enter();
    bench.hook("h", "on_failure: block", "#!/bin/sh\n");
    let script = bench.path(".agents/hooks/h/scripts/run.sh");
    bench.run(async |stage| {
        assert!(!stage.shell("ls").await.is_refused());
        std::fs::remove_file(script).unwrap();
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        assert_eq!(cause(&decision).kind, FailureKind::Spawn);
    });
}

#[test]
fn d02_a_block_without_a_word_gets_a_reason() {
    let bench = Bench::enter();
    bench.hook("h", "", "#!/bin/sh\nexit 2\n");
    bench.run(async |stage| {
        assert_eq!(stage.shell("ls").await.verdict(), &Verdict::block("Blocked by hook (exit code 2)"));
    });
    for reason in ["\"\"", "null", "7", "[]"] {
        let bench = Bench::enter();
        bench.hook("h", "", &format!("#!/bin/sh\necho '{{\"decision\": \"deny\", \"reason\": {reason}}}'\n"));
        bench.run(async |stage| {
            let decision = stage.shell("ls").await;
            assert!(decision.is_refused(), "{reason}");
            assert!(!decision.reason().unwrap().as_str().is_empty());
        });
    }
}

#[test]
fn d07_a_rewrite_that_breaks_off_changes_nothing() {
    for rewrite in
        ["{\"modified_input\": {\"command\": \"rm", "{\"modified_input\": 7}", "{\"modified_input\": []}"]
    {
        let bench = Bench::enter();
        bench.hook("h", "on_failure: continue", &format!("#!/bin/sh\nprintf '%s' '{rewrite}'\n"));
        bench.run(async |stage| {
            let decision = stage.shell("ls").await;
            assert_eq!(cause(&decision).kind, FailureKind::Output, "{rewrite}");
            assert_eq!(decision.payload().command().as_deref(), Some("ls"));
            assert!(decision.changes().is_empty());
        });
    }
}

#[test]
fn d08_guards_that_the_events_time_does_not_reach_have_failed() {
    let bench = Bench::enter();
    bench.hook("slow", "priority: 9\ntimeout: 60000\non_failure: continue", "#!/bin/sh\nexec sleep 600\n");
    bench.hook("guard", "priority: 1\non_failure: block", "#!/bin/sh\nexit 0\n");
    bench.run(async |stage| {
        let decision = stage.session.event(shell("ls")).within(millis(500)).publish().await.unwrap();
        assert!(decision.is_refused());
        assert!(decision.reason().unwrap().as_str().contains("slow"), "{:?}", decision.reason());
    });
}

#[test]
fn d10_no_guard_of_two_hundred_passes_by_failure_under_load() {
    let bench = Bench::enter();
    bench.hook("h", "timeout: 60000\non_failure: block", "#!/bin/sh\necho not that >&2; exit 2\n");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let busy = std::thread::available_parallelism().map_or(2, std::num::NonZero::get) * 4;
        for _ in 0..busy {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        bench.run(async |stage| {
            let mut events = tokio::task::JoinSet::new();
            for number in 0..200 {
                let session = stage.session.clone();
                events.spawn(async move { session.publish(shell(&number.to_string())).await.unwrap() });
            }
            while let Some(decision) = events.join_next().await {
                assert_eq!(decision.unwrap().verdict(), &Verdict::block("not that"));
            }
            over.store(true, Ordering::Relaxed);
            assert_eq!(stage.assembly.bus().failures(), 0);
        });
        over.store(true, Ordering::Relaxed);
    });
}
