//! Who may look: a one-time token that a person has asked for, and the key of a browser that it was exchanged for.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use crate::random;

/// How long a token waits to be exchanged.
pub(crate) const WAITS: Duration = Duration::from_secs(60);
/// How long a key is worth something.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// How many tokens wait at once, and how many browsers there are; the oldest gives way.
const MOST: usize = 16;
/// How many random bytes either has.
const BYTES: usize = 32;

/// What a browser may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum May {
    /// Look, and nothing else: which process it is, is not known.
    Look,
    /// Change something as well, as a person.
    Change,
}

/// Tokens and keys.
#[derive(Default)]
pub(crate) struct Keys {
    tokens: Mutex<VecDeque<(String, Instant)>>,
    browsers: Mutex<VecDeque<(String, Instant, May)>>,
}

fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

impl Keys {
    /// A token, to be exchanged once.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(crate) fn token(&self) -> io::Result<String> {
        let token = random::hex(random::bytes::<BYTES>()?);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= MOST {
            tokens.pop_front();
        }
        tokens.push_back((token.clone(), Instant::now() + WAITS));
        Ok(token)
    }

    /// Whether this is a token that waits, which it goes on to do.
    pub(crate) fn waits(&self, token: &str) -> bool {
        let now = Instant::now();
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().any(|(known, until)| *until > now && is_same(known, token))
    }

    /// Takes a token, which is worth nothing afterwards: whether it was one.
    pub(crate) fn take(&self, token: &str) -> bool {
        let now = Instant::now();
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|(_, until)| *until > now);
        let before = tokens.len();
        tokens.retain(|(known, _)| !is_same(known, token));
        tokens.len() < before
    }

    /// A key for a browser.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(crate) fn key(&self, may: May) -> io::Result<String> {
        let key = random::hex(random::bytes::<BYTES>()?);
        let mut browsers = self.browsers.lock().unwrap_or_else(PoisonError::into_inner);
        if browsers.len() >= MOST {
            browsers.pop_front();
        }
        browsers.push_back((key.clone(), Instant::now() + LASTS, may));
        Ok(key)
    }

    /// What the browser with this key may do; `None` where it is none.
    pub(crate) fn may(&self, key: &str) -> Option<May> {
        let now = Instant::now();
        let mut browsers = self.browsers.lock().unwrap_or_else(PoisonError::into_inner);
        browsers.retain(|(_, until, _)| *until > now);
        browsers.iter().filter(|(known, ..)| is_same(known, key)).map(|(.., may)| *may).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_is_worth_something_once_and_for_a_minute() {
        let keys = Keys::default();
        let [one, other] = [(); 2].map(|()| keys.token().unwrap());
        assert!(!keys.take("") && !keys.take(&one[1..]));
        assert!(keys.waits(&one) && keys.waits(&one) && !keys.waits(&one[1..]));
        assert!(keys.take(&one) && !keys.take(&one) && !keys.waits(&one));
        tokio::time::advance(WAITS).await;
        assert!(!keys.take(&other));
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_ends_and_the_oldest_gives_way() {
        let keys = Keys::default();
        let first = keys.key(May::Look).unwrap();
        assert_eq!((keys.may(&first), keys.may("")), (Some(May::Look), None));
        let others: Vec<String> = (0..MOST).map(|_| keys.key(May::Change).unwrap()).collect();
        assert_eq!((keys.may(&first), keys.may(&others[0])), (None, Some(May::Change)));
        tokio::time::advance(LASTS).await;
        assert_eq!(keys.may(&others[0]), None);
    }
}
