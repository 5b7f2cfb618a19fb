//! Patterns to what is searched for, within bounds.

use lineside_search::Searcher;

use super::{Filter, Names};

/// The bytes of all patterns of one filter, if any of them is a glob. To prepare 100 kB of them takes minutes.
pub(super) const MOST_GLOB_BYTES: usize = 8 << 10;

/// Why filters cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileMatcherError {
    /// An invalid glob.
    #[error("the {filter} pattern `{pattern}` is not a glob: {detail}")]
    Glob {
        /// The filter.
        filter: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        detail: String,
    },
    /// More globs than can be prepared in a moment.
    #[error(
        "the {filter} globs have more than {MOST_GLOB_BYTES} bytes together, which is the most there may be"
    )]
    TooLong {
        /// The filter.
        filter: &'static str,
    },
    /// An invalid condition.
    #[error("{detail}")]
    Condition {
        /// What is wrong with it.
        detail: String,
    },
    /// A regular expression that is invalid or too large.
    #[error("the {filter} pattern `{pattern}` is not a regular expression: {detail}")]
    Text {
        /// The filter.
        filter: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        detail: String,
    },
}

impl CompileMatcherError {
    /// The filter, and the pattern as it was written.
    #[must_use]
    pub fn place(&self) -> (&'static str, &str) {
        match self {
            Self::Glob { filter, pattern, .. } | Self::Text { filter, pattern, .. } => (filter, pattern),
            Self::TooLong { filter } => (filter, ""),
            Self::Condition { .. } => ("", ""),
        }
    }
}

pub(super) fn compile_globs(filter: Filter, patterns: &[String]) -> Result<Names, CompileMatcherError> {
    if patterns.is_empty() {
        return Ok(Names::Any);
    }
    if patterns.iter().all(|pattern| !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])) {
        return Ok(Names::Plain(patterns.to_vec()));
    }
    if patterns.iter().map(String::len).sum::<usize>() > MOST_GLOB_BYTES {
        return Err(CompileMatcherError::TooLong { filter: filter.as_str() });
    }
    let globs = Searcher::of_globs(patterns.iter().map(String::as_str));
    globs.map(Names::Globs).map_err(|error| CompileMatcherError::Glob {
        filter: filter.as_str(),
        pattern: error.glob().map_or_else(|| patterns.join(", "), str::to_owned),
        detail: error.to_string(),
    })
}

pub(super) fn compile_text(filter: Filter, pattern: &str) -> Result<Searcher, CompileMatcherError> {
    Searcher::of_regex(pattern, 1 << 20).map_err(|error| CompileMatcherError::Text {
        filter: filter.as_str(),
        pattern: pattern.to_owned(),
        detail: error.to_string(),
    })
}
