//! Questions of hooks that wait in the daemon for a person.

use std::time::Duration;

use hyper::Method;
use lineside::bus::signal::{Signals, Watched};
use lineside::core::Strength;
use lineside::dialects::native::{ApprovalSettings, Unanswered, WhoseAsks};
use lineside::json::Value;
use lineside::prelude::*;

use crate::hosts::{ask, tool};
use crate::house::House;

/// A daemon in which questions wait as long as this, about pushes and, of another hook, about everything with `cargo` in it.
async fn asking(wait: Duration) -> House {
    with(ApprovalSettings { wait, ..ApprovalSettings::default() }).await
}

async fn with(approvals: ApprovalSettings) -> House {
    let house = House::with(|mut settings| {
        settings.approvals = Some(approvals);
        settings
    })
    .await;
    gates(&house);
    house
}

fn gates(house: &House) {
    for (name, word) in [("no-push", "push"), ("careful", "cargo")] {
        let gate = house.server.bus().intercept::<BeforeTool>(name).gate(move |call, _| {
            let asks = call.command().is_some_and(|command| command.contains(word));
            let verdict =
                if asks { Verdict::ask(format!("{word} needs a person")) } else { Verdict::Continue };
            std::future::ready(verdict)
        });
        gate.unwrap();
    }
    let gate = house.server.bus().intercept::<BeforeTool>("never").gate(async |call, _| {
        let refuses = call.command().is_some_and(|command| command.contains("rm "));
        if refuses { Verdict::block("never") } else { Verdict::Continue }
    });
    gate.unwrap();
}

const LONG: Duration = Duration::from_secs(600);

/// The id of the next question.
async fn asked(signals: &mut Signals) -> String {
    loop {
        if let Some(Watched::Signal(lineside::Signal::ApprovalAsked { id, .. })) = signals.next().await {
            return id.to_string();
        }
    }
}

async fn answer(house: &House, id: &str, body: &Value) -> (u16, Value) {
    house.post(&format!("/v1/approvals/{id}"), body).await
}

/// A call of Codex, and what a person answers to the question about it.
async fn call(house: &House, session: &str, command: &str, body: &Value) -> String {
    let mut signals = house.server.bus().signals();
    let answering = async {
        let id = asked(&mut signals).await;
        assert_eq!(answer(house, &id, body).await.0, 200);
    };
    tokio::join!(ask(house, "codex", &[], tool(session, command)), answering).0.1
}

/// A call that is not asked about; a question would keep it waiting for longer than this.
async fn at_once(house: &House, session: &str, command: &str) -> String {
    let within = [("lineside-within-ms", "20000")];
    let answered = ask(house, "codex", &within, tool(session, command));
    tokio::time::timeout(Duration::from_secs(10), answered).await.expect("a question was asked").1
}

fn allow() -> Value {
    json!({"answer": "allow"})
}

fn is_denied(out: &str) -> bool {
    out.contains("\"permissionDecision\":\"deny\"")
}

