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
    /// A new one each time; these are drawn and not given yet.
    Random(Vec<u128>),
}

/// How many random ids are drawn at once: the system is asked once for all of them.
const DRAWN: usize = 32;

impl Ids {
    /// One that was not given before.
    pub(super) fn next(&mut self) -> Id {
        match self {
            Self::Counted(last) => {
                *last += 1;
                Id::Counted(*last)
            }
            Self::Random(drawn) => Id::Random(drawn.pop().unwrap_or_else(|| {
                let [id, rest @ ..] = random::<DRAWN>();
                drawn.extend(rest);
                id
            })),
        }
    }
}

/// The token of a worker: new for each (OC-72).
pub(super) fn token() -> String {
    let [token] = random();
    format!("{token:032x}")
}

fn random<const N: usize>() -> [u128; N] {
    let mut drawn = [[0_u8; 16]; N];
    if getrandom::fill(drawn.as_flattened_mut()).is_err() {
        // A system without randomness: what keeps hash maps apart has to do.
        for bytes in &mut drawn {
            let random = || RandomState::new().hash_one(*bytes).to_ne_bytes();
            *bytes = [random(), random()].concat().try_into().unwrap_or(*bytes);
        }
    }
    drawn.map(u128::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let mut ids = Ids::Random(Vec::new());
        let [one, other] = [ids.next(), ids.next()];
        let all: HashSet<Id> = (0..3 * DRAWN).map(|_| ids.next()).chain([one, other]).collect();
        assert_eq!(all.len(), 3 * DRAWN + 2);
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
