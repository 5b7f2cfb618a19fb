//! The way through a command, in the order in which a shell would take it, and into every branch.
//!
//! Statements set variables and folders, print into the [`Walk::out`] at hand and start programs; what a program
//! means is said by [`crate::tables`] and done in [`run`].

mod assign;
mod behind;
mod builtins;
mod choice;
mod data;
mod editors;
mod either;
mod evaluated;
mod folders;
mod git;
mod globbed;
mod hosts;
mod inside;
mod into;
mod lines;
mod lists;
mod located;
mod modules;
mod printed;
mod redirect;
mod run;
mod scope;
mod simple;
mod sought;
mod spread;
mod stages;
mod texts;
mod told;
mod sed;
mod touch;
mod wrap;
mod written;

use std::collections::HashMap;

pub(crate) use scope::{Case, Choice, Out, Scope};

use crate::analysis::{Analysis, Unknown};
use crate::parse::{Parse, Shuck, plain};
use crate::places::{Place, Places, Trail};
use crate::state::{Shell, Surroundings};
use crate::value::{FRESH, Origin, UNKNOWN, Value, has_marks};
use crate::{limits, path};

/// Tells what a text does when the shell runs it.
///
/// Nothing fails: what is not understood, and what passes a bound, is in [`Analysis::unclear`] with its reason.
pub fn analyse(text: &str, shell: Shell, state: &Surroundings<'_>) -> Analysis {
    walk(text, shell, state, None).analysis
}

/// The same, with the place in the text of all that is listed.
pub fn explain(text: &str, shell: Shell, state: &Surroundings<'_>) -> (Analysis, Places) {
    let walk = walk(text, shell, state, Some(Box::new(Trail::new(text))));
    (walk.analysis, walk.trail.map(|trail| trail.found).unwrap_or_default())
}

/// Whether the grammar of the shell reads a text; what the text holds as data is not looked at.
///
/// # Errors
/// What is wrong with it, or the bound that it passes.
pub fn parses(text: &str, shell: Shell) -> Result<(), String> {
    Shuck.parse(text, shell).error.map_or(Ok(()), Err)
}

fn walk<'s>(text: &str, shell: Shell, state: &Surroundings<'s>, trail: Option<Box<Trail>>) -> Walk<'s> {
    let mut walk = Walk::new(shell, state, trail);
    walk.top(text);
    if walk.choice == Choice::Met {
        let Walk { trail, analysis, .. } = walk;
        let first = analysis.programs.len();
        walk = Walk { analysis, choice: Choice::Defaults, ..Walk::new(shell, state, trail) };
        walk.top(text);
        walk.drop_twins(first);
    }
    walk
}

impl<'s> Walk<'s> {
    fn new(shell: Shell, state: &Surroundings<'s>, trail: Option<Box<Trail>>) -> Walk<'s> {
        Walk {
            state: *state,
            trail,
            choice: Choice::Unknown,
            shell,
            analysis: Analysis::default(),
            scope: Scope::new(state.cwd),
            out: Value::default(),
            input: None,
            files: HashMap::new(),
            descriptors: HashMap::new(),
            opened: HashMap::new(),
            outs: HashMap::new(),
            way: Vec::new(),
            levels: 0,
            nesting: 0,
            words: 0,
            bytes: 0,
            parsed: 0,
            steps: limits::STEPS,
            left: limits::Left::default(),
            calls: Vec::new(),
            aliases: None,
            splits: false,
            away: false,
            spelling: None,
            prints_settings: false,
            away_shell: false,
            read: Origin::default(),
            exported_functions: HashMap::new(),
            at_end: Vec::new(),
            git_aliases: HashMap::new(),
            git_settings: Vec::new(),
            is_elsewhere: false,
        }
    }
}

/// The same for bytes: what is no UTF-8 is unclear.
pub fn analyse_bytes(text: &[u8], shell: Shell, state: &Surroundings<'_>) -> Analysis {
    match str::from_utf8(text) {
        Ok(text) => analyse(text, shell, state),
        Err(_) => {
            let mut analysis = Analysis::default();
            analysis.cannot_tell(Unknown::Program, "the text is not UTF-8");
            analysis
        }
    }
}

/// A file that the command itself writes.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) content: Value,
    /// Where a link that the command makes leads.
    pub(crate) link: Option<String>,
    /// The program that it is a copy of.
    pub(crate) copy: Option<String>,
}

