//! Folders that a shell remembers, and its options that make a glob find more.

use super::{Scope, Walk};
use crate::value::{OPEN, QUEST, STAR, UNKNOWN, Value};

impl Walk<'_> {
    pub(super) fn change_folder(&mut self, name: &str, words: &[Value]) {
        let is_sign = |word: &&Value| matches!(word.plain(), Some("-P" | "-L" | "-e" | "-n" | "--"));
        let stays = words.iter().any(|word| word.plain() == Some("-n"));
        let words: Vec<&Value> = words.iter().filter(|word| !is_sign(word)).collect();
        let now = self.scope.cwd.clone();
        if name == "popd" {
            self.scope.cwd = self.scope.stack.pop().flatten();
            return;
        }
        let target = match words.first() {
            // The two folders at the top change places.
            None if name == "pushd" => self.scope.stack.pop().flatten(),
            None => self.variable("HOME").filter(|home| home.plain().is_some()).map(|home| home.text.into()),
            Some(word) if word.plain() == Some("-") => self.scope.before.clone(),
            Some(word) if word.text.starts_with(UNKNOWN) || word.is_unclear() => None,
            // A lone `cd ""` stays.
            Some(word) if word.text.is_empty() => now.clone(),
            Some(word) => {
                let text = word.text.clone();
                let is_near = text.split('/').next().is_some_and(|first| matches!(first, "." | ".."));
                let elsewhere = || self.variable("CDPATH").is_some_and(|folders| !folders.text.is_empty());
                if text.starts_with('/') {
                    Some(crate::path::normal("", &text))
                } else if !is_near && elsewhere() {
                    // Which of those folders has it is not known.
                    None
                } else {
                    now.as_ref().map(|now| crate::path::normal(now, &text))
                }
            }
        };
        if name == "pushd" && stays {
            self.scope.stack.push(target);
            return;
        }
        if name == "pushd" {
            self.scope.stack.push(now.clone());
        }
        self.scope.before = now;
        self.scope.cwd = target;
    }

    /// The folder of `~2` and `~+1`: as `dirs` lists them, that at hand first.
    pub(crate) fn listed_folder(&self, name: &str) -> Option<Value> {
        let number: usize = name.strip_prefix('+').unwrap_or(name).parse().ok()?;
        let mut all = std::iter::once(&self.scope.cwd).chain(self.scope.stack.iter().rev());
        Some(all.nth(number)?.clone().map_or_else(Value::unknown, Value::known))
    }

    pub(super) fn folders(&mut self, words: &[Value]) {
        let asked = words.iter().find_map(|word| word.plain()?.strip_prefix('+'));
        match asked {
            Some(number) => {
                let folder = self.listed_folder(number).unwrap_or_else(Value::unknown);
                self.prints_line(folder);
            }
            None => self.out.push(&Value::unknown()),
        }
    }

    pub(super) fn prints_line(&mut self, mut line: Value) {
        line.text.push('\n');
        self.out.push(&line);
    }

    /// An option of the shell that is set.
    pub(crate) fn has_option(&mut self, name: &str) {
        match name.replace('_', "").as_str() {
            "expandaliases" => drop(self.aliases.get_or_insert_with(Default::default)),
            "dotglob" | "globdots" => self.scope.finds_dots = true,
            "nocaseglob" => self.scope.finds_any_case = true,
            "cdablevars" | "autocd" => self.unclear_text("an option changes what is taken for a folder"),
            _ => {}
        }
    }

    /// What a glob finds as well by such options: names that begin with a dot, and those in small letters.
    pub(super) fn finds_more(&self, value: &Value) -> Vec<Value> {
        const SIGNS: [char; 6] = [STAR, QUEST, OPEN, '*', '?', '['];
        let Scope { finds_dots, finds_any_case, .. } = self.scope;
        if !finds_dots && !finds_any_case || !value.text.contains(SIGNS) {
            return Vec::new();
        }
        let small = if finds_any_case { value.text.to_lowercase() } else { value.text.clone() };
        let dotted = small.split('/').map(|name| match name.chars().next() {
            Some(STAR | '*') => format!(".{name}"),
            Some(sign @ (QUEST | '?')) => format!(".{}", &name[sign.len_utf8()..]),
            Some(OPEN | '[') => format!(".{}", name.split_once(']').map_or("", |(_, rest)| rest)),
            _ => name.to_owned(),
        });
        let dotted = finds_dots.then(|| dotted.collect::<Vec<_>>().join("/").into());
        let texts = dotted.into_iter().chain([small]).filter(|text| *text != value.text);
        texts.map(|text| Value { text, ..value.clone() }).collect()
    }
}
