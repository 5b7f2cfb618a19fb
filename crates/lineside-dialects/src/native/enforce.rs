//! A hook in shadow that is to count: the one place in its file that says so is edited, and no other byte.
//!
//! An edit is a guess at what the author has written, and counts only if the file then says the same as before, but for this
//! hook.

use std::collections::BTreeSet;
use std::path::Path;

use lineside_core::hook::Mode;
use lineside_files::ReplaceFileError;

use super::entry::{Entry, MODE};
use super::file;
use super::findings::Findings;
use super::places::{self, Place};
use crate::dialect::Places;
use crate::yaml;

/// How a file is edited so that a hook in it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforced {
    /// The line that differs, counted from 1.
    pub line: u32,
    /// It as it is; absent where a line is added.
    pub old: Option<String>,
    /// It as it will be.
    pub new: String,
    before: String,
    after: String,
}

/// Why a hook cannot be made to count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnforceError {
    /// The file is not one of those that hooks are read from, or cannot be read.
    #[error("failed to read {0}")]
    Unreadable(String),
    /// There is no sound hook of this name in the file.
    #[error("there is no hook \"{0}\" without an error in the file")]
    NoHook(String),
    /// It counts already.
    #[error("hook \"{0}\" is not in shadow")]
    Enforced(String),
    /// The file says it in a way that no edit of one line changes.
    #[error(
        "failed to edit the file without changing what else it says; write `mode: enforced` into hook \"{0}\""
    )]
    NoEdit(String),
    /// The file cannot be written, or was changed meanwhile.
    #[error(transparent)]
    Write(#[from] ReplaceFileError),
}

impl Enforced {
    /// Reads a file of hooks, and finds how one of its hooks is made to count.
    ///
    /// # Errors
    /// There is no such hook, it counts already, or no edit of one line does it.
    pub fn of(places: &Places, file: &Path, name: &str) -> Result<Self, EnforceError> {
        let unreadable = || EnforceError::Unreadable(file.display().to_string());
        let place =
            places::all(places).into_iter().find(|place| place.file == file).ok_or_else(unreadable)?;
        let bytes = lineside_files::read(file, places.boundary(place.layer), yaml::LONGEST);
        let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(unreadable)?;
        let read = |text: &str| entries(text, &place, places);
        let mut expected = read(&text);
        let no_hook = || EnforceError::NoHook(name.to_owned());
        let meant = meant(name, expected.iter().map(|entry| &*entry.name));
        let line = expected.iter().find(|entry| meant.contains(&entry.name)).ok_or_else(no_hook)?.line;
        let later = expected.iter().map(|entry| entry.line).filter(|other| *other > line);
        let until = later.min().unwrap_or(u32::MAX);
        let mut is_changed = false;
        for entry in expected.iter_mut().filter(|entry| meant.contains(&entry.name)) {
            let definition = entry.definition.as_mut().ok_or_else(no_hook)?;
            is_changed |= std::mem::replace(&mut definition.mode, Mode::Enforced) == Mode::Shadow;
        }
        if !is_changed {
            return Err(EnforceError::Enforced(name.to_owned()));
        }
        let expected = said(&expected);
        let edits = replaced(&text, line..until).chain(added(&text, line));
        let sound = { edits }.find(|edit| said(&read(&edit.after)) == expected);
        sound.ok_or_else(|| EnforceError::NoEdit(name.to_owned()))
    }

    /// Writes the file, in one step.
    ///
    /// # Errors
    /// It is another one than was read, or cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), EnforceError> {
        Ok(lineside_files::replace(file, Some(self.before.as_bytes()), self.after.as_bytes())?)
    }

    /// A text with other bytes in the place of some.
    fn edit(text: &str, range: std::ops::Range<usize>, with: &str) -> Option<Self> {
        let (head, tail) = (text.get(..range.start)?, text.get(range.end..)?);
        let after = format!("{head}{with}{tail}");
        let line = head.matches('\n').count();
        let of = |text: &str| text.lines().nth(line).unwrap_or_default().to_owned();
        let old = (!with.ends_with('\n')).then(|| of(text));
        let new = of(&after);
        Some(Self { line: u32::try_from(line + 1).ok()?, old, new, before: text.to_owned(), after })
    }
}

/// The names of the hooks that are meant by one: the hook of this name, or all of the policy.
#[must_use]
pub fn meant<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let all: Vec<&str> = all.collect();
    let of_policy = |other: &&&str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    match all.contains(&name) {
        true => BTreeSet::from([name.to_owned()]),
        false => all.iter().filter(of_policy).map(|other| (*other).to_owned()).collect(),
    }
}

fn entries(text: &str, place: &Place, places: &Places) -> Vec<Entry> {
    file::contents(text.as_bytes(), place, places, &mut Findings::about(&place.file)).entries
}

/// What entries say, whatever their lines are.
fn said(entries: &[Entry]) -> Vec<String> {
    let points = |entry: &Entry| entry.points.iter().map(|point| point.name).collect::<Vec<_>>();
    entries.iter().map(|entry| format!("{} {:?} {:?}", entry.name, points(entry), entry.definition)).collect()
}

