//! What was found wrong when hooks were loaded: severity, place, text.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

/// A file and a line, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// The file. What is not UTF-8 in its path is replaced where it is written as JSON.
    #[serde(serialize_with = "as_text")]
    pub file: Arc<PathBuf>,
    /// The line.
    pub line: u32,
}

/// A path is any bytes, and JSON is text.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl Origin {
    /// A place.
    pub fn new(file: impl Into<PathBuf>, line: u32) -> Self {
        Self { file: Arc::new(file.into()), line }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Everything is as it was declared, and its user should know of it.
    Note,
    /// Something is accepted but will not do what its author may expect.
    Warning,
    /// Something is not loaded.
    Error,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A finding.
///
/// ```
/// use lineside_core::{Diagnostic, Origin};
///
/// let finding = Diagnostic::warning(Origin::new("/repo/HOOK.md", 3), "`prioritty` is not known");
/// assert!(finding.to_string().contains("/repo/HOOK.md:3"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where; absent when the place is part of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// What, and what would be right.
    pub text: String,
}

impl Diagnostic {
    /// An error at a place, or with its place in the text.
    pub fn error(origin: impl Into<Option<Origin>>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, origin: origin.into(), text: text.into() }
    }

    /// A warning at a place, or with its place in the text.
    pub fn warning(origin: impl Into<Option<Origin>>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, origin: origin.into(), text: text.into() }
    }

    /// A note at a place, or with its place in the text.
    pub fn note(origin: impl Into<Option<Origin>>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Note, origin: origin.into(), text: text.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) => write!(f, "{origin}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
