//! Words, texts and signs of code in other languages.

use super::values::with_holes;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Backquoted(String),
    Sign(char),
}

pub(super) fn tokens(text: &str, language: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let hashes = language != "node";
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
            let formatted =
                matches!(all.last(), Some(Token::Name(name)) if matches!(name.as_str(), "f" | "rf" | "fr"));
            let inner = match (language, c) {
                ("node", '`') => with_holes(&inner, "${"),
                ("ruby", '"' | '`') => with_holes(&inner, "#{"),
                ("python", _) if formatted => {
                    all.pop();
                    with_holes(&inner, "{")
                }
                _ => inner,
            };
            all.push(if c == '`' && language != "node" {
                Token::Backquoted(inner)
            } else {
                Token::Text(inner)
            });
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
            if !c.is_whitespace() && c != ',' || c == '\n' {
                all.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    all
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