#[tokio::test]
async fn a_call_waits_for_the_first_answer_and_holds_up_no_other_call() {
    let house = asking(LONG).await;
    let mut signals = house.server.bus().signals();
    let answering = async {
        let [one, other] = [asked(&mut signals).await, asked(&mut signals).await];
        let (_, list) = house.get("/v1/approvals").await;
        let waiting = list["waiting"].as_array().unwrap();
        assert_eq!((waiting.len(), &list["waits"]), (2, &json!(true)), "{list}");
        let first = waiting.iter().find(|question| question["id"] == *one).unwrap();
        assert_eq!(first["hooks"][0]["reason"], json!("push needs a person"), "{first}");
        assert!(first["left_ms"].as_u64().unwrap() > 500_000 && first["cut"] == json!(false), "{first}");
        assert_eq!(at_once(&house, "c", "ls").await, "");
        // Two answers at once: one of them counts.
        let [allowed, denied] = [allow(), json!({"answer": "deny", "reason": "not today"})];
        let (yes, no) = tokio::join!(answer(&house, &one, &allowed), answer(&house, &one, &denied));
        let mut both = [yes.0, no.0];
        both.sort_unstable();
        assert_eq!(both, [200, 409], "{yes:?} {no:?}");
        assert_eq!(answer(&house, &other, &json!({"answer": "deny", "reason": "not today"})).await.0, 200);
        (one, other, first["session"] == json!("a"), yes.0 == 200)
    };
    let two = async {
        tokio::join!(
            ask(&house, "codex", &[], tool("a", "git push a")),
            ask(&house, "codex", &[], tool("b", "git push b"))
        )
    };
    let ((a, b), (one, other, is_a_first, is_allowed)) = tokio::join!(two, answering);
    let (first, second) = if is_a_first { (a, b) } else { (b, a) };
    assert_eq!(is_denied(&first.1), !is_allowed, "{first:?}");
    assert!(second.1.contains("a person has denied this: not today"), "{second:?}");
    // What was answered is over.
    for id in [&one, &other] {
        let (status, problem) = answer(&house, id, &allow()).await;
        assert_eq!((status, problem["detail"].as_str().unwrap().contains("it was answered")), (409, true));
    }
    assert_eq!(answer(&house, "ffffffff", &allow()).await.0, 404);
    for wrong in [
        json!({"answer": "perhaps"}),
        json!({"answer": "allow", "scope": "pattern"}),
        json!({"scope": "once"}),
    ] {
        assert_eq!(answer(&house, &one, &wrong).await.0, 400, "{wrong}");
    }
    let (_, receipts) = house.get("/v1/receipts").await;
    let receipts = receipts["receipts"].as_array().unwrap();
    let approval =
        receipts.iter().find(|one| one["approval"]["id"] == *other).map(|one| &one["approval"]).unwrap();
    assert_eq!((&approval["verdict"], &approval["scope"]), (&json!("block"), &json!("once")), "{approval}");
    assert!(approval["by"].as_str().unwrap().starts_with("a person ("), "{approval}");
}

#[tokio::test]
async fn what_a_person_approves_no_block_of_any_hook_lets_pass() {
    let house = asking(LONG).await;
    // A block ends it before anything is asked.
    assert!(is_denied(&at_once(&house, "s", "git push; rm x").await));
    let after = house
        .server
        .bus()
        .intercept::<BeforeTool>("late")
        .priority(-5)
        .gate(async |_, _| Verdict::block("late"));
    let after = after.unwrap();
    assert!(is_denied(&at_once(&house, "s", "git push").await));
    after.remove();
    assert_eq!(house.get("/v1/approvals").await.1["waiting"], json!([]));
}

#[tokio::test]
async fn an_answer_for_the_session_is_for_the_same_call_asked_about_by_the_same_hook() {
    let house = asking(LONG).await;
    let session = json!({"answer": "allow", "scope": "session"});
    assert_eq!(call(&house, "s", "git push a", &session).await, "");
    assert_eq!(at_once(&house, "s", "git push a").await, "");
    let no = json!({"answer": "deny"});
    for (session, command) in [("s", "git push b"), ("other", "git push a")] {
        assert!(is_denied(&call(&house, session, command, &no).await), "{session} {command}");
    }
    // A second hook asks about the same call: it was not answered.
    let gate =
        house.server.bus().intercept::<BeforeTool>("second").gate(async |_, _| Verdict::ask("I ask too"));
    let second = gate.unwrap();
    assert!(is_denied(&call(&house, "s", "git push a", &no).await));
    second.remove();
    let end = json!({"hook_event_name": "SessionEnd", "session_id": "s", "reason": "exit"}).to_string();
    ask(&house, "codex", &[], end).await;
    let mut signals = house.server.bus().signals();
    let again = async {
        let id = asked(&mut signals).await;
        answer(&house, &id, &no).await
    };
    let (told, _) = tokio::join!(ask(&house, "codex", &[], tool("s", "git push a")), again);
    assert!(is_denied(&told.1), "the session is over, and its answers with it: {told:?}");
}

