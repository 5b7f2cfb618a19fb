//! An object in the making, whose absent values are left out.

use lineside_core::json::{Map, Value};

/// Fields, in the order in which they were put.
#[derive(Debug, Default)]
pub(super) struct Fields(Map);

impl Fields {
    /// A field.
    pub(super) fn put(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// A field that is left out when there is no value.
    pub(super) fn may(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn into_map(self) -> Map {
        self.0
    }
}
