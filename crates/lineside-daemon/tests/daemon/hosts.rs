//! Agent programs that are served in their own words.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use lineside::core::Propagation;
use lineside::core::propagation::GRANT;
use lineside::json::Value;
use lineside::prelude::*;

use crate::house::{House, small};

/// What a process prints, and how it exits.
type Answer = (u16, String, String, Option<u8>);

/// A request, and the status of its answer.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], String, u16);

pub(crate) async fn ask(
    house: &House,
    host: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Answer {
    let mut request = Request::builder().method(Method::POST).uri(format!("/v1/hosts/{host}"));
    request = request.header("host", "lineside").header("content-type", "application/json");
    if !headers.iter().any(|(name, _)| *name == "lineside-protocol") {
        request = request.header("lineside-protocol", "1");
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let response = house.request(request.body(Full::new(body.into())).unwrap()).await;
    let status = response.status().as_u16();
    let number = |name: &str| response.headers().get(name)?.to_str().ok()?.parse::<usize>().ok();
    let (length, exit) = (number("lineside-stdout-bytes"), number("lineside-exit"));
    let mut out = String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().into()).unwrap();
    let err = out.split_off(length.unwrap_or(out.len()));
    (status, out, err, exit.map(|exit| u8::try_from(exit).unwrap()))
}

pub(crate) fn tool(session: &str, command: &str) -> String {
    let input = json!({"command": command});
    json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash", "tool_input": input})
        .to_string()
}

fn grant_of(variables: &Propagation) -> [(&str, &str); 1] {
    [("lineside-grant", variables.get(GRANT).unwrap())]
}

/// Refuses what has `rm` in it.
async fn guard(session: &lineside::client::Session) {
    let gate = session.intercept::<BeforeTool>("no-rm").gate(|call, _| {
        let deletes = call.command().is_some_and(|command| command.contains("rm"));
        std::future::ready(if deletes { Verdict::block("not below me") } else { Verdict::Continue })
    });
    gate.await.unwrap();
}

#[tokio::test]
async fn a_call_is_answered_in_the_words_of_its_host() {
    let house =
        House::hooked("hooks:\n  - {name: no, on: before_tool, command: 'echo no >&2; exit 2'}\n").await;
    let (status, out, err, exit) = ask(&house, "claude", &[], tool("c1", "ls")).await;
    let answer: Value = lineside::json::from_str(&out).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], json!("deny"), "{out}");
    assert_eq!((status, err.as_str(), exit), (200, "", Some(0)));
    let (_, out, err, exit) = ask(&house, "kimi", &[], tool("k1", "ls")).await;
    assert!(out.is_empty() && err.ends_with('\n') && exit == Some(2), "{err}");
    let idle = json!({"session_id": "c1", "message": "m"}).to_string();
    let told = ask(&house, "claude", &[("lineside-event", "Notificati%6Fn")], idle).await;
    assert_eq!(told, (200, String::new(), String::new(), Some(0)));
    let told = ask(&house, "copilot", &[("lineside-event", "preToolUse")], "garbage").await;
    assert!(told.1.contains("could not be read"), "{told:?}");
}

