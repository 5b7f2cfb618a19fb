//! Things that others keep with a bus.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One thing of each type.
#[derive(Default)]
pub(crate) struct Extensions(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// The one of this type; made when it is asked for first.
    pub(crate) fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut all = self.lock();
        let one = all.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(make()));
        match Arc::clone(one).downcast() {
            Ok(one) => one,
            Err(_) => unreachable!("it is kept under its own type"),
        }
    }

    /// The one of this type, if it was ever asked for.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(self.lock().get(&TypeId::of::<T>())?).downcast().ok()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TypeId, Arc<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
