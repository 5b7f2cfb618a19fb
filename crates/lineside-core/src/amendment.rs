//! A change to a payload: exact, all of it or none of it, recorded field by field.

use std::sync::Arc;

use crate::json::{Map, Value};
use serde::Serialize;

use crate::payload::{DecodePayloadError, Payload};

/// New values for fields of a payload.
///
/// Closures make one through the typed setters of their point; handlers outside the process give JSON.
///
/// ```
/// use lineside_core::Amendment;
/// use lineside_core::json::json;
///
/// let amendment = Amendment::default().with("tool_input", json!({"command": "ls"}));
/// assert_eq!(amendment.fields().get("tool_input"), Some(&json!({"command": "ls"})));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amendment {
    fields: Map,
}

impl Amendment {
    /// An amendment of the fields of a JSON object.
    ///
    /// ```
    /// use lineside_core::Amendment;
    /// use lineside_core::json::{Map, json};
    ///
    /// // As a program answers, for example.
    /// let fields = Map::from([("prompt".to_owned(), json!("be brief"))]);
    /// assert_eq!(Amendment::from_json(fields), Amendment::default().with("prompt", json!("be brief")));
    /// assert!(Amendment::default().is_empty());
    /// ```
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
    /// The field cannot have the new value, or does not exist.
    #[error(transparent)]
    Value(#[from] DecodePayloadError),
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Amendment, ApplyAmendmentError, Change};
    use crate::json::{Map, Value, json};
    use crate::payload::{DecodePayloadError, Payload};
    use crate::point::{Field, Phase, PointInfo, PointRole, Slot};

    const fn field(name: &'static str, amendable: bool) -> Field {
        Field { name, required: true, amendable }
    }

    static POINT: PointInfo = PointInfo {
        name: "before_test",
        phase: Phase::Before,
        role: PointRole::None,
        slot: Slot::Declared,
        fields: &[field("fixed", false), field("free", true), field("other", true)],
        decode: |_, fields| Ok(Arc::new(Fields(fields))),
    };

    /// A payload that takes any value but `false`.
    #[derive(Debug)]
    struct Fields(Map);

    impl crate::payload::sealed::Sealed for Fields {}

    impl Payload for Fields {
        fn info(&self) -> &'static PointInfo {
            &POINT
        }

        fn to_json(&self) -> Map {
            self.0.clone()
        }

        fn with_fields(&self, fields: &Map) -> Result<Arc<dyn Payload>, DecodePayloadError> {
            let mut all = self.0.clone();
            for (field, value) in fields {
                if *value == Value::Bool(false) {
                    return Err(wrong_type());
                }
                all.insert(field.clone(), value.clone());
            }
            Ok(Arc::new(Self(all)))
        }

        fn text(&self, _: &str) -> Option<&str> {
            None
        }

        fn value(&self, _: &str) -> Option<&Value> {
            None
        }

        fn each_path(&self, _: &mut dyn FnMut(&str)) {}

        fn weight(&self) -> usize {
            0
        }
    }

    fn wrong_type() -> DecodePayloadError {
        DecodePayloadError::WrongType { point: POINT.name, field: "free", detail: "no".to_owned() }
    }

    fn map(value: Value) -> Map {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    fn of(value: Value) -> Amendment {
        Amendment::from_json(map(value))
    }

    /// The payload after an amendment, and what changed.
    fn apply(amendment: &Amendment) -> Result<Option<(Value, Vec<Change>)>, ApplyAmendmentError> {
        let payload = Fields(map(json!({"fixed": 1, "free": 2})));
        let amended = amendment.apply(&payload)?;
        Ok(amended.map(|amended| (amended.payload.to_json().into(), amended.changes)))
    }

    fn change(field: &str, before: Value, after: Value) -> Change {
        Change { field: field.to_owned(), before, after }
    }

    #[test]
    fn an_amendment_has_the_last_value_of_each_field() {
        assert!(Amendment::default().is_empty() && Amendment::default().fields().is_empty());
        let amendment = Amendment::default().with("free", json!(3)).with("other", json!(4));
        assert!(!amendment.is_empty());
        assert_eq!(amendment, of(json!({"free": 3, "other": 4})));
        assert_eq!(amendment.with("free", json!(5)).fields(), &map(json!({"free": 5, "other": 4})));
    }

    #[test]
    fn what_changes_is_recorded_with_before_and_after() {
        let (payload, changes) = apply(&of(json!({"other": 4, "free": 3}))).unwrap().unwrap();
        assert_eq!(payload, json!({"fixed": 1, "free": 3, "other": 4}));
        assert_eq!(changes, [change("other", Value::Null, json!(4)), change("free", json!(2), json!(3))]);
    }

    #[test]
    fn a_value_that_is_there_already_is_no_change() {
        assert_eq!(apply(&Amendment::default()), Ok(None));
        assert_eq!(apply(&of(json!({"free": 2}))), Ok(None));
        let (_, changes) = apply(&of(json!({"free": 2, "other": 4}))).unwrap().unwrap();
        assert_eq!(changes, [change("other", Value::Null, json!(4))]);
    }

    #[test]
    fn an_amendment_is_applied_as_a_whole_or_not_at_all() {
        let fixed = ApplyAmendmentError::Fixed { point: POINT.name, field: "fixed".to_owned() };
        assert_eq!(apply(&of(json!({"free": 3, "fixed": 1}))), Err(fixed));
        let unknown = DecodePayloadError::Unknown { point: POINT.name, field: "fre".to_owned() };
        assert_eq!(apply(&of(json!({"free": 3, "fre": 1}))), Err(unknown.into()));
        assert_eq!(apply(&of(json!({"other": 3, "free": false}))), Err(wrong_type().into()));
    }
}
