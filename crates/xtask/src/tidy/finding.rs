//! What a rule found, and where.

/// Sorts by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) file: String,
    /// The first is 1.
    pub(super) line: usize,
    pub(super) severity: Severity,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// The rule does not hold.
    Fault,
    /// Worth knowing; the rule holds.
    Warning,
}

impl Finding {
    pub(super) fn fault(file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, severity: Severity::Fault, text: text.into() }
    }

    pub(super) fn warning(file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::fault(file, line, text) }
    }
}

/// What a rule says to a repository, one line for each finding, for comparison in tests.
#[cfg(test)]
pub(super) fn told(mut findings: Vec<Finding>) -> Vec<String> {
    findings.sort();
    let say = |finding: &Finding| {
        let mark = if finding.severity == Severity::Warning { "warning: " } else { "" };
        format!("{}:{}: {mark}{}", finding.file, finding.line, finding.text)
    };
    findings.iter().map(say).collect()
}
