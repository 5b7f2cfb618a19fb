//! Ends, answers and results in the terms of the page.

use std::time::Duration;

use lineside_core::invocation::Leaked;
use lineside_core::json::json;

use super::*;

fn ended(exit: Exit, stdout: &[u8]) -> Ended {
    let captured = |bytes: &[u8]| Captured { bytes: bytes.to_vec(), dropped: 0 };
    Ended {
        exit,
        stdout: captured(stdout),
        stderr: captured(b" warned \n"),
        took: Duration::ZERO,
        leaked: Leaked::Nothing,
    }
}

fn answered(status: u16, body: &[u8]) -> Output {
    let body = Captured { bytes: body.to_vec(), dropped: 0 };
    Output::of_post(&Posted::Answered { status, body, took: Duration::ZERO })
}

/// Why there is no status.
fn detail(output: &Output) -> String {
    output.failure.as_ref().unwrap().detail.to_string()
}

#[test]
fn only_one_object_and_nothing_else_is_json_output() {
    // FL-17, FL-18
    let json = |text: &[u8]| Output::of_command(&ended(Exit::Code(0), text)).json;
    assert_eq!(json(b"\n {\"a\": 1}\t\n").unwrap()["a"], 1);
    assert_eq!(json(b"{\"a\": \"\xff\"}").unwrap()["a"], "\u{fffd}");
    assert_eq!(json(b"{\"Decision\": \"block\"}").unwrap().get("decision"), None, "keys compare exactly");
    for text in ["", "text", "[{}]", "{} {}", "note: {}", "{}\nnote", "{'a': 1}", "\"{}\"", "null"] {
        assert_eq!(json(text.as_bytes()), None, "{text}");
    }
    let output = Output::of_command(&ended(Exit::Code(3), b" text "));
    assert_eq!((output.status, &*output.text, &*output.stderr), (3, "text", "warned"));
}

#[test]
fn what_was_cut_is_plain_text_and_the_record_says_so() {
    // FL-16
    let mut cut = ended(Exit::Code(0), b"{\"decision\": \"block\"}");
    cut.stdout.dropped = 5;
    let output = Output::of_command(&cut);
    assert_eq!(output.json, None);
    assert_eq!(output.remarks, ["standard output was cut to 21 bytes, 5 were dropped"]);
    let mut cut = ended(Exit::Code(0), b"{\"decision\": \"block\"}");
    cut.stderr.dropped = 7;
    let output = Output::of_command(&cut);
    assert!(output.json.is_some());
    assert_eq!(output.remarks, ["standard error was cut to 9 bytes, 7 were dropped"]);
}

#[test]
fn the_output_of_a_run_that_timed_out_is_not_interpreted() {
    // FL-16
    let after = Duration::from_secs(1);
    let output = Output::of_command(&ended(Exit::TimedOut { after }, b"{\"reason\": \"r\"}"));
    assert_eq!(
        (detail(&output).as_str(), &output.json, &*output.text),
        ("timed out after 1 s (stderr: warned)", &None, "")
    );
}

#[test]
fn an_answer_of_a_webhook_is_read_by_its_status_and_body() {
    // FL-34
    for status in [200, 204, 299] {
        let output = answered(status, b" \n");
        assert_eq!((output.status, output.failure, output.json), (0, None, None));
        let output = answered(status, b" {\"decision\": \"block\", \"summary\": \" s \"} ");
        assert_eq!((output.status, &output.failure, &*output.text), (0, &None, "s"));
        assert_eq!(output.json.unwrap()["decision"], "block");
        for body in ["hello", "[]", "null", "{} {}"] {
            let output = answered(status, body.as_bytes());
            assert_eq!(detail(&output), "unreadable output: a body that is not a JSON object", "{body}");
        }
    }
    for status in [199, 300, 302, 404, 500] {
        let output = answered(status, b"{\"decision\": \"block\"}");
        assert_eq!((detail(&output), output.json), (format!("HTTP status {status}"), None));
    }
    let body = Captured { bytes: b"{}".to_vec(), dropped: 1 };
    let output = Output::of_post(&Posted::Answered { status: 200, body, took: Duration::ZERO });
    assert_eq!(detail(&output), "unreadable output: a body of more than 1048576 bytes");
    let after = Duration::from_secs(3);
    assert_eq!(detail(&Output::of_post(&Posted::TimedOut { after })), "timed out after 3 s");
    let unreachable = Output::of_post(&Posted::Unreachable { why: "refused".to_owned() });
    assert_eq!(detail(&unreachable), "cannot start: refused");
}

#[test]
fn a_function_returns_a_result_or_nothing() {
    // FL-35
    let output = Output::of_function(None);
    assert_eq!((output.status, output.json, &*output.text), (0, None, ""));
    let result = HookResult { exit_code: 2, stdout: " {\"a\": 1} ".to_owned(), ..HookResult::default() };
    let output = Output::of_function(Some(result.clone()));
    assert_eq!((output.status, output.json.unwrap()["a"].clone()), (2, json!(1)));
    let json = json!({"b": 2}).as_object().cloned();
    let output = Output::of_function(Some(HookResult { json_output: json.clone(), ..result }));
    assert_eq!(output.json, json);
}

#[test]
fn what_was_printed_is_doubted_only_where_it_can_be_read_in_two_ways() {
    // FL-18
    let doubt = |exit: Exit, text: &str| Output::of_command(&ended(exit, text.as_bytes())).doubt;
    let exited = |text: &str| doubt(Exit::Code(0), text);
    for plain in ["{\"decision\": \"block\"}", "{\"reason\": \"r\"}", "{}", "text", "", "[1, 1]"] {
        assert_eq!(exited(plain), None, "{plain}");
    }
    assert_eq!(exited("note {\"decision\": \"block\"}"), Some(Doubt::Buried));
    let after = Duration::from_secs(1);
    assert_eq!(doubt(Exit::TimedOut { after }, "note {\"decision\": \"block\"}"), None);
    let twice = |decisions: &[&str]| {
        Some(Doubt::Twice { decisions: decisions.iter().map(|word| (*word).to_owned()).collect() })
    };
    assert_eq!(exited("{\"decision\": \"block\", \"decision\": \"allow\"}"), twice(&["block", "allow"]));
    assert_eq!(exited("{\"decision\": \"allow\", \"a\": {\"b\": 1, \"b\": 2}}"), twice(&["allow"]));
    let body = b"{\"decision\": \"block\", \"decision\": \"allow\"}";
    assert_eq!(answered(200, body).doubt, twice(&["block", "allow"]));
}
