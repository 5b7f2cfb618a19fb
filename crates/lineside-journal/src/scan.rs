//! Reading one file: which records it holds, which of them are damaged, and where it ends.
//!
//! Damage and an unfinished write look the same. What tells them apart are the marks: each group says up to where
//! everything was on the disk when it was written. Damage up to there is damage; behind it, the file ends with the last
//! append that is whole.
//!
//! Nothing is repaired here.

use std::ops::Range;

use crate::frame::{self, Append, Frame, Role, checksum};
use crate::header;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) sequence: u64,
    pub(crate) kind: u8,
    pub(crate) bytes: Range<usize>,
}

/// A stretch that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) bytes: Range<usize>,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) records: Vec<Found>,
    pub(crate) damages: Vec<Damage>,
    /// Records that are simply not there.
    pub(crate) missing: Vec<(u64, u64)>,
    /// Where the last append ends that counts.
    pub(crate) end: usize,
    /// What comes after it and is not nothing.
    pub(crate) torn: Range<usize>,
    /// The records behind this place may not be on the disk.
    pub(crate) synced: usize,
    /// The sequence after the last record.
    pub(crate) next: u64,
    /// There is no trace of any record.
    pub(crate) is_empty: bool,
}

/// What stands in a file at a place.
struct Item {
    at: usize,
    end: usize,
    what: What,
}

enum What {
    Mark(u64),
    Gap,
    Record { found: Found, append: Append },
    Missing { first: u64, last: u64 },
    Damaged { first: u64, last: Option<u64> },
}

/// Reads a file whose first record is `first`. `last` is that which must be there, and on the disk, when it is known.
pub(crate) fn scan(file: &[u8], salt: u32, first: u64, last: Option<u64>) -> Scan {
    let (items, written) = items(file, salt, first);
    let marks = items.iter().filter_map(|item| match item.what {
        What::Mark(synced) => Some(synced),
        _ => None,
    });
    let synced = marks.chain(last).fold(first.saturating_sub(1), u64::max);
    let mut scan = Scan { next: first, ..Scan::default() };
    let end = end_of(&items, synced).unwrap_or(written);
    let gap_at_end = last_but_marks(&items).is_some_and(|item| matches!(item.what, What::Gap));
    scan.is_empty = items.iter().all(|item| matches!(item.what, What::Mark(_)));
    scan.end = end;
    scan.torn = end..written.max(end);
    scan.synced = header::LENGTH.min(end);
    for item in items.into_iter().take_while(|item| item.at < end) {
        match item.what {
            What::Mark(_) | What::Gap => {}
            What::Missing { first, last } => scan.missing.push((first, last)),
            What::Damaged { first, last } => {
                let last = last.unwrap_or_else(|| synced.max(first.saturating_sub(1)));
                scan.damages.push(Damage { bytes: item.at..item.end, first, last });
                scan.next = scan.next.max(last + 1);
                scan.synced = item.end;
            }
            What::Record { found, .. } => {
                scan.next = found.sequence + 1;
                if found.sequence <= synced {
                    scan.synced = item.end;
                }
                scan.records.push(found);
            }
        }
    }
    if let Some(last) = last.filter(|last| *last >= scan.next) {
        if !gap_at_end {
            scan.missing.push((scan.next, last));
        }
        scan.next = last + 1;
    }
    scan
}

/// All that stands in a file, and where what was written ends.
fn items(file: &[u8], salt: u32, first: u64) -> (Vec<Item>, usize) {
    let written = file.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1).max(header::LENGTH);
    let mut items: Vec<Item> = Vec::new();
    let (mut at, mut expected) = (header::LENGTH, first);
    while at < written {
        let frame = Frame::decode(&file[at..], salt).filter(|frame| fits(frame, at, file.len(), expected));
        let Some(frame) = frame else {
            let next = |frame: &Frame| frame.role != Role::Record || frame.sequence >= expected;
            let end = frame::find(&file[at + 1..], salt, next).map_or(written, |found| at + 1 + found);
            items.push(Item { at, end, what: What::Damaged { first: expected, last: None } });
            at = end;
            continue;
        };
        let begin = at + frame::LENGTH;
        let end = begin + frame.length;
        let what = match frame.role {
            Role::Mark => What::Mark(frame.sequence),
            Role::Gap => What::Gap,
            Role::Record => {
                let sequence = frame.sequence;
                if sequence > expected {
                    explain(&mut items, at, expected, sequence - 1);
                }
                expected = sequence + 1;
                if checksum(salt, &file[begin..end]) == frame.checksum {
                    let found = Found { sequence, kind: frame.kind, bytes: begin..end };
                    What::Record { found, append: frame.append }
                } else {
                    What::Damaged { first: sequence, last: Some(sequence) }
                }
            }
        };
        items.push(Item { at, end, what });
        at = end;
    }
    // The last record may end in zeros, which are as good as any other bytes.
    let written = items.last().map_or(written, |item| item.end.max(written));
    (close(items), written)
}

fn fits(frame: &Frame, at: usize, length: usize, expected: u64) -> bool {
    let ends = at.checked_add(frame::LENGTH).and_then(|begin| begin.checked_add(frame.length));
    let in_order = frame.role != Role::Record || frame.sequence >= expected;
    in_order && ends.is_some_and(|end| end <= length)
}

/// The records `first` to `last` do not stand before `at`, which damage or a gap there explains.
fn explain(items: &mut Vec<Item>, at: usize, first: u64, last: u64) {
    if !last_but_marks(items)
        .is_some_and(|item| matches!(item.what, What::Gap | What::Damaged { last: None, .. }))
    {
        items.push(Item { at, end: at, what: What::Missing { first, last } });
    }
}

fn last_but_marks(items: &[Item]) -> Option<&Item> {
    items.iter().rev().find(|item| !matches!(item.what, What::Mark(_)))
}

/// Damage goes up to the record that was found after it; it may have cost none.
fn close(mut items: Vec<Item>) -> Vec<Item> {
    let mut next = None;
    for item in items.iter_mut().rev() {
        match &mut item.what {
            What::Record { found, .. } => next = Some(found.sequence),
            What::Missing { first, .. } => next = Some(*first),
            What::Damaged { first, last } => {
                *last = last.or(next.map(|next| next.saturating_sub(1)));
                next = Some(*first);
            }
            What::Mark(_) | What::Gap => {}
        }
    }
    items
}

/// Where the file has to be cut; nothing when it is whole.
fn end_of(items: &[Item], synced: u64) -> Option<usize> {
    // Where the append began of which the last record has not come yet.
    let mut open: Option<(usize, u64)> = None;
    for item in items {
        match &item.what {
            What::Damaged { first, .. } | What::Missing { first, .. } if *first > synced => {
                return Some(open.map_or(item.at, |(at, _)| at));
            }
            What::Damaged { .. } | What::Missing { .. } | What::Gap => open = None,
            What::Record { found, append } => {
                open = match append {
                    Append::Continues => open.or(Some((item.at, found.sequence))),
                    Append::Ends => None,
                };
            }
            What::Mark(_) => {}
        }
    }
    let (at, _) = open.filter(|(_, sequence)| *sequence > synced)?;
    Some(at)
}
