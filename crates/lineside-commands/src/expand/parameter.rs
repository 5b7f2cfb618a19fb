//! `$name` and `${…}`.

use super::pattern_of;
use crate::Shell;
use crate::scan::closing;
use crate::value::{FRESH, Origin, Value};
use crate::walk::Walk;

/// The parts of `${…}`.
struct Parts<'t> {
    name: &'t str,
    index: Option<&'t str>,
    operator: &'t str,
}

fn parts(body: &str) -> Parts<'_> {
    let first = body.chars().next().unwrap_or('}');
    let length = if first.is_ascii_alphabetic() || first == '_' {
        body.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
    } else if first.is_ascii_digit() {
        body.bytes().take_while(u8::is_ascii_digit).count()
    } else {
        usize::from("@*#?-$!".contains(first))
    };
    let (name, rest) = body.split_at(length);
    let index = rest.strip_prefix('[').and_then(|inner| {
        let end = closing(inner, 0, ']')?;
        Some((&inner[..end], &inner[end + 1..]))
    });
    match index {
        Some((index, operator)) => Parts { name, index: Some(index), operator },
        None => Parts { name, index: None, operator: rest },
    }
}

impl Walk<'_> {
    /// The values of `$name` or of the inside of `${…}`, and whether several are one field.
    pub(crate) fn parameter(&mut self, body: &str, quoted: bool) -> (Vec<Value>, bool) {
        let mut body = body;
        if self.shell == Shell::Zsh {
            if let Some(rest) = body.strip_prefix('=') {
                // `${=X}` splits as bash does.
                self.splits = true;
                let mut all = Vec::new();
                for value in self.parameter(rest, false).0 {
                    all.extend(
                        value.text.split_ascii_whitespace().map(|part| Value::known(part).from(value.origin)),
                    );
                }
                self.splits = false;
                return (all, quoted);
            }
            // `${:-word}` is the word.
            if let Some(word) = body.strip_prefix(":-") {
                return (self.default_word(word, quoted), quoted);
            }
            if body.starts_with('(') {
                self.only_substitutions(body);
                return (vec![Value::unknown()], quoted);
            }
        }
        if body.len() > 1
            && let Some(rest) = body.strip_prefix('#')
        {
            let known =
                self.lookup(&parts(rest)).0.map(|values| values.len() == 1 && values[0].plain().is_some());
            return match (known, rest) {
                (Some(true), _) => {
                    let values = self.lookup(&parts(rest)).0.unwrap_or_default();
                    (vec![Value::known(values[0].text.chars().count().to_string())], false)
                }
                _ => (vec![Value::of_sign(FRESH)], false),
            };
        }
        let indirect = body.len() > 1 && body.starts_with('!');
        if indirect {
            body = &body[1..];
        }
        let mut parts = parts(body);
        let target;
        if indirect {
            let name = self.lookup(&parts).0.and_then(|values| values.first()?.plain().map(str::to_owned));
            if let Some(name) = &name {
                self.index_of(name);
            }
            match name {
                Some(name)
                    if !name.is_empty()
                        && parts.index.is_none()
                        && !parts.operator.starts_with(['*', '@']) =>
                {
                    target = name;
                    parts.name = &target;
                }
                _ => {
                    self.analysis.sets_any = true;
                    return (vec![Value::unknown()], false);
                }
            }
        }
        let (values, joins) = self.lookup(&parts);
        if parts.operator.is_empty() {
            self.locate_value(parts.name, values.as_deref());
            return (values.unwrap_or_else(|| vec![self.unset(parts.name)]), joins && quoted);
        }
        let operator = parts.operator;
        if let (Some(values), Some(bounds)) = (&values, slice_of(&parts)) {
            return (self.slice(parts.name, values, bounds), joins && quoted);
        }
        (self.operate(parts.name, values, operator, quoted), joins && quoted)
    }

    /// `${A[@]:from:count}`, `${@:from:count}`: some of the values.
    fn slice(&mut self, name: &str, values: &[Value], bounds: &str) -> Vec<Value> {
        self.only_substitutions(bounds);
        self.evaluates(bounds);
        let mut numbers = bounds.splitn(2, ':').map(|number| number.trim().parse::<usize>().ok());
        let (from, count) = (numbers.next().flatten(), numbers.next());
        let (Some(from), None | Some(Some(_)), false) = (from, count, values.iter().any(Value::is_many))
        else {
            return vec![Value::many()];
        };
        // `$@` begins with `$0`.
        let is_positional = matches!(name, "@" | "*");
        let skipped = if is_positional { from.saturating_sub(1) } else { from };
        let count = count.flatten().unwrap_or(usize::MAX);
        if is_positional && from == 0 {
            let mut all = vec![Value::unknown()];
            all.extend(values.iter().take(count.saturating_sub(1)).cloned());
            return all;
        }
        values.iter().skip(skipped).take(count).cloned().collect()
    }

    /// A variable that the command does not set has whatever value the environment gives it.
    fn unset(&self, name: &str) -> Value {
        let origin = match name {
            "TMPDIR" => Origin::TEMPORARY,
            name if is_secret_name(name) || self.scope.has_settings => Origin::SECRET,
            _ => Origin::default(),
        };
        Value::unknown().from(origin)
    }

    /// The values of a name and index, none where the command does not know them; and whether `*` joins them.
    fn lookup(&mut self, parts: &Parts<'_>) -> (Option<Vec<Value>>, bool) {
        match parts.name {
            "@" | "*" => {
                return (
                    self.scope.positional.clone().or_else(|| Some(vec![Value::many()])),
                    parts.name == "*",
                );
            }
            "0" => return (self.scope.variables.get("0").cloned(), false),
            "#" => {
                let count = self.scope.positional.as_ref().filter(|all| !all.iter().any(Value::is_many));
                return (count.map(|all| vec![Value::known(all.len().to_string())]), false);
            }
            "?" | "-" | "$" | "!" => return (Some(vec![Value::of_sign(FRESH)]), false),
            "RANDOM" | "SECONDS" | "BASHPID" | "PPID" | "UID" | "EUID" | "LINENO" => {
                return (Some(vec![Value::of_sign(FRESH)]), false);
            }
            "PWD" => return (Some(vec![self.cwd_value()]), false),
            "OLDPWD" if self.scope.before.is_some() => {
                return (self.scope.before.clone().map(|before| vec![Value::known(before)]), false);
            }
            // A text that is given to a shell lies in no file.
            "BASH_SOURCE" if self.way.is_empty() && !self.scope.variables.contains_key("BASH_SOURCE") => {
                return (Some(vec![Value::default()]), false);
            }
            "IFS" if !self.scope.variables.contains_key("IFS") => {
                return (Some(vec![Value::known(" \t\n")]), false);
            }
            _ => {}
        }
        if let Ok(number) = parts.name.parse::<usize>() {
            let Some(all) = &self.scope.positional else { return (None, false) };
            if all.iter().any(Value::is_many) {
                return (None, false);
            }
            return (Some(vec![all.get(number - 1).cloned().unwrap_or_default()]), false);
        }
        let index = parts.index.map(|index| {
            if "@*".contains(index) {
                return index.to_owned();
            }
            self.evaluates(index);
            self.quoted(index).text.into()
        });
        let Some(values) = self.scope.variables.get(parts.name) else {
            return (self.variable(parts.name).map(|value| vec![value]), false);
        };
        if let Some(index) = &index
            && let Some(element) = self.scope.variables.get(&format!("{}[{index}]", parts.name))
        {
            return (Some(element.clone()), false);
        }
        match index.as_deref() {
            None if self.shell == Shell::Zsh => (Some(values.clone()), true),
            None => (Some(values.iter().take(1).cloned().collect()), false),
            Some("@") => (Some(values.clone()), false),
            Some("*") => (Some(values.clone()), true),
            Some(_) if values.iter().any(Value::is_many) => (None, false),
            Some(index) => match index.parse::<i64>() {
                Ok(number) => {
                    let length = i64::try_from(values.len()).unwrap_or(0);
                    let at = usize::try_from(if number < 0 { length + number } else { number });
                    (Some(vec![at.ok().and_then(|at| values.get(at)).cloned().unwrap_or_default()]), false)
                }
                Err(_) => (None, false),
            },
        }
    }

    fn operate(
        &mut self,
        name: &str,
        values: Option<Vec<Value>>,
        operator: &str,
        quoted: bool,
    ) -> Vec<Value> {
        let colon = operator.starts_with(':');
        let tested = operator.strip_prefix(':').unwrap_or(operator);
        if let Some(sign) = tested.chars().next().filter(|c| "-=+?".contains(*c)) {
            return self.default(name, values, sign, &tested[1..], colon, quoted);
        }
        let expands = operator == "@P";
        let Some(values) = values else {
            self.only_substitutions(operator);
            if colon {
                self.evaluates(operator);
            }
            let unset = self.unset(name);
            return vec![if expands { self.expands_again(&unset) } else { unset }];
        };
        if colon {
            return values.into_iter().map(|value| self.part_of(&value, tested)).collect();
        }
        let longest = operator.len() > 1 && operator[1..].starts_with(&operator[..1]);
        let rest = operator.get(if longest { 2 } else { 1 }..).unwrap_or_default();
        match operator.chars().next() {
            Some(sign @ ('#' | '%')) => {
                let pattern = pattern_of(&self.pattern(rest));
                self.trim_all(values, &pattern, sign == '#', longest)
            }
            Some('/') => {
                let end = slash(rest);
                let pattern = pattern_of(&self.pattern(&rest[..end]));
                let by = self.one(rest.get(end + 1..).unwrap_or_default());
                self.replace_all(values, &pattern, &by, longest)
            }
            Some(sign @ ('^' | ',')) => {
                let upper = sign == '^';
                values
                    .into_iter()
                    .map(|value| Value { text: cased(&value.text, upper, longest).into(), ..value })
                    .collect()
            }
            Some('@') if matches!(rest, "U" | "L") => {
                let upper = rest == "U";
                values
                    .into_iter()
                    .map(|value| Value { text: cased(&value.text, upper, true).into(), ..value })
                    .collect()
            }
            Some('@') if expands => values.iter().map(|value| self.expands_again(value)).collect(),
            Some('@') if rest == "E" => {
                let read = |value: Value| Value { text: super::ansi(&value.text).into(), ..value };
                values.into_iter().map(read).collect()
            }
            Some('@') if matches!(rest, "Q" | "A" | "K" | "a" | "k") => vec![Value::unknown()],
            _ => values,
        }
    }

    fn pattern(&mut self, text: &str) -> Value {
        let mut all = self.words(&[text]);
        if all.len() == 1 { all.remove(0) } else { self.one(text) }
    }

    fn default(
        &mut self,
        name: &str,
        values: Option<Vec<Value>>,
        sign: char,
        word: &str,
        colon: bool,
        quoted: bool,
    ) -> Vec<Value> {
        let unknown = values.as_ref().is_none_or(|values| values.iter().any(Value::is_unclear));
        let is_unset = || self.scope.unset.contains(name) || self.inherited(name) == Some(None);
        let unset = values.is_none() && is_unset();
        let empty = values.as_ref().is_some_and(|values| values.iter().all(|value| value.text.is_empty()));
        let takes = unset || empty && colon || values.as_ref().is_some_and(Vec::is_empty);
        let kept = values.unwrap_or_default();
        if !takes && !unknown {
            return if sign == '+' { self.default_word(word, quoted) } else { kept };
        }
        let given = self.default_word(word, quoted);
        // It is what it is, or the shell ends.
        if !takes && sign == '?' && !kept.is_empty() {
            return kept;
        }
        if !takes && sign != '?' && self.takes_default() {
            if sign == '=' {
                self.counted(name, &given);
                self.scope.set(name, given.clone());
            }
            return given;
        }
        if !takes {
            // It may be set or not: what the word runs may run, and the value is either.
            let origin = match sign {
                '+' => Origin::default(),
                _ => self.unset(name).origin,
            };
            let mut origin = origin;
            if sign == '?' && colon {
                origin = origin.with(Origin::EXPECTED);
            }
            if let ('-' | '=', [one]) = (sign, &given[..])
                && one.plain().is_some_and(is_within)
            {
                origin = origin.with(Origin::EXPECTED);
            }
            return vec![given.iter().fold(Value::unknown().from(origin), |all, one| all.from(one.origin))];
        }
        match sign {
            '+' => Vec::new(),
            '=' => {
                self.counted(name, &given);
                self.scope.set(name, given.clone());
                given
            }
            _ => given,
        }
    }

    fn default_word(&mut self, word: &str, quoted: bool) -> Vec<Value> {
        if quoted { vec![self.quoted(word)] } else { self.words(&[word]) }
    }

    /// `${name:from:length}`.
    fn part_of(&mut self, value: &Value, bounds: &str) -> Value {
        self.only_substitutions(bounds);
        self.evaluates(bounds);
        let mut numbers = bounds.splitn(2, ':').map(|number| number.trim().parse::<i64>().ok());
        let (from, length) = (numbers.next().flatten(), numbers.next());
        let (Some(from), Some(text)) = (from, value.plain()) else {
            return Value::unknown().from(value.origin);
        };
        let chars: Vec<char> = text.chars().collect();
        let count = i64::try_from(chars.len()).unwrap_or(0);
        let start = if from < 0 { (count + from).max(0) } else { from.min(count) };
        let end = match length {
            None => count,
            Some(Some(length)) if length >= 0 => (start + length).min(count),
            Some(Some(length)) => (count + length).max(start),
            Some(None) => return Value::unknown().from(value.origin),
        };
        let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        Value { text: chars[range].iter().collect(), ..value.clone() }
    }
}

