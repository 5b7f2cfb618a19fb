//! Lists of globs over paths, prepared so that a path is compared with the few that can fit it.

use crate::filter::glob_fits;
use crate::path::{is_pattern, meet};
use crate::state::Surroundings;

type ByName = std::collections::HashMap<String, Vec<usize>, foldhash::fast::FixedState>;

/// Globs of which one has to fit. `~` is home, what is relative lies in the project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globs {
    all: Vec<String>,
    /// Those that end with a name, by it.
    by_name: ByName,
    /// Those that end with a pattern.
    others: Vec<usize>,
}

impl Globs {
    pub(crate) fn new<S: Into<String>>(globs: impl IntoIterator<Item = S>) -> Globs {
        let mut list = Globs::default();
        list.extend(globs);
        list
    }

    pub(crate) fn extend<S: Into<String>>(&mut self, globs: impl IntoIterator<Item = S>) {
        for glob in globs.into_iter().map(Into::into) {
            let name = last_name(&glob);
            if is_pattern(name) || name.starts_with('~') || name.contains('\\') {
                self.others.push(self.all.len());
            } else {
                self.by_name.entry(name.to_owned()).or_default().push(self.all.len());
            }
            self.all.push(glob);
        }
    }

    /// Whether one fits a path that may be a pattern itself.
    pub(crate) fn fit(&self, path: &str, state: &Surroundings<'_>) -> bool {
        if self.all.is_empty() {
            return false;
        }
        if is_pattern(path) {
            return self.all.iter().any(|glob| glob_fits(glob, path, state));
        }
        let named = self.by_name.get(last_name(path)).map_or(&[][..], Vec::as_slice);
        self.others.iter().chain(named).any(|index| fits_name(&self.all[*index], path, state))
    }
}

fn last_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Whether a glob fits a path that is no pattern; the same as [`glob_fits`] answers, without a copy of either.
fn fits_name(glob: &str, path: &str, state: &Surroundings<'_>) -> bool {
    let below = |folder: &str, glob: &str| {
        path.strip_prefix(folder.trim_end_matches('/'))
            .is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && meet(rest, glob))
    };
    match glob.strip_prefix('~') {
        Some(rest) => below(state.home, rest),
        None if glob.starts_with('/') || glob.starts_with("**") => meet(path, glob),
        None => below(state.project, glob),
    }
}
