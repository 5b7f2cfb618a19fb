//! Where the server is, which cluster is joined, and as which machine.

use std::fmt;
use std::path::PathBuf;

use crate::clock::Clock;

/// A word that is one token of a subject: 1 to 64 letters, digits, `-` and `_` of ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(String);

/// The longest token, in bytes.
const LONGEST: usize = 64;

/// A text is no [`Token`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name here: 1 to 64 letters, digits, `-` and `_` are")]
pub struct ParseTokenError(String);

impl Token {
    /// The token of this text.
    ///
    /// # Errors
    /// It is empty, longer than 64 bytes, or has other characters than letters, digits, `-` and `_`.
    pub fn new(text: impl Into<String>) -> Result<Self, ParseTokenError> {
        let text = text.into();
        let is_one = (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_of_tokens);
        if is_one { Ok(Self(text)) } else { Err(ParseTokenError(text)) }
    }

    /// The token nearest to a text: other characters are `-`, and what is too long is cut. `None` for an empty text.
    #[must_use]
    pub fn like(text: &str) -> Option<Self> {
        let near =
            text.bytes().take(LONGEST).map(|byte| if is_of_tokens(byte) { char::from(byte) } else { '-' });
        Self::new(near.collect::<String>()).ok()
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_of_tokens(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// What the server has to do before it acknowledges an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sync {
    /// What it is set to.
    #[default]
    AsSet,
    /// Have it on the disk. A server that does otherwise, or does not say, is not joined.
    Always,
}

/// Who a member is to its server: a secret, which is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials(pub(crate) Kind);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A JWT and the seed of its user.
    Jwt(String),
    /// The seed of a key.
    Seed(String),
    /// A user and a password.
    User(String, String),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// What a file of credentials holds: what `nsc` writes of a user, the seed of an nkey, or one line `USER:PASSWORD`.
    /// `None` for something else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.contains("BEGIN NATS USER JWT") {
            return Some(Self(Kind::Jwt(text.to_owned())));
        }
        let line = text.trim();
        if line.is_empty() || line.contains(['\n', '\r']) {
            return None;
        }
        let is_seed = line.starts_with("SU") && line.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_seed {
            return Some(Self(Kind::Seed(line.to_owned())));
        }
        let (user, password) = line.split_once(':')?;
        Some(Self(Kind::User(user.to_owned(), password.to_owned())))
    }
}

/// The settings of a member.
#[derive(Debug, Clone)]
pub struct JoinSettings {
    /// The servers, separated by commas, such as `nats://n1:4222,tls://n2:4222`.
    pub servers: String,
    /// As which user.
    pub credentials: Option<Credentials>,
    /// A file with further roots that the server's certificate may come from, in PEM.
    pub roots: Option<PathBuf>,
    /// Which cluster: members of the same one share a registry.
    pub cluster: Token,
    /// The name of this machine; no other member has it.
    pub machine: Token,
    /// This life of the machine: another one at each start.
    pub life: Token,
    /// What is required of the server.
    pub sync: Sync,
    /// By what leases are timed.
    pub clock: Clock,
}

/// Why a cluster cannot be joined, now or later: the settings are wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinClusterError {
    /// The addresses of the servers are none.
    #[error("{servers:?} is no list of addresses such as nats://host:4222")]
    Servers {
        /// What stands there, without a password.
        servers: String,
    },
    /// An address holds a user or a password, which others see on a command line.
    #[error("an address holds a user; it belongs into a file of credentials")]
    UserInAddress,
    /// The credentials are none.
    #[error("the credentials are not as `nsc` writes them")]
    Credentials(#[source] std::io::Error),
    /// The client does not start.
    #[error("failed to start the client of NATS")]
    Client(#[source] async_nats::ConnectError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word_of_a_subject() {
        assert_eq!(Token::new("build-7_a").unwrap().as_str(), "build-7_a");
        for wrong in ["", "a.b", "a b", "*", ">", "ä", &"x".repeat(65)] {
            assert!(Token::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Token::like("host.example.org").unwrap().as_str(), "host-example-org");
        assert_eq!(Token::like(&"x".repeat(99)).unwrap().as_str().len(), LONGEST);
        assert_eq!(Token::like(""), None);
    }

    #[test]
    fn credentials_are_of_three_kinds_and_are_not_shown() {
        let read = |text: &str| Credentials::read(text).map(|read| read.0);
        assert!(matches!(read("-----BEGIN NATS USER JWT-----\nx\n"), Some(Kind::Jwt(_))));
        assert!(matches!(read("SUAIBDPBAUTW\n"), Some(Kind::Seed(seed)) if seed == "SUAIBDPBAUTW"));
        assert!(
            matches!(read("u:p:q\n"), Some(Kind::User(user, password)) if user == "u" && password == "p:q")
        );
        for wrong in ["", "u", "u:p\nv:q"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
        assert_eq!(format!("{:?}", Credentials::read("u:secret")), "Some(Credentials { .. })");
    }
}
