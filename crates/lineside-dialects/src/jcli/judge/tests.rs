//! What a judge is asked, and what it answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use lineside_core::exchange::Posted;
use lineside_core::invocation::Captured;
use lineside_core::json::{Value, json};
use lineside_core::{Answer, Failure, FailureKind, Verdict};

use super::{Judge, QUESTION, read};
use crate::dialect::{Places, Trust};
use crate::jcli::events;
use crate::jcli::samples::captured;

fn judge(environment: &[(&str, &str)]) -> Option<Judge> {
    let environment: BTreeMap<String, String> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Judge::of(&Places { environment, project_root: None, cwd: PathBuf::from("/"), trust: Trust::Granted })
}

fn answered(event: &str, status: u16, body: Captured) -> Result<Answer, Failure> {
    let posted = Posted::Answered { status, body, took: Duration::ZERO };
    read(events::find(event).unwrap(), &posted)
}

fn content(event: &str, content: &str) -> Result<Answer, Failure> {
    let body = json!({"choices": [{"message": {"content": content}}, {"message": {"content": "{x"}}]});
    answered(event, 200, captured(body.to_string()))
}

#[test]
fn a_judge_is_what_the_environment_names() {
    // JC-41, JC-42
    assert_eq!(judge(&[]), None);
    assert_eq!(judge(&[("LINESIDE_JUDGE_URL", ""), ("LINESIDE_JUDGE_MODEL", "m")]), None);
    let with_model = judge(&[("LINESIDE_JUDGE_URL", "http://j/v1"), ("LINESIDE_JUDGE_MODEL", "m")]).unwrap();
    assert!(with_model.answers(None));
    let without = judge(&[("LINESIDE_JUDGE_URL", "http://j/v1")]).unwrap();
    assert!(without.answers(Some("own")) && !without.answers(None));
}

#[test]
fn a_request_is_fixed_to_the_last_field() {
    // JC-41, JC-43
    let plain = judge(&[("LINESIDE_JUDGE_URL", "http://j/v1/"), ("LINESIDE_JUDGE_MODEL", "m")]).unwrap();
    let post = plain.request(None, "Is it fine?\n", Duration::from_secs(30));
    assert_eq!(post.url, "http://j/v1/chat/completions");
    assert_eq!(post.headers, []);
    assert_eq!(post.timeout, Duration::from_secs(30));
    let body: Value = lineside_core::json::from_slice(&post.body).unwrap();
    assert_eq!(
        body,
        json!({
            "model": "m",
            "temperature": 0,
            "max_tokens": 2048,
            "messages": [
                {
                    "role": "system",
                    "content": "You are a hook. Answer with one JSON object and nothing else."
                },
                {"role": "user", "content": format!("Is it fine?\n\n{QUESTION}")},
            ],
        })
    );
    let keyed = judge(&[("LINESIDE_JUDGE_URL", "http://j"), ("LINESIDE_JUDGE_KEY", "k")]).unwrap();
    let post = keyed.request(Some("own"), "Is it?", Duration::from_secs(1));
    assert_eq!(post.headers, [("Authorization".to_owned(), "Bearer k".to_owned())]);
    let body: Value = lineside_core::json::from_slice(&post.body).unwrap();
    assert_eq!(body["model"], "own");
    assert_eq!(body["messages"][1]["content"], format!("Is it?\n\n{QUESTION}"));
}

#[test]
fn an_answer_is_read_from_its_first_brace_to_its_last() {
    // JC-44
    for nothing in ["", " \n", "{}", " {} ", "{ }"] {
        assert_eq!(content("stop", nothing), Ok(Answer::default()), "{nothing:?}");
    }
    let fenced = content("stop", "Sure:\n```json\n{\"action\": \"stop\", \"user_input\": 5}\n```");
    assert_eq!(fenced, Ok(Verdict::stop("请求被 hook 中止").into()));
    for unreadable in ["fine", "[1]", "{\"user_input\": 5}", "{a} {b}", "} {"] {
        let failure = content("stop", unreadable).unwrap_err();
        assert_eq!((failure.kind, failure.started), (FailureKind::Output, true), "{unreadable}");
        assert!(failure.detail.starts_with("unreadable output: "), "{failure}");
    }
    for no_answer in ["", "{}", "[]", "no JSON", "{\"choices\": [{\"message\": {\"content\": null}}]}"] {
        let failure = answered("stop", 200, captured(no_answer)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Output, "{no_answer}");
    }
    let cut = Captured { bytes: b"{}".to_vec(), dropped: 1 };
    assert_eq!(answered("stop", 200, cut).unwrap_err().kind, FailureKind::Output);
    assert_eq!(answered("session_end", 204, captured("no JSON")), Ok(Answer::default()));
}

#[test]
fn a_judge_that_does_not_answer_is_a_failure() {
    // JC-44, JC-45
    let told = |posted: &Posted| {
        let failure = read(events::find("stop").unwrap(), posted).unwrap_err();
        (failure.kind, failure.detail.into_owned(), failure.started)
    };
    let refused = answered("stop", 503, captured("try\nlater")).unwrap_err();
    assert_eq!((refused.kind, &*refused.detail), (FailureKind::Exit, "judge: status 503: try\\nlater"));
    assert_eq!(answered("stop", 301, captured("")).unwrap_err().detail, "judge: status 301");
    assert_eq!(
        told(&Posted::Unreachable { why: "connection refused".to_owned() }),
        (FailureKind::Exit, "judge: connection refused".to_owned(), true)
    );
    assert_eq!(
        told(&Posted::TimedOut { after: Duration::from_secs(30) }),
        (FailureKind::Timeout, "timed out after 30 s".to_owned(), true)
    );
}
