//! One entry of a file to a hook (FL-4 to FL-7).

use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::exchange::Addresses;
use lineside_core::{OnFailure, Severity};
use lineside_redact::redact;

use super::catalogue::HookType;
use super::definition::{DEFAULT_TIMEOUT, Definition, Run};
use super::places::Place;
use crate::findings::Findings;
use crate::schema::{Is, Keys, Row, Schema, is_stated};
use crate::tree::Node;
use crate::web_address::is_web_address;

/// The keys of an entry, and the words for what is wrong with them (FL-3 to FL-5).
#[rustfmt::skip]
const ENTRY: Schema = Schema {
    rows: &[
        Row("name", Is::Such(is_one_line), "a text of one line without control characters"),
        Row("command", Is::Such(is_stated), "a text that is not blank"),
        Row("webhook_url", Is::Such(is_web_address), "an absolute http or https URL"),
        Row("timeout", Is::Integer(0, 86_400), "an integer of 0 to 86400 seconds"),
        Row("async", Is::Flag, "true or false"),
        Row("source", Is::Text, "a text"),
        Row("plugin_dir", Is::Such(is_absolute_or_empty), "an absolute path"),
        Row("on_failure", Is::Word(&["continue", "block"]), "\"continue\" or \"block\""),
    ],
    text: Node::text,
    flag: Node::boolean,
    shown: Node::json_label,
    wrong: "'{key}' must be {expected}, not {found}",
    severity: Severity::Error,
    unknown: "unknown key '{key}' in {file} is ignored",
    hint: "",
    strict: false,
    twice: "the key '{key}' occurs twice, the last one counts",
    last: true,
};

/// Reads an entry: its name, or the one that it gets, and what it declares; nothing when something is wrong with it.
pub(super) fn read(
    hook_type: &'static HookType,
    default_name: String,
    item: &Node,
    place: &Place,
    findings: &mut Findings,
) -> (String, Option<Definition>) {
    let line = item.line;
    let Some(entries) = item.mapping() else {
        let what = format!("hook \"{default_name}\" must be an object, not {}", item.json_label());
        findings.error(line, what);
        return (default_name, None);
    };
    let mut keys = Keys::new(&ENTRY, entries, findings);
    let about = |name: &str| format!("hook \"{name}\": ");
    keys.about = about(&default_name);
    let name = keys.text("name").filter(|name| is_stated(name)).map_or(default_name, str::to_owned);
    keys.about = about(&name);
    keys.unknown();
    if keys.given("command").is_none() && keys.given("webhook_url").is_none() {
        keys.sound = false;
        let what = format!("hook \"{name}\" has neither 'command' nor 'webhook_url'");
        keys.findings.error(line, what);
    }
    let definition = definition(&mut keys, hook_type, place);
    (name, definition.filter(|_| keys.sound))
}

fn definition(keys: &mut Keys<'_, '_>, hook_type: &HookType, place: &Place) -> Option<Definition> {
    let run = run(keys, place);
    let timeout = keys.integer("timeout").filter(|seconds| *seconds > 0);
    let timeout = timeout.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
    let is_async = keys.flag("async").unwrap_or_default();
    let (source, plugin_dir) = plugin(keys, place);
    let on_failure = on_failure(keys, hook_type, is_async);
    let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
    Some(Definition { run: run?, timeout, is_async, source: source.into(), plugin_dir, on_failure })
}
/// The command, or else the webhook.
fn run(keys: &mut Keys<'_, '_>, place: &Place) -> Option<Run> {
    let (command, url) = (keys.text("command"), keys.text("webhook_url"));
    let line = keys.line("webhook_url");
    match (command, url) {
        (Some(command), url) => {
            if let Some(url) = url.map(redact) {
                let what = format!("'webhook_url' ({url}) is not used, because 'command' runs");
                keys.warning(line, what);
            }
            Some(Run::Command(command.to_owned()))
        }
        (None, Some(url)) => {
            if has_user(url) {
                let what = "nothing can be posted to a 'webhook_url' with a name and password";
                keys.warning(line, what);
            }
            // A person trusts the text of a project, and not what its names are resolved to.
            let trusted = place.level.is_trusted();
            let addresses = if trusted { Addresses::Any } else { Addresses::AsWritten };
            Some(Run::Webhook { url: url.to_owned(), addresses })
        }
        (None, None) => None,
    }
}

/// Source and directory: those of the plugin whose file it is (FL-6), or what the entry says.
fn plugin(keys: &mut Keys<'_, '_>, place: &Place) -> (String, Option<PathBuf>) {
    let Some(plugin) = &place.plugin else {
        let source = keys.text("source").unwrap_or_default().to_owned();
        let directory = keys.text("plugin_dir").filter(|directory| !directory.is_empty());
        return (source, directory.map(PathBuf::from));
    };
    for key in ["source", "plugin_dir"] {
        if let Some((name, value)) = keys.given(key) {
            let what = format!("'{key}' ({}) is ignored, because the hook belongs to", value.json_label());
            keys.warning(name.line, format_args!("{what} the plugin '{}'", plugin.name));
        }
    }
    (plugin.name.clone(), Some(plugin.directory.clone()))
}

/// What its failure means; a hook that cannot block does not block by failing.
fn on_failure(keys: &mut Keys<'_, '_>, hook_type: &HookType, is_async: bool) -> OnFailure {
    let why = match keys.text("on_failure") {
        Some("block") if !hook_type.authority().blocks() => "hooks of its type cannot block",
        Some("block") if is_async => "an asynchronous hook is not waited for",
        Some("block") => return OnFailure::Block,
        _ => return OnFailure::Continue,
    };
    let line = keys.line("on_failure");
    keys.warning(line, format_args!("'on_failure' (\"block\") is ignored, because {why}"));
    OnFailure::Continue
}

fn is_one_line(text: &str) -> bool {
    !text.chars().any(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}'))
}

fn is_absolute_or_empty(text: &str) -> bool {
    text.is_empty() || Path::new(text).is_absolute()
}

/// Whether something stands before the host.
fn has_user(url: &str) -> bool {
    url.split_once("://")
        .is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@'))
}

#[cfg(test)]
mod tests;
