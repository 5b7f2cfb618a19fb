//! Texts that need no parser, as most: words, plain quotes, pipes and lists. What is said of them is what the parser says.

use super::{Command, Redirect, Redirection, Statement, Statements};
use crate::limits;
use crate::scan::{closing, is_plain};

/// Words that are of the grammar, or whose words may be.
const RESERVED: &[&str] = &[
    "always", "case", "coproc", "declare", "do", "done", "elif", "else", "end", "esac", "export", "fi",
    "float", "for", "foreach", "function", "if", "in", "integer", "let", "local", "nocorrect", "readonly",
    "repeat", "select", "then", "time", "typeset", "until", "while",
];

/// The statements of a text of which nothing but blanks, quotes, `|`, `&&`, `||`, `;` and the usual redirections has a
/// meaning; `None` for any other.
pub(crate) fn plain(text: &str) -> Option<Statements<'_>> {
    if text.len() > limits::PLAIN {
        return None;
    }
    let mut reader = Reader { text, at: 0 };
    let mut all = Vec::with_capacity(1);
    loop {
        all.push(reader.list()?);
        if !reader.takes(";") || reader.peek().is_none() {
            break;
        }
    }
    (reader.at == text.len()).then_some(all)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The next sign that is no blank.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len());
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes an operator that is all of its signs.
    fn takes(&mut self, operator: &str) -> bool {
        let rest = &self.text[self.at..];
        let is_it = rest.strip_prefix(operator).is_some_and(|rest| !rest.starts_with(['&', '|', ';', '\n']));
        self.at += if is_it { operator.len() } else { 0 };
        is_it
    }

    fn list(&mut self) -> Option<Statement<'t>> {
        let mut left = self.pipe()?;
        loop {
            let join = if self.takes("&&") {
                Command::And
            } else if self.takes("||") {
                Command::Or
            } else {
                return Some(left);
            };
            left = of(join(Box::new(left), Box::new(self.pipe()?)));
        }
    }

    fn pipe(&mut self) -> Option<Statement<'t>> {
        let mut left = self.simple()?;
        while self.takes("|") {
            left = of(Command::Pipe(Box::new(left), Box::new(self.simple()?)));
        }
        Some(left)
    }

    fn simple(&mut self) -> Option<Statement<'t>> {
        let (mut words, mut redirections) = (Vec::new(), Vec::new());
        while let Some(sign) = self.peek().filter(|sign| !b"&|;".contains(sign)) {
            match sign {
                b'<' | b'>' => redirections.push(self.redirection(None)?),
                _ => {
                    let word = self.word()?;
                    if !self.text[self.at..].starts_with(['<', '>']) {
                        words.push(word);
                    } else if let [digit @ b'0'..=b'9'] = word.as_bytes() {
                        redirections.push(self.redirection(Some(u32::from(digit - b'0')))?);
                    } else {
                        return None;
                    }
                }
            }
        }
        let first: &&str = words.first()?;
        if RESERVED.contains(first) || first.contains('=') {
            return None;
        }
        let command = Command::Simple { assignments: Vec::new(), words };
        Some(Statement { redirections, ..of(command) })
    }

    /// `>`, `>>`, `<` and `>&1`.
    fn redirection(&mut self, descriptor: Option<u32>) -> Option<Redirection<'t>> {
        let rest = &self.text[self.at..];
        let signs = [">&1", ">&2", ">>", ">", "<"].into_iter().find(|signs| rest.starts_with(signs))?;
        self.at += signs.len();
        if signs.starts_with(">&") {
            let target = &rest[signs.len() - 1..signs.len()];
            let ends = self.text.as_bytes().get(self.at).is_none_or(|next| b" ;|".contains(next));
            let kind = Redirect::Duplicate { target, input: false };
            return ends.then_some(Redirection { descriptor: descriptor.or(Some(1)), kind });
        }
        self.peek()?;
        let target = self.word()?;
        if self.text[self.at..].starts_with(['<', '>']) {
            return None;
        }
        let kind = match signs {
            "<" => Redirect::In(target),
            ">>" => Redirect::Append(target),
            _ => Redirect::Out(target),
        };
        Some(Redirection { descriptor, kind })
    }

    /// A word as it stands: of signs that mean nothing, quotes and expansions.
    fn word(&mut self) -> Option<&'t str> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        while let Some(byte) = bytes.get(self.at) {
            self.at += match byte {
                byte if is_plain(*byte) || matches!(byte, b'*' | b'?') => 1,
                b'\'' => 2 + self.text[self.at + 1..].find('\'')?,
                b'"' => self.quoted()?,
                b'$' => self.expansion()?,
                // The name that `find` and `xargs` put in.
                b'{' if self.at == start
                    && matches!(bytes[start..], [b'{', b'}'] | [b'{', b'}', b' ', ..]) =>
                {
                    2
                }
                b'\\' if bytes.get(self.at + 1).is_some_and(|next| b";()!*$".contains(next)) => 2,
                _ => break,
            };
        }
        let ends = bytes.get(self.at).is_none_or(|next| b" ;|&<>".contains(next));
        (ends && self.at > start).then(|| &self.text[start..self.at])
    }

    /// How long the text between double quotes is, with them.
    fn quoted(&self) -> Option<usize> {
        let mut inner = Reader { text: self.text, at: self.at + 1 };
        loop {
            let rest = &self.text[inner.at..];
            inner.at += rest.find(['"', '$', '\\', '`'])?;
            inner.at += match self.text.as_bytes()[inner.at] {
                b'"' => return Some(inner.at + 1 - self.at),
                b'$' => inner.expansion()?,
                b'\\' if self.text[inner.at + 1..].starts_with(['"', '$', '\\', 'n']) => 2,
                _ => return None,
            };
        }
    }

    /// How long an expansion of a variable or of a plain text is.
    fn expansion(&self) -> Option<usize> {
        let rest = &self.text[self.at + 1..];
        match rest.bytes().next()? {
            b'(' => {
                let inner = &rest[1..closing(rest, 1, ')')?];
                plain(inner).map(|_| inner.len() + 3)
            }
            next => (next.is_ascii_alphabetic() || next == b'_').then_some(2),
        }
    }
}

