//! Events and hooks for the tests of this folder.

use std::path::PathBuf;

use lineside_core::envelope::Source;
use lineside_core::json::Value;
use lineside_core::{Agent, AnyEvent, OnFailure};

use super::{Definition, FlytoHook, HookType, Run};
use crate::samples;

/// An event of a point, of the session `s1`, turn 7, in `/project`.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    event_of(point, payload, |source| source.project_root = Some("/project".into()))
}

/// An event with another source.
pub(super) fn event_of(point: &str, payload: Value, change: impl FnOnce(&mut Source)) -> AnyEvent {
    let mut source = Source { agent: Agent::main("main"), ..Source::root("s1") };
    change(&mut source);
    samples::event(point, payload, source)
}

/// An event of that type, with what it must have.
pub(super) fn event_at(hook_type: &str) -> AnyEvent {
    let payload = match hook_type {
        "session_start" => lineside_core::json::json!({"source": "startup"}),
        "session_end" => lineside_core::json::json!({"reason": "exit"}),
        "user_prompt_submit" => lineside_core::json::json!({"prompt": "p"}),
        "pre_sampling" | "post_sampling" => lineside_core::json::json!({"model": "m"}),
        "pre_tool_use" => lineside_core::json::json!({"tool_name": "T", "tool_input": {}}),
        "permission_request" | "permission_denied" => lineside_core::json::json!({"tool_name": "T"}),
        "post_tool_use" => lineside_core::json::json!({"tool_name": "T", "tool_output": "o"}),
        "post_tool_use_failure" => lineside_core::json::json!({"tool_name": "T", "error": "e"}),
        "stop" => lineside_core::json::json!({"stop_active": false}),
        "pre_compact" => lineside_core::json::json!({"kind": "auto"}),
        "post_compact" => lineside_core::json::json!({"kind": "auto", "summary": "S"}),
        "notification" => lineside_core::json::json!({"message": "m"}),
        "task_created" | "task_completed" => lineside_core::json::json!({"task_id": "t"}),
        _ => lineside_core::json::json!({}),
    };
    event(HookType::find(hook_type).unwrap().point().name, payload)
}

/// A hook `h` of that type, run by a runtime in `/runtime`.
pub(super) fn hook(hook_type: &str, run: Run) -> FlytoHook {
    defined(hook_type, Definition::new(run))
}

/// A guard: what it fails at, it blocks.
pub(super) fn guard(hook_type: &str, run: Run) -> FlytoHook {
    defined(hook_type, Definition { on_failure: OnFailure::Block, ..Definition::new(run) })
}

/// A hook `h` of that type.
pub(super) fn defined(hook_type: &str, definition: Definition) -> FlytoHook {
    FlytoHook::new(HookType::find(hook_type).unwrap(), "h", definition, PathBuf::from("/runtime"))
}

/// A command.
pub(super) fn command() -> Run {
    Run::Command("./guard.sh".to_owned())
}
