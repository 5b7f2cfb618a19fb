//! Points that a vendor declares at run time: `x.<vendor>.<before_…|after_…|on_…>`.

use std::sync::{Arc, PoisonError, RwLock};

use lineside_core::json::{Map, Value};
use lineside_core::payload::{DecodePayloadError, each_input_path, fields_weight};
use lineside_core::point::{Field, PointRole, Slot};
use lineside_core::{Payload, Phase, PointInfo};

static DECLARED: RwLock<Vec<&'static PointInfo>> = RwLock::new(Vec::new());

/// The payload of a declared point: any JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct Custom {
    point: &'static PointInfo,
    fields: Map,
}

impl Custom {
    /// A payload of a declared point.
    #[must_use]
    pub fn new(point: &'static PointInfo, fields: Map) -> Self {
        Self { point, fields }
    }

    /// Its fields.
    #[must_use]
    pub fn fields(&self) -> &Map {
        &self.fields
    }
}

/// Declares a point for the rest of the program's life. Declaring it again with the same fields gives the same point.
///
/// # Errors
/// A name that is not `x.<vendor>.` and a part that begins with `before_`, `after_` or `on_`; a name that is already
/// declared with other fields; amendable fields at a fact.
///
/// # Examples
/// ```
/// use lineside_core::json::json;
/// use lineside_points::custom::{Custom, declare};
///
/// let point = declare("x.acme.before_deploy", &["target"])?;
/// let lineside_core::json::Value::Object(fields) = json!({"target": "staging"}) else { unreachable!() };
/// assert_eq!(Custom::new(point, fields).fields().get("target"), Some(&json!("staging")));
/// assert!(declare("deploy", &[]).is_err(), "it is not a name of a vendor");
/// # Ok::<_, lineside_points::custom::DeclarePointError>(())
/// ```
pub fn declare(name: &str, amendable: &[&str]) -> Result<&'static PointInfo, DeclarePointError> {
    let error = |why| DeclarePointError { name: name.to_owned(), why };
    let named = name.starts_with("x.") && name.split('.').count() == 3 && !name.split('.').any(str::is_empty);
    let phase = Phase::of(name).filter(|_| named).ok_or_else(|| {
        error("the name must be x.<vendor>.<point>, where <point> begins with before_, after_ or on_")
    })?;
    if phase == Phase::On && !amendable.is_empty() {
        return Err(error("nothing can be amended at a fact"));
    }
    let mut declared = DECLARED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = declared.iter().find(|point| point.name == name) {
        let same = known.amendable().eq(amendable.iter().copied());
        return if same {
            Ok(known)
        } else {
            Err(error("it is already declared with other amendable fields"))
        };
    }
    let fields: Vec<Field> =
        amendable.iter().map(|name| Field { name: leak(name), required: false, amendable: true }).collect();
    let point: &'static PointInfo = Box::leak(Box::new(PointInfo {
        name: leak(name),
        phase,
        role: PointRole::None,
        slot: Slot::Declared,
        fields: Box::leak(fields.into_boxed_slice()),
        decode: |point, fields| Ok(Arc::new(Custom { point, fields })),
    }));
    declared.push(point);
    Ok(point)
}

/// How many points are declared.
#[must_use]
pub fn count() -> usize {
    DECLARED.read().unwrap_or_else(PoisonError::into_inner).len()
}

/// The declared point of that name.
pub(crate) fn declared(name: &str) -> Option<&'static PointInfo> {
    DECLARED.read().unwrap_or_else(PoisonError::into_inner).iter().copied().find(|point| point.name == name)
}

/// Points are declared once and live as long as the program.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

impl lineside_core::payload::sealed::Sealed for Custom {}

impl Payload for Custom {
    fn info(&self) -> &'static PointInfo {
        self.point
    }

    fn to_json(&self) -> Map {
        self.fields.clone()
    }

    fn to_text(&self) -> String {
        lineside_core::json::to_string(&self.fields).unwrap_or_default()
    }

    fn with_fields(&self, fields: &Map) -> Result<Arc<dyn Payload>, DecodePayloadError> {
        let mut copy = self.clone();
        copy.fields.extend(fields.clone());
        Ok(Arc::new(copy))
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    fn value(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }

    fn weight(&self) -> usize {
        fields_weight(&self.fields)
    }

    fn each_path(&self, visit: &mut dyn FnMut(&str)) {
        let named = self.fields.get("paths").and_then(Value::as_array);
        named.into_iter().flatten().filter_map(Value::as_str).for_each(&mut *visit);
        each_input_path(self.fields.get("tool_input").unwrap_or(&Value::Null), visit);
    }
}

/// Why a point cannot be declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot declare the point `{name}`: {why}")]
pub struct DeclarePointError {
    /// Its name.
    pub name: String,
    /// Why not.
    pub why: &'static str,
}
