//! What sessions that have ended leave to those below them, until nothing is below them.
//!
//! A look for what nothing is under any more costs what it finds, however much is kept: each session says itself when that
//! is so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lineside::Session;

/// All of it, by the numbers of its sessions.
pub(crate) struct Inherited<T> {
    left: HashMap<u64, Vec<T>>,
    /// The sessions that nothing is below any more.
    over: Arc<Mutex<Vec<u64>>>,
    /// How many sessions were looked at so far.
    #[cfg(test)]
    looks: usize,
}

impl<T> Default for Inherited<T> {
    fn default() -> Self {
        Self {
            left: HashMap::new(),
            over: Arc::default(),
            #[cfg(test)]
            looks: 0,
        }
    }
}

impl<T> Inherited<T> {
    /// A session that has ended leaves this.
    pub(crate) fn add(&mut self, session: &Session, what: T) {
        let (number, over) = (session.number(), &self.over);
        let left = self.left.entry(number).or_insert_with(|| {
            let over = Arc::clone(over);
            session.at_release(move || over.lock().unwrap_or_else(PoisonError::into_inner).push(number));
            Vec::new()
        });
        left.push(what);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.left.values().flatten()
    }

    /// Takes out what nothing is under any more.
    pub(crate) fn take_released(&mut self) -> Vec<T> {
        let over = std::mem::take(&mut *self.over.lock().unwrap_or_else(PoisonError::into_inner));
        #[cfg(test)]
        {
            self.looks += over.len();
        }
        over.into_iter().filter_map(|number| self.left.remove(&number)).flatten().collect()
    }
}

/// Who asks for what one session has left has others to tell of it.
#[cfg(any(feature = "nats", test))]
impl<T> Inherited<T> {
    /// What a session has left.
    pub(crate) fn of(&self, session: &Session) -> &[T] {
        self.left.get(&session.number()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The same, to be changed.
    #[cfg(feature = "nats")]
    pub(crate) fn of_mut(&mut self, session: &Session) -> &mut [T] {
        self.left.get_mut(&session.number()).map(Vec::as_mut_slice).unwrap_or_default()
    }

    #[cfg(feature = "nats")]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.left.values_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use lineside::Bus;

    use super::*;

    /// What is kept of a tree of so many sessions below one, each with a child, of which the first few end.
    async fn looks_of(many: usize) -> (usize, Vec<usize>) {
        let (bus, mut inherited) = (Bus::new(), Inherited::default());
        let mut children = Vec::new();
        for number in 0..many {
            let session = bus.session(format!("s{number}")).open().await.unwrap();
            children.push(session.subagent(format!("c{number}")).open().await.unwrap());
            session.close().await;
            inherited.add(&session, number);
            inherited.add(&session, number);
        }
        let mut released = inherited.take_released();
        assert!(released.is_empty(), "each has a child");
        for child in children.iter().take(3) {
            child.close().await;
            released.extend(inherited.take_released());
        }
        (inherited.looks, released)
    }

    #[tokio::test]
    async fn the_end_of_a_session_costs_the_same_however_much_others_have_left() {
        for many in [10, 1_000] {
            assert_eq!(looks_of(many).await, (3, vec![0, 0, 1, 1, 2, 2]));
        }
    }

    #[tokio::test]
    async fn what_is_left_goes_with_the_last_session_below_and_at_once_where_there_is_none() {
        let (bus, mut inherited) = (Bus::new(), Inherited::default());
        let root = bus.session("root").open().await.unwrap();
        let child = root.subagent("child").open().await.unwrap();
        let leaf = child.subagent("leaf").open().await.unwrap();
        for session in [&root, &child] {
            session.close().await;
            inherited.add(session, session.id().to_string());
        }
        // A later session of that id has left nothing.
        let later = bus.session("root").open().await.unwrap();
        assert!(inherited.take_released().is_empty() && inherited.of(&later).is_empty());
        assert_eq!(inherited.of(&root), ["root"]);
        leaf.close().await;
        assert_eq!(inherited.take_released(), ["child", "root"]);
        inherited.add(&root, "late".to_owned());
        assert_eq!(inherited.take_released(), ["late"]);
        assert!(inherited.iter().next().is_none());
    }
}
