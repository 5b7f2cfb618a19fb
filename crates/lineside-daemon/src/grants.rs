//! Grants: what lets a process that was started under a session open sessions below it, and do nothing else.
//!
//! A grant is random, belongs to one open session, and dies with it. Its name finds it; its secret is compared in
//! constant time. No part of it is ever shown.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lineside::Session;
use lineside::core::SessionId;
#[cfg(feature = "nats")]
use lineside_nats::EntryName;
use subtle::ConstantTimeEq as _;

use crate::random;

/// What a grant begins with.
const PREFIX: &str = "lsg_";
/// The bytes of its name and of its secret; their text is twice as long.
const NAME: usize = 8;
const SECRET: usize = 24;
/// Grants of sessions that are over are looked for when there are this many more than when that was done last.
const MORE: usize = 1_024;

/// The grants of all open sessions that have one.
#[derive(Default)]
pub(crate) struct Grants(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_name: HashMap<[u8; NAME], Grant>,
    of_session: HashMap<SessionId, [u8; NAME]>,
    /// How many there may be before those of sessions that are over are taken away.
    full: usize,
}

struct Grant {
    session: Session,
    secret: [u8; SECRET],
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").finish_non_exhaustive()
    }
}

impl Grants {
    /// The grant of a session, made when it has none; `None` where the session is closed or the system has no
    /// randomness.
    pub(crate) fn of(&self, session: &Session) -> Option<String> {
        let mut kept = self.kept();
        // Seen under the lock: the end of one that is open is heard later, and takes its grant away.
        if !session.is_open() {
            return None;
        }
        if let Some(name) = kept.of_session.get(session.id())
            && let Some(grant) = kept.by_name.get(name).filter(|grant| grant.session.is_open())
        {
            return Some(text(name, &grant.secret));
        }
        let (name, secret) = (random::bytes::<NAME>().ok()?, random::bytes::<SECRET>().ok()?);
        kept.forget(session.id());
        kept.by_name.insert(name, Grant { session: session.clone(), secret });
        kept.of_session.insert(session.id().clone(), name);
        kept.tidy();
        Some(text(&name, &secret))
    }

    /// The session that a grant is of; `None` when there is none of that text, or its session is over.
    pub(crate) fn session(&self, grant: &[u8]) -> Option<Session> {
        let (name, secret) = read(grant)?;
        let kept = self.kept();
        let found = kept.by_name.get(&name)?;
        let is_it: bool = found.secret.ct_eq(&secret).into();
        (is_it && found.session.is_open()).then(|| found.session.clone())
    }

    /// The name of the grant of a session, and the SHA-256 of its secret in hexadecimal.
    #[cfg(feature = "nats")]
    pub(crate) fn verifier(&self, session: &Session) -> Option<(EntryName, String)> {
        let kept = self.kept();
        let name = kept.of_session.get(session.id())?;
        let grant = kept.by_name.get(name).filter(|grant| grant.session.is_open() && session.is_open())?;
        Some((EntryName(u64::from_be_bytes(*name)), verifier_of(&grant.secret)))
    }

    /// A grant that another machine has given out, for what stands in for its session here.
    #[cfg(feature = "nats")]
    pub(crate) fn adopt(&self, session: &Session, name: EntryName, secret: [u8; SECRET]) {
        let name = name.0.to_be_bytes();
        let mut kept = self.kept();
        // As for one of this machine; under its id there may be a later session by now.
        if !session.is_open() {
            return;
        }
        kept.forget(session.id());
        kept.by_name.insert(name, Grant { session: session.clone(), secret });
        kept.of_session.insert(session.id().clone(), name);
        kept.tidy();
    }

    /// The grant of a session is worth nothing any more, although that is open here.
    #[cfg(feature = "nats")]
    pub(crate) fn disown(&self, session: &Session) {
        self.kept().forget(session.id());
    }

