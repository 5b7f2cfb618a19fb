//! Something that is wrong, or should be known, with its remedy.

use lineside::json::{Value, json};

use crate::excerpt;
use crate::painter::one_line;
use crate::style::{Style, Tone};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Hooks do not run, or not for everything that they are meant for.
    Error,
    /// Something may undo what they do.
    Warning,
    /// A limit of the host.
    Note,
}

/// A finding.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// What is wrong, and where.
    pub(crate) text: String,
    /// What to do.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn error(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Error, text: text.into(), remedy: remedy.into() }
    }

    pub(crate) fn warning(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(text, remedy) }
    }

    pub(crate) fn note(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::error(text, remedy) }
    }

    /// Whether something is wrong.
    pub(crate) fn is_wrong(&self) -> bool {
        self.severity != Severity::Note
    }

    fn name(&self) -> (&'static str, Tone) {
        match self.severity {
            Severity::Error => ("error", Tone::Bad),
            Severity::Warning => ("warning", Tone::Warning),
            Severity::Note => ("note", Tone::Bold),
        }
    }

    /// Findings for people, each with its remedy; one that several in a row share comes after the last of them.
    pub(crate) fn lines(findings: &[Self], style: Style) -> Vec<String> {
        let together = findings.chunk_by(|finding, next| finding.remedy == next.remedy);
        let lines = together.flat_map(|group| {
            let texts = group.iter().flat_map(|finding| {
                let (name, tone) = finding.name();
                let text = format!("{}: {}", style.paint(tone, name), one_line(&finding.text));
                std::iter::once(text).chain(excerpt::of_text(&finding.text, style))
            });
            let remedy =
                |finding: &Self| format!("  {} {}", style.paint(Tone::Dim, "->"), one_line(&finding.remedy));
            texts.chain(group.last().map(remedy))
        });
        lines.collect()
    }

    /// The same for programs.
    pub(crate) fn object(&self) -> Value {
        json!({"severity": self.name().0, "text": self.text, "remedy": self.remedy})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_that_findings_share_is_said_once() {
        let findings =
            [Finding::error("a", "mend it"), Finding::note("b", "mend it"), Finding::error("c", "end it")];
        assert_eq!(
            Finding::lines(&findings, Style::PLAIN),
            ["error: a", "note: b", "  -> mend it", "error: c", "  -> end it"]
        );
    }
}
