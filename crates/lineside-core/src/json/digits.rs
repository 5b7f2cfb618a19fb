//! How the digits of a number pass through serde, whose own numbers are `u64`, `i64` and `f64`.
//!
//! A value and its numbers are newtypes of the name [`EXACT`], which other formats pass over. To our own serializers a
//! number that none of the three can hold hands its digits beside serde, through a slot of the thread that is open only
//! while that one newtype is written. Our own deserializer answers the newtype with the digits as bytes, which JSON does
//! not have otherwise.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::map::Map;
use super::number::Integer;
use super::number::Number;
use super::value::Value;

/// The name of the newtypes.
pub(super) const EXACT: &str = "$lineside::json::Exact";

enum Slot {
    Closed,
    Open,
    Filled(Number),
}

thread_local! {
    static SLOT: RefCell<Slot> = const { RefCell::new(Slot::Closed) };
}

/// Runs what serializes the newtype [`EXACT`], and returns the number that it has handed over.
pub(super) fn handed_over(serialize: impl FnOnce()) -> Option<Number> {
    SLOT.replace(Slot::Open);
    serialize();
    match SLOT.replace(Slot::Closed) {
        Slot::Filled(number) => Some(number),
        Slot::Open | Slot::Closed => None,
    }
}

/// A number within its newtype.
struct Digits<'a>(&'a Number);

impl Serialize for Digits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let open = SLOT.with_borrow_mut(|slot| {
            let open = matches!(slot, Slot::Open);
            if open {
                *slot = Slot::Filled(self.0.clone());
            }
            open
        });
        match self.0.as_f64() {
            _ if open => serializer.serialize_unit(),
            Some(value) => serializer.serialize_f64(value),
            None => Err(serde::ser::Error::custom(format_args!("the number {} is out of range", self.0))),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.digits() {
            Err(Integer::Unsigned(value)) => serializer.serialize_u64(value),
            Err(Integer::Negative(value)) => serializer.serialize_i64(value),
            Ok(_) => serializer.serialize_newtype_struct(EXACT, &Digits(self)),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => items.serialize(serializer),
            Self::Object(fields) => fields.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AtMost::ANY.deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match AtMost::ANY.deserialize(deserializer)? {
            Value::Number(number) => Ok(number),
            other => Err(D::Error::custom(format_args!("expected a number instead of {other}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(AtMost::ANY))
    }
}

/// Takes a value of at most this many levels of lists and objects, from any format of serde.
#[derive(Debug, Clone, Copy)]
pub struct AtMost {
    levels: u8,
    /// Without one there is no bound.
    left: Option<u8>,
}

impl AtMost {
    /// Of any depth: what reads the format has a bound of its own.
    const ANY: Self = Self { levels: 0, left: None };

    /// This many levels; a number or a text has none.
    #[must_use]
    pub fn levels(levels: u8) -> Self {
        Self { levels, left: Some(levels) }
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        let left = match self.left {
            None => None,
            Some(0) => return Err(E::custom(format_args!("nested more than {} levels deep", self.levels))),
            Some(left) => Some(left - 1),
        };
        Ok(Self { left, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for AtMost {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_newtype_struct(EXACT, self)
    }
}

impl<'de> Visitor<'de> for AtMost {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Number(Number::text(&value.to_string())))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::Number(Number::text(&value.to_string())))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    /// The digits of a number.
    fn visit_bytes<E: serde::de::Error>(self, digits: &[u8]) -> Result<Value, E> {
        let number = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.map(Value::Number).ok_or_else(|| E::invalid_type(serde::de::Unexpected::Bytes(digits), &self))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Value, A::Error> {
        Fields(self).visit_map(entries).map(Value::Object)
    }
}

/// Takes an object.
struct Fields(AtMost);

impl<'de> Visitor<'de> for Fields {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map, A::Error> {
        let inner = self.0.deeper()?;
        let mut fields = Map::new();
        while let Some(key) = entries.next_key()? {
            fields.insert(key, entries.next_value_seed(inner)?);
        }
        Ok(fields)
    }
}
