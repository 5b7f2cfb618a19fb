//! How much a text is: in bytes, and in tokens by a rule that needs no tokenizer.

/// About how many tokens a text is.
///
/// Every tokenizer has its own answer; this one is cheap, the same everywhere, and rather too high than too low for
/// prose: four ASCII characters are one token, as are two characters of two bytes in UTF-8 (Greek, Cyrillic, Arabic)
/// and each one of three (Chinese, Japanese, Korean); one of four bytes (emoji) is two. The sum is rounded up.
///
/// ```
/// use lineside_core::context::tokens;
///
/// assert_eq!([tokens(""), tokens("one"), tokens("two words")], [0, 1, 3]);
/// assert_eq!([tokens("да"), tokens("你好"), tokens("🦀")], [1, 2, 2]);
/// ```
#[must_use]
pub fn tokens(text: &str) -> usize {
    quarters(text).div_ceil(4)
}

/// In quarters of a token, which add up exactly.
pub(super) fn quarters(text: &str) -> usize {
    // A few hundred bytes at a time, so that the sums stay small enough to be computed many at once.
    text.as_bytes()
        .chunks(31)
        .map(|chunk| usize::from(chunk.iter().map(|byte| quarters_of(*byte)).sum::<u8>()))
        .sum()
}

/// What a byte adds: the first one of a character stands for all of it.
const fn quarters_of(byte: u8) -> u8 {
    (byte < 0x80) as u8
        + (((byte >= 0xC0) as u8) << 1)
        + (((byte >= 0xE0) as u8) << 1)
        + (((byte >= 0xF0) as u8) << 2)
}

/// How much a text, or several, are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// In bytes of UTF-8.
    pub bytes: usize,
    /// In tokens by the rule of [`tokens`].
    pub tokens: usize,
}

impl Size {
    /// Of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { bytes: text.len(), tokens: tokens(text) }
    }
}

/// How much of the context is handed over at once, or waits: at most this many messages with at most so much text in
/// all.
///
/// Only the texts count, as the hooks gave them: what labels and escapes add to a rendered text comes on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Messages; 0 counts as 1.
    pub messages: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
    /// Tokens by the rule of [`tokens`].
    pub tokens: usize,
}

impl Bounds {
    /// No bound.
    pub const NONE: Self = Self { messages: usize::MAX, bytes: usize::MAX, tokens: usize::MAX };

    /// Whether this many messages of this size are within the bounds.
    #[must_use]
    pub fn hold(&self, messages: usize, size: Size) -> bool {
        messages <= self.messages.max(1) && size.bytes <= self.bytes && size.tokens <= self.tokens
    }
}

impl Default for Bounds {
    /// For one delivery: about a tenth of the smallest context in common use, 128 thousand tokens, and as many bytes
    /// as those are of plain English.
    fn default() -> Self {
        Self { messages: 128, bytes: 48 << 10, tokens: 12 << 10 }
    }
}

/// Two measures together.
impl std::ops::Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}

/// What remains of a measure without another one.
impl std::ops::Sub for Size {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tokens_are_those_of_the_characters(text in any::<String>()) {
            let slowly: usize = text.chars().map(|c| [1, 2, 4, 8][c.len_utf8() - 1]).sum();
            prop_assert_eq!(tokens(&text), slowly.div_ceil(4));
        }

        #[test]
        fn parts_are_never_less_than_the_whole(one in any::<String>(), other in any::<String>()) {
            let whole = tokens(&format!("{one}{other}"));
            prop_assert!(whole <= tokens(&one) + tokens(&other));
            prop_assert!(tokens(&one) + tokens(&other) <= whole + 1);
        }
    }
}
