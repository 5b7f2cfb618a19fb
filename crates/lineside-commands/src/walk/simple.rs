//! Simple commands: assignments, words and redirections.

use compact_str::CompactString;

use super::{Out, Walk};
use crate::analysis::Access;
use crate::parse::{Assignment, Redirection};
use crate::places::Place;
use crate::value::{Origin, Value};
use crate::{Shell, limits};

impl Walk<'_> {
    pub(crate) fn simple(
        &mut self,
        assignments: &[Assignment<'_>],
        words: &[&str],
        redirections: &[Redirection<'_>],
    ) {
        if !self.scope.either.is_empty() {
            let texts = super::either::texts(assignments, words, redirections);
            if self.with_each(&texts, |walk| walk.simple(assignments, words, redirections)) {
                return;
            }
        }
        let known = self.analysis.touches.len();
        let values = self.words(words);
        self.loads_settings(words, known);
        let kept: Vec<(String, Option<Vec<Value>>)> = match values.is_empty() {
            true => Vec::new(),
            false => assignments
                .iter()
                .map(|one| (one.name.to_owned(), self.scope.variables.get(one.name).cloned()))
                .collect(),
        };
        let known = self.analysis.environment.len();
        self.assign(assignments);
        let redirected = self.redirect(redirections);
        let outer = std::mem::take(&mut self.out);
        let before = self.input.clone();
        let given = redirected.input.is_some();
        if given {
            self.input.clone_from(&redirected.input);
        }
        if values.is_empty() {
            // `$(<file)` is what the file holds; a lone `<file` of zsh shows it.
            if given && assignments.is_empty() && (self.levels > 1 || self.shell == Shell::Zsh) {
                self.out = self.input.clone().unwrap_or_default();
            }
        } else {
            let environment: Vec<String> = if assignments.is_empty() {
                Vec::new()
            } else {
                self.analysis.environment[known.min(self.analysis.environment.len())..].to_vec()
            };
            self.spelling = values[0].plain().is_none().then(|| words[0].to_owned());
            self.away = redirected.out == Out::Away;
            self.away_shell = self.away;
            let place = values.iter().fold(Place::default(), |all, value| all.to(value.place));
            self.at(place, |walk| walk.exec(values, environment));
            self.away_shell = false;
        }
        // What is set for one command alone; what that command sets itself stays.
        for (name, value) in kept.into_iter().rev() {
            match value {
                Some(value) => drop(self.scope.variables.insert(name, value)),
                None => drop(self.scope.variables.remove(&name)),
            }
        }
        let printed = std::mem::replace(&mut self.out, outer);
        self.deliver(printed, &redirected.out);
        // `exec > file` and `exec < file` hold for what follows.
        let stays = words.first() == Some(&"exec") && words.len() == 1;
        self.input = if stays && given { redirected.input } else { before };
    }

    /// `export $(grep -v '^#' .env | xargs)` loads a file of settings as `set -a; . ./.env` does, which shows nothing.
    fn loads_settings(&mut self, words: &[&str], known: usize) {
        let ["export", front @ .., last] = words else { return };
        let is_loaded =
            |path: &str| crate::globs::last_name(path).starts_with(".env") && self.is_secret(path);
        let touches = self.analysis.touches.get(known..).unwrap_or_default();
        let is_read = |touch: &crate::analysis::Touch| touch.access == Access::Read && is_loaded(&touch.path);
        let is_substitution =
            || last.trim_matches('"').starts_with("$(") && front.iter().all(|word| word.starts_with('-'));
        if !touches.is_empty() && is_substitution() && touches.iter().all(is_read) {
            self.analysis.touches.truncate(known);
            self.forget_places();
            self.scope.has_settings = true;
        }
    }

    /// Starts what the words name: a function, a builtin or a program.
    pub(crate) fn exec(&mut self, mut words: Vec<Value>, environment: Vec<String>) {
        if self.is_full() || words.is_empty() {
            return;
        }
        // The second of `! ! command` and the dashes of `time --`, which the grammar leaves as words.
        let dashes = words.iter().take_while(|word| matches!(word.plain(), Some("!" | "--"))).count();
        words.drain(..dashes.min(words.len() - 1));
        // `X='rm -rf'; "$X"` of zsh is one word, which may be split by an option.
        let Some(name) = words[0].plain().map(CompactString::from) else {
            if let Some(name) = self.name_in_folder(&words[0]) {
                words[0].text = format!("/usr/bin/{name}").into();
                return self.exec(words, environment);
            }
            self.unknown_program(&words, environment);
            return;
        };
        let name = name.as_str();
        if let Some(aliases) = &self.aliases
            && let Some(text) = aliases.get(name)
        {
            let mut text = text.clone();
            self.aliases = None;
            for word in &words[1..] {
                text.push(' ');
                text.push_str(&quote(word));
            }
            self.text(&text);
            return;
        }
        if let Some(body) = self.scope.functions.get(name) {
            let body = body.clone();
            self.call(name, &body, words.split_off(1));
            return;
        }
        if name.contains('/') || !self.builtin(name, &words, &environment) {
            self.start(&words, environment);
        }
    }

    pub(crate) fn call(&mut self, name: &str, body: &str, arguments: Vec<Value>) {
        // A function may put another in its own place; one that is the same does nothing new.
        if self.calls.iter().any(|(call, known)| call == name && known == body) {
            // One that starts itself in the background or in a pipe fills the machine.
            if self.calls.last().is_some_and(|(last, _)| last == name) && body.contains(['|', '&']) {
                self.does(crate::Trait::RunsAway);
            }
            return;
        }
        if self.calls.len() >= limits::LEVELS {
            self.cut("functions call each other too deeply");
            return;
        }
        self.calls.push((name.to_owned(), body.to_owned()));
        let outer = self.scope.positional.replace(arguments);
        let now = self.goes_into(body);
        let before = self.scope.cases.clone();
        self.text(body);
        self.scope.doubt_cases(&before);
        self.comes_back(now);
        self.scope.positional = outer;
        self.calls.pop();
    }

    /// `"$VIRTUAL_ENV/bin/python"`, `$(npm bin)/eslint`: the name of a program with a row, in a folder that is not known.
    fn name_in_folder(&self, word: &Value) -> Option<CompactString> {
        const FOLDERS: [&str; 9] = [
            "$(npm bin)/", "$(npm root)/", "$(yarn bin)/", "$(pnpm bin)/", "$(go env GOPATH)/",
            "$(brew --prefix)/", "$(which ", "$(command -v ", "$(type -P ",
        ];
        let spelt = self.spelling.as_deref()?;
        // Without quotes there may be more words in it.
        let is_one = spelt.starts_with('"') && spelt.rfind('"') == Some(spelt.len() - 1);
        let name = word.text.rsplit_once('/')?.1;
        let is_known = (is_one || FOLDERS.iter().any(|folder| spelt.starts_with(folder)))
            && Value::known(name).plain().is_some()
            && crate::tables::find(name).is_some();
        is_known.then(|| name.into())
    }

    /// Why the value of a word is not known.
    fn why_unknown(&self, spelt: &str) -> String {
        let inner = spelt.trim_matches('"').strip_prefix('$').unwrap_or_default();
        let name = inner.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(inner);
        let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let shown: String = spelt.chars().take(60).collect();
        if is_name && self.variable(name).is_none() && !name.starts_with(|c: char| c.is_ascii_digit()) {
            return format!("`${name}` is not set within the command");
        }
        format!("which program `{shown}` starts is not known")
    }

    fn unknown_program(&mut self, words: &[Value], environment: Vec<String>) {
        // A part of a text that is not known, which was said of the text.
        let is_part = self.spelling.as_deref().is_some_and(crate::scan::is_part);
        if is_part && words.len() == 1 {
            return;
        }
        let reason = std::mem::take(&mut self.spelling).map_or_else(
            || format!("which program runs is not known: `{}`", words[0].argument()),
            |spelt| self.why_unknown(&spelt),
        );
        self.at(words[0].place, |walk| walk.unclear_text(&reason));
        if words[0].origin.has(Origin::FETCHED) {
            self.does(crate::Trait::RunsFetched);
        }
        let index = self.list_program(crate::Argument::Any, words, environment);
        // `"$SHELL" -c '…'` runs the text, whichever shell it is.
        if let Some(at) = words.iter().position(|word| word.plain() == Some("-c"))
            && let Some(text) = words.get(at + 1)
        {
            let text = text.clone();
            let arguments = words[at + 2..].to_vec();
            self.shell_text(&text, Shell::Bash, &arguments, index);
        }
    }
}

/// A value as a word of the shell.
fn quote(value: &Value) -> String {
    match value.plain() {
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => crate::value::spelt(&value.text),
    }
}
