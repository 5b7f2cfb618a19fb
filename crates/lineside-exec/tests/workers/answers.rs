//! Answers, and what cannot be one.

use lineside_core::failure::FailureKind;
use lineside_core::json::{Value, json};
use lineside_core::worker::{CallClass, WorkerEnded};
use lineside_exec::LogSource;

use crate::room::millis;
use crate::set::{call, failed, guard, returned, with, within};

/// A guard that answers what the source text of the event says.
const SAYS: &str = "module.exports = (api) => { for (const hook of ['before_tool_call', 'message_sending',
    'before_agent_finalize', 'before_prompt_build', 'tool_result_persist', 'agent_end'])
    api.on(hook, (e, ctx) => eval(e.params.say)); };";

async fn says(set: &crate::set::Set, hook: &str, class: CallClass, say: &str) -> WorkerEnded {
    set.ask(call("a", hook, class, json!({ "params": { "say": say } }))).await
}

async fn unreadable(set: &crate::set::Set, hook: &str, say: &str) -> String {
    let (kind, message) = failed(says(set, hook, CallClass::Modifying, say).await);
    assert_eq!(kind, FailureKind::Output, "{say}");
    message
}

/// OC-46: no decision.
#[test]
fn what_is_no_object_decides_nothing() {
    with(&[("a", SAYS)], async |_, set| {
        for say in ["undefined", "null", "true", "7", "'block'", "(() => {})", "[{ block: true }]", "({})"] {
            let ended = says(set, "before_tool_call", CallClass::Modifying, say).await;
            assert_eq!(ended, WorkerEnded::Returned(None), "{say}");
        }
        // A field that is passed over is named, so that it can be remarked.
        let ended = says(set, "before_tool_call", CallClass::Modifying, "({ x: 1 })").await;
        assert_eq!(ended, returned(json!({ "$unknown": ["x"] })));
        let ended = says(set, "agent_end", CallClass::Void, "({ block: true })").await;
        assert_eq!(ended, WorkerEnded::Returned(None), "what a void hook returns is not read");
    });
}

/// OC-46: dates are text, functions and undefined members are left out, unknown fields and nulls do not count; what was
/// unknown is named.
#[test]
fn an_answer_is_what_json_makes_of_it() {
    with(&[("a", SAYS)], async |_, set| {
        let say = "({ params: { when: new Date(0), f() {}, u: undefined, m: 1 }, block: null, x: 1n && 2 })";
        let ended = says(set, "before_tool_call", CallClass::Modifying, say).await;
        let params = json!({ "when": "1970-01-01T00:00:00.000Z", "m": 1 });
        assert_eq!(ended, returned(json!({ "params": params, "$unknown": ["x"] })));
        let deep = "(() => { let v = 1; for (let i = 0; i < 62; i++) v = [v]; return { params: { v } }; })()";
        let ended = says(set, "before_tool_call", CallClass::Modifying, deep).await;
        assert!(matches!(ended, WorkerEnded::Returned(Some(_))), "{ended:?}");
    });
}

/// OC-46, OC-54, OC-68: an answer that cannot be read is a failure at once.
#[test]
fn an_answer_that_is_not_json_is_a_failure() {
    with(&[("a", SAYS)], async |_, set| {
        for (say, part) in [
            ("({ params: { n: 10n } })", "BigInt"),
            ("(() => { const o = {}; o.params = { o }; return o; })()", "circular"),
            ("({ params: { text: 'a\\ud800b' } })", "lone surrogate"),
            (
                "(() => { let v = 1; for (let i = 0; i < 63; i++) v = [v]; return { params: { v } }; })()",
                "64 levels",
            ),
            (
                "(() => { let v = 1; for (let i = 0; i < 1e5; i++) v = [v]; return { params: { v } }; })()",
                "deep",
            ),
            ("({ params: { big: 'x'.repeat(33 << 20) } })", "larger than"),
            ("({ get params() { throw Error('no') } })", "no"),
        ] {
            let message = unreadable(set, "before_tool_call", say).await;
            assert!(message.contains(part), "{say}: {message}");
        }
    });
}

