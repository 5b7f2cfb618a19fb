//! What came of a published event, as far as its host receives it.

use lineside_core::context::is_unseen;
use lineside_core::json::{Map, Value};
use lineside_core::payload::json_weight;
use lineside_core::{Receipt, Strength, Verdict};

use super::known::{Known, Shared};
use crate::hosts::table::unreasoned;

/// What came of an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The payload as it was published.
    pub before: Map,
    /// The payload as the hooks have left it.
    pub after: Map,
    /// The name of the hook that has given the verdict.
    pub author: String,
    /// The names of the hooks that have amended it.
    pub amenders: Vec<String>,
    /// Texts for the context of the agent.
    pub context: Vec<String>,
    /// Texts for the user.
    pub notices: Vec<String>,
    /// Whether the hook that asks has given no reason: the one that stands there names the hook (HO-19).
    pub is_unreasoned: bool,
}

impl Outcome {
    /// That of a receipt.
    #[must_use]
    pub fn of(receipt: &Receipt) -> Self {
        let mut amenders: Vec<String> = Vec::new();
        for change in &receipt.changes {
            let name = receipt.name(change.hook);
            if !amenders.iter().any(|known| known == name) {
                amenders.push(name.to_owned());
            }
        }
        let author = receipt.author.map(|author| receipt.name(author)).unwrap_or_default();
        let named = Verdict::ask("").with_readable_reason(author);
        let is_name = |reason: &str| {
            reason == unreasoned(author) || named.reason().is_some_and(|named| named.as_str() == reason)
        };
        Self {
            is_unreasoned: matches!(&receipt.verdict, Verdict::Ask(reason) if is_name(reason.as_str())),
            verdict: match &receipt.verdict {
                Verdict::Ask(reason) => Verdict::ask(shown(reason.as_str())),
                Verdict::Allow(Some(reason)) => Verdict::allow_because(shown(reason.as_str())),
                verdict => verdict.clone(),
            },
            before: receipt.event.original().to_json(),
            after: receipt.event.payload_json().clone(),
            author: author.to_owned(),
            amenders,
            context: receipt.context.iter().map(|by| by.what.text.clone()).collect(),
            notices: receipt.notices.iter().map(|by| by.what.text.clone()).collect(),
        }
    }

    /// Takes in what came of an event that was derived from this one, as if it had come from this one (HO-5).
    pub fn fold(&mut self, derived: Self) {
        if derived.verdict.strength() > self.verdict.strength() {
            self.verdict = derived.verdict;
            self.author = derived.author;
            self.is_unreasoned = derived.is_unreasoned;
        }
        for (field, value) in derived.after {
            // It was given the value that this event had, so a difference is an amendment; that of a field which this
            // event does not have is one that no host can take.
            if derived.before.get(&field) != Some(&value) {
                self.after.insert(field, value);
            }
        }
        self.amenders.extend(derived.amenders);
        self.context.extend(derived.context);
        self.notices.extend(derived.notices);
    }

    /// Whether it must not happen.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.verdict.strength().is_final()
    }

    pub(super) fn strength(&self) -> Strength {
        self.verdict.strength()
    }

    /// The reason that the hook has given.
    pub(super) fn reason(&self) -> &str {
        let reason = self.verdict.reason().filter(|_| !self.is_unreasoned);
        reason.map_or("", |reason| reason.as_str())
    }
}

/// What later arrivals of a call need of its outcome. What no hook has amended is not in it.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) verdict: Verdict,
    amenders: Vec<String>,
    amended: Vec<Amended>,
    /// What hooks have made of the payload of an event that is no call.
    after: Option<Known>,
}

/// A field that hooks have amended.
#[derive(Debug)]
struct Amended {
    field: &'static str,
    before: Option<Known>,
    after: Option<Known>,
    value: Value,
}

impl Decided {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let amended = ["tool_input", "tool_output"].into_iter().filter_map(|field| {
            let [before, after] = [&outcome.before, &outcome.after].map(|payload| payload.get(field));
            (before != after).then(|| Amended {
                field,
                before: before.map(Known::of),
                after: after.map(Known::of),
                value: after.cloned().unwrap_or_default(),
            })
        });
        let amended: Vec<_> = amended.collect();
        let amenders = if amended.is_empty() { Vec::new() } else { outcome.amenders.clone() };
        let is_event = amended.is_empty() && outcome.before != outcome.after;
        let after = is_event.then(|| Known::of(&Value::Object(outcome.after.clone())));
        Self { verdict: outcome.verdict.clone(), amenders, amended, after }
    }

    /// What the input, or an event that is no call, was amended to.
    pub(super) fn amended_input(&self) -> Option<&Known> {
        let input = self.amended.iter().find(|amended| amended.field == "tool_input");
        input.map_or(self.after.as_ref(), |input| input.after.as_ref())
    }

    /// The same for another arrival: the amendment is in it if the arrival carries the original (HO-42).
    pub(super) fn again(&self, payload: Map) -> Outcome {
        let amended = self.amended.iter().find(|amended| {
            let now = payload.get(amended.field).map(Known::of);
            is_original(amended.before.as_ref(), amended.after.as_ref(), now.as_ref())
        });
        // What stays as it is needs no words.
        let mut again = Outcome { verdict: self.verdict.clone(), before: payload, ..Outcome::default() };
        if let Some(Amended { field, value, .. }) = amended {
            again.after.insert((*field).to_owned(), value.clone());
            again.amenders.clone_from(&self.amenders);
        }
        again
    }

    /// About how many bytes it takes.
    pub(super) fn weight(&self) -> usize {
        let known = |known: &Option<Known>| known.as_ref().map_or(0, Known::weight);
        let amended = self.amended.iter().map(|amended| {
            size_of::<Amended>()
                + known(&amended.before)
                + known(&amended.after)
                + json_weight(&amended.value)
        });
        let amenders = self.amenders.iter().map(|name| size_of::<String>() + name.len());
        let reason = self.verdict.reason().map_or(0, |reason| reason.as_str().len());
        size_of::<Self>() + reason + amended.sum::<usize>() + amenders.sum::<usize>() + known(&self.after)
    }
}

