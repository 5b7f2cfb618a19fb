//! What processes of a session inherit, and what a grant is worth (FAULTS N4).

use std::process::Stdio;

use lineside::Client;
use lineside::client::RequestError;
use lineside::core::propagation::{GRANT, SESSION, SOCKET, TRACEPARENT};
use lineside::core::{Propagation, Traceparent};
use lineside::json::Value;
use lineside::prelude::*;

use crate::house::{House, json_request, read};
use crate::signals::Reader;

/// A hook that writes down what it has inherited.
const NOSY: &str = r#"
hooks:
  - name: nosy
    on: before_tool
    environment: inherit
    command: "cat >/dev/null; printf '%s\n' \"$LINESIDE_SOCKET\" \"$LINESIDE_SESSION\" \"$LINESIDE_GRANT\" \"$TRACEPARENT\" > ../inherited"
"#;

/// A client as a process has it that inherited these variables.
fn inheriting(variables: &Propagation) -> Client {
    Client::new(variables.get(SOCKET).unwrap()).granted(variables.get(GRANT).unwrap())
}

fn refused(error: &RequestError) -> (u16, String, bool) {
    let RequestError::Refused { status, kind, blocks, .. } = error else { panic!("{error}") };
    (*status, kind.rsplit(':').next().unwrap().to_owned(), *blocks)
}

#[tokio::test]
async fn what_an_inheriting_process_opens_is_a_child_under_the_hooks_of_its_parent() {
    let house = House::hooked("hooks:\n  - {name: no, on: before_tool, command: 'exit 2'}\n").await;
    let parent = house.client().session("s1").open().await.unwrap();
    let variables = parent.environment();
    assert_eq!(variables.get(SOCKET).unwrap(), house.socket().to_str().unwrap());
    assert_eq!(variables.get(SESSION), Some("s1"));
    let trace = Traceparent::read(variables.get(TRACEPARENT).unwrap()).unwrap();

    let child = inheriting(variables).session("s2").open().await.unwrap();
    let look: Value = house.client().get("/v1/sessions/s2").await.unwrap();
    assert_eq!((&look["parent"], &look["root"], &look["depth"]), (&json!("s1"), &json!("s1"), &json!(1)));
    let own = Traceparent::read(look["traceparent"].as_str().unwrap()).unwrap();
    assert!(own.trace == trace.trace && own.span != trace.span);
    let decision = child.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
    assert!(decision.is_refused());
    // And so on, down.
    let grandchild = inheriting(child.environment()).session("s3").open().await.unwrap();
    assert_ne!(grandchild.environment().get(GRANT), child.environment().get(GRANT));
    let look: Value = house.client().get("/v1/sessions/s3").await.unwrap();
    assert_eq!((&look["parent"], &look["root"], &look["depth"]), (&json!("s2"), &json!("s1"), &json!(2)));
    // Without a grant, it is a root session of the user.
    house.client().session("s4").open().await.unwrap();
    let look: Value = house.client().get("/v1/sessions/s4").await.unwrap();
    assert_eq!((&look["parent"], &look["depth"]), (&Value::Null, &json!(0)));
}

