//! The pages of the daemon: who comes in, what a browser hears about them, and what a reader costs that does not read.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use lineside::core::Strength;
use lineside::dialects::native::ApprovalSettings;
use lineside::json::{Value, from_str};
use lineside::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::hosts::{ask, tool};
use crate::house::House;

/// An address that a person was given: where it is, and the token.
async fn invited(house: &House) -> (SocketAddr, String) {
    let (status, invited) = house.post("/v1/dashboard", &json!({})).await;
    assert_eq!(status, 200, "{invited}");
    let url = invited["url"].as_str().unwrap();
    let (address, token) = url.strip_prefix("http://").unwrap().split_once("/dashboard/open?token=").unwrap();
    (address.parse().unwrap(), token.to_owned())
}

/// A browser of a person.
struct Browser {
    address: SocketAddr,
    cookie: String,
}

impl Browser {
    async fn of(house: &House) -> Self {
        let (address, token) = invited(house).await;
        let path = format!("/dashboard/open?token={token}");
        let answer = send(address, request(Method::GET, address, &path, &[]), "").await;
        assert_eq!((answer.status, &*answer.header("location")), (303, "/dashboard"), "{}", answer.text);
        let cookie = answer.header("set-cookie");
        let [name, path, only, same] = cookie.split("; ").collect::<Vec<_>>()[..] else { panic!("{cookie}") };
        assert_eq!((path, only, same), ("Path=/dashboard", "HttpOnly", "SameSite=Strict"));
        Self { address, cookie: name.to_owned() }
    }

    async fn get(&self, path: &str) -> Answer {
        let request = request(Method::GET, self.address, path, &[("cookie", &self.cookie)]);
        send(self.address, request, "").await
    }

    /// A form of a page.
    async fn post(&self, path: &str, form: &str) -> Answer {
        let origin = format!("http://{}", self.address);
        self.post_from(&origin, path, form).await
    }

    async fn post_from(&self, origin: &str, path: &str, form: &str) -> Answer {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        let headers = [("cookie", &*self.cookie), ("origin", origin), kind];
        send(self.address, request(Method::POST, self.address, path, &headers), form).await
    }
}

struct Answer {
    status: u16,
    headers: hyper::HeaderMap,
    text: String,
}

impl Answer {
    fn header(&self, name: &str) -> String {
        self.headers.get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    }
}

fn request(
    method: Method,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> hyper::http::request::Builder {
    let mut builder = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        builder = builder.header("host", address.to_string());
    }
    headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value))
}

async fn open(address: SocketAddr, request: hyper::http::request::Builder, body: &str) -> Response<Incoming> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()).await.unwrap()
}

async fn send(address: SocketAddr, request: hyper::http::request::Builder, body: &str) -> Answer {
    let response = open(address, request, body).await;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.into_body().collect().await.unwrap().to_bytes();
    Answer { status, headers, text: String::from_utf8(text.to_vec()).unwrap() }
}

