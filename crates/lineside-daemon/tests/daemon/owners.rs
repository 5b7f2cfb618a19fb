//! Programs that have attached and answer in ways that they should not: to another call, twice, late, too much.

use lineside::json::{Value, from_slice};
use lineside::prelude::*;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::connection::{metrics, shell, soon};
use crate::hosts::{ask, tool};
use crate::house::{House, folder, json_request, read};

/// A program that has attached, with its token, and the hook `gate` of it on session `s`.
struct Owner(BufReader<UnixStream>, String);

impl Owner {
    async fn attach(house: &House, timeout: u64) -> Self {
        house.post("/v1/sessions", &json!({"id": "s", "resume": true})).await;
        let owner = Self::connect(house).await;
        owner.registers(house, "gate", "before_tool", timeout).await;
        owner
    }

    async fn connect(house: &House) -> Self {
        let mut stream = UnixStream::connect(house.socket()).await.unwrap();
        let head = "POST /v1/attach HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\n\
            connection: upgrade\r\nupgrade: lineside-worker/2\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut owner = Self(BufReader::new(stream), String::new());
        loop {
            let line = owner.line().await;
            if line.is_empty() {
                break;
            }
            if let Some(text) = line.strip_prefix("lineside-attachment: ") {
                text.clone_into(&mut owner.1);
            }
        }
        assert_eq!(owner.frame().await["type"], json!("hello"));
        owner.say(&json!({"type": "hello", "protocol": 2, "concurrency": 4})).await;
        owner
    }