#[tokio::test]
async fn n04_a_grant_reaches_the_sessions_below_its_own_and_nothing_else() {
    let house = House::new().await;
    let user = house.client();
    let (mine, other) =
        (user.session("mine").open().await.unwrap(), user.session("other").open().await.unwrap());
    let below = inheriting(mine.environment());
    below.session("child").open().await.unwrap();
    let denied = async |method: hyper::Method, path: &str, body: Value| {
        let mut request = json_request(method, path, body.to_string().into_bytes());
        let grant = mine.environment().get(GRANT).unwrap().parse().unwrap();
        request.headers_mut().insert("lineside-grant", grant);
        let (status, problem) = read(house.request(request).await).await;
        assert_eq!((status, &problem["type"]), (403, &json!("urn:lineside:problem:not-granted")), "{path}");
    };
    use hyper::Method;
    let event = |session: &str| json!({"point": "on_idle", "session": session});
    for path in ["/v1/sessions", "/v1/receipts", "/v1/jobs", "/v1/signals", "/v1/status", "/v1/metrics"] {
        denied(Method::GET, path, Value::Null).await;
    }
    for path in
        ["/v1/sessions/mine", "/v1/sessions/other", "/v1/sessions/other/tree", "/v1/sessions/none/hooks"]
    {
        denied(Method::GET, path, Value::Null).await;
    }
    denied(Method::POST, "/v1/stop", json!({})).await;
    denied(Method::POST, "/v1/reload", json!({})).await;
    denied(Method::DELETE, "/v1/sessions/mine", Value::Null).await;
    denied(Method::DELETE, "/v1/sessions/other", Value::Null).await;
    denied(Method::POST, "/v1/events", event("mine")).await;
    denied(Method::POST, "/v1/events", event("other")).await;
    denied(Method::POST, "/v1/events?open=true", event("other")).await;
    denied(Method::POST, "/v1/sessions", json!({"id": "x", "parent": "other"})).await;
    denied(Method::POST, "/v1/sessions", json!({"id": "mine", "resume": true})).await;
    denied(Method::POST, "/v1/sessions/other/context/collect", json!({})).await;
    denied(Method::POST, "/v1/sessions/other/context/d/accept", json!({})).await;
    // In a batch, each event by itself.
    let batch = json!({"events": [event("child"), event("other")]});
    let answer: Value = below.post("/v1/events/batch", batch.as_object().unwrap()).await.unwrap();
    assert_eq!(answer["decisions"][0]["verdict"], json!("continue"));
    assert_eq!(
        (&answer["decisions"][1]["status"], &answer["decisions"][1]["verdict"]),
        (&json!(403), &json!("block"))
    );
    // Below it, everything; an event opens its session there as well.
    let opened = json!({"point": "on_idle", "session": "late"});
    let _: Value = below.post("/v1/events?open=true", opened.as_object().unwrap()).await.unwrap();
    let look: Value = below.get("/v1/sessions/late").await.unwrap();
    assert_eq!(look["parent"], json!("mine"));
    let _: Value = below.delete("/v1/sessions/late").await.unwrap();
    drop(other);
}

