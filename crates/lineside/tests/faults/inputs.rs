//! What is said by hooks, and to them.

use lineside::core::FailureKind;
use lineside::prelude::*;

use crate::bench::{Bench, cause};

/// What a guard prints.
fn printing(said: &str, test: impl AsyncFnOnce(&crate::bench::Stage)) {
    let bench = Bench::enter();
    bench.hook("h", "on_failure: block", "#!/bin/sh\ncat \"$AGENT_HOOK_DIR/said\"\n");
    std::fs::write(bench.path(".agents/hooks/h/said"), said).unwrap();
    bench.run(test);
}

#[test]
fn i01_a_decision_in_broken_text_is_none() {
    let bench = Bench::enter();
    bench.hook("h", "on_failure: block", "#!/bin/sh\nprintf '{\"decision\": \"al\\377low\"}'\n");
    bench.run(async |stage| assert_eq!(cause(&stage.shell("ls").await).kind, FailureKind::Output));
    for said in ["{\"decision\": \"\\ud800\"}", "{\"decision\": \"allow\0\"}"] {
        printing(said, async |stage| {
            let decision = stage.shell("ls").await;
            assert!(decision.is_refused());
            assert_eq!(cause(&decision).kind, FailureKind::Output);
        });
    }
}

#[test]
fn i02_a_decision_that_is_said_twice_never_allows() {
    for said in [
        "{\"decision\": \"deny\", \"decision\": \"allow\"}",
        "{\"decision\": \"allow\", \"decision\": \"deny\"}",
        "{\"decision\": \"allow\", \"decision\": \"allow\"}",
    ] {
        printing(said, async |stage| assert!(stage.shell("ls").await.is_refused(), "{said}"));
    }
}

#[test]
fn i03_a_decision_of_great_depth_or_width_costs_no_stack() {
    let deep = format!("{{\"log\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    printing(&deep, async |stage| {
        // Fields that do not count are not read; the hook says nothing either way.
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused() || decision.receipt().is_some());
    });
    let deep = deep.replace("log", "modified_input");
    printing(&deep, async |stage| assert_eq!(cause(&stage.shell("ls").await).kind, FailureKind::Output));
    let wide: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\": {n}")).collect();
    let wide = format!("{{\"decision\": \"deny\", \"reason\": \"wide\", {}}}", wide.join(", "));
    printing(&wide, async |stage| {
        assert_eq!(stage.shell("ls").await.verdict(), &Verdict::block("wide"));
    });
}

#[test]
fn i04_a_guard_sees_the_whole_of_a_large_event() {
    let bench = Bench::enter();
    let script = "#!/bin/sh\n[ $(wc -c) -gt 10485760 ] && { echo whole >&2; exit 2; }\nexit 0\n";
    bench.hook("h", "timeout: 60000\non_failure: block", script);
    bench.run(async |stage| {
        assert_eq!(stage.shell(&"x".repeat(10 << 20)).await.verdict(), &Verdict::block("whole"));
    });
}

#[test]
fn i05_numbers_pass_through_a_rewrite_as_they_are() {
    let numbers = "{\"command\": \"ls\", \"n\": [9007199254740993, 1e400, -0, 1.10, \
                   1234567890123456789012345678901234567890, 1e-400]}";
    printing(&format!("{{\"modified_input\": {numbers}}}"), async |stage| {
        let decision = stage.shell("ls").await;
        let expected: lineside::json::Value = lineside::json::from_str(numbers).unwrap();
        assert_eq!(decision.payload().tool_input.to_string(), expected.to_string());
    });
    for said in ["NaN", "Infinity", "-Infinity"] {
        printing(&format!("{{\"modified_input\": {{\"n\": {said}}}}}"), async |stage| {
            assert_eq!(cause(&stage.shell("ls").await).kind, FailureKind::Output, "{said}");
        });
    }
}

#[test]
fn i06_what_begins_like_a_decision_and_is_none_is_a_failure() {
    for said in [
        "{\"decision\": \"allow\"} trailing",
        "{\"decision\": \"allow\"}\n{\"decision\": \"allow\"}",
        "{\"decision\": \"allow\",}",
        "{decision: allow}",
        "[{\"decision\": \"allow\"}]",
        "\"allow\"",
        "null",
        "true",
    ] {
        printing(said, async |stage| {
            let decision = stage.shell("ls").await;
            assert!(decision.is_refused(), "{said}");
            assert_eq!(cause(&decision).kind, FailureKind::Output, "{said}");
        });
    }
}

#[test]
fn i09_what_an_event_says_is_no_path_and_no_shell_text() {
    for odd in
        ["../../x", "$(touch CANARY)", "`touch CANARY`", "; touch CANARY", "a\r\nb", "\u{202e}x", "'\" x"]
    {
        let bench = Bench::enter();
        let root = bench.root().to_owned();
        bench.hook(
            "h",
            "on_failure: block",
            "#!/bin/sh\ncat >/dev/null\nprintf '%s' \"$AGENT_HOOK_SESSION_ID\" >&2\nexit 2\n",
        );
        bench.run(async |stage| {
            let session = stage.assembly.bus().session(odd).project_root(root.to_str().unwrap());
            let session = session.open().await.unwrap();
            let call = BeforeTool::new(odd, json!({ "command": odd }));
            let decision = session.publish(call).await.unwrap();
            assert_eq!(decision.verdict(), &Verdict::block(odd.trim().to_owned()), "{odd:?}");
        });
        assert!(!root.join("CANARY").exists());
    }
}
