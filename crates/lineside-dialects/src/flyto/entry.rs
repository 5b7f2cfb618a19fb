//! One entry of a file to a hook (FL-4 to FL-7).

use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::OnFailure;
use lineside_core::exchange::Addresses;
use lineside_redact::redact;

use super::catalogue::HookType;
use super::definition::{DEFAULT_TIMEOUT, Definition, Run};
use super::findings::{Findings, LoadError, LoadWarning};
use super::places::Place;
use crate::lined_json::{self, Content, Node};
use crate::web_address::is_web_address;

/// The longest timeout, in seconds (FL-4).
const LONGEST_TIMEOUT: u64 = 86_400;

const KEYS: [&str; 8] =
    ["command", "webhook_url", "timeout", "async", "source", "plugin_dir", "name", "on_failure"];

/// An entry.
#[derive(Debug)]
pub(super) struct Entry {
    /// The type that it stands under.
    pub(super) hook_type: &'static HookType,
    /// Its name, or the one that it gets.
    pub(super) name: String,
    /// The line on which it begins.
    pub(super) line: u32,
    /// What it declares; absent when something is wrong with it.
    pub(super) definition: Option<Definition>,
}

/// Reads an entry.
pub(super) fn read(
    hook_type: &'static HookType,
    default_name: String,
    item: &Node,
    place: &Place,
    findings: &mut Findings,
) -> Entry {
    let line = item.line;
    let Some(entries) = item.entries() else {
        findings.error(line, LoadError::Entry(default_name.clone(), item.label()));
        return Entry { hook_type, name: default_name, line, definition: None };
    };
    let mut reader = Reader { entries, name: default_name, findings, sound: true };
    if let Some(name) = reader.text("name", "a text of one line without control characters", is_one_line)
        && !name.trim().is_empty()
    {
        reader.name = name;
    }
    reader.unknown_keys();
    let definition = reader.definition(hook_type, place, line);
    Entry { hook_type, line, definition: definition.filter(|_| reader.sound), name: reader.name }
}

/// Reads the keys of one entry.
struct Reader<'a> {
    entries: &'a [lined_json::Entry],
    name: String,
    findings: &'a mut Findings,
    /// Whether nothing is wrong so far.
    sound: bool,
}

