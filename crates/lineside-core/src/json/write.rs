//! The writer: a serializer whose output is text.

mod object;

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde::ser;

use super::digits::{EXACT, handed_over};
use super::error::Error;
use super::number::Number;
use super::to_value::key as key_text;

pub use object::{Fields, ObjectText};

/// Where blanks and line ends stand in what is written.
///
/// ```
/// use lineside_core::json::{Layout, json};
///
/// let value = json!({"verdict": "block"});
/// assert_eq!(value.to_text(Layout::Compact), r#"{"verdict":"block"}"#);
/// assert_eq!(value.to_text(Layout::Spaced), r#"{"verdict": "block"}"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Layout {
    /// One line without blanks.
    #[default]
    Compact,
    /// One line with a blank after every `:` and `,`, as Python's `json.dumps` writes it.
    Spaced,
    /// A line for each item, indented by two blanks a level.
    Indented,
}

/// Writes a type.
pub(super) fn text<T: Serialize + ?Sized>(value: &T, layout: Layout) -> Result<String, Error> {
    let mut writer = Writer { out: String::with_capacity(128), layout, depth: 0 };
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

#[derive(Debug)]
struct Writer {
    out: String,
    layout: Layout,
    depth: usize,
}

impl Writer {
    /// Before an item or a key.
    fn separate(&mut self, first: bool) {
        if !first {
            self.out.push(',');
        }
        match self.layout {
            Layout::Compact => {}
            Layout::Spaced if first => {}
            Layout::Spaced => self.out.push(' '),
            Layout::Indented => self.new_line(),
        }
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    fn colon(&mut self) {
        self.out.push_str(if self.layout == Layout::Compact { ":" } else { ": " });
    }

    fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.depth += 1;
    }

    fn close(&mut self, bracket: char, empty: bool) {
        self.depth -= 1;
        if self.layout == Layout::Indented && !empty {
            self.new_line();
        }
        self.out.push(bracket);
    }

    fn number(&mut self, number: impl fmt::Display) {
        // A `String` takes everything.
        let _written: fmt::Result = write!(self.out, "{number}");
    }

    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        let mut done = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                0x8 => "\\b",
                b'\t' => "\\t",
                b'\n' => "\\n",
                0xc => "\\f",
                b'\r' => "\\r",
                0..=0x1f => "",
                _ => continue,
            };
            self.out.push_str(&text[done..at]);
            done = at + 1;
            if escape.is_empty() {
                self.number(format_args!("\\u{byte:04x}"));
            } else {
                self.out.push_str(escape);
            }
        }
        self.out.push_str(&text[done..]);
        self.out.push('"');
    }
}

macro_rules! displayed {
    ($($method:ident: $type:ty,)*) => { $(
        fn $method(self, value: $type) -> Result<(), Error> {
            self.number(value);
            Ok(())
        }
    )* };
}

impl<'w> ser::Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Nested<'w>;
    type SerializeTuple = Nested<'w>;
    type SerializeTupleStruct = Nested<'w>;
    type SerializeTupleVariant = Nested<'w>;
    type SerializeMap = Nested<'w>;
    type SerializeStruct = Nested<'w>;
    type SerializeStructVariant = Nested<'w>;

    displayed! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        match Number::from_f32(value) {
            Some(number) => self.number(number),
            None => self.out.push_str("null"),
        }
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        match Number::from_f64(value) {
            Some(number) => self.number(number),
            None => self.out.push_str("null"),
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.quoted(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.quoted(text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        bytes.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        if name != EXACT {
            return value.serialize(self);
        }
        let start = self.out.len();
        let mut written = Ok(());
        if let Some(number) = handed_over(|| written = value.serialize(&mut *self)) {
            self.out.truncate(start);
            self.number(number);
        }
        written
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let object = Nested::variant(self, variant);
        value.serialize(&mut *object.writer)?;
        object.close()
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Nested<'w>, Error> {
        Ok(Nested::new(self, '[', ']'))
    }

    fn serialize_tuple(self, _length: usize) -> Result<Nested<'w>, Error> {
        Ok(Nested::new(self, '[', ']'))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Nested<'w>, Error> {
        Ok(Nested::new(self, '[', ']'))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Nested<'w>, Error> {
        Ok(Nested::variant(self, variant).within('[', ']'))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Nested<'w>, Error> {
        Ok(Nested::new(self, '{', '}'))
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Nested<'w>, Error> {
        Ok(Nested::new(self, '{', '}'))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Nested<'w>, Error> {
        Ok(Nested::variant(self, variant).within('{', '}'))
    }
}

/// A list or an object that is being written.
struct Nested<'w> {
    writer: &'w mut Writer,
    closing: char,
    empty: bool,
    /// Whether it is the value of an object of one entry, the variant of an enum.
    within_variant: bool,
}

impl<'w> Nested<'w> {
    fn new(writer: &'w mut Writer, opening: char, closing: char) -> Self {
        writer.open(opening);
        Self { writer, closing, empty: true, within_variant: false }
    }

    /// An object whose only key has been written.
    fn variant(writer: &'w mut Writer, variant: &str) -> Self {
        let mut object = Self::new(writer, '{', '}');
        object.key(variant);
        object
    }

    fn within(self, opening: char, closing: char) -> Self {
        self.writer.open(opening);
        Self { writer: self.writer, closing, empty: true, within_variant: true }
    }

    fn separate(&mut self) {
        self.writer.separate(self.empty);
        self.empty = false;
    }

    fn key(&mut self, key: &str) {
        self.separate();
        self.writer.quoted(key);
        self.writer.colon();
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        self.key(key);
        value.serialize(&mut *self.writer)
    }

    #[expect(clippy::unnecessary_wraps, reason = "what the traits of serde return")]
    fn close(self) -> Result<(), Error> {
        self.writer.close(self.closing, self.empty);
        if self.within_variant {
            self.writer.close('}', false);
        }
        Ok(())
    }
}

macro_rules! lists {
    ($($list:ident $method:ident)*) => { $(
        impl ser::$list for Nested<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
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

macro_rules! objects {
    ($($object:ident)*) => { $(
        impl ser::$object for Nested<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )* };
}

objects!(SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for Nested<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        let start = self.writer.out.len();
        key.serialize(&mut *self.writer)?;
        if !self.writer.out[start..].starts_with('"') {
            // No text, as nearly all are: it becomes one, or is refused.
            self.writer.out.truncate(start);
            let key = key_text(key)?;
            self.writer.quoted(&key);
        }
        self.writer.colon();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}