fn of(command: Command<'_>) -> Statement<'_> {
    Statement { command, redirections: Vec::new(), background: false }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Shell;
    use crate::parse::{Parse as _, Shuck};

    /// What makes texts: each two of them side by side, and each behind a text.
    const PARTS: &[&str] = &[
        "ls", "a=b", "-x=1", "1", "2", "12", " ", "  ", ";", "&", "&&", "|", "||", ">", ">>", "<", "2>&1",
        ">&2", "&>", "2>/dev/null", "'a b'", "\"a b\"", "\"$x y\"", "$x", "${x}", "$(x)", "`x`", "\\", "\n",
        "#", "*", "?", "[", "]", "{}", "{", "}", "(", ")", "!", "~", "''", "\"\"", "%", "é", "<<", "<(",
        ">(", "if", "do", "done", "time", "export", "coproc", "exit", "[[", "$", "\"$\"", "\"a\\b\"", "'\n'",
        ">|", "<>", "|&", ";;", "\t", "^", "$1", "$$",
    ];

    fn check(text: &str) -> bool {
        let Some(statements) = plain(text) else { return false };
        for shell in [Shell::Bash, Shell::Sh, Shell::Zsh] {
            let parsed = Shuck.parse(text, shell);
            assert_eq!(parsed.error, None, "{text:?}");
            assert_eq!(format!("{:?}", parsed.statements), format!("{statements:?}"), "{text:?}");
        }
        true
    }

    #[test]
    fn a_plain_text_is_what_the_parser_says() {
        let texts = [
            "ls",
            "git push -f origin a:b",
            " rm  -rf ./a/@x,y ",
            "ls A=1",
            "exit 1",
            "a | b && c || d | e; f ;",
            "cargo test -p core 2>&1 | tail -n 40",
            "rg -n 'fn main' \"$X\"/y > out 2>>err < in",
        ];
        assert!(texts.iter().all(|text| check(text)));
        let words = RESERVED.iter().map(|word| format!("{word} a b"));
        let others = [
            "A=1", "A=1 ls", "declare A=1", "", ";", "a &", "a;;b", "a &&& b", "a 2>&3", "a 2>&1x", "a\nb",
            "a $(if)",
        ];
        assert!(others.into_iter().map(str::to_owned).chain(words).all(|text| plain(&text).is_none()));
        let mut plain = 0;
        for (one, other) in PARTS.iter().flat_map(|one| PARTS.iter().map(move |other| (one, other))) {
            for third in &PARTS[..24] {
                for text in [format!("ls {one}{other}{third}"), format!("{one}{other} {third} x")] {
                    plain += usize::from(check(&text));
                }
            }
        }
        assert!(plain > 5_000, "{plain}");
    }

    #[test]
    fn each_plain_text_of_the_corpora_is_what_the_parser_says() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/commands");
        let (mut plain, mut all) = (0, 0);
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
            for row in rows["cases"].as_array().unwrap() {
                plain += usize::from(check(row["command"].as_str().unwrap()));
                all += 1;
            }
        }
        assert!(plain > all / 4, "{plain} of {all}");
    }
}
