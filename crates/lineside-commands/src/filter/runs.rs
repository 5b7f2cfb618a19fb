//! Filters over the programs of a command.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use regex::Regex;

use super::{Match, WhenUnclear, owned, unclear_program, word_fits};
use crate::analysis::{Analysis, Argument, CommandProgram};

/// Asks for a program.
#[derive(Clone, Debug, Default)]
pub struct RunsFilter {
    program: Vec<String>,
    subcommand: Vec<Vec<String>>,
    flags: Vec<String>,
    any_flag: Vec<String>,
    no_flag: Vec<String>,
    operand: Vec<String>,
    no_operand: Vec<String>,
    text: Option<Arc<Regex>>,
    elsewhere: bool,
    unclear: WhenUnclear,
}

/// Asks for programs of these names; globs are allowed.
pub fn runs<S: Into<String>>(program: impl IntoIterator<Item = S>) -> RunsFilter {
    RunsFilter { program: program.into_iter().map(Into::into).collect(), ..RunsFilter::default() }
}

/// Whether something fits, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    No,
    Maybe,
    Yes,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Fit {
        if fits { Fit::Yes } else { Fit::No }
    }
}

impl RunsFilter {
    /// With these words behind the program's own options; `**` stands for any number of words, `|` between words for one
    /// of them.
    #[must_use]
    pub fn subcommand(mut self, words: &str) -> RunsFilter {
        let split = |word: &str| word.split('|').map(str::to_owned).collect();
        self.subcommand = words.split_ascii_whitespace().map(split).collect();
        self
    }

    /// With all of these options. `-r|-R|--recursive` names one.
    #[must_use]
    pub fn flags(mut self, flags: &[&str]) -> RunsFilter {
        self.flags = owned(flags);
        self
    }

    /// With one of these options.
    #[must_use]
    pub fn any_flag(mut self, flags: &[&str]) -> RunsFilter {
        self.any_flag = owned(flags);
        self
    }

    /// With none of these options.
    #[must_use]
    pub fn no_flag(mut self, flags: &[&str]) -> RunsFilter {
        self.no_flag = owned(flags);
        self
    }

    /// With an operand that one of these globs fits.
    #[must_use]
    pub fn operand(mut self, globs: &[&str]) -> RunsFilter {
        self.operand = owned(globs);
        self
    }

    /// Without an operand that one of these globs fits.
    #[must_use]
    pub fn no_operand(mut self, globs: &[&str]) -> RunsFilter {
        self.no_operand = owned(globs);
        self
    }

    /// With code, statements or input in which this is found.
    #[must_use]
    pub fn text(mut self, pattern: Regex) -> RunsFilter {
        self.text = Some(Arc::new(pattern));
        self
    }

    /// Also where the program runs on another machine or in a container.
    #[must_use]
    pub fn elsewhere(mut self) -> RunsFilter {
        self.elsewhere = true;
        self
    }

    /// What it answers where it is not known.
    #[must_use]
    pub fn when_unclear(mut self, unclear: WhenUnclear) -> RunsFilter {
        self.unclear = unclear;
        self
    }

    /// Whether it certainly fits the program.
    pub fn fits(&self, program: &CommandProgram) -> bool {
        let named = |name: &str| self.program.iter().any(|glob| word_fits(glob, name));
        (self.program.is_empty() || program.known_name().is_some_and(named))
            && self.fits_words(program) == Fit::Yes
    }

    /// Whether it fits the words of a program whose name fits.
    fn fits_words(&self, program: &CommandProgram) -> Fit {
        let mut operands = &program.operands[..];
        let unknown = |word: &Argument| !matches!(word, Argument::Text(_) | Argument::Glob(_));
        let doubt = if operands.iter().any(unknown) { Fit::Maybe } else { Fit::No };
        let mut fit = Fit::Yes;
        if !self.subcommand.is_empty() {
            match begins(&self.subcommand, program, 0) {
                Some(used) => {
                    let used = used.saturating_sub(program.subcommand.len());
                    operands = &operands[used.min(operands.len())..];
                }
                None if program.operands.first().is_some_and(unknown) && program.subcommand.is_empty() => {
                    fit = Fit::Maybe;
                }
                None => return Fit::No,
            }
        }
        let given = |flag: &String| flag.split('|').any(|spelling| has(program, spelling));
        let fits = |globs: &[String]| {
            operands.iter().any(|operand| globs.iter().any(|glob| word_fits(glob, operand.pattern())))
        };
        // An option that was given stands, whatever else is not known.
        if self.no_flag.iter().any(given) || !self.no_operand.is_empty() && fits(&self.no_operand) {
            return Fit::No;
        }
        let needed = [
            self.flags.iter().all(given),
            self.any_flag.is_empty() || self.any_flag.iter().any(given),
            self.operand.is_empty() || fits(&self.operand),
        ];
        for part in needed {
            fit = fit.min(if part { Fit::Yes } else { doubt });
        }
        let found = |text: &Arc<Regex>| program.texts.iter().any(|given| text.is_match(given));
        fit.min(self.text.as_ref().is_none_or(found).into())
    }
}

