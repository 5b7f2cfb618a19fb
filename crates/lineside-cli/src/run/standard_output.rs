//! Whether anything that is written to standard output can be read.
//!
//! A program of Rust that is started without one (`>&-`) has the null device in its place before its first line runs,
//! so that its writes succeed and go nowhere. It is opened for reading as well, as some programs open the one that they
//! give to their children for no output: the two look the same, and in both whatever is written is lost. One that
//! a shell has redirected (`> /dev/null`) is open for writing alone, and its reader knows.

use rustix::fs::{FileType, OFlags};

/// Whether standard output is a null device that is open for reading as well.
pub(super) fn goes_nowhere() -> bool {
    let out = std::io::stdout();
    let Ok(flags) = rustix::fs::fcntl_getfl(&out) else { return true };
    let Ok(stat) = rustix::fs::fstat(&out) else { return true };
    let is_null = rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev);
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    is_null && is_device && flags.contains(OFlags::RDWR)
}