/// The bytes of some lines, counted from 1.
fn bytes_of(text: &str, lines: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    let start = |line: u32| {
        let before = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        text.split_inclusive('\n').take(before).map(str::len).sum::<usize>()
    };
    start(lines.start)..start(lines.end)
}

/// How many of the words `shadow` of one hook are tried.
const MOST: usize = 32;

/// Each `shadow` of these lines as `enforced`: what the word stands for is known when the file is read anew.
fn replaced(text: &str, lines: std::ops::Range<u32>) -> impl Iterator<Item = Enforced> {
    let range = bytes_of(text, &lines);
    let begin = range.start;
    let word = Mode::Shadow.as_str();
    let found = text.get(range).unwrap_or_default().match_indices(word).take(MOST);
    found.filter_map(move |(at, _)| {
        let at = begin + at;
        Enforced::edit(text, at..at + word.len(), Mode::Enforced.as_str())
    })
}

/// The hook that begins on a line with a mode of its own: behind the brace that it begins with, or on a line of its own
/// behind that of its first key.
fn added(text: &str, line: u32) -> impl Iterator<Item = Enforced> {
    let range = bytes_of(text, &(line..line + 1));
    let own = text.get(range.clone()).unwrap_or_default();
    let said = format!("{MODE}: {}", Mode::Enforced.as_str());
    let braced = own.find('{').and_then(|brace| {
        let behind = range.start + brace + 1;
        Enforced::edit(text, behind..behind, &format!("{said}, "))
    });
    let indent = own.find(|char: char| !char.is_whitespace() && char != '-').unwrap_or_default();
    let with = format!("{:indent$}{said}\n", "");
    let below = own.ends_with('\n').then(|| Enforced::edit(text, range.end..range.end, &with)).flatten();
    braced.into_iter().chain(below)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::dialect::Trust;

    fn edited(text: &str, name: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".lineside")).unwrap();
        let file = folder.path().join(".lineside/hooks.yaml");
        fs::write(&file, text).unwrap();
        let places = Places {
            environment: Default::default(),
            project_root: Some(folder.path().to_owned()),
            cwd: folder.path().to_owned(),
            trust: Trust::Granted,
        };
        let edit = Enforced::of(&places, &file, name).map_err(|error| error.to_string())?;
        edit.write(&file).unwrap();
        Ok(fs::read_to_string(&file).unwrap())
    }

    #[test]
    fn one_word_is_replaced_and_every_other_byte_is_kept() {
        let text = "# mine\nhooks:\n- name: a\r\n  on: before_tool # here\n  command: 'echo mode: shadow'\n  mode:   shadow  # for now\n\
                    - {name: \"b\", on: before_tool, mode: 'shadow', command: x}\n";
        assert_eq!(edited(text, "a").unwrap(), text.replace("mode:   shadow", "mode:   enforced"));
        assert_eq!(edited(text, "b").unwrap(), text.replace("'shadow'", "'enforced'"));
        // What looks like it and stands in a text is not it.
        let flow = "hooks:\n- {command: 'echo mode: shadow', name: b, on: before_tool, mode: shadow}";
        assert_eq!(edited(flow, "b").unwrap(), flow.replace("l, mode: shadow}", "l, mode: enforced}"));
    }

    #[test]
    fn where_the_file_says_it_for_all_the_hook_says_it_for_itself() {
        let text = "mode: shadow\nhooks:\n  - name: a\n    on: before_tool\n    command: x\n  - {name: b, on: before_tool, command: x}\n";
        let own = text.replace("name: a\n", "name: a\n    mode: enforced\n");
        assert_eq!(edited(text, "a").unwrap(), own);
        assert_eq!(edited(text, "b").unwrap(), text.replace("{name: b", "{mode: enforced, name: b"));
    }

    #[test]
    fn a_policy_counts_with_all_of_its_hooks() {
        let text = "use:\n  - no-force-push: shadow\n  - git-safety: {mode: shadow}\nhooks: []\n";
        let first = text.replace("push: shadow", "push: enforced");
        assert_eq!(edited(text, "no-force-push").unwrap(), first);
        assert_eq!(edited(text, "git-safety").unwrap(), text.replace("{mode: shadow}", "{mode: enforced}"));
        let flow = "use: [no-force-push: shadow, git-safety: shadow]\n";
        assert_eq!(edited(flow, "git-safety").unwrap(), flow.replace("safety: shadow", "safety: enforced"));
        let all = edited("use: [standard: shadow]\n", "no-force-push").unwrap_err();
        assert!(all.contains("failed to edit"), "{all}");
    }

    #[test]
    fn what_cannot_be_edited_is_left_alone_and_named() {
        let text = "hooks:\n- name: a\n  on: before_tool\n  command: x\n";
        assert_eq!(edited(text, "a").unwrap_err(), "hook \"a\" is not in shadow");
        assert!(edited(text, "b").unwrap_err().contains("no hook \"b\""));
        let alias = "hooks:\n- name: a\n  on: before_tool\n  command: x\n  mode: &m shadow\n- name: b\n  on: before_tool\n  command: x\n  mode: *m\n";
        assert!(edited(alias, "b").unwrap_err().contains("failed to edit"), "it would change both");
    }
}
