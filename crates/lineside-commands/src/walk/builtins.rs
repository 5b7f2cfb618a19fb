//! Builtins of the shell: they start nothing themselves, and some change what later words mean.

use super::data;
use super::touch::is_input;
use super::{Case, Walk};
use crate::analysis::{Access, SOURCED};
use crate::state::Shell;
use crate::value::{OPEN, Origin, StandsFor, UNKNOWN, Value, has_marks};

/// Those that neither start nor set anything that counts here.
const QUIET: &[&str] = &[
    ":", "true", "false", "break", "continue", "exit", "return", "times", "ulimit", "umask", "jobs", "fg",
    "bg", "disown", "shift", "getopts", "bind", "complete", "compopt", "enable", "logout", "suspend",
    "unsetopt", "kill", "autoload", "zmodload", "zstyle", "bindkey", "compdef", "rehash", "vared", "limit",
    "disable", "emulate", "print", "typeset", "fc",
];

/// Those that print what is not computed here, as the path of a program.
const TELLS: &[&str] = &["type", "whence", "where", "help", "caller", "functions"];

impl Walk<'_> {
    /// RunsFilter a builtin; answers whether it is one.
    pub(crate) fn builtin(&mut self, name: &str, words: &[Value], environment: &[String]) -> bool {
        self.analysis.sets_any |= sets_any(name, &words[1..], self.shell);
        match name {
            // A program and a builtin have this name; it matters what it ends.
            "kill" => return false,
            "echo" | "print" => self.echo(&words[1..]),
            "printf" => self.printf(&words[1..]),
            "pwd" => {
                let cwd = self.cwd_value();
                self.prints_line(cwd);
            }
            "dirs" => self.folders(&words[1..]),
            "cd" | "chdir" | "pushd" | "popd" => self.change_folder(name, &words[1..]),
            "eval" => self.eval(&words[1..]),
            "source" | "." => self.source(&words[1..]),
            "exec" => self.pass(skip(&words[1..], "a"), environment),
            "noglob" | "nocorrect" | "-" => self.pass(&words[1..], environment),
            "builtin" => self.past_functions(skip(&words[1..], ""), environment),
            "command" => {
                let given = words[1..].iter().take_while(|word| word.text.starts_with('-'));
                let is_asked = given.clone().any(|word| word.text.contains(['v', 'V']));
                let rest = &words[1 + given.count()..];
                if is_asked {
                    // The path of a program ends with its name.
                    let name = rest
                        .first()
                        .and_then(Value::plain)
                        .map_or_else(String::new, |name| format!("/{name}"));
                    self.prints_line(Value::known(format!("{UNKNOWN}{name}")));
                    return true;
                }
                self.past_functions(rest, environment);
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "integer" | "float" => {
                self.declare(&words[1..]);
            }
            "unset" => {
                self.names_variables(name, &words[1..]);
                for word in &words[1..] {
                    if let Some(name) = word.plain().filter(|name| !name.starts_with('-')) {
                        self.scope.variables.remove(name);
                        self.scope.functions.remove(name);
                        self.scope.cases.remove(name);
                        self.scope.unset.insert(name.to_owned());
                    }
                }
            }
            "set" => self.set_options(&words[1..]),
            "shift" => {
                let count = words.get(1).map_or(Some(1), |count| count.plain()?.parse().ok());
                match (&mut self.scope.positional, count) {
                    (Some(all), Some(count)) if count <= all.len() && !all.iter().any(Value::is_many) => {
                        all.drain(..count);
                    }
                    (positional, _) => *positional = None,
                }
            }
            "read" => {
                self.names_variables(name, &words[1..]);
                self.read_line(&words[1..]);
            }
            "mapfile" | "readarray" => {
                self.read_lines(&words[1..]);
                self.calls_back(&words[1..], super::lines::MAPFILE);
            }
            "compgen" => {
                self.calls_back(&words[1..], "oAGWFCPSXV");
                self.completes(&words[1..]);
            }
            "hash" => {
                self.hashes(&words[1..]);
                if words.iter().any(|word| word.text.starts_with("-t")) {
                    self.out.push(&Value::unknown());
                }
            }
            "history" => self.keeps_history(&words[1..]),
            name if TELLS.contains(&name) => self.out.push(&Value::unknown()),
            "let" | "test" | "[" | "wait" => self.names_variables(name, &words[1..]),
            "trap" => {
                let rest = skip(&words[1..], "");
                if let [text, _, ..] = rest
                    && !matches!(text.plain(), Some("" | "-"))
                {
                    let text = text.clone();
                    let known = text
                        .plain()
                        .is_none_or(|name| name.contains(' ') || self.scope.functions.contains_key(name));
                    // It ends what the command has started itself.
                    if text.plain() == Some("kill 0") {
                        return true;
                    }
                    if rest.iter().any(|word| word.plain() == Some("DEBUG")) {
                        // In front of each command.
                        self.run_value(&text, "what a trap runs");
                    } else if known {
                        self.in_copy(|walk| walk.run_value(&text, "what a trap runs"));
                    } else {
                        // A function that stands behind the trap.
                        self.at_end.push(text);
                    }
                }
            }
            "alias" => self.alias(&words[1..]),
            "shopt" if !words.iter().any(|word| word.text.starts_with('-') && word.text.contains('s')) => {}
            "shopt" | "setopt" => {
                words.iter().filter_map(Value::plain).for_each(|name| self.has_option(name));
            }
            "fc" => {
                if words[1..].iter().any(|word| word.plain() == Some("-s") || !word.text.starts_with('-')) {
                    self.unclear_text("a command of the history is run");
                }
            }
            name if QUIET.contains(&name) => {}
            _ => return false,
        }
        true
    }

    fn pass(&mut self, words: &[Value], environment: &[String]) {
        if self.nesting >= crate::limits::NESTING {
            return self.cut("the command is nested too deeply");
        }
        self.nesting += 1;
        self.exec(words.to_vec(), environment.to_vec());
        self.nesting -= 1;
    }

    fn past_functions(&mut self, words: &[Value], environment: &[String]) {
        let functions = std::mem::take(&mut self.scope.functions);
        self.pass(words, environment);
        self.scope.functions = functions;
    }

    fn echo(&mut self, words: &[Value]) {
        let mut words = words;
        let (mut newline, mut escapes) = (true, self.shell == crate::Shell::Sh);
        while let Some(text) = words.first().and_then(Value::plain) {
            let is_option =
                text.len() > 1 && text.starts_with('-') && text[1..].chars().all(|c| "neE".contains(c));
            if !is_option {
                break;
            }
            newline &= !text.contains('n');
            escapes |= text.contains('e');
            words = &words[1..];
        }
        let mut line = data::joined(words);
        if escapes {
            line.text = data::unescaped(&line.text).into();
        }
        if newline {
            line.text.push('\n');
        }
        self.shows(line);
    }

    fn printf(&mut self, words: &[Value]) {
        let is_set = words.first().is_some_and(|word| word.text.starts_with("-v"));
        let (variable, words) = match words {
            words if is_set => {
                (options(words, "v").pop().and_then(|(_, name)| name.literal()), skip(words, "v"))
            }
            [option, rest @ ..] if option.plain() == Some("--") => (None, rest),
            words => (None, words),
        };
        let Some(format) = words.first() else { return };
        let text = data::printf(format, &words[1..]);
        match variable {
            Some(name) => {
                self.index_of(&name);
                let text = [text];
                self.counted(&name, &text);
                self.scope.set(&name, text.to_vec());
            }
            None => self.shows(text),
        }
    }

    /// Prints a text as it is.
    fn shows(&mut self, mut text: Value) {
        if text.origin.has(Origin::SECRET) {
            text.origin = text.origin.with(Origin::SHOWN);
        }
        self.out.push(&text);
    }

    fn eval(&mut self, words: &[Value]) {
        let words = skip(words, "");
        let text = data::joined(words);
        if text.origin.has(Origin::FETCHED) {
            self.does(crate::Trait::RunsFetched);
        }
        if text.origin.has(Origin::DECODED) {
            self.does(crate::Trait::RunsDecoded);
        }
        // The output of a known program that prints settings for the shell.
        let settings = self.prints_settings
            && text.text.starts_with(UNKNOWN)
            && text.text.rsplit(UNKNOWN).next().is_some_and(|rest| rest.trim().is_empty());
        if settings {
            self.analysis.sets_any = true;
        } else {
            self.run_value(&text, "what `eval` runs");
        }
    }

    fn source(&mut self, words: &[Value]) {
        let Some(file) = words.first() else { return };
        self.begins_in(file);
        self.runs_file(file);
        let name = file.plain().map(crate::globs::last_name).unwrap_or_default();
        let is_settings = name.starts_with(".env") && self.origin_at(file).has(Origin::SECRET);
        // What is loaded is shown by what prints it.
        let text = match is_settings && !self.wrote(file) {
            true => Value::unknown(),
            false => self.content(file, None),
        };
        self.scope.has_settings |= is_settings;
        if text.origin.has(Origin::FETCHED) {
            self.does(crate::Trait::RunsFetched);
        }
        let outer = self.scope.variables.insert("BASH_SOURCE".to_owned(), vec![file.clone()]);
        let is_file = !matches!(file.stands_for.as_deref(), Some(StandsFor::Content(_))) && !is_input(file);
        self.run_value(&text, if is_file { SOURCED } else { "what a shell reads of another program" });
        self.scope.variables.remove("BASH_SOURCE");
        self.scope.variables.extend(outer.map(|outer| ("BASH_SOURCE".to_owned(), outer)));
    }

    fn declare(&mut self, words: &[Value]) {
        let flags: Vec<&str> =
            words.iter().map_while(|word| word.plain().filter(|text| text.starts_with('-'))).collect();
        let has = |letter: char| flags.iter().any(|flag| flag.contains(letter));
        let is_secret = |word: &Value| crate::expand::is_secret_name(&word.text);
        if flags.len() == words.len() && !has('f') && !has('F') || has('p') && words.iter().any(is_secret) {
            self.shows_variables();
        }
        if has('f') {
            self.scope.exported.extend(words.iter().filter_map(Value::plain).map(str::to_owned));
        }
        let case = match (has('l'), has('u'), has('c')) {
            (false, false, false) => None,
            (true, false, false) => Some(Case::Lower),
            (false, true, false) => Some(Case::Upper),
            _ => Some(Case::Unknown),
        };
        for word in words.iter().filter(|word| !word.text.starts_with(['-', '+'])) {
            let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
            let known = name.trim_end_matches('+');
            match case {
                Some(case) => drop(self.scope.cases.insert(known.to_owned(), case)),
                // One of a function does not take after one outside of it.
                None if !self.calls.is_empty() => drop(self.scope.cases.remove(known)),
                None => {}
            }
            if name.contains(['[', OPEN])
                && let Some(text) = word.literal()
            {
                self.index_of(&text);
            }
            if has('i') {
                self.scope.numbers.insert(known.to_owned());
            }
            if has('n') {
                // It may be the name of a number.
                self.scope.numbers.insert(known.to_owned());
                self.index_of(value);
                self.evaluates(value);
                self.scope.set(value, vec![Value::unknown()]);
            }
        }
        for word in words {
            let Some((name, value)) = word.text.split_once('=') else {
                continue;
            };
            let name = name.trim_end_matches('+').to_owned();
            if name.starts_with('-') || name.contains('[') {
                continue;
            }
            let inner = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'));
            let values = match inner {
                Some(inner) => {
                    let inner = crate::value::spelt(inner);
                    let words: Vec<&str> = inner.split_ascii_whitespace().collect();
                    self.elements(&name, &words, false)
                }
                // What another variable holds when it is asked for.
                None if has('n') => vec![Value::unknown()],
                None => vec![Value { text: value.into(), stands_for: None, ..word.clone() }],
            };
            self.counted(&name, &values);
            self.note_environment(&name, values.first());
            self.scope.set(&name, values);
        }
    }

    /// Every variable with its value.
    fn shows_variables(&mut self) {
        self.does(crate::Trait::ShowsEnvironment);
        self.out.push(&Value::unknown().from(Origin::SECRET));
    }

    fn set_options(&mut self, words: &[Value]) {
        if words.is_empty() {
            self.shows_variables();
            return;
        }
        let mut words = words;
        while let Some(text) = words.first().and_then(Value::plain) {
            if text == "--" {
                self.scope.positional = Some(words[1..].to_vec());
                return;
            }
            if !text.starts_with(['-', '+']) {
                break;
            }
            words = &words[if text.ends_with('o') { 2.min(words.len()) } else { 1 }..];
        }
        if !words.is_empty() {
            self.scope.positional = Some(words.to_vec());
        }
    }

    fn alias(&mut self, words: &[Value]) {
        for word in words {
            let Some((name, text)) = word.plain().and_then(|word| word.split_once('=')) else { continue };
            match &mut self.aliases {
                Some(aliases) => {
                    aliases.insert(name.to_owned(), text.to_owned());
                }
                None => {
                    // Without a terminal no alias holds; that it is meant to is a riddle.
                    self.scope.functions.insert(name.to_owned(), "$alias_of_a_terminal".to_owned());
                }
            }
        }
    }

    /// Notes that a program gives what it reads to another machine.
    pub(crate) fn reads_input(&self) -> Origin {
        self.input.as_ref().map(|input| input.origin).unwrap_or_default()
    }

    /// A file that is read whole, by its name.
    pub(crate) fn reads_file(&mut self, value: &Value, program: usize) -> Origin {
        self.touch(Access::Read, value, false, Some(program));
        let origin = self.origin_at(value);
        self.read = self.read.with(origin);
        origin
    }
}

