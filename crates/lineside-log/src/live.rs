//! What a query asks for of what happens now, before it is a row; and a decision as the store would have it.
//!
//! Both are the same as of the rows that come of it, so that a reader of the stream sees what a reader of the log finds.

use lineside_core::json::{Map, Value, json};
use lineside_core::{Outcome, Receipt, Strength, Timestamp, Verdict};
use memchr::memmem;

use crate::look::{Decision, News, micros};
use crate::query::Query;
use crate::record::{Happened, Record};
use crate::redacted;

/// The keys of a query that something beside decisions can fit.
const OF_NEWS: [&str; 2] = ["session", "hook"];

impl Query {
    /// Whether this is asked for.
    ///
    /// What happens beside decisions fits words that it can have: a session, a hook, a time and texts of its detail; what is
    /// lost fits always. What hooks in shadow would have said is known after their event alone, and only the log joins the two:
    /// a query with `shadow` fits nothing here.
    #[must_use]
    pub fn fits(&self, record: &Record) -> bool {
        self.shadow.is_empty()
            && match record {
                Record::Decided(receipt) | Record::Left(receipt) => self.fits_decision(receipt),
                Record::Happened(happened) => self.fits_news(happened),
                Record::Shadowed(_) => false,
                Record::Lost(_) => true,
            }
    }

    /// Whether it asks for what hooks in shadow would have said.
    #[must_use]
    pub fn is_about_shadows(&self) -> bool {
        !self.shadow.is_empty()
    }

    fn fits_decision(&self, receipt: &Receipt) -> bool {
        let took = i64::try_from(receipt.took.as_micros()).unwrap_or(i64::MAX);
        (self.verdicts.is_empty() || self.verdicts.contains(&receipt.verdict.strength()))
            && self.fits_time(time(receipt))
            && self.longer.is_none_or(|span| took > span)
            && self.shorter.is_none_or(|span| took < span)
            && self.names.iter().all(|(key, values)| fits_name(receipt, key, values))
            && self.failed.as_ref().is_none_or(|kinds| has_failed(receipt, kinds))
            && (self.texts.is_empty() || {
                let payload = Folded::of(&redacted::payload(receipt.event.payload_text()));
                let reason = Folded::of(&reason(receipt).unwrap_or_default());
                self.texts.iter().all(|text| {
                    let quoted = lineside_core::json::to_string(text).unwrap_or_default();
                    payload.has(quoted.trim_matches('"')) || reason.has(text)
                })
            })
    }

    fn fits_news(&self, happened: &Happened) -> bool {
        let of_decisions = !self.verdicts.is_empty()
            || self.failed.is_some()
            || self.longer.is_some()
            || self.shorter.is_some()
            || self.names.iter().any(|(key, _)| !OF_NEWS.contains(key));
        !of_decisions
            && self.fits_time(happened.at.as_millisecond())
            && self.names.iter().all(|(key, values)| match *key {
                "hook" => happened.hook.as_deref().is_some_and(|hook| any(values, hook)),
                _ => happened.session.as_ref().is_some_and(|session| any(values, session.as_str())),
            })
            && (self.texts.is_empty() || {
                let detail = Folded::of(&redacted::remark(&happened.detail));
                self.texts.iter().all(|text| detail.has(text))
            })
    }

    fn fits_time(&self, millis: i64) -> bool {
        self.since.is_none_or(|since| millis >= since) && self.until.is_none_or(|until| millis <= until)
    }
}

/// The time of the id, which is that of the bus, in milliseconds.
fn time(receipt: &Receipt) -> i64 {
    i64::try_from(receipt.event.envelope().id.as_u128() >> 80).unwrap_or(i64::MAX)
}

fn reason(receipt: &Receipt) -> Option<String> {
    receipt.verdict.reason().map(|reason| redacted::remark(reason.as_str()))
}

fn tool(receipt: &Receipt) -> Option<&str> {
    receipt.event.payload().text("tool_name").map(redacted::name)
}