pub(crate) struct Walk<'s> {
    pub(crate) state: Surroundings<'s>,
    /// Places, where they are asked for.
    trail: Option<Box<Trail>>,
    choice: Choice,
    pub(crate) shell: Shell,
    pub(crate) analysis: Analysis,
    pub(crate) scope: Scope,
    /// What the statements at hand print.
    out: Value,
    /// What the statements at hand are given to read, where something is.
    input: Option<Value>,
    files: HashMap<String, Written>,
    /// What descriptors above 2 are opened to.
    descriptors: HashMap<u32, Value>,
    /// The files that descriptors are opened to, by whichever of their names.
    opened: HashMap<u32, Value>,
    /// Where descriptors above 2 write to.
    outs: HashMap<u32, Out>,
    pub(crate) way: Vec<String>,
    levels: usize,
    nesting: usize,
    words: usize,
    bytes: usize,
    parsed: usize,
    /// How many steps are left to patterns.
    pub(crate) steps: usize,
    /// What is left to the reading of folders.
    left: limits::Left,
    /// The functions that are being called, and their bodies.
    calls: Vec<(String, String)>,
    /// Names of `alias`, if they hold.
    aliases: Option<HashMap<String, String>>,
    /// Whether zsh splits values, as in `${=X}`.
    pub(crate) splits: bool,
    /// Whether the command at hand prints to another machine.
    away: bool,
    /// The first word of the command at hand as it stands, where its value is not known.
    spelling: Option<String>,
    /// Whether the last program that printed is one whose settings shells take: `ssh-agent`, `direnv hook`.
    prints_settings: bool,
    /// Whether the command at hand is joined to another machine, as `bash -i >& /dev/tcp/…`.
    away_shell: bool,
    /// Where what the program at hand reads comes from.
    read: Origin,
    /// Functions that a wrapper hands to the next shell.
    exported_functions: HashMap<String, String>,
    /// What traps run, where nothing of this name is known yet.
    at_end: Vec<Value>,
    /// Aliases that the command gives to git.
    git_aliases: HashMap<String, Value>,
    /// Settings that it makes, as `name=value`.
    git_settings: Vec<Value>,
    /// Whether what is read runs on another machine or in a container.
    is_elsewhere: bool,
}

impl<'s> Walk<'s> {
    fn top(&mut self, text: &str) {
        if self.shell == Shell::Other {
            self.unclear_text("the shell is neither bash, sh nor zsh");
            self.guess(text);
            return;
        }
        if text.contains('\0') {
            self.unclear_text("the text has a NUL");
            return;
        }
        if has_marks(text) {
            self.unclear_text("the text has signs of a plane for private use");
            return;
        }
        if !text.is_ascii()
            && let Some(at) = text.find(|c| INVISIBLE.contains(&c))
        {
            let rest = &text[at..];
            let end = rest.find(|c| !INVISIBLE.contains(&c)).unwrap_or(rest.len());
            self.at(self.place(&rest[..end]), |walk| walk.unclear_text("the text has invisible signs"));
        }
        self.text(text);
        for text in std::mem::take(&mut self.at_end) {
            self.run_value(&text, "what a trap runs");
        }
        // What comes behind the last program that is listed may be dropped within a statement.
        if self.is_full() && !self.analysis.is_cut {
            self.cut("it starts too many programs or has too many words");
        }
        // What was printed and went nowhere else is seen.
        if self.out.origin.has(Origin::SHOWN) {
            self.does(crate::Trait::ShowsEnvironment);
        }
    }

    /// Lists what another shell would start if it were bash: certain it is not.
    fn guess(&mut self, text: &str) {
        if text.contains('\0') || has_marks(text) {
            return;
        }
        let parsed = Shuck.parse(text, Shell::Bash);
        if parsed.error.is_none() {
            self.shell = Shell::Bash;
            self.list(&parsed.statements);
        }
    }

    /// RunsFilter a text in this shell.
    pub(crate) fn text(&mut self, text: &str) {
        self.parsed += text.len();
        if self.levels > limits::LEVELS || self.parsed > limits::PARSED || self.nesting > limits::NESTING {
            self.cut("the command is nested too deeply");
            return;
        }
        let level = self.trail.as_mut().map(|trail| trail.enter(text));
        self.text_at_hand(text);
        if let (Some(trail), Some(level)) = (&mut self.trail, level) {
            trail.leave(level);
        }
    }