/// The bounds of a slice of several values.
fn slice_of<'t>(parts: &Parts<'t>) -> Option<&'t str> {
    let several = matches!(parts.name, "@" | "*") || matches!(parts.index, Some("@" | "*"));
    parts.operator.strip_prefix(':').filter(|bounds| several && !bounds.starts_with(['-', '=', '?', '+']))
}

/// Whether a variable of this name holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = [
        "TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY",
        "CREDENTIALS", "SECRET_KEY", "_PAT", "DATABASE_URL", "MONGODB_URI", "REDIS_URL",
    ];
    ends.iter().any(|end| name.ends_with(end)) || name.contains("SECRET_") || name.starts_with("PGPASS")
}

/// Whether a path names something below the folder at hand, or that of temporary files.
fn is_within(path: &str) -> bool {
    (!path.starts_with(['/', '~']) || path.starts_with("/tmp"))
        && !matches!(path, "" | "." | "./")
        && !path.contains("..")
}

fn slash(text: &str) -> usize {
    let mut before = if text.starts_with('/') { '\\' } else { ' ' };
    for (at, c) in text.char_indices() {
        if c == '/' && before != '\\' {
            return at;
        }
        before = c;
    }
    text.len()
}

fn cased(text: &str, upper: bool, all: bool) -> String {
    let mut first = true;
    text.chars()
        .map(|c| {
            if !all && !std::mem::take(&mut first) {
                c
            } else if upper {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}
