//! What a shell remembers, and what a subshell gets a copy of.

use std::collections::{HashMap, HashSet};

use crate::value::Value;

type Cases = HashMap<String, Case, foldhash::fast::FixedState>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scope {
    /// The folder at hand; none after a change to one that is not known.
    pub(crate) cwd: Option<String>,
    /// The folder before the last change.
    pub(crate) before: Option<String>,
    /// The folders of `pushd`.
    pub(crate) stack: Vec<Option<String>>,
    /// Values of variables; several for arrays.
    pub(crate) variables: HashMap<String, Vec<Value>, foldhash::fast::FixedState>,
    /// Variables whose values take capitals or lose them whenever they are set.
    pub(crate) cases: Cases,
    /// Names of variables whose values are expressions.
    pub(crate) numbers: HashSet<String, foldhash::fast::FixedState>,
    /// Names that were unset.
    pub(crate) unset: HashSet<String, foldhash::fast::FixedState>,
    /// Texts of functions.
    pub(crate) functions: HashMap<String, String, foldhash::fast::FixedState>,
    /// Names of functions that the shells have that are started from here.
    pub(crate) exported: HashSet<String, foldhash::fast::FixedState>,
    /// `$1` and on; none where the caller gave them.
    pub(crate) positional: Option<Vec<Value>>,
    /// Whether globs find names that begin with a dot, and those with capitals and small letters alike.
    pub(crate) finds_dots: bool,
    pub(crate) finds_any_case: bool,
    /// Whether a file of settings was loaded, which any variable may be of.
    pub(crate) has_settings: bool,
}

impl Scope {
    pub(crate) fn new(cwd: &str) -> Scope {
        Scope {
            cwd: Some(cwd.to_owned()),
            before: None,
            stack: Vec::new(),
            variables: HashMap::default(),
            cases: HashMap::default(),
            numbers: HashSet::default(),
            unset: HashSet::default(),
            functions: HashMap::default(),
            exported: HashSet::default(),
            positional: None,
            finds_dots: false,
            finds_any_case: false,
            has_settings: false,
        }
    }

    pub(crate) fn set(&mut self, name: &str, values: Vec<Value>) {
        self.unset.remove(name);
        let values = match self.cases.get(name) {
            Some(case) => values.into_iter().map(|value| case.of(value)).collect(),
            None => values,
        };
        self.variables.insert(name.to_owned(), values);
    }

    /// What was otherwise in another scope may be either from here on.
    pub(crate) fn doubt_cases(&mut self, other: &Cases) {
        if self.cases == *other {
            return;
        }
        let names: Vec<String> = self.cases.keys().chain(other.keys()).cloned().collect();
        for name in names {
            if self.cases.get(&name) != other.get(&name) {
                self.cases.insert(name, Case::Unknown);
            }
        }
    }

    /// The scope where it may be another one: a value that is set anew may be the old one, and what was not set before is
    /// taken to be set.
    pub(crate) fn doubt(&mut self, other: &Scope) {
        for (name, values) in &mut self.variables {
            if let Some(before) = other.variables.get(name).filter(|before| *before != values) {
                let is_list = before.len() > 1 || values.len() > 1;
                *values = vec![if is_list { Value::many() } else { Value::unknown() }];
            }
        }
        self.doubt_cases(&other.cases);
        if other.positional.is_some() && self.positional != other.positional {
            self.positional = None;
        }
    }

    /// The scope after one of two ways was taken: what differs is not known.
    pub(crate) fn merge(&mut self, other: &Scope) {
        if self == other {
            return;
        }
        if self.cwd != other.cwd {
            self.cwd = None;
        }
        for (name, values) in &mut self.variables {
            if other.variables.get(name) != Some(values) {
                *values = vec![Value::unknown()];
            }
        }
        for name in other.variables.keys() {
            if !self.variables.contains_key(name) {
                self.variables.insert(name.clone(), vec![Value::unknown()]);
            }
        }
        self.doubt_cases(&other.cases);
        self.numbers.extend(other.numbers.iter().cloned());
        self.finds_dots |= other.finds_dots;
        self.finds_any_case |= other.finds_any_case;
        self.has_settings |= other.has_settings;
        self.unset.retain(|name| other.unset.contains(name));
        for (name, body) in &other.functions {
            self.functions.entry(name.clone()).or_insert_with(|| body.clone());
        }
        if self.positional != other.positional {
            self.positional = None;
        }
    }
}

/// What `declare -l` and `declare -u` make of the values of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Case {
    Lower,
    Upper,
    /// One of these, or none.
    Unknown,
}

impl Case {
    fn of(self, value: Value) -> Value {
        let text = match self {
            Case::Lower => value.text.to_lowercase(),
            Case::Upper => value.text.to_uppercase(),
            Case::Unknown => return Value::unknown().from(value.origin),
        };
        Value { text, ..value }
    }
}

/// Where standard output goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Out {
    /// On, to the pipe or the caller.
    #[default]
    On,
    /// Into a file.
    File(String),
    /// Behind what a file holds.
    Behind(String),
    /// To another machine.
    Away,
    /// To another command, as `> >(sh)`.
    Command(String),
    /// To what shows it and is not read again: that of the errors, a terminal.
    Seen,
    /// Nowhere that is read again.
    Elsewhere,
}

/// What is taken for the value of a variable that the command does not set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// What is not known.
    Unknown,
    /// The same, where it has been asked for what stands in the place of such a value.
    Met,
    /// None: what stands in its place is taken.
    Defaults,
}
