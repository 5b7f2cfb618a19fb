//! Whether a program loads shared libraries when it starts: one that does runs what `LD_PRELOAD` names, before anything of
//! its own.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// How much of a file holds its head and its table of segments.
const HEAD: u64 = 4_096;
/// The segment that names the loader of shared libraries.
const INTERPRETER: u32 = 3;

/// Whether the file is a 64-bit ELF program with a loader.
pub(crate) fn loads_libraries(program: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(program).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && has_loader(&head).unwrap_or_default()
}

fn has_loader(head: &[u8]) -> Option<bool> {
    let number = |at: usize, length: usize| {
        let bytes = head.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    // 64 bits, the least significant byte first.
    if head.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    let kinds = (0..count).map_while(|segment| number(table.checked_add(segment * size)?, 4));
    Some(kinds.into_iter().any(|kind| u32::try_from(kind) == Ok(INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_loads_libraries_is_known_by_its_segments() {
        let elf = |kinds: &[u8]| {
            let mut head = b"\x7fELF\x02\x01".to_vec();
            head.resize(0x40, 0);
            (head[0x20], head[0x36], head[0x38]) = (0x40, 56, u8::try_from(kinds.len()).unwrap());
            for kind in kinds {
                head.push(*kind);
                head.resize(head.len() + 55, 0);
            }
            head
        };
        assert_eq!(has_loader(&elf(&[6, 3, 1])), Some(true));
        assert_eq!(has_loader(&elf(&[6, 1, 1])), Some(false));
        assert_eq!((has_loader(b"#!/bin/sh"), has_loader(&elf(&[3])[..0x38])), (None, None));
        #[cfg(all(
            target_os = "linux",
            target_env = "gnu",
            target_pointer_width = "64",
            target_endian = "little"
        ))]
        assert!(loads_libraries(&std::env::current_exe().unwrap()));
        assert!(!loads_libraries(Path::new("/nonexistent")));
    }
}
