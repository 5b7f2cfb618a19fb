//! The core schema: what a plain scalar is.

use super::Content;

/// A plain scalar by the core schema of YAML 1.2.
pub(super) fn plain(text: &str) -> Content {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "true" | "True" | "TRUE" => Content::Boolean(true),
        "false" | "False" | "FALSE" => Content::Boolean(false),
        _ => integer(text)
            .map(Content::Integer)
            .or_else(|| float(text).map(Content::Float))
            .unwrap_or_else(|| Content::Text(text.to_owned())),
    }
}

/// `12`, `-12`, `0o14`, `0xC`.
pub(super) fn integer(text: &str) -> Option<i128> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let fits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
            return fits.then(|| i128::from_str_radix(digits, radix).unwrap_or(i128::MAX));
        }
    }
    decimal(text)
}

/// Decimal digits with an optional sign, and nothing else.
pub(crate) fn decimal(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(if text.starts_with('-') { i128::MIN } else { i128::MAX }))
}

/// `1.5`, `1e3`, `.inf`, `.nan`.
pub(super) fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => return Some(f64::NEG_INFINITY),
        ".inf" | ".Inf" | ".INF" => return Some(f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Some(f64::NAN),
        _ => {}
    }
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let number = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent = exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent));
    if number && exponent { text.parse().ok() } else { None }
}