impl<'a> Reader<'a> {
    /// The last entry of that key that is not null (FL-3).
    fn get(&self, key: &str) -> Option<&'a lined_json::Entry> {
        self.entries.iter().rfind(|entry| entry.key == key).filter(|entry| !entry.value.is_null())
    }

    fn wrong(&mut self, key: &'static str, expected: &'static str, entry: &lined_json::Entry) {
        self.sound = false;
        let (hook, value) = (self.name.clone(), entry.value.label());
        self.findings.error(entry.line, &LoadError::Value { hook, key, expected, value });
    }

    /// The value of a key, as far as it is there and right.
    fn read<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        value: impl FnOnce(&'a Node) -> Option<T>,
    ) -> Option<T> {
        let entry = self.get(key)?;
        let read = value(&entry.value);
        if read.is_none() {
            self.wrong(key, expected, entry);
        }
        read
    }

    fn text(
        &mut self,
        key: &'static str,
        expected: &'static str,
        is_right: impl FnOnce(&str) -> bool,
    ) -> Option<String> {
        self.read(key, expected, |node| node.text().filter(|text| is_right(text)).map(str::to_owned))
    }

    fn unknown_keys(&mut self) {
        for (number, entry) in self.entries.iter().enumerate() {
            let known = KEYS.contains(&entry.key.as_str());
            if !known && !entry.value.is_null() {
                let (hook, key, file) = (self.name.clone(), entry.key.clone(), self.findings.file());
                self.findings.warning(entry.line, &LoadWarning::UnknownKey { hook, key, file });
            }
            if self.entries.iter().take(number).any(|before| before.key == entry.key) {
                self.findings.warning(entry.line, LoadWarning::Duplicate(entry.key.clone()));
            }
        }
    }

    fn definition(&mut self, hook_type: &'static HookType, place: &Place, line: u32) -> Option<Definition> {
        let run = self.run(place, line);
        let timeout = self.read("timeout", "an integer of 0 to 86400 seconds", seconds);
        let is_async = self.read("async", "true or false", |node| match node.content {
            Content::Boolean(value) => Some(value),
            _ => None,
        });
        let (source, plugin_dir) = self.plugin(place);
        let on_failure = self.read("on_failure", "\"continue\" or \"block\"", |node| match node.text()? {
            "continue" => Some(OnFailure::Continue),
            "block" => Some(OnFailure::Block),
            _ => None,
        });
        let is_async = is_async.unwrap_or_default();
        Some(Definition {
            run: run?,
            timeout: timeout.unwrap_or(DEFAULT_TIMEOUT),
            is_async,
            source: source.into(),
            plugin_dir,
            on_failure: self.on_failure(on_failure.unwrap_or(OnFailure::Continue), hook_type, is_async),
        })
    }

    fn run(&mut self, place: &Place, line: u32) -> Option<Run> {
        let command = self.text("command", "a text that is not blank", |text| !text.trim().is_empty());
        let url = self.text("webhook_url", "an absolute http or https URL", is_web_address);
        match (command, url) {
            (Some(command), Some(url)) => {
                let line = self.get("webhook_url").map_or(line, |entry| entry.line);
                let url = redact(&url).into_owned();
                self.findings.warning(line, &LoadWarning::WebhookUnused { hook: self.name.clone(), url });
                Some(Run::Command(command))
            }
            (Some(command), None) => Some(Run::Command(command)),
            (None, Some(url)) => {
                if has_user(&url) {
                    let line = self.get("webhook_url").map_or(line, |entry| entry.line);
                    self.findings.warning(line, LoadWarning::WebhookUser(self.name.clone()));
                }
                // A person trusts the text of a project, and not what its names are resolved to.
                let trusted = place.level.is_trusted();
                let addresses = if trusted { Addresses::Any } else { Addresses::AsWritten };
                Some(Run::Webhook { url, addresses })
            }
            (None, None) => {
                if self.get("command").is_none() && self.get("webhook_url").is_none() {
                    self.sound = false;
                    self.findings.error(line, LoadError::NothingToRun(self.name.clone()));
                }
                None
            }
        }
    }

    /// Source and directory: those of the plugin whose file it is (FL-6), or what the entry says.
    fn plugin(&mut self, place: &Place) -> (String, Option<PathBuf>) {
        if let Some(plugin) = &place.plugin {
            for key in ["source", "plugin_dir"] {
                if let Some(entry) = self.get(key) {
                    let (hook, value) = (self.name.clone(), entry.value.label());
                    let warning = LoadWarning::OfPlugin { hook, key, value, plugin: plugin.name.clone() };
                    self.findings.warning(entry.line, &warning);
                }
            }
            return (plugin.name.clone(), Some(plugin.directory.clone()));
        }
        let source = self.text("source", "a text", |_| true);
        let directory = self
            .text("plugin_dir", "an absolute path", |text| text.is_empty() || Path::new(text).is_absolute());
        let directory = directory.filter(|directory| !directory.is_empty()).map(PathBuf::from);
        (source.unwrap_or_default(), directory)
    }

    fn on_failure(&mut self, on_failure: OnFailure, hook_type: &HookType, is_async: bool) -> OnFailure {
        let why = match on_failure {
            OnFailure::Continue => return OnFailure::Continue,
            OnFailure::Block if !hook_type.authority().blocks() => "hooks of its type cannot block",
            OnFailure::Block if is_async => "an asynchronous hook is not waited for",
            OnFailure::Block => return OnFailure::Block,
        };
        let line = self.get("on_failure").map_or(1, |entry| entry.line);
        self.findings.warning(line, &LoadWarning::OnFailure { hook: self.name.clone(), why });
        OnFailure::Continue
    }
}

fn seconds(node: &Node) -> Option<Duration> {
    let Content::Number(number) = &node.content else { return None };
    match number.as_u64()? {
        0 => Some(DEFAULT_TIMEOUT),
        seconds if seconds <= LONGEST_TIMEOUT => Some(Duration::from_secs(seconds)),
        _ => None,
    }
}

fn is_one_line(text: &str) -> bool {
    !text.chars().any(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}'))
}

/// Whether something stands before the host.
fn has_user(url: &str) -> bool {
    url.split_once("://")
        .is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@'))
}

#[cfg(test)]
mod tests;
