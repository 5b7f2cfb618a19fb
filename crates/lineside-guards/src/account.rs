//! Whose commands they are, and of which project.

use std::env::home_dir;

/// The account that commands run for, and what its user has said of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its home, absolute.
    pub home: String,
    /// More programs that start the program in their operands.
    pub wrappers: Vec<String>,
    /// The root of the project of which filters are, in which what is relative in them lies; that of an event, where none is given.
    pub project: Option<Box<str>>,
}

impl Account {
    /// The account of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let home = home_dir().filter(|home| home.is_absolute());
        let home = home.and_then(|home| home.into_os_string().into_string().ok());
        Self::at(home.as_deref().unwrap_or("/"))
    }

    /// The account with this home.
    #[must_use]
    pub fn at(home: &str) -> Self {
        let trimmed = home.trim_end_matches('/');
        Self {
            home: if trimmed.is_empty() { "/" } else { trimmed }.to_owned(),
            wrappers: Vec::new(),
            project: None,
        }
    }

    /// The same for filters of the project with this root, absolute.
    #[must_use]
    pub fn within(self, root: &str) -> Self {
        Self { project: Some(root.into()), ..self }
    }

    /// Whether commands are read alike for both.
    pub(crate) fn reads_as(&self, other: &Self) -> bool {
        self.home == other.home && self.wrappers == other.wrappers
    }
}
