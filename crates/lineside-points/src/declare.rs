//! The two macros behind the catalogue: one declares a point with its payload, the other numbers the points.
//!
//! A point is declared once, in the words of the specification; everything else follows from the declaration.

/// Declares points, with a role where they have one. Fields under `needs` are required, those under `may` optional, and those
/// after `amend` may be changed.
macro_rules! points {
    ($(
        $(#[$doc:meta])*
        $point:ident = $name:literal, $phase:ident $(, role $role:ident)? $(, amend $amendment:ident [ $($amended:ident : $amended_type:ty),* ])? {
            needs { $(
                $(#[$required_doc:meta])* $required:ident : $required_type:ty ;
            )* }
            may { $(
                $(#[$optional_doc:meta])* $optional:ident : $optional_type:ty ;
            )* }
        }
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub struct $point {
            $( $(#[$required_doc])* pub $required: $required_type, )*
            $(
                $(#[$optional_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$optional_type>,
            )*
        }

        impl $point {
            #[allow(dead_code, reason = "a point may have no fields")]
            const AMENDABLE: &'static [&'static str] = &[$( $( stringify!($amended) ),* )?];

            /// A payload with its required fields; the optional ones are absent.
            #[allow(clippy::new_without_default, reason = "an event is made on purpose")]
            #[must_use]
            pub fn new($($required: impl Into<$required_type>),*) -> Self {
                Self { $($required: $required.into(),)* $($optional: None,)* }
            }

            /// The payload that a JSON object is. Fields that the point does not have are passed over.
            #[allow(unused_variables, unused_mut, reason = "a point may have no fields")]
            #[allow(clippy::needless_pass_by_value, reason = "the shape of every decoder")]
            fn decode(
                _: &'static lineside_core::PointInfo,
                mut fields: lineside_core::json::Map,
            ) -> Result<std::sync::Arc<dyn lineside_core::Payload>, lineside_core::payload::DecodePayloadError> {
                Ok(std::sync::Arc::new(Self {
                    $( $required: $crate::declare::required($name, stringify!($required), &mut fields)?, )*
                    $( $optional: $crate::declare::optional($name, stringify!($optional), &mut fields)?, )*
                }))
            }

            $(
                #[doc = concat!("The payload with `", stringify!($optional), "`.")]
                #[must_use]
                pub fn $optional(mut self, value: impl Into<$optional_type>) -> Self {
                    self.$optional = Some(value.into());
                    self
                }
            )*
        }

        impl lineside_core::payload::sealed::Sealed for $point {}

        #[allow(unused_mut, unused_variables, reason = "a point may have no fields")]
        impl lineside_core::Payload for $point {
            fn info(&self) -> &'static lineside_core::PointInfo {
                <Self as lineside_core::Point>::INFO
            }

            fn to_json(&self) -> lineside_core::json::Map {
                let mut map = lineside_core::json::Map::new();
                $( map.insert(stringify!($required).to_owned(), $crate::declare::json(&self.$required)); )*
                $( if let Some(value) = &self.$optional {
                    map.insert(stringify!($optional).to_owned(), $crate::declare::json(value));
                } )*
                map
            }

            fn to_text(&self) -> String {
                let mut object = lineside_core::json::ObjectText::new();
                $( lineside_core::json::Fields::put(&mut object, stringify!($required), &self.$required); )*
                $( if let Some(value) = &self.$optional {
                    lineside_core::json::Fields::put(&mut object, stringify!($optional), value);
                } )*
                object.end()
            }

            fn with_fields(
                &self,
                fields: &lineside_core::json::Map,
            ) -> Result<std::sync::Arc<dyn lineside_core::Payload>, lineside_core::payload::DecodePayloadError> {
                let mut copy = self.clone();
                for (field, value) in fields {
                    match field.as_str() {
                        $( stringify!($required) => {
                            copy.$required = $crate::declare::read($name, stringify!($required), value)?;
                        } )*
                        $( stringify!($optional) => {
                            copy.$optional = $crate::declare::read($name, stringify!($optional), value)?;
                        } )*
                        _ => return Err(lineside_core::payload::DecodePayloadError::Unknown {
                            point: $name,
                            field: field.clone(),
                        }),
                    }
                }
                Ok(std::sync::Arc::new(copy))
            }

            fn text(&self, field: &str) -> Option<&str> {
                $( if field == stringify!($required) {
                    return lineside_core::payload::Probe::text(&self.$required);
                } )*
                $( if field == stringify!($optional) {
                    return lineside_core::payload::Probe::text(&self.$optional);
                } )*
                None
            }

            fn value(&self, field: &str) -> Option<&lineside_core::json::Value> {
                $( if field == stringify!($required) {
                    return lineside_core::payload::Probe::value(&self.$required);
                } )*
                $( if field == stringify!($optional) {
                    return lineside_core::payload::Probe::value(&self.$optional);
                } )*
                None
            }

            fn weight(&self) -> usize {
                0 $( + lineside_core::payload::Probe::weight(&self.$required) )*
                    $( + lineside_core::payload::Probe::weight(&self.$optional) )*
            }

            fn each_path(&self, visit: &mut dyn FnMut(&str)) {
                $( if $crate::declare::names_paths(stringify!($required)) {
                    lineside_core::payload::Probe::each_path(&self.$required, visit);
                } )*
                $( if $crate::declare::names_paths(stringify!($optional)) {
                    lineside_core::payload::Probe::each_path(&self.$optional, visit);
                } )*
                // What a publisher says of the paths does not hide others.
                if let Some(input) = self.value("tool_input") {
                    lineside_core::payload::each_input_path(input, visit);
                }
            }
        }

        impl lineside_core::Point for $point {
            const INFO: &'static lineside_core::PointInfo = &lineside_core::PointInfo {
                name: $name,
                phase: lineside_core::Phase::$phase,
                role: $crate::declare::role!($($role)?),
                slot: lineside_core::point::Slot::Catalogue($crate::Number::$point as u8),
                fields: &[
                    $( lineside_core::point::Field {
                        name: stringify!($required),
                        required: true,
                        amendable: $crate::declare::contains(Self::AMENDABLE, stringify!($required)),
                    }, )*
                    $( lineside_core::point::Field {
                        name: stringify!($optional),
                        required: false,
                        amendable: $crate::declare::contains(Self::AMENDABLE, stringify!($optional)),
                    }, )*
                ],
                decode: Self::decode,
            };
        }

        $crate::declare::authority!($phase $point);

        $(
            #[doc = concat!("New values for the fields of [`", stringify!($point), "`] that may be amended.")]
            #[derive(Debug, Clone, Default, PartialEq)]
            pub struct $amendment(lineside_core::Amendment);

            impl $amendment {
                $(
                    #[doc = concat!("Sets `", stringify!($amended), "`.")]
                    #[must_use]
                    pub fn $amended(self, value: impl Into<$amended_type>) -> Self {
                        Self(self.0.with(stringify!($amended), $crate::declare::json::<$amended_type>(&value.into())))
                    }
                )*
            }

            impl From<$amendment> for lineside_core::Amendment {
                fn from(amendment: $amendment) -> Self {
                    amendment.0
                }
            }

            impl lineside_core::payload::Amend for $point {
                type Amendment = $amendment;
            }

            impl $point {
                /// An amendment that changes nothing yet.
                #[must_use]
                pub fn amend() -> $amendment {
                    $amendment::default()
                }
            }
        )?
    )* };
}

/// Marks gates and reviews as open to interceptors; facts are not.
macro_rules! authority {
    (On $point:ident) => {};
    ($phase:ident $point:ident) => {
        impl lineside_core::payload::Interceptable for $point {}
    };
}

/// The role of a point.
macro_rules! role {
    () => {
        lineside_core::point::PointRole::None
    };
    ($role:ident) => {
        lineside_core::point::PointRole::$role
    };
}

/// Numbers the points in the order of the catalogue.
macro_rules! catalogue {
    ($($point:ident),* $(,)?) => {
        /// The number of each point of the catalogue.
        #[derive(Clone, Copy)]
        pub(crate) enum Number { $($point),* }

        /// How many points the catalogue has.
        pub const COUNT: usize = [$(stringify!($point)),*].len();

        /// All points of the catalogue, in its order.
        pub static CATALOGUE: &[&lineside_core::PointInfo] = &[
            $( <$point as lineside_core::Point>::INFO ),*
        ];
    };
}

pub(crate) use {authority, catalogue, points, role};

use std::any::{Any, TypeId};

use lineside_core::json::{Map, Value};
use lineside_core::payload::DecodePayloadError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether a name is in a list, at compile time.
pub(crate) const fn contains(names: &[&str], name: &str) -> bool {
    let mut index = 0;
    while index < names.len() {
        if equal(names[index].as_bytes(), name.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

/// Whether a field of that name lists the paths of an event.
pub(crate) fn names_paths(field: &str) -> bool {
    matches!(field, "paths" | "changed_files")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// A field as JSON. The types of fields (texts, numbers, JSON, lists and structs of these) always have one.
pub(crate) fn json<T: Serialize>(value: &T) -> Value {
    lineside_core::json::to_value(value).unwrap_or_default()
}

/// A field read from JSON.
pub(crate) fn read<T: DeserializeOwned + 'static>(
    point: &'static str,
    field: &'static str,
    value: &Value,
) -> Result<T, DecodePayloadError> {
    taken(point, field, &mut value.clone())
}

/// A field read from JSON. What is JSON or a text already is moved out: reading it once more would copy it, and makes
/// `0` of `-0`.
fn taken<T: DeserializeOwned + 'static>(
    point: &'static str,
    field: &'static str,
    value: &mut Value,
) -> Result<T, DecodePayloadError> {
    let wanted = TypeId::of::<T>();
    if wanted == TypeId::of::<Value>()
        && let Some(same) = same(Some(value.take()))
    {
        return Ok(same);
    }
    if wanted == TypeId::of::<String>()
        && let Value::String(text) = value
        && let Some(same) = same(Some(std::mem::take(text)))
    {
        return Ok(same);
    }
    T::deserialize(&*value).map_err(|detail| DecodePayloadError::WrongType {
        point,
        field,
        detail: detail.to_string(),
    })
}

/// A value as a type that it may be of.
fn same<A: 'static, T: 'static>(mut value: Option<A>) -> Option<T> {
    let any: &mut dyn Any = &mut value;
    any.downcast_mut::<Option<T>>()?.take()
}

/// A required field, taken out of a JSON object.
pub(crate) fn required<T: DeserializeOwned + 'static>(
    point: &'static str,
    field: &'static str,
    fields: &mut Map,
) -> Result<T, DecodePayloadError> {
    let value = fields.get_mut(field).ok_or(DecodePayloadError::Missing { point, field })?;
    taken(point, field, value)
}

/// An optional field, likewise; `null` counts as absent.
pub(crate) fn optional<T: DeserializeOwned + 'static>(
    point: &'static str,
    field: &'static str,
    fields: &mut Map,
) -> Result<Option<T>, DecodePayloadError> {
    match fields.get_mut(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => taken(point, field, value).map(Some),
    }
}
