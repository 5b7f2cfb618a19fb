//! Filters: which programs and paths of a command a hook asks for.

use std::sync::Arc;

use regex::Regex;

use crate::analysis::{Access, Analysis, CommandProgram, Touch, Trait, Unknown};
use crate::path;
use crate::state::Surroundings;

/// Asks for something that a command does. A value: it can be compared, kept and combined.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CommandFilter {
    /// One of these fits one program that the command may start.
    Runs(Vec<RunsFilter>),
    /// A path is touched so.
    Touches(Access, Paths),
    /// The command does this.
    Does(Trait),
    /// Something of this kind is not known.
    Unclear(Unknown),
    /// A variable is set to a value that one of these globs of `NAME=value` fits.
    Sets(Vec<String>),
    /// One of them matches.
    Any(Vec<CommandFilter>),
    /// Each of them matches.
    All(Vec<CommandFilter>),
    /// It does not match.
    Not(Box<CommandFilter>),
}

/// What made a filter match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The index of the program.
    pub program: Option<usize>,
    /// The index of the path.
    pub touch: Option<usize>,
}

/// Asks for a program.
#[derive(Clone, Debug, Default)]
pub struct RunsFilter {
    pub(crate) program: Vec<String>,
    pub(crate) subcommand: Vec<Vec<String>>,
    pub(crate) flags: Vec<String>,
    pub(crate) any_flag: Vec<String>,
    pub(crate) no_flag: Vec<String>,
    pub(crate) operand: Vec<String>,
    pub(crate) no_operand: Vec<String>,
    pub(crate) text: Option<Arc<Regex>>,
}

/// Asks for programs of these names; globs are allowed.
pub fn runs<S: Into<String>>(program: impl IntoIterator<Item = S>) -> RunsFilter {
    RunsFilter { program: program.into_iter().map(Into::into).collect(), ..RunsFilter::default() }
}

impl RunsFilter {
    /// With these words behind the program's own options; `**` stands for any number of words.
    pub fn subcommand(mut self, words: &str) -> RunsFilter {
        let split = |word: &str| word.split('|').map(str::to_owned).collect();
        self.subcommand = words.split_ascii_whitespace().map(split).collect();
        self
    }

    /// With all of these options. `-r|-R|--recursive` names one.
    pub fn flags(mut self, flags: &[&str]) -> RunsFilter {
        self.flags = owned(flags);
        self
    }

    /// With one of these options.
    pub fn any_flag(mut self, flags: &[&str]) -> RunsFilter {
        self.any_flag = owned(flags);
        self
    }

    /// With none of these options.
    pub fn no_flag(mut self, flags: &[&str]) -> RunsFilter {
        self.no_flag = owned(flags);
        self
    }

    /// With an operand that one of these globs fits.
    pub fn operand(mut self, globs: &[&str]) -> RunsFilter {
        self.operand = owned(globs);
        self
    }

    /// Without an operand that one of these globs fits.
    pub fn no_operand(mut self, globs: &[&str]) -> RunsFilter {
        self.no_operand = owned(globs);
        self
    }

    /// With code, statements or input in which this is found.
    pub fn text(mut self, pattern: Regex) -> RunsFilter {
        self.text = Some(Arc::new(pattern));
        self
    }

    /// Whether it fits the program.
    pub fn fits(&self, program: &CommandProgram) -> bool {
        let named = |name: &str| self.program.iter().any(|glob| word_fits(glob, name));
        (self.program.is_empty() || program.known_name().is_some_and(named)) && self.fits_words(program)
    }

