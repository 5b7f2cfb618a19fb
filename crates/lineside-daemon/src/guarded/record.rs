//! What is written down of a process, as it stands in the file: of which start of the machine and which namespaces it is, and the
//! sessions or the mark of the process.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use lineside::hosts::Holds;
use lineside::json::{self, Value, json};
use lineside_account::Mark;

/// What sets this start of the machine apart from others, in which another process may have the number and the start.
pub(super) static BOOT: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default());

/// The numbers of processes and the users that this process sees, where the system says so: those of others may differ.
static NAMESPACES: LazyLock<String> = LazyLock::new(|| {
    let named = ["pid", "user"].map(|kind| fs::read_link(format!("/proc/self/ns/{kind}")));
    match named {
        [Ok(pid), Ok(user)] => format!("{} {}\n", pid.display(), user.display()),
        _ => String::new(),
    }
});

/// A session that a process has, or has had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Had {
    pub(super) session: String,
    pub(super) has_ended: bool,
    /// The roots of the projects that it was in.
    pub(super) projects: Vec<String>,
    /// What holds it, if anything does.
    pub(super) holds: Option<Holds>,
}

impl Had {
    /// Earlier versions read that of one which nothing holds.
    pub(super) fn line(&self) -> String {
        let Self { session, has_ended, projects, holds } = self;
        match holds {
            None => json!([session, has_ended, projects]),
            Some(holds) => json!([session, has_ended, projects, holds]),
        }
        .to_string()
    }

    /// Of a line that another version has written, or half of one, the whole is the session.
    pub(super) fn of_line(line: &str) -> Self {
        let read = || {
            let Value::Array(mut parts) = json::from_str(line).ok()? else { return None };
            // What another version holds it by is not known, and it is held.
            let holds =
                parts.get(3).map(|holds| json::from_value(holds).unwrap_or_else(|_| Holds::unknown()));
            parts.truncate(3);
            let [session, has_ended, projects] = <[Value; 3]>::try_from(parts).ok()?;
            let projects = projects.as_array()?.iter().filter_map(|root| Some(root.as_str()?.to_owned()));
            Some(Self {
                session: session.as_str()?.to_owned(),
                has_ended: has_ended.as_bool()?,
                projects: projects.collect(),
                holds,
            })
        };
        read().unwrap_or_else(|| Self { session: line.to_owned(), ..Self::default() })
    }
}

/// What is written down of a process.
pub(super) struct Record {
    pub(super) sessions: Vec<Had>,
    pub(super) is_elsewhere: bool,
}

impl Record {
    /// That of this start of the machine. One that a full disk has cut off counts, and names no session.
    pub(super) fn of(file: &Path) -> Option<Self> {
        let text = fs::read(file).ok()?;
        if BOOT.as_bytes().starts_with(&text) {
            return Some(Self { sessions: Vec::new(), is_elsewhere: false });
        }
        let text = String::from_utf8_lossy(text.strip_prefix(BOOT.as_bytes())?).into_owned();
        let with_namespaces = text.split_once('\n').filter(|(first, _)| first.starts_with("pid:["));
        let (namespaces, sessions) = with_namespaces.map_or((None, &*text), |(of, rest)| (Some(of), rest));
        Some(Self {
            sessions: sessions.lines().map(Had::of_line).collect(),
            is_elsewhere: namespaces.is_some_and(|of| NAMESPACES.trim_end() != of),
        })
    }

    /// The mark that it has, if it is of that.
    pub(super) fn mark(&self) -> Option<Mark> {
        let number = self.sessions.first().filter(|_| !self.is_elsewhere)?.session.parse().ok()?;
        Mark::numbered(number)
    }
}

/// The session of a record whose process can be looked for here.
pub(super) fn session_of(file: &Path) -> Option<String> {
    let record = Record::of(file).filter(|record| !record.is_elsewhere)?;
    // The last one that goes on.
    let had = record.sessions.into_iter().rev().min_by_key(|had| had.has_ended);
    Some(had.map(|had| had.session).unwrap_or_default())
}

/// The text of a record with this content.
pub(super) fn text(content: &str) -> String {
    format!("{}{}{content}", *BOOT, *NAMESPACES)
}
