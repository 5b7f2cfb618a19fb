//! The parser: one walk through the text, by recursive descent, to a value or straight to a type.

mod typed;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::Error as _;

use super::error::Error;
use super::map::Map;
use super::number;
use super::number::Number;
use super::value::Value;

/// Reads exactly one value in which no key occurs twice.
pub(super) fn strict(text: &[u8], deepest: u8) -> Result<Value, Error> {
    let mut reader = Reader::new(text, deepest)?;
    let value = reader.value()?;
    reader.end()?;
    Ok(value)
}

/// Reads exactly one value of a type.
pub(super) fn typed<'de, T: Deserialize<'de>>(text: &'de [u8], deepest: u8) -> Result<T, Error> {
    let mut reader = Reader::new(text, deepest)?;
    let value = T::deserialize(&mut reader).map_err(|error| error.or_at(text, reader.at))?;
    reader.end()?;
    Ok(value)
}

/// A walk through a JSON text, for a tree of the caller's own that keeps more than a [`Value`], such as where its parts
/// stand. No key is looked up: of one that occurs twice, both are given.
///
/// ```
/// use lineside_core::json::Reader;
///
/// let mut reader = Reader::new(br#"{"a": 1.50, "a": 2}"#, 64)?;
/// let mut keys = Vec::new();
/// assert_eq!(reader.next_token(), Some(b'{'));
/// reader.nested(|reader| {
///     while reader.goes_on(b'}', keys.is_empty())? {
///         let (start, key) = reader.key()?;
///         reader.next_token();
///         keys.push((start, key, reader.number()?.to_string()));
///     }
///     Ok(())
/// })?;
/// reader.end()?;
/// assert_eq!(keys, [(1, "a".into(), "1.50".to_owned()), (12, "a".into(), "2".to_owned())]);
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
    /// How many levels may still be opened.
    left: u8,
    deepest: u8,
}

