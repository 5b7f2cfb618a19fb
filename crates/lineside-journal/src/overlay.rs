//! Files that are only read: what is written over them stays in memory and is gone with it.
//!
//! So that reading sees what opening would find, by the same recovery, and changes nothing.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::{Storage, Stored};

/// What a file holds once it has been written over.
type Content = Arc<Mutex<Vec<u8>>>;

/// Files, and what lies over them.
pub(crate) struct Overlay<'a> {
    below: &'a dyn Storage,
    /// `None` for a file that was removed.
    changed: Mutex<HashMap<String, Option<Content>>>,
}

impl<'a> Overlay<'a> {
    /// Nothing over these files yet.
    pub(crate) fn over(below: &'a dyn Storage) -> Self {
        Self { below, changed: Mutex::default() }
    }

    fn changed(&self) -> MutexGuard<'_, HashMap<String, Option<Content>>> {
        locked(&self.changed)
    }

    /// The file, from now on in memory.
    fn lift(&self, name: &str) -> io::Result<Content> {
        let mut changed = self.changed();
        match changed.get(name) {
            Some(Some(content)) => Ok(Arc::clone(content)),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
            None => {
                let content = Arc::new(Mutex::new(self.below.read(name)?));
                changed.insert(name.to_owned(), Some(Arc::clone(&content)));
                Ok(content)
            }
        }
    }
}

impl Storage for Overlay<'_> {
    fn names(&self) -> io::Result<Vec<String>> {
        let changed = self.changed();
        let mut names = self.below.names()?;
        names.retain(|name| !changed.contains_key(name));
        names.extend(changed.iter().filter(|(_, content)| content.is_some()).map(|(name, _)| name.clone()));
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match self.changed().get(name) {
            Some(Some(content)) => Ok(locked(content).clone()),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
            None => self.below.read(name),
        }
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Stored>> {
        let content = Content::default();
        self.changed().insert(name.to_owned(), Some(Arc::clone(&content)));
        Ok(Box::new(InMemory(content)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Stored>> {
        Ok(Box::new(InMemory(self.lift(name)?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let content = self.lift(from)?;
        let mut changed = self.changed();
        changed.insert(from.to_owned(), None);
        changed.insert(to.to_owned(), Some(content));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.changed().insert(name.to_owned(), None);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

struct InMemory(Content);

impl Stored for InMemory {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let at = usize::try_from(at).map_err(io::Error::other)?;
        let mut content = locked(&self.0);
        let end = at + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[at..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        locked(&self.0).resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