/// A text in small letters of ASCII, in which others are found whatever the case of these, as SQL's `LIKE` has it.
struct Folded(String);

impl Folded {
    fn of(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }

    /// The time for it grows with the two lengths, whatever the texts are.
    fn has(&self, part: &str) -> bool {
        memmem::find(self.0.as_bytes(), part.to_ascii_lowercase().as_bytes()).is_some()
    }
}

fn fits_name(receipt: &Receipt, key: &str, values: &[String]) -> bool {
    let source = &receipt.event.envelope().source;
    let one = |name: Option<&str>| name.is_some_and(|name| any(values, name));
    match key {
        "point" => any(values, receipt.event.point().name),
        "tool" => one(tool(receipt)),
        "hook" => {
            let ran = receipt.runs.iter().filter(|run| !matches!(run.outcome, Outcome::Skipped(_)));
            ran.map(|run| receipt.name(run.hook)).any(|name| any(values, name))
        }
        "agent" => one(Some(&source.agent.id)) || one(source.agent.role.as_deref()),
        "tree" => any(values, source.root_session.as_str()),
        "host" => one(source.host.as_deref()),
        "project" => source.project_root.as_deref().is_some_and(|root| {
            let named = |value: &String| {
                !is_glob(value) && root.strip_suffix(value.as_str()).is_some_and(|above| above.ends_with('/'))
            };
            any(values, root) || values.iter().any(named)
        }),
        _ => any(values, source.session.as_str()),
    }
}

fn has_failed(receipt: &Receipt, kinds: &[String]) -> bool {
    let is = |kind: &str| kinds.iter().any(|wanted| wanted == "any" || wanted == kind);
    receipt
        .runs
        .iter()
        .any(|run| matches!(&run.outcome, Outcome::Failed { failure, .. } if is(failure.kind.as_str())))
}

fn any(values: &[String], name: &str) -> bool {
    values.iter().any(|value| if is_glob(value) { glob(value, name) } else { value == name })
}

fn is_glob(value: &str) -> bool {
    value.contains(['*', '?', '['])
}

/// Whether SQL's `GLOB` says that a name fits: `*` is any text, `?` any character, `[…]` one of these, `[^…]` none of them.
///
/// It tries no place twice: after a second `*` the first one has done its part.
fn glob(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut of) = (0, 0);
    // Behind the last `*`, and up to where that stands for text.
    let mut star: Option<(usize, usize)> = None;
    while of < name.len() {
        let step = match (pattern.get(at), name.get(of)) {
            (Some('*'), _) => {
                star = Some((at + 1, of));
                at += 1;
                continue;
            }
            (Some('?'), _) => Some(1),
            (Some('['), Some(char)) => set(pattern.get(at..).unwrap_or_default(), *char),
            (Some(wanted), Some(char)) => (wanted == char).then_some(1),
            _ => None,
        };
        match (step, star) {
            (Some(step), _) => (at, of) = (at + step, of + 1),
            (None, Some((behind, from))) => {
                star = Some((behind, from + 1));
                (at, of) = (behind, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|char| *char == '*')
}

/// How long a set at the beginning of a pattern is, where it has this character; a set without an end has none.
fn set(pattern: &[char], wanted: char) -> Option<usize> {
    let mut at = 1;
    let is_other = pattern.get(at) == Some(&'^');
    at += usize::from(is_other);
    let (first, mut found) = (at, false);
    loop {
        let char = *pattern.get(at)?;
        if char == ']' && at > first {
            return (found != is_other).then_some(at + 1);
        }
        match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(last)) if *last != ']' && char != ']' => {
                found |= char == wanted || (char..=*last).contains(&wanted);
                at += 3;
            }
            _ => {
                found |= char == wanted;
                at += 1;
            }
        }
    }
}

