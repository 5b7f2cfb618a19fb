//! Keys of a foreign hook's output that its format passes over and that are nearly one of its own: what was meant as
//! a refusal must not pass without a word.

use std::borrow::Cow;

use lineside_core::nearest::{edit_distance, suggestion};
use lineside_core::worker::WorkerEnded;

use crate::handler::Returned;
use crate::raw_object::RawObject;
use crate::text::{in_one_line, truncated};

/// The keys that are looked at; more have no remark.
const MOST_KEYS: usize = 64;

/// The longest key that is shown whole, in characters.
const LONGEST: usize = 100;

/// The keys by which a hook of one format or another refuses.
const DECIDING: [&str; 6] = ["decision", "permissionDecision", "permission", "verdict", "action", "block"];

/// The keys that an object printed by a hook may have.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerKeys {
    /// The keys; none, where nothing is read or unknown ones are refused.
    pub names: &'static [&'static str],
    /// Whether the case of a key does not matter.
    pub any_case: bool,
    /// The key of an object within, whose keys are among the same names; an empty one where there is none.
    pub within: &'static str,
    /// The one of the keys by which a hook refuses; an empty one where there is none.
    pub decides: &'static str,
}

impl AnswerKeys {
    /// A remark for each key of what was printed or returned that is none of these, and is nearly one of them or one
    /// by which hooks of another format refuse.
    #[must_use]
    pub fn remarks(self, returned: &Returned) -> Vec<Cow<'static, str>> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let printed = match returned {
            Returned::Command(ended) if !ended.stdout.is_cut() => str::from_utf8(&ended.stdout.bytes).ok(),
            Returned::Worker(WorkerEnded::Answered(text)) => Some(&**text),
            Returned::Command(_) | Returned::Worker(_) | Returned::Post(_) | Returned::Nothing => None,
        };
        let object = printed.filter(|text| text.trim_start().starts_with('{'));
        let Some(Ok(object)) = object.map(serde_json::from_str::<RawObject>) else { return Vec::new() };
        let inner: Vec<RawObject> = match self.within {
            "" => Vec::new(),
            within => object.all(within).filter_map(|inner| serde_json::from_str(inner.get()).ok()).collect(),
        };
        self.remarks_on(object.names().chain(inner.iter().flat_map(RawObject::names)))
    }

    /// The same, for the keys of an object.
    pub(crate) fn remarks_on<'a>(self, keys: impl Iterator<Item = &'a str>) -> Vec<Cow<'static, str>> {
        let unknown = keys.take(MOST_KEYS).filter(|key| !self.have(key));
        let remark = |key: &str| {
            let meant = self.meant(key)?;
            let key = truncated(&in_one_line(key), LONGEST);
            Some(Cow::Owned(format!("unknown key `{key}` in its answer, did you mean `{meant}`?")))
        };
        unknown.filter_map(remark).collect()
    }

    /// The key that was probably meant by an unknown one: the nearest, or the deciding one where the unknown key is
    /// nearer to one by which another format decides.
    #[must_use]
    pub fn meant(self, key: &str) -> Option<&'static str> {
        let own = suggestion(key, self.names.iter().copied());
        let own = own.and_then(|own| self.names.iter().copied().find(|name| *name == own));
        let foreign = suggestion(key, DECIDING).filter(|_| !self.decides.is_empty());
        match (own, foreign) {
            (Some(own), Some(foreign)) if edit_distance(key, own) <= edit_distance(key, foreign) => Some(own),
            (own, None) => own,
            (_, Some(_)) => Some(self.decides),
        }
    }

    fn have(self, key: &str) -> bool {
        self.names.iter().any(|own| *own == key || self.any_case && own.eq_ignore_ascii_case(key))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_core::invocation::{Captured, Ended, Exit, Leaked};

    use super::*;

    fn keys(names: &'static [&'static str], decides: &'static str) -> AnswerKeys {
        AnswerKeys { names, decides, ..AnswerKeys::default() }
    }

    #[test]
    fn the_key_that_was_meant_is_the_nearest_or_the_one_that_decides() {
        let native = keys(&["verdict", "reason", "amend", "context", "notice"], "verdict");
        for (key, meant) in [
            ("vardict", Some("verdict")),
            ("decision", Some("verdict")),
            ("decison", Some("verdict")),
            ("permissionDecision", Some("verdict")),
            ("resaon", Some("reason")),
            ("colour", None),
        ] {
            assert_eq!(native.meant(key), meant, "{key}");
        }
        let jcli = keys(&["action", "abort"], "action");
        for (key, meant) in
            [("acton", "action"), ("decision", "action"), ("abrt", "abort"), ("verdict", "action")]
        {
            assert_eq!(jcli.meant(key), Some(meant), "{key}");
        }
        // Where nothing decides, nothing of another format is meant.
        assert_eq!(keys(&["message"], "").meant("decision"), None);
    }

    #[test]
    fn a_key_of_the_format_is_not_unknown_and_its_case_counts_where_it_counts() {
        let remarks = |keys: AnswerKeys, key: &str| {
            let text = format!("{{\"{key}\": 1}}");
            keys.remarks(&Returned::Worker(WorkerEnded::Answered(text))).len()
        };
        let exact = keys(&["action"], "action");
        let any_case = AnswerKeys { any_case: true, ..exact };
        for (keys, key, expected) in [
            (exact, "action", 0),
            (exact, "Action", 1),
            (any_case, "action", 0),
            (any_case, "ACTION", 0),
            (any_case, "acton", 1),
        ] {
            assert_eq!(remarks(keys, key), expected, "{key}");
        }
    }

    #[test]
    fn a_key_as_near_to_one_of_the_format_as_to_a_foreign_one_is_the_formats() {
        // Both are one character away.
        assert_eq!(keys(&["actions", "other"], "other").meant("actionz"), Some("actions"));
        assert_eq!(keys(&["lock", "other"], "other").meant("bock"), Some("lock"));
    }

    #[test]
    fn keys_beyond_the_bound_have_no_remark() {
        let keys = keys(&["block"], "block");
        let fields = |count: usize| {
            let written = vec!["\"blok\":1"; count].join(",");
            Returned::Worker(WorkerEnded::Answered(format!("{{{written}}}")))
        };
        assert_eq!(keys.remarks(&fields(3)).len(), 3);
        assert_eq!(keys.remarks(&fields(MOST_KEYS + 5)).len(), MOST_KEYS);
    }

    #[test]
    fn what_a_command_printed_is_looked_at_where_all_of_it_is_there() {
        let keys = AnswerKeys { within: "inner", ..keys(&["block", "inner"], "block") };
        let remarks = |stdout: &str, dropped: u64| {
            let stdout = Captured { bytes: stdout.as_bytes().to_vec(), dropped };
            let (exit, stderr) = (Exit::Code(0), Captured::default());
            let ended = Ended { exit, stdout, stderr, took: Duration::ZERO, leaked: Leaked::Nothing };
            keys.remarks(&Returned::Command(ended)).len()
        };
        assert_eq!(remarks(r#" {"blok": 1}"#, 0), 1);
        assert_eq!(remarks(r#"{"blok": 1}"#, 1), 0);
        assert_eq!(remarks(r#"{"inner": {"blok": 1, "inner": 1}, "block": 1}"#, 0), 1);
        assert_eq!(remarks(r#"["blok"]"#, 0), 0);
        let none = AnswerKeys { within: "", ..keys };
        let inner =
            Returned::Worker(WorkerEnded::Answered(r#"{"": {"blok": 1}, "inner": {"blok": 1}}"#.to_owned()));
        assert_eq!(none.remarks(&inner).len(), 0);
        assert_eq!(AnswerKeys::default().remarks(&inner).len(), 0);
    }
}
