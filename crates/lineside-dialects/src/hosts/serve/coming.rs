//! A call whose document was read, before its session is asked for what it knows of it.

use std::sync::Arc;

use super::call::Arrival;
use super::calls::Arriving;
use super::incoming::{self, Incoming};

/// An event that a document was read into, and what it is known by if it is of a tool call. Made of an [`Arrival`], without
/// anything that other calls wait for.
#[derive(Debug)]
pub struct Coming {
    pub(super) arrival: Box<Arrival>,
    pub(super) incoming: Box<Incoming>,
    pub(super) arriving: Option<Arc<Arriving>>,
    pub(super) tree: Option<Arc<str>>,
}

impl From<Box<Arrival>> for Coming {
    fn from(arrival: Box<Arrival>) -> Self {
        let incoming = Box::new(incoming::read(&arrival));
        let arriving = Arriving::of(&incoming, &incoming.session(), arrival.entry, &arrival.event);
        Self { arrival, incoming, arriving: arriving.map(Arc::new), tree: None }
    }
}

impl From<Box<Coming>> for Coming {
    fn from(coming: Box<Self>) -> Self {
        *coming
    }
}

impl Coming {
    /// Its session is in the tree of this one, which has a part of all that are remembered.
    #[must_use]
    pub fn in_tree(mut self, root: Arc<str>) -> Self {
        self.tree = Some(root);
        self
    }

    /// The event, apart from what the memory of its session makes of it.
    #[must_use]
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }
}
