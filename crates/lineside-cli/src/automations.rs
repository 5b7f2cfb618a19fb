//! How automations are paced, as the pages about hooks tell it.

use lineside::json::Value;
use lineside::listing::Listed;

use crate::painter::one_line;

/// A line for each automation: its name, its point, and the settings that are not the usual ones.
pub(crate) fn lines<'a>(listed: impl Iterator<Item = &'a Listed>) -> Vec<String> {
    let line = |listed: &Listed| {
        let declared = listed.declared.as_ref()?;
        let settings: Vec<String> =
            declared.iter().map(|(name, value)| format!("{name} {}", flow(value))).collect();
        let settings =
            if settings.is_empty() { "the usual settings".to_owned() } else { settings.join(", ") };
        Some(one_line(&format!("{} at {}: {settings}", listed.hook, listed.point)))
    };
    listed.filter_map(line).collect()
}

/// A value as the file would have it, in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> =
                fields.map(|(name, value)| format!("{name}: {}", flow(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
