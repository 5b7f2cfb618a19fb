//! Filters over what a call does, for programs: the same words as in files.

use std::sync::Arc;

use lineside_commands::filter::WhenUnclear;
use lineside_core::hook::Selected;
use lineside_core::json::{Map, Value};
use lineside_core::matcher::Condition;
use lineside_core::{AnyEvent, MatcherDraft, PointInfo};

use crate::account::Account;
use crate::acts::Acts;
use crate::read::ReadActsError;

/// Asks for a program of this name, a glob such as `mkfs*` among them, that a command may start.
pub fn runs(program: impl Into<String>) -> Runs {
    Runs(Map::new()).with("program", program.into())
}

/// Asks for content of these paths that can be shown or copied, by a tool or a command. `~` is home, relative globs are
/// below the project.
pub fn reads(glob: impl Into<String>) -> Touches {
    Touches::of("reads", glob.into())
}

/// Asks for these paths to be created, changed or emptied, by a tool or a command.
pub fn writes(glob: impl Into<String>) -> Touches {
    Touches::of("writes", glob.into())
}

/// Asks for these paths to be gone afterwards, by a tool or a command.
pub fn deletes(glob: impl Into<String>) -> Touches {
    Touches::of("deletes", glob.into())
}

/// Filters over what a call does, as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActsDraft(Map);

/// A program that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs(Map);

/// Paths that are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touches {
    access: &'static str,
    fields: Map,
}

/// Adds one more text to those of a key.
fn push(fields: &mut Map, key: &str, text: String) {
    match fields.get_mut(key) {
        Some(Value::Array(texts)) => texts.push(text.into()),
        _ => {
            fields.insert(key.to_owned(), Value::Array(vec![text.into()]));
        }
    }
}

impl Runs {
    fn with(mut self, key: &str, text: String) -> Self {
        push(&mut self.0, key, text);
        self
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Or of this name.
    #[must_use]
    pub fn program(self, name: impl Into<String>) -> Self {
        self.with("program", name.into())
    }

    /// With these words behind the program's own options; `|` stands between words of which one is meant.
    #[must_use]
    pub fn subcommand(self, words: impl Into<String>) -> Self {
        self.set("subcommand", words.into())
    }

    /// With this option as well. `-r|-R|--recursive` names one.
    #[must_use]
    pub fn flag(self, flag: impl Into<String>) -> Self {
        self.with("flags", flag.into())
    }

    /// With one of these options, to which this belongs.
    #[must_use]
    pub fn any_flag(self, flag: impl Into<String>) -> Self {
        self.with("any_flag", flag.into())
    }

    /// Without this option.
    #[must_use]
    pub fn no_flag(self, flag: impl Into<String>) -> Self {
        self.with("no_flag", flag.into())
    }

    /// With an operand that one of these globs fits, to which this belongs.
    #[must_use]
    pub fn operand(self, glob: impl Into<String>) -> Self {
        self.with("operand", glob.into())
    }

    /// Without an operand that this glob fits.
    #[must_use]
    pub fn no_operand(self, glob: impl Into<String>) -> Self {
        self.with("no_operand", glob.into())
    }

    /// With code, statements or input in which this regular expression is found.
    #[must_use]
    pub fn text(self, pattern: impl Into<String>) -> Self {
        self.set("text", pattern.into())
    }

    /// Does not match where it is not known whether such a program runs; without this, it does.
    #[must_use]
    pub fn skip_unclear(self) -> Self {
        self.set("unclear", "skip")
    }

    /// The filter, prepared for the account of this process.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn acts(self) -> Result<Acts, Vec<ReadActsError>> {
        ActsDraft::from(self).acts()
    }
}

impl Touches {
    fn of(access: &'static str, glob: String) -> Self {
        let mut fields = Map::new();
        push(&mut fields, "path", glob);
        Self { access, fields }
    }

    /// Or paths that this glob fits.
    #[must_use]
    pub fn path(mut self, glob: impl Into<String>) -> Self {
        push(&mut self.fields, "path", glob.into());
        self
    }

    /// Not those that this glob fits.
    #[must_use]
    pub fn not(mut self, glob: impl Into<String>) -> Self {
        push(&mut self.fields, "not", glob.into());
        self
    }

