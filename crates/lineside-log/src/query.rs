//! What is asked of a log, in one small grammar: words `key:value`, and texts that are searched for.
//!
//! All words have to hold; values with commas between them are alternatives.

use std::time::Duration;

use lineside_core::nearest::suggestion;
use lineside_core::{Strength, Timestamp, tool_class};

/// The keys, each with what its value is.
pub(crate) const KEYS: [(&str, &str); 14] = [
    ("verdict", "continue, allow, ask, block, stop, or refused for the last two"),
    ("point", "the name of a point, or a glob"),
    ("tool", "the name of a tool, a class of them such as Shell, or a glob"),
    ("session", "the id of a session, or a glob"),
    ("tree", "the id of the session at the root, or a glob"),
    ("agent", "the id or type of an agent, or a glob"),
    ("host", "the agent program, or a glob"),
    ("project", "the path of a project or the name of its folder, or a glob"),
    ("hook", "the name of a hook that ran, or a glob"),
    (
        "shadow",
        "what a hook in shadow would have done: continue, allow, ask, block, stop, refused for the last two, amended, or any",
    ),
    ("failed", "how a hook failed, or any"),
    ("since", "a span such as 2d, or a time such as 2026-11-24T09:00:00Z"),
    ("until", "as since"),
    ("took", "> or < and a span, such as >50ms"),
];

const VERDICTS: [&str; 6] = ["continue", "allow", "ask", "block", "stop", "refused"];
const SHADOWS: [&str; 8] = ["any", "amended", "continue", "allow", "ask", "block", "stop", "refused"];
pub(crate) const FAILURES: [&str; 9] =
    ["any", "exit", "signal", "timeout", "spawn", "output", "panic", "closed", "error"];

/// How long a query may be, in bytes.
const LONGEST: usize = 4 << 10;
/// How long a text may be that is searched for, in bytes, and how many of them a query may have: each is looked for in each
/// payload.
const LONGEST_TEXT: usize = 256;
const MOST_TEXTS: usize = 16;

/// What is asked. The default asks for everything.
///
/// ```
/// use lineside_core::Timestamp;
/// use lineside_log::Query;
///
/// let now = Timestamp::UNIX_EPOCH;
/// Query::parse("verdict:block tool:Shell since:2d \"rm -rf\"", now)?;
/// let wrong = Query::parse("verdikt:block", now).unwrap_err();
/// assert_eq!(wrong.to_string(), "`verdikt` is no key of a query; did you mean `verdict`?");
/// # Ok::<_, lineside_log::ParseQueryError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Of the keys whose values are names: the key, and the alternatives.
    pub(crate) names: Vec<(&'static str, Vec<String>)>,
    pub(crate) verdicts: Vec<Strength>,
    /// What a hook in shadow would have said, and `amended` or `any`.
    pub(crate) shadow: Vec<&'static str>,
    pub(crate) failed: Option<Vec<String>>,
    pub(crate) texts: Vec<String>,
    /// Milliseconds since 1970.
    pub(crate) since: Option<i64>,
    pub(crate) until: Option<i64>,
    /// Microseconds.
    pub(crate) longer: Option<i64>,
    pub(crate) shorter: Option<i64>,
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseQueryError {
    /// There is no such key.
    #[error("`{key}` is no key of a query; {}", match nearest { Some(near) => format!("did you mean `{near}`?"), None => format!("there are {}", keys()) })]
    UnknownKey {
        /// The key.
        key: String,
        /// The one that may be meant.
        nearest: Option<&'static str>,
    },
    /// The value of a key is none.
    #[error("`{value}` is not {expected}{}", nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Value {
        /// The value.
        value: String,
        /// What it should be.
        expected: &'static str,
        /// The word that may be meant.
        nearest: Option<&'static str>,
    },
    /// A quote has no end.
    #[error("a quote of the query has no end")]
    Unclosed,
    /// It is more than may be looked for in every decision.
    #[error("a query has at most {LONGEST} bytes, and {MOST_TEXTS} texts of {LONGEST_TEXT} bytes")]
    TooMuch,
}

fn keys() -> String {
    KEYS.map(|(key, _)| key).join(", ")
}

