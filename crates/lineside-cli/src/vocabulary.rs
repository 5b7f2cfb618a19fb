//! Which point a name stands for: the catalogue's own name, or that of a dialect.

use anyhow::{Result, bail};
use lineside::core::PointInfo;
use lineside::core::nearest::nearest;
use lineside::dialects::Dialect;
use lineside::points::{self, CATALOGUE};
use serde_json::{Map, Value};

/// The names that are understood.
pub(crate) struct Vocabulary {
    dialects: Vec<&'static dyn Dialect>,
}

impl Vocabulary {
    pub(crate) fn new(dialects: &[&'static dyn Dialect]) -> Self {
        Self { dialects: dialects.to_vec() }
    }

    /// The point of that name. Where a dialect's name stands for several, the payload decides.
    ///
    /// # Errors
    /// No point has the name; the nearest one is proposed.
    pub(crate) fn point(&self, name: &str, payload: &Map<String, Value>) -> Result<&'static PointInfo> {
        if let Ok(point) = points::find(name) {
            return Ok(point);
        }
        if let Some(point) = self.dialects.iter().find_map(|dialect| dialect.point(name, payload)) {
            return Ok(point);
        }
        if name.starts_with("x.") {
            bail!("unknown point `{name}`: it is a vendor's, and nothing here has declared it");
        }
        let foreign = self.dialects.iter().flat_map(|dialect| dialect.names());
        let known = CATALOGUE.iter().map(|point| point.name).chain(foreign);
        bail!("unknown point `{name}`; the nearest is `{}`", nearest(name, known).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use lineside::dialects::DIALECTS;
    use serde_json::Map;

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
        check("", Err("unknown point ``; the nearest is `stop`"));
    }
}
