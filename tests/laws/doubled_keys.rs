//! Law 3: an answer with a key that stands there twice is never more lenient than it is for a reader who takes
//! the first of them, or for one who takes the last, and never an approval unless it is one for both. In every format
//! whose hooks print JSON.

use lineside::core::Strength;
use proptest::prelude::*;

use crate::formats::{ALL, Format};

/// A field of an answer: its key, as it may be written as well, and its value.
#[derive(Debug, Clone)]
struct Field {
    key: &'static str,
    escaped: bool,
    value: String,
}

impl Field {
    fn text(&self) -> String {
        let key = match self.key.split_at(1) {
            (first, rest) if self.escaped => format!("\\u{:04x}{rest}", u32::from(first.as_bytes()[0])),
            _ => self.key.to_owned(),
        };
        format!("\"{key}\":{}", self.value)
    }
}

/// A field whose value is none of an object within the answer.
fn plain(keys: &'static [&'static str]) -> impl Strategy<Value = Field> {
    let values = vec![
        "\"continue\"", "\"allow\"", "\"approve\"", "\"ask\"", "\"deny\"", "\"block\"", "\"stop\"",
        "\"skip\"", "\"abort\"", "\"\"", "true", "false", "null", "1", "{}",
    ];
    (prop::sample::select(keys), any::<bool>(), prop::sample::select(values))
        .prop_map(|(key, escaped, value)| Field { key, escaped, value: value.to_owned() })
}

/// The keys that decide in one format or another.
const KEYS: &[&str] = &[
    "verdict", "decision", "action", "abort", "continue", "stop", "reason", "permission",
    "permissionDecision",
];

/// What agent programs read within `hookSpecificOutput`; some take no refusal without its reason.
fn said_within(key: &str, value: &str) -> String {
    format!("{{\"hookEventName\":\"PreToolUse\",\"{key}\":\"{value}\",\"permissionDecisionReason\":\"r\"}}")
}

fn field() -> impl Strategy<Value = Field> {
    let within = prop::sample::select(vec!["allow", "ask", "deny"]).prop_map(|decision| Field {
        key: "hookSpecificOutput",
        escaped: false,
        value: said_within("permissionDecision", decision),
    });
    prop_oneof![4 => plain(KEYS), 1 => within]
}

fn object<'a>(fields: impl IntoIterator<Item = &'a Field>) -> String {
    format!("{{{}}}", fields.into_iter().map(Field::text).collect::<Vec<_>>().join(","))
}

/// As a reader takes them who takes the first of each key.
fn firsts<'a>(fields: impl IntoIterator<Item = &'a Field>) -> Vec<&'a Field> {
    let mut taken: Vec<&Field> = Vec::new();
    for field in fields {
        if !taken.iter().any(|other| other.key == field.key) {
            taken.push(field);
        }
    }
    taken
}

fn check(format: &Format, fields: &[Field]) {
    let printed = object(fields);
    let Some(verdict) = format.read(&printed) else { return };
    let readers =
        [object(firsts(fields)), object(firsts(fields.iter().rev()))].map(|one| (format.read(&one), one));
    for (other, one) in readers {
        let Some(other) = other else { continue };
        let (name, strength) = (&format.name, verdict.strength());
        // An approval that is not taken for one leaves the question to others, and that is the stricter reading.
        assert!(
            strength >= other.strength() || other.strength() == Strength::Allow,
            "{name}: {printed} is {verdict:?}, and {one} is {other:?}"
        );
        assert!(
            strength != Strength::Allow || other.strength() == Strength::Allow,
            "{name}: {printed}, {one}"
        );
    }
}

/// Grants and refusals, each in the words of one format or another.
pub(crate) fn said() -> Vec<String> {
    let within = |key, value| format!("{{\"hookSpecificOutput\":{}}}", said_within(key, value));
    let words = KEYS.iter().flat_map(|key| ["allow", "deny", "block", "stop"].map(|value| (key, value)));
    words
        .flat_map(|(key, value)| {
            [
                format!("{{\"{key}\":\"{value}\"}}"),
                format!("{{\"{key}\":\"{value}\",\"reason\":\"r\"}}"),
                within(key, value),
            ]
        })
        .collect()
}

#[test]
fn every_format_tells_a_grant_from_a_refusal() {
    for format in &*ALL {
        let grants_and_refusals: std::collections::BTreeSet<Strength> = said()
            .into_iter()
            .chain(["{}".to_owned()])
            .filter_map(|printed| Some(format.read(&printed)?.strength()))
            .collect();
        assert!(grants_and_refusals.len() > 1, "{}: {grants_and_refusals:?}", format.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_doubled_key_is_never_read_as_an_approval(fields in prop::collection::vec(field(), 2..6)) {
        // Most of them have a key twice.
        let mut doubled = fields.clone();
        doubled.push(Field { value: "\"allow\"".to_owned(), ..fields[0].clone() });
        for format in &*ALL {
            check(format, &fields);
            check(format, &doubled);
        }
    }
}
