//! What stands in the plan for a hook that cannot load: a guard stands closed and refuses whatever it may have judged,
//! and of any other hook the receipts tell that it is missing.
//!
//! Whether a broken hook may have been a guard is for each format to say; the words for it are read here, because they
//! have to be found in what is misspelt and in files that cannot be read at all.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::hook::Select;
use lineside_core::nearest::suggestion;
use lineside_core::{
    Answer, AnyEvent, Diagnostic, Failure, FailureKind, Hook, Layer, OnFailure, Origin, Part, PointInfo,
    Severity,
};

use crate::dialect::{ForeignHook, Inert, Loaded, Missed, Trust, Why};
use crate::handler::{Call, Handler, Returned};
use crate::yaml::Node;

/// A hook that cannot load, or a whole file of them.
pub(crate) struct Broken {
    /// Its name, where it stands in its file, or that of its file.
    pub(crate) name: String,
    /// The line that declares it.
    pub(crate) line: u32,
    /// What is wrong with it and where.
    pub(crate) error: Repair,
    /// Where it may have run, with the format's own names.
    pub(crate) points: Vec<(&'static PointInfo, String)>,
    /// Whether it may have been a guard.
    pub(crate) is_guard: bool,
    /// The part of its condition that can be read.
    pub(crate) select: Option<Arc<dyn Select>>,
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broken").field("name", &self.name).field("error", &self.error).finish_non_exhaustive()
    }
}

/// Whose a broken hook is.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    /// The format.
    pub(crate) dialect: &'static str,
    /// Where it comes from.
    pub(crate) layer: Layer,
    /// Whether what it was meant to run might have run.
    pub(crate) trust: Trust,
    /// Where it would stand if it were sound, as far as that can be read.
    pub(crate) priority: i32,
}

/// What is wrong and where it is to be repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repair {
    what: String,
    at: Option<Origin>,
}

impl Repair {
    /// The first error of these findings, by line. All of them are about this hook.
    pub(crate) fn first(findings: &[Diagnostic], about: &str) -> Self {
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        match errors.min_by_key(|error| error.origin.as_ref().map_or(0, |origin| origin.line)) {
            Some(error) => {
                let text = error.text.strip_prefix(about).unwrap_or(&error.text);
                let text = text.strip_prefix(':').unwrap_or(text).trim_start();
                Self { what: text.to_owned(), at: error.origin.clone() }
            }
            None => Self { what: "it cannot be loaded".to_owned(), at: None },
        }
    }

    /// This, here.
    pub(crate) fn at(origin: Origin, what: impl fmt::Display) -> Self {
        Self { what: what.to_string(), at: Some(origin) }
    }

    /// The line.
    pub(crate) fn line(&self) -> u32 {
        self.at.as_ref().map_or(1, |at| at.line)
    }

    /// Both in one sentence.
    pub(crate) fn sentence(&self) -> String {
        match &self.at {
            Some(at) => format!("{}; repair {at}", self.what),
            None => self.what.clone(),
        }
    }
}