#[tokio::test]
async fn the_sessions_below_one_are_listed_whatever_its_id_has_in_it() {
    let house = House::new().await;
    let top = house.client().session("a/b").open().await.unwrap();
    top.subagent("a/b/c").open().await.unwrap();
    house.client().session("beside").open().await.unwrap();
    let below = inheriting(top.environment());
    let ids = |answer: Value| {
        let sessions = answer["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(house.get("/v1/sessions?below=a/b").await.1), ["a/b", "a/b/c"]);
    assert_eq!(ids(below.get("/v1/sessions?below=a/b/c").await.unwrap()), ["a/b/c"]);
    let error = below.get::<Value>("/v1/sessions?below=beside").await.unwrap_err();
    assert_eq!(refused(&error).1, "not-granted");
}

#[tokio::test]
async fn a_grant_reads_signals_of_its_sessions_and_of_no_earlier_or_later_one_of_their_ids() {
    let house = House::new().await;
    let user = house.client();
    let mine = user.session("mine").open().await.unwrap();
    // A session of that id elsewhere, before.
    let before = user.session("child").open().await.unwrap();
    drop(before.publish(OnIdle::new()).await.unwrap());
    before.close().await.unwrap();
    let below = inheriting(mine.environment());
    let child = below.session("child").open().await.unwrap();
    let grant = mine.environment().get(GRANT).unwrap();
    for path in ["/v1/signals?session=child&after=0", "/v1/signals?session=child&below=true&after=0"] {
        let mut reader = Reader::granted(&house, path, grant).await;
        house.server.bus().announce(Notice::info("of the whole bus"));
        drop(child.publish(OnIdle::new()).await.unwrap());
        let kinds = [reader.next().await, reader.next().await].map(|entry| entry.unwrap().1);
        assert_eq!(kinds, ["session_opened", "decided"], "{path}");
    }
    let mut reader = Reader::granted(&house, "/v1/signals?session=child", grant).await;
    child.close().await.unwrap();
    let after = user.session("child").open().await.unwrap();
    drop(after.publish(OnIdle::new()).await.unwrap());
    after.close().await.unwrap();
    let again = below.session("last").open().await.unwrap();
    let mut other = Reader::granted(&house, "/v1/signals?session=last", grant).await;
    drop(again.publish(OnIdle::new()).await.unwrap());
    assert_eq!(other.next().await.unwrap().1, "decided");
    assert_eq!(reader.next().await.unwrap().1, "session_closed");
    house.server.end().await;
    assert!(reader.next().await.is_none(), "nothing of the later one");
}

#[tokio::test]
async fn n04_a_grant_that_is_wrong_or_over_is_refused_and_never_taken_for_none() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    let grant = session.environment().get(GRANT).unwrap().to_owned();
    for wrong in ["", "x", "lsg_", &grant[..grant.len() - 1], &format!("{}0", &grant[..grant.len() - 2])] {
        let error = house.client().granted(wrong).session("child").open().await.unwrap_err();
        assert_eq!(refused(&error), (403, "no-such-grant".to_owned(), true), "{wrong:?}");
        assert!(!error.to_string().contains("lsg_"), "{error}");
    }
    let child = inheriting(session.environment()).session("child").open().await.unwrap();
    session.close().await.unwrap();
    let error = inheriting(session.environment()).session("late").open().await.unwrap_err();
    assert_eq!(refused(&error).1, "no-such-grant");
    // What was opened with it goes with it: its own process has no way in any more.
    let error = child.publish(OnIdle::new()).await.unwrap_err();
    assert_eq!(refused(&error), (403, "no-such-grant".to_owned(), true));
    // A later session of the same id has another one.
    house.client().session("s").open().await.unwrap();
    let error = inheriting(session.environment()).session("late").open().await.unwrap_err();
    assert_eq!(refused(&error).1, "no-such-grant");
}

#[tokio::test]
async fn a_chain_of_processes_comes_to_an_end() {
    let house = House::new().await;
    let mut session = house.client().session("0").open().await.unwrap();
    for depth in 1..=32 {
        session = inheriting(session.environment()).session(depth.to_string()).open().await.unwrap();
    }
    let error = inheriting(session.environment()).session("33").open().await.unwrap_err();
    assert_eq!(refused(&error), (409, "too-deep".to_owned(), true));
}

#[tokio::test]
async fn the_processes_of_hooks_inherit_the_session_of_their_event() {
    let house = House::hooked(NOSY).await;
    let parent = house.client().session("s1").open().await.unwrap();
    let child = parent.subagent("s2").open().await.unwrap();
    for session in [&parent, &child] {
        let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
        assert!(!decision.is_refused(), "{:?}", decision.json());
        let inherited = std::fs::read_to_string(house.folder.path().join("inherited")).unwrap();
        let expected =
            [SOCKET, SESSION, GRANT, TRACEPARENT].map(|name| session.environment().get(name).unwrap());
        assert_eq!(inherited.lines().collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn a_worker_is_told_with_each_call_what_its_programs_inherit() {
    let worker = r#"
import json, os, sys
def say(**frame): print(json.dumps(frame), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello": say(type="hello", protocol=2)
    elif frame["type"] == "call":
        inherited = frame["environment"]
        own = [os.environ.get(name) for name in ("LINESIDE_SOCKET", "LINESIDE_SESSION", "LINESIDE_GRANT")]
        text = json.dumps([inherited, own])
        say(type="answer", id=frame["id"], answer={"context": text})
"#;
    let house =
        House::hooked("hooks:\n  - {name: w, on: before_tool, worker: {program: [python3, w.py]}}\n").await;
    std::fs::write(house.folder.path().join("project/w.py"), worker).unwrap();
    house.post("/v1/reload", &json!({})).await;
    for id in ["s1", "s2"] {
        let session = house.client().session(id).open().await.unwrap();
        let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
        let said =
            decision.json()["context"][0]["text"].as_str().unwrap_or_else(|| panic!("{:?}", decision.json()));
        let said: Value = lineside::json::from_str(said).unwrap();
        for name in [SOCKET, SESSION, GRANT, TRACEPARENT] {
            assert_eq!(said[0][name].as_str(), session.environment().get(name), "{name}");
        }
        // It is shared by all sessions, so its own environment is of none.
        assert_eq!(said[1], json!([session.environment().get(SOCKET), null, null]));
    }
}

#[tokio::test]
async fn a_worker_of_plugins_has_what_belongs_to_no_session() {
    let house = House::new().await;
    let plugin = house.folder.path().join("project/.openclaw/plugins/p");
    std::fs::create_dir_all(&plugin).unwrap();
    let manifest = r#"{"id": "p", "configSchema": {"type": "object"}}"#;
    std::fs::write(plugin.join("openclaw.plugin.json"), manifest).unwrap();
    let script = "export default { id: 'p', register(api) { api.on('before_tool_call', () => {
        const { LINESIDE_SOCKET: socket, LINESIDE_SESSION: session, LINESIDE_GRANT: grant } = process.env;
        return { block: true, blockReason: JSON.stringify([socket, session ?? null, grant ?? null]) };
    }); } };";
    std::fs::write(plugin.join("index.mjs"), script).unwrap();
    house.post("/v1/reload", &json!({})).await;
    let session = house.client().session("s").open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    let said = decision.reason().unwrap_or_else(|| panic!("{:?}", decision.json())).as_str();
    let said: Value = lineside::json::from_str(said).unwrap();
    assert_eq!(said, json!([session.environment().get(SOCKET), null, null]));
}

#[tokio::test]
async fn a_command_of_a_session_has_its_variables() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    let embedded = house.server.bus().find("s").unwrap();
    for mut command in [session.command("sh"), embedded.command("sh")] {
        let output =
            command.args(["-c", "printf '%s' \"$LINESIDE_GRANT\""]).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.stdout, session.environment().get(GRANT).unwrap().as_bytes());
    }
    // A bus without a door gives what it has.
    let bus = Bus::new();
    let alone = bus.session("s").traceparent("t").open().await.unwrap();
    assert_eq!(alone.environment(), Propagation::none().with(TRACEPARENT, "t"));
}

