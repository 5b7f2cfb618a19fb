//! How a file begins: what it is, in which version of the format, and with which salt.
//!
//! It stands there twice, since nothing behind it can be read without it.

use crate::frame::{checksum, number};

/// The version that is written.
pub(crate) const VERSION: u32 = 1;

/// How long both copies are together.
pub(crate) const LENGTH: usize = 2 * COPY;

const COPY: usize = 64;
const SUMMED: usize = COPY - 4;

/// What every file of every version begins with.
pub(crate) const MAGIC: [u8; 8] = *b"lineside";

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Records from this sequence on; whether some of them have been on the disk for certain.
    Log { first: u64, held: bool },
    /// This many records in the place of all up to this sequence.
    Snapshot { up_to: u64, count: u64 },
}

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) salt: u32,
    pub(crate) holds: Holds,
}

/// What the beginning of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// A file of ours.
    Known(Header),
    /// A file of the version before the first.
    Version0,
    /// A file of a version that is newer than this programme.
    Newer(u32),
    /// Neither copy can be read.
    Unreadable,
}

impl Header {
    /// Both copies.
    pub(crate) fn encode(&self) -> [u8; LENGTH] {
        let mut copy = [0; COPY];
        copy[..8].copy_from_slice(&MAGIC);
        copy[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let (what, sequence, count): (u8, _, u64) = match self.holds {
            Holds::Log { first, .. } => (1, first, 0),
            Holds::Snapshot { up_to, count } => (2, up_to, count),
        };
        copy[13] = u8::from(matches!(self.holds, Holds::Log { held: true, .. }));
        copy[12] = what;
        copy[16..20].copy_from_slice(&self.salt.to_le_bytes());
        copy[24..32].copy_from_slice(&sequence.to_le_bytes());
        copy[32..40].copy_from_slice(&count.to_le_bytes());
        let sum = checksum(0, &copy[..SUMMED]);
        copy[SUMMED..].copy_from_slice(&sum.to_le_bytes());
        let mut both = [0; LENGTH];
        both[..COPY].copy_from_slice(&copy);
        both[COPY..].copy_from_slice(&copy);
        both
    }
}

/// Reads the beginning of a file. The version and the checksum stand at the same place in every version but 0.
pub(crate) fn read(file: &[u8]) -> Beginning {
    let copies = file.chunks_exact(COPY).take(2);
    let mut sound = copies.filter(|copy| {
        copy[..8] == MAGIC && number(&copy[SUMMED..]) == u64::from(checksum(0, &copy[..SUMMED]))
    });
    let Some(copy) = sound.next() else {
        let version0 = file.len() >= 12 && file[..8] == MAGIC && number(&file[8..12]) == 0;
        return if version0 { Beginning::Version0 } else { Beginning::Unreadable };
    };
    let Ok(version) = u32::try_from(number(&copy[8..12])) else { return Beginning::Unreadable };
    if version > VERSION {
        return Beginning::Newer(version);
    }
    let (sequence, count) = (number(&copy[24..32]), number(&copy[32..40]));
    let holds = match copy[12] {
        1 => Holds::Log { first: sequence, held: copy[13] == 1 },
        2 => Holds::Snapshot { up_to: sequence, count },
        _ => return Beginning::Unreadable,
    };
    let Ok(salt) = u32::try_from(number(&copy[16..20])) else { return Beginning::Unreadable };
    Beginning::Known(Header { salt, holds })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { salt: 77, holds: Holds::Snapshot { up_to: 1 << 33, count: 5 } };

    #[test]
    fn one_copy_is_enough() {
        let whole = HEADER.encode();
        for at in 0..LENGTH {
            let mut damaged = whole;
            damaged[at] ^= 0x10;
            assert_eq!(read(&damaged), Beginning::Known(HEADER), "byte {at}");
        }
        let mut both = whole;
        both[9] ^= 1;
        both[COPY + 9] ^= 1;
        assert_eq!(read(&both), Beginning::Unreadable);
        assert_eq!(read(b""), Beginning::Unreadable);
    }

    #[test]
    fn a_newer_version_is_not_guessed_at() {
        let mut newer = HEADER.encode();
        newer[8] = 9;
        let sum = checksum(0, &newer[..SUMMED]);
        newer[SUMMED..COPY].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(read(&newer), Beginning::Newer(9));
    }
}
