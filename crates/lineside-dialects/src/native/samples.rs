//! Events and hooks for the tests of this folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lineside_core::envelope::Source;
use lineside_core::hook::Mode;
use lineside_core::invocation::Inherit;
use lineside_core::json::Value;
use lineside_core::{AnyEvent, Layer};
use lineside_guards::Account;

use super::definition::Definition;
use super::entry::Entry;
use super::file;
use super::findings::Findings;
use super::handler::NativeHook;
use super::places::Place;
use crate::dialect::{Places, Trust};
use crate::samples;

/// An event of a point, of the session `s1` in `/repo`.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    let source = Source { project_root: Some("/repo".into()), ..Source::root("s1") };
    samples::event(point, payload, source)
}

/// A call of the shell.
pub(super) fn shell() -> AnyEvent {
    shell_of("ls")
}

/// The same with this command.
pub(super) fn shell_of(command: &str) -> AnyEvent {
    event(
        "before_tool",
        lineside_core::json::json!({"tool_name": "Shell", "tool_input": {"command": command}}),
    )
}

/// An environment with two secrets.
fn places() -> Places {
    let set = [("TOKEN", "hunter2"), ("OTHER", "hunter3"), ("EMPTY", ""), ("LINES", "a\nb")];
    Places {
        environment: set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
        project_root: Some(PathBuf::from("/repo")),
        cwd: PathBuf::from("/repo"),
        trust: Trust::Granted,
    }
}

/// The entries of a text in a file of that layer, and what was found as `line: severity text`.
pub(super) fn read_as(layer: Layer, text: &str) -> (Vec<Entry>, Vec<String>) {
    let inherit = if layer == Layer::User { Inherit::All } else { Inherit::minimal_and([]) };
    let account = Arc::new(Account::at("/home/dev"));
    let place = Place {
        layer,
        file: PathBuf::from("/f/hooks.yaml"),
        inherit,
        account,
        mode: Mode::Enforced,
        seat: None,
        owner: None,
    };
    let mut findings = Findings::about(&place.file);
    let entries = file::contents(text.as_bytes(), &place, &places(), &mut findings).entries;
    let told = findings.diagnostics.iter().map(|one| {
        let text = one.to_string();
        let text = text.strip_prefix("/f/hooks.yaml:").unwrap_or(&text).to_owned();
        assert_eq!(
            one.origin.as_ref().map(|origin| format!("{}:", origin.line)),
            text.split_inclusive(':').next().map(str::to_owned)
        );
        text
    });
    (entries, told.collect())
}

/// The same for a file of a project.
pub(super) fn read(text: &str) -> (Vec<Entry>, Vec<String>) {
    read_as(Layer::Project, text)
}

/// The one entry `h` of a file with these lines below its name, the first of which is line 3, and what was found.
pub(super) fn hook(lines: &str) -> (Option<Definition>, Vec<String>) {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let (mut entries, told) = read(&format!("hooks:\n  - name: h\n{lines}"));
    assert_eq!(entries.len(), 1);
    (entries.pop().unwrap().definition, told)
}

/// A hook that loads without a word.
pub(super) fn sound(lines: &str) -> NativeHook {
    let (definition, told) = hook(lines);
    assert_eq!(told, [""; 0], "{lines}");
    let definition = Arc::new(definition.unwrap());
    NativeHook { name: "h".into(), definition, cwd: PathBuf::from("/runtime").into() }
}
