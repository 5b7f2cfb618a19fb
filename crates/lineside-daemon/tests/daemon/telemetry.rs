//! What a collector of OpenTelemetry is sent, and that one that is away costs nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use lineside::json::{Value, json};

use crate::house::House;

/// The paths and the bodies of requests.
type Posts = Vec<(String, Vec<u8>)>;

/// A collector: the paths and the bodies that it was sent, of so many requests at least, until this is among them.
fn collector(wanted: &'static str) -> (String, JoinHandle<Posts>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let taking = move || {
        let mut taken = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
            let (head, length) = loop {
                let read = stream.read(&mut piece).unwrap();
                assert!(read > 0);
                heard.extend_from_slice(&piece[..read]);
                let Some(end) = heard.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                let head = String::from_utf8(heard[..end].to_vec()).unwrap().to_ascii_lowercase();
                assert!(head.contains("content-type: application/x-protobuf"), "{head}");
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                break (head.clone(), end + 4 + length.parse::<usize>().unwrap());
            };
            while heard.len() < length {
                let read = stream.read(&mut piece).unwrap();
                assert!(read > 0);
                heard.extend_from_slice(&piece[..read]);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").unwrap();
            let has_it = heard.windows(wanted.len()).any(|part| part == wanted.as_bytes());
            taken.push((head.split(' ').nth(1).unwrap().to_owned(), heard));
            if has_it {
                return taken;
            }
        }
    };
    (url, std::thread::spawn(taking))
}

async fn sending(url: String) -> House {
    House::with(|mut settings| {
        settings.places.environment.insert("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), url);
        settings
    })
    .await
}

async fn call(house: &House) {
    let event = json!({"point": "before_tool", "session": "s",
        "payload": {"tool_name": "Shell", "tool_input": {"command": "make unmistakable"}}});
    assert_eq!(house.post("/v1/events?open=true", &event).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_the_environment_of_the_daemon_names_is_sent_spans_without_content() {
    let (url, taken) = collector("decide before_tool");
    let house = sending(url).await;
    call(&house).await;
    let taken = tokio::task::spawn_blocking(move || taken.join().unwrap()).await.unwrap();
    assert!(taken.iter().any(|(path, _)| path == "/v1/traces"));
    let has = |part: &[u8]| taken.iter().any(|(_, body)| body.windows(part.len()).any(|found| found == part));
    assert!(has(b"service.name") && !has(b"unmistakable"));
    house.server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_costs_no_decision_and_is_named_by_the_status() {
    let away = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", away.local_addr().unwrap());
    drop(away);
    let house = sending(url).await;
    let found = loop {
        call(&house).await;
        let (_, status) = house.get("/v1/status").await;
        let is_of = |finding: &&Value| finding["of"] == "otel";
        if let Some(found) = status["findings"].as_array().unwrap().iter().find(is_of) {
            break found["text"].to_string();
        }
    };
    assert!(found.contains("the collector takes nothing") && found.contains("refused"), "{found}");
    house.server.end().await;
}

#[cfg(feature = "collector-tests")]
mod collected {
    use std::io::{BufRead as _, BufReader};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use super::*;

    /// A collector that is a program, and says all that it is sent.
    struct Rotel(Child);

    impl Drop for Rotel {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }

    fn free() -> SocketAddr {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
    }

    /// One that listens, and where.
    fn rotel() -> (Rotel, SocketAddr) {
        let program = std::env::var_os("LINESIDE_COLLECTOR").expect("LINESIDE_COLLECTOR names rotel-agent");
        let (http, grpc) = (free(), free());
        let mut rotel = Command::new(program);
        rotel.args(["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]);
        rotel.args(["--debug-log", "traces", "--debug-log", "metrics", "--debug-log", "logs"]);
        rotel.args(["--otlp-http-endpoint", &http.to_string(), "--otlp-grpc-endpoint", &grpc.to_string()]);
        // It is linked with Python, which need not lie where libraries are looked for.
        if let Some(libraries) = std::env::var_os("LINESIDE_COLLECTOR_LIBRARIES") {
            rotel.env("LD_LIBRARY_PATH", libraries);
        }
        let mut rotel = Rotel(rotel.stdout(Stdio::piped()).spawn().unwrap());
        while TcpStream::connect(http).is_err() {
            assert_eq!(rotel.0.try_wait().unwrap(), None, "the collector has ended");
            std::thread::yield_now();
        }
        (rotel, http)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_collector_of_others_understands_spans_and_metrics() {
        let (mut rotel, address) = rotel();
        let house = sending(format!("http://{address}")).await;
        call(&house).await;
        // What is to be sent at intervals is sent at its end as well.
        house.server.end().await;
        let said = BufReader::new(rotel.0.stdout.take().unwrap());
        let (says, lines) = sync_channel(64);
        std::thread::spawn(move || said.lines().try_for_each(|line| says.send(line.unwrap())));
        let mut wanted = vec!["decide before_tool", "gen_ai.conversation.id", "lineside.decision.duration"];
        while !wanted.is_empty() {
            let line = lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|_| panic!("it does not say that it was sent {wanted:?}"));
            wanted.retain(|part| !line.contains(part));
        }
    }
}
