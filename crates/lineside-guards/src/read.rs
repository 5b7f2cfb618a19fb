//! Filters as they are written, to filters: files and the builder are read by the same table.

use std::borrow::Cow;
use std::fmt;

use lineside_commands::filter::{AnyOfRuns, Paths, RunsFilter, WhenUnclear, runs};
use lineside_commands::{Access, CommandFilter};
use lineside_core::json::{Map, Value};
use lineside_core::nearest::suggestion;

use crate::keys::{DOES, KEYS, PATHS, RUNS, UNKNOWN};
use crate::never;

/// How large a regular expression may be once it is prepared, in bytes.
const LARGEST: usize = 1 << 20;

/// A step from a mapping to what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// The item of a list.
    Item(usize),
}

/// What is wrong with a filter, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {wrong}", place(.path))]
pub struct ReadActsError {
    /// Where, from the mapping that was read.
    pub path: Vec<Step>,
    /// What.
    pub wrong: Wrong,
}

/// What is wrong with a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// A key that there is not.
    #[error("there is no such key{}", .nearest.map_or_else(String::new, |near| format!(", did you mean `{near}`?")))]
    Key {
        /// The nearest one.
        nearest: Option<&'static str>,
    },
    /// A word that there is not.
    #[error("there is no such word{}", .nearest.map_or_else(String::new, |near| format!(", did you mean `{near}`?")))]
    Word {
        /// The nearest one.
        nearest: Option<&'static str>,
    },
    /// A value of another kind.
    #[error("not {0}")]
    Value(&'static str),
    /// A regular expression that is none.
    #[error("not a regular expression: {0}")]
    Regex(String),
    /// A text that no call ever meets.
    #[error("`{text}` matches nothing: {why}")]
    Never {
        /// The text.
        text: String,
        /// Why, and what to write instead.
        why: String,
    },
}

impl ReadActsError {
    /// Where, as `runs[0].operand`.
    #[must_use]
    pub fn place(&self) -> String {
        place(&self.path)
    }
}

/// A place as `runs[0].operand`.
pub(crate) fn place(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Item(number) => text.push_str(&format!("[{number}]")),
        }
    }
    text
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&place(std::slice::from_ref(self)))
    }
}

/// Reads a mapping of filters, all of which have to match; `None` where it has none. What is not known counts as `unclear`,
/// unless the mapping says otherwise.
pub(crate) fn read(
    fields: &Map,
    unclear: WhenUnclear,
    errors: &mut Vec<ReadActsError>,
) -> Option<CommandFilter> {
    let mut reader = Reader { path: Vec::new(), unclear, errors };
    reader.filters(fields)
}

struct Reader<'e> {
    path: Vec<Step>,
    unclear: WhenUnclear,
    errors: &'e mut Vec<ReadActsError>,
}

