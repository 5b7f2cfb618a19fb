//! Where the texts are kept that were too long for a delivery, for as long as there is room: a port, and memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside_core::MessageId;

/// Where a text is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keeping {
    /// In this file.
    File(Arc<str>),
    /// In memory; it is asked for by its message.
    Memory,
    /// Nowhere: it could not be kept.
    Nowhere,
}

/// Keeps texts, within bounds of its own; the oldest are given up first.
///
/// It is called where messages are collected, and the collection waits for it.
pub trait FullTexts: Send + Sync + 'static {
    /// Keeps the text of a message. A message that is collected again because it was not accepted is kept again, and
    /// takes no second place.
    fn keep(&self, message: MessageId, text: &str) -> Keeping;

    /// The text of a message, if it is kept still.
    fn text(&self, message: MessageId) -> Option<String>;
}

/// How many bytes of texts are kept in memory.
const MOST_BYTES: usize = 16 << 20;

/// And how many texts, however short they are.
const MOST_TEXTS: usize = 1024;

/// Texts in the memory of the process: 16 MiB of them, and 1024 at most.
///
/// ```
/// use lineside_bus::{FullTexts, Keeping, TextsInMemory};
/// use lineside_core::MessageId;
///
/// let texts = TextsInMemory::default();
/// let message = MessageId::stable(&[b"one"]);
/// assert_eq!(texts.keep(message, "a long text"), Keeping::Memory);
/// assert_eq!(texts.text(message).as_deref(), Some("a long text"));
/// ```
#[derive(Debug, Default)]
pub struct TextsInMemory(Mutex<Texts>);

#[derive(Debug, Default)]
struct Texts {
    kept: VecDeque<(MessageId, Arc<str>)>,
    bytes: usize,
}

impl TextsInMemory {
    fn lock(&self) -> MutexGuard<'_, Texts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FullTexts for TextsInMemory {
    fn keep(&self, message: MessageId, text: &str) -> Keeping {
        if text.len() > MOST_BYTES {
            return Keeping::Nowhere;
        }
        let mut texts = self.lock();
        if texts.kept.iter().any(|(id, _)| *id == message) {
            return Keeping::Memory;
        }
        texts.bytes += text.len();
        texts.kept.push_back((message, text.into()));
        while texts.bytes > MOST_BYTES || texts.kept.len() > MOST_TEXTS {
            let Some((_, oldest)) = texts.kept.pop_front() else { break };
            texts.bytes -= oldest.len();
        }
        Keeping::Memory
    }

    fn text(&self, message: MessageId) -> Option<String> {
        let texts = self.lock();
        texts.kept.iter().find(|(id, _)| *id == message).map(|(_, text)| text.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_texts_are_given_up_first() {
        let texts = TextsInMemory::default();
        let text = "x".repeat(MOST_BYTES / 2);
        let id = |name: &str| MessageId::stable(&[name.as_bytes()]);
        for name in ["one", "two", "two", "three"] {
            assert_eq!(texts.keep(id(name), &text), Keeping::Memory);
        }
        assert_eq!(texts.text(id("one")), None);
        assert_eq!(texts.text(id("two")).as_deref(), Some(&*text));
        assert!(texts.text(id("three")).is_some());
        assert_eq!(texts.keep(id("four"), &"x".repeat(MOST_BYTES + 1)), Keeping::Nowhere);
        assert!(texts.text(id("three")).is_some(), "a text that is too long evicts no other");
        // Ten times as many bytes, and ten times as many texts.
        for (count, text, stay) in [(20, &*text, 2), (10 * MOST_TEXTS, "short", MOST_TEXTS)] {
            for number in 0..count {
                texts.keep(id(&format!("{count} {number}")), text);
            }
            let there = (0..count).filter(|number| texts.text(id(&format!("{count} {number}"))).is_some());
            assert_eq!(there.collect::<Vec<_>>(), (count - stay..count).collect::<Vec<_>>());
        }
    }
}
