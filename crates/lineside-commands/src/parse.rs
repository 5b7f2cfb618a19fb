//! The grammar: which statements a text has, with its words as they stand.
//!
//! A parser knows where a word begins and ends, and nothing of what it means: quotes, expansions and substitutions
//! are read by [`crate::expand`] from the word's own text. So any parser of shells can stand behind [`Parse`].

mod endings;
mod joined;
mod plain;
mod shuck;

pub(crate) use plain::plain;
pub(crate) use shuck::Shuck;

use crate::Shell;

/// A parser of shell texts.
pub(crate) trait Parse {
    /// The statements of a text. Where it does not parse, those of the lines in front of the error.
    fn parse<'t>(&self, text: &'t str, shell: Shell) -> Parsed<'t>;
}

/// What a text consists of.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'t> {
    pub(crate) statements: Vec<Statement<'t>>,
    /// Why the rest of the text does not parse.
    pub(crate) error: Option<String>,
    /// Whether a shell may read the rest all the same: its parser ends nowhere in the midst of it.
    pub(crate) is_unread: bool,
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
    /// `> word`, `>| word`.
    Out(&'t str),
    /// `>> word`.
    Append(&'t str),
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
