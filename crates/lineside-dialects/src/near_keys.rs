//! Keys of a foreign hook's output that its format passes over and that are nearly one of its own: what was meant as
//! a refusal must not pass without a word.

use std::borrow::Cow;

use lineside_core::nearest::suggestion;
use lineside_core::worker::WorkerEnded;

use crate::handler::Returned;
use crate::raw_object::RawObject;
use crate::text::{in_one_line, truncated};

/// The keys that are looked at; more have no remark.
const MOST_KEYS: usize = 64;

/// The longest key that is shown whole, in characters.
const LONGEST: usize = 100;

/// The keys that an object printed by a hook may have.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerKeys {
    /// The keys; none, where nothing is read or unknown ones are refused.
    pub names: &'static [&'static str],
    /// Whether the case of a key does not matter.
    pub any_case: bool,
    /// The key of an object within, whose keys are among the same names; an empty one where there is none.
    pub within: &'static str,
}

impl AnswerKeys {
    /// A remark for each key of what was printed that is none of these and nearly one of them.
    #[must_use]
    pub fn remarks(self, returned: &Returned) -> Vec<Cow<'static, str>> {
        let text = match returned {
            Returned::Command(ended) if !ended.stdout.is_cut() => str::from_utf8(&ended.stdout.bytes).ok(),
            Returned::Worker(WorkerEnded::Answered(text)) => Some(&**text),
            Returned::Command(_) | Returned::Worker(_) | Returned::Post(_) | Returned::Nothing => None,
        };
        if self.names.is_empty() {
            return Vec::new();
        }
        let object = text.filter(|text| text.trim_start().starts_with('{'));
        let Some(Ok(object)) = object.map(serde_json::from_str::<RawObject>) else { return Vec::new() };
        let inner: Vec<RawObject> = match self.within {
            "" => Vec::new(),
            within => object.all(within).filter_map(|inner| serde_json::from_str(inner.get()).ok()).collect(),
        };
        let keys = object.names().chain(inner.iter().flat_map(RawObject::names));
        let unknown = keys.take(MOST_KEYS).filter(|key| !self.have(key));
        let remark = |key: &str| {
            let near = suggestion(key, self.names.iter().copied())?;
            let key = truncated(&in_one_line(key), LONGEST);
            Some(Cow::Owned(format!("unknown key `{key}` in its answer, did you mean `{near}`?")))
        };
        unknown.filter_map(remark).collect()
    }

    fn have(self, key: &str) -> bool {
        self.names.iter().any(|own| *own == key || self.any_case && own.eq_ignore_ascii_case(key))
    }
}