    /// Whether it fits the words of a program whose name fits.
    pub(crate) fn fits_words(&self, program: &CommandProgram) -> bool {
        let mut operands = &program.operands[..];
        if !self.subcommand.is_empty() {
            let Some(used) = begins(&self.subcommand, program, 0) else { return false };
            operands = &operands[used.saturating_sub(program.subcommand.len()).min(operands.len())..];
        }
        let given = |flag: &String| {
            let mut spellings = flag.split('|');
            spellings.any(|spelling| has(program, spelling))
        };
        let fits = |globs: &[String]| {
            operands.iter().any(|operand| globs.iter().any(|glob| word_fits(glob, operand.pattern())))
        };
        self.flags.iter().all(given)
            && (self.any_flag.is_empty() || self.any_flag.iter().any(given))
            && !self.no_flag.iter().any(given)
            && (self.operand.is_empty() || fits(&self.operand))
            && (self.no_operand.is_empty() || !fits(&self.no_operand))
            && self.text.as_ref().is_none_or(|text| program.texts.iter().any(|given| text.is_match(given)))
    }
}

fn owned(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

/// Whether a program has an option; `--name=value` asks for the value as well.
fn has(program: &CommandProgram, spelling: &str) -> bool {
    let (name, value) = match spelling.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (spelling, None),
    };
    program.flags.iter().any(|flag| {
        flag.spellings.iter().any(|given| given == name)
            && value
                .is_none_or(|glob| flag.value.as_ref().is_some_and(|value| word_fits(glob, value.pattern())))
    })
}

/// Whether the words of the subcommand and the operands from one on begin as asked; where they end.
fn begins(asked: &[Vec<String>], program: &CommandProgram, at: usize) -> Option<usize> {
    let Some((first, rest)) = asked.split_first() else { return Some(at) };
    let sub = program.subcommand.len();
    if first.iter().any(|word| word == "**") {
        return (at..=sub + program.operands.len()).find_map(|at| begins(rest, program, at));
    }
    let word = match program.subcommand.get(at) {
        Some(word) => word,
        None => program.operands.get(at - sub)?.pattern(),
    };
    let fits = first.iter().any(|glob| word_fits(glob, word));
    if fits { begins(rest, program, at + 1) } else { None }
}

/// Whether a glob over words fits one; `*` stands for anything, slashes too.
fn word_fits(glob: &str, word: &str) -> bool {
    glob == word
        || glob.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'[')) && crate::expand::fits(glob, word)
}

/// Asks for paths.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    globs: Vec<String>,
    not: Vec<String>,
    outside: bool,
    roots: Vec<String>,
    whole: bool,
}

impl Paths {
    /// Paths that one of these globs fits. `~` is home, what is relative lies in the project.
    pub fn matching(globs: &[&str]) -> Paths {
        Paths { globs: owned(globs), ..Paths::default() }
    }

    /// Paths outside of the project and of the folders for temporary files.
    pub fn outside() -> Paths {
        Paths { outside: true, ..Paths::default() }
    }

    /// These folders themselves, all of what is in them, and what they lie in.
    pub fn roots(roots: &[&str]) -> Paths {
        Paths { roots: owned(roots), ..Paths::default() }
    }

    /// Not those that one of these globs fits.
    pub fn not(mut self, globs: &[&str]) -> Paths {
        self.not = owned(globs);
        self
    }

    /// Only where all below is meant.
    pub fn whole(mut self) -> Paths {
        self.whole = true;
        self
    }

    fn fit(&self, touch: &Touch, state: &Surroundings<'_>) -> bool {
        if self.whole && !touch.whole {
            return false;
        }
        [Some(&touch.path), touch.target.as_ref()]
            .into_iter()
            .flatten()
            .any(|path| self.fit_path(path, state))
    }

    fn fit_path(&self, path: &str, state: &Surroundings<'_>) -> bool {
        if !path.starts_with('/') {
            // Where it lies is not known.
            return false;
        }
        // Of a pattern, only what all of it is, is not asked for.
        let literal = path.replace(['*', '?', '['], "\u{1}");
        if self.not.iter().any(|glob| glob_fits(glob, &literal, state)) {
            return false;
        }
        if self.outside {
            return is_outside(path, state);
        }
        self.roots.iter().any(|root| covers(path, &absolute(root, state)))
            || self.globs.iter().any(|glob| glob_fits(glob, path, state))
    }
}

