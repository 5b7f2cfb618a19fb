//! An LLM hook of jcli against a scripted judge on loopback (JC-41 to JC-45).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;
use std::path::Path;

use lineside::Assembly;
use lineside::core::{FailureKind, Outcome};
use lineside::dialects::{self, Places, Trust};
use lineside::json::Value;
use lineside::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What a judge was asked: the head of the request and its body.
type Question = (String, Value);

/// A judge that gives these answers, one for each request, and hands on what it was asked.
async fn judge(answers: Vec<(u16, Value)>) -> (String, mpsc::Receiver<Question>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let (asked, questions) = mpsc::channel(answers.len());
    tokio::spawn(async move {
        for (status, answer) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            asked.send(question(&mut stream).await).await.unwrap();
            let body = answer.to_string();
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    (address, questions)
}

async fn question(stream: &mut TcpStream) -> Question {
    let mut request = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(read > 0, "the request broke off");
        request.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8(request.clone()).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return (head, lineside::json::from_str(body).unwrap());
        }
    }
}

fn says(content: &str) -> (u16, Value) {
    (200, json!({"choices": [{"message": {"role": "assistant", "content": content}}]}))
}

const CENSOR: &str =
    "events: [pre_tool_execution]\ntype: llm\nprompt: 'May {{tool_name}} run {{tool_arguments}}?'\n";

async fn loaded(project: &Path, judge: &str) -> (Assembly, Session) {
    let folder = project.join(".jcli/hooks/censor");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("HOOK.yaml"), CENSOR).unwrap();
    let assembly = Assembly::new(Bus::new()).only(dialects::find("jcli"));
    let variables =
        [("LINESIDE_JUDGE_URL", judge), ("LINESIDE_JUDGE_MODEL", "judge-1"), ("LINESIDE_JUDGE_KEY", "k3y")];
    let places = Places {
        environment: variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect::<BTreeMap<_, _>>(),
        project_root: Some(project.to_owned()),
        cwd: project.to_owned(),
        trust: Trust::Granted,
    };
    assert_eq!(assembly.load(&places).await.unwrap().diagnostics, []);
    let session = assembly.bus().session("s").open().await.unwrap();
    (assembly, session)
}

#[tokio::test]
async fn the_judge_is_asked_and_its_answer_counts() {
    // JC-41, JC-43, JC-44
    let project = tempfile::tempdir().unwrap();
    let answers = vec![says("Well: {\"action\": \"skip\"} is my answer."), says("{}")];
    let (address, mut questions) = judge(answers).await;
    let (_assembly, session) = loaded(project.path(), &address).await;
    let refused = session.publish(BeforeTool::new("Shell", json!({"command": "rm"}))).await.unwrap();
    assert_eq!(refused.verdict(), &Verdict::block("该工具调用被 hook 跳过"));
    let (head, body) = questions.recv().await.unwrap();
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer k3y"), "{head}");
    assert_eq!((&body["model"], &body["temperature"]), (&json!("judge-1"), &json!(0)));
    let asked = body["messages"][1]["content"].as_str().unwrap();
    assert!(asked.starts_with("May Shell run {\"command\":\"rm\"}?"), "{asked}");
    let allowed = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
    assert_eq!(allowed.verdict(), &Verdict::Continue);
}

#[tokio::test]
async fn a_judge_that_fails_is_asked_again_and_then_its_hook_has_failed() {
    // JC-20, JC-44, JC-45
    let project = tempfile::tempdir().unwrap();
    let (address, mut questions) = judge(vec![(500, json!({})), says("no object here")]).await;
    let (_assembly, session) = loaded(project.path(), &address).await;
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::Continue);
    let run = &decision.receipt().unwrap().runs[0];
    let Outcome::Failed { failure, .. } = &run.outcome else { panic!("{run:?}") };
    let kinds: Vec<_> = run.earlier.iter().map(|failure| failure.kind).chain([failure.kind]).collect();
    assert_eq!(kinds, [FailureKind::Exit, FailureKind::Output]);
    for _ in 0..2 {
        questions.recv().await.unwrap();
    }
}
