//! The hooks of one format that are registered at one place, on the bus or on a session: listed, added, taken away,
//! switched off.
//!
//! For formats that let a programme change their hooks at run time. What such a format promises of that is described where
//! the format is known.

use std::sync::Arc;

use lineside_core::{Hook, PointInfo};

use crate::api::register::Installed;
use crate::api::register::{RegisterHookError, Registration};
use crate::hook::state::Place;
use crate::hook::state::Shared;

/// The hooks of one format at one place. Cloning it is cheap; all clones speak of the same.
///
/// Everything may be called from any thread and from within a hook. An event uses the hooks as they were when it was
/// published: what is changed holds for later ones, and hooks under way come to their end.
///
/// ```
/// use lineside_bus::Bus;
///
/// let jcli = Bus::new().of_dialect("jcli");
/// assert!(jcli.list().is_empty());
/// jcli.switch_off();
/// ```
#[derive(Clone)]
pub struct OfDialect {
    shared: Arc<Shared>,
    place: Place,
    dialect: &'static str,
}

impl OfDialect {
    pub(crate) fn new(shared: Arc<Shared>, place: Place, dialect: &'static str) -> Self {
        Self { shared, place, dialect }
    }

    /// The hooks and their points, in their order.
    #[must_use]
    pub fn list(&self) -> Vec<(&'static PointInfo, Arc<Hook>)> {
        let registered = self.shared.tree.registered(&self.place);
        let own = registered.into_iter().filter(|registered| registered.hook.dialect == self.dialect);
        own.map(|registered| (registered.point, registered.hook)).collect()
    }

    /// Adds one hook. On a session its layer and its depth become those of the session.
    ///
    /// # Errors
    /// It is of another format, it would intercept a fact, or the session is closed.
    pub fn attach(&self, added: Installed) -> Result<Registration, RegisterHookError> {
        let found = added.hook.dialect;
        if found != self.dialect {
            return Err(RegisterHookError::OtherDialect { expected: self.dialect, found });
        }
        self.shared.register(self.place.clone(), added.added(None))
    }

    /// Removes hooks: those at a point or at all, and those of a source or of any. Sources compare as whole
    /// strings. Returns how many there were.
    pub fn remove(&self, point: Option<&PointInfo>, source: Option<&str>) -> usize {
        self.shared.remove(&self.place, &|registered| {
            registered.hook.dialect == self.dialect
                && point.is_none_or(|point| registered.point == point)
                && source.is_none_or(|source| *registered.hook.source == *source)
        })
    }

    /// Has every event skip these hooks, those that are added later too; they stay registered.
    pub fn switch_off(&self) {
        self.shared.tree.switch(&self.place, self.dialect, true);
        self.shared.changed(&self.place);
    }

    /// Has events see these hooks again.
    pub fn switch_on(&self) {
        self.shared.tree.switch(&self.place, self.dialect, false);
        self.shared.changed(&self.place);
    }

    /// Whether they are switched off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.shared.tree.is_off(&self.place, self.dialect)
    }
}
