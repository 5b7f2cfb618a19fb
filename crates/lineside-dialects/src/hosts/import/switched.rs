//! Which hooks of a host are switched off, and by whom: a file of a project that is not trusted switches off nothing, and
//! one of a trusted project that switches off hooks of the user is reported.

use std::borrow::Cow;

use lineside_core::{Diagnostic, Layer, Origin};

use super::entry::{Entry, Run};
use super::format::{Format, Switches};
use super::source::Source;
use crate::dialect::Trust;
use crate::tree::{Content, Node};

/// The keys under which hosts switch hooks off.
const KEYS: [&str; 3] = ["disableAllHooks", "hooksConfig", "features"];

/// What is switched off by the files that are heard.
pub(super) fn switched(format: &dyn Format, trust: Trust, files: &[(Source, Node)]) -> Switches {
    match trust {
        Trust::Granted => format.switches(files),
        Trust::Withheld => format.switches(&heard(files, |_, source| !is_of_project(source))),
    }
}

/// A note for each file of the project that switches off hooks of the user.
pub(super) fn findings(
    format: &dyn Format,
    trust: Trust,
    files: &[(Source, Node)],
    entries: &[Entry],
) -> Vec<Diagnostic> {
    let of_user: Vec<&Entry> =
        entries.iter().filter(|entry| entry.is_disabled && entry.layer != Layer::Project).collect();
    if trust == Trust::Withheld || of_user.is_empty() {
        return Vec::new();
    }
    let base = format.switches(&heard(files, |_, source| !is_of_project(source)));
    let of_project = files.iter().enumerate().filter(|(_, (source, _))| is_of_project(source));
    let finding = |(place, (source, node)): (usize, &(Source, Node))| {
        let alone = format.switches(&heard(files, |at, source| at == place || !is_of_project(source)));
        let mut lost = of_user.iter().filter(|entry| holds(&alone, entry) && !holds(&base, entry));
        let first = lost.next()?;
        let more = match lost.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let line = KEYS.iter().find_map(|key| node.entry(key)).map_or(1, |(key, _)| key.line);
        Some(Diagnostic::note(
            Origin::new(&source.file, line),
            format!(
                "the project would switch off the hook \"{}\" of the user ({}:{}){more}, but lineside runs it all the same",
                first.name,
                first.origin.file.display(),
                first.origin.line
            ),
        ))
    };
    of_project.filter_map(finding).collect()
}

/// Whether a hook is switched off.
pub(super) fn is_off(switches: &Switches, file: usize, name: Option<&str>, run: &Run) -> bool {
    let called = match (name, run) {
        (Some(name), _) => Some(name),
        (None, Run::Shell { line, .. }) => Some(line.as_str()),
        (None, _) => None,
    };
    switches.files.contains(&file)
        || called.is_some_and(|called| switches.names.iter().any(|name| name == called))
}

fn holds(switches: &Switches, entry: &Entry) -> bool {
    is_off(switches, entry.file, entry.handler.given_name.as_deref(), &entry.handler.run)
}

fn is_of_project(source: &Source) -> bool {
    source.layer == Layer::Project
}

/// The same files, of which those that are not heard have nothing in them.
fn heard(files: &[(Source, Node)], is_heard: impl Fn(usize, &Source) -> bool) -> Cow<'_, [(Source, Node)]> {
    if files.iter().enumerate().all(|(at, (source, _))| is_heard(at, source)) {
        return Cow::Borrowed(files);
    }
    let of = |(at, (source, node)): (usize, &(Source, Node))| {
        let empty = || Node::new(node.line, Content::Null);
        (source.clone(), if is_heard(at, source) { node.clone() } else { empty() })
    };
    Cow::Owned(files.iter().enumerate().map(of).collect())
}
