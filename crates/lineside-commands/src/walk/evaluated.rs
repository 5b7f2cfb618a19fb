//! Texts that bash itself runs or expands where none is seen to be run: of settings, prompts, expressions and builtins.

use super::Walk;
use super::builtins::{options, skip};
use crate::analysis::Access;
use crate::limits;
use crate::scan::closing;
use crate::state::Shell;
use crate::value::{Value, spelt};

/// The function that bash calls in the place of a program that there is not.
const NOT_FOUND: &str = "command_not_found_handle";

/// As how many bytes each text counts that is evaluated.
const EVALUATED: usize = 64;

impl Walk<'_> {
    /// A variable whose value a shell runs, expands or takes for a file that it runs.
    pub(crate) fn sets_up_shells(&mut self, name: &str, value: &Value) {
        match name {
            // Expanded with each command that `set -x` shows, and in front of each that a person types.
            "PS0" | "PS1" | "PS2" | "PS4" => {
                self.expands_again(value);
            }
            // Written where such a shell ends.
            "HISTFILE" if !matches!(value.plain(), Some("" | "/dev/null")) => {
                self.touch(Access::Write, value, false, None);
            }
            "PROMPT_COMMAND" => {
                self.script(value, Shell::Bash, Vec::new(), "what a shell runs in front of its prompt");
            }
            "PERL5DB" => self.unclear_text("what `PERL5DB` has perl run is not known"),
            // `GIT_TRACE2_EVENT` and the like.
            name if name.starts_with("GIT_TRACE") && value.text.starts_with('/') => {
                self.touch(Access::Write, value, false, None);
            }
            "NODE_REDIRECT_WARNINGS" | "GIT_INDEX_FILE" => self.touch(Access::Write, value, false, None),
            "GIT_CONFIG" | "GIT_CONFIG_GLOBAL" => self.touch(Access::Read, value, false, None),
            "BASH_ENV" | "ENV" => self.begins_with(value),
            _ => {}
        }
    }

    /// A file that a shell runs before all else.
    pub(crate) fn begins_with(&mut self, file: &Value) {
        if file.plain() == Some("/dev/null") {
            return;
        }
        self.begins_in(file);
        self.runs_file(file);
        self.touch(Access::Read, file, false, None);
        if let Some(content) = self.written_at(file) {
            self.script(&content, Shell::Bash, Vec::new(), "a file that a shell begins with");
        }
    }

    /// Notes that a shell reads a file, which may set any variable where it is one of the project.
    pub(crate) fn begins_in(&mut self, file: &Value) {
        let (path, _) = self.absolute(file);
        self.analysis.sets_any |= crate::path::is_within(&path, self.state.project);
    }

    /// Files of the home that a shell of a person, or one that begins or ends a session, runs.
    pub(super) fn of_home(&mut self, index: usize) {
        const FILES: [&str; 10] = [
            ".bashrc", ".bash_profile", ".bash_login", ".profile", ".bash_logout", ".zshenv", ".zshrc",
            ".zprofile", ".zlogin", ".kshrc",
        ];
        if self.files.is_empty() {
            return;
        }
        let folders = [("ZDOTDIR", None), ("HOME", self.variable("HOME"))];
        for (name, known) in folders {
            let Some(folder) = self.of_environment(name, index).or(known) else { continue };
            for file in FILES {
                self.begins_with(&Value { text: format!("{}/{file}", folder.text).into(), ..folder.clone() });
            }
        }
    }

    /// A value that is expanded once more, as `${x@P}` and prompts are.
    pub(crate) fn expands_again(&mut self, value: &Value) -> Value {
        let Some(text) = value.literal() else {
            self.unclear_text("a text that is expanded once more is not known");
            return Value::unknown().from(value.origin);
        };
        let before = self.scope.clone();
        self.nesting += 1;
        let expanded = if self.nesting > limits::NESTING { Value::unknown() } else { self.quoted(&text) };
        self.nesting -= 1;
        self.scope = before;
        expanded.from(value.origin)
    }

    /// An expression, in which a name stands for what its value says, and that for what its own names do: an index of an
    /// array in it may hold a substitution.
    pub(crate) fn evaluates(&mut self, text: &str) {
        let mut left = vec![text.to_owned()];
        let mut seen: Vec<String> = Vec::new();
        while let Some(text) = left.pop() {
            for name in names(&text) {
                if seen.len() >= limits::LEVELS || seen.iter().any(|known| known == name) {
                    continue;
                }
                let Some(values) = self.scope.variables.get(name) else { continue };
                seen.push(name.to_owned());
                let texts: Vec<String> = values.iter().filter_map(Value::literal).collect();
                for text in texts {
                    // An index may ask for the name that it is a part of, and more than once.
                    self.count_bytes(text.len() + EVALUATED);
                    if self.is_full() {
                        return;
                    }
                    indices(&text).into_iter().for_each(|index| self.substitutes(index));
                    left.push(text);
                }
            }
        }
    }

    /// What runs within the index of `name[…]`, as builtins take it for the name of a variable: an expression.
    pub(crate) fn index_of(&mut self, text: &str) {
        for index in indices(text) {
            self.substitutes(index);
            self.evaluates(index);
        }
    }

    fn substitutes(&mut self, index: &str) {
        if self.nesting <= limits::NESTING && index.contains(['$', '`']) {
            self.nesting += 1;
            self.only_substitutions(index);
            self.nesting -= 1;
        }
    }

    /// `let`, `test -v`, `read`, `unset`: words that are expressions or names of variables.
    pub(crate) fn names_variables(&mut self, name: &str, words: &[Value]) {
        for word in words {
            let Some(text) = word.literal() else { continue };
            self.index_of(&text);
            if name == "let" {
                self.evaluates(&text);
            }
        }
    }

    /// `compgen -C command`, `-F function`, `-W words`; `mapfile -C command`. These letters take a value.
    pub(crate) fn calls_back(&mut self, words: &[Value], valued: &str) {
        for (letter, value) in options(words, valued) {
            match letter {
                'C' => self.in_copy(|walk| walk.run_value(&value, "what a builtin calls back")),
                'F' => self.in_copy(|walk| walk.exec(vec![value], Vec::new())),
                'W' => drop(self.expands_again(&value)),
                _ => {}
            }
        }
    }

    /// `hash -p /bin/rm name`: the name starts this program from here on.
    pub(crate) fn hashes(&mut self, words: &[Value]) {
        let path = options(words, "p").into_iter().find(|(letter, _)| *letter == 'p');
        let Some((_, path)) = path else { return };
        let body = match path.plain() {
            Some(path) => format!("'{}' \"$@\"", path.replace('\'', r"'\''")),
            None => "\"$hashed_program\" \"$@\"".to_owned(),
        };
        for name in skip(words, "p").iter().filter_map(Value::plain) {
            self.scope.functions.insert(name.to_owned(), body.clone());
        }
    }

    /// `history -w FILE`, `-a`, `-r`, `-n`; without a name the file that `HISTFILE` names.
    pub(crate) fn keeps_history(&mut self, words: &[Value]) {
        let letters = |word: &&Value| word.text.starts_with('-') && word.plain() != Some("--");
        let given: String = words.iter().take_while(letters).map(|word| spelt(&word.text)).collect();
        if !given.contains(['w', 'a', 'r', 'n']) {
            self.out.push(&Value::unknown());
            return;
        }
        let named = words.iter().skip_while(letters).find(|word| word.plain() != Some("--"));
        let Some(file) = named.cloned().or_else(|| self.variable("HISTFILE")) else { return };
        let access = if given.contains(['w', 'a']) { Access::Write } else { Access::Read };
        self.touch(access, &file, false, None);
        if access == Access::Write {
            self.holds_unknown(&file);
        }
    }

    /// What bash calls where there is no such program: which there are is not known.
    pub(crate) fn not_found(&mut self, words: &[Value]) {
        let is_called = self.calls.iter().any(|(name, _)| name == NOT_FOUND);
        if let Some(body) = self.scope.functions.get(NOT_FOUND).filter(|_| !is_called).cloned() {
            self.in_copy(|walk| walk.call(NOT_FOUND, &body, words.to_vec()));
        }
    }
}

/// The indices of arrays in a text.
fn indices(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('[') {
        let from = at + open + 1;
        at = closing(text, from, ']').unwrap_or(text.len());
        all.push(&text[from..at]);
    }
    all
}

/// The names in an expression.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}
