//! How much is kept of texts that come from agents and their programs, and what all of it weighs.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside_redact::redact_json;
use opentelemetry::{Key, KeyValue, Value};

/// The longest name: of a tool, a call, a session, an agent. As the decision log has it.
const NAME: usize = 512;
/// The longest text of content, and how long one may be whose secrets are still looked for.
const CONTENT: usize = 16 << 10;
const LOOKED_AT: usize = 256 << 10;
/// What a span or a record weighs beside its texts.
const BESIDE: usize = 512;

/// As much of a name as is kept.
pub(crate) fn name(text: &str) -> &str {
    text.get(..text.floor_char_boundary(NAME)).unwrap_or(text)
}

/// A name as an attribute.
pub(crate) fn named(key: impl Into<Key>, text: &str) -> KeyValue {
    KeyValue::new(key, name(text).to_owned())
}

/// Content without its secrets, as much of it as is kept.
pub(crate) fn content(text: &str) -> String {
    if text.len() > LOOKED_AT {
        return format!("left out ({} bytes)", text.len());
    }
    let text = redact_json(text);
    match text.get(..text.floor_char_boundary(CONTENT)) {
        Some(begin) if text.len() > CONTENT => format!("{begin}… ({} bytes)", text.len()),
        _ => Cow::into_owned(text),
    }
}

/// What a text and attributes weigh, in bytes.
pub(crate) fn weight(text: &str, attributes: &[KeyValue]) -> usize {
    let of = |pair: &KeyValue| {
        let value = match &pair.value {
            Value::String(text) => text.as_str().len(),
            _ => 0,
        };
        size_of::<KeyValue>() + pair.key.as_str().len() + value
    };
    BESIDE + text.len() + attributes.iter().map(of).sum::<usize>()
}

/// Room for what has begun, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Room(Arc<AtomicUsize>);

/// A place in the room, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    taken: Arc<AtomicUsize>,
    weight: usize,
}

/// How much has room.
pub(crate) const ROOM: usize = 64 << 20;

impl Room {
    /// A place of so many bytes, if there is one.
    pub(crate) fn place(&self, weight: usize) -> Option<Place> {
        let fits = |taken: usize| taken.checked_add(weight).filter(|taken| *taken <= ROOM);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Place { taken: Arc::clone(&self.0), weight })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back() {
        let room = Room::default();
        let place = room.place(ROOM).unwrap();
        assert!(room.place(1).is_none());
        drop(place);
        assert!(room.place(ROOM).is_some());
    }

    #[test]
    fn content_is_cut_and_says_so() {
        assert_eq!(content("ls"), "ls");
        assert_eq!(content(r#"{"a":"x\nghp_0123456789abcdefABCD"}"#), r#"{"a":"x\n[redacted]"}"#);
        let cut = content(&"é".repeat(CONTENT));
        assert!(cut.len() < CONTENT + 32 && cut.ends_with("… (32768 bytes)"), "{}", cut.len());
        assert_eq!(content(&"x".repeat(LOOKED_AT + 1)), "left out (262145 bytes)");
    }
}
