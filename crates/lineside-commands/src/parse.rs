//! The grammar: which statements a text has, with its words as they stand.
//!
//! A parser knows where a word begins and ends, and nothing of what it means: quotes, expansions and substitutions
//! are read by [`crate::expand`] from the word's own text. So any parser of shells can stand behind [`Parse`].

mod shuck;

pub(crate) use shuck::Shuck;

use crate::Shell;

/// A parser of shell texts.
pub(crate) trait Parse {
    /// The statements of a text. Where it does not parse, those of the lines in front of the error.
    fn parse<'t>(&self, text: &'t str, shell: Shell) -> Parsed<'t>;
}

/// Words that are of the grammar, or whose words may be.
const RESERVED: &[&str] = &[
    "always", "case", "coproc", "declare", "do", "done", "elif", "else", "end", "esac", "export", "fi",
    "float", "for", "foreach", "function", "if", "in", "integer", "let", "local", "nocorrect", "readonly",
    "repeat", "select", "then", "time", "typeset", "until", "while",
];

/// The one statement of a text that is words of plain signs and nothing else, as most are: no parser is needed for it.
pub(crate) fn plain(text: &str) -> Option<Statement<'_>> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:=,+@%".contains(&byte);
    if text.len() > crate::limits::PLAIN || !text.bytes().all(is_plain) {
        return None;
    }
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let first = words.first()?;
    if RESERVED.contains(first) || first.contains('=') {
        return None;
    }
    let command = Command::Simple { assignments: Vec::new(), words };
    Some(Statement { command, redirections: Vec::new(), background: false })
}

/// What a text consists of.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'t> {
    pub(crate) statements: Vec<Statement<'t>>,
    /// Why the rest of the text does not parse.
    pub(crate) error: Option<String>,
}

/// A command with its redirections.
#[derive(Debug)]
pub(crate) struct Statement<'t> {
    pub(crate) command: Command<'t>,
    pub(crate) redirections: Vec<Redirection<'t>>,
    pub(crate) background: bool,
}

/// A list of statements, in order.
pub(crate) type Statements<'t> = Vec<Statement<'t>>;

#[derive(Debug)]
pub(crate) enum Command<'t> {
    /// Assignments and words as they stand.
    Simple { assignments: Vec<Assignment<'t>>, words: Vec<&'t str> },
    /// `a && b`.
    And(Box<Statement<'t>>, Box<Statement<'t>>),
    /// `a || b`.
    Or(Box<Statement<'t>>, Box<Statement<'t>>),
    /// `a | b`; with `|&` the errors go along.
    Pipe(Box<Statement<'t>>, Box<Statement<'t>>),
    /// `{ …; }`, `time …`, and what else runs in the same shell.
    Group(Statements<'t>),
    /// `( … )`.
    Subshell(Statements<'t>),
    /// Conditions with their bodies, and what runs otherwise.
    If { branches: Vec<(Statements<'t>, Statements<'t>)>, otherwise: Option<Statements<'t>> },
    /// `while`, `until`, `for ((…))`, `repeat`: texts in which only substitutions run, a condition and a body.
    Loop { texts: Vec<&'t str>, condition: Statements<'t>, body: Statements<'t> },
    /// `for`; without words, over the positional parameters.
    For { names: Vec<&'t str>, words: Option<Vec<&'t str>>, body: Statements<'t> },
    /// `select`: one of the words, of which it is not known which.
    Select { name: &'t str, words: Vec<&'t str>, body: Statements<'t> },
    /// A word, and patterns with their bodies.
    Case { word: &'t str, arms: Vec<(Vec<&'t str>, Statements<'t>)> },
    /// `[[ … ]]`, `(( … ))`: only substitutions run.
    Text(&'t str),
    /// A function; its body as text.
    Function { names: Vec<&'t str>, body: &'t str },
}

/// `NAME=value`, `NAME+=value`, `NAME[…]=value`, `NAME=(…)`.
#[derive(Debug)]
pub(crate) struct Assignment<'t> {
    pub(crate) name: &'t str,
    /// The index between brackets.
    pub(crate) index: Option<&'t str>,
    pub(crate) append: bool,
    pub(crate) value: Assigned<'t>,
}

#[derive(Debug)]
pub(crate) enum Assigned<'t> {
    Word(&'t str),
    List(Vec<&'t str>),
}

#[derive(Debug)]
pub(crate) struct Redirection<'t> {
    /// The number in front; none for the usual one.
    pub(crate) descriptor: Option<u32>,
    pub(crate) kind: Redirect<'t>,
}

#[derive(Debug)]
pub(crate) enum Redirect<'t> {
    /// `> word`, `>> word`, `>| word`.
    Out(&'t str),
    /// `&> word`, `>& word`.
    Both(&'t str),
    /// `< word`.
    In(&'t str),
    /// `<> word`.
    InOut(&'t str),
    /// `<<< word`.
    Text(&'t str),
    /// A here-document: its body, whether substitutions run in it, and whether tabs in front are taken away.
    Document { body: &'t str, expands: bool, strips: bool },
    /// `>&2`, `<&3`: the target as it stands.
    Duplicate { target: &'t str, input: bool },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_plain_words_is_what_the_parser_says() {
        let reserved = RESERVED.iter().map(|word| format!("{word} a b"));
        let texts = [
            "ls", "git push -f origin a:b", " rm  -rf ./a/@x,y ", "A=1", "A=1 ls", "ls A=1", "declare A=1",
            "exit 1", "",
        ];
        for text in texts.into_iter().map(str::to_owned).chain(reserved) {
            let parsed = Shuck.parse(&text, Shell::Bash);
            if let Some(statement) = plain(&text) {
                assert_eq!(parsed.error, None, "{text}");
                assert_eq!(format!("{:?}", parsed.statements), format!("{:?}", [statement]), "{text}");
            }
        }
        assert!(plain("git push -f").is_some() && plain("if a b").is_none() && plain("a;b").is_none());
    }
}
