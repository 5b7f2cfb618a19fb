//! The time of calls.

use std::time::Duration;

use lineside_core::Verdict;
use lineside_core::json::json;
use lineside_points::BeforeTool;
use tokio::time::timeout;

use super::*;

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_counts_while_it_waits_for_one_that_came_before() {
    let (bus, seconds) = (Bus::new(), Duration::from_secs);
    let never = bus.intercept::<BeforeTool>("never").timeout(seconds(60));
    never.gate(async |_, _| std::future::pending::<Verdict>().await).unwrap();
    let (hosts, origin) =
        (Hosts::new(bus), CallOrigin { within: Some(seconds(10)), ..CallOrigin::default() });
    let document = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t",
        "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let call = || {
        let call = HostCall { host: Host::Claude, event: None, stdin: document.to_string().into_bytes() };
        hosts.answer_from(call, &origin)
    };
    let began = tokio::time::Instant::now();
    // The second one has the place of the first when that is given up.
    let (first, second) = tokio::join!(biased; timeout(seconds(8), call()), call());
    assert!(first.is_err());
    assert!(second.unwrap().answer.stdout.contains(r#""permissionDecision":"deny""#));
    assert!(began.elapsed() < seconds(11), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_was_decided_before_a_guard_was_registered_is_judged_anew_when_it_comes_again() {
    let bus = Bus::new();
    let above = bus.session("above").open().await.unwrap();
    let origin = CallOrigin { parent: Some(above.clone()), ..CallOrigin::default() };
    let hosts = Hosts::new(bus.clone());
    let refuses = async |id: &str| {
        let document = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": id,
            "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let call = HostCall { host: Host::Claude, event: None, stdin: document.to_string().into_bytes() };
        let HostReply { answer, receipts, .. } = hosts.answer_from(call, &origin).await.unwrap();
        (answer.stdout.contains("deny"), receipts.len())
    };
    assert_eq!(refuses("t").await, (false, 1));
    assert_eq!(refuses("t").await, (false, 0), "it is not judged twice by the same hooks");
    let own = bus.find("s").unwrap();
    for place in [&own, &above] {
        let guard = place.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no")).unwrap();
        assert_eq!(refuses("t").await, (true, 1));
        assert_eq!(refuses("t").await, (true, 0));
        guard.remove();
        assert_eq!(refuses("t").await, (false, 1), "the guard is gone");
    }
    bus.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no")).unwrap();
    assert_eq!(refuses("t").await, (true, 1));
    // A session that is opened anew is another one, also with as many hooks as the one before.
    own.close().await;
    assert_eq!(refuses("t").await, (true, 1));
}
