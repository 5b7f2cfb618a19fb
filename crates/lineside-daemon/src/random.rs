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
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or_default();
    bytes.into_iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
