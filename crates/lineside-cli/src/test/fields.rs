//! The fields of an object in a case file: each is asked for by name, and a field that is not asked for is an error.

use anyhow::{Context as _, Result, anyhow, bail};
use lineside::core::nearest::suggestion;
use lineside::json::{Map, Value};
use lineside::wire::kind_of;
use serde::de::DeserializeOwned;

/// An object, and where it stands.
pub(super) struct Fields<'a> {
    place: String,
    map: &'a Map,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of a value that must be an object.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn of(place: impl Into<String>, value: &'a Value) -> Result<Self> {
        let place = place.into();
        match value {
            Value::Object(map) => Ok(Self { place, map, known: Vec::new() }),
            other => bail!("{place} must be an object, not {}", kind_of(other)),
        }
    }

    /// Where the object stands.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// The value of a field, if it is there.
    pub(super) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.map.get(name)
    }

    /// A field read as a type, if it is there.
    ///
    /// # Errors
    /// It has another type.
    pub(super) fn optional<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        T::deserialize(value).map(Some).map_err(|error| anyhow!("`{name}` of {}: {error}", self.place))
    }

    /// A field read as a type.
    ///
    /// # Errors
    /// It is absent or has another type.
    pub(super) fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T> {
        self.optional(name)?.with_context(|| format!("{} needs the field `{name}`", self.place))
    }

    /// That every field was asked for.
    ///
    /// # Errors
    /// One was not; the nearest that is known is proposed.
    pub(super) fn finish(self) -> Result<()> {
        let Some(unknown) = self.map.keys().find(|name| !self.known.contains(&name.as_str())) else {
            return Ok(());
        };
        match suggestion(unknown, self.known.iter().copied()) {
            Some(near) => bail!("unknown key `{unknown}` in {}; is `{near}` meant?", self.place),
            None => bail!("unknown key `{unknown}` in {}; known are {}", self.place, self.known.join(", ")),
        }
    }
}
