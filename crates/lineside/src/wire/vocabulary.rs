//! Which point a name stands for: the catalogue's own name, or that of a dialect.

use lineside_core::PointInfo;
use lineside_core::json::Map;
use lineside_core::nearest::suggestion;
use lineside_dialects::hosts::Host;
use lineside_dialects::{Dialect, meant};
use lineside_points::{self as points, CATALOGUE};

/// The names of points that are understood.
///
/// ```
/// use lineside::dialects::DIALECTS;
/// use lineside::json::Map;
/// use lineside::wire::Vocabulary;
///
/// let vocabulary = Vocabulary::new(DIALECTS);
/// assert_eq!(vocabulary.point("before_tool", &Map::new()).unwrap().name, "before_tool");
/// let error = vocabulary.point("befor_tool", &Map::new()).unwrap_err();
/// assert!(error.to_string().contains("the nearest is `before_tool`"));
/// ```
#[derive(Clone)]
pub struct Vocabulary {
    dialects: Vec<&'static dyn Dialect>,
    /// Whether there are dialects, and all are those of agent programs.
    is_of_hosts: bool,
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.dialects.iter().map(|dialect| dialect.name())).finish()
    }
}

/// Why a name is that of no point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindPointError {
    /// No point has this name.
    #[error("unknown point `{name}`{}", proposal(nearest.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The name that may have been meant: of the point that another format calls so, else a near one.
        nearest: Option<String>,
    },
    /// A vendor's point that is not declared in this program.
    #[error("unknown point `{0}`: it is a vendor's, and nothing here has declared it")]
    Undeclared(String),
}

fn proposal(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; the nearest is `{nearest}`"))
}

impl Vocabulary {
    /// The names of the catalogue and of these dialects.
    #[must_use]
    pub fn new(dialects: &[&'static dyn Dialect]) -> Self {
        lineside_dialects::declare_points();
        let is_host = |dialect: &&dyn Dialect| Host::named(dialect.name()).is_some();
        Self {
            dialects: dialects.to_vec(),
            is_of_hosts: !dialects.is_empty() && dialects.iter().all(is_host),
        }
    }

    /// Whether the words are those of agent programs alone, in which calls have a class and name their files. In the
    /// company of others a payload stays as its publisher wrote it, and so does its digest.
    pub(super) fn is_of_hosts(&self) -> bool {
        self.is_of_hosts
    }

    /// The point of that name. Where a dialect's name stands for several, the payload decides.
    ///
    /// ```
    /// use lineside::dialects::DIALECTS;
    /// use lineside::json::Map;
    /// use lineside::wire::{FindPointError, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::new(DIALECTS);
    /// let vendors = vocabulary.point("x.acme.on_deploy", &Map::new());
    /// assert_eq!(vendors.err(), Some(FindPointError::Undeclared("x.acme.on_deploy".into())));
    /// ```
    ///
    /// # Errors
    /// No point has the name; the one that may have been meant is proposed, if there is one.
    pub fn point(&self, name: &str, payload: &Map) -> Result<&'static PointInfo, FindPointError> {
        if let Ok(point) = points::find(name) {
            return Ok(point);
        }
        if let Some(point) = self.dialects.iter().find_map(|dialect| dialect.point(name, payload)) {
            return Ok(point);
        }
        if name.starts_with("x.") {
            return Err(FindPointError::Undeclared(name.to_owned()));
        }
        let foreign = self.dialects.iter().flat_map(|dialect| dialect.names());
        let known = CATALOGUE.iter().map(|point| point.name).chain(foreign);
        let meant = meant(name).map(|point| point.name);
        let nearest = meant.or_else(|| suggestion(name, known)).map(str::to_owned);
        Err(FindPointError::Unknown { name: name.to_owned(), nearest })
    }

    /// Puts into a payload what the name of its point says, where the payload does not say it.
    pub(super) fn put_said(&self, name: &str, payload: &mut Map) {
        let said = self.dialects.iter().filter(|_| points::find(name).is_err());
        if let Some((field, value)) = said.filter_map(|dialect| dialect.said_by(name)).next()
            && !payload.contains_key(field)
        {
            payload.insert(field.to_owned(), value.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::Map;
    use lineside_dialects::DIALECTS;

    use super::Vocabulary;

    fn check(name: &str, expected: Result<&str, &str>) {
        let vocabulary = Vocabulary::new(DIALECTS);
        let found = vocabulary.point(name, &Map::new());
        assert_eq!(
            found.map(|point| point.name).map_err(|error| error.to_string()),
            expected.map_err(str::to_owned)
        );
    }

    #[test]
    fn both_spellings_are_understood() {
        check("before_tool", Ok("before_tool"));
        check("session_start", Ok("before_session"));
        check("pre-tool-call", Ok("before_tool"));
    }

    #[test]
    fn the_nearest_name_is_proposed_in_either_spelling() {
        check("befor_tool", Err("unknown point `befor_tool`; the nearest is `before_tool`"));
        check("pre-tool-cal", Err("unknown point `pre-tool-cal`; the nearest is `pre-tool-call`"));
        check(
            "x.acme.before_deploy",
            Err("unknown point `x.acme.before_deploy`: it is a vendor's, and nothing here has declared it"),
        );
        // By what is meant, and rather none than a wrong one.
        check("PreToolUses", Err("unknown point `PreToolUses`; the nearest is `PreToolUse`"));
        check("subagent:stop", Err("unknown point `subagent:stop`; the nearest is `after_subagent`"));
        check("xyzzy", Err("unknown point `xyzzy`"));
    }
}