/// OC-46 to OC-53: each field has its type.
#[test]
fn a_field_of_the_wrong_type_is_a_failure() {
    with(&[("a", SAYS)], async |_, set| {
        for (hook, say, part) in [
            ("before_tool_call", "({ block: 'yes', params: {} })", "block must be a boolean"),
            ("before_tool_call", "({ block: () => true })", "function as block"),
            ("before_tool_call", "({ params: 'ls' })", "params must be an object"),
            ("before_tool_call", "({ params: [1] })", "params must be an object"),
            ("before_tool_call", "({ blockReason: 1 })", "blockReason must be a string"),
            ("before_tool_call", "({ requireApproval: true })", "requireApproval must be an object"),
            (
                "before_tool_call",
                "({ requireApproval: { title: 1 } })",
                "requireApproval.title must be a string",
            ),
            ("message_sending", "({ cancel: 1 })", "cancel must be a boolean"),
            ("message_sending", "({ metadata: [] })", "metadata must be an object"),
            ("before_agent_finalize", "({ action: 'retry' })", "action must be \"continue\""),
            (
                "before_agent_finalize",
                "({ retry: { maxAttempts: '2' } })",
                "retry.maxAttempts must be a number",
            ),
            ("before_prompt_build", "({ toolsAllow: [1] })", "toolsAllow must be an array of strings"),
            ("tool_result_persist", "({ message: { content: 1 } })", "message must be an object with"),
        ] {
            let message = unreadable(set, hook, say).await;
            assert!(message.contains(part), "{say}: {message}");
        }
    });
}

/// OC-54: whatever was thrown.
#[test]
fn what_throws_or_rejects_is_a_panic() {
    with(&[("a", SAYS)], async |_, set| {
        for (say, message) in [
            ("(() => { throw new Error('boom'); })()", "boom"),
            ("Promise.reject(new TypeError('later'))", "later"),
            ("(() => { throw 'text'; })()", "text"),
            ("(() => { throw undefined; })()", "undefined"),
            ("(() => { throw Object.create(null); })()", "unknown error"),
            ("(() => { throw new TypeError(''); })()", "unknown error"),
            ("(() => { throw ''; })()", "unknown error"),
            ("(() => { throw new Error('a\\nb\\t \\u001bc'); })()", "a b c"),
        ] {
            let ended = says(set, "before_tool_call", CallClass::Modifying, say).await;
            assert_eq!(failed(ended), (FailureKind::Panic, message.to_owned()), "{say}");
        }
        let ended = says(set, "agent_end", CallClass::Void, "Promise.reject(Error('void'))").await;
        assert_eq!(failed(ended).1, "void");
    });
}

/// OC-44: a promise is no answer there, whatever becomes of it.
#[test]
fn a_sync_hook_may_not_return_a_promise() {
    with(&[("a", SAYS)], async |_, set| {
        for say in ["Promise.resolve({})", "Promise.reject(Error('later'))", "({ then() {} })"] {
            let ended = says(set, "tool_result_persist", CallClass::Sync, say).await;
            let message = "tool_result_persist handler returned a Promise; this hook is synchronous and the result was ignored";
            assert_eq!(failed(ended), (FailureKind::Output, message.to_owned()));
        }
        let message = json!({ "content": "x" });
        let ended =
            says(set, "tool_result_persist", CallClass::Sync, "({ message: { content: 'x' } })").await;
        assert_eq!(ended, returned(json!({ "message": message })));
        assert!(!set.has_line(LogSource::Frame, "later"), "{:?}", set.logs());
    });
}

/// OC-50: said once, and not part of the answer.
#[test]
fn a_callback_of_an_approval_is_said_not_to_be_called() {
    with(&[("a", SAYS)], async |_, set| {
        for _ in 0..2 {
            let say = "({ requireApproval: { title: 't', severity: 'info', onResolution() {} } })";
            let ended = says(set, "before_tool_call", CallClass::Modifying, say).await;
            assert_eq!(ended, returned(json!({ "requireApproval": { "title": "t", "severity": "info" } })));
        }
        let said = set.lines(LogSource::Frame);
        let said = said.iter().filter(|(plugin, _, text)| {
            plugin.as_deref() == Some("a") && text == "requireApproval.onResolution is not called"
        });
        assert_eq!(said.count(), 1);
    });
}

