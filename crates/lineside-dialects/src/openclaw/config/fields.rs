//! The fields of an object of a configuration file, read one by one; what is wrong with them is reported.

use std::path::Path;

use lineside_core::json::{Map, Value};
use lineside_core::nearest::suggestion;

use super::super::findings::{About, Findings};

/// Whether unknown keys are reported (OC-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Warned,
    /// The file has other readers.
    Passed,
}

/// An object of a configuration file.
pub(super) struct Fields<'a> {
    map: &'a Map,
    /// Its place in the file, with a dot at its end; empty at the top.
    place: String,
    unknown: Unknown,
    file: &'a Path,
}

impl<'a> Fields<'a> {
    pub(super) fn top(map: &'a Map, place: &str, unknown: Unknown, file: &'a Path) -> Self {
        Self { map, place: place.to_owned(), unknown, file }
    }

    pub(super) fn about(&self) -> About {
        About::File(self.file.to_owned())
    }

    /// Tells the keys that are none of these.
    pub(super) fn only(&self, known: &[&str], findings: &mut Findings) {
        if self.unknown == Unknown::Passed {
            return;
        }
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let near = suggestion(key, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
            let what = format!("unknown key `{}{key}`{}", self.place, near.unwrap_or_default());
            findings.warning(&self.about(), what);
        }
    }

    /// The value of a key, unless it is absent or null.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&self, key: &str, wanted: &str, findings: &mut Findings) {
        findings.error(&self.about(), format!("`{}{key}` must be {wanted}", self.place));
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        findings: &mut Findings,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let read = read(value);
        if read.is_none() {
            self.wrong(key, wanted, findings);
        }
        read
    }

    pub(super) fn flag(&self, key: &str, findings: &mut Findings) -> Option<bool> {
        self.read(key, "true or false", findings, Value::as_bool)
    }

    pub(super) fn text(&self, key: &str, findings: &mut Findings) -> Option<String> {
        let read = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        self.read(key, "a non-empty string", findings, read)
    }

    /// A number of at least one, rounded down.
    pub(super) fn count(&self, key: &str, findings: &mut Findings) -> Option<u64> {
        self.read(key, "a number above 0", findings, count)
    }

    /// A list of strings; what is none is reported and left out.
    pub(super) fn texts(&self, key: &str, findings: &mut Findings) -> Vec<String> {
        let items = self.read(key, "a list of strings", findings, Value::as_array);
        let mut texts = Vec::new();
        for (i, item) in items.into_iter().flatten().enumerate() {
            match item.as_str().map(str::trim) {
                Some(text) if !text.is_empty() => texts.push(text.to_owned()),
                _ => self.wrong(&format!("{key}[{i}]"), "a non-empty string", findings),
            }
        }
        texts
    }

    pub(super) fn map(&self, key: &str, findings: &mut Findings) -> Option<&'a Map> {
        self.read(key, "an object", findings, Value::as_object)
    }

    /// An object whose fields are read in turn.
    pub(super) fn object(&self, key: &str, findings: &mut Findings) -> Option<Fields<'a>> {
        let map = self.map(key, findings)?;
        let place = format!("{}{key}.", self.place);
        Some(Self { map, place, unknown: self.unknown, file: self.file })
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a String> + use<'a> {
        self.map.keys()
    }
}

/// A finite number above 0, rounded down, at least 1.
fn count(value: &Value) -> Option<u64> {
    if let Some(whole) = value.as_u64() {
        return (whole > 0).then_some(whole);
    }
    let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    Some((number.floor() as u64).max(1))
}
