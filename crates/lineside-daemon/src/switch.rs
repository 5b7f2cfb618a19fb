//! The switch: a file whose presence says that hooks are off. Every entry obeys it, with or without a daemon.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lineside::core::Notice;
use lineside_account::is_of_own;

/// The name of the file, within the state folder.
pub const FILE: &str = "off";

/// What is said when hooks are off.
const OFF: &str = "hooks are off: every event passes until `lineside on`";

/// What is said when they are on again.
const ON: &str = "hooks are on again";

/// Whether a text of the news is that hooks were switched off or on.
#[must_use]
pub fn is_of_switch(text: &str) -> bool {
    text.ends_with(OFF) || text.ends_with(ON)
}

/// For how long a daemon relies on not having found the file. [`Switch::off`] outlasts it.
const RELIED_ON: Duration = Duration::from_millis(1);

/// The switch of a state folder.
///
/// ```
/// use lineside_daemon::switch::Switch;
///
/// let state = tempfile::tempdir()?;
/// let switch = Switch::of(state.path());
/// assert!(switch.off("a hook misbehaves")? && switch.is_off());
/// assert!(switch.on()? && !switch.is_off());
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Switch {
    file: PathBuf,
    /// Where it is when the state folder cannot be written.
    beside: Option<PathBuf>,
}

impl Switch {
    /// The switch of a state folder, which need not exist.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { file: state.join(FILE), beside: None }
    }

    /// The same, with a second place for when the state folder cannot be written: the folder of the socket, which no other
    /// user can enter.
    #[must_use]
    pub fn or_beside(mut self, socket: &Path) -> Self {
        let beside = socket.parent().map(|folder| folder.join(FILE));
        self.beside = beside.filter(|beside| *beside != self.file);
        self
    }

    /// Whether hooks are off: whatever is at the path counts, or beside the socket, as far as no other user can have put it
    /// there.
    #[must_use]
    pub fn is_off(&self) -> bool {
        is_of_own(&self.file) || self.is_beside()
    }

    fn is_beside(&self) -> bool {
        self.beside.as_deref().is_some_and(is_of_own)
    }

    /// Switches hooks off, and returns when every daemon obeys: after at least a millisecond, for which the thread
    /// sleeps. `false` when they were off.
    ///
    /// # Errors
    /// The file cannot be made in either place, or others could have made it.
    pub fn off(&self, why: &str) -> io::Result<bool> {
        if self.is_beside() {
            return Ok(false);
        }
        match (Self::make(&self.file, why), &self.beside) {
            (Err(_), Some(beside)) => Self::make(beside, why),
            (made, _) => made,
        }
    }

    fn make(path: &Path, why: &str) -> io::Result<bool> {
        if let Some(folder) = path.parent() {
            // As the daemon makes it, which refuses a folder that others can enter.
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let is_made = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                // On a full disk hooks are off too: the file is there, and why is for people.
                writeln!(file, "{why}").ok();
                true
            }
            // Another process may have made it just now.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        if !is_of_own(path) {
            if is_made {
                // What says that hooks are on leaves nothing behind that has them off.
                fs::remove_file(path)?;
            }
            let text =
                format!("{} or its folder is another user's, or may be written by others", path.display());
            return Err(io::Error::other(text));
        }
        sleep(RELIED_ON);
        Ok(is_made)
    }

    /// Switches hooks on. `false` when they were on.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn on(&self) -> io::Result<bool> {
        let removed = |path: &Path| match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        };
        let beside = if self.is_beside() { self.beside.as_deref().map(removed).transpose()? } else { None };
        Ok(removed(&self.file)? || beside == Some(true))
    }

    /// The file that switches hooks off, or would.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.beside.as_deref().filter(|_| self.is_beside()).unwrap_or(&self.file)
    }
}

/// The switch as a daemon looks at it for each event. That hooks are on is relied on for a moment, since looking costs a
/// good part of what an event does; that they are off is not.
#[derive(Debug)]
pub(crate) struct Watched {
    switch: Switch,
    begun: Instant,
    /// Until when hooks are on, in microseconds since the beginning. Nothing else is read or written with it, and each
    /// value that it ever has was true of a look of some thread: its order with other memory does not matter.
    on_until: AtomicU64,
    was_off: AtomicBool,
}

impl Watched {
    pub(crate) fn new(switch: Switch) -> Self {
        Self { switch, begun: Instant::now(), on_until: AtomicU64::new(0), was_off: AtomicBool::new(false) }
    }

    /// What is to be said of it, where hooks were switched since this was asked last.
    pub(crate) fn turned(&self) -> Option<Notice> {
        let is_off = self.switch.is_off();
        let turned = self.was_off.swap(is_off, Ordering::Relaxed) != is_off;
        turned.then(|| if is_off { Notice::warning(OFF) } else { Notice::info(ON) })
    }

    /// Whether hooks are off.
    pub(crate) fn is_off(&self) -> bool {
        // Before the file is looked for, so that a look that takes long is not relied on for longer.
        let now = self.begun.elapsed();
        if micros(now) < self.on_until.load(Ordering::Relaxed) {
            return false;
        }
        let is_off = self.switch.is_off();
        if !is_off {
            self.on_until.store(micros(now + RELIED_ON), Ordering::Relaxed);
        }
        is_off
    }
}

/// Rounded down.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_can_be_switched_off_where_the_state_folder_cannot_be_written() {
        let room = tempfile::tempdir().unwrap();
        // In place of a file system that is read-only, which a test cannot make.
        std::fs::write(room.path().join("file"), "").unwrap();
        let (state, socket) = (room.path().join("file/state"), room.path().join("run/lineside.sock"));
        assert!(Switch::of(&state).off("a test").is_err());
        let switch = Switch::of(&state).or_beside(&socket);
        assert!(!switch.is_off() && switch.off("a test").unwrap() && switch.is_off());
        assert_eq!(switch.path(), room.path().join("run/off"));
        assert!(!switch.off("a test").unwrap(), "they are off already");
        assert!(switch.on().is_err() || !switch.is_off(), "the one beside is gone in any case");
        assert!(!switch.is_off());
    }

    #[test]
    fn a_daemon_obeys_when_off_and_on_have_returned() {
        let state = tempfile::tempdir().unwrap();
        let switch = Switch::of(state.path());
        let watched = Watched::new(switch.clone());
        for _ in 0..20 {
            assert!(!watched.is_off());
            assert!(switch.off("a test").unwrap());
            assert!(watched.is_off());
            assert!(switch.on().unwrap());
        }
    }
}
