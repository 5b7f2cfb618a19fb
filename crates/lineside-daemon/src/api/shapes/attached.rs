//! The forms of hooks that live in programs: as they are registered, and what becomes of them.

use lineside::core::Reach;
use lineside::json::Map;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// A hook of a program that has attached, to be registered with the opening of its session.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AttachedEntry {
    /// As of `RegisterHook`.
    pub called: String,
    /// As of `RegisterHook`.
    #[serde(default)]
    pub reach: HookReach,
    /// As of `RegisterHook`.
    #[cfg_attr(feature = "describe", schema(value_type = Object))]
    pub hook: Map,
}

/// What became of a hook that was to be registered with the opening of its session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct AttachedOutcome {
    /// What it is called.
    pub called: String,
    /// Its number, to remove it by, when it is registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<u64>,
    /// What in its entry has no effect.
    pub warnings: Vec<String>,
    /// Why it is not registered, on a session that was open already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// A hook of a program that has attached.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RegisterHook {
    /// The token of the program, as `POST /v1/attach` gave it.
    pub attachment: String,
    /// What the hook is called in the calls that the program gets.
    pub called: String,
    /// Which sessions it is for; `subtree` without it.
    #[serde(default)]
    pub reach: HookReach,
    /// An entry of lineside's own format, without `command`, `worker` and `post`: `name`, `on`, `match`, `priority`,
    /// `timeout`, `on_failure`, `async`, `amends`, `automate`.
    #[cfg_attr(feature = "describe", schema(value_type = Object))]
    pub hook: Map,
}

/// Which sessions a hook is for.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum HookReach {
    /// The session and everything below it.
    #[default]
    Subtree,
    /// The session alone.
    #[serde(rename = "self")]
    Itself,
    /// What is below the session.
    Children,
}

impl From<HookReach> for Reach {
    fn from(reach: HookReach) -> Self {
        match reach {
            HookReach::Subtree => Self::Subtree,
            HookReach::Itself => Self::Itself,
            HookReach::Children => Self::Children,
        }
    }
}

/// A hook that was registered.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct RegisteredHook {
    /// Its number, to remove it by.
    pub hook: u64,
    /// The digest of the hooks that the session is under now.
    pub coverage: String,
    /// What in its entry has no effect.
    pub warnings: Vec<String>,
}

/// A hook that was taken away.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Removed {
    /// Its number.
    pub hook: u64,
    /// The digest of the hooks that the session is under now.
    pub coverage: String,
}
