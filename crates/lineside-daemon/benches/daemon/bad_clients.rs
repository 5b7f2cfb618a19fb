//! Clients that misbehave, and what the others feel of it.

use std::path::Path;
use std::time::{Duration, Instant};

use lineside::Client;
use lineside::json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use crate::{REQUESTS, ROUNDS, publish};

/// How many clients misbehave.
const BAD: usize = 64;

/// The slowest of a hundred publishes of one client, alone and beside clients that stall, flood or send half a frame.
pub(crate) fn bad_clients(runtime: &Runtime, room: &Path) {
    let (mut alone, mut beside) = (vec![], vec![]);
    runtime.block_on(async {
        let client = Client::new(room.join("run/lineside.sock"));
        let quiet = client.session("quiet").open().await.unwrap();
        for _ in 0..ROUNDS / 3 {
            for (samples, bad) in [(&mut alone, 0), (&mut beside, BAD)] {
                let mut clients = Vec::new();
                for number in 0..bad {
                    clients.push(bad_client(&room.join("run/lineside.sock"), number).await);
                }
                for _ in 0..REQUESTS {
                    let begun = Instant::now();
                    publish(&quiet).await;
                    samples.push(begun.elapsed());
                }
            }
        }
    });
    let [alone, beside] = [alone, beside].map(|mut samples: Vec<Duration>| {
        samples.sort_unstable();
        samples[samples.len() * 99 / 100].as_secs_f64()
    });
    println!("FIGURE daemon/p99_alone {:.1} us -", alone * 1e6);
    println!("FIGURE daemon/p99_beside_{BAD}_bad_clients {:.1} us -", beside * 1e6);
    println!("RATIO daemon/p99_beside_bad_clients/alone {:.2} <=2", beside / alone);
}

/// Half a head, half a body, half a frame of the protocol of workers or of events, or requests or events whose answers are
/// not read.
async fn bad_client(socket: &Path, number: usize) -> UnixStream {
    let body = json!({"point": "on_idle", "session": "bare"}).to_string();
    let head = |more: &str, length: usize| {
        format!(
            "POST /v1/{more}\r\nhost: l\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let event = head("events HTTP/1.1", body.len()) + &body;
    let mut stream = UnixStream::connect(socket).await.unwrap();
    match number % 6 {
        0 => stream.write_all(&event.as_bytes()[..20]).await.unwrap(),
        1 => stream.write_all(&event.as_bytes()[..event.len() - 5]).await.unwrap(),
        2 => {
            let upgrade = "attach HTTP/1.1\r\nconnection: upgrade\r\nupgrade: lineside-worker/2";
            stream.write_all(head(upgrade, 0).as_bytes()).await.unwrap();
            stream.read_exact(&mut [0; 12]).await.unwrap();
            stream.write_all(b"{\"type\": \"hel").await.unwrap();
        }
        3 | 4 => {
            let upgrade = "events/connection HTTP/1.1\r\nconnection: upgrade\r\nupgrade: lineside-events/1";
            stream.write_all(head(upgrade, 0).as_bytes()).await.unwrap();
            stream.read_exact(&mut [0; 12]).await.unwrap();
            let frame = |id| format!("{{\"type\":\"publish\",\"id\":{id},\"bytes\":{}}}\n{body}", body.len());
            let mut id = 0;
            stream.write_all(&frame(id).as_bytes()[..20 + 30 * (number % 2)]).await.unwrap();
            if number % 6 == 4 {
                stream.write_all(&frame(id).as_bytes()[20 + 30 * (number % 2)..]).await.unwrap();
                stream.writable().await.unwrap();
                while stream.try_write(frame(id).as_bytes()).is_ok() {
                    id += 1;
                }
            }
        }
        _ => {
            stream.writable().await.unwrap();
            while stream.try_write(event.as_bytes()).is_ok() {}
        }
    }
    stream
}
