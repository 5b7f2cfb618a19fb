//! What was found wrong when hooks were loaded: severity, place, text.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

/// A file and a line, counted from 1.
///
/// ```
/// use lineside_core::Origin;
///
/// assert_eq!(Origin::new("hooks.yaml", 7).to_string(), "hooks.yaml:7");
/// ```
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
///
/// ```
/// use lineside_core::{Diagnostic, Severity};
///
/// let findings = [Diagnostic::warning(None, "an unknown key"), Diagnostic::error(None, "no such program")];
/// let worst = findings.iter().map(|finding| finding.severity).max();
/// assert_eq!(worst, Some(Severity::Error));
/// ```
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{json, to_value};

    #[test]
    fn the_word_for_a_severity_is_that_in_json() {
        let all = [Severity::Note, Severity::Warning, Severity::Error];
        assert_eq!(all.map(Severity::as_str), ["note", "warning", "error"]);
        for severity in all {
            assert_eq!(to_value(&severity).unwrap(), json!(severity.as_str()));
        }
        assert!(all.is_sorted(), "the worse is greater");
    }

    #[test]
    fn a_finding_is_shown_with_its_place_where_it_has_one() {
        let at = Origin::new("/repo/HOOK.md", 3);
        for (finding, severity, shown) in [
            (Diagnostic::error(at.clone(), "no name"), Severity::Error, "/repo/HOOK.md:3: no name"),
            (Diagnostic::warning(None, "no name"), Severity::Warning, "no name"),
            (Diagnostic::note(at, "it is off"), Severity::Note, "/repo/HOOK.md:3: it is off"),
        ] {
            assert_eq!((finding.severity, &*finding.to_string()), (severity, shown));
        }
    }

    #[test]
    fn a_finding_without_a_place_has_none_in_json() {
        let finding = Diagnostic::note(None, "it is off");
        assert_eq!(to_value(&finding).unwrap(), json!({"severity": "note", "text": "it is off"}));
        let placed = to_value(&Diagnostic::note(Origin::new("f", 1), "it is off")).unwrap();
        assert_eq!(placed["origin"], json!({"file": "f", "line": 1}));
    }
}
