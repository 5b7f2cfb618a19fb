//! What an analysis says of a command.

use std::borrow::Cow;
use std::fmt;

use crate::state::{FileId, Links};

/// One word that a program is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// Exactly this text.
    Text(String),
    /// An unquoted pattern, as it stands; the files that it finds are not looked for.
    Glob(String),
    /// A text of which only this is known; `*` stands for the rest.
    Like(String),
    /// One word of unknown value.
    Any,
    /// Any number of unknown words.
    Many,
}

impl Argument {
    /// The text, where it is known to the last character.
    pub fn text(&self) -> Option<&str> {
        match self {
            Argument::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text with `*` for what is not known.
    pub fn pattern(&self) -> &str {
        match self {
            Argument::Text(text) | Argument::Glob(text) | Argument::Like(text) => text,
            Argument::Any | Argument::Many => "*",
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Any => f.write_str("<unknown>"),
            Argument::Many => f.write_str("<unknown>…"),
            other => f.write_str(other.pattern()),
        }
    }
}

/// The spellings of an option.
pub type Spellings = Cow<'static, [Cow<'static, str>]>;

/// An option that a program is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its spellings, of which the command may have used any, or an unambiguous beginning of one.
    pub spellings: Spellings,
    /// Its value, where it has one.
    pub value: Option<Argument>,
}

/// A program that the command may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandProgram {
    /// The base name; not [`Argument::Text`] where it is not known.
    pub name: Argument,
    /// Its words as written, after all expansions.
    pub args: Vec<Argument>,
    /// The programs that lead to it, outermost first, as `sudo`, `bash -c`.
    pub way: Vec<String>,
    /// The words of its subcommand, as `compose`, `down`.
    pub subcommand: Vec<String>,
    /// Its options, those of the program and of the subcommand alike.
    pub flags: Vec<Flag>,
    /// Its operands, without the words of the subcommand.
    pub operands: Vec<Argument>,
    /// Code, statements and input that it is given, as far as known.
    pub texts: Vec<String>,
    /// Variables that are set for it alone, as `NAME=value`.
    pub environment: Vec<String>,
}

/// What a command does beyond its programs and paths, as far as a filter asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trait {
    /// A secret goes to another machine.
    SendsSecret,
    /// What was fetched from another machine is run.
    RunsFetched,
    /// Text that was decoded is run.
    RunsDecoded,
    /// The environment is printed.
    ShowsEnvironment,
    /// Data of a database is lost: `DROP`, `DELETE` without a condition and the like.
    DestroysData,
    /// Whole directories of names that are not known are deleted.
    DeletesUnclear,
    /// Files of the work tree are overwritten by those of a commit.
    OverwritesFiles,
    /// A function starts itself without an end.
    RunsAway,
}

impl Trait {
    /// What the command does, as `destroys data of a database`.
    pub fn active(self) -> &'static str {
        match self {
            Trait::SendsSecret => "sends a secret to another machine",
            Trait::RunsFetched => "runs what it fetched from another machine",
            Trait::RunsDecoded => "runs text that was decoded",
            Trait::ShowsEnvironment => "prints the environment",
            Trait::DestroysData => "destroys data of a database",
            Trait::DeletesUnclear => "deletes folders of names that are not known",
            Trait::OverwritesFiles => "overwrites files with those of a commit",
            Trait::RunsAway => "starts itself without an end",
        }
    }
}

impl CommandProgram {
    /// The name, where it is known.
    pub fn known_name(&self) -> Option<&str> {
        self.name.text()
    }
}

/// How a path is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Its content can be shown or copied.
    Read,
    /// It is created, changed or emptied, or its rights are.
    Write,
    /// Its name is gone afterwards.
    Delete,
}

impl Access {
    /// What is done to the path, as `is deleted`.
    pub fn passive(self) -> &'static str {
        match self {
            Access::Read => "is read",
            Access::Write => "is written",
            Access::Delete => "is deleted",
        }
    }
}

