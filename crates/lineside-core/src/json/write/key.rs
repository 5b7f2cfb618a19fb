//! Keys of objects: nearly all are texts, which are written without a value in between.

use serde::Serialize;
use serde::ser::{Error as _, Impossible, Serializer};

use super::Writer;
use crate::json::error::Error;

/// Writes a key that is a text; `false` for any other one, of which nothing is written.
pub(super) fn is_written<T: Serialize + ?Sized>(writer: &mut Writer, key: &T) -> bool {
    key.serialize(Text(writer)).is_ok()
}

/// Takes a text, and refuses everything else.
struct Text<'w>(&'w mut Writer);

type No = Impossible<(), Error>;

macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $refused:ty;)*) => { $(
        fn $method(self, $(_: $argument),*) -> Result<$refused, Error> {
            Err(no_text())
        }
    )* };
}

fn no_text() -> Error {
    Error::custom("a key is no text")
}

impl Serializer for Text<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.0.quoted(text);
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Error> {
        Err(no_text())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, _: &T) -> Result<(), Error> {
        Err(no_text())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(no_text())
    }

    refused! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> No;
        serialize_tuple(usize) -> No;
        serialize_tuple_struct(&'static str, usize) -> No;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No;
        serialize_map(Option<usize>) -> No;
        serialize_struct(&'static str, usize) -> No;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No;
    }
}
