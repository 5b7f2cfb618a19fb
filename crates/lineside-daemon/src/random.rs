//! Random bytes of the system, and bytes as text.

use std::io;

use rand::TryRngCore as _;
use rand::rngs::OsRng;

/// Random bytes that cannot be guessed.
///
/// # Errors
/// The system has none.
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Two hexadecimal digits for each byte.
pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().map(|byte| format!("{byte:02x}")).collect()
}
