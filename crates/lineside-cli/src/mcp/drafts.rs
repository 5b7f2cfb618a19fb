//! The drafts of hooks that agents have left: files beside the state of the daemon, which no format reads and which a person
//! looks at.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::daemon_paths::DaemonPaths;
use crate::init::{plain_name, write_new};

/// How many drafts there are at most, and how long one is.
const MOST: usize = 64;
const LONGEST: usize = 64 << 10;

/// How long a name and a reason are.
const LONGEST_NAME: usize = 64;
const LONGEST_REASON: usize = 4 << 10;

/// Keeps a draft under a name that no other one has.
///
/// # Errors
/// The name is none or taken, something is too long, there are too many, or the file cannot be written.
pub(super) fn keep(paths: &DaemonPaths, name: &str, reason: &str, text: &str) -> Result<PathBuf> {
    plain_name(name)?;
    for (what, length, most) in [
        ("the name", name.len(), LONGEST_NAME),
        ("the reason", reason.len(), LONGEST_REASON),
        ("the text", text.len(), LONGEST),
    ] {
        if length > most {
            bail!("{what} has {length} bytes, at most {most} are possible");
        }
    }
    let folder = paths.state.join("drafts");
    let there = fs::read_dir(&folder).map(Iterator::count).unwrap_or_default();
    if there >= MOST {
        bail!("{MOST} drafts wait in {}; a person has to look at them first", folder.display());
    }
    let file = folder.join(format!("{name}.yaml"));
    let reason = reason.lines().fold(String::new(), |text, line| format!("{text}# {}\n", plain(line)));
    let text = format!("# A draft of an agent; nothing of it is in force.\n{reason}\n{text}");
    if !write_new(&file, &text, 0o600).context("the draft cannot be kept")? {
        bail!(
            "there is a draft `{name}` already; choose another name, or have a person remove {}",
            file.display()
        );
    }
    Ok(file)
}

/// A line without what a terminal would obey.
fn plain(line: &str) -> String {
    line.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}
