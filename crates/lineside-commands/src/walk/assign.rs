//! Assignments.

use std::rc::Rc;

use super::Walk;
use crate::parse::{Assigned, Assignment};
use crate::value::{StandsFor, Value};

impl Walk<'_> {
    /// Reads the values of assignments in order; those of words without a command are set.
    pub(crate) fn assign(&mut self, all: &[Assignment<'_>]) {
        for one in all {
            let mut values = match &one.value {
                Assigned::Word(word) => vec![self.assigned_word(word)],
                Assigned::List(words) => self.elements(one.name, words, one.append),
            };
            for value in &mut values {
                // What a search has printed is that wherever it is kept.
                let is_printed = |stands_for: &Rc<StandsFor>| matches!(**stands_for, StandsFor::Printed(_));
                value.stands_for = value.stands_for.take().filter(is_printed);
            }
            self.note_environment(one.name, values.first());
            self.counted(one.name, &values);
            let old = self.scope.variables.get(one.name).cloned();
            let values = match (one.index, one.append, &one.value, old) {
                (Some(index), _, _, old) => {
                    self.evaluates(index);
                    let key = self.quoted(index).text;
                    // A program or a text by another name.
                    if matches!(one.name, "BASH_CMDS" | "BASH_ALIASES") {
                        let program = values.first().map(|value| crate::value::spelt(&value.text));
                        let body = format!("{} \"$@\"", program.unwrap_or_default());
                        self.scope.functions.insert(key.to_string(), body);
                    }
                    self.scope.set(&format!("{}[{key}]", one.name), values.clone());
                    indexed(old.unwrap_or_default(), &key, values)
                }
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

    /// The value of a variable that bash takes for an expression.
    pub(crate) fn counted(&mut self, name: &str, values: &[Value]) {
        const NUMBERS: [&str; 6] = ["RANDOM", "OPTIND", "HISTCMD", "SECONDS", "LINENO", "SRANDOM"];
        if NUMBERS.contains(&name) || self.scope.numbers.contains(name) {
            for text in values.iter().filter_map(Value::literal) {
                self.index_of(&text);
                self.evaluates(&text);
            }
        }
    }

    /// The values of a list; each that has a key is known by it as well.
    pub(crate) fn elements(&mut self, name: &str, words: &[&str], append: bool) -> Vec<Value> {
        if !append {
            let is_element = |known: &str| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
            self.scope.variables.retain(|known, _| !is_element(known));
        }
        if !words.iter().any(|word| word.starts_with('[')) {
            return self.words(words);
        }
        let mut all: Vec<(usize, Value)> = Vec::new();
        let mut next = 0;
        for word in words {
            let keyed = word.strip_prefix('[').and_then(|word| word.split_once("]="));
            let value = self.one(keyed.map_or(*word, |(_, value)| value));
            if let Some((key, _)) = keyed {
                self.evaluates(key);
                let key = self.quoted(key).text;
                self.scope.set(&format!("{name}[{key}]"), vec![value.clone()]);
                next = key.parse().unwrap_or(next);
            }
            all.push((next, value));
            next = next.saturating_add(1);
        }
        // Where the keys are numbers, the elements stand in their order; in what order others stand is not known.
        all.sort_by_key(|(key, _)| *key);
        all.into_iter().map(|(_, value)| value).collect()
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

    /// `NAME=value` as `env` takes it.
    pub(super) fn exported(&mut self, name: &str, value: &Value, environment: &mut Vec<String>) {
        environment.push(crate::value::spelt(&value.text));
        let given =
            value.text.split_once('=').map(|(_, given)| Value { text: given.into(), ..value.clone() });
        self.note_environment(name, given.as_ref());
        // A function that bash takes from its environment.
        if let Some(function) = name.strip_prefix("BASH_FUNC_").and_then(|name| name.strip_suffix("%%"))
            && let Some(body) = given.as_ref().and_then(Value::plain).and_then(|text| text.strip_prefix("()"))
        {
            self.exported_functions.insert(function.to_owned(), body.trim().to_owned());
        }
    }

    pub(crate) fn note_environment(&mut self, name: &str, value: Option<&Value>) {
        if let Some(value) = value {
            self.sets_up_shells(name, value);
        }
        self.scope.finds_dots |= name == "GLOBIGNORE";
        let value = value.map(|value| crate::value::spelt(&value.text)).unwrap_or_default();
        let entry = format!("{name}={value}");
        if self.analysis.environment.len() < 256 && !self.analysis.environment.contains(&entry) {
            self.analysis.environment.push(entry);
        }
    }
}

fn indexed(mut old: Vec<Value>, index: &str, mut values: Vec<Value>) -> Vec<Value> {
    let value = values.pop().unwrap_or_default();
    match index.parse::<usize>() {
        Ok(number) if number < old.len() => old[number] = value,
        // What lies between is not set, and is no word of `"${x[@]}"`.
        Ok(number) if number == old.len() || old.is_empty() => old.push(value),
        _ => return vec![Value::many()],
    }
    old
}
