//! The token of the HTTP door: random, in a file that only its owner reads, compared in constant time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use subtle::ConstantTimeEq as _;

use crate::random;

/// The name of the file, within the state folder.
pub const FILE: &str = "http-token";

/// How many random bytes a token has; its text is twice as long.
const BYTES: usize = 32;

/// A bearer token. It is never shown: `Debug` prints no part of it.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The token of a state folder, made when there is none.
    ///
    /// # Errors
    /// The file cannot be read or written, others can read it, or it does not hold a token.
    pub fn of(state: &Path) -> io::Result<Self> {
        let path = state.join(FILE);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => Self::make(file).inspect_err(|_| {
                fs::remove_file(&path).ok();
            }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Self::read(&path),
            Err(error) => Err(error),
        }
    }

    fn make(mut file: File) -> io::Result<Self> {
        let token = random::hex(random::bytes::<BYTES>()?);
        writeln!(file, "{token}")?;
        file.sync_all()?;
        Ok(Self(token))
    }

    fn read(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        if !found.is_file() || found.mode() & 0o077 != 0 {
            let text =
                format!("{} must be a file with mode 0600; remove it to have a new one", path.display());
            return Err(io::Error::other(text));
        }
        let mut text = String::new();
        File::open(path)?.take(1_024).read_to_string(&mut text)?;
        let token = text.trim_end();
        if token.len() != 2 * BYTES || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let text = format!("{} does not hold a token; remove it to have a new one", path.display());
            return Err(io::Error::other(text));
        }
        Ok(Self(token.to_owned()))
    }

    /// Whether a text is this token. The time it takes does not depend on where they differ.
    #[must_use]
    pub fn is(&self, text: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(text).into()
    }
}
