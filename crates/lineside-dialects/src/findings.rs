//! What was found about one file while it was loaded, each with its line. What there is to find, and in which words, is
//! each format's business.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::{Diagnostic, Origin, PointInfo, Severity};

use crate::broken::{Broken, Owner, Repair};
use crate::dialect::Loaded;

/// What was found about one file.
#[derive(Debug)]
pub(crate) struct Findings {
    file: Arc<PathBuf>,
    /// In the order in which it was found.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What they cost.
    broken: Vec<Broken>,
}

impl Findings {
    /// Nothing yet.
    pub(crate) fn about(file: &Path) -> Self {
        Self { file: Arc::new(file.to_path_buf()), diagnostics: Vec::new(), broken: Vec::new() }
    }

    /// The file.
    pub(crate) fn file(&self) -> String {
        self.file.display().to_string()
    }

    /// A line of the file.
    pub(crate) fn origin(&self, line: u32) -> Origin {
        Origin { file: Arc::clone(&self.file), line }
    }

    /// Something was refused.
    pub(crate) fn error(&mut self, line: u32, error: impl Display) {
        self.diagnostics.push(Diagnostic::error(self.origin(line), error.to_string()));
    }

    /// Hooks cannot be looked for in a place.
    pub(crate) fn no_place(&mut self, why: impl Display) {
        self.error(1, format_args!("no hooks can be looked for: {why}"));
    }

    /// Something was accepted and will not do what its author may expect.
    pub(crate) fn warning(&mut self, line: u32, warning: impl Display) {
        self.diagnostics.push(Diagnostic::warning(self.origin(line), warning.to_string()));
    }

    /// The same about one hook of several.
    pub(crate) fn hook_error(&mut self, line: u32, hook: impl Display, error: impl Display) {
        self.error(line, format_args!("{hook}: {error}"));
    }

    /// The same about one hook of several.
    pub(crate) fn hook_warning(&mut self, line: u32, hook: impl Display, warning: impl Display) {
        self.warning(line, format_args!("{hook}: {warning}"));
    }

    /// Something is as it is said, and may be meant otherwise.
    pub(crate) fn hook_note(&mut self, line: u32, hook: impl Display, note: impl Display) {
        self.diagnostics.push(Diagnostic::note(self.origin(line), format!("{hook}: {note}")));
    }

    /// The first error, by line.
    pub(crate) fn first_error(&self) -> Option<&Diagnostic> {
        let errors = self.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        errors.min_by_key(|error| error.origin.as_ref().map_or(0, |origin| origin.line))
    }

    /// What was found about a hook since there were so many findings, as its repair.
    pub(crate) fn repair(&self, since: usize, hook: impl Display) -> Repair {
        Repair::first(self.diagnostics.get(since..).unwrap_or_default(), &hook.to_string())
    }

    /// What was found on this line, as the repair of what stands there.
    pub(crate) fn repair_of(&self, line: u32) -> Repair {
        let is_there = |one: &&Diagnostic| one.origin.as_ref().is_some_and(|origin| origin.line == line);
        let there: Vec<Diagnostic> = self.diagnostics.iter().filter(is_there).cloned().collect();
        Repair::first(&there, "")
    }

    /// This, on this line of the file, as the repair of a hook.
    pub(crate) fn repair_at(&self, line: u32, what: impl Display) -> Repair {
        Repair::at(self.origin(line), what)
    }

    /// Adds an error and gives it as the repair of the hooks that it costs.
    pub(crate) fn repair_error(&mut self, line: u32, what: impl Display) -> Repair {
        self.error(line, &what);
        self.repair_at(line, what)
    }

    /// A hook is lost.
    pub(crate) fn lose(&mut self, broken: Broken) {
        self.broken.push(broken);
    }

    /// All hooks of the file are lost, of which these points are known.
    pub(crate) fn lose_file(&mut self, points: Vec<(&'static PointInfo, String)>, is_guard: bool) {
        let error = self.repair(0, "");
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.lose(Broken { name, line: error.line(), error, points, is_guard, select: None });
    }

    /// Puts what stands in for lost hooks behind those that are loaded.
    pub(crate) fn stand_in(&mut self, owner: &Owner, loaded: &mut Loaded) {
        for broken in std::mem::take(&mut self.broken) {
            let origin = self.origin(broken.line);
            broken.stand_in(owner, &origin, loaded);
        }
    }

    /// All of it, by line.
    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.origin.as_ref().map_or(0, |origin| origin.line));
        self.diagnostics
    }
}

/// A wording whose gaps, such as `{key}`, are filled with the texts of these names. A gap without a text stays empty.
pub(crate) fn filled(wording: &str, gaps: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(wording.len() + 32);
    let mut rest = wording;
    // Each gap is filled once: a text may have braces of its own.
    while let Some((before, after)) = rest.split_once('{') {
        let (gap, behind) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(gaps.iter().find(|(name, _)| *name == gap).map_or("", |(_, text)| text));
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn gaps_are_filled_once() {
        let gaps = [("key", "{found}"), ("found", "x")];
        assert_eq!(filled("'{key}' is {found}{hint}, not {key}", &gaps), "'{found}' is x, not {found}");
        assert_eq!(filled("", &gaps), "");
        assert_eq!(filled("none", &gaps), "none");
    }
}
