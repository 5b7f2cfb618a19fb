//! Variables to the environment of a process: what is inherited, what does not fit, what is left out (FL-11 to FL-13).

use std::ffi::OsString;
use std::path::Path;

use lineside_core::invocation::{Environment, EventFile, Inherit};

use super::catalogue::HookType;
use super::variables::{self, Variable};
use crate::text::first_bytes;

/// The longest value, in bytes (FL-11).
const LONGEST: usize = 65_536;

/// What a plugin's hook inherits (FL-13).
const FOR_PLUGINS: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL"];
/// What it inherits beside that on Windows.
const FOR_PLUGINS_ON_WINDOWS: &[&str] = &["SystemRoot", "ComSpec", "PATHEXT", "TEMP", "TMP"];

const PLUGIN_ROOT: &str = "FLYTO_PLUGIN_ROOT";

/// Takes the place of NUL, which ends text for the system.
const REPLACEMENT: &str = "\u{fffd}";

/// The environment of a hook, and the files with the values that do not fit into it.
pub(super) fn of(
    hook_type: &'static HookType,
    variables: Vec<Variable<'_>>,
    plugin_dir: Option<&Path>,
) -> (Environment, Vec<EventFile>) {
    let mut set: Vec<(OsString, OsString)> = Vec::new();
    let mut files = Vec::new();
    for Variable { name, value } in variables {
        let value = without_nul(value.into_owned());
        let kept = fitting(&value);
        if kept < value.len() {
            let head = value.get(..kept).unwrap_or_default().to_vec();
            set.push((name.into(), os_string(head)));
            set.push((truncated(name).into(), "true".into()));
            files.push(EventFile { variable: file(name).into(), bytes: value });
        } else {
            set.push((name.into(), os_string(value)));
        }
    }
    let environment = match plugin_dir {
        // A hook that is no plugin's inherits all but what would be taken for its own (FL-12).
        None => Environment {
            inherit: Inherit::All,
            remove: variables::names(hook_type)
                .flat_map(|name| [truncated(name), file(name)])
                .chain([PLUGIN_ROOT.to_owned()])
                .map(OsString::from)
                .collect(),
            set,
        },
        // A plugin's hook inherits little (FL-13).
        Some(directory) => {
            set.push((PLUGIN_ROOT.into(), directory.into()));
            let more = if cfg!(windows) { FOR_PLUGINS_ON_WINDOWS } else { &[] };
            let names = FOR_PLUGINS.iter().chain(more).map(OsString::from);
            Environment { inherit: Inherit::Only(names.collect()), remove: Vec::new(), set }
        }
    };
    (environment, files)
}

/// The variables in which a NUL has to be replaced.
pub(super) fn with_nul(variables: &[Variable<'_>]) -> Vec<&'static str> {
    variables.iter().filter(|variable| variable.value.contains(&0)).map(|variable| variable.name).collect()
}

fn truncated(name: &str) -> String {
    format!("{name}_TRUNCATED")
}

fn file(name: &str) -> String {
    format!("{name}_FILE")
}

fn without_nul(value: Vec<u8>) -> Vec<u8> {
    if !value.contains(&0) {
        return value;
    }
    let pieces: Vec<&[u8]> = value.split(|byte| *byte == 0).collect();
    pieces.join(REPLACEMENT.as_bytes())
}

/// How many bytes of a value fit.
fn fitting(value: &[u8]) -> usize {
    if value.len() <= LONGEST {
        return value.len();
    }
    // Only a preview is not UTF-8, and that is short.
    str::from_utf8(value).map_or(LONGEST, |text| first_bytes(text, LONGEST).len())
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests;