#[tokio::test]
async fn what_a_host_opens_is_a_session_of_the_daemon_until_the_host_ends_it() {
    let house = House::new().await;
    ask(&house, "claude", &[], tool("c1", "ls")).await;
    let inside = json!({"hook_event_name": "PreToolUse", "session_id": "c1", "agent_id": "a", "agent_type": "x",
        "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    ask(&house, "claude", &[], inside.to_string()).await;
    let (_, tree) = house.get("/v1/sessions/c1/tree").await;
    let ids: Vec<_> = tree["sessions"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, [json!("c1"), json!("c1/a")]);
    let first = &tree["sessions"][0];
    assert_eq!((&first["host"], &first["depth"]), (&json!("claude"), &json!(0)));
    assert!(first["traceparent"].is_string() && first["connection"].as_str().unwrap().starts_with("socket:"));
    let mut signals = house.server.bus().signals();
    let end = json!({"hook_event_name": "SessionEnd", "session_id": "c1", "reason": "exit"}).to_string();
    assert_eq!(ask(&house, "claude", &[], end).await.3, Some(0));
    loop {
        if let Some(lineside::bus::signal::Watched::Signal(lineside::Signal::SessionClosed {
            session, ..
        })) = signals.next().await
            && session.as_str() == "c1"
        {
            break;
        }
    }
    assert_eq!(house.get("/v1/sessions/c1").await.0, 404);
    // A host goes on with a session that it has ended; nothing else does.
    let event =
        json!({"point": "before_tool", "session": "c1", "payload": {"tool_name": "Shell", "tool_input": {}}});
    assert_eq!(house.post("/v1/events?open=true", &event).await.0, 409);
    assert_eq!(ask(&house, "claude", &[], tool("c1", "ls")).await.0, 200);
    assert_eq!(house.post("/v1/events?open=true", &event).await.0, 200);
}

#[tokio::test]
async fn a_host_with_a_grant_is_below_its_session_and_reaches_nothing_else() {
    let house = House::new().await;
    let client = house.client();
    let parent = client.session("p").open().await.unwrap();
    guard(&parent).await;
    ask(&house, "claude", &[], tool("other", "ls")).await;
    let headers = grant_of(parent.environment());
    let told = ask(&house, "claude", &headers, tool("c1", "rm x")).await;
    assert!(told.1.contains("not below me"), "{told:?}");
    let (_, session) = house.get("/v1/sessions/c1").await;
    assert_eq!((&session["parent"], &session["depth"]), (&json!("p"), &json!(1)));
    let (status, problem, _, exit) = ask(&house, "claude", &headers, tool("other", "ls")).await;
    assert_eq!((status, exit), (200, Some(0)), "{problem}");
    assert!(problem.contains("\"deny\"") && problem.contains("outside of session `p`"), "{problem}");
    // What a host is said to have in its environment, as earlier versions were, counts for nothing.
    let named = [("lineside-environment", "LINESIDE_SESSION=p&QWEN_PROJECT_DIR=/")];
    let told = ask(&house, "claude", &named, tool("c2", "rm x")).await;
    assert_eq!((told.0, told.1.as_str()), (200, ""));
    assert_eq!(house.get("/v1/sessions/c2").await.1["parent"], Value::Null);
    let wrong = [("lineside-grant", "lsg_0")];
    let told = ask(&house, "claude", &wrong, tool("c3", "ls")).await;
    assert!(told.1.contains("\"deny\"") && told.1.contains("session that has ended"), "{told:?}");
    assert_eq!(house.get("/v1/sessions/c3").await.0, 404);
}

#[tokio::test]
async fn what_is_not_the_documented_request_has_no_answer_of_a_host() {
    let house = House::with(|settings| settings.limits(small(|limits| limits.body = 4096))).await;
    let long = tool(&"x".repeat(1_025), "ls");
    let rows: [Row<'_>; 7] = [
        ("vim", &[], tool("s", "ls"), 404),
        ("claude", &[("lineside-event", "%4")], tool("s", "ls"), 400),
        ("claude", &[("lineside-event", "a"), ("lineside-event", "b")], tool("s", "ls"), 400),
        ("claude", &[("lineside-within-ms", "soon")], tool("s", "ls"), 400),
        ("claude", &[("origin", "http://127.0.0.1")], tool("s", "ls"), 403),
        ("claude", &[], long, 400),
        ("claude", &[], "x".repeat(4097), 413),
    ];
    for (host, headers, body, expected) in rows {
        let (status, problem, _, exit) = ask(&house, host, headers, body).await;
        assert_eq!((status, exit), (expected, None), "{host} {headers:?} {problem}");
    }
    assert_eq!(house.get("/v1/sessions").await.1["sessions"], json!([]));
}

#[tokio::test]
async fn a_call_of_a_host_is_decided_in_the_time_that_is_left() {
    let house = House::hooked("hooks:\n  - {name: slow, on: before_tool, command: 'sleep 600'}\n").await;
    let told = ask(&house, "claude", &[("lineside-within-ms", "50")], tool("c1", "ls")).await;
    assert!(told.1.contains("\"deny\"") && told.1.contains("slow"), "{told:?}");
}

#[tokio::test]
async fn hooks_that_are_off_are_off_for_hosts_as_well() {
    let house = House::hooked("hooks:\n  - {name: no, on: before_tool, command: 'exit 2'}\n").await;
    std::fs::write(house.folder.path().join("state/off"), "").unwrap();
    let told = ask(&house, "claude", &[], tool("c1", "rm")).await;
    assert_eq!(told, (200, String::new(), String::new(), Some(0)));
    let told = ask(&house, "cursor", &[], tool("c1", "rm")).await;
    assert_eq!(told.1, "{\"permission\":\"allow\"}\n");
    assert_eq!(house.get("/v1/sessions").await.1["sessions"][0]["id"], json!("c1"));
}

#[tokio::test]
async fn context_that_waits_is_given_to_the_next_call_over_another_connection() {
    let hook = "hooks:\n  - {name: note, on: before_tool, command: 'echo \"{\\\"context\\\": \\\"remember\\\"}\"'}\n";
    let house = House::hooked(hook).await;
    let call = json!({"hook_event_name": "BeforeTool", "session_id": "g1", "tool_name": "run_shell_command", "tool_input": {"command": "ls"}});
    let told = ask(&house, "gemini", &[], call.to_string()).await;
    assert_eq!(told.1, "", "it has no field for it here");
    let after = json!({"hook_event_name": "AfterTool", "session_id": "g1", "tool_name": "run_shell_command",
        "tool_input": {"command": "ls"}, "tool_response": {"llmContent": "x"}});
    let told = ask(&house, "gemini", &[], after.to_string()).await;
    assert!(told.1.contains("remember"), "{told:?}");
    let told = ask(&house, "gemini", &[], after.to_string()).await;
    assert!(!told.1.contains("remember"), "once: {told:?}");
}

#[tokio::test]
async fn a_program_of_another_version_is_refused_with_the_reason_and_never_answered_by_hooks() {
    let house = House::new().await;
    let call = |version: &'static [(&'static str, &'static str)]| {
        let house = &house;
        async move {
            let allowed = ask(house, "claude", version, tool("c1", "ls")).await;
            let kimi = ask(house, "kimi", version, tool("k1", "ls")).await;
            let told =
                r#"{"hook_event_name":"PostToolUse","session_id":"c1","tool_name":"Bash","tool_input":{}}"#;
            let fact = ask(house, "claude", version, told).await;
            assert_eq!(fact, (200, String::new(), String::new(), Some(0)), "what is no gate is not refused");
            assert!(
                allowed.1.contains(r#""permissionDecision":"deny""#) && kimi.3 == Some(2),
                "{allowed:?} {kimi:?}"
            );
            allowed.1
        }
    };
    // The program of two versions ago said none.
    assert!(call(&[("lineside-protocol", "")]).await.contains("run lineside install"));
    assert!(call(&[("lineside-protocol", "0")]).await.contains("run lineside install"));
    assert!(
        call(&[("lineside-protocol", "1"), ("lineside-protocol", "1")]).await.contains("so this was denied")
    );
    assert!(call(&[("lineside-protocol", "2")]).await.contains("lineside stop"));
    assert_eq!(house.get("/v1/status").await.1["sessions"], 0, "nothing of it was published");
    let (_, out, ..) = ask(&house, "claude", &[], tool("c1", "ls")).await;
    assert_eq!(out, "");
}