impl Decision {
    /// A decision as the store would have it, without secrets; its `row` is 0.
    #[must_use]
    pub fn of(receipt: &Receipt, generation: Option<u64>) -> Self {
        let envelope = receipt.event.envelope();
        let source = &envelope.source;
        let text = |text: Option<&str>| text.map(str::to_owned);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let ran = || receipt.runs.iter().filter(|run| !matches!(run.outcome, Outcome::Skipped(_)));
        Self {
            row: 0,
            id: envelope.id,
            time: Timestamp::from_millisecond(time(receipt)).unwrap_or(Timestamp::UNIX_EPOCH),
            session: source.session.as_str().to_owned(),
            tree: source.root_session.as_str().to_owned(),
            parent: source.parent_session.as_ref().map(|parent| parent.as_str().to_owned()),
            depth: source.depth,
            agent: source.agent.id.to_string(),
            agent_type: text(source.agent.role.as_deref()),
            host: text(source.host.as_deref()),
            project: text(source.project_root.as_deref()),
            seq: envelope.seq,
            point: receipt.event.point().name.to_owned(),
            tool: text(tool(receipt)),
            verdict: receipt.verdict.strength(),
            by: receipt.author().map(|hook| hook.name.to_string()),
            by_origin: receipt.author().and_then(|hook| hook.origin.as_ref()).map(ToString::to_string),
            reason: reason(receipt),
            took: micros(i64::try_from(receipt.took.as_micros()).unwrap_or(i64::MAX)),
            generation,
            payload: redacted::payload(receipt.event.payload_text()).into_owned(),
            changes: number(receipt.changes.len()),
            failed: ran().find_map(|run| match &run.outcome {
                Outcome::Failed { failure, .. } => Some(failure.kind.to_string()),
                _ => None,
            }),
            failures: number(ran().filter(|run| matches!(run.outcome, Outcome::Failed { .. })).count()),
            runs: number(ran().count()),
            shadows: 0,
            of_hooks: of_hooks(receipt),
        }
    }

    /// The decision as one JSON object: what `lineside log --json` prints.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let payload = lineside_core::json::from_str::<Value>(&self.payload).unwrap_or_default();
        let object = json!({
            "id": self.id, "time": self.time.to_string(), "session": self.session, "tree": self.tree,
            "parent": self.parent, "depth": self.depth, "seq": self.seq, "agent": self.agent,
            "agent_type": self.agent_type, "host": self.host, "project": self.project, "point": self.point,
            "tool": self.tool, "verdict": self.verdict, "by": self.by, "origin": self.by_origin,
            "reason": self.reason, "took_us": u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            "generation": self.generation, "changes": self.changes, "failures": self.failures, "failed": self.failed,
            "runs": self.runs, "shadows": self.shadows, "payload": payload,
        });
        let Value::Object(mut object) = object else { return Map::new() };
        if let Some(said) = self.of_hooks {
            object.insert("of_hooks".to_owned(), json!(said));
        }
        object
    }

    /// What [`to_json`](Self::to_json) has made; `None` where it is something else.
    #[must_use]
    pub fn of_json(object: &Map) -> Option<Self> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| object.get(name).and_then(Value::as_u64).unwrap_or_default();
        let count = |name: &str| u32::try_from(number(name)).unwrap_or(u32::MAX);
        Some(Self {
            row: 0,
            id: text("id")?.parse().ok()?,
            time: text("time")?.parse().ok()?,
            session: text("session")?,
            tree: text("tree").unwrap_or_default(),
            parent: text("parent"),
            depth: count("depth"),
            agent: text("agent").unwrap_or_default(),
            agent_type: text("agent_type"),
            host: text("host"),
            project: text("project"),
            seq: number("seq"),
            point: text("point")?,
            tool: text("tool"),
            verdict: Strength::named(&text("verdict")?)?,
            by: text("by"),
            by_origin: text("origin"),
            reason: text("reason"),
            took: std::time::Duration::from_micros(number("took_us")),
            generation: object.get("generation").and_then(Value::as_u64),
            payload: object.get("payload").map(Value::to_string).unwrap_or_default(),
            changes: count("changes"),
            failures: count("failures"),
            failed: text("failed"),
            runs: count("runs"),
            shadows: count("shadows"),
            of_hooks: text("of_hooks").and_then(|word| Strength::named(&word)),
        })
    }
}

