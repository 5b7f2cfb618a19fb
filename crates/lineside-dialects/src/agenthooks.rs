//! Agent Hooks: `HOOK.md` folders.

use lineside_core::PointInfo;
use serde_json::{Map, Value};

use crate::dialect::{Dialect, Loaded, Places};

/// The dialect `agenthooks`.
#[derive(Debug, Clone, Copy)]
pub struct AgentHooks;

impl Dialect for AgentHooks {
    fn name(&self) -> &'static str {
        "agenthooks"
    }

    fn load(&self, _places: &Places) -> Loaded {
        Loaded::default()
    }

    fn point(&self, name: &str, _payload: &Map<String, Value>) -> Option<&'static PointInfo> {
        lineside_points::find(name).ok()
    }
}