    fn text_at_hand(&mut self, text: &str) {
        self.levels += 1;
        self.analysis.sets_any |= self.shell == Shell::Zsh;
        if text.contains('\n') && text.contains("expand_aliases") {
            self.by_lines(text);
            self.levels -= 1;
            return;
        }
        if let Some(statements) = plain(text) {
            self.list(&statements);
            self.levels -= 1;
            return;
        }
        let parsed = Shuck.parse(text, self.shell);
        self.list(&parsed.statements);
        if let Some(error) = parsed.error {
            self.analysis.is_cut |= parsed.is_unread;
            self.unclear_text(&format!("a text does not parse: {error}"));
        }
        self.levels -= 1;
    }

    /// RunsFilter a text line by line, as a shell reads it: an alias holds from the next line on.
    fn by_lines(&mut self, text: &str) {
        let mut start = 0;
        for (at, _) in text.match_indices('\n').chain([(text.len(), "")]) {
            let parsed = Shuck.parse(&text[start..at], self.shell);
            if parsed.error.is_none() {
                self.list(&parsed.statements);
                start = (at + 1).min(text.len());
            }
        }
        if start < text.len() {
            self.cut("a text does not parse");
        }
    }

    /// RunsFilter a value as a text: what is known of it, if all is.
    pub(crate) fn run_value(&mut self, value: &Value, what: &str) {
        self.at(value.place, |walk| walk.run_known(value, what));
    }

    fn run_known(&mut self, value: &Value, what: &str) {
        if value.origin.has(Origin::DECODED) {
            self.unclear_text(&format!("{what} was decoded"));
        }
        match value.literal() {
            Some(text) => self.text(&text),
            None => {
                // What is put into a text for another machine is seldom more than a name.
                if value.is_unclear() && (!self.is_elsewhere || value.is_any()) {
                    self.unclear_text(&format!("{what} is not known"));
                }
                self.run_partly(value);
            }
        }
    }

    /// Runs a text of which a part is not known: each such part is the value of a variable.
    fn run_partly(&mut self, value: &Value) {
        let text = crate::scan::with_variables(&value.text);
        for (name, sign) in crate::scan::PARTS {
            self.scope.set(name, vec![Value::of_sign(sign).from(value.origin)]);
        }
        self.text(&text);
        for (name, _) in crate::scan::PARTS {
            self.scope.variables.remove(name);
        }
    }

    /// What a text prints, as `$(…)` takes it.
    pub(crate) fn substitute(&mut self, text: &str) -> Value {
        let scope = self.scope.clone();
        let value = self.printed_by(text);
        self.scope = scope;
        value
    }

    /// The same in this shell, as `${ …; }` has it; of `${| …; }` what `REPLY` is then.
    pub(crate) fn substitute_here(&mut self, text: &str) -> Value {
        let Some(text) = text.strip_prefix('|') else { return self.printed_by(text) };
        let outer = self.scope.variables.remove("REPLY");
        self.text(text);
        let reply = self.variable("REPLY").unwrap_or_default();
        self.scope.variables.remove("REPLY");
        self.scope.variables.extend(outer.map(|outer| ("REPLY".to_owned(), outer)));
        reply
    }

    fn printed_by(&mut self, text: &str) -> Value {
        // `$(<file)` is what the file holds.
        let before = std::mem::take(&mut self.out);
        self.nesting += 1;
        self.at(Place::default(), |walk| walk.text(text));
        self.nesting -= 1;
        let mut value = std::mem::replace(&mut self.out, before);
        let kept = value.text.trim_end_matches('\n').len();
        value.text.truncate(kept);
        value.text.retain(|c| c != '\0');
        value.origin = value.origin.without(Origin::SHOWN);
        value
    }

    /// `<(…)` and `>(…)`: a file of another command.
    pub(crate) fn process(&mut self, text: &str, input: bool) -> Value {
        let content = self.substitute(text);
        let stands_for = input.then(|| std::rc::Rc::new(crate::value::StandsFor::Content(content.clone())));
        Value { text: Value::of_sign(UNKNOWN).text, stands_for, ..content }
    }