impl Reader<'_> {
    fn wrong(&mut self, wrong: Wrong) {
        self.errors.push(ReadActsError { path: self.path.clone(), wrong });
    }

    fn expected<T>(&mut self, expected: &'static str) -> Option<T> {
        self.wrong(Wrong::Value(expected));
        None
    }

    /// The texts, each of which some call may meet.
    fn met(&mut self, texts: Vec<String>, why: impl Fn(&str) -> Option<String>) -> Vec<String> {
        for text in &texts {
            if let Some(why) = why(text) {
                self.wrong(Wrong::Never { text: text.clone(), why });
            }
        }
        texts
    }

    /// The globs, as paths are compared with them.
    fn paths_of<'g>(
        &mut self,
        globs: &'g [String],
        read: impl Fn(&'g str) -> Result<Cow<'g, str>, String>,
    ) -> Vec<Cow<'g, str>> {
        let mut all = Vec::with_capacity(globs.len());
        for glob in globs {
            match read(glob) {
                Ok(glob) => all.push(glob),
                Err(why) => self.wrong(Wrong::Never { text: glob.clone(), why }),
            }
        }
        all
    }

    fn within<T>(&mut self, step: Step, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let value = read(self);
        self.path.pop();
        value
    }

    /// Reads each key that is there and is one of these.
    fn keys(&mut self, fields: &Map, known: &[&'static str], mut read: impl FnMut(&mut Self, &str, &Value)) {
        let mode = self.unclear;
        if let Some(value) = fields.get("unclear") {
            let words = [("match", WhenUnclear::Match), ("skip", WhenUnclear::Skip)];
            self.within(Step::Key("unclear".to_owned()), |this| {
                if let Some(word) = this.word(value, &words) {
                    this.unclear = word;
                }
            });
        }
        for (key, value) in fields {
            self.within(Step::Key(key.clone()), |this| {
                if !known.contains(&key.as_str()) {
                    let nearest = suggestion(key, known.iter().copied());
                    let nearest = nearest.and_then(|near| known.iter().copied().find(|one| *one == near));
                    this.wrong(Wrong::Key { nearest });
                } else if key != "unclear" && !value.is_null() {
                    read(this, key, value);
                }
            });
        }
        self.unclear = mode;
    }

    fn filters(&mut self, fields: &Map) -> Option<CommandFilter> {
        let mut all = Vec::new();
        let mut except = (Vec::new(), Vec::new());
        self.keys(fields, &KEYS, |this, key, value| match key {
            "runs" => all.extend(this.rows(value).map(|rows| CommandFilter::Runs(AnyOfRuns::from(rows)))),
            "reads" => all.extend(this.touches(Access::Read, value)),
            "writes" => all.extend(this.touches(Access::Write, value)),
            "deletes" => all.extend(this.touches(Access::Delete, value)),
            "does" => all.extend(this.words(value, &DOES).map(|all| any(all, CommandFilter::Does))),
            "cannot_tell" => {
                all.extend(this.words(value, &UNKNOWN).map(|all| any(all, CommandFilter::Unclear)));
            }
            "sets" => {
                let globs = this.texts(value).map(|globs| this.met(globs, never::variable));
                all.extend(globs.map(CommandFilter::Sets));
            }
            "any" => all.extend(this.list(value).map(CommandFilter::Any)),
            "all" => all.extend(this.list(value).map(CommandFilter::All)),
            "not" => all.extend(this.mapping(value).map(|filter| CommandFilter::Not(Box::new(filter)))),
            _ => except = this.except(value),
        });
        let filter = if all.len() == 1 { all.pop()? } else { CommandFilter::All(all) };
        let (globs, rows) = except;
        let is_empty = matches!(&filter, CommandFilter::All(all) if all.is_empty());
        (!is_empty)
            .then(|| if globs.is_empty() && rows.is_empty() { filter } else { filter.except(&globs, &rows) })
    }

    fn mapping(&mut self, value: &Value) -> Option<CommandFilter> {
        let filter = match value {
            Value::Object(fields) => {
                let before = self.errors.len();
                match self.filters(fields) {
                    None if self.errors.len() > before => return None,
                    filter => filter,
                }
            }
            _ => None,
        };
        if filter.is_none() {
            self.expected("a mapping with filters such as `runs` or `deletes`")
        } else {
            filter
        }
    }

    fn list(&mut self, value: &Value) -> Option<Vec<CommandFilter>> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let item = |(number, item)| self.within(Step::Item(number), |this| this.mapping(item));
                Some(items.iter().enumerate().filter_map(item).collect())
            }
            _ => self.expected("a list of mappings with filters"),
        }
    }

    /// What `except` has: globs of paths, and programs.
    fn except(&mut self, value: &Value) -> (Vec<String>, Vec<RunsFilter>) {
        let (mut globs, mut rows) = (Vec::new(), Vec::new());
        let items = match value {
            Value::Array(items) => &items[..],
            one => std::slice::from_ref(one),
        };
        for (number, item) in items.iter().enumerate() {
            self.within(Step::Item(number), |this| match item {
                Value::String(glob) if !glob.is_empty() => {
                    let read = this.paths_of(std::slice::from_ref(glob), never::path);
                    globs.extend(read.into_iter().map(Cow::into_owned));
                }
                Value::Object(_) => rows.extend(this.row(item)),
                _ => this.wrong(Wrong::Value("a glob of paths, or a mapping as below `runs`")),
            });
        }
        (globs, rows)
    }

    /// One program, or a list of which one has to fit.
    fn rows(&mut self, value: &Value) -> Option<Vec<RunsFilter>> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let row = |(number, item)| self.within(Step::Item(number), |this| this.row(item));
                Some(items.iter().enumerate().filter_map(row).collect())
            }
            one => Some(vec![self.row(one)?]),
        }
    }

    fn row(&mut self, value: &Value) -> Option<RunsFilter> {
        let fields = match value {
            Value::String(program) if !program.is_empty() => {
                self.met(vec![program.clone()], never::program);
                return Some(runs([program.as_str()]).when_unclear(self.unclear));
            }
            Value::Object(fields) if !fields.is_empty() => fields,
            _ => {
                return self.expected(
                    "the name of a program, or a mapping with `program`, `subcommand`, `flags`, …",
                );
            }
        };
        let programs = fields.get("program").filter(|value| !value.is_null());
        let programs = match programs {
            None => Vec::new(),
            Some(value) => self.within(Step::Key("program".to_owned()), |this| {
                let names = this.texts(value).unwrap_or_default();
                this.met(names, never::program)
            }),
        };
        let mut row = runs(programs);
        self.keys(fields, &RUNS, |this, key, value| {
            let made = std::mem::take(&mut row);
            row = match key {
                "subcommand" => match value.as_str().filter(|words| !words.trim().is_empty()) {
                    Some(words) => {
                        this.met(vec![words.to_owned()], never::subcommand);
                        made.subcommand(words)
                    }
                    None => this.expected("words such as `remote add`").unwrap_or(made),
                },
                "text" => match this.regex(value) {
                    Some(regex) => made.text(regex),
                    None => made,
                },
                "elsewhere" => match this.boolean(value) {
                    Some(true) => made.elsewhere(),
                    _ => made,
                },
                "program" => made,
                _ => {
                    let texts = this.texts(value).unwrap_or_default();
                    let texts = if key.ends_with("operand") { texts } else { this.met(texts, never::flag) };
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    match key {
                        "flags" => made.flags(&texts),
                        "any_flag" => made.any_flag(&texts),
                        "no_flag" => made.no_flag(&texts),
                        "operand" => made.operand(&texts),
                        _ => made.no_operand(&texts),
                    }
                }
            }
            .when_unclear(this.unclear);
        });
        let unclear = if fields.contains_key("unclear") { None } else { Some(self.unclear) };
        Some(unclear.map_or(row.clone(), |unclear| row.when_unclear(unclear)))
    }

    fn touches(&mut self, access: Access, value: &Value) -> Option<CommandFilter> {
        if let Value::Object(fields) = value {
            return Some(CommandFilter::Touches(access, self.paths(fields)?));
        }
        let globs = self.texts(value)?;
        let globs = self.paths_of(&globs, never::path);
        Some(CommandFilter::Touches(access, Paths::matching(&borrowed(&globs)).when_unclear(self.unclear)))
    }

    fn paths(&mut self, fields: &Map) -> Option<Paths> {
        let mut paths = Paths::default();
        let mut asks = false;
        self.keys(fields, &PATHS, |this, key, value| {
            let made = std::mem::take(&mut paths).when_unclear(this.unclear);
            asks |= !matches!(key, "not" | "whole");
            paths = match key {
                "path" | "root" | "not" => {
                    let read = if key == "root" { never::root } else { never::path };
                    let texts = this.texts(value).unwrap_or_default();
                    let globs = this.paths_of(&texts, read);
                    match key {
                        "path" => made.or(Paths::matching(&borrowed(&globs))),
                        "root" => made.or(Paths::roots(&borrowed(&globs))),
                        _ => made.not(&borrowed(&globs)),
                    }
                }
                "outside" if value.as_str() == Some("project") => made.or(Paths::outside()),
                "outside" => this.expected("`project`").unwrap_or(made),
                "secret" if this.boolean(value) == Some(true) => made.or(Paths::secret()),
                "whole" => match this.boolean(value) {
                    Some(whole) => made.whole(whole),
                    None => made,
                },
                _ => made,
            };
        });
        if !asks {
            return self.expected("a mapping with `path`, `outside`, `root` or `secret`");
        }
        Some(paths)
    }

    fn texts(&mut self, value: &Value) -> Option<Vec<String>> {
        let items = match value {
            Value::Array(items) if !items.is_empty() => &items[..],
            one => std::slice::from_ref(one),
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::String(text) if !text.is_empty() => texts.push(text.clone()),
                Value::Number(number) => texts.push(number.to_string()),
                _ => return self.expected("a text, or a list of texts"),
            }
        }
        Some(texts)
    }

    fn boolean(&mut self, value: &Value) -> Option<bool> {
        if let Some(value) = value.as_bool() { Some(value) } else { self.expected("true or false") }
    }

    fn regex(&mut self, value: &Value) -> Option<regex::Regex> {
        let Some(pattern) = value.as_str() else { return self.expected("a regular expression") };
        match lineside_search::compiled(pattern, LARGEST) {
            Ok(regex) => Some(regex),
            Err(error) => {
                self.wrong(Wrong::Regex(error.to_string()));
                None
            }
        }
    }

    fn words<T: Copy>(&mut self, value: &Value, words: &[(&'static str, T)]) -> Option<Vec<T>> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let word = |(number, item)| self.within(Step::Item(number), |this| this.word(item, words));
                Some(items.iter().enumerate().filter_map(word).collect())
            }
            one => Some(vec![self.word(one, words)?]),
        }
    }

    fn word<T: Copy>(&mut self, value: &Value, words: &[(&'static str, T)]) -> Option<T> {
        let text = value.as_str().unwrap_or_default();
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let near = suggestion(text, words.iter().map(|(word, _)| *word));
        let nearest = words.iter().map(|(word, _)| *word).find(|word| near == Some(*word));
        self.wrong(Wrong::Word { nearest });
        None
    }
}

fn borrowed<'t>(texts: &'t [Cow<'_, str>]) -> Vec<&'t str> {
    texts.iter().map(|text| &**text).collect()
}

/// One filter of these, or whichever of several.
fn any<T>(mut all: Vec<T>, filter: impl Fn(T) -> CommandFilter) -> CommandFilter {
    match (all.len(), all.pop()) {
        (1, Some(only)) => filter(only),
        (_, last) => CommandFilter::Any(all.into_iter().chain(last).map(filter).collect()),
    }
}