/// What the hooks have decided, where that is not the verdict.
fn of_hooks(receipt: &Receipt) -> Option<Strength> {
    let said = receipt.runs.iter().filter_map(|run| run.outcome.verdict()).map(Verdict::strength).max();
    let is_other = |said: &Strength| receipt.verdict.strength().is_final() && !said.is_final();
    if receipt.approval.is_some() { Some(Strength::Ask) } else { said.filter(is_other) }
}

impl Decision {
    /// A question that waits for a person, as `GET /v1/approvals` lists it, as the decision that it is so far; `None` where it
    /// is something else. The log has nothing of it before it is answered.
    #[must_use]
    pub fn of_question(question: &Map) -> Option<Self> {
        let mut object = question.clone();
        let hook = question.get("hooks").and_then(|hooks| hooks.get(0)).and_then(Value::as_object);
        let of_hook = |name: &str| hook.and_then(|hook| hook.get(name));
        let known = [
            ("id", question.get("event")),
            ("time", question.get("asked_at")),
            ("tree", question.get("root")),
            ("by", of_hook("hook")),
            ("origin", of_hook("origin")),
            ("reason", of_hook("reason")),
            ("verdict", Some(&json!(Strength::Ask))),
        ];
        object.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone()))));
        let waits = Self::of_json(&object)?;
        let payload = redacted::payload(&waits.payload).into_owned();
        Some(Self { payload, reason: waits.reason.as_deref().map(redacted::remark), ..waits })
    }
}

impl News {
    /// What has happened as the store would have it, without secrets.
    #[must_use]
    pub fn of(happened: &Happened) -> Self {
        let Happened { at, what, hook, job, took, detail, .. } = happened;
        Self {
            time: *at,
            what: (*what).to_owned(),
            hook: hook.as_deref().map(str::to_owned),
            job: *job,
            took: *took,
            detail: (!detail.is_empty()).then(|| redacted::remark(detail)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn globs_are_those_of_sql() {
        let store = Connection::open_in_memory().unwrap();
        let mut sql = store.prepare("SELECT ?2 GLOB ?1").unwrap();
        let parts = [
            "a", "b", "*", "?", "[ab]", "[^a]", "[a-c]", "[]a]", "[a", "/", "é", "]", "-", "[^]]", "[a-]",
            "[]-a]", "[a-b-c]",
        ];
        let names = ["", "a", "b", "ab", "ba", "a/b", "abab", "]", "-", "é", "aéb", "c", "[a", "a-b", "aab"];
        let mut seen = 0;
        for first in parts {
            for second in parts {
                for third in ["", "*", "a", "[b]"] {
                    let pattern = format!("{first}{second}{third}");
                    for name in names {
                        let said: bool = sql.query_row([pattern.as_str(), name], |row| row.get(0)).unwrap();
                        assert_eq!(glob(&pattern, name), said, "{name} {pattern}");
                        seen += usize::from(said);
                    }
                }
            }
        }
        assert!(seen > 500, "{seen}");
    }

    #[test]
    fn many_stars_are_no_trouble() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!glob(&pattern, &"a".repeat(20_000)));
        assert!(glob("*a*a*", &"a".repeat(20_000)));
    }

    #[test]
    fn a_text_is_found_whatever_the_case_of_its_letters() {
        let has = |text: &str, part: &str| Folded::of(text).has(part);
        assert!(has("RM -rf", "rm") && has("x", "") && !has("rm", "rmm") && has("\u{c4}x", "\u{c4}X"));
        assert!(!has("\u{c4}", "\u{e4}"), "ASCII alone has a case");
    }

    #[test]
    fn the_time_for_a_text_grows_with_the_lengths_and_not_with_their_product() {
        let (text, part) = ("a".repeat(4 << 20), "A".repeat(2 << 20) + "b");
        // Compared at each place these are 4 million times 2 million bytes.
        assert!(!Folded::of(&text).has(&part));
    }
}
