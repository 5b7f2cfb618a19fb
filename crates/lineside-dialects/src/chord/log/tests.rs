//! The lines, to the byte.

use std::time::Duration;

use lineside_core::SkipReason;
use lineside_core::invocation::{Ended, Exit};
use lineside_core::json::json;

use super::lines;
use crate::chord::samples::{captured, event, hook, printed};
use crate::handler::{Call, Handler as _, LogStage, Returned};

fn check(ended: Ended, expected: &str) {
    let hook = hook("on_idle", "");
    let event = event("on_idle", json!({}));
    let Ok(Call::Command(mut invocation)) = hook.prepare(&event) else { panic!() };
    invocation.stdin = b"{\"data\":{}}".to_vec();
    let call = Call::Command(invocation);
    assert_eq!(lines(&hook, &LogStage::Starting { call: &call }), [] as [String; 0]);
    let returned = Returned::Command(ended);
    let result = hook.read(&event, &returned);
    let took = Duration::from_millis(12);
    let stage = LogStage::Finished { call: Some(&call), returned: Some(&returned), result: &result, took };
    assert_eq!(lines(&hook, &stage), [expected]);
}

#[test]
fn a_run_is_one_line() {
    // CH-63
    check(
        printed("a\nb"),
        r#"hook execution status=executed point=on_idle hook="h" exit=0 duration_ms=12 input="{\"data\":{}}" output="a\nb" stderr="""#,
    );
    check(
        Ended { exit: Exit::Code(3), stderr: captured("no"), ..printed("") },
        r#"hook execution status=failed point=on_idle hook="h" exit=3 duration_ms=12 detail="exit status 3 (stderr: no)" input="{\"data\":{}}" output="" stderr="no""#,
    );
    check(
        Ended { exit: Exit::Signal(15), ..printed("") },
        r#"hook execution status=failed point=on_idle hook="h" signal=15 duration_ms=12 detail="signal 15" input="{\"data\":{}}" output="" stderr="""#,
    );
    let after = Duration::from_secs(1);
    check(
        Ended { exit: Exit::TimedOut { after }, ..printed("") },
        r#"hook execution status=timed_out point=on_idle hook="h" duration_ms=12 detail="timed out after 1 s" input="{\"data\":{}}" output="" stderr="""#,
    );
}

#[test]
fn output_that_was_cut_has_a_note() {
    // CH-35, CH-40
    let mut ended = printed("a");
    ended.stdout.dropped = 5;
    check(
        ended,
        r#"hook execution status=executed point=on_idle hook="h" exit=0 duration_ms=12 input="{\"data\":{}}" output="a" output_dropped_bytes=5 stderr="""#,
    );
}

#[test]
fn an_event_that_a_hook_does_not_run_for_is_one_line() {
    // CH-63
    let stage = LogStage::Skipped { why: SkipReason::Filter };
    assert_eq!(
        lines(&hook("on_idle", ""), &stage),
        [r#"hook execution status=skipped point=on_idle hook="h" reason=filter"#]
    );
}
