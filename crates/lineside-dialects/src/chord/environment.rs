//! The environment of a hook (CH-29, CH-30).

use std::ffi::OsString;

use lineside_core::invocation::{Environment, Inherit};
use lineside_core::json::{Map, Number, Value};

use super::data::Data;
use crate::dialect::Places;

/// All of Chord's variables for hooks begin so.
const PREFIX: &str = "CHORD_HOOK_";
/// Switches the debug log on, and is the only one of them that is inherited.
pub(super) const DEBUG: &str = "CHORD_HOOK_DEBUG";
/// The longest value, in bytes; the kernel takes little more.
const LONGEST: usize = 131_000;

/// The envelope field of each variable.
const OF_ENVELOPE: [&str; 8] = [
    "point", "session_id", "turn_id", "agent_id", "agent_kind", "project_root", "selected_model",
    "running_model",
];
const OF_DATA: [&str; 3] = ["tool_name", "timeout_ms", "error_kind"];

/// The variables that a hook does not inherit.
pub(super) fn not_inherited(places: &Places) -> Vec<OsString> {
    let known = OF_ENVELOPE.iter().chain(&OF_DATA).map(|field| variable(field));
    let mut names: Vec<String> = places
        .environment
        .keys()
        .filter(|name| name.starts_with(PREFIX) && *name != DEBUG)
        .cloned()
        .chain(known)
        .collect();
    names.sort();
    names.dedup();
    names.into_iter().map(OsString::from).collect()
}

/// The variables of an event and those of the hook's own, and the names of those that cannot be handed over.
pub(super) fn of(
    envelope: &Map,
    data: &Data,
    own: &[(String, String)],
    not_inherited: &[OsString],
) -> (Environment, Vec<String>) {
    let from_envelope =
        OF_ENVELOPE.into_iter().map(|field| (variable(field), field_text(envelope.get(field))));
    let from_data = OF_DATA.into_iter().map(|field| {
        let value = data.get(field);
        let text = match value {
            Some(Value::Number(number)) if field == "timeout_ms" => whole(number),
            Some(Value::String(text)) if field != "timeout_ms" => text.clone(),
            _ => String::new(),
        };
        (variable(field), text)
    });
    let named = from_envelope.chain(from_data).filter(|(_, value)| !value.is_empty());
    let mut refused = Vec::new();
    let set = named
        .chain(own.iter().cloned())
        .filter(|(name, value)| {
            let fits = value.len() <= LONGEST && !value.contains('\0');
            if !fits {
                refused.push(name.clone());
            }
            fits
        })
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let remove = not_inherited.iter().cloned().chain(refused.iter().map(OsString::from)).collect();
    (Environment { inherit: Inherit::All, remove, set }, refused)
}

fn variable(field: &str) -> String {
    format!("{PREFIX}{}", field.to_ascii_uppercase())
}

fn field_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// In decimal, its fraction cut off; nothing when it is beyond all bounds.
fn whole(number: &Number) -> String {
    let text = number.to_string();
    if !text.contains(['.', 'e', 'E']) {
        return text;
    }
    match number.as_f64().map(f64::trunc) {
        Some(0.0) => "0".to_owned(),
        Some(whole) if whole.is_finite() => format!("{whole:.0}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
