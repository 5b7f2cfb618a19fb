//! A change to a payload: exact, all of it or none of it, recorded field by field.

use std::sync::Arc;

use crate::json::{Map, Value};
use serde::Serialize;

use crate::payload::{DecodePayloadError, Payload};

/// New values for fields of a payload.
///
/// Closures make one through the typed setters of their point; handlers outside the process give JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amendment {
    fields: Map,
}

impl Amendment {
    /// An amendment of the fields of a JSON object.
    #[must_use]
    pub fn from_json(fields: Map) -> Self {
        Self { fields }
    }

    /// Sets one more field; a later value of the same field replaces an earlier one.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.fields.insert(field.to_owned(), value);
        self
    }

    /// Whether it names no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields and their new values.
    #[must_use]
    pub fn fields(&self) -> &Map {
        &self.fields
    }

    /// Applies it to a payload: the new payload and what changed in it, in the order of the amendment.
    ///
    /// A field that gets the value it already has is no change; without any change the answer is `None`.
    ///
    /// # Errors
    /// A field that the point does not have or does not allow to be amended, or a value of the wrong type.
    /// The payload is then as it was: an amendment is never applied in part.
    pub fn apply(&self, payload: &dyn Payload) -> Result<Option<Amended>, ApplyAmendmentError> {
        let point = payload.info();
        for field in self.fields.keys() {
            match point.field(field) {
                Some(known) if known.amendable => {}
                Some(_) => {
                    return Err(ApplyAmendmentError::Fixed { point: point.name, field: field.clone() });
                }
                None => {
                    return Err(
                        DecodePayloadError::Unknown { point: point.name, field: field.clone() }.into()
                    );
                }
            }
        }
        let current = payload.to_json();
        let changes: Vec<_> = self
            .fields
            .iter()
            .map(|(field, after)| Change {
                field: field.clone(),
                before: current.get(field).cloned().unwrap_or_default(),
                after: after.clone(),
            })
            .filter(|change| change.before != change.after)
            .collect();
        if changes.is_empty() {
            return Ok(None);
        }
        let fields = changes.iter().map(|change| (change.field.clone(), change.after.clone())).collect();
        Ok(Some(Amended { payload: payload.with_fields(&fields)?, changes }))
    }
}

/// A payload after an amendment.
#[derive(Debug, Clone)]
pub struct Amended {
    /// The new payload.
    pub payload: Arc<dyn Payload>,
    /// What changed; never empty.
    pub changes: Vec<Change>,
}

/// One field before and after an amendment; `null` where it had or has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The field.
    pub field: String,
    /// Its value before.
    pub before: Value,
    /// Its value after.
    pub after: Value,
}

/// Why an amendment was refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyAmendmentError {
    /// The point has the field, but it may not be changed.
    #[error("`{field}` of {point} cannot be amended")]
    Fixed {
        /// The point.
        point: &'static str,
        /// The field.
        field: String,
    },
    /// The new value is none that the field can have, or there is no such field.
    #[error(transparent)]
    Value(#[from] DecodePayloadError),
}
