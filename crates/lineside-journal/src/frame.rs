//! How one record lies in a file: a header of fixed length with a checksum of its own, then the bytes.
//!
//! The header's checksum says where the next frame begins even when the bytes are damaged, and lets a reader that has
//! lost its way find the next frame. All checksums start from the salt of the file, so that a record whose bytes look
//! like frames is not taken for some.

/// How long a header is.
pub(crate) const LENGTH: usize = 28;

/// More than this is not one record.
pub(crate) const LONGEST: usize = 1 << 30;

const MAGIC: [u8; 4] = *b"\xA7lsr";

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It holds a record.
    Record,
    /// It begins a group, and says up to which sequence everything was on the disk when the group was written.
    Mark,
    /// It lies over what was damaged and has been moved away.
    Gap,
}

/// Whether the records of one append go on after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Append {
    Continues,
    Ends,
}

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) role: Role,
    pub(crate) sequence: u64,
    pub(crate) kind: u8,
    pub(crate) append: Append,
    /// How many bytes follow.
    pub(crate) length: usize,
    pub(crate) checksum: u32,
}

impl Frame {
    /// The frame of a mark.
    pub(crate) fn mark(synced: u64) -> Self {
        Self { role: Role::Mark, sequence: synced, kind: 0, append: Append::Ends, length: 0, checksum: 0 }
    }

    /// The frame that covers `covered` bytes, its own header included; nothing when it does not fit into them.
    pub(crate) fn gap(sequence: u64, covered: usize) -> Option<Self> {
        let length = covered.checked_sub(LENGTH)?;
        Some(Self { role: Role::Gap, sequence, kind: 0, append: Append::Ends, length, checksum: 0 })
    }

    /// The header.
    pub(crate) fn encode(&self, salt: u32) -> [u8; LENGTH] {
        let mut header = [0; LENGTH];
        header[..4].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        // Lengths are at most `LONGEST`, or those of a damaged stretch of a file that is not much longer.
        header[16..20].copy_from_slice(&u32::try_from(self.length).unwrap_or(u32::MAX).to_le_bytes());
        header[20..24].copy_from_slice(&self.checksum.to_le_bytes());
        header[24] = self.kind;
        header[25] = match self.role {
            Role::Record => 1,
            Role::Mark => 2,
            Role::Gap => 3,
        };
        header[26] = match self.append {
            Append::Continues => 0,
            Append::Ends => 1,
        };
        let own = checksum(salt, &header[8..]);
        header[4..8].copy_from_slice(&own.to_le_bytes());
        header
    }

    /// The frame whose header begins `bytes`; nothing when it is not one that was written with this salt.
    pub(crate) fn decode(bytes: &[u8], salt: u32) -> Option<Self> {
        let header: &[u8; LENGTH] = bytes.first_chunk()?;
        if header[..4] != MAGIC || number(&header[4..8]) != u64::from(checksum(salt, &header[8..])) {
            return None;
        }
        Some(Self {
            role: match header[25] {
                1 => Role::Record,
                2 => Role::Mark,
                3 => Role::Gap,
                _ => return None,
            },
            sequence: number(&header[8..16]),
            kind: header[24],
            append: if header[26] == 0 { Append::Continues } else { Append::Ends },
            length: usize::try_from(number(&header[16..20])).ok()?,
            checksum: u32::from_le_bytes(*header[20..24].first_chunk()?),
        })
    }
}

/// The place of the first header in `bytes` for which `wanted` holds.
pub(crate) fn find(bytes: &[u8], salt: u32, wanted: impl Fn(&Frame) -> bool) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = bytes[from..].iter().position(|byte| *byte == MAGIC[0]) {
        let at = from + found;
        if Frame::decode(&bytes[at..], salt).is_some_and(|frame| wanted(&frame)) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The checksum of bytes.
pub(crate) fn checksum(salt: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    hasher.update(bytes);
    hasher.finalize()
}

/// A number of at most eight bytes, the least first.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        let (role, append) = (Role::Record, Append::Ends);
        Frame { role, sequence: 7 << 40, kind: 9, append, length: 5, checksum: checksum(1, b"bytes") }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for frame in [frame(), Frame::mark(3), Frame::gap(4, 100).unwrap()] {
            assert_eq!(Frame::decode(&frame.encode(1), 1), Some(frame));
        }
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let header = frame().encode(1);
        for bit in 0..LENGTH * 8 {
            let mut flipped = header;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Frame::decode(&flipped, 1), None, "bit {bit}");
        }
    }

    #[test]
    fn a_frame_of_another_file_is_none() {
        assert_eq!(Frame::decode(&frame().encode(1), 2), None);
    }

    #[test]
    fn a_lost_reader_finds_the_next_frame() {
        let mut bytes = vec![MAGIC[0]; 11];
        bytes.extend(frame().encode(1));
        assert_eq!(find(&bytes, 1, |_| true), Some(11));
        assert_eq!(find(&bytes, 1, |frame| frame.role == Role::Gap), None);
    }
}
