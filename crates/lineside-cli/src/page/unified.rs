//! The differences of two texts, line by line.

use std::time::Duration;

use similar::TextDiff;

/// How many lines that stay are shown around a change.
const AROUND: usize = 3;

/// How long the shortest difference is looked for; then one is shown that is longer.
const EXACTLY: Duration = Duration::from_secs(1);

/// A unified diff, with the names of both sides where they are given.
pub(crate) fn unified(before: &str, after: &str, names: Option<[&str; 2]>) -> String {
    let diff = TextDiff::configure().timeout(EXACTLY).diff_lines(before, after);
    let mut unified = diff.unified_diff();
    unified.context_radius(AROUND);
    if let Some([before, after]) = names {
        unified.header(before, after);
    }
    unified.to_string()
}
