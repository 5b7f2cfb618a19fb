//! The stream of signals: live, resumed, and what a reader has lost.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Method, Response};
use lineside::json::{Value, json};

use crate::house::{House, json_request, small};

/// A reader of server-sent events.
pub(crate) struct Reader {
    response: Response<Incoming>,
    text: String,
    begun: Vec<u8>,
    /// The id of the last event, as it came.
    last: String,
}

impl Reader {
    pub(crate) async fn open(house: &House, path: &str, last: Option<&str>) -> Self {
        let last = last.map(|last| ("last-event-id", last));
        Self::with(house, path, last).await
    }

    /// One that shows a grant.
    pub(crate) async fn granted(house: &House, path: &str, grant: &str) -> Self {
        Self::with(house, path, Some(("lineside-grant", grant))).await
    }

    async fn with(house: &House, path: &str, header: Option<(&'static str, &str)>) -> Self {
        let mut request = json_request(Method::GET, path, Vec::new());
        if let Some((name, value)) = header {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let response = house.request(request).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new(), begun: Vec::new(), last: String::new() }
    }

    /// The next event: its id, its name, its data.
    pub(crate) async fn next(&mut self) -> Option<(u64, String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let prefix = format!("{name}: ");
                    event.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned)
                };
                let found = (field("id"), field("event"), field("data"));
                self.text = rest.to_owned();
                let (Some(id), Some(kind), Some(data)) = found else { continue };
                self.last.clone_from(&id);
                let id = id.rsplit('-').next().unwrap();
                return Some((id.parse().unwrap(), kind, lineside::json::from_str(&data).unwrap()));
            }
            let frame = self.response.frame().await?.unwrap();
            // A piece may end within a character.
            self.begun.extend_from_slice(frame.data_ref().unwrap());
            let whole = std::str::from_utf8(&self.begun).map_or_else(|error| error.valid_up_to(), str::len);
            let rest = self.begun.split_off(whole);
            self.text.push_str(std::str::from_utf8(&std::mem::replace(&mut self.begun, rest)).unwrap());
        }
    }

    /// The data of the next event of a kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let (_, found, data) = self.next().await.unwrap();
            if found == kind {
                return data;
            }
        }
    }

    async fn kinds(&mut self, count: usize) -> Vec<String> {
        let mut kinds = Vec::new();
        for _ in 0..count {
            kinds.push(self.next().await.unwrap().1);
        }
        kinds
    }
}

async fn idle(house: &House, session: &str) {
    let event = json!({"point": "on_idle", "session": session});
    assert_eq!(house.post("/v1/events?open=true", &event).await.0, 200);
}

#[tokio::test]
async fn a_reader_resumes_where_it_was() {
    let house = House::new().await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    idle(&house, "a").await;
    idle(&house, "b").await;
    assert_eq!(reader.kinds(2).await, ["session_opened", "decided"]);
    let (id, kind, data) = reader.next().await.unwrap();
    assert_eq!(
        (id, kind.as_str(), &data["session"], &data["signal_seq"]),
        (3, "session_opened", &json!("b"), &json!(1))
    );
    drop(reader);
    idle(&house, "a").await;
    let mut reader = Reader::open(&house, "/v1/signals", Some("3")).await;
    let (id, kind, data) = reader.next().await.unwrap();
    assert_eq!((id, kind.as_str(), &data["signal_seq"]), (4, "decided", &json!(2)));
    let (id, _, data) = reader.next().await.unwrap();
    assert_eq!(
        (id, &data["session"], &data["seq"], &data["signal_seq"]),
        (5, &json!("a"), &json!(2), &json!(3))
    );
}

#[tokio::test]
async fn a_reader_hears_one_session_when_it_says_so() {
    let house = House::new().await;
    idle(&house, "a").await;
    idle(&house, "b").await;
    let mut reader = Reader::open(&house, "/v1/signals?session=b&after=0", None).await;
    let (_, kind, data) = reader.next().await.unwrap();
    assert_eq!((kind.as_str(), &data["session"]), ("session_opened", &json!("b")));
}

