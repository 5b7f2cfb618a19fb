//! A file that is appended to, and begun anew when it is large; some earlier ones stay beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lineside_files::open_own;

/// The file. `path.1` is the one before it, and so on.
pub(super) struct Rotated {
    path: PathBuf,
    /// How large it becomes, in bytes.
    bytes: u64,
    /// How many earlier ones stay.
    keep: u32,
    /// One writer at a time.
    writing: Mutex<()>,
}

impl Rotated {
    pub(super) fn new(path: PathBuf, bytes: u64, keep: u32) -> Self {
        Self { path, bytes, keep, writing: Mutex::default() }
    }

    /// Appends whole lines: all of them, or none. It is opened each time, so that others may move it away.
    ///
    /// # Errors
    /// It cannot be made, opened or written; or it is no regular file.
    pub(super) fn append(&self, lines: &[u8]) -> io::Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.open()?;
        let mut length = file.metadata()?.len();
        if length > 0 && length + lines.len() as u64 > self.bytes {
            self.rotate()?;
            file = self.open()?;
            length = 0;
        }
        file.write_all(lines).inspect_err(|_| {
            // Without a part of a line, as far as that is possible.
            file.set_len(length).ok();
        })
    }

    fn open(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.exists()) {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut options = OpenOptions::new();
        open_own(&self.path, options.append(true).create(true).mode(0o600)).map_err(io::Error::other)
    }

    fn rotate(&self) -> io::Result<()> {
        for number in (1..self.keep).rev() {
            let (from, to) = (numbered(&self.path, number), numbered(&self.path, number + 1));
            match fs::rename(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, numbered(&self.path, 1))
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_begun_anew_when_it_is_large_and_some_earlier_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.jsonl");
        let file = Rotated::new(path.clone(), 10, 2);
        for line in
            ["one\n", "two\n", "three\n", "a line that is longer than the file may be\n", "four\n", "five\n"]
        {
            file.append(line.as_bytes()).unwrap();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&path), "four\nfive\n");
        assert_eq!(read(&numbered(&path, 1)), "a line that is longer than the file may be\n");
        assert_eq!(read(&numbered(&path, 2)), "three\n");
        assert!(!numbered(&path, 3).exists());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
        assert!(file.append(b"five\n").is_err(), "through a link");
    }
}
