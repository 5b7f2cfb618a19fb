//! What an event has to be for the machine.

use lineside_core::{EventId, SessionId};

use crate::control::KeyTemplate;

/// What the machine knows of an event.
pub trait Occurrence: Clone {
    /// The event's id.
    fn id(&self) -> EventId;
    /// Its session.
    fn session(&self) -> &SessionId;
    /// It is settled, and is kept only to be shown.
    fn let_go(&self) {}
    /// Adds its key to a text.
    fn render(&self, template: &KeyTemplate, key: &mut String);
    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        0
    }
    /// Several of them as one; `None` for none.
    fn merge(events: &[Self]) -> Option<Self>;
}