    /// Or anything outside of the project and of the folders for temporary files.
    #[must_use]
    pub fn outside_project(mut self) -> Self {
        self.fields.insert("outside".to_owned(), "project".into());
        self
    }

    /// Does not match where it is not known which paths are touched; without this, it does.
    #[must_use]
    pub fn skip_unclear(mut self) -> Self {
        self.fields.insert("unclear".to_owned(), "skip".into());
        self
    }

    /// The filter, prepared for the account of this process.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn acts(self) -> Result<Acts, Vec<ReadActsError>> {
        ActsDraft::from(self).acts()
    }
}

impl ActsDraft {
    fn of(key: &str, all: impl IntoIterator<Item = Self>) -> Self {
        let all = all.into_iter().map(|one| Value::Object(one.0)).collect();
        Self(Map::from_iter([(key.to_owned(), Value::Array(all))]))
    }

    /// Matches where one of them does.
    #[must_use]
    pub fn any(all: impl IntoIterator<Item = Self>) -> Self {
        Self::of("any", all)
    }

    /// Matches where all of them do, of one call.
    #[must_use]
    pub fn all(all: impl IntoIterator<Item = Self>) -> Self {
        Self::of("all", all)
    }

    /// Matches a call that this does not match.
    #[must_use]
    pub fn none(of: Self) -> Self {
        Self(Map::from_iter([("not".to_owned(), Value::Object(of.0))]))
    }

    /// The filters, prepared for the account of this process. What is not known counts as a match.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn acts(&self) -> Result<Acts, Vec<ReadActsError>> {
        let account = Arc::new(Account::of_process());
        let acts = Acts::read(&self.0, WhenUnclear::Match, &account)?;
        acts.ok_or_else(Vec::new)
    }
}

impl From<Runs> for ActsDraft {
    fn from(runs: Runs) -> Self {
        Self(Map::from_iter([("runs".to_owned(), Value::Object(runs.0))]))
    }
}

impl From<Touches> for ActsDraft {
    fn from(touches: Touches) -> Self {
        Self(Map::from_iter([(touches.access.to_owned(), Value::Object(touches.fields))]))
    }
}

/// A condition that was built: it is prepared once, and its matcher reports what is wrong with it.
#[derive(Debug)]
struct Built {
    draft: ActsDraft,
    acts: Result<Acts, String>,
}

impl Condition for Built {
    fn select(&self, event: &AnyEvent) -> Selected {
        match &self.acts {
            Ok(acts) => acts.select(event),
            Err(fault) => Selected::InDoubt(fault.clone().into()),
        }
    }

    fn fit(&self, event: &AnyEvent) -> Option<String> {
        self.acts.as_ref().ok()?.fit(event)
    }

    fn describe(&self) -> String {
        self.acts.as_ref().map_or_else(Clone::clone, Condition::describe)
    }

    fn written(&self) -> Map {
        self.draft.0.clone()
    }

    fn has_candidates(&self, point: &PointInfo) -> bool {
        self.acts.as_ref().is_ok_and(|acts| acts.has_candidates(point))
    }

    fn fault(&self) -> Option<String> {
        self.acts.as_ref().err().cloned()
    }
}

impl From<ActsDraft> for Arc<dyn Condition> {
    fn from(draft: ActsDraft) -> Self {
        let acts = draft.acts().map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            if errors.is_empty() { "there is no filter".to_owned() } else { errors.join("; ") }
        });
        Arc::new(Built { draft, acts })
    }
}

macro_rules! conditions {
    ($($name:ident),*) => { $(
        impl From<$name> for MatcherDraft {
            fn from(one: $name) -> Self {
                Self::default().and(one)
            }
        }
    )* };
}

conditions!(ActsDraft, Runs, Touches);

impl From<Runs> for Arc<dyn Condition> {
    fn from(runs: Runs) -> Self {
        ActsDraft::from(runs).into()
    }
}

impl From<Touches> for Arc<dyn Condition> {
    fn from(touches: Touches) -> Self {
        ActsDraft::from(touches).into()
    }
}
