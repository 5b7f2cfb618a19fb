//! Which rows may have a text: of each block of rows the groups of three bytes that their payloads and reasons have, so that
//! a search for a text reads the blocks that have all of its groups, and no other. The same of the ends of their ids, by which
//! people name events.
//!
//! A block is indexed once it is full; rows behind the last full one are looked through. The index is a table of FTS5 without
//! content, whose documents are blocks and whose words are the groups.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _};

/// How many rows a block has.
pub(crate) const BLOCK: i64 = 1_024;

/// How many blocks are indexed in one step at most: a store of an earlier version is caught up on little by little.
const AT_ONCE: i64 = 4;

/// How many digits of the end of an id are indexed: of ten million rows some ten have one.
const END: usize = 5;

/// How many different groups there are.
const GROUPS: usize = 1 << 24;

/// The groups that were seen, a bit for each.
pub(crate) struct Groups(Vec<u64>);

impl Groups {
    pub(crate) fn new() -> Self {
        Self(vec![0; GROUPS / 64])
    }

    fn see(&mut self, text: &str) {
        for group in groups(text) {
            if let Some(word) = self.0.get_mut(group / 64) {
                *word |= 1 << (group % 64);
            }
        }
    }

    /// Those that were seen as words, and none from now on.
    fn take(&mut self) -> String {
        let mut words = String::new();
        for (index, bits) in self.0.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let group = index * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                // Writing to a string does not fail.
                write!(words, "{group:06x} ").ok();
            }
        }
        words
    }
}

/// The groups of a text, whatever the case of its letters; ASCII alone has a case, as for `LIKE`.
fn groups(text: &str) -> impl Iterator<Item = usize> {
    let lower = |byte: &u8| usize::from(byte.to_ascii_lowercase());
    text.as_bytes().windows(3).map(move |group| group.iter().map(lower).fold(0, |all, byte| all << 8 | byte))
}

/// The word for the end of an id in lower case, which is no group; `None` for one that is too short.
fn end_word(digits: &str) -> Option<String> {
    Some(format!("x{}", digits.get(digits.len().checked_sub(END)?..)?))
}

/// Indexes the blocks that are full before this row.
pub(crate) fn index(store: &Connection, next: i64, seen: &mut Groups) -> rusqlite::Result<()> {
    let indexed: Option<i64> =
        store.prepare_cached("SELECT indexed FROM tally")?.query_row([], |row| row.get(0))?;
    let begin = match indexed {
        Some(indexed) => indexed,
        None => {
            let oldest = "SELECT row FROM event ORDER BY row LIMIT 1";
            let oldest: Option<i64> = store.query_row(oldest, [], |row| row.get(0)).optional()?;
            oldest.unwrap_or(next) / BLOCK
        }
    };
    let end = (next / BLOCK).min(begin + AT_ONCE);
    for block in begin..end {
        let mut rows = store.prepare_cached(
            "SELECT CASE typeof(e.payload) WHEN 'integer' THEN (SELECT text FROM text WHERE id = e.payload) ELSE e.payload END, \
             e.reason, lower(hex(e.id)) FROM event e WHERE e.row BETWEEN ? AND ?",
        )?;
        let mut rows = rows.query([block * BLOCK, block * BLOCK + BLOCK - 1])?;
        let mut ends = BTreeSet::new();
        while let Some(row) = rows.next()? {
            ends.extend(end_word(row.get_ref(2)?.as_str()?));
            for column in 0..2 {
                if let Some(text) = row.get_ref(column)?.as_str_or_null()? {
                    seen.see(text);
                }
            }
        }
        let mut insert = store.prepare_cached("INSERT INTO words (rowid, groups) VALUES (?, ?)")?;
        insert.execute((block, ends.into_iter().fold(seen.take(), |words, end| words + &end + " ")))?;
    }
    if indexed != Some(end) {
        store.prepare_cached("UPDATE tally SET indexed = ?")?.execute([end])?;
    }
    Ok(())
}

/// Forgets the blocks all of whose rows are gone, up to a row.
pub(crate) fn prune(store: &Connection, up_to: i64) -> rusqlite::Result<()> {
    store.execute("DELETE FROM words WHERE rowid < ?", [(up_to + 1) / BLOCK]).map(drop)
}

/// The rows that may have one of these texts, from the last to the first, as ranges from a row up to another; `None` where
/// all may have them.
pub(crate) fn ranges(store: &Connection, texts: &[&str]) -> rusqlite::Result<Option<Vec<(i64, i64)>>> {
    if texts.iter().any(|text| text.len() < 3) {
        return Ok(None);
    }
    let all = |text: &&str| {
        let mut all: Vec<usize> = groups(text).collect();
        all.sort_unstable();
        all.dedup();
        let words: Vec<String> = all.iter().map(|group| format!("{group:06x}")).collect();
        format!("({})", words.join(" AND "))
    };
    blocks(store, &texts.iter().map(all).collect::<Vec<_>>().join(" OR "), 0)
}

/// The same of rows whose ids may end so, in lower case.
pub(crate) fn of_end(store: &Connection, digits: &str) -> rusqlite::Result<Option<Vec<(i64, i64)>>> {
    let Some(end) = end_word(digits) else { return Ok(None) };
    let since: Option<i64> = store.query_row("SELECT ends FROM tally", [], |row| row.get(0))?;
    blocks(store, &end, since.unwrap_or_default())
}

/// The rows of blocks that have what is asked for, of which those before one say nothing of it.
fn blocks(store: &Connection, asked: &str, since: i64) -> rusqlite::Result<Option<Vec<(i64, i64)>>> {
    let indexed: Option<i64> = store.query_row("SELECT indexed FROM tally", [], |row| row.get(0))?;
    let Some(indexed) = indexed else { return Ok(None) };
    let last: Option<i64> = store.query_row("SELECT max(row) FROM event", [], |row| row.get(0))?;
    let mut ranges = vec![(indexed * BLOCK, last.unwrap_or_default())];
    let mut blocks = store.prepare("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC")?;
    for block in blocks.query_map([asked], |row| row.get::<_, i64>(0))? {
        let from = block? * BLOCK;
        let to = from + BLOCK - 1;
        match ranges.last_mut() {
            Some((first, _)) if *first == to + 1 => *first = from,
            _ => ranges.push((from, to)),
        }
    }
    // What a store of an earlier version has before the blocks.
    let first: Option<i64> =
        store.query_row("SELECT rowid FROM words ORDER BY rowid LIMIT 1", [], |row| row.get(0)).optional()?;
    ranges.push((0, first.unwrap_or(indexed).max(since) * BLOCK - 1));
    Ok(Some(ranges))
}
