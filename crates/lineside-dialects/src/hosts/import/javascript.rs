//! Expressions of JavaScript in the syntax of the engine that searches for them.
//!
//! They are those without flags: an escape that means nothing stands for its character, a bracket within a class and a
//! brace that bounds no repetition are characters, and groups and repetitions of other languages do not compile.

/// The characters that mean something to the engine, within a class or outside.
const SIGNS: &str = r"\.+*?()|[]{}^$#&-~";

/// The openings of groups, but for those with a name or with modifiers.
const OPENINGS: [&str; 5] = ["(?:", "(?=", "(?!", "(?<=", "(?<!"];

/// An expression in the syntax of the engine.
///
/// # Errors
/// It does not compile in JavaScript. What neither of the two compiles is left to the engine.
pub(super) fn translated(source: &str) -> Result<String, String> {
    let written = String::with_capacity(source.len());
    let mut reading = Reading { rest: source, names_groups: names_groups(source), written };
    // Whether what was read last may be repeated.
    let mut repeats = false;
    while let Some(character) = reading.rest.chars().next() {
        repeats = match character {
            '\\' => reading.escape()?,
            '[' => reading.class()?,
            '(' => reading.group()?,
            '*' | '+' | '?' | '{' => reading.repetition(repeats)?,
            ']' | '}' => reading.literally(),
            other => {
                reading.copy(other.len_utf8());
                !matches!(other, '|' | '^' | '$')
            }
        };
    }
    Ok(reading.written)
}

/// An expression that is being read.
struct Reading<'a> {
    rest: &'a str,
    /// Whether a group has a name, so that `\k` refers to one.
    names_groups: bool,
    written: String,
}

impl Reading<'_> {
    /// Takes this many bytes as they are.
    fn copy(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.written.push_str(taken);
        self.rest = rest;
    }

    /// Takes one sign as a character.
    fn literally(&mut self) -> bool {
        self.written.push('\\');
        self.copy(1);
        true
    }

    /// Takes the next character.
    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next()?;
        self.rest = characters.as_str();
        Some(next)
    }

    fn escape(&mut self) -> Result<bool, String> {
        let _backslash = self.next();
        let written = self.escaped(false)?;
        self.written.push_str(&written);
        Ok(!matches!(written.as_str(), r"\b" | r"\B"))
    }

    /// What stands behind a backslash.
    fn escaped(&mut self, in_class: bool) -> Result<String, String> {
        let character = self.next().ok_or("it ends in a backslash")?;
        let written = match character {
            'd' => "[0-9]".to_owned(),
            'D' => "[^0-9]".to_owned(),
            'w' => "[A-Za-z0-9_]".to_owned(),
            'W' => "[^A-Za-z0-9_]".to_owned(),
            's' | 'S' | 'f' | 'n' | 'r' | 't' | 'v' => format!("\\{character}"),
            'b' if in_class => r"\x08".to_owned(),
            'b' => r"\b".to_owned(),
            'B' | '1'..='9' if !in_class => format!("\\{character}"),
            'k' if self.names_groups && !in_class => r"\k".to_owned(),
            'x' => self.code(2).unwrap_or_else(|| "x".to_owned()),
            'u' => self.code(4).unwrap_or_else(|| "u".to_owned()),
            '0' if !self.rest.starts_with(|next: char| next.is_ascii_digit()) => r"\x00".to_owned(),
            sign if SIGNS.contains(sign) => format!("\\{sign}"),
            other => other.to_string(),
        };
        Ok(written)
    }

    /// A character by its code of so many hexadecimal digits.
    fn code(&mut self, digits: usize) -> Option<String> {
        let (code, rest) = self.rest.split_at_checked(digits)?;
        if !code.chars().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        self.rest = rest;
        Some(format!("\\x{{{code}}}"))
    }

    fn class(&mut self) -> Result<bool, String> {
        let _bracket = self.next();
        let is_negated = self.rest.starts_with('^');
        if is_negated {
            let _sign = self.next();
        }
        let mut items = String::new();
        let mut after_dash = false;
        loop {
            let character = self.next().ok_or("a class is not closed")?;
            match character {
                ']' => break,
                '\\' => items.push_str(&self.escaped(true)?),
                '-' if after_dash => items.push_str("\\-"),
                '[' | '&' | '~' | '^' => items.extend(['\\', character]),
                other => items.push(other),
            }
            after_dash = character == '-';
        }
        match (items.is_empty(), is_negated) {
            (true, true) => self.written.push_str("(?s:.)"),
            (true, false) => self.written.push_str("(?!)"),
            (false, true) => self.written.push_str(&format!("[^{items}]")),
            (false, false) => self.written.push_str(&format!("[{items}]")),
        }
        Ok(true)
    }

    fn group(&mut self) -> Result<bool, String> {
        let opening = OPENINGS.into_iter().find(|opening| self.rest.starts_with(opening)).map(str::len);
        let bytes = if self.rest.starts_with("(?") {
            opening.or_else(|| named(self.rest)).or_else(|| modified(self.rest)).ok_or("no such group")?
        } else {
            1
        };
        self.copy(bytes);
        Ok(false)
    }

    fn repetition(&mut self, repeats: bool) -> Result<bool, String> {
        let bytes = if self.rest.starts_with('{') { bounds(self.rest) } else { Some(1) };
        let Some(bytes) = bytes else { return Ok(self.literally()) };
        if !repeats {
            return Err("there is nothing to repeat".to_owned());
        }
        self.copy(bytes);
        if self.rest.starts_with('?') {
            self.copy(1);
        }
        Ok(false)
    }
}

