//! Whole texts of messages that were cut, in files that only their owner can read.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use lineside_bus::{FullTexts, Keeping};
use lineside_core::MessageId;
use lineside_core::journal::Durability;
use lineside_files::open_own;

/// How many bytes of texts are kept: with [`MOST_FILES`], little enough for any disk.
const MOST_BYTES: u64 = 64 << 20;

/// How many files are kept.
const MOST_FILES: usize = 1024;

/// Texts in a folder, one file each, named by the message: 64 MiB of them and 1024 at most, the oldest give way.
///
/// A text is as durable as was declared before the message that names its file is handed over.
///
/// ```
/// use lineside::bus::FullTexts;
/// use lineside::core::MessageId;
/// use lineside::core::journal::Durability;
/// use lineside::text_files::TextFiles;
///
/// let folder = tempfile::tempdir()?;
/// let message = MessageId::stable(&[b"one"]);
/// TextFiles::open(folder.path(), Durability::Process)?.keep(message, "a long text");
/// assert_eq!(TextFiles::open(folder.path(), Durability::Process)?.text(message).as_deref(), Some("a long text"));
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TextFiles {
    folder: PathBuf,
    /// Brings a file or a folder to the disk, where texts are to survive a loss of power.
    sync: Option<Sync>,
    kept: Mutex<Kept>,
    /// How many texts were begun to be written.
    begun: AtomicU64,
}

type Sync = fn(&File) -> io::Result<()>;

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    files: VecDeque<(MessageId, u64)>,
    bytes: u64,
}

impl TextFiles {
    /// The texts in a folder, which is created where it does not exist, for its owner alone. Those that an earlier
    /// process has left are there; no other process may use it meanwhile.
    ///
    /// # Errors
    /// The folder cannot be created or read.
    pub fn open(folder: impl AsRef<Path>, durability: Durability) -> io::Result<Self> {
        Self::open_with(folder.as_ref(), (durability == Durability::Disk).then_some(File::sync_all))
    }