#[tokio::test]
async fn an_address_is_worth_something_once_and_nothing_is_shown_without_a_key() {
    let house = House::new().await;
    let (address, token) = invited(&house).await;
    let path = format!("/dashboard/open?token={token}");
    let get = async |path: &str, headers: &[(&str, &str)]| {
        send(address, request(Method::GET, address, path, headers), "").await.status
    };
    assert_eq!(get("/dashboard/open?token=0123", &[]).await, 401);
    assert_eq!(get("/dashboard/open", &[]).await, 401);
    assert_eq!(get(&path, &[]).await, 303);
    // A token that was taken is none.
    assert_eq!(get(&path, &[]).await, 401);
    for path in ["/dashboard", "/dashboard/events", "/dashboard/assets/app.js", "/dashboard/approvals"] {
        assert_eq!(get(path, &[]).await, 401, "{path}");
        assert_eq!(get(path, &[("cookie", "lineside-1=x")]).await, 401, "{path}");
    }
    // The door has the pages and nothing of the API.
    let browser = Browser::of(&house).await;
    for path in ["/v1/status", "/v1/sessions", "/"] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
    // Another daemon has other keys.
    let house = house.again().await;
    let (address, _) = invited(&house).await;
    let cookie = format!("lineside-{}={}", address.port(), browser.cookie.split_once('=').unwrap().1);
    let answer = send(address, request(Method::GET, address, "/dashboard", &[("cookie", &cookie)]), "").await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn other_pages_and_other_hosts_are_refused_with_the_key_as_well() {
    let house = House::new().await;
    let browser = Browser::of(&house).await;
    let address = browser.address;
    let get = async |headers: &[(&str, &str)]| {
        let headers = [headers, &[("cookie", &*browser.cookie)]].concat();
        send(address, request(Method::GET, address, "/dashboard", &headers), "").await.status
    };
    assert_eq!(get(&[]).await, 200);
    let localhost = format!("localhost:{}", address.port());
    assert_eq!(get(&[("host", &localhost)]).await, 200);
    for host in ["evil.example", "127.0.0.1", "127.0.0.1:1"] {
        assert_eq!(get(&[("host", host)]).await, 421, "{host}");
    }
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"] {
        assert_eq!(get(&[("origin", origin)]).await, 403, "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(get(&[("sec-fetch-site", site)]).await, 403, "{site}");
    }
    assert_eq!(get(&[("sec-fetch-site", "none")]).await, 200);
    // What changes something comes from one of the pages, and says so.
    for origin in ["https://evil.example", "null", &format!("https://{address}")] {
        assert_eq!(browser.post_from(origin, "/dashboard/jobs/1/drop", "").await.status, 403, "{origin}");
    }
    let without = request(Method::POST, address, "/dashboard/jobs/1/drop", &[("cookie", &browser.cookie)]);
    assert_eq!(send(address, without, "").await.status, 403);
    assert_eq!(browser.post("/dashboard/jobs/1/drop", "").await.status, 404);
    assert_eq!(browser.get("/dashboard/jobs/1/drop").await.status, 405);
}

#[tokio::test]
async fn a_slash_behind_the_address_leads_to_the_page() {
    let house = House::new().await;
    let browser = Browser::of(&house).await;
    for (path, page) in
        [("/dashboard/", "/dashboard"), ("/dashboard/?q=verdict:block%20a", "/dashboard?q=verdict:block%20a")]
    {
        let answer = browser.get(path).await;
        assert_eq!((answer.status, &*answer.header("location")), (303, page));
    }
    let answer = send(browser.address, request(Method::GET, browser.address, "/dashboard/", &[]), "").await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn every_answer_says_that_only_our_own_is_loaded() {
    let house = House::new().await;
    let browser = Browser::of(&house).await;
    let paths = [
        "", "/decisions", "/lineage", "/hooks", "/approvals", "/lab", "/assets/app.js", "/none",
        "/sessions/s",
    ];
    for path in paths {
        let answer = browser.get(&format!("/dashboard{path}")).await;
        assert_eq!(answer.status, if path == "/none" { 404 } else { 200 }, "{path}: {}", answer.text);
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(!answer.text.contains("https://"), "{path}");
    }
}

#[tokio::test]
async fn what_was_decided_is_on_the_pages_and_what_is_hostile_in_it_is_text() {
    let hostile = "<script>alert(1)</script>\"'\u{202e}\u{1b}[2J";
    let house = House::new().await;
    let gate =
        house.server.bus().intercept::<BeforeTool>("guard").gate(move |_, _| {
            std::future::ready(Verdict::block(format!("password=hunter2hunter2 {hostile}")))
        });
    gate.unwrap();
    let session = house.client().session(hostile).agent(Agent::main(hostile)).open().await.unwrap();
    let call = BeforeTool::new(hostile, json!({"command": hostile}));
    let decision = session.publish(call).await.unwrap();
    assert_eq!(decision.verdict().strength(), Strength::Block);
    let browser = Browser::of(&house).await;
    let id = decision.id().unwrap().to_owned();
    let decision = loop {
        // The log is written a moment after the decision.
        let answer = browser.get(&format!("/dashboard/decisions/{id}")).await;
        if answer.status == 200 {
            break answer.text;
        }
    };
    let segment = "%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22%27%E2%80%AE%1B%5B2J";
    for (path, what) in [
        ("/dashboard".to_owned(), "guard"),
        ("/dashboard/decisions?q=verdict:refused".to_owned(), "guard"),
        (format!("/dashboard/sessions/{segment}"), "guard"),
        (format!("/dashboard/lineage?session={segment}"), "guard"),
        ("/dashboard/hooks".to_owned(), "guard"),
        (format!("/dashboard/lab?event={id}"), "before_tool"),
    ] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(page.text.contains(what), "{path}: {}", page.text);
        for text in [&page.text, &decision] {
            assert!(
                !text.contains("<script>alert") && !text.contains(['\u{202e}', '\u{1b}']),
                "{path}: {text}"
            );
            assert!(!text.contains("hunter2"), "{path}");
        }
    }
    assert!(decision.contains("&lt;script&gt;alert(1)") && decision.contains("\\u{202e}"), "{decision}");
    let data = browser.get(&format!("/dashboard/sessions/{segment}/data")).await;
    let data: Value = lineside::json::from_str(&data.text).unwrap();
    assert_eq!(data["bars"][0][5], json!("block"), "{data}");
    let wrong = browser.get("/dashboard?q=verdikt:block").await;
    assert!(wrong.text.contains("did you mean `verdict`?"), "{}", wrong.text);
}

#[tokio::test]
async fn what_was_refused_in_a_session_that_has_ended_is_on_the_page_that_is_opened_then() {
    let house = House::new().await;
    let gate =
        house.server.bus().intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("not that"));
    gate.unwrap();
    let session = house.client().session("over").agent(Agent::main("worker")).open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
    assert_eq!(decision.verdict().strength().as_str(), "block");
    session.close().await.unwrap();
    let browser = Browser::of(&house).await;
    let page = browser.get("/dashboard").await.text;
    assert!(page.contains("not that") && page.contains("worker"), "{page}");
    assert!(page.contains("No agent is open."), "{page}");
}