/// A path that is read, written or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// How.
    pub access: Access,
    /// The absolute path without dots; `*`, `?` and `[…]` as in globs, `**` for any depth.
    pub path: String,
    /// Where links lead, if that is another path.
    pub target: Option<String>,
    /// Whether all below it is meant.
    pub whole: bool,
    /// Whether parts of it are not known.
    pub unclear: bool,
    /// The index of the program, if it is not a redirection of the shell's own.
    pub program: Option<usize>,
}

/// What is not known of a command, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unclear {
    /// Of what.
    pub what: Unknown,
    /// The reason, as a sentence for people.
    pub reason: String,
}

/// The reason where a file is read by a shell as a part of the command.
pub(crate) const SOURCED: &str = "what a sourced file holds";

impl Unclear {
    /// Whether it is what a file holds that the shell reads: the file is among [`Analysis::scripts`], or those that are not
    /// known.
    pub fn is_of_sourced(&self) -> bool {
        self.reason.starts_with(SOURCED)
    }
}

/// What is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unknown {
    /// A program, or a text that is run.
    Program,
    /// Paths that a listed program touches.
    Paths,
}

/// What a command may start and touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every program that may be started.
    pub programs: Vec<CommandProgram>,
    /// Programs that run on another machine or in a container, where paths and accounts are others.
    pub elsewhere: Vec<CommandProgram>,
    /// Every path that may be touched.
    pub touches: Vec<Touch>,
    /// Paths that a program is given of which it is not known what it does with them: they count where a filter asks for the
    /// very file, and not for folders or for all that lies outside.
    pub mentions: Vec<Touch>,
    /// Files of which the content is run, as absolute paths: programs that are named by a path, and scripts that shells and
    /// interpreters are given.
    pub scripts: Vec<String>,
    /// The same where the path is not known as a whole: globs, in which `*` stands for what is not known.
    pub unclear_scripts: Vec<String>,
    /// What is not known.
    pub unclear: Vec<Unclear>,
    /// Whether variables may be set of which the names are not known: by a file of the project that a shell reads, by words of
    /// builtins that are not known, in any text for zsh.
    pub sets_any: bool,
    /// Whether a bound was passed, so that some of the command was not read at all.
    pub is_cut: bool,
    /// The paths that are written, without links, whose files have other names as well.
    pub linked: Vec<(String, FileId)>,
    /// What else it does.
    pub traits: Vec<Trait>,
    /// Variables that the command sets, as `NAME=value`, for itself or for one program.
    pub environment: Vec<String>,
}

impl Analysis {
    /// The paths of one access, in the order of their mention.
    pub fn paths(&self, access: Access) -> impl Iterator<Item = &Touch> {
        self.touches.iter().filter(move |touch| touch.access == access)
    }

    /// Whether something of this kind is not known.
    pub fn is_unclear(&self, what: Unknown) -> bool {
        self.unclear.iter().any(|unclear| unclear.what == what)
    }

    /// Notes which file is written at a path, where that has other names.
    pub(crate) fn identify(&mut self, touch: &Touch, links: Option<&dyn Links>) {
        let path = touch.target.as_ref().unwrap_or(&touch.path);
        if touch.access != Access::Write || touch.unclear {
            return;
        }
        if let Some(file) = links.and_then(|links| links.file(path)) {
            self.linked.push((path.clone(), file));
        }
    }

    pub(crate) fn does(&mut self, one: Trait) {
        if !self.traits.contains(&one) {
            self.traits.push(one);
        }
    }

    pub(crate) fn cannot_tell(&mut self, what: Unknown, reason: impl Into<String>) {
        let unclear = Unclear { what, reason: reason.into() };
        if !self.unclear.contains(&unclear) && self.unclear.len() < 64 {
            self.unclear.push(unclear);
        }
    }
}
