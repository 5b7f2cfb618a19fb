//! Workers that start, and that cannot.

use std::time::Duration;

use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_core::worker::{StartWorkerError, WorkerEnded, WorkerScript};

use crate::room::{PATIENCE, Room, millis};
use crate::set::{Set, returned, spec, with};

/// OC-59, OC-72 to OC-77, OC-81: hello, hello, load, loaded, calls; state lives from call to call.
#[test]
fn a_worker_says_hello_loads_its_plugins_and_answers() {
    let counter = "let n = 0; module.exports = (api) => { globalThis.seen = api.config.a.b;
        api.on('before_tool_call', () => ({ params: { n: ++n } }), { priority: 5 });
        api.on('agent_end', () => {}, { timeoutMs: 20.9 }); };";
    let other = "module.exports = (api) => { api.on('before_tool_call', () => ({ params: { seen } })); };";
    with(&[("a", counter), ("b", other)], async |_, set| {
        let ready = set.ready.as_ref().unwrap();
        assert_eq!(ready.hello["protocol"], json!(1));
        assert_eq!(ready.hello.get("token"), None, "the token stays between the two");
        assert_eq!(
            set.loaded(0)["registrations"],
            json!([
                { "kind": "hook", "handler": 1, "hook": "before_tool_call", "priority": 5 },
                { "kind": "hook", "handler": 2, "hook": "agent_end", "priority": 0, "timeoutMs": 20 },
            ])
        );
        assert_eq!(set.loaded(1)["registrations"][0]["handler"], json!(3));
        for n in 1..=3 {
            assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": { "n": n } })));
        }
        assert_eq!(set.guard("b", json!({})).await, returned(json!({ "params": { "seen": 1 } })));
    });
}

/// What comes of a script that is not ours.
fn start(text: &'static str, hello: Duration) -> (StartWorkerError, WorkerEnded) {
    let room = Room::enter();
    let mut spec = spec(&room, &[]);
    spec.bounds.hello = hello;
    let files: &'static [(&str, &str)] = Box::leak(Box::new([("it.mjs", text)]));
    let outcome = room.block_on(async {
        let set = Set::start_script(spec, &WorkerScript { entry: "it.mjs", files }).await;
        let ended = set.guard("a", json!({})).await;
        (set.ready.unwrap_err(), ended)
    });
    room.leave();
    outcome
}

/// OC-66, OC-71, OC-72: another version is no worker, and neither is silence.
#[test]
fn a_worker_of_another_version_is_none() {
    let (error, ended) = start(
        "process.stdin.once('data', (data) => { const { token } = JSON.parse(data);
         process.stdout.write(JSON.stringify({ type: 'hello', token, protocol: 2 }) + '\\n', () => process.exit(2)); });",
        PATIENCE,
    );
    let StartWorkerError::Failed { why, hello: Some(hello) } = error else { panic!("{error:?}") };
    assert_eq!(why, "it does not speak version 1 of the protocol");
    assert_eq!(hello["protocol"], json!(2));
    let WorkerEnded::Failed { kind, started, .. } = ended else { panic!("{ended:?}") };
    assert_eq!((kind, started), (FailureKind::Spawn, false));
}

// OC-72.
#[test]
fn a_worker_that_is_silent_or_ends_is_none() {
    let (error, _) = start("setInterval(() => {}, 1000);", millis(400));
    let why = "it said no hello within 400ms".to_owned();
    assert_eq!(error, StartWorkerError::Failed { why, hello: None });
    let (error, _) = start("process.exit(3);", PATIENCE);
    let why = "the worker ended with status 3".to_owned();
    assert_eq!(error, StartWorkerError::Failed { why, hello: None });
}

// OC-17.
#[test]
fn without_its_program_there_is_no_worker() {
    let room = Room::enter();
    let mut spec = spec(&room, &[]);
    spec.program.argv[0] = "no-such-node".into();
    let set = room.block_on(Set::start(spec));
    let why = "cannot find program `no-such-node` in the PATH of hooks (that of a daemon has more with `daemon: {path: [FOLDER]}` in config.yaml)".to_owned();
    assert_eq!(set.ready, Err(StartWorkerError::NotFound { why }));
    room.leave();
}
