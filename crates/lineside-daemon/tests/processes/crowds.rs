//! What an agent has started takes no room that other agents need.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lineside_daemon::settings::Limits;

use crate::ancestry::Host;
use crate::{AGENT, House};

const CONNECTIONS: usize = 64;

fn limits() -> Limits {
    let mut limits = Limits::default();
    (limits.connections, limits.head) = (CONNECTIONS, Duration::from_secs(3_600));
    limits
}

/// Connects many times over and keeps what is not closed, until the daemon ends; says how many these are.
const CROWD: &str = "
import os, socket
all = []
for _ in range(640):
    one = socket.socket(socket.AF_UNIX)
    one.connect(os.environ['LINESIDE_SOCKET'])
    one.settimeout(20)
    try:
        one.sendall(b'GET /v1/health HTTP/1.1\\r\\nhost: l\\r\\n\\r\\n')
        if one.recv(4096): all.append(one)
    except OSError: pass
print(len(all), flush=True)
all[0].settimeout(60)
all[0].recv(1)
";

#[test]
fn the_connections_of_what_an_agent_has_started_leave_room_for_others() {
    let house = House::with(limits());
    let script = house.folder.path().join("crowd.py");
    std::fs::write(&script, CROWD).unwrap();
    let mut crowd = Host::start(&house, "crowd", None);
    assert_eq!(crowd.calls("ls"), "200");
    let fifo = house.folder.path().join("count");
    let (script, fifo) = (script.display(), fifo.display());
    let line = format!("mkfifo {fifo}; python3 {script} > {fifo} & read many < {fifo}; echo $many");
    let many = crowd.calls(&format!("run {line}; {AGENT} hook crowd ls"));
    let many: usize = many.parse().unwrap();
    assert!((CONNECTIONS / 8..=CONNECTIONS / 4 + 1).contains(&many), "{many}");
    assert_eq!(crowd.says(), "200", "its own entry");
    let mut other = Host::start(&house, "other", None);
    assert_eq!(other.calls("ls"), "200");
    house.ends();
}

/// A crowd below no agent, and how many of it were let in.
fn crowd_of_none(house: &House) -> (std::process::Child, usize) {
    let script = house.folder.path().join("crowd.py");
    std::fs::write(&script, CROWD).unwrap();
    let mut crowd = std::process::Command::new("python3")
        .arg(&script)
        .env("LINESIDE_SOCKET", house.socket())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut many = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(crowd.stdout.take().unwrap()), &mut many)
        .unwrap();
    (crowd, many.trim_end().parse().unwrap())
}

#[test]
fn what_is_below_no_agent_that_is_known_leaves_half_of_the_room_to_agents() {
    let house = House::with(limits());
    let (mut crowd, many) = crowd_of_none(&house);
    assert!((CONNECTIONS / 2..=CONNECTIONS / 2 + CONNECTIONS / 8 + 1).contains(&many), "{many}");
    let mut connect = UnixStream::connect(house.socket()).unwrap();
    assert_eq!(ask(&mut connect, "/v1/health").0, "200");
    house.ends();
    crowd.wait().unwrap();
}

#[test]
fn while_agents_run_a_person_is_let_in_beside_the_half_of_the_rest() {
    let house = House::with(limits());
    let mut agent = Host::start(&house, "agent", None);
    assert_eq!([agent.calls("ls"), agent.calls("ls")], ["200", "200"]);
    // What this test starts is a person's.
    let (mut crowd, many) = crowd_of_none(&house);
    let half = CONNECTIONS / 2 + CONNECTIONS / 8 + 1;
    assert!((half + 1..=half + CONNECTIONS / 8).contains(&many), "{many}");
    assert_eq!(agent.calls("ls"), "200");
    drop(agent);
    house.ends();
    crowd.wait().unwrap();
}

#[test]
fn the_sessions_of_what_an_agent_has_started_leave_room_for_others_and_for_it() {
    let mut limits = Limits::default();
    limits.sessions = 64;
    let house = House::with(limits);
    let [mut crowd, mut other] = ["crowd", "other"].map(|id| Host::start(&house, id, None));
    assert_eq!(crowd.calls("ls"), "200");
    let open = || house.server.bus().sessions().len();
    let line = format!(
        "for i in $(seq 20); do {AGENT} hook further$i ls; {AGENT} hook crowd/$i ls; done >&2; echo 1"
    );
    assert_eq!(crowd.calls(&format!("run {line}")), "1");
    assert_eq!(open(), 8, "an eighth, of whichever roots");
    assert_eq!([crowd.calls("ls"), other.calls("ls"), other.starts("", "inner", "ls")], ["200"; 3]);
    // What has no agent above it has half.
    for number in 0..80 {
        house.agent(&["again", &format!("rest{number}"), "ls"]).status().unwrap();
    }
    assert_eq!(open(), 8 + 2 + 32);
    let mut further = Host::start(&house, "agent", None);
    assert_eq!(further.calls("ls"), "200");
    house.ends();
}

/// Asks for something over a connection that stays, to the status and the body.
fn ask(stream: &mut UnixStream, path: &str) -> (String, String) {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: l\r\n\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let head = String::from_utf8(answer).unwrap().to_ascii_lowercase();
    let length = head.split_once("content-length: ").unwrap().1.split_once("\r\n").unwrap().0;
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head[9..12].to_owned(), String::from_utf8(body).unwrap())
}

#[test]
fn when_a_crowd_has_gone_the_next_request_is_let_in() {
    let house = House::with(limits());
    let connect = || UnixStream::connect(house.socket()).unwrap();
    let mut crowd: Vec<_> = (0..CONNECTIONS - CONNECTIONS / 16).map(|_| connect()).collect();
    // Answered, it is certain that each is let in, and that the next place is one of the last.
    assert!(crowd.iter_mut().all(|stream| ask(stream, "/v1/health").0 == "200"));
    let mut one = crowd.pop().unwrap();
    drop(crowd);
    while !ask(&mut one, "/v1/metrics").1.contains("\nlineside_connections 1\n") {}
    assert_eq!(ask(&mut connect(), "/v1/health").0, "200");
    house.ends();
}

#[test]
fn some_of_the_room_is_for_the_calls_of_agent_programs_alone() {
    let house = House::with(limits());
    let ask = || {
        let mut stream = UnixStream::connect(house.socket()).unwrap();
        stream.write_all(b"GET /v1/health HTTP/1.1\r\nhost: l\r\n\r\n").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        (stream, String::from_utf8(status.into()).unwrap())
    };
    let all: Vec<_> = (0..CONNECTIONS - 1).map(|_| ask()).collect();
    let full = CONNECTIONS - CONNECTIONS / 16;
    assert!(all.iter().enumerate().all(|(number, (_, status))| status.ends_with("200") == (number < full)));
    let mut agent = Host::start(&house, "agent", None);
    assert_eq!(agent.calls("ls"), "200");
    drop(all);
    house.ends();
}
