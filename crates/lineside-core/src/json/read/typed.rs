//! From text straight to a type.

use std::borrow::Cow;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::super::digits::EXACT;
use super::super::error::Error;
use super::super::from_value::{Key, number, wide_signed, wide_unsigned};
use super::super::number::Number;
use super::Reader;

impl<'de> Reader<'de> {
    fn is_null(&mut self) -> bool {
        self.next_token() == Some(b'n')
    }

    /// Hands a number that stands here to `read`, and anything else to the visitor.
    fn numeric<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        read: impl FnOnce(&Number, V) -> Result<V::Value, Error>,
    ) -> Result<V::Value, Error> {
        match self.next_token() {
            Some(b'-' | b'0'..=b'9') => read(&self.number()?, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    /// Has `read` take the items up to the closing bracket, and refuses what it leaves.
    fn within<T>(
        &mut self,
        bracket: u8,
        read: impl FnOnce(&mut Rest<'_, 'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.nested(|reader| {
            let mut rest = Rest { reader, bracket, stand: Stand::Opened };
            let value = read(&mut rest)?;
            rest.has_ended(value)
        })
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
            Some(b'{') => self.within(b'}', |rest| visitor.visit_map(rest)),
            Some(b'[') => self.within(b']', |rest| visitor.visit_seq(rest)),
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
        self.numeric(visitor, wide_signed)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.numeric(visitor, wide_unsigned)
    }

    /// What is left out of a type may be a number that no type could hold.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.numeric(visitor, |_, visitor| visitor.visit_unit())
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.next_token() {
            Some(b'"') => Key(self.string()?).deserialize_enum(name, variants, visitor),
            Some(b'{') => self.within(b'}', |rest| visitor.visit_enum(MapAccessDeserializer::new(rest))),
            _ => Err(self.error("a variant of an enum is expected, a text or an object of one entry")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}
