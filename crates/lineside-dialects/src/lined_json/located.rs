//! A walk through a text that counts its lines.

use std::collections::HashSet;

use lineside_core::json::{Error, Reader};
use serde::de::Error as _;

use super::Document;
use crate::tree::{Content, DuplicateKey, Entry, Node, TOO_MANY};

/// What is known of the text so far.
pub(super) struct Located<'a> {
    text: &'a [u8],
    /// How much of it has been counted, and the line on which that ends.
    counted: (usize, u32),
    /// How many values may still come.
    left: usize,
    duplicates: Vec<DuplicateKey>,
}

impl<'a> Located<'a> {
    /// One value and nothing else.
    pub(super) fn document(text: &'a [u8], mut reader: Reader<'a>, most: usize) -> Result<Document, Error> {
        let mut located = Self { text, counted: (0, 1), left: most, duplicates: Vec::new() };
        let root = located.value(&mut reader)?;
        reader.end()?;
        Ok(Document { root, duplicates: located.duplicates })
    }

    /// The line of a byte that is not before those that were asked for.
    fn line(&mut self, byte: usize) -> u32 {
        let (done, line) = self.counted;
        let between = self.text.get(done..byte).unwrap_or_default();
        let breaks = between.iter().filter(|byte| **byte == b'\n').count();
        self.counted = (byte, line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX)));
        self.counted.1
    }

    fn count(&mut self) -> Result<(), Error> {
        self.left = self.left.checked_sub(1).ok_or_else(|| Error::custom(TOO_MANY))?;
        Ok(())
    }

    fn value(&mut self, reader: &mut Reader<'a>) -> Result<Node, Error> {
        self.count()?;
        let first = reader.next_token();
        let line = self.line(reader.at());
        let content = match first {
            Some(b'{') => Content::Mapping(reader.nested(|reader| self.object(reader))?),
            Some(b'[') => Content::List(reader.nested(|reader| self.list(reader))?),
            Some(b'"') => Content::Text(reader.string()?.into_owned()),
            Some(b'-' | b'0'..=b'9') => return Ok(Node::of_number(line, &reader.number()?)),
            _ => reader.word()?.map_or(Content::Null, Content::Boolean),
        };
        Ok(Node::new(line, content))
    }

    fn list(&mut self, reader: &mut Reader<'a>) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        while reader.goes_on(b']', items.is_empty())? {
            items.push(self.value(reader)?);
        }
        Ok(items)
    }

    fn object(&mut self, reader: &mut Reader<'a>) -> Result<Vec<Entry>, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = HashSet::new();
        while reader.goes_on(b'}', entries.is_empty())? {
            self.count()?;
            let (start, key) = reader.key()?;
            let (key, line) = (key.into_owned(), self.line(start));
            if !keys.insert(key.clone()) {
                self.duplicates.push(DuplicateKey { key: key.clone(), line });
            }
            entries.push((Node::new(line, Content::Text(key)), self.value(reader)?));
        }
        Ok(entries)
    }
}
