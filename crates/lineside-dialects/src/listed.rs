//! A file whose key `hooks` has a list of entries for each of a format's own names: from its bytes to the entries, and to what
//! stands in for those that are lost.
//!
//! What an entry may say is for its format.

use std::collections::HashMap;
use std::path::Path;

use lineside_files::Boundary;

use crate::broken::{Broken, IsGuard, ON_FAILURE, Repair};
use crate::findings::{Findings, filled};
use crate::names::{self, Named};
use crate::tree::{Entry, Node};

/// How many entries each name has had so far, over all files.
pub(crate) type Counts = HashMap<&'static str, usize>;

/// A format of such files, and the wordings of what can be wrong.
#[derive(Debug)]
pub(crate) struct Listing<R: 'static> {
    /// The names.
    pub(crate) rows: &'static [R],
    /// The largest file, in bytes; a larger one counts as a guard.
    pub(crate) largest: usize,
    /// Reads the bytes of a file; nothing where there is nothing or an error costs the whole file.
    pub(crate) parse: fn(&[u8], &mut Findings) -> Option<Node>,
    /// Takes a node for a text.
    pub(crate) text: fn(&Node) -> Option<&str>,
    /// Names a wrong value in a finding.
    pub(crate) shown: fn(&Node) -> String,
    /// How a finding begins that is about the entry of that name.
    pub(crate) about: fn(&R, &str) -> String,
    /// The wording for a key that was meant as `hooks`: `{key}`.
    pub(crate) misspelt: &'static str,
    /// The wording for `hooks` that is no mapping: `{found}`.
    pub(crate) no_mapping: &'static str,
    /// The wording for a name that does not exist: `{key}`, `{near}`.
    pub(crate) unknown: &'static str,
    /// The wording for a name without a list: `{key}`, `{found}`.
    pub(crate) no_list: &'static str,
    /// The wording for several `hooks`, of which the last one counts.
    pub(crate) hooks_twice: &'static str,
    /// The wording for a name that occurs twice, of which the last one counts: `{key}`.
    pub(crate) twice: &'static str,
}

/// An entry of a file.
#[derive(Debug)]
pub(crate) struct Listed<R: 'static, D> {
    /// What it stands under.
    pub(crate) row: &'static R,
    /// Its name, or the one that it gets.
    pub(crate) name: String,
    /// The line on which it begins.
    pub(crate) line: u32,
    /// What it declares; absent when an error disables it.
    pub(crate) declared: Option<D>,
}