impl<'a> Reader<'a> {
    /// At the beginning of a text, of which at most this many levels are read.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn new(text: &'a [u8], deepest: u8) -> Result<Self, Error> {
        match str::from_utf8(text) {
            Ok(text) => Ok(Self { text, at: 0, left: deepest, deepest }),
            Err(error) => Err(Error::custom("it is not UTF-8").or_at(text, error.valid_up_to())),
        }
    }

    /// The byte that is read next.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Reads the white space at the end.
    ///
    /// # Errors
    /// Something else is left.
    pub fn end(&mut self) -> Result<(), Error> {
        match self.next_token() {
            None => Ok(()),
            Some(_) => Err(self.error("there is more after the end of the value")),
        }
    }

    fn error(&self, detail: &'static str) -> Error {
        self.error_at(detail, self.at)
    }

    fn error_at(&self, detail: impl Into<Cow<'static, str>>, at: usize) -> Error {
        Error::of(detail).or_at(self.text.as_bytes(), at)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The first byte after white space, which stays to be read.
    pub fn next_token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    fn value(&mut self) -> Result<Value, Error> {
        match self.next_token() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list),
            Some(b'"') => self.string().map(|text| Value::String(text.into_owned())),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            _ => self.word().map(|word| word.map_or(Value::Null, Value::Bool)),
        }
    }

    /// Reads `true`, `false`, or nothing for `null`.
    ///
    /// # Errors
    /// None of them stands here.
    pub fn word(&mut self) -> Result<Option<bool>, Error> {
        let rest = &self.text[self.at..];
        for (word, value) in [("null", None), ("true", Some(true)), ("false", Some(false))] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error(if rest.is_empty() {
            "the text ends where a value is expected"
        } else {
            "a value is expected"
        }))
    }

    /// Reads the bracket that stands here, and what the function reads of the list or object behind it.
    ///
    /// # Errors
    /// That of the function, and a level too deep.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let Some(left) = self.left.checked_sub(1) else {
            let detail = format!("nested more than {} levels deep", self.deepest);
            return Err(self.error_at(detail, self.at));
        };
        self.left = left;
        // Past the bracket.
        self.at += 1;
        let value = read(self)?;
        self.left += 1;
        Ok(value)
    }

    fn list(&mut self) -> Result<Value, Error> {
        let mut items = Vec::new();
        while self.goes_on(b']', items.is_empty())? {
            items.push(self.value()?);
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, Error> {
        let mut fields = Map::new();
        while self.goes_on(b'}', fields.is_empty())? {
            let (start, key) = self.key()?;
            if fields.contains_key(&key) {
                return Err(self.error_at(format!("duplicate key `{key}`"), start));
            }
            fields.add(key.into_owned(), self.value()?);
        }
        Ok(Value::Object(fields))
    }

    /// Reads a key and the colon after it, and gives the byte at which the key begins.
    ///
    /// # Errors
    /// One of them is not there, or the key is no string.
    pub fn key(&mut self) -> Result<(usize, Cow<'a, str>), Error> {
        if self.next_token() != Some(b'"') {
            return Err(self.error("a key in double quotes is expected"));
        }
        let start = self.at;
        let key = self.string()?;
        if self.next_token() != Some(b':') {
            return Err(self.error("`:` is expected after a key"));
        }
        self.at += 1;
        Ok((start, key))
    }

    /// Reads the comma before another item, which the first one does not have, or else the bracket that closes.
    ///
    /// # Errors
    /// Neither is there.
    pub fn goes_on(&mut self, bracket: u8, is_first: bool) -> Result<bool, Error> {
        if self.next_token() == Some(bracket) {
            self.at += 1;
            return Ok(false);
        }
        if is_first {
            return Ok(true);
        }
        if self.byte() != Some(b',') {
            return Err(self.error(match bracket {
                b']' => "`,` or `]` is expected",
                _ => "`,` or `}` is expected",
            }));
        }
        self.at += 1;
        Ok(true)
    }

    /// Reads the number that begins here.
    ///
    /// # Errors
    /// There is none, or it has more than 1,024 bytes.
    pub fn number(&mut self) -> Result<Number, Error> {
        let text = &self.text[self.at..];
        let length = number::length(text.as_bytes())
            .ok_or_else(|| self.error("a number is not written as JSON demands"))?;
        if length > number::LONGEST {
            return Err(self.error_at(format!("a number of more than {} bytes", number::LONGEST), self.at));
        }
        self.at += length;
        Ok(Number::text(&text[..length]))
    }

    /// Reads the string whose quote stands here.
    ///
    /// # Errors
    /// It does not end, or has an escape or a character that JSON does not have.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        // Past the quote.
        self.at += 1;
        let plain = self.plain();
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let decoded = self.escape()?;
                    text.push(decoded);
                }
                Some(_) => return Err(self.error("a string has a control character that is not escaped")),
                None => return Err(self.error("the text ends within a string")),
            }
            text.push_str(self.plain());
        }
        self.at += 1;
        Ok(Cow::Owned(text))
    }

    /// The characters up to the next quote, escape or control character; they are read.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length =
            rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn escape(&mut self) -> Result<char, Error> {
        let start = self.at;
        let decoded = match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => match self.escaped_character() {
                Some(decoded) => return Ok(decoded),
                None => {
                    let detail = "a string has an escape that is no character";
                    return Err(self.error_at(detail, start));
                }
            },
            _ => return Err(self.error("a string has an escape that JSON does not have")),
        };
        self.at += 2;
        Ok(decoded)
    }

    /// The character of `\uXXXX`, or of two of them that are a surrogate pair; half a pair is no character.
    fn escaped_character(&mut self) -> Option<char> {
        let first = self.unit()?;
        if (0xd800..0xdc00).contains(&first) {
            let pair = [first, self.unit()?];
            return char::decode_utf16(pair).next()?.ok();
        }
        char::from_u32(first.into())
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.text[self.at..].strip_prefix("\\u")?.get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 6;
        u16::from_str_radix(digits, 16).ok()
    }
}
