//! Who else may have written a file.

use std::fmt;
use std::path::Path;

/// Another user may have written a file, and so decide its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// It belongs to another user, who is not the superuser: this one.
    Owner(u32),
    /// Its group may write it, which is not the private group of its owner: this one.
    Group(u32),
    /// All users may write it.
    AllUsers,
}

/// Who a file belongs to and who may write it.
#[derive(Debug, Clone, Copy)]
struct Rights {
    owner: u32,
    group: u32,
    mode: u32,
}

impl Rights {
    /// What they are for this user. A group with the number of the owner is that of the owner alone: where each user
    /// has one, files are written for it as a matter of course.
    fn exposure(self, user: u32) -> Option<Exposure> {
        if self.owner != user && self.owner != 0 {
            Some(Exposure::Owner(self.owner))
        } else if self.mode & 0o002 != 0 {
            Some(Exposure::AllUsers)
        } else if self.mode & 0o020 != 0 && self.group != self.owner {
            Some(Exposure::Group(self.group))
        } else {
            None
        }
    }
}

/// Who else than the user may have written a file; `None` also for one of which that cannot be found out.
///
/// ```
/// use lineside_files::exposure;
///
/// let folder = tempfile::tempdir()?;
/// let own = folder.path().join("hook.sh");
/// std::fs::write(&own, "exit 0")?;
/// assert_eq!(exposure(&own), None);
/// # Ok::<_, std::io::Error>(())
/// ```
#[must_use]
pub fn exposure(file: &Path) -> Option<Exposure> {
    of(&std::fs::metadata(file).ok()?)
}

/// The same of a file of which this is known.
#[cfg(unix)]
#[must_use]
pub fn of(metadata: &std::fs::Metadata) -> Option<Exposure> {
    to_others_than(rustix::process::geteuid().as_raw(), metadata)
}

#[cfg(not(unix))]
#[must_use]
#[expect(missing_docs, reason = "it is the same elsewhere")]
pub fn of(_: &std::fs::Metadata) -> Option<Exposure> {
    None
}

/// Who else than this user may have written a file or a folder.
#[cfg(unix)]
pub(crate) fn to_others_than(user: u32, metadata: &std::fs::Metadata) -> Option<Exposure> {
    use std::os::unix::fs::MetadataExt as _;
    let rights = Rights { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() };
    rights.exposure(user)
}

#[cfg(not(unix))]
pub(crate) fn to_others_than(_: u32, _: &std::fs::Metadata) -> Option<Exposure> {
    None
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(owner) => {
                write!(f, "it belongs to another user (uid {owner}); make it yours with chown, or remove it")
            }
            Self::Group(group) => {
                write!(f, "its group (gid {group}) may write it; take that away with chmod g-w")
            }
            Self::AllUsers => f.write_str("all users may write it; take that away with chmod o-w"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_else_may_have_written_a_file() {
        let of = |owner, group, mode| Rights { owner, group, mode }.exposure(1000);
        for mode in [0o600, 0o644, 0o664, 0o755] {
            assert_eq!(of(1000, 1000, mode), None, "{mode:o}");
        }
        assert_eq!(of(0, 0, 0o644), None, "the superuser may write everything");
        assert_eq!(of(1000, 100, 0o644), None);
        assert_eq!(of(1000, 100, 0o664), Some(Exposure::Group(100)));
        assert_eq!(of(1000, 1000, 0o666), Some(Exposure::AllUsers));
        assert_eq!(of(1001, 1000, 0o600), Some(Exposure::Owner(1001)));
    }
}