#[tokio::test]
async fn a_person_answers_a_question_on_the_page_and_the_agent_goes_on() {
    let house = House::with(|mut settings| {
        settings.approvals = Some(ApprovalSettings::default());
        settings
    })
    .await;
    let gate = house.server.bus().intercept::<BeforeTool>("no-push").gate(async |call, _| {
        let asks = call.command().is_some_and(|command| command.contains("push"));
        if asks { Verdict::ask("a push needs a person") } else { Verdict::Continue }
    });
    gate.unwrap();
    let browser = Browser::of(&house).await;
    let answering = async {
        let page = loop {
            let page = browser.get("/dashboard/approvals").await.text;
            if page.contains("a push needs a person") {
                break page;
            }
        };
        // It is seen where its agent is looked at as well, with what waits.
        let timeline = browser.get("/dashboard/sessions/s").await.text;
        assert!(timeline.contains("<tr class=\"pending\">") && timeline.contains("git push"), "{timeline}");
        assert!(timeline.contains("<a href=\"/dashboard/approvals\">waits for a person</a>"), "{timeline}");
        let data: Value = from_str(&browser.get("/dashboard/sessions/s/data").await.text).unwrap();
        let bar = &data["bars"][0];
        assert_eq!((&bar[3], &bar[4]), (&Value::Null, &json!("before_tool Bash git push")), "{data}");
        assert_eq!(data["lanes"][bar[0].as_u64().unwrap() as usize][0], json!("s"), "{data}");
        let fleet = browser.get("/dashboard").await.text;
        assert!(fleet.contains("waits for a person · before_tool Bash git push"), "{fleet}");
        let id = page.split("action=\"/dashboard/approvals/").nth(1).unwrap().split('"').next().unwrap();
        let path = format!("/dashboard/approvals/{id}");
        assert_eq!(browser.post(&path, "answer=perhaps+once").await.status, 400);
        let answered = browser.post(&path, "answer=deny+once&reason=not+%3Ctoday%3E").await;
        assert_eq!((answered.status, &*answered.header("location")), (303, "/dashboard/approvals"));
        // The first answer counts.
        assert_eq!(browser.post(&path, "answer=allow+once").await.status, 409);
    };
    let (asked, ()) = tokio::join!(ask(&house, "codex", &[], tool("s", "git push")), answering);
    assert!(asked.1.contains("not <today>"), "{asked:?}");
}

