//! Words: quotes, escapes, expansions, braces, tildes and globs, by the rules of bash.

mod braces;
mod cut;
mod escapes;
mod parameter;
mod pattern;
mod substitutions;

pub(crate) use braces::{after as behind_sign, braces};
pub(crate) use escapes::ansi;
pub(crate) use parameter::is_secret_name;
pub(crate) use pattern::fits;

use crate::scan::{closing, is_plain};
use crate::value::{self, FRESH, OPEN, QUEST, STAR, UNKNOWN, Value, globbing};
use crate::walk::Walk;

/// Whether a sign may mean something in a word.
fn means(byte: &u8) -> bool {
    matches!(
        byte,
        b'\'' | b'"' | b'\\' | b'$' | b'`' | b'<' | b'>' | b'=' | b'@' | b'!' | b'+' | b'*' | b'?' | b'['
    )
}

/// How a word is read.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// A word of a command: it is split and its globs are signs.
    Split,
    /// One value, as in assignments and redirections.
    One,
    /// Between double quotes, or in a here-document.
    Quoted,
}

/// Fields as they grow.
#[derive(Default)]
struct Fields {
    done: Vec<Value>,
    current: Value,
    /// Whether there is a current field, though it may be empty.
    open: bool,
}

impl Fields {
    fn push(&mut self, c: char) {
        self.current.text.push(c);
        self.open = true;
    }

    fn append(&mut self, value: &Value) {
        self.current.push(value);
        self.open = true;
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            self.done.push(std::mem::take(&mut self.current));
        }
    }
}