    async fn registers(&self, house: &House, name: &str, point: &str, timeout: u64) {
        let hook = json!({"name": name, "on": point, "on_failure": "continue", "timeout": timeout});
        let entry = json!({"attachment": self.1, "called": name, "hook": hook});
        let (status, registered) = house.post("/v1/sessions/s/hooks", &entry).await;
        assert_eq!(status, 201, "{registered}");
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        soon(self.0.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    async fn frame(&mut self) -> Value {
        from_slice(self.line().await.as_bytes()).unwrap()
    }

    /// The next call, whatever else comes before it.
    async fn call(&mut self) -> String {
        loop {
            let frame = self.frame().await;
            if frame["type"] == json!("call") {
                return frame["id"].as_str().unwrap().to_owned();
            }
        }
    }

    async fn say(&mut self, frame: &Value) {
        // What is too long is not read to its end.
        self.0.get_mut().write_all(format!("{frame}\n").as_bytes()).await.ok();
    }

    async fn answers(&mut self, id: &str, reason: &str) {
        self.say(&json!({"type": "answer", "id": id, "answer": {"verdict": "block", "reason": reason}}))
            .await;
    }
}

async fn decided(house: &House) -> Value {
    house.post("/v1/events", &shell("s", "ls")).await.1
}

#[tokio::test]
async fn an_answer_counts_once_and_for_its_own_call() {
    let house = House::new().await;
    let mut owner = Owner::attach(&house, 30_000).await;
    let (decision, first) = tokio::join!(decided(&house), async {
        let id = owner.call().await;
        owner.answers(&id, "its own").await;
        id
    });
    assert_eq!(decision["reason"], json!("its own"), "{decision}");
    // The same once more, to a call that is over: a program that answers what it was not asked is not asked again.
    let (decision, ()) = tokio::join!(decided(&house), async {
        owner.call().await;
        owner.answers(&first, "of another").await;
    });
    assert_eq!(
        (&decision["reason"], &decision["failed"][0]["kind"]),
        (&Value::Null, &json!("closed")),
        "{decision}"
    );
    for wrong in ["0".repeat(32), String::new(), "x".to_owned()] {
        let mut owner = Owner::attach(&house, 30_000).await;
        let (decision, ()) = tokio::join!(decided(&house), async {
            owner.call().await;
            owner.answers(&wrong, "of another").await;
        });
        assert_eq!(decision["failed"][0]["kind"], json!("closed"), "{wrong}: {decision}");
    }
}

#[tokio::test]
async fn a_session_is_opened_together_with_hooks_or_not_at_all() {
    let house = House::new().await;
    let mut owner = Owner::attach(&house, 30_000).await;
    let gate = json!({"name": "guard", "on": "before_tool", "timeout": 30_000});
    let bad = json!({"name": "none", "on": "before_everything"});
    let hooks = |hooks: &[(&str, &Value)]| -> Value {
        hooks.iter().map(|(called, hook)| json!({"called": called, "hook": hook})).collect()
    };
    let open = |id: &str, resume: bool, hooks: Value| {
        let asked = json!({"id": id, "resume": resume, "attachment": owner.1, "hooks": hooks});
        let house = &house;
        async move { house.post("/v1/sessions", &asked).await }
    };
    let (status, problem) = open("new", false, hooks(&[("good", &gate), ("bad", &bad)])).await;
    assert_eq!((status, &problem["type"]), (400, &json!("urn:lineside:problem:bad-request")), "{problem}");
    assert_eq!(house.get("/v1/sessions/new").await.0, 404);
    let (status, opened) = open("new", false, hooks(&[("good", &gate)])).await;
    assert_eq!((status, &opened["hooks"][0]["called"]), (201, &json!("good")), "{opened}");
    // Asked again after a broken connection, it is the same hook; another one of its name has an owner.
    let (status, again) = open("new", true, hooks(&[("good", &gate), ("other", &gate), ("bad", &bad)])).await;
    assert_eq!(status, 200, "{again}");
    assert_eq!(again["hooks"][0], opened["hooks"][0]);
    assert_eq!(again["hooks"][1]["problem"]["type"], json!("urn:lineside:problem:hook-owned"), "{again}");
    assert_eq!(again["hooks"][2]["problem"]["status"], json!(400), "{again}");
    let event = shell("new", "ls");
    let ((_, decision), ()) = tokio::join!(house.post("/v1/events", &event), async {
        let id = owner.call().await;
        owner.answers(&id, "its own").await;
    });
    assert_eq!(decision["reason"], json!("its own"), "{decision}");
    let asked = json!({"id": "none", "hooks": [{"called": "good", "hook": gate}]});
    let (status, problem) = house.post("/v1/sessions", &asked).await;
    assert!(status == 400 && problem["detail"].as_str().unwrap().contains("`attachment`"), "{problem}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_call_waits_for_the_hooks_that_its_own_session_is_opened_with() {
    let house = House::new().await;
    let mut owner = Owner::attach(&house, 30_000).await;
    // The guard is the last of many.
    let hook = |name: String, point: &str| json!({"called": name, "hook": {"name": name, "on": point}});
    let mut hooks: Vec<Value> = (0..500).map(|number| hook(number.to_string(), "on_idle")).collect();
    hooks.push(hook("guard".to_owned(), "before_tool"));
    for session in ["one", "two", "three"] {
        let asked = json!({"id": session, "attachment": owner.1, "hooks": hooks});
        let calls = async {
            while house.get(&format!("/v1/sessions/{session}")).await.0 != 200 {}
            let (_, out, ..) = ask(&house, "claude", &[], tool(session, "ls")).await;
            assert!(out.contains("its own"), "{session}: {out}");
        };
        let answers = async {
            let id = owner.call().await;
            owner.answers(&id, "its own").await;
        };
        tokio::select! {
            ((status, opened), ()) = async { tokio::join!(house.post("/v1/sessions", &asked), calls) } => {
                assert_eq!(status, 201, "{opened}");
            }
            () = async { answers.await; std::future::pending().await } => {}
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_late_changes_nothing_and_the_next_call_is_answered() {
    let house = House::new().await;
    let mut owner = Owner::attach(&house, 100).await;
    owner.registers(&house, "patient", "before_prompt", 30_000).await;
    let (decision, late) = tokio::join!(decided(&house), owner.call());
    assert_eq!(
        (&decision["verdict"], &decision["failed"][0]["kind"]),
        (&json!("continue"), &json!("timeout")),
        "{decision}"
    );
    let prompt = json!({"point": "before_prompt", "session": "s", "payload": {"prompt": "go on"}});
    let ((_, decision), ()) = tokio::join!(house.post("/v1/events", &prompt), async {
        owner.answers(&late, "too late").await;
        let id = owner.call().await;
        owner.answers(&id, "in time").await;
    });
    assert_eq!(decision["reason"], json!("in time"), "{decision}");
}

#[tokio::test]
async fn an_answer_of_64_mib_is_a_failure_of_its_hook_alone() {
    let house = House::new().await;
    let mut owner = Owner::attach(&house, 2_000).await;
    let (decision, ()) = tokio::join!(decided(&house), async {
        let id = owner.call().await;
        owner.answers(&id, &"x".repeat(64 << 20)).await;
    });
    assert_eq!(decision["verdict"], json!("continue"), "{}", decision["failed"]);
    let failed = &decision["failed"][0];
    assert_eq!((&failed["hook"], &failed["kind"]), (&json!("gate"), &json!("timeout")), "{decision}");
    assert_eq!(house.get("/v1/health").await.0, 200);
}

#[tokio::test]
async fn a_connection_that_is_closed_at_once_again_and_again_is_not_made_without_a_pause() {
    let folder = folder();
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let closing = async {
        let mut attached = Vec::new();
        while attached.len() < 7 {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut head = String::new();
            let mut length = 0;
            while !head.ends_with("\r\n\r\n") {
                let start = head.len();
                stream.read_line(&mut head).await.unwrap();
                if let Some(text) = head[start..].to_ascii_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
            }
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut vec![0; length]).await.unwrap();
            if !head.starts_with("POST /v1/attach") {
                let body = r#"{"coverage":"c","hook":1}"#;
                let answer = format!(
                    "HTTP/1.1 201 Created\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.get_mut().write_all(answer.as_bytes()).await.unwrap();
                continue;
            }
            attached.push(tokio::time::Instant::now());
            let answer = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\
                upgrade: lineside-worker/2\r\nlineside-attachment: t\r\n\r\n";
            stream.get_mut().write_all(answer.as_bytes()).await.unwrap();
        }
        attached
    };
    let client = lineside::Client::new(&socket);
    let owner = async {
        let session = client.session("s").open().await.unwrap();
        session.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).await.ok();
        std::future::pending::<()>().await;
    };
    let attached = tokio::select! {
        attached = soon(closing) => attached,
        () = owner => unreachable!(),
    };
    let took = attached[6] - attached[0];
    assert!(took >= std::time::Duration::from_millis(20 + 40 + 80 + 160), "{took:?}");
}

#[tokio::test]
async fn what_a_program_declares_otherwise_under_the_same_name_takes_the_place_of_what_it_declared() {
    let house = House::new().await;
    let mut owner = Owner::attach(&house, 30_000).await;
    owner.registers(&house, "gate", "after_tool", 30_000).await;
    let (_, hooks) = house.get("/v1/sessions/s/hooks").await;
    let points: Vec<&Value> = hooks["hooks"].as_array().unwrap().iter().map(|hook| &hook["point"]).collect();
    assert_eq!(points, [&json!("after_tool")], "{hooks}");
    assert_eq!(decided(&house).await["verdict"], json!("continue"));
    owner.registers(&house, "gate", "before_tool", 30_000).await;
    let (decision, ()) = tokio::join!(decided(&house), async {
        let id = owner.call().await;
        owner.answers(&id, "asked again").await;
    });
    assert_eq!(decision["reason"], json!("asked again"), "{decision}");
}

#[tokio::test]
async fn what_shows_a_grant_takes_no_hook_away_that_another_program_has_and_takes_none_over_of_the_user() {
    let house = House::new().await;
    let (_, opened) = house.post("/v1/sessions", &json!({"id": "top"})).await;
    let grant = opened["environment"]["LINESIDE_GRANT"].as_str().unwrap().to_owned();
    let (guard, other) = (Owner::connect(&house).await, Owner::connect(&house).await);
    let hook = |owner: &Owner, name: &str| json!({"attachment": owner.1, "called": name, "hook": {"name": name, "on": "before_tool"}});
    let mut child = json!({"id": "child", "parent": "top", "attachment": guard.1});
    child["hooks"] = json!([{"called": "guard", "hook": {"name": "guard", "on": "before_tool"}}]);
    let (_, child) = house.post("/v1/sessions", &child).await;
    let number = child["hooks"][0]["hook"].as_u64().unwrap();
    let granted = async |method: hyper::Method, path: &str, token: Option<&str>, body: Value| {
        let mut request = json_request(method, path, body.to_string().into_bytes());
        request.headers_mut().insert("lineside-grant", grant.parse().unwrap());
        if let Some(token) = token {
            request.headers_mut().insert("lineside-attachment", token.parse().unwrap());
        }
        read(house.request(request).await).await
    };
    let path = "/v1/sessions/child/hooks";
    let (status, own) = granted(hyper::Method::POST, path, None, hook(&other, "own")).await;
    assert_eq!(status, 201, "{own}");
    let delete = async |number: u64, token: Option<&str>| {
        granted(hyper::Method::DELETE, &format!("{path}/{number}"), token, Value::Null).await.0
    };
    assert_eq!((delete(number, None).await, delete(number, Some(&other.1)).await), (403, 403));
    let own = own["hook"].as_u64().unwrap();
    assert_eq!((delete(own, None).await, delete(own, Some(&other.1)).await), (403, 200));
    // With its program gone it has failed, and gives way to the user alone.
    let token = guard.1.clone();
    drop(guard);
    soon(async {
        while house.get("/v1/status").await.1["attached"] != json!(1) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (status, problem) = granted(hyper::Method::POST, path, None, hook(&other, "guard")).await;
    assert_eq!((status, &problem["type"]), (403, &json!("urn:lineside:problem:hook-owned")), "{problem}");
    let brought = json!({"id": "child", "resume": true, "attachment": other.1, "hooks": [
        {"called": "guard", "hook": {"name": "guard", "on": "before_tool"}}]});
    let (_, brought) = granted(hyper::Method::POST, "/v1/sessions", None, brought).await;
    assert_eq!(brought["hooks"][0]["problem"]["status"], json!(403), "{brought}");
    assert_eq!(delete(number, Some(&token)).await, 200, "its own program is confined as well");
    let (_, again) = granted(hyper::Method::POST, path, None, hook(&other, "own")).await;
    let path = format!("{path}/{}", again["hook"]);
    assert_eq!(house.send(hyper::Method::DELETE, &path, &Value::Null).await.0, 200, "the user may");
}

#[tokio::test]
async fn a_program_that_has_attached_keeps_its_place_among_connections_until_it_is_gone() {
    let house = House::new().await;
    let owner = Owner::connect(&house).await;
    // And that of the look itself.
    let counts = async |connections: &str| {
        while !metrics(&house).await.contains(&format!("\nlineside_connections {connections}\n")) {
            tokio::task::yield_now().await;
        }
    };
    soon(counts("2")).await;
    drop(owner);
    soon(counts("1")).await;
}
