//! Law 3: of a hook whose failure refuses, what is printed around a refusal, or so long that a part of it is lost, does not
//! make it an opinion: it is a refusal, or a failure. In every format whose hooks print what they decide.

use lineside::core::{OnFailure, Strength};

use crate::doubled_keys::said;
use crate::formats::{ALL, Format, GUARDS};

/// A refusal in the words of a format.
fn refusal(format: &Format) -> String {
    let refuses = |printed: &String| is_refusal(format.read(printed));
    said().into_iter().filter(refuses).max_by_key(String::len).expect("each format has a refusal")
}

fn is_refusal(verdict: Option<lineside::prelude::Verdict>) -> bool {
    verdict.is_some_and(|verdict| verdict.strength() >= Strength::Block)
}

/// The refusal, as programs spoil it.
fn spoilt(refusal: &str) -> Vec<String> {
    let text = lineside::json::to_string(refusal).unwrap();
    let wide: String = refusal.chars().flat_map(|char| [char, '\0']).collect();
    let half = &refusal[..refusal.len() - 1];
    vec![
        format!("loading\n{refusal}\n"),
        format!("loading {refusal}\n"),
        format!("{refusal}\ndone\n"),
        format!("{{}}\n{refusal}\n"),
        format!("{refusal}\n{refusal}\n"),
        format!("\u{feff}{refusal}\n"),
        format!("\u{a0}\r\n\t{refusal}\r\n"),
        format!("\0{refusal}"),
        format!("\x1b[0m{refusal}\n"),
        format!("```json\n{refusal}\n```\n"),
        format!("[{refusal}]"),
        refusal.replace('"', "'"),
        text,
        wide,
        half.to_owned(),
    ]
}

#[test]
fn a_refusal_that_is_lost_in_what_a_guard_prints_is_no_opinion() {
    let refuse_as_usual = ALL.iter().filter(|format| format.on_failure == OnFailure::Block);
    let guards: Vec<&Format> = refuse_as_usual.chain(&*GUARDS).collect();
    assert_eq!(guards.len(), 9, "native, and each format that lets its authors choose");
    for format in guards {
        assert_eq!(format.on_failure, OnFailure::Block, "{}", format.name);
        let refusal = refusal(format);
        // The answer of a worker is a value within a line of JSON, and a line that is too long is none.
        for printed in spoilt(&refusal).iter().filter(|_| !format.in_worker) {
            let verdict = format.read(printed);
            assert!(
                verdict.is_none() || is_refusal(verdict.clone()),
                "{}: {printed:?}: {verdict:?}",
                format.name
            );
        }
        for printed in ["", "    ", "text", "{}", &refusal].iter().filter(|_| !format.in_worker) {
            for status in [0, 2] {
                let verdict = format.read_cut(status, printed, "", 9);
                let name = &format.name;
                assert!(
                    verdict.is_none() || is_refusal(verdict.clone()),
                    "{name}: {printed:?} and more, {status}: {verdict:?}"
                );
            }
        }
    }
}

#[test]
fn what_is_cut_approves_nothing() {
    for format in ALL.iter().chain(&*GUARDS).filter(|format| !format.in_worker) {
        for printed in said() {
            let verdict = format.read_cut(0, &printed, "", 9);
            let approves = verdict.as_ref().is_some_and(|verdict| verdict.strength() == Strength::Allow);
            assert!(!approves, "{}: {printed} and more", format.name);
        }
    }
}
