//! What the settings have hear everything that is decided: a file, a command, a server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use lineside::core::Origin;
use lineside::dialects::native::{ObserveSettings, ObserveTo};
use lineside::json::{Value, from_str, json};
use lineside_daemon::{Server, Settings};

use crate::house::{House, folder, settings};

const GUARD: &str = "hooks:
  - name: no-rm
    on: before_tool
    match: {runs: rm}
    verdict: block
    reason: not rm
";

fn observer(name: &str, query: &str, to: ObserveTo) -> ObserveSettings {
    let (name, query) = (name.to_owned(), query.to_owned());
    ObserveSettings { name, query, to, origin: Origin::new(Path::new("/config.yaml"), 2) }
}

/// A daemon with a guard and these observers.
async fn observed(observe: impl FnOnce(&Path) -> Vec<ObserveSettings>) -> House {
    let folder = folder();
    let hooks = folder.path().join("project/.lineside");
    let mut settings: Settings = settings(&folder);
    std::fs::create_dir_all(&hooks).unwrap();
    std::fs::write(hooks.join("hooks.yaml"), GUARD).unwrap();
    settings.observe = observe(folder.path());
    let server = Server::start(settings).await.unwrap();
    House { folder, server }
}

async fn call(house: &House, session: &str, command: &str) {
    let event = json!({"point": "before_tool", "session": session,
        "payload": {"tool_name": "Shell", "tool_input": {"command": command}}});
    assert_eq!(house.post("/v1/events?open=true", &event).await.0, 200);
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_file_has_what_its_query_asks_for_refused_or_not_and_no_secrets() {
    let file = |folder: &Path, name: &str| ObserveTo::File {
        path: folder.join(format!("seen/{name}.jsonl")),
        bytes: 1 << 20,
        keep: 1,
    };
    let house = observed(|folder| {
        vec![
            observer("all", "", file(folder, "all")),
            observer("refused", "verdict:refused", file(folder, "refused")),
            observer("none", "verdikt:refused", file(folder, "none")),
        ]
    })
    .await;
    call(&house, "a", "make token=abcdef1234567890").await;
    call(&house, "b", "rm x").await;
    let (_, status) = house.get("/v1/status").await;
    let found = status["findings"].to_string();
    assert!(found.contains("observer \\\"none\\\" hears nothing") && found.contains("`verdict`"), "{found}");
    let House { folder, server } = house;
    server.end().await;
    let read =
        |name: &str| std::fs::read_to_string(folder.path().join(format!("seen/{name}.jsonl"))).unwrap();
    let all = read("all");
    assert!(all.contains("make token=[redacted]") && !all.contains("abcdef1234567890"), "{all}");
    let kinds: Vec<_> = lines(&all).iter().map(|line| line["kind"].as_str().unwrap().to_owned()).collect();
    for kind in ["session_opened", "decided"] {
        assert_eq!(kinds.iter().filter(|known| *known == kind).count(), 2, "{kind}: {kinds:?}");
    }
    let refused = lines(&read("refused"));
    let [refused] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!((&refused["session"], &refused["by"]), (&json!("b"), &json!("no-rm")));
}

#[tokio::test]
async fn what_a_command_does_not_take_is_put_aside_and_said() {
    let house = observed(|folder| {
        let script = format!("cat >> {}/taken", folder.display());
        vec![
            observer("fails", "tool:Shell", ObserveTo::Command(vec!["false".to_owned()])),
            observer(
                "takes",
                "tool:Shell",
                ObserveTo::Command(vec!["sh".to_owned(), "-c".to_owned(), script]),
            ),
        ]
    })
    .await;
    call(&house, "a", "ls").await;
    // The next attempt is a second away.
    let told = async {
        loop {
            let (_, status) = house.get("/v1/status").await;
            let found = status["findings"].to_string();
            if found.contains("observer \\\"fails\\\" cannot deliver") {
                break found;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = told.await;
    assert!(found.contains("false ended with exit status 1") && !found.contains("takes"), "{found}");
    let House { folder, server } = house;
    server.end().await;
    let dead = std::fs::read_to_string(folder.path().join("state/observe/fails.dead.jsonl")).unwrap();
    let taken = std::fs::read_to_string(folder.path().join("taken")).unwrap();
    assert_eq!(lines(&dead)[0]["payload"], json!({"tool_name": "Shell", "tool_input": {"command": "ls"}}));
    assert_eq!(dead, taken);
    assert!(!folder.path().join("state/observe/takes.dead.jsonl").exists());
}

#[tokio::test]
async fn a_server_is_posted_lists_with_the_headers_of_the_settings() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/ingest", server.local_addr().unwrap());
    let heard = tokio::task::spawn_blocking(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut heard = Vec::new();
        let mut piece = [0; 4096];
        while !heard.ends_with(b"}]") {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0);
            heard.extend_from_slice(&piece[..read]);
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        String::from_utf8(heard).unwrap()
    });
    let house = observed(|_| {
        let headers = vec![("Authorization".to_owned(), "Bearer abc".to_owned().into())];
        vec![observer("siem", "verdict:refused", ObserveTo::Post(url, headers))]
    })
    .await;
    call(&house, "a", "ls").await;
    call(&house, "a", "rm x").await;
    let heard = heard.await.unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("post /ingest"), "{head}");
    assert!(head.contains("authorization: bearer abc") && head.contains("application/json"), "{head}");
    assert_eq!(from_str::<Value>(body).unwrap()[0]["reason"], json!("not rm (rm)"));
    house.server.end().await;
}

#[tokio::test]
async fn what_came_too_fast_is_counted_and_stands_among_the_records() {
    let house = {
        let folder = folder();
        let mut settings = settings(&folder);
        settings.limits.signals = 16;
        let path = folder.path().join("all.jsonl");
        settings.observe = vec![observer("all", "", ObserveTo::File { path, bytes: 1 << 20, keep: 1 })];
        House { server: Server::start(settings).await.unwrap(), folder }
    };
    for _ in 0..200 {
        call(&house, "a", "ls").await;
    }
    let House { folder, server } = house;
    server.end().await;
    let all = lines(&std::fs::read_to_string(folder.path().join("all.jsonl")).unwrap());
    let lost: u64 = all.iter().filter_map(|line| line["lost"].as_u64()).sum();
    // That the end of the daemon closes the session may come before its last look.
    let others = |line: &&Value| line["kind"] != "lost" && line["kind"] != "session_closed";
    let others = all.iter().filter(others).count() as u64;
    assert_eq!(lost + others, 201, "the beginning of the session, and each event");
}

#[tokio::test]
async fn a_worker_is_kept_and_what_one_that_ends_had_not_read_the_next_one_has() {
    const SCRIPT: &str = "while IFS= read -r line; do printf '%s\\n' \"$line\" >> taken
        case $line in *crash*) exit 3 ;; esac
    done; echo over >> ends";
    let house = observed(|folder| {
        let script = format!("cd {}; {SCRIPT}", folder.display());
        let words = ["sh", "-c", &script].map(str::to_owned).to_vec();
        let file = ObserveTo::File { path: folder.join("all"), bytes: 1 << 20, keep: 1 };
        vec![
            observer("all", "tool:Shell", file),
            observer("kept", "tool:Shell", ObserveTo::Worker(words)),
            observer("none", "tool:Shell", ObserveTo::Worker(vec!["/no/such/program".to_owned()])),
        ]
    })
    .await;
    for command in ["ls", "crash", "crash", "after"] {
        call(&house, "a", command).await;
    }
    loop {
        let (_, status) = house.get("/v1/status").await;
        let found = status["findings"].to_string();
        if found.contains("observer \\\"none\\\" cannot deliver") {
            assert!(found.contains("/no/such/program") && !found.contains("kept"), "{found}");
            break;
        }
        tokio::task::yield_now().await;
    }
    let House { folder, server } = house;
    server.end().await;
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let all = read("all");
    assert_eq!(lines(&all).len(), 4);
    assert_eq!(read("taken"), all);
    assert_eq!(read("ends"), "over\n", "its input ends with the daemon");
    assert_eq!(read("state/observe/none.dead.jsonl"), all);
    assert!(!folder.path().join("state/observe/kept.dead.jsonl").exists());
}
