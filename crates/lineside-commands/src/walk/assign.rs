//! Assignments.

use super::Walk;
use crate::parse::{Assigned, Assignment};
use crate::value::Value;

impl Walk<'_> {
    /// Reads the values of assignments in order; those of words without a command are set.
    pub(crate) fn assign(&mut self, all: &[Assignment<'_>]) {
        for one in all {
            if let Some(index) = one.index {
                self.only_substitutions(index);
            }
            let mut values = match &one.value {
                Assigned::Word(word) => vec![self.assigned_word(word)],
                Assigned::List(words) => {
                    if words.iter().any(|word| word.starts_with('[')) {
                        let values = words.iter().map(|word| {
                            let word = word.split_once("]=").map_or(*word, |(_, value)| value);
                            self.one(word)
                        });
                        values.collect()
                    } else {
                        self.words(words)
                    }
                }
            };
            for value in &mut values {
                value.stands_for = None;
            }
            self.note_environment(one.name, values.first());
            let old = self.scope.variables.get(one.name).cloned();
            let values = match (one.index, one.append, &one.value, old) {
                (Some(index), _, _, old) => indexed(old.unwrap_or_default(), index, values),
                (None, true, Assigned::List(_), Some(mut old)) => {
                    old.append(&mut values);
                    old
                }
                (None, true, Assigned::Word(_), old) => {
                    let mut first = match old {
                        Some(mut old) if !old.is_empty() => old.remove(0),
                        _ => self.variable(one.name).unwrap_or_default(),
                    };
                    first.push(&values[0]);
                    vec![first]
                }
                _ => values,
            };
            self.scope.set(one.name, values);
        }
    }

    /// The value of `NAME=word`: tildes stand behind colons as well, and nothing is split.
    pub(crate) fn assigned_word(&mut self, word: &str) -> Value {
        if !word.contains(":~") {
            return self.one(word);
        }
        let mut value = Value::default();
        for (number, part) in word.split(':').enumerate() {
            if number > 0 {
                value.text.push(':');
            }
            let part = self.one(part);
            value.push(&part);
        }
        value
    }

    pub(crate) fn note_environment(&mut self, name: &str, value: Option<&Value>) {
        let value = value.map(|value| crate::value::spelt(&value.text)).unwrap_or_default();
        let entry = format!("{name}={value}");
        if self.analysis.environment.len() < 256 && !self.analysis.environment.contains(&entry) {
            self.analysis.environment.push(entry);
        }
    }
}

fn indexed(mut old: Vec<Value>, index: &str, mut values: Vec<Value>) -> Vec<Value> {
    match index.parse::<usize>() {
        Ok(number) if number <= old.len() && number < 1024 => {
            let value = values.pop().unwrap_or_default();
            if number == old.len() {
                old.push(value);
            } else {
                old[number] = value;
            }
            old
        }
        _ => vec![Value::unknown()],
    }
}
