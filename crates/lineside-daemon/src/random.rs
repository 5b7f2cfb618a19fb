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

/// Where the numbers of a process begin: elsewhere in each, as others may still know those of an earlier one.
pub(crate) fn first_number() -> u64 {
    u64::from(bytes::<4>().map_or(0, u32::from_le_bytes)) << 20
}

/// Two hexadecimal digits for each byte.
pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or_default();
    let bytes = bytes.into_iter();
    let mut text = String::with_capacity(2 * bytes.size_hint().0);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}