    fn open_with(folder: &Path, sync: Option<Sync>) -> io::Result<Self> {
        let folder = folder.to_path_buf();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let mut found: Vec<(SystemTime, MessageId, u64)> = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            match (path.extension().and_then(|name| name.to_str()), id_of(&path)) {
                (Some(FINISHED), Some(id)) => {
                    let about = entry.metadata()?;
                    found.push((about.modified()?, id, about.len()));
                }
                // It was being written when its process ended.
                (Some(BEGUN), Some(_)) => fs::remove_file(&path)?,
                _ => {}
            }
        }
        found.sort_unstable();
        let mut kept = Kept::default();
        for (_, id, bytes) in found {
            kept.files.push_back((id, bytes));
            kept.bytes += bytes;
        }
        let texts = Self { folder, sync, kept: Mutex::new(kept), begun: AtomicU64::new(0) };
        texts.trim(&mut texts.lock());
        Ok(texts)
    }

    fn path(&self, message: MessageId, extension: &str) -> PathBuf {
        self.folder.join(format!("{message}.{extension}"))
    }

    fn write(&self, message: MessageId, text: &str) -> io::Result<PathBuf> {
        // Another writer may write the same.
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let begun = self.folder.join(format!("{message}.{number}.{BEGUN}"));
        let path = self.path(message, FINISHED);
        let mut open = OpenOptions::new();
        let written = open.write(true).create_new(true).mode(0o600).open(&begun);
        let written = written.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            self.sync(&file)
        });
        let renamed = written.and_then(|()| fs::rename(&begun, &path));
        // Its name is on the disk when the folder is.
        match renamed.and_then(|()| self.sync(&File::open(&self.folder)?)) {
            Ok(()) => Ok(path),
            Err(error) => {
                // What is left of it is removed at the next start otherwise.
                fs::remove_file(&begun).ok();
                fs::remove_file(&path).ok();
                Err(error)
            }
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.sync.map_or(Ok(()), |sync| sync(file))
    }

    fn trim(&self, kept: &mut Kept) {
        while kept.bytes > MOST_BYTES || kept.files.len() > MOST_FILES {
            let Some((oldest, bytes)) = kept.files.pop_front() else { break };
            kept.bytes -= bytes;
            if let Err(error) = fs::remove_file(self.path(oldest, FINISHED)) {
                tracing::warn!(%error, message = %oldest, "the text of a message cannot be removed");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the names of files end in, and what those do that are being written.
const FINISHED: &str = "txt";
const BEGUN: &str = "part";

fn id_of(path: &Path) -> Option<MessageId> {
    path.file_name()?.to_str()?.split('.').next()?.parse().ok()
}

impl FullTexts for TextFiles {
    fn keep(&self, message: MessageId, text: &str) -> Keeping {
        let bytes = text.len() as u64;
        let is_there = |kept: &Kept| kept.files.iter().any(|(id, _)| *id == message);
        if !is_there(&self.lock()) {
            if bytes > MOST_BYTES {
                return Keeping::Nowhere;
            }
            // Without the lock: the disk takes its time, and others write meanwhile.
            if let Err(error) = self.write(message, text) {
                tracing::warn!(%error, %message, "the text of a message cannot be kept");
                return Keeping::Nowhere;
            }
            let mut kept = self.lock();
            if !is_there(&kept) {
                kept.files.push_back((message, bytes));
                kept.bytes += bytes;
                self.trim(&mut kept);
            }
        }
        Keeping::File(self.path(message, FINISHED).to_string_lossy().into())
    }

    fn text(&self, message: MessageId) -> Option<String> {
        let file = open_own(&self.path(message, FINISHED), File::options().read(true)).ok()?;
        io::read_to_string(file).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use super::*;

    fn id(name: u8) -> MessageId {
        MessageId::stable(&[&[name]])
    }

    #[test]
    fn texts_are_written_at_the_same_time() {
        static BOTH: std::sync::Barrier = std::sync::Barrier::new(3);
        let folder = tempfile::tempdir().unwrap();
        let sync = |file: &File| {
            if file.metadata()?.is_file() {
                BOTH.wait();
            }
            Ok(())
        };
        let texts = Arc::new(TextFiles::open_with(folder.path(), Some(sync)).unwrap());
        let (done, all) = std::sync::mpsc::sync_channel(3);
        // The same text twice, and another one.
        for name in [1, 1, 2] {
            let (texts, done) = (Arc::clone(&texts), done.clone());
            std::thread::spawn(move || done.send(texts.keep(id(name), "text")));
        }
        for _ in 0..3 {
            let kept = all.recv_timeout(std::time::Duration::from_secs(30)).expect("one waits for another");
            assert!(matches!(kept, Keeping::File(_)));
        }
        assert_eq!((texts.text(id(1)).as_deref(), texts.lock().bytes), (Some("text"), 8));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_text_is_kept_for_its_owner_alone_and_found_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("texts");
        let texts = TextFiles::open(&folder, Durability::Disk).unwrap();
        let Keeping::File(path) = texts.keep(id(1), "secret") else { panic!("it is in a file") };
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(Path::new(&*path)), mode(&folder)), (0o600, 0o700));
        assert_eq!(texts.keep(id(1), "secret"), Keeping::File(path), "a second time it is the same file");
        fs::write(folder.join(format!("{}.part", id(2))), "hal").unwrap();
        drop(texts);
        let texts = TextFiles::open(&folder, Durability::Disk).unwrap();
        assert_eq!(texts.text(id(1)).as_deref(), Some("secret"));
        assert_eq!(texts.text(id(2)), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "what was half written is gone");
        let other = folder.with_extension("other");
        fs::write(&other, "not a message's").unwrap();
        std::os::unix::fs::symlink(&other, folder.join(format!("{}.txt", id(3)))).unwrap();
        assert_eq!(texts.text(id(3)), None, "a link is no text of ours");
    }

    #[test]
    fn the_oldest_files_give_way() {
        let folder = tempfile::tempdir().unwrap();
        let texts = TextFiles::open(folder.path(), Durability::Process).unwrap();
        let third = "x".repeat(usize::try_from(MOST_BYTES / 3).unwrap() + 1);
        for number in 1..=3 {
            texts.keep(id(number), &third);
        }
        assert_eq!(texts.text(id(1)), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // What cannot be kept says so.
        drop(fs::remove_dir_all(folder.path()));
        assert_eq!(texts.keep(id(4), "text"), Keeping::Nowhere);
    }

    #[test]
    fn a_text_that_does_not_reach_the_disk_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let fails: Sync = |_| Err(io::Error::other("no"));
        let texts = TextFiles::open_with(folder.path(), Some(fails)).unwrap();
        assert_eq!(texts.keep(id(1), "text"), Keeping::Nowhere);
        // The file is on the disk, and its name is not.
        let fails_at_last: Sync =
            |file| if file.metadata()?.is_dir() { Err(io::Error::other("no")) } else { Ok(()) };
        let texts = TextFiles::open_with(folder.path(), Some(fails_at_last)).unwrap();
        assert_eq!(texts.keep(id(1), "text"), Keeping::Nowhere);
        assert_eq!(texts.text(id(1)), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let texts = TextFiles::open_with(folder.path(), Some(File::sync_all)).unwrap();
        assert!(matches!(texts.keep(id(1), "text"), Keeping::File(_)));
    }
}
