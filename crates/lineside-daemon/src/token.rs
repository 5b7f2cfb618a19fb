//! The token of the HTTP door: random, in a file that only its owner reads, compared in constant time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
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
    /// A new token for a state folder: what a program has heard of an earlier one, as one that had the port while no daemon
    /// ran, is worth nothing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn of(state: &Path) -> io::Result<Self> {
        let path = state.join(FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Self::make(file).inspect_err(|_| {
            fs::remove_file(&path).ok();
        })
    }

    fn make(mut file: File) -> io::Result<Self> {
        let token = random::hex(random::bytes::<BYTES>()?);
        writeln!(file, "{token}")?;
        file.sync_all()?;
        Ok(Self(token))
    }

    /// Whether a text is this token. The time it takes does not depend on where they differ.
    #[must_use]
    pub fn is(&self, text: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(text).into()
    }
}