impl Query {
    /// Reads a query; spans are counted back from `now`.
    ///
    /// # Errors
    /// A key or a value that there is not, a quote without an end, or more than 4,096 bytes, 16 texts, or 256 bytes of one.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, ParseQueryError> {
        if text.len() > LONGEST {
            return Err(ParseQueryError::TooMuch);
        }
        let mut query = Self::default();
        for word in words(text)? {
            match word {
                Word::Text(text) => query.texts.push(text),
                Word::Pair(key, value) => query.add(&key, &value, now)?,
            }
        }
        if query.texts.len() > MOST_TEXTS || query.texts.iter().any(|text| text.len() > LONGEST_TEXT) {
            return Err(ParseQueryError::TooMuch);
        }
        Ok(query)
    }

    /// For the events of a tree of sessions.
    #[must_use]
    pub fn of_tree(root: &str) -> Self {
        Self::of("tree", root)
    }

    /// For the events of a session.
    #[must_use]
    pub fn of_session(session: &str) -> Self {
        Self::of("session", session)
    }

    fn of(key: &'static str, name: &str) -> Self {
        let mut literal = String::with_capacity(name.len());
        for char in name.chars() {
            match char {
                '*' | '?' | '[' => literal.extend(['[', char, ']']),
                char => literal.push(char),
            }
        }
        Self { names: vec![(key, vec![literal])], ..Self::default() }
    }

    /// Only of refused events as well.
    #[must_use]
    pub fn refused(mut self) -> Self {
        self.verdicts = vec![Strength::Block, Strength::Stop];
        self
    }

    /// Only within what the names of another one stand for, such as [`of_session`](Self::of_session).
    #[must_use]
    pub fn within(mut self, scope: Self) -> Self {
        self.names.extend(scope.names);
        self
    }

    fn add(&mut self, key: &str, value: &str, now: Timestamp) -> Result<(), ParseQueryError> {
        let Some((key, expected)) = KEYS.into_iter().find(|(known, _)| *known == key) else {
            let nearest = suggestion(key, KEYS.map(|(key, _)| key));
            let nearest = KEYS.into_iter().map(|(key, _)| key).find(|known| Some(*known) == nearest);
            return Err(ParseQueryError::UnknownKey { key: key.to_owned(), nearest });
        };
        let wrong = |value: &str, words: &[&'static str]| {
            let nearest = suggestion(value, words.iter().copied());
            let nearest = words.iter().copied().find(|word| Some(*word) == nearest);
            ParseQueryError::Value { value: value.to_owned(), expected, nearest }
        };
        let alternatives = || value.split(',').filter(|value| !value.is_empty());
        if alternatives().next().is_none() {
            return Err(wrong(value, &[]));
        }
        match key {
            "verdict" => {
                for word in alternatives() {
                    match (word, Strength::named(word)) {
                        ("refused", _) => self.verdicts.extend([Strength::Block, Strength::Stop]),
                        (_, Some(strength)) => self.verdicts.push(strength),
                        (_, None) => return Err(wrong(word, &VERDICTS)),
                    }
                }
            }
            "shadow" => {
                for word in alternatives() {
                    match (word, SHADOWS.into_iter().find(|known| *known == word)) {
                        ("refused", _) => self.shadow.extend(["block", "stop"]),
                        (_, Some(word)) => self.shadow.push(word),
                        (_, None) => return Err(wrong(word, &SHADOWS)),
                    }
                }
            }
            "failed" => {
                let kinds = self.failed.get_or_insert_default();
                for word in alternatives() {
                    match FAILURES.contains(&word) {
                        true => kinds.push(word.to_owned()),
                        false => return Err(wrong(word, &FAILURES)),
                    }
                }
            }
            "since" | "until" => {
                let time = moment(value, now).ok_or_else(|| wrong(value, &[]))?;
                *(if key == "since" { &mut self.since } else { &mut self.until }) = Some(time);
            }
            "took" => {
                let span =
                    value.get(1..).and_then(span).and_then(|span| i64::try_from(span.as_micros()).ok());
                match (value.chars().next(), span) {
                    (Some('>'), Some(span)) => self.longer = Some(span),
                    (Some('<'), Some(span)) => self.shorter = Some(span),
                    _ => return Err(wrong(value, &[])),
                }
            }
            // A class, and the name that files of hooks have for it, stand for the tools of it, whatever a program calls them.
            "tool" => {
                let own = |name: &str| {
                    let class = tool_class::of(name).filter(|class| tool_class::name(class) == Some(name));
                    let class = class.map_or_else(|| name.to_ascii_lowercase(), str::to_owned);
                    let class = tool_class::names(&class);
                    [name].into_iter().chain(class.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
                };
                let mut names: Vec<String> = alternatives().flat_map(own).collect();
                names.sort_unstable();
                names.dedup();
                self.names.push(("tool", names));
            }
            key => self.names.push((key, alternatives().map(str::to_owned).collect())),
        }
        Ok(())
    }
}

enum Word {
    Pair(String, String),
    Text(String),
}

