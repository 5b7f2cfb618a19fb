//! `${a#…}`, `${a%…}` and `${a/…/…}`: what a pattern cuts off a value, or replaces in it.

use super::pattern::Pattern;
use crate::value::{UNKNOWN, Value};
use crate::walk::Walk;

impl Walk<'_> {
    pub(crate) fn trim_all(
        &mut self,
        values: Vec<Value>,
        pattern: &str,
        front: bool,
        longest: bool,
    ) -> Vec<Value> {
        let pattern = Pattern::new(pattern);
        let pattern = if front { pattern } else { pattern.backwards() };
        values
            .into_iter()
            .map(|value| {
                let done = trim(&value, &pattern, front, longest, &mut self.steps);
                self.or_too_far(&value, done)
            })
            .collect()
    }

    pub(crate) fn replace_all(
        &mut self,
        values: Vec<Value>,
        pattern: &str,
        by: &Value,
        all: bool,
    ) -> Vec<Value> {
        values
            .into_iter()
            .map(|value| {
                let done = replace(&value, pattern, by, all, &mut self.steps);
                self.or_too_far(&value, done)
            })
            .collect()
    }

    /// Whether a pattern fits the whole text: taken to do so where that takes too many steps.
    pub(crate) fn pattern_fits(&mut self, pattern: &str, text: &str) -> bool {
        let fits = Pattern::new(pattern).fits(text, &mut self.steps);
        if fits.is_none() {
            self.goes_too_far();
        }
        fits.unwrap_or(true)
    }

    fn or_too_far(&mut self, value: &Value, done: Option<Value>) -> Value {
        done.unwrap_or_else(|| {
            self.goes_too_far();
            Value::unknown().from(value.origin)
        })
    }

    fn goes_too_far(&mut self) {
        self.steps = 0;
        self.cut("its patterns take more than 1,048,576 steps");
    }
}

/// Cuts the shortest or longest part that fits off the front or the end. Only the known side can be cut.
fn trim(
    value: &Value,
    pattern: &Pattern<'_>,
    front: bool,
    longest: bool,
    steps: &mut usize,
) -> Option<Value> {
    let text = value.text.as_str();
    let known = match (text.contains(UNKNOWN), front) {
        (false, _) => text,
        (true, true) => text.split(UNKNOWN).next().unwrap_or_default(),
        (true, false) => text.rsplit(UNKNOWN).next().unwrap_or_default(),
    };
    let is_whole = known.len() == text.len();
    let part = if is_whole || !longest { pattern.part(known, longest, steps)? } else { None };
    Some(match part {
        Some(length) if front => Value { text: text[length..].into(), ..value.clone() },
        Some(length) => Value { text: text[..text.len() - length].into(), ..value.clone() },
        None if is_whole => value.clone(),
        None => Value::unknown().from(value.origin),
    })
}

fn replace(value: &Value, pattern: &str, by: &Value, all: bool, steps: &mut usize) -> Option<Value> {
    if value.text.contains(UNKNOWN) {
        return Some(Value::unknown().from(value.origin));
    }
    let (anchor, pattern) = match pattern.chars().next() {
        Some(sign @ ('#' | '%')) => (Some(sign), &pattern[1..]),
        _ => (None, pattern),
    };
    let pattern = Pattern::new(pattern);
    let mut out = Value { text: Default::default(), ..value.clone() };
    let mut rest = value.text.as_str();
    if anchor == Some('%') {
        if let Some(length) = pattern.backwards().part(rest, true, steps)?.filter(|length| *length > 0) {
            out.text.push_str(&rest[..rest.len() - length]);
            out.push(by);
            rest = "";
        }
        out.text.push_str(rest);
        return Some(out);
    }
    let mut goes_on = !pattern.is_empty();
    while let Some(first) = rest.chars().next().filter(|_| goes_on) {
        let found = pattern.part(rest, true, steps)?.filter(|length| *length > 0);
        match found {
            Some(length) => {
                *steps = steps.checked_sub(by.text.len())?;
                out.push(by);
                rest = &rest[length..];
            }
            None => {
                out.text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        goes_on = anchor.is_none() && if found.is_some() { all } else { !pattern.begins_with_any() };
    }
    out.text.push_str(rest);
    Some(out)
}