impl Walk<'_> {
    /// The values of words of a command.
    pub(crate) fn words(&mut self, words: &[&str]) -> Vec<Value> {
        let mut all = Vec::with_capacity(words.len());
        let declares =
            matches!(words.first(), Some(&("declare" | "typeset" | "local" | "export" | "readonly")));
        for word in words {
            self.reads(word);
            let from = all.len();
            if word.contains('{') && word.contains('}') && self.shell != crate::Shell::Sh {
                for word in self.spread(word) {
                    self.fields(&word, &mut all);
                }
            } else {
                self.fields(word, &mut all);
            }
            // What a variable is declared with is not split.
            while declares && word.contains('=') && all.len() > from + 1 {
                let (Some(more), Some(set)) = (all.pop(), all.last_mut()) else { break };
                set.text.push(' ');
                set.push(&more);
            }
        }
        self.count_words(all.len());
        all
    }

    fn spread(&mut self, word: &str) -> Vec<String> {
        const MANY: &str = "a brace expansion has more than 1,000 words";
        let Some((words, are_all)) = braces(word) else {
            self.cut(MANY);
            return vec![word.to_owned()];
        };
        if !are_all {
            self.unclear_text(MANY);
        }
        words
    }

    fn fields(&mut self, word: &str, all: &mut Vec<Value>) {
        // The usual word: nothing in it means anything.
        let path_of_program = self.shell == crate::Shell::Zsh && word.starts_with('=');
        if !path_of_program && word.bytes().all(is_plain) {
            all.push(Value { place: self.place(word), ..Value::known(word) });
            return;
        }
        let mut fields = Fields::default();
        let zsh = self.shell == crate::Shell::Zsh;
        let word = match word.rfind('(') {
            // Qualifiers of a glob: `/(N)`.
            Some(at)
                if zsh && at > 0 && word.ends_with(')') && !word[..at].ends_with(['$', '<', '>', '=']) =>
            {
                &word[..at]
            }
            _ => word,
        };
        self.read(word, Mode::Split, &mut fields);
        fields.end();
        if self.is_located() {
            let place = self.place(word);
            fields.done.iter_mut().for_each(|value| value.place = place);
        }
        all.append(&mut fields.done);
    }

    /// The value of one word that is not split.
    pub(crate) fn one(&mut self, word: &str) -> Value {
        self.single(word, Mode::One)
    }

    /// The value of a text between double quotes.
    pub(crate) fn quoted(&mut self, text: &str) -> Value {
        self.single(text, Mode::Quoted)
    }

    fn single(&mut self, word: &str, mode: Mode) -> Value {
        let mut fields = Fields::default();
        self.reads(word);
        self.read(word, mode, &mut fields);
        // `"$@"` where one value is asked for is joined by blanks.
        let mut value = Value::default();
        for field in fields.done {
            value.push(&field);
            value.text.push(' ');
        }
        value.push(&fields.current);
        value.place = self.place(word);
        value
    }

    fn read(&mut self, word: &str, mode: Mode, fields: &mut Fields) {
        let mut at = 0;
        if mode != Mode::Quoted {
            at = self.tilde(word, fields);
        }
        let last_bracket = word.rfind(']');
        while let Some(c) = word[at..].chars().next() {
            if self.is_full() {
                fields.append(&Value::unknown());
                return;
            }
            let next = at + c.len_utf8();
            at = match c {
                '\'' if mode != Mode::Quoted => {
                    let end = word[next..].find('\'').map_or(word.len(), |end| next + end);
                    fields.open = true;
                    fields.current.text.push_str(&word[next..end]);
                    (end + 1).min(word.len())
                }
                '"' if mode != Mode::Quoted => {
                    let end = closing(word, next, '"').unwrap_or(word.len());
                    fields.open = true;
                    self.read(&word[next..end], Mode::Quoted, fields);
                    // `"$@"` without parameters leaves no field.
                    if &word[next..end] == "$@" && fields.current.text.is_empty() {
                        fields.open = false;
                    }
                    (end + 1).min(word.len())
                }
                '\\' => escape(word, next, mode, fields),
                '$' => self.dollar(word, next, mode, fields),
                '`' => {
                    let end = closing(word, next, '`').unwrap_or(word.len());
                    let inner = backquoted(&word[next..end], mode == Mode::Quoted);
                    let value = self.substitute(&inner);
                    self.expanded(&value, mode, fields);
                    (end + 1).min(word.len())
                }
                '<' | '>' if mode != Mode::Quoted && word[next..].starts_with('(') => {
                    let end = closing(word, next + 1, ')').unwrap_or(word.len());
                    let value = self.process(&word[next + 1..end], c == '<');
                    fields.append(&value);
                    (end + 1).min(word.len())
                }
                '=' if self.shell == crate::Shell::Zsh && at == 0 && mode == Mode::Split => {
                    // `=rm` is the path of `rm`.
                    fields.current.text.push_str(if next < word.len() { "/usr/bin/" } else { "=" });
                    fields.open = true;
                    next
                }
                // `!(b)` and the like of `extglob`.
                '@' | '!' | '+' | '*' | '?' if mode == Mode::Split && word[next..].starts_with('(') => {
                    let end = closing(word, next + 1, ')').unwrap_or(word.len());
                    self.only_substitutions(&word[next + 1..end]);
                    fields.push(STAR);
                    (end + 1).min(word.len())
                }
                '*' | '?' | '[' if mode == Mode::Split => {
                    let sign = match c {
                        '*' => STAR,
                        '?' => QUEST,
                        _ if last_bracket > Some(at) => OPEN,
                        c => c,
                    };
                    fields.push(sign);
                    next
                }
                _ => {
                    let rest = &word.as_bytes()[next..];
                    let end = next + rest.iter().position(means).unwrap_or(rest.len());
                    fields.open = true;
                    fields.current.text.push_str(&word[at..end]);
                    end
                }
            };
        }
    }

    /// Reads `~` and `~name` in front of a word; answers where the word goes on.
    fn tilde(&mut self, word: &str, fields: &mut Fields) -> usize {
        let Some(rest) = word.strip_prefix('~') else { return 0 };
        let name = rest.split('/').next().unwrap_or_default();
        let value = match name {
            "" => self.variable("HOME").unwrap_or_else(Value::unknown),
            "+" => self.cwd_value(),
            "-" => self.scope.before.clone().map_or_else(Value::unknown, Value::known),
            name if self.listed_folder(name).is_some() => self.listed_folder(name).unwrap_or_default(),
            name if name == self.state.user => Value::known(self.state.home),
            "root" => Value::known("/root"),
            name if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') => {
                Value::known(format!("/home/{name}"))
            }
            _ => return 0,
        };
        fields.append(&value);
        1 + name.len()
    }

    fn dollar(&mut self, word: &str, at: usize, mode: Mode, fields: &mut Fields) -> usize {
        let rest = &word[at..];
        let end_of = |from: usize, sign| closing(word, from, sign).unwrap_or(word.len());
        if rest.starts_with("((") {
            let end = end_of(at + 1, ')');
            // `$(( a ); ( b ))` holds two subshells.
            if word[at + 2..end].ends_with(')') && is_arithmetic(&word[at + 2..]) {
                let value = self.arithmetic(&word[at + 2..end - 1]);
                self.expanded(&value, mode, fields);
                return (end + 1).min(word.len());
            }
        }
        match rest.chars().next() {
            Some('(') => {
                let end = end_of(at + 1, ')');
                let value = self.substitute(&word[at + 1..end]);
                self.expanded(&value, mode, fields);
                (end + 1).min(word.len())
            }
            Some('{') => {
                let end = end_of(at + 1, '}');
                if crate::scan::holds_commands(&rest[1..]) {
                    let value = self.substitute_here(&word[at + 1..end]);
                    self.expanded(&value, mode, fields);
                    return (end + 1).min(word.len());
                }
                let (values, joins) = self.parameter(&word[at + 1..end], mode == Mode::Quoted);
                let next = (end + 1).min(word.len());
                self.values_before(&word[at + 1..end], &values, joins, mode, fields, &word[next..]);
                next
            }
            Some('[') => {
                let end = end_of(at + 1, ']');
                let value = self.arithmetic(&word[at + 1..end]);
                self.expanded(&value, mode, fields);
                (end + 1).min(word.len())
            }
            Some('\'') if mode != Mode::Quoted => {
                let end = escapes::ansi_end(word, at + 1);
                fields.open = true;
                fields.current.text.push_str(&ansi(&word[at + 1..end]));
                (end + 1).min(word.len())
            }
            Some('"') if mode != Mode::Quoted => at,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                let (values, joins) = self.parameter(&rest[..length], mode == Mode::Quoted);
                self.values_before(&rest[..length], &values, joins, mode, fields, &rest[length..]);
                at + length
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                let (values, joins) = self.parameter(&rest[..1], mode == Mode::Quoted);
                self.values(&values, joins, mode, fields);
                at + 1
            }
            _ => {
                fields.push('$');
                at
            }
        }
    }

    /// The same in front of the rest of a word: of `${x}.env`, a variable that the command does not set may be empty.
    fn values_before(
        &mut self,
        name: &str,
        values: &[Value],
        joins: bool,
        mode: Mode,
        fields: &mut Fields,
        rest: &str,
    ) {
        let is_alone = fields.current.text.is_empty() && rest.starts_with('.');
        let is_any = is_alone && matches!(values, [value] if value.is_any()) && self.variable(name).is_none();
        if !is_any || name.contains(|c: char| !c.is_alphanumeric() && c != '_') || !self.takes_default() {
            self.values(values, joins, mode, fields);
        }
    }

    /// Adds the values of `$@` or of an array, each a field of its own unless they are joined by the first sign of `IFS`.
    fn values(&mut self, values: &[Value], joins: bool, mode: Mode, fields: &mut Fields) {
        let joiner = if joins { self.separators().first().copied() } else { Some(' ') };
        for (number, value) in values.iter().enumerate() {
            if number > 0 {
                if joins || mode == Mode::One {
                    fields.current.text.extend(joiner);
                } else {
                    fields.end();
                }
            }
            self.expanded(value, mode, fields);
        }
    }

    /// Adds what an expansion yields: split at blanks and with signs of globs where it stands unquoted.
    fn expanded(&mut self, value: &Value, mode: Mode, fields: &mut Fields) {
        self.count_bytes(value.text.len());
        let zsh = self.shell == crate::Shell::Zsh && !self.splits;
        if mode != Mode::Split || zsh {
            if zsh && mode == Mode::Split && value.text.is_empty() {
                return;
            }
            fields.append(value);
            return;
        }
        if value.text.is_empty() {
            return;
        }
        if value.is_any() || value.is_many() {
            fields.append(value);
            return;
        }
        let separators = self.separators();
        let mut first = true;
        for part in value.text.split(|c: char| separators.contains(&c)) {
            if !std::mem::take(&mut first) {
                fields.end();
            }
            if !part.is_empty() {
                let part = Value { text: globbing(part).into(), ..value.clone() };
                fields.append(&part);
            }
        }
    }

    /// The value of an arithmetic expression: known only where it is a number or a known variable.
    fn arithmetic(&mut self, text: &str) -> Value {
        self.only_substitutions(text);
        self.evaluates(text);
        let text = text.trim();
        if text.parse::<i64>().is_ok() {
            return Value::known(text);
        }
        Value::of_sign(FRESH)
    }
}