impl Broken {
    /// Puts it behind what is loaded: a guard stands closed at those of its points where anything can be refused, and
    /// any other hook is missing at its points.
    pub(crate) fn stand_in(self, owner: &Owner, origin: &Origin, loaded: &mut Loaded) {
        let may_refuse = |(point, _): &&(&'static PointInfo, String)| point.phase.may_intercept();
        let gates: Vec<_> = self.points.iter().filter(may_refuse).cloned().collect();
        if !self.is_guard || gates.is_empty() {
            return self.miss(owner, origin, loaded);
        }
        let handler = Arc::new(Closed { name: self.name.as_str().into(), error: self.error.sentence() });
        for (point, trigger) in gates {
            let hook = self.hook(owner, origin.clone());
            loaded.hooks.push(ForeignHook {
                closed: true,
                ..ForeignHook::new(hook, trigger, vec![point], Arc::clone(&handler) as Arc<dyn Handler>)
            });
        }
    }

    fn miss(self, owner: &Owner, origin: &Origin, loaded: &mut Loaded) {
        let remark: Arc<str> = format!("was not loaded: {}", self.error.sentence()).into();
        let only = if let [only] = &self.points[..] { Some(only.clone()) } else { None };
        let is_missed = owner.trust == Trust::Granted;
        loaded.inert.push(Inert {
            name: self.name,
            trigger: only.clone().map(|(_, trigger)| trigger).unwrap_or_default(),
            point: only.map(|(point, _)| point),
            layer: owner.layer,
            origin: Some(origin.clone()),
            why: Why::Error,
            missed: is_missed.then(|| Missed {
                points: self.points.into_iter().map(|(point, _)| point).collect(),
                remark,
            }),
        });
    }

    fn hook(&self, owner: &Owner, origin: Origin) -> Hook {
        Hook::foreign(owner.dialect, self.name.as_str(), Part::Gate)
            .origin(Some(origin))
            .layer(owner.layer)
            .priority(owner.priority)
            .on_failure(OnFailure::Block)
            .timeout(Duration::from_secs(1))
            .standby(owner.trust.standby())
            .when(self.select.clone())
    }
}

/// What stands for a guard of a project that a person has to look at: it refuses whatever comes at its point.
#[must_use]
pub fn closed_guard(
    dialect: &'static str,
    name: &str,
    point: &'static PointInfo,
    origin: &Origin,
    what: &str,
) -> Option<ForeignHook> {
    let broken = Broken {
        name: name.to_owned(),
        line: origin.line,
        error: Repair { what: what.to_owned(), at: None },
        points: vec![(point, point.name.to_owned())],
        is_guard: true,
        select: None,
    };
    let owner = Owner { dialect, layer: Layer::Project, trust: Trust::Granted, priority: 0 };
    let mut loaded = Loaded::default();
    broken.stand_in(&owner, origin, &mut loaded);
    loaded.hooks.pop()
}

/// A guard that cannot load.
struct Closed {
    name: Arc<str>,
    error: String,
}

impl Closed {
    fn failure(&self) -> Failure {
        let refusal = refusal(&self.name, &self.error);
        let failure = Failure::not_started(FailureKind::Spawn, format!("cannot start: {}", self.error));
        Failure { refusal: Some(refusal.into()), ..failure }
    }
}

impl Handler for Closed {
    fn prepare(&self, _event: &AnyEvent) -> Result<Call, Failure> {
        Err(self.failure())
    }

    fn read(&self, _event: &AnyEvent, _returned: &Returned) -> Result<Answer, Failure> {
        Err(self.failure())
    }
}

/// Why a closed guard refuses an event.
pub(crate) fn refusal(hook: &str, error: &str) -> String {
    format!("hook \"{hook}\" cannot run: {error}")
}

/// The key and the value by which a format's hook is a guard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    /// `on_failure` in most.
    pub(crate) key: &'static str,
    /// `block` in most.
    pub(crate) value: &'static str,
}

/// Those of most formats.
pub(crate) const ON_FAILURE: Words = Words { key: "on_failure", value: "block" };

/// Whether the failure of a hook may have been meant to refuse or stop something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsGuard(pub(crate) bool);

impl Words {
    /// Whether some key of a hook and its value were meant as these.
    pub(crate) fn are_among(self, keys: &[(Node, Node)]) -> IsGuard {
        IsGuard(keys.iter().any(|(key, value)| self.are_meant_by(&key.label(), value.written())))
    }

    /// Whether this key with this text may have been meant as the format's own, misspelt or not.
    pub(crate) fn are_meant_by(self, key: &str, value: Option<&str>) -> bool {
        let is = |word: &str, own: &'static str| {
            let word = word.trim().to_lowercase().replace('-', "_");
            !word.is_empty() && suggestion(&word, [own]).is_some()
        };
        is(key, self.key) && value.is_some_and(|value| is(value, self.value))
    }

    /// Whether a text that cannot be read as what it should be has both words in it.
    pub(crate) fn are_in(self, bytes: &[u8]) -> bool {
        let has = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        has(self.key) && has(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::ON_FAILURE;

    #[test]
    fn the_words_of_a_guard_are_found_in_what_is_misspelt() {
        for (key, value) in
            [("on_failure", "block"), ("on_failur", "block"), ("on-failure", "blok"), ("On_Failure", "Block")]
        {
            assert!(ON_FAILURE.are_meant_by(key, Some(value)), "{key}: {value}");
        }
        for (key, value) in [
            ("on_failure", Some("continue")),
            ("on_failure", Some("open")),
            ("on_failure", Some("")),
            ("on_failure", None),
            ("command", Some("block")),
        ] {
            assert!(!ON_FAILURE.are_meant_by(key, value), "{key}: {value:?}");
        }
        assert!(ON_FAILURE.are_in(b"- {on_failure: block, \xff"));
        assert!(!ON_FAILURE.are_in(b"block") && !ON_FAILURE.are_in(b""));
    }
}