/// Whether a value is what a hook has amended, as far as it has the members of that: an input that was amended must not run
/// as it came because the second arrival has one member more.
fn is_original(before: Option<&Known>, after: Option<&Known>, now: Option<&Known>) -> bool {
    let agrees = |with: Option<&Known>| {
        let shared = now.and_then(|now| Some(now.shared(with?)));
        matches!(shared, Some(Shared::Nothing | Shared::Equal))
    };
    before == now || (agrees(before) && !agrees(after))
}

/// A text that a person is asked about, whole and with nothing in it that hides another part of it: characters that move a
/// cursor, turn the direction of the line or cannot be seen stand there as their escapes.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        if char != '\n' && (char.is_control() || is_unseen(char)) {
            shown.extend(char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use lineside_core::json::{Map, Value, json};
    use lineside_core::{Strength, Verdict};

    use super::{Known, Outcome, is_original, shown};

    fn map(value: Value) -> Map {
        let Value::Object(map) = value else { panic!("{value}") };
        map
    }

    #[test]
    fn ho_5_what_came_of_a_derived_event_is_taken_in() {
        let (before, after) = (map(json!({"a": 1, "b": 1})), map(json!({"a": 2, "b": 1})));
        let mut outcome = Outcome { verdict: Verdict::allow(), before, after, ..Outcome::default() };
        let derived = |verdict: Verdict, before: Value, after: Value| Outcome {
            verdict,
            before: map(before),
            after: map(after),
            amenders: vec!["h".to_owned()],
            context: vec!["c".to_owned()],
            notices: vec!["n".to_owned()],
            ..Outcome::default()
        };
        outcome.fold(derived(Verdict::allow(), json!({"a": 2, "c": 1}), json!({"a": 2, "c": 3, "d": 4})));
        assert_eq!(outcome.after, map(json!({"a": 2, "b": 1, "c": 3, "d": 4})));
        assert_eq!((outcome.verdict.clone(), outcome.is_refused()), (Verdict::allow(), false));
        outcome.fold(derived(Verdict::block("no"), json!({"a": 2}), json!({"a": 5})));
        assert_eq!((outcome.verdict.clone(), outcome.is_refused()), (Verdict::block("no"), true));
        assert_eq!((outcome.strength(), outcome.reason()), (Strength::Block, "no"));
        outcome.fold(derived(Verdict::block("other"), json!({}), json!({})));
        assert_eq!((outcome.verdict, outcome.after.get("a")), (Verdict::block("no"), Some(&json!(5))));
        assert_eq!(outcome.amenders, ["h"; 3]);
        assert_eq!((outcome.context, outcome.notices), (vec!["c".to_owned(); 3], vec!["n".to_owned(); 3]));
    }

    #[test]
    fn t09_a_person_sees_all_of_what_they_are_asked_about() {
        let plain = "run `rm -rf ./build`?\nIt is no longer needed: ü, 字.";
        assert_eq!(shown(plain), plain);
        let hides = "run ls\u{1b}[2K\rrm -rf ~ \u{202e}sl\u{200b}\u{8}\u{9b}1A?";
        assert_eq!(shown(hides), r"run ls\u{1b}[2K\u{d}rm -rf ~ \u{202e}sl\u{200b}\u{8}\u{9b}1A?");
        let long = "x ".repeat(100_000) + "rm -rf ~";
        assert_eq!(shown(&long), long);
    }

    #[test]
    fn ho_42_an_amendment_is_for_what_was_amended() {
        let [ls, long, safe] = ["ls", "ls -l", "ls --safe"].map(|command| json!({"command": command}));
        let [ls, long, safe] = [ls, long, safe].map(|input| Known::of(&input));
        let with_time = Known::of(&json!({"command": "ls", "timeout": 1}));
        for (now, expected) in [
            (Some(ls.clone()), true),
            (Some(with_time.clone()), true),
            (Some(safe.clone()), false),
            (Some(long), false),
            (Some(Known::of(&json!("ls"))), false),
            (None, false),
        ] {
            assert_eq!(is_original(Some(&ls), Some(&safe), now.as_ref()), expected, "{now:?}");
        }
        // The member that was amended is not there.
        let timed = Known::of(&json!({"command": "ls", "timeout": 2}));
        assert!(!is_original(Some(&with_time), Some(&timed), Some(&ls)));
        assert!(is_original(None, Some(&safe), None));
    }
}
