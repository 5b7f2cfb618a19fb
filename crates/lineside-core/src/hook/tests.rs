//! The words for layers and parts, and which events a hook leaves out.

use super::*;
use crate::sample::{check_words, noted};

#[test]
fn the_word_of_a_layer_is_that_of_its_json() {
    let words = [
        (Layer::Managed, "managed"),
        (Layer::User, "user"),
        (Layer::Project, "project"),
        (Layer::Session, "session"),
    ];
    check_words(Layer::as_str, &words);
}

#[test]
fn every_gate_is_called_a_gate() {
    let parts =
        [Part::Gate, Part::LoneGate, Part::Amender, Part::Detached, Part::PostDecision, Part::Observer];
    let words = ["gate", "gate", "amender", "detached", "post_decision", "observer"];
    assert_eq!(parts.map(Part::as_str), words);
    assert_eq!(parts.map(Part::is_gate), words.map(|word| word == "gate"));
}

/// What a condition answers; none panics.
struct Says(Option<Selected>);

impl Select for Says {
    fn select(&self, _: &AnyEvent) -> Selected {
        self.0.clone().expect("this condition panics")
    }

    fn describe(&self) -> String {
        "says".to_owned()
    }
}

#[test]
fn a_hook_is_skipped_when_it_is_off_or_its_condition_is_decided_against_it() {
    let off = Standby::Off(SkipReason::Disabled);
    let not_loaded = Standby::NotLoaded("no such file".into());
    let in_doubt = Selected::InDoubt("who knows".into());
    let skipped = Selected::Skipped(SkipReason::Filter);
    let cases = [
        (Standby::Ready, None, None),
        (Standby::Ready, Some(Says(Some(Selected::Runs))), None),
        (Standby::Ready, Some(Says(Some(in_doubt))), None),
        (Standby::Ready, Some(Says(None)), None),
        (Standby::Ready, Some(Says(Some(skipped.clone()))), Some(SkipReason::Filter)),
        (off.clone(), None, Some(SkipReason::Disabled)),
        (off, Some(Says(Some(Selected::Runs))), Some(SkipReason::Disabled)),
        (not_loaded.clone(), None, Some(SkipReason::NotLoaded)),
        (not_loaded, Some(Says(Some(skipped))), Some(SkipReason::NotLoaded)),
    ];
    for (index, (standby, says, expected)) in cases.into_iter().enumerate() {
        let select = says.map(|says| Arc::new(says) as Arc<dyn Select>);
        let hook = Hook { standby, select, ..Hook::native("guard", Part::Gate) };
        assert_eq!(hook.skip(&noted("one")), expected, "case {index}");
    }
}
