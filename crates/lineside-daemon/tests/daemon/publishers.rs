//! The client over connections for events: few of them for many publishers, nothing sent twice when one breaks, and no
//! event that takes longer than it may.

use std::time::Duration;

use lineside::Client;
use lineside::client::RequestError;
use lineside::log::{Look, Query};
use lineside::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use crate::connection::soon;
use crate::house::House;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_publishers_of_one_client_share_a_few_connections() {
    let house = House::new().await;
    // Of every other publisher, events wait for the gate and are answered out of their order.
    let waits = house.server.bus().intercept::<BeforeTool>("waits").gate(async |call, _| {
        let number = call.tool_input["command"].as_u64().unwrap();
        for _ in 0..number % 2 * (120 - number) {
            tokio::task::yield_now().await;
        }
        Verdict::Continue
    });
    waits.unwrap();
    let client = house.client();
    let publishers = (0..120).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            let session = client.session(format!("s{number}")).open().await.unwrap();
            for seq in 1..=10 {
                let decision =
                    session.publish(BeforeTool::new("Shell", json!({"command": number}))).await.unwrap();
                assert_eq!(decision.seq(), Some(seq));
                assert_eq!(decision.payload().tool_input["command"], json!(number));
            }
        })
    });
    for publisher in publishers.collect::<Vec<_>>() {
        soon(publisher).await.unwrap();
    }
}

#[tokio::test]
async fn an_event_takes_no_longer_than_its_publisher_says() {
    let house = House::new().await;
    let stays = house
        .server
        .bus()
        .intercept::<BeforeTool>("stays")
        .gate(async |_, _| std::future::pending::<Verdict>().await);
    stays.unwrap();
    let session = house.client().session("s").open().await.unwrap();
    let (call, time) = (BeforeTool::new("Shell", json!({})), Duration::from_millis(50));
    let decision = soon(session.publish_within(call, time)).await.unwrap();
    assert!(decision.is_refused());
    assert_eq!(decision.author(), Some("stays"));
}

#[tokio::test]
async fn an_event_that_may_have_arrived_is_not_sent_again_and_the_next_one_goes_over_another_connection() {
    let house = House::new().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let front = house.folder.path().join("front");
    let listener = UnixListener::bind(&front).unwrap();
    let client = Client::new(&front);
    let back = house.socket();
    // Passes everything on, until it has seen this.
    let pass = async |until: &'static str| {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut far = UnixStream::connect(&back).await.unwrap();
        let (mut seen, mut buffer) = (Vec::new(), vec![0; 4096]);
        while !String::from_utf8_lossy(&seen).contains(until) {
            let mut answer = vec![0; 4096];
            tokio::select! {
                read = near.read(&mut buffer) => {
                    let read = read.unwrap();
                    seen.extend_from_slice(&buffer[..read]);
                    if read == 0 { return; }
                    far.write_all(&buffer[..read]).await.unwrap();
                }
                read = far.read(&mut answer) => {
                    let read = read.unwrap();
                    if read == 0 { return; }
                    near.write_all(&answer[..read]).await.unwrap();
                }
            }
        }
    };
    let session = tokio::select! {
        session = client.session("s").resume().open() => session.unwrap(),
        () = pass("never") => panic!("it was closed"),
    };
    let (broken, ()) = tokio::join!(session.publish(OnIdle::new()), pass("on_idle"));
    assert!(matches!(broken, Err(RequestError::Broken { .. })), "{broken:?}");
    let next = tokio::select! {
        next = session.publish(OnIdle::new()) => next.unwrap().seq().unwrap(),
        () = pass("never") => panic!("it was closed"),
    };
    // The one that broke may have been decided; it was not published a second time.
    assert!((1..=2).contains(&next), "{next}");
}

#[tokio::test]
async fn the_first_event_after_a_restart_goes_over_a_connection_to_the_new_daemon() {
    let house = House::new().await;
    let session = house.client().session("s").open().await.unwrap();
    assert_eq!(session.publish(OnIdle::new()).await.unwrap().seq(), Some(1));
    let house = house.again().await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    assert_eq!(session.publish(OnIdle::new()).await.unwrap().seq(), Some(1));
}

#[tokio::test]
async fn a_publisher_chooses_neither_the_id_nor_the_time_of_an_event_that_is_to_be_decided() {
    let house = House::hooked(
        "hooks: [{name: once, on: before_tool, limit: {at_most: 1, per: 1h}, verdict: block, reason: once}]",
    )
    .await;
    house.post("/v1/sessions", &json!({"id": "s"})).await;
    let said = "00000000-0001-7000-8000-000000000001";
    let (mut given, mut verdicts) = (Vec::new(), Vec::new());
    for time in ["1970-01-01T00:00:00Z", "1971-01-01T00:00:00Z", "1972-01-01T00:00:00Z"] {
        let event = json!({"point": "before_tool", "session": "s", "id": said, "time": time,
            "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}}});
        let (status, decision) = house.post("/v1/events", &event).await;
        assert_eq!(status, 200, "{decision}");
        given.push(decision["id"].as_str().unwrap().to_owned());
        verdicts.push(decision["verdict"].as_str().unwrap().to_owned());
    }
    assert_eq!(verdicts, ["continue", "block", "block"]);
    // Ids of one millisecond are in no order; what they say of the time is the daemon's.
    assert!(
        given.iter().all(|id| id.as_str() > "01000000") && !given.iter().any(|id| id == said),
        "{given:?}"
    );
    let now = house.server.bus().wall_clock().as_millisecond();
    let House { folder, server } = house;
    server.end().await;
    let look = Look::open(&folder.path().join("state/log.sqlite")).unwrap();
    let found = look.decisions(&Query::default(), 10).unwrap();
    assert_eq!(found.iter().map(|one| one.id.to_string()).collect::<Vec<_>>(), given);
    let day = now - 86_400_000..=now;
    assert!(found.iter().all(|one| day.contains(&one.time.as_millisecond())), "{found:?}");
}
