//! The texts of large signals, while they are sent to readers: made once for all of them, and bounded together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::shapes::SignalForm;
use crate::room::units;

/// What the texts that are being sent have together at most, in bytes.
const MOST: usize = 128 << 20;

/// A signal by its id, and how much of it.
type Name = (u64, SignalForm);

/// The texts that are being sent. A reader that does not read keeps one of them until its connection is closed.
pub(crate) struct Texts {
    sent: Mutex<HashMap<Name, Weak<Text>>>,
    room: Arc<Semaphore>,
    most: usize,
}

/// The text of a signal, and the room that it takes.
struct Text {
    text: OnceLock<Vec<u8>>,
    _room: OwnedSemaphorePermit,
}

/// One of those who have it.
struct Held(Arc<Text>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.text.get().map_or(&[], Vec::as_slice)
    }
}

impl Default for Texts {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl Texts {
    fn new(most: usize) -> Self {
        Self { sent: Mutex::default(), room: Arc::new(Semaphore::new(units(most))), most }
    }

    /// The text of this name, which comes to about so many bytes: the one that another reader is being sent,
    /// or a new one. `None` while others take all the room.
    pub(crate) fn of(&self, name: Name, bytes: usize, made: impl FnOnce() -> Vec<u8>) -> Option<Bytes> {
        let text = self.shared(name, bytes)?;
        // Readers that come meanwhile wait for the one that makes it: each would take as long.
        text.text.get_or_init(made);
        Some(Bytes::from_owner(Held(text)))
    }

    fn shared(&self, name: Name, bytes: usize) -> Option<Arc<Text>> {
        let mut sent = self.sent();
        if let Some(text) = sent.get(&name).and_then(Weak::upgrade) {
            return Some(text);
        }
        // One that is longer than all the room goes alone.
        let units = u32::try_from(units(bytes.min(self.most))).ok()?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(units).ok()?;
        let text = Arc::new(Text { text: OnceLock::new(), _room: room });
        sent.retain(|_, text| text.strong_count() > 0);
        sent.insert(name, Arc::downgrade(&text));
        Some(text)
    }

    fn sent(&self) -> MutexGuard<'_, HashMap<Name, Weak<Text>>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_a_text_and_all_texts_have_one_room() {
        let texts = Texts::new(10 << 10);
        let made = |text: &str| text.as_bytes().to_vec();
        let first = texts.of((1, SignalForm::Whole), 6 << 10, || made("one")).unwrap();
        let again = texts.of((1, SignalForm::Whole), 6 << 10, || unreachable!()).unwrap();
        assert_eq!((&*first, &*again), (&b"one"[..], &b"one"[..]));
        assert!(texts.of((2, SignalForm::Whole), 6 << 10, || unreachable!()).is_none());
        let mut rest = first.clone();
        let piece = rest.split_to(1);
        drop((first, again, rest));
        assert!(
            texts.of((2, SignalForm::Whole), 6 << 10, || unreachable!()).is_none(),
            "a piece is still being sent"
        );
        drop(piece);
        assert_eq!(&*texts.of((2, SignalForm::Whole), 6 << 10, || made("two")).unwrap(), b"two");
        let alone = texts.of((3, SignalForm::Whole), 1 << 30, || made("three")).unwrap();
        assert!(texts.of((4, SignalForm::Whole), 1, || unreachable!()).is_none());
        assert_eq!((&*alone, texts.sent().len()), (&b"three"[..], 1));
        drop(alone);
        let many: Vec<_> =
            (10..110).filter_map(|id| texts.of((id, SignalForm::Whole), 1 << 10, || made("many"))).collect();
        assert_eq!(many.len(), 10, "of ten times as many");
    }
}