/// Whether a group has a name.
fn names_groups(source: &str) -> bool {
    source.match_indices("(?<").any(|(at, _)| source.get(at..).and_then(named).is_some())
}

/// The bytes of the opening of a group with a name.
fn named(text: &str) -> Option<usize> {
    let name = text.strip_prefix("(?<")?.split_once('>')?.0;
    let is_word = name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '$'));
    let is_name = is_word && !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit());
    is_name.then(|| "(?<>".len() + name.len())
}

/// The bytes of the opening of a group with modifiers.
fn modified(text: &str) -> Option<usize> {
    let modifiers = text.strip_prefix("(?")?.split_once(':')?.0;
    let are_known = modifiers.chars().all(|modifier| matches!(modifier, 'i' | 'm' | 's' | '-'));
    (are_known && modifiers != "-").then(|| "(?:".len() + modifiers.len())
}

/// The bytes of the bounds of a repetition.
fn bounds(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('{')?.split_once('}')?.0;
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let are_digits = |text: &str| text.chars().all(|digit| digit.is_ascii_digit());
    (!least.is_empty() && are_digits(least) && are_digits(most)).then(|| "{}".len() + inner.len())
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn what_means_the_same_stays_and_what_does_not_is_written_out() {
        for (source, written) in [
            ("", ""),
            ("Shell|Write", "Shell|Write"),
            ("^a.b$", "^a.b$"),
            ("a*b+c?d{2}e{2,}f{2,3}g*?h{2}?", "a*b+c?d{2}e{2,}f{2,3}g*?h{2}?"),
            ("(a)(?:b)(?=c)(?!d)(?<=e)(?<!f)", "(a)(?:b)(?=c)(?!d)(?<=e)(?<!f)"),
            ("(?<q$1>a)\\k<q$1>", "(?<q$1>a)\\k<q$1>"),
            ("(?i:a)(?i-s:b)(?-m:c)", "(?i:a)(?i-s:b)(?-m:c)"),
            (r"\d\D\w\W", "[0-9][^0-9][A-Za-z0-9_][^A-Za-z0-9_]"),
            (r"\s\S\f\n\r\t\v\b\B\1(a)", r"\s\S\f\n\r\t\v\b\B\1(a)"),
            (r"\A\Z\k\B\é", r"AZk\Bé"),
            (r"\.\+\^\$\-", r"\.\+\^\$\-"),
            (r"\x41\u0041\x4g\u00\0\01", r"\x{41}\x{0041}x4gu00\x0001"),
            (r"[\b\B\d\1\]]", r"[\x08B[0-9]1\]]"),
            ("[a-z-9][^&~^[]", r"[a-z-9][^\&\~\^\[]"),
            ("[a--b]", r"[a-\-b]"),
            ("[][^]", "(?!)(?s:.)"),
            ("a]b}c{d{,3}e{1x}f{", r"a\]b\}c\{d\{,3\}e\{1x\}f\{"),
        ] {
            assert_eq!(translated(source).as_deref(), Ok(written), "{source}");
        }
    }

    #[test]
    fn what_javascript_does_not_compile_is_refused() {
        for source in [
            "a\\", "[a", "[", "*", "a|+", "(?)", "^*", "$?", r"\b+", "a++", "a{2}{3}", "a???", "(*a)",
            "(?i)a", "(?P<a>b)", "(?>a)", "(?#c)", "(?<1a>b)", "(?<>b)", "(?<a-b>c)", "(?-:a)", "(?x:a)",
            "{1}",
        ] {
            assert!(translated(source).is_err(), "{source}: {:?}", translated(source));
        }
    }
}
