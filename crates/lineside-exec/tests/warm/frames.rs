//! The protocol as the page `workers.md` has it, frame by frame.

use lineside_core::failure::FailureKind;
use lineside_core::json::{Value, json};

use crate::room::millis;
use crate::yard::{failed, with_raw};

/// Keeps what it hears in a file, and answers calls until one says that it is the last.
const KEEPS: &str = "say(type='hello', protocol=2, later=[1])
kept = open(sys.argv[0] + '.kept', 'w')
def keep(frame):
    kept.write(json.dumps(frame) + '\\n')
    kept.flush()
keep(hello)
while True:
    frame = hear()
    keep(frame)
    if frame['type'] == 'call' and not frame['event'].get('waits'):
        say(type='later', id=frame['id'])
        say(type='answer', id=frame['id'], answer={}, later=1)
    if frame['type'] == 'cancel':
        say(type='cancelled', id=frame['id'])
    if frame['type'] == 'shutdown':
        say(type='bye')
        sys.exit()";

#[test]
fn a_worker_hears_hello_calls_cancellations_and_shutdown() {
    let kept = std::cell::RefCell::new(Vec::new());
    with_raw(KEEPS, async |room, yard| {
        yard.ask(json!({ "a": [1, "é"] })).await;
        assert_eq!(failed(yard.within(millis(100), json!({ "waits": true })).await).0, FailureKind::Timeout);
        yard.ask(json!({})).await;
        yard.worker.shutdown().await;
        let text = std::fs::read_to_string(room.path("raw.py.kept")).unwrap();
        kept.replace(
            text.lines().map(|line| lineside_core::json::from_str::<Value>(line).unwrap()).collect(),
        );
    });
    let mut kept = kept.into_inner();
    let mut ids: Vec<Value> = Vec::new();
    for frame in &mut kept {
        // By their order, because they are not known before.
        if let Some(id) = frame.get_mut("id") {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
            *id = json!(ids.iter().position(|known| known == id).map(|place| place + 1));
        }
        // How much time is left is not always the same.
        if let Some(left) = frame.get_mut("deadline_ms") {
            assert!(left.as_u64().unwrap() <= 10_000, "{left}");
            *left = json!("…");
        }
    }
    let runtime = concat!("lineside ", env!("CARGO_PKG_VERSION"));
    let call = |id: u64, event: Value| json!({ "type": "call", "id": id, "deadline_ms": "…", "hook": "check", "event": event });
    assert_eq!(
        kept,
        [
            json!({ "type": "hello", "protocol": 2, "runtime": runtime, "max_frame_bytes": 10_485_760 }),
            call(1, json!({ "a": [1, "é"] })),
            call(2, json!({ "waits": true })),
            json!({ "type": "cancel", "id": 2, "reason": "timeout" }),
            call(3, json!({})),
            json!({ "type": "shutdown", "grace_ms": 2000 }),
        ]
    );
}

#[test]
fn an_event_has_to_stand_in_one_line() {
    with_raw(KEEPS, async |_, yard| {
        let call = lineside_core::worker::HookCall {
            environment: lineside_core::Propagation::none(),
            hook: "check".to_owned(),
            event: "{\n}".to_owned(),
            timeout: millis(1000),
            tree: None,
        };
        assert_eq!(failed(yard.worker.call(call).await).0, FailureKind::Error);
    });
}
