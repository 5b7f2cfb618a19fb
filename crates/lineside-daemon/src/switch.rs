//! The switch: a file whose presence says that hooks are off. Every entry obeys it, with or without a daemon.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The name of the file, within the state folder.
pub const FILE: &str = "off";

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
pub struct Switch(PathBuf);

impl Switch {
    /// The switch of a state folder, which need not exist.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self(state.join(FILE))
    }

    /// Whether hooks are off: whatever is at the path counts.
    #[must_use]
    pub fn is_off(&self) -> bool {
        fs::symlink_metadata(&self.0).is_ok()
    }

    /// Switches hooks off. `false` when they were off.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn off(&self, why: &str) -> io::Result<bool> {
        if let Some(state) = self.0.parent() {
            // As the daemon makes it, which refuses a folder that others can enter.
            DirBuilder::new().recursive(true).mode(0o700).create(state)?;
        }
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.0) {
            Ok(mut file) => {
                // On a full disk hooks are off too: the file is there, and why is for people.
                writeln!(file, "{why}").ok();
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Switches hooks on. `false` when they were on.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn on(&self) -> io::Result<bool> {
        match fs::remove_file(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}