/// OC-40: each call has a copy.
#[test]
fn what_a_handler_writes_into_its_event_reaches_nobody() {
    let writes = "module.exports = (api) => { api.config.a.b = 2; api.on('before_tool_call', (e) => { e.params.x = 1; return { params: e.params }; }); };";
    let reads = "module.exports = (api) => { api.on('before_tool_call', (e) => ({ params: { ...e.params, b: api.config.a.b } })); };";
    with(&[("a", writes), ("b", reads)], async |_, set| {
        let event = json!({ "y": 2 });
        assert_eq!(set.guard("a", event.clone()).await, returned(json!({ "params": { "y": 2, "x": 1 } })));
        assert_eq!(set.guard("b", event).await, returned(json!({ "params": { "y": 2, "b": 1 } })));
    });
}

/// OC-57, OC-78: a late answer belongs to no call.
#[test]
fn a_call_whose_time_is_over_has_failed_and_its_late_answer_is_ignored() {
    let late = "module.exports = (api) => { api.on('before_tool_call', async (e) => {
        await new Promise((done) => setTimeout(done, e.params.ms)); console.log('done'); return { block: true }; }); };";
    with(&[("a", late)], async |_, set| {
        let ended = set.ask(within(millis(300), guard("a", json!({ "ms": 900 })))).await;
        assert_eq!(failed(ended), (FailureKind::Timeout, "timed out after 300ms".to_owned()));
        set.said(LogSource::Frame, "done").await;
        assert_eq!(set.guard("a", json!({ "ms": 0 })).await, returned(json!({ "block": true })));
        assert_eq!(set.lines(LogSource::Supervisor), [], "neither stuck nor confused");
    });
}

/// OC-37, OC-38, OC-78: functions and signals of the context; `gone` aborts, a timeout does not.
#[test]
fn a_context_has_what_json_cannot_carry() {
    let plugin = "module.exports = (api) => {
        api.on('before_tool_call', async (e, ctx) => {
            ctx.abortSignal.addEventListener('abort', () => console.log('aborted ' + e.params.n));
            if (e.params.n) { console.log('waits ' + e.params.n); await new Promise(() => {}); }
            return { params: { ext: typeof ctx.getSessionExtension(), aborted: ctx.abortSignal.aborted } }; });
        let kept; api.on('before_prompt_build', (e, ctx) => { ctx.hookInvocation.assertActive(); kept = ctx.hookInvocation; });
        api.on('message_sending', () => { kept.assertActive(); });
        api.on('gateway_start', (e, ctx) => { console.log('cron ' + typeof ctx.getCron() + ' ' + ctx.config.a.b); }); };";
    with(&[("a", plugin)], async |_, set| {
        let answer = set.guard("a", json!({})).await;
        assert_eq!(answer, returned(json!({ "params": { "ext": "undefined", "aborted": false } })));
        let dropped = set.ask(guard("a", json!({ "n": 1 })));
        tokio::select! {
            ended = dropped => panic!("{ended:?}"),
            () = set.said(LogSource::Frame, "waits 1") => {}
        }
        set.said(LogSource::Frame, "aborted 1").await;
        set.ask(within(millis(30), guard("a", json!({ "n": 2 })))).await;
        let event = json!({ "prompt": "" });
        let ended = set.ask(call("a", "before_prompt_build", CallClass::Modifying, event)).await;
        assert_eq!(ended, WorkerEnded::Returned(None));
        let ended = set.ask(call("a", "message_sending", CallClass::Modifying, Value::Null)).await;
        assert_eq!(failed(ended).1, "prompt hook invocation is no longer active");
        set.ask(call("a", "gateway_start", CallClass::Void, json!({ "port": 0 }))).await;
        assert!(set.has_line(LogSource::Frame, "cron undefined 1"));
        assert!(!set.has_line(LogSource::Frame, "aborted 2"), "its time was over, and it was not cancelled");
    });
}