#[tokio::test]
async fn the_lab_says_what_would_happen_and_nothing_happens() {
    let house =
        House::hooked("hooks:\n  - name: guard\n    on: before_tool\n    command: \"touch ran\"\n").await;
    let browser = Browser::of(&house).await;
    let event = "event=%7B%22point%22%3A%22before_tool%22%2C%22session%22%3A%22s%22%2C%22payload%22%3A%7B%22tool_name%22%3A%22Shell%22%2C%22tool_input%22%3A%7B%7D%7D%7D";
    let page = browser.post("/dashboard/lab", event).await;
    assert!(page.status == 200 && page.text.contains("1 of 1 hooks would run"), "{}", page.text);
    // A form ends lines with CR LF; what is shown can be sent again.
    let lines = event.replace("%2C%22session", "%2C%0D%0A%22session");
    let page = browser.post("/dashboard/lab", &lines).await;
    assert!(page.text.contains("1 of 1 hooks would run") && !page.text.contains("\\u000d"), "{}", page.text);
    let wrong = browser.post("/dashboard/lab", "event=%7B").await;
    assert!(wrong.status == 200 && wrong.text.contains("it is no JSON object"), "{}", wrong.text);
    assert!(!house.folder.path().join("project/ran").exists());
    assert_eq!(house.get("/v1/sessions").await.1, json!({"sessions": []}));
}

/// A stream of frames.
struct Frames(TcpStream, Vec<u8>);

impl Frames {
    async fn of(browser: &Browser) -> Self {
        let mut stream = TcpStream::connect(browser.address).await.unwrap();
        let head = format!(
            "GET /dashboard/events HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\n\r\n",
            browser.address, browser.cookie
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self(stream, Vec::new())
    }

    async fn next(&mut self) -> Value {
        loop {
            let text = String::from_utf8_lossy(&self.1).into_owned();
            if let Some(end) = text.find("}\n\n") {
                let data = text[..=end].rsplit_once("data: ").unwrap().1.to_owned();
                self.1.drain(..end + 3);
                // The lengths of pieces are of no interest; a frame is in one.
                return lineside::json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}"));
            }
            let mut part = [0; 65_536];
            let count = self.0.read(&mut part).await.unwrap();
            assert!(count > 0, "the stream has ended");
            self.1.extend_from_slice(&part[..count]);
        }
    }
}

#[tokio::test]
async fn a_reader_that_does_not_read_gets_what_it_has_missed_in_a_few_frames() {
    let house = House::new().await;
    let bus = house.server.bus();
    let session = bus.session("s").open().await.unwrap();
    let browser = Browser::of(&house).await;
    let mut frames = Frames::of(&browser).await;
    assert_eq!(frames.next().await["new"][0][3], json!("s"));
    // Far more than the feed keeps: a thousand sessions come and go, and thousands of events are decided.
    for round in 0..1_000 {
        let short = bus.session(format!("short-{round}")).open().await.unwrap();
        for _ in 0..8 {
            let _decided = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
        }
        short.close().await;
    }
    let last = bus.session("last").open().await.unwrap();
    let mut seen = 0;
    let (mut count, mut lost) = (0, 0);
    while seen == 0 {
        let frame = frames.next().await;
        count += 1;
        lost = frame["lost"].as_u64().unwrap();
        let new = frame["new"].as_array().unwrap();
        seen += new.iter().filter(|agent| agent[3] == json!("last")).count();
        let events = frame["events"].as_u64().unwrap();
        assert!(events <= 8_000, "{frame}");
    }
    // What the daemon itself could not follow is said; what it could comes in few frames and not one by one.
    assert!(count < 200, "{count} frames, {lost} lost");
    last.close().await;
}
