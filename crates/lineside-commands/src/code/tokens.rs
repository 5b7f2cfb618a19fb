//! Words, texts and signs of code in other languages.

use super::values::with_holes;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Backquoted(String),
    Sign(char),
}

impl Token {
    /// The text that it is, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn is_text(&self) -> bool {
        self.text().is_some()
    }
}

pub(super) fn tokens(text: &str, language: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut all: Vec<Token> = Vec::new();
    let mut at = 0;
    // How many groups are open.
    let mut depth = 0_usize;
    while at < chars.len() {
        let c = chars[at];
        let hashes = language != "node";
        if let Some(end) = comment(&chars, at, language).or_else(|| expression(&chars, at, language, &all)) {
            if !chars[at..].starts_with(&['/', '*']) || language == "ruby" || language == "perl" {
                all.push(Token::Name(EXPRESSION.to_owned()));
            }
            at = end;
            continue;
        }
        if c == '#' && hashes
            || c == '/' && matches!(language, "node" | "php") && chars.get(at + 1) == Some(&'/')
        {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if c == '"' || c == '\'' && language != "awk" || c == '`' {
            let triple = language == "python" && chars[at..].starts_with(&[c, c, c]);
            let (inner, end) = quoted(&chars, at, c, triple);
            at = end;
            let prefix = match all.last() {
                Some(Token::Name(name)) if language == "python" && name.len() < 3 => {
                    name.to_ascii_lowercase()
                }
                _ => String::new(),
            };
            let is_prefixed = matches!(prefix.as_str(), "f" | "rf" | "fr" | "r" | "b" | "u" | "br" | "rb");
            if is_prefixed {
                all.pop();
            }
            let inner = match (language, c) {
                ("node", '`') => with_holes(&inner, "${"),
                ("ruby", '"' | '`') => with_holes(&inner, "#{"),
                ("python", _) if is_prefixed && prefix.contains('f') => with_holes(&inner, "{"),
                _ => inner,
            };
            all.push(if c == '`' && language != "node" {
                Token::Backquoted(inner)
            } else {
                Token::Text(inner)
            });
            // Texts side by side are one.
            if language == "python" && goes_on(&chars[at..], depth > 0) {
                all.push(Token::Sign('+'));
            }
        } else if c.is_alphabetic()
            || c == '_'
            || c == '.' && chars.get(at + 1).is_some_and(|c| c.is_alphabetic())
        {
            let start = at;
            let within = if language == "elisp" { "-" } else { "_." };
            while at < chars.len() && (chars[at].is_alphanumeric() || within.contains(chars[at])) {
                at += 1;
            }
            let name: String = chars[start..at].iter().collect();
            // `qw (a b)`.
            let is_list = language == "perl" && name == "qw" && chars.get(at) == Some(&' ');
            at += usize::from(is_list && chars.get(at + 1).is_some_and(|c| "([{</".contains(*c)));
            // `do shell script "…"` is one call.
            if language == "osascript"
                && chars[start..].iter().take(15).copied().eq("do shell script".chars())
            {
                at = start + 15;
                all.push(Token::Name("do_shell_script".to_owned()));
            } else if let Some(open) = chars.get(at).filter(|_| match language {
                "perl" => matches!(name.as_str(), "qx" | "q" | "qq" | "qw"),
                "ruby" => name == "x" && all.pop_if(|last| *last == Token::Sign('%')).is_some(),
                _ => false,
            }) {
                let close = match open {
                    '(' => ')',
                    '{' => '}',
                    '[' => ']',
                    '<' => '>',
                    other => *other,
                };
                let end =
                    chars[at + 1..].iter().position(|c| *c == close).map_or(chars.len(), |end| at + 1 + end);
                let inner: String = chars[at + 1..end].iter().collect();
                if name == "qw" {
                    all.extend(inner.split_whitespace().map(|word| Token::Text(word.to_owned())));
                } else {
                    all.push(if name.ends_with('x') { Token::Backquoted(inner) } else { Token::Text(inner) });
                }
                at = (end + 1).min(chars.len());
            } else {
                all.push(Token::Name(name));
            }
        } else {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if !c.is_whitespace() && c != ',' || c == '\n' {
                all.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    all
}

/// What stands for a regular expression.
pub(super) const EXPRESSION: &str = "RegExp";

/// The end of a comment of several lines that begins here.
fn comment(chars: &[char], at: usize, language: &str) -> Option<usize> {
    if !matches!(language, "node" | "php") || !chars[at..].starts_with(&['/', '*']) {
        return None;
    }
    let end = chars[at + 2..].windows(2).position(|two| *two == ['*', '/']);
    Some(end.map_or(chars.len(), |end| at + 2 + end + 2))
}

/// Words behind which a value is expected.
const BEFORE_VALUES: [&str; 13] =
    ["return", "typeof", "case", "split", "when", "if", "unless", "of", "in", "and", "or", "not", "await"];
/// Most signs of a regular expression.
const EXPRESSION_SIGNS: usize = 1024;

/// The end of a regular expression that begins here: a slash where a value is expected, up to the next one of its line.
fn expression(chars: &[char], at: usize, language: &str, before: &[Token]) -> Option<usize> {
    if chars[at] != '/' || !matches!(language, "node" | "ruby" | "perl") || chars.get(at + 1) == Some(&'/') {
        return None;
    }
    let mut front = chars[..at].iter().rev().filter(|sign| !sign.is_whitespace());
    let is_expected = match (front.next(), before.iter().rev().find(|token| **token != Token::Sign('\n'))) {
        (None, _) => true,
        (Some('>'), _) => front.next() == Some(&'='),
        (Some(sign), _) if language == "node" && "(,=:[!&|?{;".contains(*sign) => true,
        (Some(sign), _) if language != "node" && "(,=[&;~".contains(*sign) => true,
        (_, Some(Token::Name(word))) => BEFORE_VALUES.contains(&word.as_str()),
        _ => false,
    };
    if !is_expected {
        return None;
    }
    let mut is_class = false;
    let mut now = at + 1;
    while now < at + EXPRESSION_SIGNS {
        match chars.get(now)? {
            '\n' => return None,
            '\\' => now += 1,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return Some(now + 1),
            _ => {}
        }
        now += 1;
    }
    None
}

/// Whether another text stands behind this one, with nothing between them.
fn goes_on(rest: &[char], is_within: bool) -> bool {
    let is_blank = |sign: &&char| matches!(sign, ' ' | '\t' | '\\') || **sign == '\n' && is_within;
    let behind = &rest[rest.iter().take_while(is_blank).count()..];
    let letters = behind.iter().take(3).take_while(|sign| "fFrRbBuU".contains(**sign)).count();
    letters < 3 && matches!(behind.get(letters), Some('"' | '\''))
}

fn quoted(chars: &[char], at: usize, sign: char, triple: bool) -> (String, usize) {
    let width = if triple { 3 } else { 1 };
    let mut inner = String::new();
    let mut at = at + width;
    while at < chars.len() {
        if chars[at] == '\\' && at + 1 < chars.len() {
            match chars[at + 1] {
                'n' => inner.push('\n'),
                't' => inner.push('\t'),
                c => inner.push(c),
            }
            at += 2;
        } else if chars[at] == sign && (!triple || chars[at..].starts_with(&[sign, sign, sign])) {
            return (inner, at + width);
        } else {
            inner.push(chars[at]);
            at += 1;
        }
    }
    (inner, chars.len())
}
