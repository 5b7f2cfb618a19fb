//! The folder that all lives share, and the work that is done in it: files that no engine knows of.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::checker::Effects;
use crate::log::Label;

/// What the lives say.
pub(crate) const LOG: &str = "log";

/// What survives them.
pub(crate) const JOURNAL: &str = "journal";

/// The files of the work, one for each event.
const EFFECTS: &str = "effects";

/// The marks of those who are at work, one for each key.
const MARKS: &str = "marks";

/// Where work is done.
#[derive(Debug, Clone)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// The place of a life. What was at work in the one before has ended with it, so its marks go.
    ///
    /// # Errors
    /// The folders cannot be made.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        for below in [EFFECTS, MARKS] {
            fs::create_dir_all(folder.join(below))?;
        }
        for mark in fs::read_dir(folder.join(MARKS))? {
            fs::remove_file(mark?.path())?;
        }
        Ok(Self(folder.to_path_buf()))
    }

    /// Does the work for an event: its file gets one byte longer.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn work(&self, label: &Label) -> io::Result<()> {
        let path = self.0.join(EFFECTS).join(label.to_string());
        File::options().create(true).append(true).open(path)?.write_all(b".")
    }

    /// Puts up a mark. `false` when there is one already.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn mark(&self, key: &str) -> io::Result<bool> {
        match File::create_new(self.of_key(key)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes a mark away.
    ///
    /// # Errors
    /// It is not there.
    pub(crate) fn unmark(&self, key: &str) -> io::Result<()> {
        fs::remove_file(self.of_key(key))
    }

    fn of_key(&self, key: &str) -> PathBuf {
        self.0.join(MARKS).join(key.replace('/', "_"))
    }
}

/// How often each event was worked for.
///
/// # Errors
/// The files cannot be read.
pub(crate) fn effects(folder: &Path) -> io::Result<Effects> {
    let mut effects = Effects::new();
    for entry in fs::read_dir(folder.join(EFFECTS))? {
        let entry = entry?;
        if let Some(label) = entry.file_name().to_str().and_then(Label::read) {
            effects.insert(label, u32::try_from(entry.metadata()?.len()).unwrap_or(u32::MAX));
        }
    }
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_and_a_mark_stands_until_it_is_taken_away_or_its_life_ends() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::open(folder.path()).unwrap();
        let label = Label { publisher: "s1".to_owned(), life: 1, number: 2 };
        place.work(&label).unwrap();
        place.work(&label).unwrap();
        assert_eq!(effects(folder.path()).unwrap(), Effects::from([(label, 2)]));
        assert!(place.mark("tree:/a").unwrap());
        assert!(!place.mark("tree:/a").unwrap());
        place.unmark("tree:/a").unwrap();
        assert!(place.mark("tree:/a").unwrap());
        assert!(Place::open(folder.path()).unwrap().mark("tree:/a").unwrap());
    }
}