/// Filters of which one has to fit one program.
#[derive(Clone, Debug, Default)]
pub struct AnyOfRuns {
    rows: Vec<RunsFilter>,
    /// The rows that ask for a program of exactly this name.
    by_name: HashMap<String, Vec<usize>, FixedState>,
    /// Those that ask by globs, or for any.
    by_glob: Vec<usize>,
    except: Vec<RunsFilter>,
    /// Whether one of the rows matches where it is not known.
    may_match: bool,
}

impl From<Vec<RunsFilter>> for AnyOfRuns {
    fn from(rows: Vec<RunsFilter>) -> AnyOfRuns {
        let may_match = rows.iter().any(|row| row.unclear == WhenUnclear::Match);
        let mut all = AnyOfRuns { rows, may_match, ..AnyOfRuns::default() };
        for (index, row) in all.rows.iter().enumerate() {
            let is_glob = |name: &String| name.contains(['*', '?', '[']);
            if row.program.is_empty() || row.program.iter().any(is_glob) {
                all.by_glob.push(index);
                continue;
            }
            for name in &row.program {
                all.by_name.entry(name.clone()).or_default().push(index);
            }
        }
        all
    }
}

impl AnyOfRuns {
    /// What it may match for, by the names of programs; none where it asks by globs.
    pub(crate) fn except(mut self, programs: &[RunsFilter]) -> AnyOfRuns {
        self.except.extend_from_slice(programs);
        self
    }

    pub(super) fn matches(&self, analysis: &Analysis) -> Option<Match> {
        let mut doubt = None;
        for (index, program) in analysis.programs.iter().enumerate() {
            match self.fits(program, |_| true) {
                (Fit::Yes, _) => return Some(Match::of_program(index)),
                (Fit::Maybe, true) if doubt.is_none() => {
                    let name = program.name.pattern();
                    let why = format!("cannot tell what `{name}` is given");
                    doubt = Some(Match { unclear: Some(why), ..Match::of_program(index) });
                }
                _ => {}
            }
        }
        let elsewhere = |program| self.fits(program, |row| row.elsewhere).0 == Fit::Yes;
        if analysis.elsewhere.iter().any(elsewhere) {
            return Some(Match::default());
        }
        doubt.or_else(|| unclear_program(analysis).filter(|_| self.may_match))
    }

    /// How far one of the rows fits a program, and whether a row that may fit it counts as one that does.
    fn fits(&self, program: &CommandProgram, asks: impl Fn(&RunsFilter) -> bool) -> (Fit, bool) {
        let Some(name) = program.known_name() else { return (Fit::No, false) };
        let by_name = self.by_name.get(name).map_or(&[][..], Vec::as_slice).iter();
        let globs =
            |row: &RunsFilter| row.program.is_empty() || row.program.iter().any(|glob| word_fits(glob, name));
        let by_glob = self.by_glob.iter().filter(|index| globs(&self.rows[**index]));
        let mut best = (Fit::No, false);
        for row in by_name.chain(by_glob).map(|index| &self.rows[*index]).filter(|row| asks(row)) {
            match row.fits_words(program) {
                Fit::Yes if self.except.iter().any(|except| except.fits(program)) => return (Fit::No, false),
                Fit::Yes => return (Fit::Yes, true),
                Fit::Maybe => best = (Fit::Maybe, best.1 || row.unclear == WhenUnclear::Match),
                Fit::No => {}
            }
        }
        best
    }
}

/// Whether a program has an option; `--name=value` asks for the value as well, and `-rf` for `-r` and `-f` where no option
/// is called so.
fn has(program: &CommandProgram, spelling: &str) -> bool {
    let (name, value) = match spelling.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (spelling, None),
    };
    let is_given = |fits: &dyn Fn(&str) -> bool| {
        program.flags.iter().any(|flag| {
            flag.spellings.iter().any(|given| fits(given))
                && value.is_none_or(|glob| {
                    flag.value.as_ref().is_some_and(|value| word_fits(glob, value.pattern()))
                })
        })
    };
    let is_letter = |letter: u8| is_given(&|given| given.as_bytes() == [b'-', letter]);
    let letters = name.strip_prefix('-').filter(|letters| letters.len() > 1 && value.is_none());
    is_given(&|given| given == name)
        || letters.is_some_and(|all| all.bytes().all(|one| one.is_ascii_alphabetic() && is_letter(one)))
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