/// The words of a query: blanks part them, but not within quotes. A colon makes a pair where letters alone stand before it.
fn words(text: &str) -> Result<Vec<Word>, ParseQueryError> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let is_key = |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
        let pair = rest.split_once(':').filter(|(key, _)| is_key(key));
        let (key, from) = pair.map_or((None, rest), |(key, rest)| (Some(key.to_owned()), rest));
        let (value, after) = match from.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or(ParseQueryError::Unclosed)?,
            None => from.split_at(from.find(char::is_whitespace).unwrap_or(from.len())),
        };
        words.push(match key {
            Some(key) => Word::Pair(key, value.to_owned()),
            None => Word::Text(value.to_owned()),
        });
        rest = after.trim_start();
    }
    Ok(words)
}

/// A span such as `2d` or `50ms`.
fn span(text: &str) -> Option<Duration> {
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.')?;
    let number: f64 = text.get(..digits)?.parse().ok()?;
    let unit = match text.get(digits..)? {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * unit).ok()
}

/// A time, or how long before now it is, in milliseconds.
fn moment(text: &str, now: Timestamp) -> Option<i64> {
    if let Some(span) = span(text) {
        return Some(now.as_millisecond().saturating_sub(i64::try_from(span.as_millis()).ok()?));
    }
    let time = if text.contains('T') { text.to_owned() } else { format!("{text}T00:00:00Z") };
    time.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Query, String> {
        let now = Timestamp::from_millisecond(1_000_000_000).unwrap();
        Query::parse(text, now).map_err(|error| error.to_string())
    }

    #[test]
    fn a_query_has_words_with_alternatives_texts_times_and_spans() {
        let query = parse("verdict:refused,ask tool:Shell,\u{57}* since:2h took:>50ms \"rm -rf\" x:y since")
            .unwrap_err();
        assert!(query.starts_with("`x` is no key"), "{query}");
        let query = parse("verdict:refused,ask tool:Shell,W* since:2h took:>50ms \"rm -rf\" plain").unwrap();
        assert_eq!(query.verdicts, [Strength::Block, Strength::Stop, Strength::Ask]);
        let [("tool", tools)] = &query.names[..] else { panic!("{:?}", query.names) };
        for tool in ["Shell", "W*", "Bash", "run_shell_command"] {
            assert!(tools.iter().any(|name| name == tool), "{tools:?}");
        }
        for (of_hooks, tools) in [
            ("WriteFile", &["Write", "write_file"][..]),
            ("StrReplaceFile", &["Edit", "replace"]),
            ("ReadFile", &["Read", "read_file"]),
            ("Shell", &["Bash"]),
            ("Task", &["Agent"]),
        ] {
            let query = parse(&format!("tool:{of_hooks}")).unwrap();
            let [("tool", names)] = &query.names[..] else { panic!("{:?}", query.names) };
            assert!(tools.iter().all(|tool| names.iter().any(|name| name == tool)), "{of_hooks}: {names:?}");
        }
        assert_eq!(parse("tool:Bash").unwrap().names, [("tool", vec!["Bash".to_owned()])]);
        assert_eq!((query.since, query.longer), (Some(1_000_000_000 - 7_200_000), Some(50_000)));
        assert_eq!(query.texts, ["rm -rf", "plain"]);
        assert_eq!(parse("until:1970-01-02").unwrap().until, Some(86_400_000));
        assert_eq!(parse("until:1970-01-01T00:00:01Z").unwrap().until, Some(1_000));
        assert_eq!(parse("project:\"/a b\"").unwrap().names, [("project", vec!["/a b".to_owned()])]);
        assert_eq!(parse("  ").unwrap(), Query::default());
    }

    #[test]
    fn what_is_wrong_is_named_with_the_nearest_word() {
        for (text, told) in [
            ("tol:Shell", "`tol` is no key of a query; did you mean `tool`?"),
            ("verdict:blok", "did you mean `block`?"),
            ("failed:timout", "did you mean `timeout`?"),
            ("took:50ms", "`50ms` is not > or < and a span"),
            ("since:soon", "`soon` is not a span such as 2d"),
            ("tool:", "`` is not the name of a tool"),
            ("\"rm", "a quote of the query has no end"),
            ("zzzz:1", "there are verdict, point"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_query_asks_for_no_more_than_can_be_looked_for_in_every_decision() {
        for (part, most) in [("tool:aaa ", 455), ("a ", 16)] {
            assert!(parse(&part.repeat(most)).is_ok());
            let error = parse(&part.repeat(most + 1)).unwrap_err();
            assert!(error.contains("at most 4096 bytes"), "{error}");
        }
        assert!(parse(&"a".repeat(256)).is_ok() && parse(&"a".repeat(257)).is_err());
    }
}
