//! Whether there is a standard output at all.
//!
//! A program of Rust that is started without one (`>&-`) has the null device in its place before its first line runs, so
//! that its writes succeed and go nowhere. That null device is open for reading as well, which one that a shell was told
//! to write to is not.

use rustix::fs::{FileType, OFlags};

/// Whether standard output was closed when the program was started, or is a null device that looks the same.
pub(super) fn is_closed() -> bool {
    let out = std::io::stdout();
    let Ok(flags) = rustix::fs::fcntl_getfl(&out) else { return true };
    let Ok(stat) = rustix::fs::fstat(&out) else { return true };
    let is_null = rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev);
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    is_null && is_device && flags.contains(OFlags::RDWR)
}