#[tokio::test]
async fn an_answer_for_a_pattern_holds_beyond_the_daemon_until_it_is_taken_back() {
    let house = asking(LONG).await;
    let mut signals = house.server.bus().signals();
    let pattern = |pattern: &str| json!({"answer": "allow", "scope": "pattern", "pattern": pattern});
    let answering = async {
        let id = asked(&mut signals).await;
        for wrong in ["*", "", "cargo *", "git pull *"] {
            assert_eq!(answer(&house, &id, &pattern(wrong)).await.0, 400, "{wrong}");
        }
        assert_eq!(answer(&house, &id, &pattern("git push *")).await.0, 200);
        id
    };
    let (told, id) = tokio::join!(ask(&house, "codex", &[], tool("s", "git push origin")), answering);
    assert_eq!(told.1, "");
    assert_eq!(at_once(&house, "t", "git push elsewhere").await, "");
    let House { folder, server } = house;
    server.end().await;
    let mut settings = crate::house::settings(&folder);
    settings.approvals = Some(ApprovalSettings::default());
    let house = House { server: lineside_daemon::Server::start(settings).await.unwrap(), folder };
    gates(&house);
    assert_eq!(at_once(&house, "u", "git push elsewhere").await, "");
    let no = json!({"answer": "deny"});
    for other in ["git push x; cargo publish", "git push $(x)", "cargo publish"] {
        assert!(is_denied(&call(&house, "u", other, &no).await), "{other}");
    }
    let (_, list) = house.get("/v1/approvals").await;
    assert_eq!(
        (&list["answers"][0]["id"], &list["answers"][0]["pattern"]),
        (&json!(id), &json!("git push *"))
    );
    let path = format!("/v1/approvals/{id}");
    assert_eq!(house.send(Method::DELETE, &path, &Value::Null).await.0, 200);
    assert_eq!(house.send(Method::DELETE, &path, &Value::Null).await.0, 404);
    assert!(is_denied(&call(&house, "u", "git push elsewhere", &no).await));
}

#[tokio::test]
async fn a_question_that_is_not_answered_in_time_comes_to_the_default_and_is_over() {
    let house = asking(Duration::from_secs(1)).await;
    let mut signals = house.server.bus().signals();
    let (told, id) = tokio::join!(ask(&house, "codex", &[], tool("s", "git push")), asked(&mut signals));
    assert!(is_denied(&told.1) && told.1.contains("lineside approvals"), "{told:?}");
    let (status, problem) = answer(&house, &id, &allow()).await;
    assert_eq!(status, 409);
    assert!(problem["detail"].as_str().unwrap().contains("its time was over"), "{problem}");
    // Never longer than the agent program waits, and not at all where that is no time for a person.
    let within = [("lineside-within-ms", "900")];
    assert!(is_denied(&ask(&house, "codex", &within, tool("s", "git push b")).await.1));
    let (wait, default, of) = (Duration::from_secs(1), Unanswered::Ask, WhoseAsks::All);
    let house = with(ApprovalSettings { wait, default, of, ..ApprovalSettings::default() }).await;
    let told = ask(&house, "claude", &[], tool("s", "git push")).await;
    assert!(told.1.contains("\"permissionDecision\":\"ask\""), "{told:?}");
}

#[tokio::test]
async fn questions_wait_where_the_user_says_so_and_their_program_cannot_put_them() {
    let house = House::new().await;
    gates(&house);
    assert!(
        at_once(&house, "s", "git push").await.contains("cannot ask for it here"),
        "nothing waits unasked"
    );
    let house = asking(LONG).await;
    let told = ask(&house, "claude", &[], tool("s", "git push")).await;
    assert!(told.1.contains("\"permissionDecision\":\"ask\""), "Claude Code asks its user: {told:?}");
}

#[tokio::test]
async fn the_question_of_a_client_that_has_left_is_over() {
    let house = asking(LONG).await;
    let mut signals = house.server.bus().signals();
    let socket = house.socket();
    let leaving = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let body = tool("s", "git push");
        let head = format!(
            "POST /v1/hosts/codex HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\nlineside-protocol: 1\r\n\
             lineside-call: 7-1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = tokio::net::UnixStream::connect(socket).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    });
    let id = asked(&mut signals).await;
    let record = house.folder.path().join("state/approvals/waiting/7-1");
    assert!(record.exists());
    drop(leaving.await.unwrap());
    loop {
        if let Some(Watched::Signal(lineside::Signal::Abandoned { .. })) = signals.next().await {
            break;
        }
    }
    let (status, problem) = answer(&house, &id, &allow()).await;
    assert_eq!(
        (status, problem["detail"].as_str().unwrap().contains("no longer waits")),
        (409, true),
        "{problem}"
    );
    assert!(!record.exists());
}

#[tokio::test]
async fn what_is_notified_of_a_question_neither_delays_nor_breaks_it() {
    let pipe = tempfile::tempdir().unwrap();
    let path = pipe.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let line = format!("cat > {}; exec sleep 1000", path.display());
    let command = ["sh", "-c", &line].map(str::to_owned).to_vec();
    // Nothing listens there.
    let post = Some(("http://127.0.0.1:1/".to_owned(), lineside::core::exchange::Addresses::AsWritten));
    let settings = ApprovalSettings { command, post, ..ApprovalSettings::default() };
    let house = with(settings).await;
    assert_eq!(call(&house, "s", "git push", &allow()).await, "");
    let told = tokio::task::spawn_blocking(move || std::fs::read_to_string(path).unwrap()).await.unwrap();
    let told: Value = lineside::json::from_str(&told).unwrap();
    assert_eq!((&told["session"], &told["tool"]), (&json!("s"), &json!("Bash")), "{told}");
    assert_eq!(told["hooks"][0]["hook"], json!("no-push"));
    // The end of the daemon does not wait for it.
    house.server.end().await;
}

#[tokio::test]
async fn a_question_is_a_signal_and_its_answer_another_one() {
    let house = asking(LONG).await;
    let mut signals = house.client().signals().await.unwrap();
    assert_eq!(call(&house, "s", "git push", &allow()).await, "");
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let signal = signals.next().await.unwrap();
        let kind = signal.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kind.starts_with("approval_") {
            assert_eq!((&signal["hook"], &signal["session"]), (&json!("no-push"), &json!("s")), "{signal:?}");
            seen.push((kind, signal));
        }
    }
    assert_eq!([&*seen[0].0, &*seen[1].0], ["approval_asked", "approval_answered"]);
    assert_eq!(seen[1].1["approval"]["id"], seen[0].1["id"]);
    assert_eq!(seen[1].1["approval"]["verdict"], json!(Strength::Allow.as_str()));
}