    /// The session is over, and its grant with it.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut kept = self.kept();
        let over = kept.of_session.get(session).and_then(|name| kept.by_name.get(name));
        // Under its id there may be a later session by now.
        if over.is_some_and(|grant| !grant.session.is_open()) {
            kept.forget(session);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget(&mut self, session: &SessionId) {
        if let Some(name) = self.of_session.remove(session) {
            self.by_name.remove(&name);
        }
    }

    /// Sessions may end without a word to us; what is left of them is bounded by this.
    fn tidy(&mut self) {
        if self.by_name.len() > self.full {
            self.by_name.retain(|_, grant| grant.session.is_open());
            let Self { by_name, of_session, .. } = self;
            of_session.retain(|_, name| by_name.contains_key(name));
            self.full = self.by_name.len() * 2 + MORE;
        }
    }
}

/// The name and the secret of a grant.
#[cfg(feature = "nats")]
pub(crate) fn parts(grant: &[u8]) -> Option<(EntryName, [u8; SECRET])> {
    read(grant).map(|(name, secret)| (EntryName(u64::from_be_bytes(name)), secret))
}

/// The SHA-256 of a secret, in hexadecimal: what lets another machine know it when it is shown.
#[cfg(feature = "nats")]
pub(crate) fn verifier_of(secret: &[u8; SECRET]) -> String {
    use sha2::Digest as _;
    random::hex(sha2::Sha256::digest(secret))
}

fn text(name: &[u8; NAME], secret: &[u8; SECRET]) -> String {
    PREFIX.to_owned() + &random::hex(name.iter().chain(secret).copied())
}

fn read(grant: &[u8]) -> Option<([u8; NAME], [u8; SECRET])> {
    let digits = grant.strip_prefix(PREFIX.as_bytes())?;
    if digits.len() != 2 * (NAME + SECRET) {
        return None;
    }
    let (mut name, mut secret) = ([0; NAME], [0; SECRET]);
    for (byte, pair) in name.iter_mut().chain(&mut secret).zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some((name, secret))
}

#[cfg(test)]
mod tests {
    use lineside::Bus;

    use super::*;

    #[tokio::test]
    async fn a_grant_is_of_one_open_session_and_dies_with_it() {
        let (bus, grants) = (Bus::new(), Grants::default());
        let session = bus.session("s").open().await.unwrap();
        let grant = grants.of(&session).unwrap();
        assert_eq!(grant.len(), PREFIX.len() + 64);
        assert_eq!(grants.of(&session).as_deref(), Some(&*grant), "one for each session");
        assert_eq!(grants.session(grant.as_bytes()).unwrap().id(), session.id());
        let mut other = grant.clone().into_bytes();
        *other.last_mut().unwrap() ^= 1;
        assert!(grants.session(&other).is_none());
        for wrong in ["", "lsg_", "x", &grant[..67], &format!("{grant}0"), &grant.to_uppercase()] {
            assert!(grants.session(wrong.as_bytes()).is_none(), "{wrong}");
        }
        session.close().await;
        assert!(grants.session(grant.as_bytes()).is_none());
        assert!(grants.of(&session).is_none());
        // A later session of that id has another one.
        let later = bus.session("s").open().await.unwrap();
        let another = grants.of(&later).unwrap();
        assert_ne!(another, grant);
        assert!(grants.session(grant.as_bytes()).is_none());
        grants.forget(later.id());
        assert!(grants.session(another.as_bytes()).is_some(), "its session is open");
        assert_eq!(format!("{grants:?}"), "Grants { .. }");
    }

    #[cfg(feature = "nats")]
    #[tokio::test]
    async fn a_grant_that_is_adopted_after_the_end_of_its_session_takes_none_of_a_later_one_away() {
        let (bus, grants) = (Bus::new(), Grants::default());
        let session = bus.session("s").open().await.unwrap();
        session.close().await;
        grants.forget(session.id());
        let later = bus.session("s").open().await.unwrap();
        let own = grants.of(&later).unwrap();
        grants.adopt(&session, EntryName(7), [7; SECRET]);
        assert_eq!(grants.kept().by_name.len(), 1);
        assert!(grants.session(own.as_bytes()).is_some());
    }

    #[tokio::test]
    async fn what_is_left_of_sessions_that_ended_is_bounded() {
        let (bus, grants) = (Bus::new(), Grants::default());
        for number in 0..10 * MORE {
            let session = bus.session(number.to_string()).open().await.unwrap();
            grants.of(&session).unwrap();
            session.close().await;
        }
        let kept = grants.kept();
        assert!(kept.by_name.len() <= MORE + 1);
        assert_eq!(kept.by_name.len(), kept.of_session.len());
    }
}
