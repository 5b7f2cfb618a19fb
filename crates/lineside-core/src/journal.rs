//! What a journal *is*: records in sequence, kept before they are acknowledged.
//!
//! A journal knows nothing of what it keeps: a record is bytes and a number that says what kind of bytes.
//! Who keeps them, and where, is left to the implementations of [`Journal`]; what the records mean, to who appends
//! them.

use std::fmt;
use std::pin::Pin;

/// A boxed future that may be polled from any thread.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Opaque bytes of a kind.
///
/// The kinds are those of who appends: the journal gives them back as they came.
///
/// ```
/// use lineside_core::journal::Record;
///
/// let record = Record::new(1, *b"a job was accepted");
/// assert_eq!((record.kind, record.bytes.len()), (1, 18));
/// // Records may hold secrets, which no log shows.
/// assert!(!format!("{record:?}").contains("accepted"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// What kind of bytes they are.
    pub kind: u8,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Record {
    /// A record of a kind.
    pub fn new(kind: u8, bytes: impl Into<Vec<u8>>) -> Self {
        Self { kind, bytes: bytes.into() }
    }
}

impl fmt::Debug for Record {
    /// Without the bytes, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record {{ kind: {}, {} bytes }}", self.kind, self.bytes.len())
    }
}

/// The place of a record in its journal, counted from 1 without a gap, over every restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Sequence(pub u64);

impl Sequence {
    /// The place after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an acknowledged record survives; the greater survives more.
///
/// ```
/// use lineside_core::journal::Durability;
///
/// assert!(Durability::Disk > Durability::Process && Durability::Process > Durability::Memory);
/// assert_eq!(Durability::default().as_str(), "disk");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Durability {
    /// Nothing: it is in the memory of the process.
    Memory,
    /// The end of the process, also by a kill: it is with the operating system.
    Process,
    /// The loss of power: it is on the disk.
    #[default]
    Disk,
}

impl Durability {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Process => "process",
            Self::Disk => "disk",
        }
    }
}

/// The acknowledgement of accepted records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppendAck {
    /// The place of the last of them; the others stand directly before it.
    pub last: Sequence,
    /// What they survive from now on. Never less than was asked for.
    pub durability: Durability,
}

/// A journal that accepts nothing, from now until it is opened again.
///
/// Records whose append ended so are not acknowledged. They may nevertheless be found after a restart: the caller
/// them again has to be prepared for both.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the journal is unavailable: {why}")]
pub struct Unavailable {
    /// What happened, for a person.
    pub why: String,
}

impl Unavailable {
    /// Unavailable for this reason.
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

/// Where records are kept.
///
/// ```
/// use std::sync::Mutex;
///
/// use lineside_core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};
///
/// /// A journal for tests.
/// #[derive(Default)]
/// struct InMemory(Mutex<Vec<Record>>);
///
/// impl Journal for InMemory {
///     fn append(&self, records: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
///         let mut kept = self.0.lock().unwrap();
///         kept.extend(records);
///         let last = Sequence(kept.len() as u64);
///         Box::pin(async move { Ok(AppendAck { last, durability: Durability::Memory }) })
///     }
///
///     fn checkpoint(&self, _: Vec<Record>, _: Sequence) -> BoxFuture<Result<(), Unavailable>> {
///         Box::pin(async { Ok(()) })
///     }
/// }
///
/// let journal = InMemory::default();
/// drop(journal.append(vec![Record::new(1, *b"kept")]));
/// assert_eq!(journal.0.lock().unwrap().len(), 1);
/// assert_eq!(journal.durability(), Durability::Memory);
/// ```
pub trait Journal: Send + Sync + 'static {
    /// Keeps these records: all of them or, if the process or the machine ends before the answer, perhaps none, never
    /// some.
    ///
    /// The place in the sequence is given by the call and not by the first poll: of two calls one after the other, the
    /// records of the first come first. The exception is a journal that is behind by as much as it holds in memory;
    /// then records get their place when there is room for them, so a caller that depends on an order awaits the first
    /// before calling for the second.
    ///
    /// Dropping the future does not take the records back.
    ///
    /// # Errors
    ///
    /// [`Unavailable`] when the records cannot be kept as durably as asked for; nothing later is kept either.
    fn append(&self, records: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>>;

    /// What acknowledged records survive, at least. Nothing, unless it says more.
    fn durability(&self) -> Durability {
        Durability::Memory
    }

    /// Puts `snapshot` in the place of all records up to `up_to`, which are gone from then on.
    ///
    /// Records after `up_to`, also those that are appended meanwhile, stay. After a restart the snapshot's records come
    /// first, each with `up_to` as its sequence, then those after it.
    ///
    /// Dropping the future does not end the work.
    ///
    /// # Errors
    ///
    /// [`Unavailable`] when the snapshot cannot be kept; then the records that it should have replaced are still there.
    fn checkpoint(&self, snapshot: Vec<Record>, up_to: Sequence) -> BoxFuture<Result<(), Unavailable>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_durable_is_greater() {
        assert!(Durability::Memory < Durability::Process && Durability::Process < Durability::Disk);
        assert_eq!(Durability::default(), Durability::Disk);
    }

    #[test]
    fn each_durability_has_its_word() {
        let words = [Durability::Memory, Durability::Process, Durability::Disk].map(Durability::as_str);
        assert_eq!(words, ["memory", "process", "disk"]);
    }

    #[test]
    fn places_follow_one_another_and_are_shown_as_numbers() {
        assert_eq!((Sequence::default().next(), Sequence(41).next()), (Sequence(1), Sequence(42)));
        assert_eq!(Sequence(u64::MAX).next(), Sequence(u64::MAX));
        assert_eq!(format!("{} {:>3}", Sequence(42), Sequence(7)), "42   7");
    }

    struct Silent;

    impl Journal for Silent {
        fn append(&self, _: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
            Box::pin(async { Err(Unavailable::because("it is silent")) })
        }

        fn checkpoint(&self, _: Vec<Record>, _: Sequence) -> BoxFuture<Result<(), Unavailable>> {
            Box::pin(async { Err(Unavailable::because("it is silent")) })
        }
    }

    #[test]
    fn a_journal_that_promises_nothing_is_taken_to_keep_nothing() {
        assert_eq!(Silent.durability(), Durability::Memory);
    }

    #[test]
    fn a_record_does_not_show_its_bytes() {
        assert_eq!(format!("{:?}", Record::new(3, "sk-secret")), "Record { kind: 3, 9 bytes }");
    }
}
