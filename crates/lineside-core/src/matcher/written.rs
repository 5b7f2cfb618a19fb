//! Filters as they stand in a file: the mapping `match` of lineside's own format.

use crate::json::{Map, json};

use super::{Condition, Filter, MatcherDraft};

impl MatcherDraft {
    /// The filters by their names, as a file has them. Several conditions are those of one call there.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let written = |filter: Filter| match filter {
            Filter::Tool => json!(self.tools),
            Filter::Path => json!(self.paths),
            Filter::Agent => json!(self.agents),
            Filter::AgentKind => self.kinds.iter().map(|kind| kind.as_str()).collect(),
            Filter::Model => json!(self.models),
            Filter::Project => json!(self.projects),
            Filter::Argument => {
                self.arguments.iter().map(|(key, pattern)| (key.clone(), json!(pattern))).collect()
            }
            Filter::Text => json!(self.text),
        };
        let filters = self.filters().map(|filter| (filter.as_str().to_owned(), written(filter)));
        let mut conditions = self.conditions();
        match (conditions.next(), conditions.next()) {
            (None, _) => filters.collect(),
            (Some(only), None) => filters.chain(only.written()).collect(),
            // Under one key each of them could stand once.
            _ => filters
                .chain([("all".to_owned(), self.conditions().map(Condition::written).collect())])
                .collect(),
        }
    }
}
