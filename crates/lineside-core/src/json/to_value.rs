//! From a type to a value.

use serde::Serialize;
use serde::ser::{self, Error as _};

use super::digits::{EXACT, handed_over};
use super::error::Error;
use super::map::Map;
use super::number::Number;
use super::value::Value;

/// The value of a type.
///
/// ```
/// use lineside_core::json::{json, to_value};
///
/// assert_eq!(to_value(&("a", [1, 2]))?, json!(["a", [1, 2]]));
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
///
/// # Errors
/// A type that has no JSON: keys of maps that are neither texts, numbers nor booleans, or an error of the type itself.
/// Numbers that are not finite become `null`.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    value.serialize(ToValue)
}

/// The key of a map as text.
pub(super) fn key<T: Serialize + ?Sized>(key: &T) -> Result<String, Error> {
    match to_value(key)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        other => Err(Error::custom(format_args!("a key of a map is {other}, not a text"))),
    }
}

struct ToValue;

macro_rules! converted {
    ($($method:ident: $type:ty,)*) => { $(
        fn $method(self, value: $type) -> Result<Value, Error> {
            Ok(value.into())
        }
    )* };
}

impl ser::Serializer for ToValue {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    converted! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_str: &str,
    }

    fn serialize_i128(self, value: i128) -> Result<Value, Error> {
        Ok(Value::Number(Number::text(&value.to_string())))
    }

    fn serialize_u128(self, value: u128) -> Result<Value, Error> {
        Ok(Value::Number(Number::text(&value.to_string())))
    }

    fn serialize_char(self, value: char) -> Result<Value, Error> {
        Ok(value.to_string().into())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Error> {
        Ok(bytes.into())
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value, Error> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        if name != EXACT {
            return value.serialize(self);
        }
        let mut written = Ok(Value::Null);
        match handed_over(|| written = value.serialize(self)) {
            Some(number) => Ok(Value::Number(number)),
            None => written,
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        Ok(of_variant(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Items, Error> {
        Ok(Items { items: Vec::with_capacity(length.unwrap_or(0)), variant: None })
    }

    fn serialize_tuple(self, length: usize) -> Result<Items, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Items, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Items, Error> {
        Ok(Items { items: Vec::with_capacity(length), variant: Some(variant) })
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Fields, Error> {
        let fields = Map::with_capacity(length.unwrap_or(0));
        Ok(Fields { fields, key: String::new(), variant: None })
    }

    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Fields, Error> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Fields, Error> {
        Ok(Fields { fields: Map::with_capacity(length), key: String::new(), variant: Some(variant) })
    }
}

/// The value, within an object of one entry if it is a variant of an enum.
fn of_variant(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(variant) => Map::from([(variant.to_owned(), value)]).into(),
        None => value,
    }
}

struct Items {
    items: Vec<Value>,
    variant: Option<&'static str>,
}

macro_rules! lists {
    ($($list:ident $method:ident)*) => { $(
        impl ser::$list for Items {
            type Ok = Value;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.items.push(to_value(value)?);
                Ok(())
            }

            fn end(self) -> Result<Value, Error> {
                Ok(of_variant(self.variant, Value::Array(self.items)))
            }
        }
    )* };
}

lists! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

struct Fields {
    fields: Map,
    /// The key whose value comes next.
    key: String,
    variant: Option<&'static str>,
}

macro_rules! objects {
    ($($object:ident)*) => { $(
        impl ser::$object for Fields {
            type Ok = Value;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.fields.insert(key.to_owned(), to_value(value)?);
                Ok(())
            }

            fn end(self) -> Result<Value, Error> {
                Ok(of_variant(self.variant, Value::Object(self.fields)))
            }
        }
    )* };
}

objects!(SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, written: &T) -> Result<(), Error> {
        self.key = key(written)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.fields.insert(std::mem::take(&mut self.key), to_value(value)?);
        Ok(())
    }

    fn end(self) -> Result<Value, Error> {
        Ok(of_variant(self.variant, Value::Object(self.fields)))
    }
}
