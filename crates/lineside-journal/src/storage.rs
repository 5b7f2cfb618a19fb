//! The port to files: what the journal asks of a file system, and no more.
//!
//! Tests put one in its place that fails, forgets what was not synchronised, and tears what was being written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lineside_files::open_own;

#[cfg(test)]
pub(crate) mod fake;

/// A folder with files in it, and no folders.
pub(crate) trait Storage: Send + Sync {
    /// The names of the files, in any order.
    fn names(&self) -> io::Result<Vec<String>>;
    /// All of a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// A file without content, whether there was one before or not.
    fn create(&self, name: &str) -> io::Result<Box<dyn Stored>>;
    /// A file that exists, to be written.
    fn open(&self, name: &str) -> io::Result<Box<dyn Stored>>;
    /// Gives a file another name, of which it takes the place.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Has the names on the disk when it returns.
    fn sync_names(&self) -> io::Result<()>;
}

/// A file that can be written.
pub(crate) trait Stored: Send {
    /// Writes all of it at a place.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Has everything that was written on the disk when it returns.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// A folder of the file system, accessible to its owner only.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder, which is created where it does not exist, and then is on the disk.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let new: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        for parent in new.into_iter().filter_map(Path::parent) {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            File::open(parent)?.sync_all()?;
        }
        Ok(Self(path.to_path_buf()))
    }

    /// The folder, if it is there.
    pub(crate) fn existing(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self(path.to_path_buf()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// What every file is opened with.
    pub(crate) fn options() -> OpenOptions {
        let mut options = File::options();
        options.read(true).write(true).mode(0o600);
        options
    }
}

impl Storage for Folder {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            // What is not text is no name of ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_own(&self.0.join(name), File::options().read(true))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Stored>> {
        Ok(Box::new(open_own(&self.0.join(name), Self::options().create(true).truncate(true))?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Stored>> {
        Ok(Box::new(open_own(&self.0.join(name), &mut Self::options())?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }
}

impl Stored for File {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()?;
        // What has no name any more is not found by the next process.
        match self.metadata()?.nlink() {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "its file was removed")),
            _ => Ok(()),
        }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// Writes a file so that under its name there is all of it or none of it, on the disk when this returns.
pub(crate) fn write_whole(storage: &dyn Storage, name: &str, parts: &[&[u8]]) -> io::Result<Box<dyn Stored>> {
    let unfinished = format!("{name}{UNFINISHED}");
    let mut file = storage.create(&unfinished)?;
    let mut at = 0;
    for part in parts {
        file.write_at(at, part)?;
        at += part.len() as u64;
    }
    file.sync()?;
    storage.rename(&unfinished, name)?;
    storage.sync_names()?;
    Ok(file)
}

/// How the name of a file ends that is not yet what it will be.
pub(crate) const UNFINISHED: &str = ".new";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_reached_through_a_link_and_no_pipe_is_waited_for() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        fs::write(at("target"), "kept").unwrap();
        std::os::unix::fs::symlink(at("target"), at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let folder = Folder::existing(room.path()).unwrap();
        for name in ["link", "pipe"] {
            assert!(folder.create(name).is_err(), "{name}");
            assert!(folder.open(name).is_err(), "{name}");
            assert!(folder.read(name).is_err(), "{name}");
        }
        assert_eq!(folder.read("target").unwrap(), b"kept");
    }
}
