//! From text straight to a type.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::super::digits::EXACT;
use super::super::error::Error;
use super::super::from_value::{Key, number};
use super::super::number::Number;
use super::Reader;

impl<'de> Reader<'de> {
    fn is_null(&mut self) -> bool {
        self.next_token() == Some(b'n')
    }

    fn integer<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        read: impl FnOnce(&Number, V) -> Result<V::Value, Error>,
    ) -> Result<V::Value, Error> {
        match self.next_token() {
            Some(b'-' | b'0'..=b'9') => read(&self.number()?, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn list_of<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let mut rest = Rest { reader: self, bracket: b']', stand: Stand::Opened };
        let value = visitor.visit_seq(&mut rest)?;
        rest.has_ended(value)
    }

    fn object_of<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let mut rest = Rest { reader: self, bracket: b'}', stand: Stand::Opened };
        let value = visitor.visit_map(&mut rest)?;
        rest.has_ended(value)
    }

    /// The content of the only variant in an object, and the end of the object.
    fn only<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let value = read(self)?;
        if self.closes(b'}') {
            Ok(value)
        } else {
            Err(self.error("`}` is expected after the variant of an enum"))
        }
    }
}

/// What is left of a list or an object.
struct Rest<'r, 'de> {
    reader: &'r mut Reader<'de>,
    bracket: u8,
    stand: Stand,
}

/// How far a list or an object has been read.
enum Stand {
    Opened,
    Within,
    Closed,
}

impl Rest<'_, '_> {
    /// Whether there is another item, or else the bracket, which is then read.
    fn next(&mut self) -> Result<bool, Error> {
        let next = match self.stand {
            Stand::Opened => self.reader.goes_on(self.bracket, true)?,
            Stand::Within => self.reader.goes_on(self.bracket, false)?,
            Stand::Closed => false,
        };
        self.stand = if next { Stand::Within } else { Stand::Closed };
        Ok(next)
    }

    /// Hands the value on if its type has taken all items.
    fn has_ended<T>(mut self, value: T) -> Result<T, Error> {
        if self.next()? {
            Err(self.reader.error("there are more items than the type has"))
        } else {
            Ok(value)
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Rest<'_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.next()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for &mut Rest<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.next()? {
            return Ok(None);
        }
        let (_, key) = self.reader.key()?;
        seed.deserialize(Key(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}

/// A number as bytes if no other way keeps its digits.
fn exact<'de, V: Visitor<'de>>(value: &Number, visitor: V) -> Result<V::Value, Error> {
    match value.digits() {
        Ok(digits) => visitor.visit_bytes(digits.as_bytes()),
        Err(_) => number(value, visitor),
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.next_token() {
            Some(b'{') => self.nested(|reader| reader.object_of(visitor)),
            Some(b'[') => self.nested(|reader| reader.list_of(visitor)),
            Some(b'"') => match self.string()? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            Some(b'-' | b'0'..=b'9') => number(&self.number()?, visitor),
            _ => match self.word()? {
                Some(value) => visitor.visit_bool(value),
                None => visitor.visit_unit(),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() {
            self.word()?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.next_token() {
            Some(b'-' | b'0'..=b'9') if name == EXACT => exact(&self.number()?, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.integer(visitor, |number, visitor| match number.as_i128() {
            Some(value) => visitor.visit_i128(value),
            None => self::number(number, visitor),
        })
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.integer(visitor, |number, visitor| match number.as_u128() {
            Some(value) => visitor.visit_u128(value),
            None => self::number(number, visitor),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.next_token() {
            Some(b'"') => {
                let variant = self.string()?;
                visitor.visit_enum(Key(variant))
            }
            Some(b'{') => self.nested(|reader| reader.only(|reader| visitor.visit_enum(Variant(reader)))),
            _ => Err(self.error("a variant of an enum is expected, a text or an object of one entry")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// A variant with content.
struct Variant<'r, 'de>(&'r mut Reader<'de>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let (_, key) = self.0.key()?;
        Ok((seed.deserialize(Key(key))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if self.0.is_null() {
            self.0.word().map(drop)
        } else {
            Err(self.0.error("the variant of an enum has no content"))
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        match self.0.next_token() {
            Some(b'[') => self.0.deserialize_any(visitor),
            _ => Err(self.0.error("the variant of an enum has a list as its content")),
        }
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0.next_token() {
            Some(b'{' | b'[') => self.0.deserialize_any(visitor),
            _ => Err(self.0.error("the variant of an enum has an object as its content")),
        }
    }
}
