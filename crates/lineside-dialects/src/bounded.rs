//! Opens the files of configurations: regular files alone, without waiting, of bounded length.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The longest configuration in JSON, in bytes: programs write into theirs as well.
pub(crate) const CONFIGURATION: usize = 16 << 20;

/// The first bytes of a file: one more than the bound where it is longer, which tells that there is more.
///
/// # Errors
/// It cannot be opened or read, or it is no regular file.
pub(crate) fn bytes(file: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular(file)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same of a file that need not be there: `None` when it is not.
///
/// # Errors
/// It is there and cannot be opened or read, or it is no regular file.
pub(crate) fn bytes_if_there(file: &Path, most: usize) -> Option<io::Result<Vec<u8>>> {
    match bytes(file, most) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        read => Some(read),
    }
}

/// The open file. What it is gets checked on the descriptor, because a path may lead elsewhere a moment later.
fn regular(file: &Path) -> io::Result<File> {
    let mut open = OpenOptions::new();
    open.read(true);
    // The opening of a pipe waits for a writer otherwise.
    #[cfg(unix)]
    open.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let open = open.open(file)?;
    if open.metadata()?.is_file() { Ok(open) } else { Err(io::Error::other("it is no regular file")) }
}
