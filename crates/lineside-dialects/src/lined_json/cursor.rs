//! A walk through the text, byte by byte. Strings and numbers are decoded by `lineside_core::json`, once their end is known.

use std::collections::HashSet;

use lineside_core::json::Number;

use super::{Content, DEEPEST, DuplicateKey, Entry, Node, ReadJsonError};

/// A place in the text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    depth: usize,
    pub(super) duplicates: Vec<DuplicateKey>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, depth: 0, duplicates: Vec::new() }
    }

    /// One value and nothing else.
    pub(super) fn document(&mut self) -> Result<Node, ReadJsonError> {
        let root = self.value()?;
        match self.next_token() {
            None => Ok(root),
            Some(_) => Err(self.error("there is more after the end of the value")),
        }
    }

    fn error(&self, detail: &'static str) -> ReadJsonError {
        ReadJsonError { detail, line: self.line }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The first byte after white space, which stays to be read.
    fn next_token(&mut self) -> Option<u8> {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.byte() {
            self.line = self.line.saturating_add(u32::from(byte == b'\n'));
            self.at += 1;
        }
        self.byte()
    }

    fn value(&mut self) -> Result<Node, ReadJsonError> {
        let first = self.next_token();
        let line = self.line;
        let content = match first {
            None => return Err(self.error("the text ends where a value is expected")),
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => Content::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => Content::Number(self.number()?),
            Some(_) => self.word()?,
        };
        Ok(Node { line, content })
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Content, ReadJsonError>,
    ) -> Result<Content, ReadJsonError> {
        if self.depth == DEEPEST {
            return Err(self.error("nested more than 64 levels deep"));
        }
        self.depth += 1;
        // Past the bracket.
        self.at += 1;
        let content = read(self)?;
        self.depth -= 1;
        Ok(content)
    }

    fn list(&mut self) -> Result<Content, ReadJsonError> {
        let mut items = Vec::new();
        if self.closes(b']') {
            return Ok(Content::List(items));
        }
        loop {
            items.push(self.value()?);
            if !self.goes_on(b']', "`,` or `]` is expected")? {
                return Ok(Content::List(items));
            }
        }
    }

    fn object(&mut self) -> Result<Content, ReadJsonError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = HashSet::new();
        if self.closes(b'}') {
            return Ok(Content::Object(entries));
        }
        loop {
            if self.next_token() != Some(b'"') {
                return Err(self.error("a key in double quotes is expected"));
            }
            let line = self.line;
            let key = self.string()?;
            if self.next_token() != Some(b':') {
                return Err(self.error("`:` is expected after a key"));
            }
            self.at += 1;
            if !keys.insert(key.clone()) {
                self.duplicates.push(DuplicateKey { key: key.clone(), line });
            }
            let value = self.value()?;
            entries.push(Entry { key, line, value });
            if !self.goes_on(b'}', "`,` or `}` is expected")? {
                return Ok(Content::Object(entries));
            }
        }
    }

    /// Whether the bracket follows; it is then read.
    fn closes(&mut self, bracket: u8) -> bool {
        let closes = self.next_token() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    /// Whether there is another item, or else the bracket; either is read.
    fn goes_on(&mut self, bracket: u8, expected: &'static str) -> Result<bool, ReadJsonError> {
        if self.closes(bracket) {
            return Ok(false);
        }
        if self.byte() != Some(b',') {
            return Err(self.error(expected));
        }
        self.at += 1;
        Ok(true)
    }

    fn string(&mut self) -> Result<String, ReadJsonError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                // A line break has to be written `\n`, so that a line never ends within a string.
                None | Some(0..=0x1f) => return Err(self.error("a string is not closed on its line")),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        lineside_core::json::from_str(quoted)
            .map_err(|_| self.error("a string has an escape that JSON does not have"))
    }

    fn number(&mut self) -> Result<Number, ReadJsonError> {
        let digits = self.run(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
        lineside_core::json::from_str(digits)
            .map_err(|_| self.error("a number is not written as JSON demands"))
    }

    fn word(&mut self) -> Result<Content, ReadJsonError> {
        match self.run(|byte| byte.is_ascii_alphanumeric()) {
            "null" => Ok(Content::Null),
            "true" => Ok(Content::Boolean(true)),
            "false" => Ok(Content::Boolean(false)),
            _ => Err(self.error("a value is expected")),
        }
    }

    /// The bytes for which it holds; they are read.
    fn run(&mut self, holds: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.byte().is_some_and(&holds) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }
}
