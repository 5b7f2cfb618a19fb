//! Secrets in whatever a hook writes, answers, throws or is sent to: the report of its failure has none of them.
//!
//! The oracle is a search: everything that an event leaves behind (receipt, decision, signals) is turned into text, and
//! no secret of `tests/redaction/secrets.txt` may be found in it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use lineside::bus::signal::{Signals, Watched};
use lineside::core::Outcome;
use lineside::dialects;
use lineside::flyto::Definition;
use lineside::prelude::*;

use crate::bench::{Bench, Stage};

#[path = "../../../../tests/redaction/canaries.rs"]
mod canaries;

use canaries::Canary;

/// The canaries in portions that are reported whole: of standard error 2048 bytes are.
fn portions(all: &[Canary], most: usize) -> Vec<String> {
    let mut portions = vec![String::new()];
    for Canary { text, .. } in all {
        // Where its end is missing a key reaches up to the end, and what comes behind it would not be tried.
        let end = if text.contains("PRIVATE KEY") { "\n-----END PRIVATE KEY-----" } else { "" };
        let portion = portions.last_mut().unwrap();
        if portion.len() + text.len() + end.len() + 1 > most && !portion.is_empty() {
            portions.push(String::new());
        }
        portions.last_mut().unwrap().extend([text.as_str(), end, "\n"]);
    }
    portions
}

/// Everything that an event has left behind.
fn left<P: lineside::core::Point>(decision: &Decision<P>, signals: &mut Signals) -> String {
    let receipt = decision.receipt().unwrap();
    let mut left = format!("{receipt:?}\n{:?}\n", decision.reason());
    for run in &receipt.runs {
        if let Outcome::Failed { failure, .. } = &run.outcome {
            left.extend(["\n", &failure.detail]);
        }
    }
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        left.push_str(&format!("\n{signal:?}"));
    }
    left
}

fn silent(left: &str, all: &[Canary]) {
    assert_eq!(canaries::told(left, all), [""; 0], "{left}");
    assert!(left.contains("[redacted]"), "and something was told: {left}");
}

async fn failing(stage: &Stage, said: &Path, portions: &[String], all: &[Canary]) {
    let mut signals = stage.assembly.bus().signals();
    for portion in portions {
        fs::write(said, portion).unwrap();
        let decision = stage.shell("ls").await;
        silent(&left(&decision, &mut signals), all);
    }
}

/// Hooks of each format that write this to standard error and fail.
#[test]
fn c04_what_a_hook_writes_on_standard_error_is_told_without_secrets() {
    let all = canaries::all();
    let portions = portions(&all, 1900);
    for dialect in ["agenthooks", "chord", "flyto"] {
        let bench = Bench::enter();
        let said = bench.path("said");
        let command = format!("cat {} >&2; exit 3", said.display());
        let file = match dialect {
            "agenthooks" => {
                bench.hook("h", "on_failure: block", &format!("#!/bin/sh\n{command}\n"));
                None
            }
            "chord" => {
                let hook = format!(
                    "hooks:\n  on_tool_call:\n    - name: h\n      on_failure: block\n      command: [sh, -c, '{command}']\n"
                );
                Some((".chord/config.yaml", hook))
            }
            _ => {
                let hook = json!({ "name": "h", "command": command, "on_failure": "block" });
                Some((".flyto/settings.json", json!({ "hooks": { "pre_tool_use": [hook] } }).to_string()))
            }
        };
        if let Some((file, text)) = file {
            let file = bench.path(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        bench.run_with(dialects::find(dialect).unwrap(), async |stage| {
            assert_eq!(stage.report.hooks.len(), 1, "{dialect}: {:?}", stage.report);
            failing(stage, &said, &portions, &all).await;
        });
    }
}

fn panicking<T>(text: &str) -> T {
    panic!("{text}")
}

#[test]
fn c04_what_a_panic_says_is_told_without_secrets() {
    let all = canaries::all();
    let texts: Vec<_> = all.iter().map(|canary| canary.text.clone()).collect();
    let bench = Bench::enter();
    bench.run(async |stage| {
        let mut signals = stage.assembly.bus().signals();
        for (number, text) in texts.into_iter().enumerate() {
            let session = stage.assembly.bus().session(format!("of {number}")).open().await.unwrap();
            let (here, there) = (text.clone(), text.clone());
            let panics = session.intercept::<BeforeTool>("panics").gate(move |_, _| {
                let text = here.clone();
                async move { panicking::<Verdict>(&text) }
            });
            panics.unwrap();
            let function = Definition::function(move |_, _| {
                let text = there.clone();
                async move { panicking(&text) }
            });
            stage.assembly.flyto_of(&session).register("pre_tool_use", function).unwrap();
            let decision =
                session.publish(BeforeTool::new("Shell", json!({ "command": "ls" }))).await.unwrap();
            let left = left(&decision, &mut signals);
            assert_eq!(canaries::told(&left, &all), [""; 0], "of {text}: {left}");
            assert!(left.contains("panicked"), "{left}");
            session.close().await;
        }
    });
}

/// A webhook whose URL, answers and redirects hold secrets.
#[test]
fn c04_what_is_told_of_a_post_has_no_secrets() {
    let all = canaries::all();
    let inline: Vec<&Canary> =
        all.iter().filter(|canary| !canary.text.contains(['\n', '\\']) && canary.text.is_ascii()).collect();
    let bench = Bench::enter();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Each answer on a connection of its own: the server says so, and the next request does not meet the end of the last.
    let answers: Vec<_> = inline
        .iter()
        .flat_map(|canary| {
            let text = &canary.text;
            [
                format!("HTTP/1.1 500 {text}\r\nX-A: {text}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len()),
                format!(
                    "HTTP/1.1 307 Away\r\nLocation: http://{address}/?{text}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                ),
                format!("HTTP/1.1 307 Away\r\nLocation: {text}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len()),
                format!("{text}\r\n\r\n"),
            ]
        })
        .collect();
    let count = answers.len();
    let server = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut chunk = [0; 65536];
            assert!(stream.read(&mut chunk).unwrap() > 0);
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    let file = bench.path(".flyto/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let hook = json!({ "name": "h", "webhook_url": format!("http://{address}/hunter2?token=hunter2"), "on_failure": "block" });
    fs::write(file, json!({ "hooks": { "pre_tool_use": [hook] } }).to_string()).unwrap();
    bench.run_with(dialects::find("flyto").unwrap(), async |stage| {
        let mut signals = stage.assembly.bus().signals();
        for _ in 0..count {
            let decision = stage.shell("ls").await;
            let left = left(&decision, &mut signals);
            assert_eq!(canaries::told(&left, &all), [""; 0], "{left}");
            assert!(!left.contains("hunter2"), "{left}");
        }
        server.join().unwrap();
        // And where no server is.
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        assert!(!left(&decision, &mut signals).contains("hunter2"));
    });
}