#[tokio::test]
async fn a_publisher_that_believes_in_other_hooks_is_a_finding() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    let decision = session.publish(OnIdle::new()).await.unwrap();
    assert_eq!(decision.coverage_in_force(), None);
    let late = house.client().session("late").open().await.unwrap();
    let hooks = house.folder.path().join("project/.lineside");
    std::fs::create_dir_all(&hooks).unwrap();
    std::fs::write(hooks.join("hooks.yaml"), "hooks:\n  - {name: h, on: on_idle, command: 'true'}\n")
        .unwrap();
    house.post("/v1/reload", &json!({})).await;
    let first = late.publish(OnIdle::new()).await.unwrap();
    let look: Value = house.client().get("/v1/sessions/late").await.unwrap();
    assert_eq!(first.coverage_in_force(), look["coverage"].as_str());
    assert_ne!(first.coverage_in_force(), Some(&*late.coverage()));
    // It is stated once.
    assert_eq!(late.publish(OnIdle::new()).await.unwrap().coverage_in_force(), None);
    let status: Value = house.client().get("/v1/status").await.unwrap();
    assert_eq!(status["coverage_mismatches"], json!(1));
    let told = status["findings"][0]["text"].as_str().unwrap();
    assert!(told.contains("session `late` believes"), "{told}");
    // The receipt, which the feed may not have yet when the decision is there.
    let receipt = loop {
        let receipts: Value = house.client().get("/v1/receipts?session=late").await.unwrap();
        if let Some(receipt) = receipts["receipts"].get(0) {
            break receipt.clone();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(receipt["coverage_mismatch"]["believed"].as_str(), Some(&*late.coverage()));
}

#[tokio::test]
async fn a_program_believes_in_the_hooks_that_it_registered_itself() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    let bare = session.coverage();
    let gate = session.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue);
    let gate = gate.await.unwrap();
    let guarded = session.coverage();
    assert_ne!(guarded, bare);
    let child = session.subagent("c").open().await.unwrap();
    assert_eq!(child.coverage(), guarded);
    for session in [&session, &child] {
        let decision = session.publish(OnIdle::new()).await.unwrap();
        assert_eq!(decision.coverage_in_force(), None);
    }
    assert!(gate.remove().await.unwrap());
    assert_eq!(session.coverage(), bare);
    let status: Value = house.client().get("/v1/status").await.unwrap();
    assert_eq!(status["coverage_mismatches"], json!(0));
}

