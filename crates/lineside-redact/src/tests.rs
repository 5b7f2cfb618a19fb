//! The two corpora of `tests/redaction`, and what has to be true of any text.

use std::borrow::Cow;

use proptest::prelude::*;

use self::canaries::{Canary, texts, told};
use super::{Lines, REDACTED, redact, redact_head, redact_header, redact_json, rules};

#[path = "../../../tests/redaction/canaries.rs"]
mod canaries;

const NO_SECRETS: &str = include_str!("../../../tests/redaction/no_secrets.txt");

#[test]
fn every_pattern_compiles() {
    assert_eq!(rules::all().len(), rules::COUNT);
}

#[test]
fn c04_every_secret_is_taken_out_and_what_is_around_it_stays() {
    let wrong: Vec<_> = canaries::all()
        .into_iter()
        .map(|Canary { text, without, .. }| (redact(&text).into_owned(), without))
        .filter(|(redacted, without)| redacted != without)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn passwords_behind_options_are_taken_out() {
    for (text, expected) in [
        ("curl -u me:hunter2 https://x", "curl -u me:[redacted] https://x"),
        ("curl -su 'me:hunter2' https://x", "curl -su 'me:[redacted]' https://x"),
        ("curl -ume:hunter2 x", "curl -ume:[redacted] x"),
        ("curl https://x --user=me:hunter2", "curl https://x --user=me:[redacted]"),
        ("curl --proxy-user me:hunter2 x", "curl --proxy-user me:[redacted] x"),
        ("http -a me:hunter2 x", "http -a me:[redacted] x"),
        ("mysql -phunter2 db", "mysql -p[redacted] db"),
        ("mysqldump -u root -p'hunter2' db", "mysqldump -u root -p'[redacted]' db"),
        ("sshpass -p hunter2 ssh x", "sshpass -p [redacted] ssh x"),
        ("curl -u me:$PASS https://x", "curl -u me:$PASS https://x"),
        ("mysql -p db", "mysql -p db"),
        ("mkdir -pv a/b; cp -pr a b", "mkdir -pv a/b; cp -pr a b"),
        ("curl -H 'a: b' https://x:80/y", "curl -H 'a: b' https://x:80/y"),
        ("curl -o a https://x:80/y", "curl -o a https://x:80/y"),
        ("curl -sa https://x:80/y", "curl -sa https://x:80/y"),
        ("mysql -h x; mkdir -p a", "mysql -h x; mkdir -p a"),
        ("curl -u me https://x:80/", "curl -u me https://x:80/"),
    ] {
        assert_eq!(redact(text), expected, "{text}");
        assert_eq!(redact(expected), expected, "twice: {text}");
    }
}

#[test]
fn c04_what_is_no_secret_stays_and_is_not_copied() {
    let wrong: Vec<_> = texts(NO_SECRETS).filter(|text| redact(text) != *text).collect();
    assert!(wrong.is_empty(), "{:#?}", wrong.iter().map(|text| redact(text)).collect::<Vec<_>>());
    for text in texts(NO_SECRETS) {
        assert!(matches!(redact(&text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn c04_secrets_are_found_in_the_middle_of_other_text_and_beside_each_other() {
    // What runs to the end of its line or of the text would take the next text with it.
    let all = canaries::all();
    let text: Vec<_> =
        all.iter().map(|canary| format!("{}\n-----END PRIVATE KEY-----\n", canary.text)).collect();
    assert_eq!(told(&redact(&text.concat()), &all), [""; 0]);
}

#[test]
fn a_head_is_cut_behind_the_redaction_and_never_through_a_secret() {
    let key = ["gh", "p_abcdefghijklmnopqrstuvwxyz0123456789"].concat();
    let text = format!("{}{key}{}", "x ".repeat(10), "y".repeat(100_000));
    for most in 0..60 {
        let head = redact_head(&text, most);
        assert!(head.len() <= most);
        assert!(!head.contains("gh"), "{head}");
    }
    assert_eq!(redact_head("äöü", 3), "ä");
    assert_eq!(redact_head("short", 99), "short");
}

#[test]
fn a_private_key_that_comes_line_by_line_is_hidden_to_its_end() {
    let mut lines = Lines::default();
    let kind = ["RSA PRI", "VATE KEY-----"].concat();
    let text = format!("before\n[1] -----BEGIN {kind}\nMIIEpAIBAAKCAQEA\nhunter2\n-----END {kind}\nafter");
    let redacted: Vec<_> = text.lines().map(|line| lines.redact(line).into_owned()).collect();
    assert_eq!(redacted, ["before", "[1] [redacted]", REDACTED, REDACTED, REDACTED, "after"]);
    let mut lines = Lines::default();
    drop(lines.redact(&format!("-----BEGIN {kind}")));
    let hidden = (0..1000).filter(|_| lines.redact("text") == REDACTED).count();
    assert_eq!(hidden, 256, "a key without an end does not hide everything");
}

#[test]
fn headers_are_known_by_their_names() {
    for name in
        ["Authorization", "cookie", "X-Api-Key", "X-Auth-Token", "Proxy-Authorization", "X-Hub-Signature"]
    {
        assert_eq!(redact_header(name, "hunter2"), REDACTED);
    }
    assert_eq!(redact_header("X-Event", "e1"), "e1");
    assert_eq!(redact_header("X-Url", "https://me:hunter2@h"), "https://me:[redacted]@h");
}

/// Texts that make a pattern that tries again at each byte take weeks.
#[test]
fn c04_ten_megabytes_take_time_by_their_length() {
    const LENGTH: usize = 10 << 20;
    // All of them take their time in the same way; only one has to be long.
    for (seed, length) in [
        ("a", LENGTH),
        ("://a:", 1 << 20),
        ("password", 1 << 20),
        ("-----BEGIN PRIVATE KEY-----", 1 << 20),
        ("Bearer ", 1 << 20),
        ("\"password\": \"", 1 << 20),
        ("eyJaaaaaaaa.", 1 << 20),
        ("--a-", 1 << 20),
        ("AAAAAAAAAAAAAAAA\n", 1 << 20),
        ("token = ", 1 << 20),
    ] {
        let text = seed.repeat(length / seed.len());
        // What is not linear does not come to its end here.
        assert!(redact(&text).len() <= 2 * text.len());
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_doing_it_twice_changes_nothing(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        pieces in proptest::collection::vec(piece(), 0..12),
    ) {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), pieces.concat()] {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once), once.as_str(), "of {:?}", text);
            for most in [0, 1, 7, 64] {
                prop_assert!(redact_head(&text, most).len() <= most);
            }
            let mut lines = Lines::default();
            for line in text.lines() {
                drop(lines.redact(line));
            }
        }
    }

    #[test]
    fn a_known_key_never_comes_through_whatever_is_around_it(before in "\\PC{0,40}", after in "\\PC{0,40}") {
        let key = ["gh", "p_abcdefghijklmnopqrstuvwxyz0123456789"].concat();
        let text = format!("{before} {key} {after}");
        prop_assert!(!redact(&text).contains(&key));
    }
}

/// Pieces of which secrets are made.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9]{1,24}",
        "[ \\t\\n\"'`\\\\\\[\\]:=@/?&;,.$-]{1,3}",
        prop::sample::select(vec![
            "password",
            "token",
            "Authorization",
            "Cookie",
            ": ",
            "=",
            "Bearer ",
            "Basic ",
            "://",
            "@",
            "sk-",
            "ghp_",
            "eyJ",
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "[redacted]",
            "--",
            "api_key",
            "\\\"",
            "?key=",
        ])
        .prop_map(str::to_owned),
    ]
}

#[test]
fn a_secret_at_the_beginning_of_a_line_of_a_string_is_taken_out_of_json() {
    let canaries: Vec<Canary> = canaries::all();
    for Canary { text, .. } in &canaries {
        for before in ["x\n", "\t", "x\r"] {
            let text = format!("{before}{text}").replace('\\', "\\\\").replace('"', "\\\"");
            let text = text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
            let redacted = redact_json(&format!("{{\"content\":\"{text}\\u000c\",\"n\":1}}")).into_owned();
            assert!(told(&redacted, &canaries).is_empty(), "{redacted}");
        }
    }
    for plain in [r#"{"a":"x\ny","b":["\"","\\"]}"#, r#"{"a":"x"}"#, r#""\"#, r#"{"a":"\u12"#, r#"\"#] {
        assert!(matches!(redact_json(plain), Cow::Borrowed(text) if text == plain), "{plain}");
    }
}
