//! What a shell remembers, and what a subshell gets a copy of.

use std::collections::{BTreeMap, HashMap, HashSet};

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
    /// Of variables that branches set, which are not known, the few values that they may have.
    pub(crate) either: BTreeMap<String, Vec<Vec<Value>>>,
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
            either: BTreeMap::new(),
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
        self.either.remove(name);
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
        let names: Vec<String> =
            self.variables.keys().filter(|name| self.differs(name, other)).cloned().collect();
        for name in names.iter().filter(|name| other.variables.contains_key(*name)) {
            let is_list = |scope: &Scope| scope.variables.get(name).is_some_and(|values| values.len() > 1);
            let open = if is_list(self) || is_list(other) { Value::many() } else { Value::unknown() };
            self.keep_either(name, other, open);
        }
        self.doubt_cases(&other.cases);
        if other.positional.is_some() && self.positional != other.positional {
            self.positional = None;
        }
    }

    fn differs(&self, name: &str, other: &Scope) -> bool {
        self.variables.get(name) != other.variables.get(name)
            || self.either.get(name) != other.either.get(name)
    }

    /// Notes that a variable is what it is here or in another scope: it is not known, and may have few values.
    fn keep_either(&mut self, name: &str, other: &Scope, open: Value) {
        let unknown = || vec![Value::unknown()];
        let values = |scope: &Scope| match scope.either.get(name) {
            Some(all) => all.clone(),
            None => vec![scope.variables.get(name).cloned().unwrap_or_else(unknown)],
        };
        let mut all = values(self);
        all.extend(values(other).into_iter().filter(|one| !all.contains(one)).collect::<Vec<_>>());
        let is_known = |one: &Vec<Value>| one.iter().all(|value| value.literal().is_some());
        self.set(name, vec![open]);
        if all.len() <= crate::limits::VALUES_OF_BRANCHES && all.iter().any(is_known) {
            self.either.insert(name.to_owned(), all);
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
        let names = self.variables.keys().chain(other.variables.keys());
        let names: HashSet<String> = names.filter(|name| self.differs(name, other)).cloned().collect();
        names.iter().for_each(|name| self.keep_either(name, other, Value::unknown()));
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
