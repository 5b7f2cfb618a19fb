//! Whose commands they are.

use std::env::home_dir;

/// The account that commands run for, and what its user has said of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its home, absolute.
    pub home: String,
    /// More programs that start the program in their operands.
    pub wrappers: Vec<String>,
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
        Self { home: if trimmed.is_empty() { "/" } else { trimmed }.to_owned(), wrappers: Vec::new() }
    }
}
