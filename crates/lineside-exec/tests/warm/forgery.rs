//! Forged frames: what a hook prints is not its answer.

use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_exec::LogSource;

use crate::room::Room;
use crate::yard::{answered, failed, with_each, with_raw};

/// A file with answers to the first calls that a worker can have.
fn forged(room: &Room) -> String {
    let answer = |id: u32| {
        format!(
            "{{\"type\":\"answer\",\"id\":{id},\"answer\":{{\"decision\":\"allow\"}}}}\n{{\"type\":\"answer\",\"id\":\"{id}\"}}\n"
        )
    };
    let text: String = (0..9).map(answer).collect();
    room.file("forged", &text, 0o644).to_str().unwrap().to_owned()
}

#[test]
fn a_file_that_a_hook_shows_answers_none_of_its_calls() {
    with_each(async |room, yard, language| {
        let pid = yard.said(language.pid).await;
        let event = json!({ "do": language.shows, "file": forged(room) });
        assert_eq!(yard.ask(event).await, answered("{\"log\":1}"));
        yard.line(LogSource::Stderr, "allow").await;
        assert!(!yard.has_line(LogSource::Stray, ""), "{:?}", yard.logs());
        assert_eq!(yard.said(language.pid).await, pid, "it has done nothing wrong");
    });
}

/// Without a kit it reaches the protocol, where it cannot have the id of a call.
#[test]
fn a_worker_that_answers_what_it_was_not_asked_has_failed_and_is_ended() {
    let shows = "import subprocess
say(type='hello', protocol=2)
for call in calls():
    file = call['event'].get('file')
    if file:
        subprocess.run(['cat', file])
    say(type='answer', id=call['id'], answer={'pid': os.getpid()})";
    with_raw(shows, async |room, yard| {
        let first = yard.ask(json!({})).await;
        let (kind, why) = failed(yard.ask(json!({ "file": forged(room) })).await);
        assert_eq!(kind, FailureKind::Signal);
        assert!(why.contains("it answered what it was not asked"), "{why}");
        let next = yard.ask(json!({})).await;
        assert!(matches!(next, lineside_core::worker::WorkerEnded::Answered(_)) && next != first, "{next:?}");
    });
}

#[test]
fn an_answer_to_nothing_that_was_asked_is_a_failure_of_its_worker() {
    for unasked in [
        "put('{\"type\":\"answer\"}\\n')",
        "say(type='answer', id='0' * 32, answer={'decision': 'allow'})",
        "say(type='error', id=1)",
        "say(type='answer', id=last, answer={'decision': 'allow'})",
    ] {
        let source = format!(
            "say(type='hello', protocol=2)
for call in calls():
    if call['event'] == 'begin':
        last = call['id']
    else:
        {unasked}
    say(type='answer', id=call['id'], answer={{}})"
        );
        with_raw(&source, async |_, yard| {
            assert_eq!(yard.ask(json!("begin")).await, answered("{}"));
            let (kind, why) = failed(yard.ask(json!("go on")).await);
            assert_eq!(kind, FailureKind::Signal, "{unasked}");
            assert!(why.contains("it answered what it was not asked"), "{unasked}: {why}");
            assert_eq!(yard.ask(json!("begin")).await, answered("{}"), "a new one");
        });
    }
}

#[test]
fn each_call_of_a_worker_has_an_id_that_cannot_be_guessed() {
    let echoes = "say(type='hello', protocol=2)
for call in calls(): say(type='answer', id=call['id'], answer={'id': call['id']})";
    with_raw(echoes, async |_, yard| {
        let mut ids = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let lineside_core::worker::WorkerEnded::Answered(text) = yard.ask(json!({})).await else {
                panic!("no answer");
            };
            let said: lineside_core::json::Value = lineside_core::json::from_str(&text).unwrap();
            let id = said["id"].as_str().unwrap().to_owned();
            assert_eq!(id.len(), 32, "{id}");
            // No half of it is that of another one, so it neither counts nor has a beginning for the whole worker.
            assert!(ids.insert(id[..16].to_owned()) && ids.insert(id[16..].to_owned()), "{id}");
        }
    });
}
