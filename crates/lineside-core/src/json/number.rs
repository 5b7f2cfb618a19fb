//! Numbers as they are written.

use std::fmt;
use std::str::FromStr;

/// A JSON number with the digits that were written.
///
/// Two are equal if they are written the same: `1.0` is not `1`.
///
/// ```
/// use lineside_core::json::Number;
///
/// // Its digits are those that were written.
/// let price: Number = "0.10".parse()?;
/// assert_eq!((price.to_string().as_str(), price.as_f64()), ("0.10", Some(0.1)));
/// let id: Number = "18446744073709551615".parse()?;
/// assert_eq!((id.as_u64(), id.as_i64()), (Some(u64::MAX), None));
/// # Ok::<_, lineside_core::json::ParseNumberError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Written);

/// An integer that is written as Rust would write it is never a text; so equality needs no reading.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Written {
    Unsigned(u64),
    Negative(i64),
    Text(Box<str>),
}

/// A text that is not a JSON number of at most 1,024 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a number is not written as JSON demands, or has more than {LONGEST} bytes")]
pub struct ParseNumberError;

/// The longest number that is read, in bytes. No type has as many digits, and what is longer would be kept and copied as
/// it came.
pub(super) const LONGEST: usize = 1_024;

/// How many digits every `u64` and, with a sign, every `i64` can have.
const SAFE_DIGITS: usize = 18;

impl Number {
    /// The number, if it is finite, with the fewest digits that read back as the same.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::text(zmij::Buffer::new().format_finite(value)))
    }

    /// The number, if it is finite, with the fewest digits that read back as the same `f32`.
    #[must_use]
    pub fn from_f32(value: f32) -> Option<Self> {
        value.is_finite().then(|| Self::text(zmij::Buffer::new().format_finite(value)))
    }

    /// A number from a text that is one.
    pub(super) fn text(text: &str) -> Self {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || text == "-0" {
            return Self(Written::Text(text.into()));
        }
        if digits.len() <= SAFE_DIGITS {
            let value = digits.bytes().fold(0_i64, |value, byte| value * 10 + i64::from(byte - b'0'));
            return if digits.len() == text.len() { value.into() } else { (-value).into() };
        }
        if let Ok(value) = text.parse::<u64>() {
            value.into()
        } else if let Ok(value) = text.parse::<i64>() {
            value.into()
        } else {
            Self(Written::Text(text.into()))
        }
    }

    /// How many bytes its digits take beside its own size.
    pub(crate) fn weight(&self) -> usize {
        match &self.0 {
            Written::Unsigned(_) | Written::Negative(_) => 0,
            Written::Text(text) => text.len(),
        }
    }

    /// The digits, unless it is an integer within `u64` or `i64`.
    pub(super) fn digits(&self) -> Result<&str, Integer> {
        match &self.0 {
            Written::Unsigned(value) => Err(Integer::Unsigned(*value)),
            Written::Negative(value) => Err(Integer::Negative(*value)),
            Written::Text(text) => Ok(text),
        }
    }

    /// The number, if it is an integer from 0 to 2⁶⁴ − 1.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Written::Unsigned(value) => Some(*value),
            Written::Negative(_) => None,
            Written::Text(text) => text.parse().ok(),
        }
    }

    /// The number, if it is an integer from −2⁶³ to 2⁶³ − 1.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Written::Unsigned(value) => i64::try_from(*value).ok(),
            Written::Negative(value) => Some(*value),
            Written::Text(text) => text.parse().ok(),
        }
    }

    /// The number, if it is an integer within that type.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        match &self.0 {
            Written::Unsigned(value) => Some((*value).into()),
            Written::Negative(value) => Some((*value).into()),
            Written::Text(text) => text.parse().ok(),
        }
    }

    /// The number, if it is an integer within that type.
    #[must_use]
    pub fn as_u128(&self) -> Option<u128> {
        match &self.0 {
            Written::Unsigned(value) => Some((*value).into()),
            Written::Negative(_) => None,
            Written::Text(text) => text.parse().ok(),
        }
    }

    /// The finite number that is nearest to what is written.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match &self.0 {
            Written::Unsigned(value) => Some(*value as f64),
            Written::Negative(value) => Some(*value as f64),
            Written::Text(text) => text.parse().ok().filter(|value: &f64| value.is_finite()),
        }
    }
}

/// An integer that fits.
pub(super) enum Integer {
    Unsigned(u64),
    Negative(i64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Written::Unsigned(value) => value.fmt(f),
            Written::Negative(value) => value.fmt(f),
            Written::Text(text) => text.fmt(f),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl FromStr for Number {
    type Err = ParseNumberError;

    fn from_str(text: &str) -> Result<Self, ParseNumberError> {
        match length(text.as_bytes()) {
            Some(end) if end == text.len() && end <= LONGEST => Ok(Self::text(text)),
            _ => Err(ParseNumberError),
        }
    }
}

/// How long the number is with which a text begins.
pub(super) fn length(text: &[u8]) -> Option<usize> {
    let digits =
        |from: usize| text[from.min(text.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = usize::from(text.first() == Some(&b'-'));
    let whole = if text.get(end) == Some(&b'0') { 1 } else { digits(end) };
    end += whole;
    if whole == 0 || text.get(end).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        end += 1 + fraction;
        if fraction == 0 {
            return None;
        }
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        end += 1 + sign + exponent;
        if exponent == 0 {
            return None;
        }
    }
    Some(end)
}

macro_rules! unsigned {
    ($($integer:ty)*) => { $(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                Self(Written::Unsigned(value as u64))
            }
        }
    )* };
}

macro_rules! signed {
    ($($integer:ty)*) => { $(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                let value = value as i64;
                Self(if value < 0 { Written::Negative(value) } else { Written::Unsigned(value as u64) })
            }
        }
    )* };
}

unsigned!(u8 u16 u32 u64 usize);
signed!(i8 i16 i32 i64 isize);
