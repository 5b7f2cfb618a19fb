//! What was wrong while plugins were looked for and loaded, and of what it is said (OC-3).

use std::fmt;
use std::path::{Path, PathBuf};

use lineside_core::{Diagnostic, Severity};
use lineside_redact::redact;

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    /// A plugin and its file.
    Plugin(String, PathBuf),
    /// A directory that holds a plugin whose id is not known.
    Directory(PathBuf),
    /// A file of the configuration.
    File(PathBuf),
}

impl About {
    pub(super) fn plugin(id: &str, file: &Path) -> Self {
        Self::Plugin(id.to_owned(), file.to_owned())
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(id, file) => write!(f, "plugin \"{id}\" ({})", file.display()),
            Self::Directory(path) => write!(f, "plugin directory {}", path.display()),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Findings, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Findings {
    /// Something was refused.
    pub(super) fn error(&mut self, about: &About, message: impl fmt::Display) {
        self.add(Severity::Error, about, &message);
    }

    /// Something was accepted and will not do what its author may expect.
    pub(super) fn warning(&mut self, about: &About, message: impl fmt::Display) {
        self.add(Severity::Warning, about, &message);
    }

    fn add(&mut self, severity: Severity, about: &About, message: &dyn fmt::Display) {
        // A plugin that does not load says why in its own words.
        let text = redact(&format!("{about}: {message}")).into_owned();
        self.diagnostics.push(Diagnostic { severity, origin: None, text });
    }
}

#[cfg(test)]
mod tests {
    use super::{About, Findings};

    #[test]
    fn a_finding_says_of_what_it_is() {
        // OC-3
        let mut findings = Findings::default();
        findings.error(&About::plugin("a", "/p/a.mjs".as_ref()), "boom");
        findings.warning(&About::Directory("/p/b".into()), "x");
        findings.warning(&About::File("/h/lineside.json".into()), "y");
        findings.error(&About::File("/p".into()), "401 for sk-12345678");
        let texts: Vec<_> = findings.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "plugin \"a\" (/p/a.mjs): boom",
                "plugin directory /p/b: x",
                "/h/lineside.json: y",
                "/p: 401 for [redacted]"
            ]
        );
    }
}
