//! Version 0 of the format: no salt, no marks, one header of 16 bytes, and frames that begin with their length.
//!
//! It is read once, to be written again in the present version. A frame that is damaged hides where the next begins,
//! so what comes after it cannot be read.
//!
//! A frame is: length of the bytes (4), checksum of all that follows it (4), sequence (8), kind (1), 1 when the append
//! ends (1), the bytes. Numbers begin with their least byte.

use crate::frame::{self, Append, Frame, Role, checksum, number};
use crate::header::{Header, Holds};

pub(crate) const HEADER: usize = 16;
const FRAME: usize = 18;

/// A file of the present version with the same records.
pub(crate) struct Migrated {
    pub(crate) file: Vec<u8>,
    /// How much of the old file was read; the rest cannot be.
    pub(crate) read: usize,
}

/// Rewrites a log whose first record is `first`.
pub(crate) fn migrate(old: &[u8], salt: u32, first: u64) -> Migrated {
    let mut file = Header { salt, holds: Holds::Log { first, held: false } }.encode().to_vec();
    let mut read = HEADER.min(old.len());
    // What an append has written so far that has not ended.
    let mut open = Vec::new();
    let mut at = read;
    while let Some((frame, bytes)) = decode(&old[at..], salt) {
        open.extend_from_slice(&frame.encode(salt));
        open.extend_from_slice(bytes);
        at += FRAME + bytes.len();
        if frame.append == Append::Ends {
            file.append(&mut open);
            read = at;
        }
    }
    Migrated { file, read }
}

fn decode(old: &[u8], salt: u32) -> Option<(Frame, &[u8])> {
    let length = usize::try_from(number(old.get(..4)?)).ok()?;
    let summed = old.get(8..FRAME.checked_add(length)?)?;
    if number(&old[4..8]) != u64::from(checksum(0, summed)) {
        return None;
    }
    let bytes = &summed[10..];
    let frame = Frame {
        role: Role::Record,
        sequence: number(&summed[..8]),
        kind: summed[8],
        append: if summed[9] == 1 { Append::Ends } else { Append::Continues },
        length,
        checksum: frame::checksum(salt, bytes),
    };
    Some((frame, bytes))
}