impl<R: Named> Listing<R> {
    /// The entries of a file, in its order; none if there is no such file.
    ///
    /// `read` is given the row of each, the name of an entry without one, and the entry; it returns its name and what it
    /// declares, unless an error disables it.
    pub(crate) fn read<D>(
        &self,
        file: &Path,
        boundary: Boundary<'_>,
        counts: &mut Counts,
        findings: &mut Findings,
        read: impl FnMut(&'static R, String, &Node, &mut Findings) -> (String, Option<D>),
    ) -> Vec<Listed<R, D>> {
        match lineside_files::read_if_there(file, boundary, self.largest) {
            None => Vec::new(),
            Some(Ok(bytes)) => self.entries(&bytes, counts, findings, read),
            Some(Err(error)) => {
                findings.error(1, format_args!("the file cannot be read: {error}"));
                findings.lose_file(names::gates(self.rows), true);
                Vec::new()
            }
        }
    }

    /// The entries of the bytes of a file. Of keys that occur twice the last one counts, and what stands below the others is
    /// lost.
    pub(crate) fn entries<D>(
        &self,
        bytes: &[u8],
        counts: &mut Counts,
        findings: &mut Findings,
        mut read: impl FnMut(&'static R, String, &Node, &mut Findings) -> (String, Option<D>),
    ) -> Vec<Listed<R, D>> {
        let root = (self.parse)(bytes, findings);
        let (hooks, earlier) = self.hooks(root.as_ref(), findings);
        if !findings.diagnostics.is_empty() {
            let is_guard = bytes.len() > self.largest || ON_FAILURE.are_in(bytes);
            findings.lose_file(names::gates(self.rows), is_guard);
        }
        for (key, hooks) in earlier {
            let error = findings.repair_error(key.line, self.hooks_twice);
            for (key, list) in hooks.mapping().unwrap_or_default() {
                self.lose(key, list, names::row(self.rows, &key.label()), &error, findings);
            }
        }
        let mut found = Vec::new();
        for (number, (key, list)) in hooks.iter().enumerate() {
            let name = key.label();
            let row = names::row(self.rows, &name);
            let is_twice = hooks
                .iter()
                .skip(number + 1)
                .any(|(later, _)| later.text().is_some_and(|later| key.text() == Some(later)));
            let (lost, wording) = match (row, list.list()) {
                _ if is_twice => (row, self.twice),
                _ if list.is_null() => continue,
                (None, _) => (names::near_row(self.rows, &name), self.unknown),
                (Some(_), None) => (row, self.no_list),
                (Some(row), Some(items)) => {
                    for item in items {
                        let count = counts.entry(row.name()).or_default();
                        let unnamed = format!("{name}-{count}");
                        *count += 1;
                        found.push(self.entry(row, unnamed, item, findings, &mut read));
                    }
                    continue;
                }
            };
            let near = if row.is_none() { names::proposed_row(self.rows, &name) } else { "" };
            let what = filled(wording, &[("key", &name), ("near", near), ("found", &(self.shown)(list))]);
            self.lose(key, list, lost, &findings.repair_error(key.line, what), findings);
        }
        found
    }

    /// What stands below the last key `hooks`, and the others.
    fn hooks<'a>(&self, root: Option<&'a Node>, findings: &mut Findings) -> (&'a [Entry], Vec<&'a Entry>) {
        let fields = root.and_then(Node::mapping).unwrap_or_default();
        let mut named: Vec<&Entry> = fields.iter().filter(|(key, _)| key.text() == Some("hooks")).collect();
        let Some((key, hooks)) = named.pop() else {
            let is_row = |(name, _): &Entry| names::row(self.rows, &name.label()).is_some();
            let meant = fields.iter().find(|(key, value)| {
                names::is_nearly_hooks(&key.label()) && value.mapping().unwrap_or_default().iter().any(is_row)
            });
            if let Some((meant, _)) = meant {
                findings.error(meant.line, filled(self.misspelt, &[("key", &meant.label())]));
            }
            return (&[], named);
        };
        if hooks.mapping().is_none() && !hooks.is_null() {
            findings.error(key.line, filled(self.no_mapping, &[("found", &(self.shown)(hooks))]));
        }
        (hooks.mapping().unwrap_or_default(), named)
    }

    fn entry<D>(
        &self,
        row: &'static R,
        unnamed: String,
        item: &Node,
        findings: &mut Findings,
        read: &mut impl FnMut(&'static R, String, &Node, &mut Findings) -> (String, Option<D>),
    ) -> Listed<R, D> {
        let (since, line) = (findings.diagnostics.len(), item.line);
        let (name, declared) = read(row, unnamed, item, findings);
        if declared.is_none() {
            let error = findings.repair(since, (self.about)(row, &name));
            let (name, points, is_guard) = (name.clone(), row.named(), is_guard(item, Some(row)));
            findings.lose(Broken { name, line, error, points, is_guard, select: None });
        }
        Listed { row, name, line, declared }
    }

    /// The entries below a key are lost; of this row, where it is known.
    fn lose(&self, key: &Node, list: &Node, row: Option<&R>, error: &Repair, findings: &mut Findings) {
        for item in list.list().unwrap_or(std::slice::from_ref(list)) {
            let name = item.value("name").and_then(self.text).filter(|name| !name.is_empty());
            findings.lose(Broken {
                name: name.map_or_else(|| key.label(), str::to_owned),
                line: item.line,
                error: error.clone(),
                points: row.map_or_else(|| names::gates(self.rows), Named::named),
                is_guard: is_guard(item, row),
                select: None,
            });
        }
    }
}

/// Whether an entry may have been meant to block when it fails.
fn is_guard<R: Named>(item: &Node, row: Option<&R>) -> bool {
    let IsGuard(says) = ON_FAILURE.are_among(item.mapping().unwrap_or_default());
    says && row.is_none_or(Named::is_gate)
}
