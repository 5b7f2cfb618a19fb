//! What every payload can do: name its point, show itself as JSON, take an amendment, and be looked into by matchers
//! without being turned into JSON.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::json::{Map, Value};

use crate::point::PointInfo;

#[doc(hidden)]
pub mod sealed {
    /// Seals the payload: only the catalogue and declared points implement it.
    pub trait Sealed {}
}

/// The payload of an event, its type erased.
///
/// The types of `lineside-points` implement it, and no others: a program that needs a point of its own declares it there.
pub trait Payload: sealed::Sealed + Any + Send + Sync + Debug {
    /// The point that it belongs to.
    fn info(&self) -> &'static PointInfo;

    /// Its fields in the order of the catalogue; an optional field without a value is left out.
    fn to_json(&self) -> Map;

    /// The compact JSON text of [`to_json`](Self::to_json).
    fn to_text(&self) -> String {
        crate::json::to_string(&self.to_json()).unwrap_or_default()
    }

    /// A copy in which the named fields have new values.
    ///
    /// # Errors
    /// A field that the point does not have, or a value of the wrong type; nothing is changed then.
    /// Whether a field *may* be amended is not asked here.
    fn with_fields(&self, fields: &Map) -> Result<Arc<dyn Payload>, DecodePayloadError>;

    /// The text of a field that is a string and has a value.
    fn text(&self, field: &str) -> Option<&str>;

    /// The value of a field that is free JSON and has a value.
    fn value(&self, field: &str) -> Option<&Value>;

    /// Calls `visit` for each path that the payload names: its `paths`, those in its tool input, and its changed files. One
    /// may come more than once.
    fn each_path(&self, visit: &mut dyn FnMut(&str));

    /// About how many bytes its fields take beside its own size: their texts and their JSON.
    fn weight(&self) -> usize;
}

/// A payload type that belongs to one point.
pub trait Point: Payload + Clone {
    /// The point.
    const INFO: &'static PointInfo;
}

/// A point at which an interceptor has authority.
pub trait Interceptable: Point {}

/// A point whose payload has fields that an amendment may change.
pub trait Amend: Interceptable {
    /// The fields that may be changed, each with a setter.
    type Amendment: Into<crate::Amendment> + Default + Send + 'static;
}

/// Why JSON is not the payload of a point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodePayloadError {
    /// A required field is absent.
    #[error("{point} needs the field `{field}`")]
    Missing {
        /// The point.
        point: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field has a value of another type.
    #[error("field `{field}` of {point}: {detail}")]
    WrongType {
        /// The point.
        point: &'static str,
        /// The field.
        field: &'static str,
        /// What was found and what was expected.
        detail: String,
    },
    /// The point has no such field.
    #[error("{point} has no field `{field}`")]
    Unknown {
        /// The point.
        point: &'static str,
        /// The field.
        field: String,
    },
}

/// How matchers look into one field of a payload. Implemented for every type that a payload field may have.
pub trait Probe {
    /// The text, where the field is a string with a value.
    fn text(&self) -> Option<&str> {
        None
    }
    /// The JSON, where the field is free JSON with a value.
    fn value(&self) -> Option<&Value> {
        None
    }
    /// Calls `visit` for each path, where the field is a list of paths.
    fn each_path(&self, _visit: &mut dyn FnMut(&str)) {}
    /// About how many bytes the field takes beside its own size.
    fn weight(&self) -> usize {
        self.text().map_or(0, str::len)
    }
}

impl Probe for String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl Probe for Value {
    fn text(&self) -> Option<&str> {
        self.as_str()
    }
    fn value(&self) -> Option<&Value> {
        Some(self)
    }
    fn weight(&self) -> usize {
        json_weight(self)
    }
}

/// About how many bytes a JSON value takes beside its own size.
#[must_use]
pub fn json_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.weight(),
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| size_of::<Value>() + json_weight(item)).sum(),
        Value::Object(fields) => fields_weight(fields),
    }
}

/// The same of the fields of a JSON object.
#[must_use]
pub fn fields_weight(fields: &Map) -> usize {
    let of_field = |(name, value): (&String, &Value)| {
        size_of::<String>() + name.len() + size_of::<Value>() + json_weight(value)
    };
    fields.iter().map(of_field).sum()
}

/// An item of a list field.
pub trait Item {
    /// The path that it stands for.
    fn path(&self) -> Option<&str> {
        None
    }
    /// About how many bytes it takes beside its own size.
    fn weight(&self) -> usize;
}

impl Item for Value {
    fn weight(&self) -> usize {
        json_weight(self)
    }
}

impl Item for String {
    fn path(&self) -> Option<&str> {
        Some(self)
    }
    fn weight(&self) -> usize {
        self.len()
    }
}

impl<T: Item> Probe for Vec<T> {
    fn each_path(&self, visit: &mut dyn FnMut(&str)) {
        self.iter().filter_map(T::path).for_each(visit);
    }
    fn weight(&self) -> usize {
        self.iter().map(|item| size_of::<T>() + item.weight()).sum()
    }
}

impl<T: Probe> Probe for Option<T> {
    fn text(&self) -> Option<&str> {
        self.as_ref().and_then(T::text)
    }
    fn value(&self) -> Option<&Value> {
        self.as_ref().and_then(T::value)
    }
    fn each_path(&self, visit: &mut dyn FnMut(&str)) {
        self.iter().for_each(|inner| inner.each_path(visit));
    }
    fn weight(&self) -> usize {
        self.as_ref().map_or(0, T::weight)
    }
}

impl Probe for bool {}
impl Probe for u64 {}
impl Probe for u16 {}

/// Calls `visit` for each path that a tool input names, under whichever of the names that tools have for it: see
/// [`PATHS`](crate::tool_class::PATHS).
///
/// ```
/// use lineside_core::json::json;
/// use lineside_core::payload::each_input_path;
///
/// let input = json!({"file_path": "src/lib.rs", "content": ""});
/// let mut paths = Vec::new();
/// each_input_path(&input, &mut |path| paths.push(path.to_owned()));
/// assert_eq!(paths, ["src/lib.rs"]);
/// ```
pub fn each_input_path(tool_input: &Value, visit: &mut dyn FnMut(&str)) {
    crate::tool_class::paths(tool_input).for_each(visit);
}

#[cfg(test)]
mod tests;