#[tokio::test]
async fn every_event_says_whose_it_is_and_over_which_connection_it_came() {
    let house = House::new().await;
    let mut signals = house.server.bus().signals();
    let parent = house.client().session("s1").open().await.unwrap();
    let child = inheriting(parent.environment()).session("s2").open().await.unwrap();
    let first = child.publish(OnIdle::new()).await.unwrap();
    let cause = json!({"point": "on_idle", "session": "s2", "cause": first.id().unwrap()});
    let _: Value = house.client().post("/v1/events", cause.as_object().unwrap()).await.unwrap();
    let mut events = Vec::new();
    while events.len() < 2 {
        if let Some(lineside::bus::signal::Watched::Signal(Signal::Decided(receipt))) = signals.next().await {
            events.push(receipt.event.to_json());
        }
    }
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!((&event["session"], &event["root_session"]), (&json!("s2"), &json!("s1")));
        assert_eq!((&event["parent_session"], &event["depth"]), (&json!("s1"), &json!(1)));
        assert_eq!((&event["agent"]["kind"], &event["seq"]), (&json!("subagent"), &json!(seq)));
        assert!(Traceparent::read(event["traceparent"].as_str().unwrap()).is_some());
        assert!(event["connection"].as_str().unwrap().starts_with("socket:"), "{event:?}");
    }
    assert_eq!(events[1]["cause"].as_str(), first.id());
    assert_ne!(events[0]["connection"], events[1]["connection"], "clients of their own");
}

#[tokio::test]
async fn n04_a_grant_is_in_no_answer_but_that_of_its_opening_and_in_no_signal() {
    let house = House::hooked(
        "hooks:\n  - {name: leaky, on: before_tool, environment: inherit, command: 'echo \"$LINESIDE_GRANT\" >&2; exit 3'}\n",
    )
    .await;
    let client = house.client();
    let session = client.session("s").open().await.unwrap();
    let grant = session.environment().get(GRANT).unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    let failed = lineside::json::to_string(decision.json()).unwrap();
    assert!(failed.contains("[redacted]") && !failed.contains(grant), "{failed}");
    for path in
        ["/v1/sessions", "/v1/sessions/s", "/v1/sessions/s/hooks", "/v1/status", "/v1/receipts", "/v1/jobs"]
    {
        let answer: Value = client.get(path).await.unwrap();
        assert!(!answer.to_string().contains("lsg_"), "{path}: {answer}");
    }
    assert!(!format!("{session:?} {client:?} {:?}", house.server).contains("lsg_"));
}
