//! Lines of the input that a builtin puts into variables: `read`, `mapfile`.

use super::Walk;
use super::builtins::{options, skip};
use crate::value::Value;

/// The letters of `mapfile` that take a value.
pub(super) const MAPFILE: &str = "dnOsuCc";

impl Walk<'_> {
    /// `read`: the names take the words of one line.
    pub(super) fn read_line(&mut self, words: &[Value]) {
        const VALUED: &str = "adnNptui";
        let names = names(words, VALUED);
        let given = options(words, VALUED);
        let value = |letter| given.iter().find(|(known, _)| *known == letter).map(|(_, value)| value);
        let text = |letter| value(letter).map(|value| value.literal().unwrap_or_default());
        let array = value('a').and_then(Value::plain);
        let end = text('d').map_or('\n', |end| end.chars().next().unwrap_or('\0'));
        let count = text('n').or_else(|| text('N'));
        let line = self.input.clone().and_then(|input| {
            let text = input.literal()?;
            // In a loop, what stands behind is read as well: a part that is the only one is known.
            let mut parts = text.split(end);
            let line = parts.next()?.trim_end();
            let is_all = parts.all(|part| part.trim_matches('\n').is_empty());
            let fits = |count: String| count.parse().is_ok_and(|count: usize| line.chars().count() <= count);
            (is_all && count.is_none_or(fits)).then(|| (line.to_owned(), input.origin))
        });
        let separators = self.separators();
        let mut rest = line.as_ref().map(|(line, _)| line.trim_matches(|c| separators.contains(&c)));
        if let Some(name) = array {
            let values = match (rest, &line) {
                (Some(text), Some((_, origin))) => {
                    let parts = text.split(|c| separators.contains(&c)).filter(|part| !part.is_empty());
                    parts.map(|part| Value::known(part).from(*origin)).collect()
                }
                _ => vec![Value::many().from(self.reads_input())],
            };
            self.counted(name, &values);
            self.scope.set(name, values);
            return;
        }
        for (number, name) in names.iter().enumerate() {
            let value = match (&mut rest, &line) {
                (Some(text), Some((_, origin))) => {
                    let end =
                        if number + 1 == names.len() { None } else { text.find(|c| separators.contains(&c)) };
                    let part = &text[..end.unwrap_or(text.len())];
                    *text = text[end.unwrap_or(text.len())..].trim_start_matches(|c| separators.contains(&c));
                    Value::known(part).from(*origin)
                }
                _ => {
                    // One of the names that a search has printed.
                    let found = self.input.as_ref().and_then(|input| input.stands_for.clone());
                    Value { stands_for: found, ..Value::unknown().from(self.reads_input()) }
                }
            };
            let value = vec![value];
            self.counted(name, &value);
            self.scope.set(name, value);
        }
    }

    /// `mapfile`: one name takes all lines.
    pub(super) fn read_lines(&mut self, words: &[Value]) {
        let names = names(words, MAPFILE);
        let name = names.first().map_or("MAPFILE", String::as_str).to_owned();
        let input = self.input.clone().unwrap_or_else(Value::unknown);
        let values = match input.literal() {
            Some(text) => text.lines().map(|line| Value::known(line).from(input.origin)).collect(),
            None => vec![Value { stands_for: input.stands_for.clone(), ..Value::many().from(input.origin) }],
        };
        self.counted(&name, &values);
        self.scope.set(&name, values);
    }
}

fn names(words: &[Value], valued: &str) -> Vec<String> {
    skip(words, valued)
        .iter()
        .filter_map(|word| word.plain().map(str::to_owned))
        .filter(|name| !name.starts_with('-'))
        .collect()
}
