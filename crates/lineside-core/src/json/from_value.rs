//! From a value to a type.

use std::borrow::Cow;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::digits::EXACT;
use super::error::Error;
use super::map::Map;
use super::number::Integer;
use super::number::Number;
use super::value::Value;

/// Reads a type from a value.
///
/// ```
/// use lineside_core::json::{from_value, json};
///
/// let numbers: Vec<u8> = from_value(&json!([1, 2]))?;
/// assert_eq!(numbers, [1, 2]);
/// assert!(from_value::<Vec<u8>>(&json!([1, "two"])).is_err());
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
///
/// # Errors
/// The value is not of that type.
pub fn from_value<'v, T: Deserialize<'v>>(value: &'v Value) -> Result<T, Error> {
    T::deserialize(value)
}

fn mismatch(value: &Value, expected: &dyn Expected) -> Error {
    let found = match value {
        Value::Null => Unexpected::Other("null"),
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => {
            return Error::custom(format_args!("invalid type: {number}, expected {expected}"));
        }
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

/// What the number is to a type that does not ask for its digits.
pub(super) fn number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    match number.digits() {
        Err(Integer::Unsigned(value)) => visitor.visit_u64(value),
        Err(Integer::Negative(value)) => visitor.visit_i64(value),
        Ok(digits) => match number.as_f64() {
            Some(value) => visitor.visit_f64(value),
            None => Err(Error::custom(format_args!("the number {digits} is out of range"))),
        },
    }
}

/// What the number is to an `i128`.
pub(super) fn wide_signed<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    match number.as_i128() {
        Some(value) => visitor.visit_i128(value),
        None => self::number(number, visitor),
    }
}

/// What the number is to a `u128`.
pub(super) fn wide_unsigned<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    match number.as_u128() {
        Some(value) => visitor.visit_u128(value),
        None => self::number(number, visitor),
    }
}

fn entries<'de>(
    fields: &'de Map,
) -> MapDeserializer<'de, impl Iterator<Item = (Key<'de>, &'de Value)>, Error> {
    MapDeserializer::new(fields.iter().map(|(key, value)| (Key(key.into()), value)))
}

impl<'de> IntoDeserializer<'de, Error> for &'de Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(value) => number(value, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.iter());
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Object(fields) => {
                let mut fields = entries(fields);
                let value = visitor.visit_map(&mut fields)?;
                fields.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Value::Number(number) if name == EXACT => match number.digits() {
                Ok(digits) => visitor.visit_bytes(digits.as_bytes()),
                Err(_) => visitor.visit_newtype_struct(self),
            },
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Number(number) => wide_signed(number, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Number(number) => wide_unsigned(number, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Value::String(variant) => Key(variant.into()).deserialize_enum(name, variants, visitor),
            Value::Object(fields) if fields.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(entries(fields)))
            }
            other => Err(mismatch(other, &"a text or an object of one entry")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

/// The key of an object, or the variant of an enum that has no content. One that is a number or a boolean in quotes may
/// be read as such.
pub(super) struct Key<'de>(pub(super) Cow<'de, str>);

impl<'de> IntoDeserializer<'de, Error> for Key<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! numeric_keys {
    ($read:ident: $($method:ident)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(key) => $read(&key, visitor),
                Err(_) => self.deserialize_any(visitor),
            }
        }
    )* };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    numeric_keys! {
        number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    numeric_keys!(wide_signed: deserialize_i128);
    numeric_keys!(wide_unsigned: deserialize_u128);

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.parse() {
            Ok(key) => visitor.visit_bool(key),
            Err(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(CowStrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