#[tokio::test]
async fn a_reader_hears_what_its_query_asks_for_in_the_form_of_the_log() {
    let house = House::new().await;
    let call = |session: &str, command: &str| json!({"point": "before_tool", "session": session, "payload": {"tool_name": "Shell", "tool_input": {"command": command}}});
    for (session, command) in [("a", "ls"), ("b", "make token=abcdef1234567890"), ("b", "ls")] {
        assert_eq!(house.post("/v1/events?open=true", &call(session, command)).await.0, 200);
    }
    let mut reader = Reader::open(&house, "/v1/signals?form=log&after=0&query=session:b%20make", None).await;
    let (_, kind, data) = reader.next().await.unwrap();
    assert_eq!((kind.as_str(), &data["session"], &data["tree"]), ("decided", &json!("b"), &json!("b")));
    assert_eq!(data["payload"]["tool_input"]["command"], json!("make token=[redacted]"));
    let mut reader = Reader::open(&house, "/v1/signals?form=log&after=0&query=session:b", None).await;
    let (_, kind, data) = reader.next().await.unwrap();
    assert_eq!((kind.as_str(), &data["session"]), ("session_opened", &json!("b")));
    assert!(data["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{data}");
    assert_eq!(reader.kinds(2).await, ["decided", "decided"]);
    for (query, told) in [("tol:x", "did you mean `tool`?"), ("shadow:any", "`lineside log`")] {
        let (status, problem) = house.get(&format!("/v1/signals?query={query}")).await;
        assert_eq!(status, 400);
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(told)), "{problem}");
    }
}

#[tokio::test]
async fn w08_a_reader_learns_how_many_signals_it_has_lost() {
    let house = House::with(|settings| settings.limits(small(|limits| limits.signals = 4))).await;
    for _ in 0..9 {
        idle(&house, "a").await;
    }
    let mut feed = Reader::open(&house, "/v1/signals?after=9", None).await;
    assert_eq!(feed.next().await.unwrap().0, 10);
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let (id, kind, data) = reader.next().await.unwrap();
    assert_eq!((id, kind.as_str(), &data["lost"]), (6, "lost", &json!(6)));
    assert_eq!(reader.next().await.unwrap().0, 7);
}

#[tokio::test]
async fn the_stream_ends_with_the_daemon() {
    let house = House::new().await;
    let mut reader = Reader::open(&house, "/v1/signals", None).await;
    let ended = tokio::join!(house.server.end(), reader.next());
    assert_eq!(ended.1, None);
}

#[tokio::test]
async fn an_id_of_an_earlier_daemon_hides_nothing_of_this_one() {
    let house = House::new().await;
    idle(&house, "a").await;
    for last in ["2000", "18446744073709551615"] {
        let mut reader = Reader::open(&house, "/v1/signals", Some(last)).await;
        let heard = tokio::time::timeout(std::time::Duration::from_secs(20), reader.next()).await;
        let (id, kind, data) = heard.expect("the reader hears nothing").unwrap();
        assert_eq!((id, kind.as_str(), &data["session"]), (1, "session_opened", &json!("a")), "{last}");
    }
}

#[tokio::test]
async fn an_id_of_an_earlier_daemon_is_no_id_of_this_one() {
    let house = House::new().await;
    idle(&house, "a").await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    reader.next().await.unwrap();
    let last = reader.last.clone();
    assert!(last.ends_with("-1") && last.len() > 6, "{last}");
    let folder = {
        let House { folder, server } = house;
        server.end().await;
        folder
    };
    let server = lineside_daemon::Server::start(crate::house::settings(&folder)).await.unwrap();
    let house = House { folder, server };
    idle(&house, "b").await;
    let mut own = Reader::open(&house, "/v1/signals?after=0", None).await;
    own.next().await.unwrap();
    for (last, first) in [(last.as_str(), 1), (own.last.as_str(), 2), ("1", 2)] {
        let mut reader = Reader::open(&house, "/v1/signals", Some(last)).await;
        assert_eq!(reader.next().await.unwrap().0, first, "{last}");
    }
    let wrong = json_request(Method::GET, "/v1/signals?after=x", Vec::new());
    assert_eq!(house.request(wrong).await.status(), 400);
}

#[tokio::test]
async fn a_long_signal_arrives_whole_beside_readers_that_never_read() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let mut stuck = Vec::new();
    for _ in 0..20 {
        stuck.push(Reader::open(&house, "/v1/signals", None).await);
    }
    let mut readers = Vec::new();
    for _ in 0..2 {
        readers.push(Reader::open(&house, "/v1/signals", None).await);
    }
    let text = "é".repeat(1 << 20);
    let payload = json!({"tool_name": "T", "tool_input": {"text": text}});
    let event = json!({"point": "before_tool", "session": "s", "payload": payload});
    assert_eq!(house.post("/v1/events", &event).await.0, 200);
    idle(&house, "s").await;
    for reader in &mut readers {
        let (_, kind, data) = reader.next().await.unwrap();
        assert_eq!((kind.as_str(), &data["payload"]["tool_input"]["text"]), ("decided", &json!(text)));
        let (_, kind, data) = reader.next().await.unwrap();
        assert_eq!((kind.as_str(), &data["point"]), ("decided", &json!("on_idle")));
    }
}