    /// A variable that the command or its surroundings set.
    pub(crate) fn variable(&self, name: &str) -> Option<Value> {
        if let Some(values) = self.scope.variables.get(name) {
            return Some(values.first().cloned().unwrap_or_default());
        }
        if self.scope.unset.contains(name) {
            return None;
        }
        match name {
            "HOME" => Some(Value::known(self.state.home)),
            "USER" | "LOGNAME" => Some(Value::known(self.state.user)),
            _ => {
                let known = self.state.variables.iter().find(|(known, _)| *known == name);
                let known = known.map(|(_, value)| *value).or_else(|| self.inherited(name)?);
                known.map(Value::known)
            }
        }
    }

    /// What a variable is that the text inherits: its value, or none where it is not set. What another program starts than a
    /// shell may have been given other ones.
    pub(crate) fn inherited(&self, name: &str) -> Option<Option<&'s str>> {
        let (_, value) = self.state.inherited.iter().find(|(known, _)| *known == name)?;
        self.way.iter().all(|program| Shell::named(program) != Shell::Other).then_some(*value)
    }

    pub(crate) fn cwd_value(&self) -> Value {
        self.scope.cwd.clone().map_or_else(Value::unknown, Value::known)
    }

    /// The signs at which unquoted expansions are split.
    pub(crate) fn separators(&self) -> Vec<char> {
        match self.scope.variables.get("IFS").and_then(|values| values.first()) {
            Some(value) => value.text.chars().collect(),
            None => vec![' ', '\t', '\n'],
        }
    }

    /// The absolute path of a value, and whether parts of it are unknown.
    pub(crate) fn absolute(&self, value: &Value) -> (String, bool) {
        let text = crate::value::spelt(&value.text);
        let unclear = value.is_unclear();
        if text.starts_with('/') {
            // A path that begins with what is known does not leave it for what is not known, unless by dots.
            return (self.past_processes(path::normal("", &text)), unclear);
        }
        match &self.scope.cwd {
            Some(cwd) if !value.text.starts_with(UNKNOWN) => {
                let path = path::normal(&crate::value::spelt(cwd), &text);
                (self.past_processes(path), unclear || cwd.contains(UNKNOWN))
            }
            _ => (text, true),
        }
    }

    /// `/proc/self/cwd/x`, `/proc/1/root/x` and `/proc/self/fd/3/x` by their usual names.
    fn past_processes(&self, path: String) -> String {
        let behind = path.strip_prefix("/proc/").and_then(|path| path.split_once('/'));
        let Some((kind, below)) = behind.and_then(|(_, path)| path.split_once('/')) else { return path };
        let folder = match (kind, below.split_once('/')) {
            ("root", _) => "",
            ("cwd", _) => {
                self.scope.cwd.as_deref().filter(|cwd| !cwd.starts_with("/proc/")).unwrap_or_default()
            }
            ("fd", Some((number, below))) => {
                let opened = number.parse().ok().and_then(|number: u32| self.opened.get(&number));
                return opened.map_or(path.clone(), |opened| path::normal(&opened.text, below));
            }
            _ => return path,
        };
        path::normal(folder, below)
    }

    pub(crate) fn unclear_text(&mut self, reason: &str) {
        self.cannot_tell(Unknown::Program, reason);
    }

    /// A bound is passed: what follows is not read.
    pub(crate) fn cut(&mut self, reason: &str) {
        self.analysis.is_cut = true;
        self.unclear_text(reason);
    }

    pub(crate) fn count_words(&mut self, count: usize) {
        self.words += count;
        if self.words > limits::WORDS {
            self.cut("it has more than 4,096 words");
        }
    }

    pub(crate) fn count_bytes(&mut self, count: usize) {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes > limits::VALUES {
            self.cut("its values take more than 1 MiB");
        }
    }

    /// Whether a bound is passed, so that the rest is left.
    pub(crate) fn is_full(&self) -> bool {
        self.words > limits::WORDS
            || self.bytes > limits::VALUES
            || self.parsed > limits::PARSED
            || self.analysis.programs.len() >= limits::PROGRAMS
    }

    /// A new name within a folder for temporary files.
    pub(crate) fn fresh(folder: &str) -> Value {
        Value::known(format!("{folder}/{FRESH}"))
    }
}

/// Signs that are not seen, or that turn the direction of what is.
const INVISIBLE: &[char] = &[
    '\u{200B}', '\u{200C}', '\u{200D}', '\u{2060}', '\u{FEFF}', '\u{00AD}', '\u{202A}', '\u{202B}',
    '\u{202C}', '\u{202D}', '\u{202E}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}', '\u{3164}',
    '\u{115F}', '\u{1160}',
];
