//! The fields of a handler in a file, read by type.

use std::time::Duration;

use crate::tree::Node;

/// The fields of a handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a Node);

/// Why a handler is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is wrong.
    Error(String),
    /// It is of a type that is not run.
    Type(String),
    /// It is our own entry.
    Ours,
}

impl<'a> Fields<'a> {
    fn get(self, name: &str) -> Option<&'a Node> {
        self.0.value(name).filter(|value| !value.is_null())
    }

    fn read<T>(
        self,
        name: &str,
        what: &str,
        read: impl FnOnce(&'a Node) -> Option<T>,
    ) -> Result<Option<T>, Refused> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(Refused::Error(format!("`{name}` must be {what}, not {}", value.json_label()))),
        }
    }

    pub(crate) fn text(self, name: &str) -> Result<Option<String>, Refused> {
        self.read(name, "a text", |node| node.text().map(str::to_owned))
    }

    /// A text that must be there and not be blank.
    pub(crate) fn required(self, name: &str) -> Result<String, Refused> {
        let text = self.text(name)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| Refused::Error(format!("the required field `{name}` is missing")))
    }

    pub(crate) fn flag(self, name: &str) -> Result<bool, Refused> {
        Ok(self.read(name, "true or false", Node::boolean)?.unwrap_or_default())
    }

    pub(crate) fn texts(self, name: &str) -> Result<Option<Vec<String>>, Refused> {
        self.read(name, "a list of texts", |node| {
            node.list()?.iter().map(|item| item.text().map(str::to_owned)).collect()
        })
    }

    pub(crate) fn map(self, name: &str) -> Result<Vec<(String, String)>, Refused> {
        let map = self.read(name, "an object of texts", |node| {
            node.mapping()?.iter().map(|(key, value)| Some((key.label(), value.text()?.to_owned()))).collect()
        });
        Ok(map?.unwrap_or_default())
    }

    /// Texts and the list `args` as they are written, by which handlers are compared.
    pub(crate) fn as_written(self, texts: &[&str]) -> Result<String, Refused> {
        let mut written = String::new();
        for name in texts {
            written += &format!("{:?} ", self.text(name)?);
        }
        Ok(written + &format!("{:?}", self.texts("args")?))
    }

    /// A time in this unit; a number above 0.
    pub(crate) fn time(self, name: &str, unit: Duration) -> Result<Option<Duration>, Refused> {
        self.read(name, "a number above 0", |node| {
            let number = node.number()?.as_f64().filter(|number| *number > 0.0 && *number < 1e9)?;
            Duration::try_from_secs_f64(unit.as_secs_f64() * number).ok()
        })
    }

    /// A time in this unit, which is the least: a number from 0.
    pub(crate) fn time_from(self, name: &str, unit: Duration) -> Result<Option<Duration>, Refused> {
        match self.get(name).and_then(|value| value.number()?.as_f64()) {
            Some(0.0) => Ok(Some(unit)),
            _ => Ok(self.time(name, unit)?.map(|time| time.max(unit))),
        }
    }

    /// A whole number, or null, which is no bound.
    pub(crate) fn bound(self, name: &str) -> Result<Option<Option<u32>>, Refused> {
        if self.0.value(name).is_some_and(Node::is_null) {
            return Ok(Some(None));
        }
        let bound = self.read(name, "a whole number or null", |node| u32::try_from(node.integer()?).ok());
        Ok(bound?.map(Some))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Fields, Refused};
    use crate::lined_json::read;

    fn check<T: std::fmt::Debug + PartialEq>(
        json: &str,
        of: impl FnOnce(Fields<'_>) -> Result<T, Refused>,
        expected: Result<T, &str>,
    ) {
        let document = read(&format!("{{\"a\": {json}}}")).unwrap();
        let expected = expected.map_err(|error| Refused::Error(error.to_owned()));
        assert_eq!(of(Fields(&document.root)), expected, "{json}");
    }

    #[test]
    fn a_flag_is_true_or_false_and_absent_is_false() {
        for (json, flag) in [("true", true), ("false", false), ("null", false)] {
            check(json, |fields| fields.flag("a"), Ok(flag));
        }
        check("1", |fields| fields.flag("b"), Ok(false));
        check("1", |fields| fields.flag("a"), Err("`a` must be true or false, not 1"));
    }

    #[test]
    fn a_time_is_above_nothing_and_below_what_a_clock_can_hold() {
        let second = Duration::from_secs(1);
        for (json, time) in
            [("1.5", Some(Duration::from_millis(1500))), ("null", None), ("1e8", Some(second * 100_000_000))]
        {
            check(json, |fields| fields.time("a", second), Ok(time));
        }
        for json in ["0", "-1", "1e9", "\"1\""] {
            let error = format!("`a` must be a number above 0, not {json}");
            check(json, |fields| fields.time("a", second), Err(&error));
        }
        for (json, time) in [("0", 1), ("0.5", 1), ("2", 2)] {
            check(json, |fields| fields.time_from("a", second), Ok(Some(second * time)));
        }
        check("null", |fields| fields.time_from("a", second), Ok(None));
        check("-1", |fields| fields.time_from("a", second), Err("`a` must be a number above 0, not -1"));
    }

    #[test]
    fn a_bound_is_a_whole_number_and_null_is_none() {
        check("5", |fields| fields.bound("a"), Ok(Some(Some(5))));
        check("null", |fields| fields.bound("a"), Ok(Some(None)));
        check("5", |fields| fields.bound("b"), Ok(None));
        check("1.5", |fields| fields.bound("a"), Err("`a` must be a whole number or null, not 1.5"));
    }
}