/// Whether a builtin may set variables that its words do not name.
fn sets_any(name: &str, words: &[Value], shell: Shell) -> bool {
    // A value may be split into words as well.
    let is_open = |word: &Value| match word.text.split_once('=') {
        Some((name, _)) if shell == Shell::Bash => has_marks(name) || word.is_many(),
        _ => has_marks(&word.text),
    };
    let has = |letters: &[char]| {
        words.iter().any(|word| word.text.starts_with(['-', '+']) && word.text.contains(letters))
    };
    match name {
        "getopts" | "compgen" | "enable" | "nameref" => true,
        "export" | "declare" | "typeset" | "local" | "readonly" | "integer" | "float" => {
            has(&['n', 'T']) || words.iter().any(is_open)
        }
        "read" | "mapfile" | "readarray" | "unset" | "let" => words.iter().any(is_open),
        "printf" => has(&['v']) && words.iter().take(2).any(is_open),
        // An environment that is emptied, and a list of ksh.
        "exec" => has(&['c']),
        "set" => has(&['A']),
        _ => false,
    }
}

/// The options of a builtin with what they are given; these letters take a value, the rest of their word or the next one.
pub(super) fn options(words: &[Value], valued: &str) -> Vec<(char, Value)> {
    let mut all = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(mut rest) = word.text.strip_prefix('-').filter(|rest| !matches!(*rest, "" | "-")) else {
            break;
        };
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if !valued.contains(letter) {
                all.push((letter, Value::default()));
                continue;
            }
            let attached = Value { text: rest.into(), stands_for: None, ..word.clone() };
            let value = if rest.is_empty() { words.next().cloned() } else { Some(attached) };
            all.extend(value.map(|value| (letter, value)));
            break;
        }
    }
    all
}

/// The words behind options; these letters take a value, the next word where nothing stands behind them.
pub(super) fn skip<'w>(words: &'w [Value], valued: &str) -> &'w [Value] {
    let mut words = words;
    while let Some(text) = words.first().and_then(Value::plain) {
        if text == "--" {
            return &words[1..];
        }
        if text.len() < 2 || !text.starts_with('-') {
            break;
        }
        let is_open = text[1..].find(|letter| valued.contains(letter)).is_some_and(|at| at + 2 == text.len());
        words = &words[(1 + usize::from(is_open)).min(words.len())..];
    }
    words
}
