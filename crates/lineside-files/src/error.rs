//! Why a file is not opened, and what to do.

use std::fmt;
use std::fs::FileType;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::exposure::Exposure;

/// Why a file is not opened. Completes "the file cannot be read: ".
#[derive(Debug)]
pub enum OpenFileError {
    /// The system refuses it.
    Io(io::Error),
    /// It is no regular file, or, where links are refused, a link.
    Kind(Kind),
    /// It is there and no folder.
    NoFolder,
    /// It is a link, or below one, that leads nowhere.
    Dangling,
    /// It is a link, or below one, that leads to itself.
    Circle,
    /// It is to be the user's own, and another user may have written it.
    Exposed(Exposure),
    /// It lies here, out of the folder that it must not leave.
    Outside(PathBuf),
}

impl OpenFileError {
    /// Whether nothing is wrong but that there is no such file.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Io(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
    }
}

impl fmt::Display for OpenFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Kind(kind) => write!(f, "it is {}; replace it by a regular file", kind.name()),
            Self::Exposed(exposure) => exposure.fmt(f),
            Self::NoFolder => f.write_str("it is no folder; replace it by one, or remove it"),
            Self::Dangling => {
                f.write_str("it is a link that leads nowhere; remove it, or put back what it leads to")
            }
            Self::Circle => f.write_str("it is a link that leads to itself; remove it"),
            Self::Outside(place) => write!(
                f,
                "it leads out of the project, to {}; replace the link by what it leads to",
                place.display()
            ),
        }
    }
}

impl std::error::Error for OpenFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its text is that of this error.
            Self::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for OpenFileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<OpenFileError> for io::Error {
    fn from(error: OpenFileError) -> Self {
        match error {
            OpenFileError::Io(error) => error,
            other => Self::other(other),
        }
    }
}

/// What something is that is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device, or something that no other name is known of.
    Device,
}

impl Kind {
    /// `None` for a regular file.
    pub(crate) fn of(kind: FileType) -> Option<Self> {
        if kind.is_file() {
            None
        } else if kind.is_dir() {
            Some(Self::Folder)
        } else if kind.is_symlink() {
            Some(Self::Link)
        } else {
            Some(Self::special(kind))
        }
    }

    #[cfg(unix)]
    fn special(kind: FileType) -> Self {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            Self::Pipe
        } else if kind.is_socket() {
            Self::Socket
        } else {
            Self::Device
        }
    }

    #[cfg(not(unix))]
    fn special(_: FileType) -> Self {
        Self::Device
    }

    fn name(self) -> &'static str {
        match self {
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}