/// Whether what stands behind `((` is an expression: the two are closed by two that stand together.
pub(crate) fn is_arithmetic(text: &str) -> bool {
    let mut open = 2;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' if open == 2 => return text[at + 1..].starts_with(')'),
            b')' => open -= 1,
            _ => {}
        }
    }
    true
}

fn escape(word: &str, next: usize, mode: Mode, fields: &mut Fields) -> usize {
    let Some(c) = word[next..].chars().next() else {
        fields.push('\\');
        return next;
    };
    if c == '\n' {
        return next + 1;
    }
    if mode == Mode::Quoted && !"$`\"\\".contains(c) {
        fields.push('\\');
    }
    fields.push(c);
    next + c.len_utf8()
}

/// The text between backquotes, where a backslash protects fewer signs.
fn backquoted(text: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(&after) if c == '\\' && ("$`\\".contains(after) || quoted && after == '"') => {
                out.push(after);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// The text of a pattern with its signs as they stand, for the matching of [`fits`].
pub(crate) fn pattern_of(value: &Value) -> String {
    let mut out = String::new();
    for c in value.text.chars() {
        match c {
            STAR | UNKNOWN | value::MANY => out.push('*'),
            QUEST => out.push('?'),
            OPEN => out.push('['),
            '*' | '?' | '[' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
