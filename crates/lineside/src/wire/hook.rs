//! A hook in force as JSON: who it is, where it comes from, and what it declares.

use lineside_core::Hook;
use lineside_core::hook::Standby;
use lineside_core::json::{Map, Value, json};

/// A hook at one of its points.
///
/// Fields: `name`, `point`, `dialect`, `layer`, `depth`, `priority`, `part`, `mode` where it is not `enforced`, `on_failure`, `timeout_ms`, `reach`,
/// `state` (`ready` or why it does not run), and where there is one: `source`, `origin` (file and line), `match`.
///
/// ```
/// use lineside::core::{Hook, Part};
/// use lineside::wire;
///
/// let json = wire::hook("before_tool", &Hook::native("guard", Part::Gate));
/// assert_eq!((json["name"].as_str(), json["state"].as_str()), (Some("guard"), Some("ready")));
/// ```
#[must_use]
pub fn hook(point: &str, hook: &Hook) -> Map {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("name", json!(hook.name));
    put("point", json!(point));
    put("dialect", json!(hook.dialect));
    put("layer", json!(hook.layer));
    put("depth", json!(hook.depth));
    put("priority", json!(hook.priority));
    put("part", json!(hook.part.as_str()));
    if hook.is_shadow() {
        put("mode", json!(hook.mode));
    }
    put("on_failure", json!(hook.on_failure));
    put("timeout_ms", json!(u64::try_from(hook.timeout.as_millis()).unwrap_or(u64::MAX)));
    put("reach", json!(hook.reach));
    let state = match &hook.standby {
        Standby::Ready => "ready",
        Standby::Off(why) => why.as_str(),
        Standby::NotLoaded(_) => lineside_core::SkipReason::NotLoaded.as_str(),
    };
    put("state", json!(state));
    if !hook.source.is_empty() {
        put("source", json!(hook.source));
    }
    if let Some(origin) = &hook.origin {
        put("origin", json!(origin.to_string()));
    }
    if let Some(select) = &hook.select {
        put("match", json!(select.describe()));
    }
    map
}
