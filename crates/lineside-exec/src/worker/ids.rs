//! Ids: what ties the answer of a worker to the call that it answers.
//!
//! A hook shows files, and starts programs that print what they like. Where that can come out among the frames of its
//! worker, only the id keeps it from being an answer: only the receiver of the call knows it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// The id of a call, or of the loading of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Id {
    /// Where each frame has the token of its worker.
    Counted(u64),
    /// Where no frame has one.
    Random(u128),
}

impl Id {
    /// One that cannot be guessed.
    fn random() -> Self {
        Self::Random(random())
    }

    /// An id as it stands in a frame of hooks: a JSON text.
    pub(super) fn read_random(json: &str) -> Option<Self> {
        let digits = json.strip_prefix('"')?.strip_suffix('"')?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 32 || !digits.bytes().all(is_digit) {
            return None;
        }
        u128::from_str_radix(digits, 16).ok().map(Self::Random)
    }
}

impl fmt::Display for Id {
    /// As it stands in a frame.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted(number) => write!(f, "{number}"),
            Self::Random(number) => write!(f, "\"{number:032x}\""),
        }
    }
}

/// Gives each call of one worker its id.
#[derive(Debug)]
pub(super) enum Ids {
    /// One after the other; this was the last one.
    Counted(u64),
    /// A new one each time.
    Random,
}

impl Ids {
    /// One that was not given before.
    pub(super) fn next(&mut self) -> Id {
        match self {
            Self::Counted(last) => {
                *last += 1;
                Id::Counted(*last)
            }
            Self::Random => Id::random(),
        }
    }
}

/// The token of a worker: new for each (OC-72).
pub(super) fn token() -> String {
    format!("{:032x}", random())
}

fn random() -> u128 {
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // A system without randomness: what keeps hash maps apart has to do.
        let random = || RandomState::new().hash_one(bytes).to_ne_bytes();
        bytes = [random(), random()].concat().try_into().unwrap_or(bytes);
    }
    u128::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let mut ids = Ids::Random;
        let [one, other] = [ids.next(), ids.next()];
        assert_ne!(one, other);
        assert_eq!(Id::read_random(&one.to_string()), Some(one));
        assert_eq!(
            Id::read_random("\"000000000000000000000000000000ff\""),
            Some(Id::Random(255)),
            "with all its zeroes"
        );
        for none in [
            "1",
            "\"1\"",
            "null",
            "\"000000000000000000000000000000FF\"",
            "\"+00000000000000000000000000000ff\"",
        ] {
            assert_eq!(Id::read_random(none), None, "{none}");
        }
    }

    #[test]
    fn ids_beside_a_token_count_up() {
        let mut ids = Ids::Counted(0);
        assert_eq!([ids.next().to_string(), ids.next().to_string()], ["1", "2"]);
        assert_ne!(token(), token());
    }
}
