//! What is on the disk of questions: for each that waits, its id and what was answered, under the name that its call has.
//!
//! A call whose daemon has gone away asks the next one again and finds its question there. There is no text of the event in
//! it. Records are removed when their question is over; what a killed daemon has left goes when its time is over.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use lineside::core::{ApprovalScope, Timestamp};
use lineside::json;
use serde::{Deserialize, Serialize};

/// The longest record, in bytes: a reason of a person is its only text.
const LONGEST: u64 = 16 << 10;
/// The longest name of a call.
const NAME: usize = 64;
/// How many files are looked at when the daemon starts.
const MOST: usize = 16_384;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: String,
    /// A digest of the call and of what the answer is about.
    pub(super) key: String,
    /// When it was asked first, and until when it waits, in milliseconds since 1970.
    pub(super) asked: i64,
    pub(super) until: i64,
    pub(super) answer: Option<Answer>,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(super) is_allowed: bool,
    pub(super) by: String,
    /// When, in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) scope: ApprovalScope,
    pub(super) reason: Option<String>,
}

/// The folder of the records.
pub(super) struct Recorded {
    folder: PathBuf,
}

impl Answer {
    pub(crate) fn word(&self) -> &'static str {
        if self.is_allowed { "allow" } else { "deny" }
    }

    pub(crate) fn by(&self) -> &str {
        &self.by
    }

    /// When, as text.
    pub(crate) fn at(&self) -> String {
        Timestamp::from_millisecond(self.at).map(|at| format!("{at:.3}")).unwrap_or_default()
    }
}

impl Recorded {
    /// The records in a folder. Those whose time is over are removed.
    pub(super) fn of(folder: &Path, now: Timestamp) -> Self {
        let recorded = Self { folder: folder.join("waiting") };
        for entry in fs::read_dir(&recorded.folder).into_iter().flatten().take(MOST).flatten() {
            let is_young = read(&entry.path()).is_some_and(|record| record.until > now.as_millisecond());
            if !is_young {
                fs::remove_file(entry.path()).ok();
            }
        }
        recorded
    }

    /// Whether a call may have this name.
    pub(super) fn is_name(call: &str) -> bool {
        !call.is_empty()
            && call.len() <= NAME
            && call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    }

    /// The record of a call, which is removed: one that is about this and whose time is not over.
    pub(super) fn take(&self, call: &str, key: &str, now: Timestamp) -> Option<Record> {
        let path = self.folder.join(call);
        let record = read(&path)?;
        fs::remove_file(&path).ok()?;
        Some(record).filter(|record| record.key == key && record.until > now.as_millisecond())
    }

    /// Records a question. One that cannot be recorded waits all the same, and is asked anew after a restart.
    pub(super) fn put(&self, call: &str, record: &Record) {
        if let Err(error) = self.write(call, record) {
            tracing::warn!(%error, folder = %self.folder.display(), "a question is not recorded");
        }
    }

    fn write(&self, call: &str, record: &Record) -> io::Result<()> {
        replace(&self.folder.join(call), &json::to_string(record).map_err(io::Error::other)?)
    }

    /// The question is over.
    pub(super) fn remove(&self, call: &str) {
        fs::remove_file(self.folder.join(call)).ok();
    }
}

fn read(path: &Path) -> Option<Record> {
    json::from_str(&text(path, LONGEST)?).ok()
}

/// Replaces a small file of ours as a whole.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // A kill leaves it as it was before or as it is after.
    let beside = path.with_added_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    fs::rename(beside, path)
}

/// The text of such a file, if it is there.
pub(super) fn text(path: &Path, most: u64) -> Option<String> {
    // No link, and nothing whose opening waits.
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    File::open(path).ok()?.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}