fn absolute(glob: &str, state: &Surroundings<'_>) -> String {
    match glob.strip_prefix('~') {
        Some(rest) => format!("{}{rest}", state.home),
        None if glob.starts_with('/') || glob.starts_with("**") => glob.to_owned(),
        None => format!("{}/{glob}", state.project),
    }
}

/// Whether a glob fits a path that may be a pattern itself.
pub(crate) fn glob_fits(glob: &str, path: &str, state: &Surroundings<'_>) -> bool {
    // A search from a folder on, `/proj/**/*.log`, finds what it is asked to by name, and all of a folder asked for.
    if let Some((folder, name)) = path.split_once("/**/") {
        let asked = absolute(glob, state);
        let (asked_folder, asked_name) = asked.rsplit_once('/').unwrap_or(("", &asked));
        return match asked_name {
            "**" => path::meet(folder, &asked),
            _ if asked_folder == "**" || path::is_within(asked_folder, folder) => {
                (asked_name.starts_with('*') || !name.starts_with('*')) && path::names_meet(name, asked_name)
            }
            _ => false,
        };
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let asked = glob.rsplit('/').next().unwrap_or_default();
    // `logs/*` can mean any file; asked for are those that it is meant for.
    if name.starts_with('*')
        && (!asked.starts_with('*') || name.trim_matches('*').is_empty() && asked != "**")
    {
        return false;
    }
    if name.starts_with('*') && !name.contains("**") && asked.starts_with("**") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        return path::meet(folder, &absolute(glob, state));
    }
    path::meet(path, &absolute(glob, state))
}

/// Whether what is taken at this path is the folder, all in it, or what it lies in.
fn covers(path: &str, root: &str) -> bool {
    if path == "/" || path::is_within(root, path) {
        return true;
    }
    if let Some((folder, last)) = path.rsplit_once('/')
        && matches!(last, "*" | "**" | ".*" | "?*" | ".[!.]*" | ".??*")
    {
        let folder = if folder.is_empty() { "/" } else { folder };
        return folder == root || path::is_within(root, folder);
    }
    // A pattern that may be one of the folders on the way.
    if path.contains(['*', '?', '[']) && !path.contains("**") {
        let mut at = root;
        while let Some((folder, _)) = at.rsplit_once('/') {
            if !at.is_empty() && path::meet(path, at) {
                return true;
            }
            at = folder;
        }
    }
    false
}

fn is_outside(path: &str, state: &Surroundings<'_>) -> bool {
    let inside = path::is_within(path, state.project)
        || state.temporary.iter().any(|folder| path::is_within(path, folder))
        || matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/zero")
        || path.starts_with("/dev/fd/");
    !inside
}

impl CommandFilter {
    /// What made the filter match, if it does.
    pub fn matches(&self, analysis: &Analysis, state: &Surroundings<'_>) -> Option<Match> {
        match self {
            CommandFilter::Runs(all) => {
                let fits = |program: &CommandProgram| all.iter().any(|runs| runs.fits(program));
                let program = analysis.programs.iter().position(fits)?;
                Some(Match { program: Some(program), touch: None })
            }
            CommandFilter::Touches(access, paths) => {
                let fits = |touch: &Touch| touch.access == *access && paths.fit(touch, state);
                let at = analysis.touches.iter().position(fits)?;
                Some(Match { program: analysis.touches[at].program, touch: Some(at) })
            }
            CommandFilter::Does(one) => analysis.traits.contains(one).then(Match::default),
            CommandFilter::Unclear(what) => analysis.is_unclear(*what).then(Match::default),
            CommandFilter::Sets(globs) => {
                let mut set = analysis.environment.iter();
                set.any(|entry| globs.iter().any(|glob| word_fits(glob, entry))).then(Match::default)
            }
            CommandFilter::Any(all) => all.iter().find_map(|filter| filter.matches(analysis, state)),
            CommandFilter::All(all) => {
                let mut last = None;
                for filter in all {
                    last = Some(filter.matches(analysis, state)?);
                }
                last
            }
            CommandFilter::Not(filter) => filter.matches(analysis, state).is_none().then(Match::default),
        }
    }
}
