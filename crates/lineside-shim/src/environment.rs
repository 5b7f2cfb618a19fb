//! The environment of the process, read once. It opens nothing: a grant in it confines, and a daemon inherits none of it.

use std::ffi::{OsStr, OsString};

/// The environment of a process.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