/// An event of a program that publishes it itself.
fn event(session: &str, command: &str) -> Value {
    json!({"point": "before_tool", "session": session, "payload": {"tool_name": "Shell", "tool_input": {"command": command}}})
}

#[tokio::test]
async fn the_question_of_a_program_that_publishes_waits_where_all_do_and_comes_back_as_an_answer() {
    let house =
        with(ApprovalSettings { wait: LONG, of: WhoseAsks::All, ..ApprovalSettings::default() }).await;
    let publish = async |path: &str, command: &str| house.post(path, &event("p", command)).await.1;
    let open = "/v1/events?open=true";
    let mut signals = house.server.bus().signals();
    for (said, verdict) in [(allow(), "allow"), (json!({"answer": "deny", "reason": "not today"}), "block")] {
        let answering = async {
            let id = asked(&mut signals).await;
            let (_, list) = house.get("/v1/approvals").await;
            assert_eq!(
                (&list["waiting"][0]["id"], &list["waiting"][0]["session"]),
                (&json!(id), &json!("p"))
            );
            assert_eq!(answer(&house, &id, &said).await.0, 200);
        };
        let (decided, ()) = tokio::join!(publish(open, "git push"), answering);
        assert_eq!(decided["verdict"], json!(verdict), "{decided}");
    }
    // No longer than the publisher waits.
    let late = publish("/v1/events?within_ms=2500", "git push").await;
    assert!(late["reason"].as_str().unwrap().contains("no answer came within"), "{late}");
    assert_eq!(late["verdict"], json!("block"), "{late}");
    let short = publish("/v1/events?within_ms=800", "git push").await;
    assert_eq!(short["verdict"], json!("ask"), "a person has no time for it: {short}");
    // Who has left asks nothing more.
    let _late = asked(&mut signals).await;
    let (id, left) = (asked(&mut signals), publish("/v1/events", "git push"));
    let id = tokio::select! { id = id => id, decided = left => panic!("{decided}") };
    while house.get("/v1/approvals").await.1["waiting"] != json!([]) {}
    assert_eq!(answer(&house, &id, &allow()).await.0, 409);
}

#[tokio::test]
async fn the_question_of_a_program_that_publishes_is_left_to_it_otherwise_and_is_over_with_the_daemon() {
    let house = asking(LONG).await;
    let decided = house.post("/v1/events?open=true", &event("p", "git push")).await.1;
    assert_eq!(decided["verdict"], json!("ask"), "{decided}");
    let house =
        with(ApprovalSettings { wait: LONG, of: WhoseAsks::All, ..ApprovalSettings::default() }).await;
    let mut signals = house.server.bus().signals();
    let client = lineside::Client::new(house.socket());
    let session = client.session("p").open().await.unwrap();
    let call = BeforeTool::new("Shell", json!({"command": "git push"}));
    let House { folder: _folder, server } = house;
    let ending = async {
        asked(&mut signals).await;
        server.end().await;
    };
    let (decided, ()) = tokio::join!(session.publish(call), ending);
    assert!(decided.is_err(), "{decided:?}");
}
