//! Things that others keep with a bus.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

type Slot = Arc<OnceLock<Arc<dyn Any + Send + Sync>>>;

/// One thing of each type. What is there already is found by many at once.
#[derive(Default)]
pub(crate) struct Extensions(RwLock<HashMap<TypeId, Slot>>);

impl Extensions {
    /// The one of this type; made when it is asked for first. What makes it may ask for those of other types.
    pub(crate) fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let slot = self.slot::<T>().unwrap_or_else(|| {
            let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(TypeId::of::<T>()).or_default())
        });
        let one = slot.get_or_init(|| Arc::new(make()));
        match Arc::clone(one).downcast() {
            Ok(one) => one,
            Err(_) => unreachable!("it is kept under its own type"),
        }
    }

    /// The one of this type, if it was ever asked for.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(self.slot::<T>()?.get()?).downcast().ok()
    }

    fn slot<T: Any>(&self) -> Option<Slot> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&TypeId::of::<T>()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_one_may_ask_for_another() {
        let extensions = Extensions::default();
        let made = extensions.get_or_make(|| {
            assert!(extensions.get::<String>().is_none(), "it is being made");
            extensions.get_or_make(|| 7_u32).to_string()
        });
        assert_eq!((made.as_str(), extensions.get::<u32>().as_deref()), ("7", Some(&7)));
        assert!(Arc::ptr_eq(&made, &extensions.get_or_make(String::new)), "it is made once");
    }
}
