//! What other formats and agent programs call the points, so that a name of theirs leads to the right one where it is
//! unknown. It is for proposals alone: a name is valid where its own format says so.

use std::borrow::Cow;

use lineside_core::PointInfo;
use lineside_core::nearest::{edit_distance, nearest, suggestion};

/// The point that a name of any format or agent program stands for, in whatever way its words are joined: `PreToolUse`
/// and `pre-tool-use` are `before_tool`. It is for proposals: a name is valid where its own format says so.
///
/// ```
/// use lineside_dialects::meant;
///
/// assert_eq!(meant("PreToolUse").map(|point| point.name), Some("before_tool"));
/// assert_eq!(meant("tool.execute.before").map(|point| point.name), Some("before_tool"));
/// assert_eq!(meant("before"), None);
/// ```
#[must_use]
pub fn meant(name: &str) -> Option<&'static PointInfo> {
    let name = words(name);
    let (_, point) = NAMES.iter().find(|(foreign, _)| *foreign == name).copied().unwrap_or((&name, &name));
    lineside_points::known(point)
}

/// The point that a wrong name is for, most likely: what it stands for in any format, or the nearest of those names when it
/// differs in one character of five at most and no point has a nearer name.
pub(crate) fn likely(name: &str) -> Option<&'static PointInfo> {
    meant(name).or_else(|| {
        let name = words(name);
        let distance = |other: &str| edit_distance(&name, other);
        let (foreign, point) = NAMES.iter().min_by_key(|(foreign, _)| distance(foreign))?;
        let far = distance(foreign);
        let is_nearest = lineside_points::CATALOGUE.iter().all(|point| distance(point.name) >= far);
        if far * 5 <= name.chars().count() && is_nearest { lineside_points::known(point) } else { None }
    })
}

/// Of a format's own names the one for the point that is meant by a foreign name, else the nearest.
pub(crate) fn proposed(
    name: &str,
    own: impl Iterator<Item = &'static str>,
    point: impl Fn(&str) -> Option<&'static PointInfo>,
) -> &'static str {
    let own: Vec<&'static str> = own.collect();
    let of = |meant: &PointInfo| own.iter().copied().find(|own| point(own) == Some(meant));
    let is_own = || suggestion(&comparable(name), own.iter().copied()).is_some();
    let same = meant(name).and_then(of);
    let same = same.or_else(|| likely(name).filter(|_| !is_own()).and_then(of));
    same.or_else(|| {
        // The nearest is one of them; only its lifetime is that of the name.
        let near = nearest(&comparable(name), own.iter().copied())?.to_owned();
        own.iter().copied().find(|own| *own == near)
    })
    .unwrap_or_default()
}

/// Whether a wrong name may have been meant as the one that is proposed for it.
pub(crate) fn is_near(name: &str, proposed: &str) -> bool {
    likely(name).is_some() || suggestion(&comparable(name), [proposed]).is_some()
}

/// A row of a format's table of its own names for points.
pub(crate) trait Named: 'static {
    /// The name.
    fn name(&self) -> &'static str;

    /// The points that it stands for; the first one, unless the payload decides.
    fn points(&self) -> &[&'static PointInfo];

    /// Whether a hook there may refuse or stop anything.
    fn is_gate(&self) -> bool;

    /// Its points, each with its name.
    fn named(&self) -> Vec<(&'static PointInfo, String)> {
        self.points().iter().map(|point| (*point, self.name().to_owned())).collect()
    }
}

/// The row of a name.
pub(crate) fn row<R: Named>(rows: &'static [R], name: &str) -> Option<&'static R> {
    rows.iter().find(|row| row.name() == name)
}

/// The name that is proposed for a wrong one.
pub(crate) fn proposed_row<R: Named>(rows: &'static [R], wrong: &str) -> &'static str {
    proposed(wrong, rows.iter().map(Named::name), |name| row(rows, name)?.points().first().copied())
}

/// The row that a wrong name was perhaps meant for.
pub(crate) fn near_row<R: Named>(rows: &'static [R], wrong: &str) -> Option<&'static R> {
    let proposed = proposed_row(rows, wrong);
    row(rows, proposed).filter(|_| is_near(wrong, proposed))
}

/// All points at which a hook may refuse or stop anything, with their names.
pub(crate) fn gates<R: Named>(rows: &'static [R]) -> Vec<(&'static PointInfo, String)> {
    rows.iter().filter(|row| row.is_gate()).flat_map(Named::named).collect()
}

/// Whether a key of a file with other settings beside its hooks is `hooks` but for one character, or for case.
pub(crate) fn is_nearly_hooks(key: &str) -> bool {
    key != "hooks" && edit_distance(&key.to_lowercase(), "hooks") <= 1
}

/// A name as it may be compared with those of a format, which are in lower case.
fn comparable(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_uppercase) { words(name).into() } else { name.into() }
}

/// Lower case, the words joined by `_`.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut after_lower = false;
    // No name is longer.
    for character in name.trim().chars().take(64) {
        match character {
            '-' | '.' | ' ' | ':' | '/' | '_' => {
                if !words.ends_with('_') {
                    words.push('_');
                }
                after_lower = false;
            }
            _ => {
                if character.is_uppercase() && after_lower {
                    words.push('_');
                }
                words.extend(character.to_lowercase());
                after_lower = character.is_lowercase() || character.is_ascii_digit();
            }
        }
    }
    words
}

/// Foreign names, their words joined by `_`, and points.
#[rustfmt::skip]
const NAMES: &[(&str, &str)] = &[
    ("session_start", "before_session"), ("on_session_start", "before_session"), ("pre_session", "before_session"),
    ("setup", "before_session"), ("session_end", "after_session"), ("on_session_end", "after_session"), ("post_session", "after_session"),
    ("user_prompt_submit", "before_prompt"), ("user_prompt_submitted", "before_prompt"),
    ("before_submit_prompt", "before_prompt"), ("pre_send_message", "before_prompt"),
    ("post_send_message", "on_prompt"),
    ("pre_agent_turn", "before_agent"), ("before_agent_start", "before_agent"), ("before_prompt_build", "before_agent"),
    ("post_agent_turn", "after_agent"), ("agent_end", "after_agent"), ("after_stop", "after_agent"),
    ("post_agent_turn_stop", "after_agent"),
    ("pre_sampling", "before_model"), ("pre_llm_request", "before_model"), ("on_before_llm_call", "before_model"),
    ("llm_input", "before_model"), ("before_model_call", "before_model"), ("after_model_call", "after_model"),
    ("post_sampling", "after_model"), ("post_llm_response", "after_model"), ("on_after_llm_call", "after_model"),
    ("llm_output", "after_model"), ("after_agent_response", "after_model"),
    ("pre_tool", "before_tool"), ("pre_tool_use", "before_tool"), ("pre_tool_call", "before_tool"), ("pre_tool_execution", "before_tool"),
    ("on_tool_call", "before_tool"), ("before_tool_call", "before_tool"), ("before_shell_execution", "before_tool"),
    ("before_mcpexecution", "before_tool"), ("before_mcp_execution", "before_tool"), ("before_read_file", "before_tool"),
    ("tool_execute_before", "before_tool"),
    ("post_tool", "after_tool"), ("post_tool_use", "after_tool"), ("post_tool_call", "after_tool"), ("post_tool_execution", "after_tool"),
    ("on_tool_result", "after_tool"), ("after_tool_call", "after_tool"), ("after_shell_execution", "after_tool"),
    ("after_mcpexecution", "after_tool"), ("after_mcp_execution", "after_tool"), ("after_file_edit", "after_tool"),
    ("tool_execute_after", "after_tool"),
    ("post_tool_use_failure", "after_tool_error"), ("post_tool_call_failure", "after_tool_error"),
    ("post_tool_execution_failure", "after_tool_error"), ("after_tool_failure", "after_tool_error"),
    ("post_tool_batch", "after_tool_batch"), ("on_tool_batch_complete", "after_tool_batch"),
    ("on_before_tool_result_append", "before_result_append"), ("tool_result_persist", "before_result_append"),
    ("permission_request", "before_permission"), ("permission_ask", "before_permission"),
    ("permission_denied", "on_permission_denied"),
    ("subagent_start", "before_subagent"), ("pre_subagent", "before_subagent"), ("subagent_spawned", "before_subagent"),
    ("subagent_stop", "after_subagent"), ("post_subagent", "after_subagent"), ("subagent_ended", "after_subagent"),
    ("task_created", "on_task_created"), ("task_started", "on_task_created"), ("task_completed", "on_task_completed"),
    ("stop", "before_stop"), ("agent_stop", "before_stop"), ("pre_agent_turn_stop", "before_stop"),
    ("before_agent_finalize", "before_stop"),
    ("stop_failure", "on_stop_failure"), ("interrupt", "on_interrupt"),
    ("pre_compact", "before_compact"), ("pre_compress", "before_compact"), ("on_before_compress", "before_compact"),
    ("pre_context_compact", "before_compact"), ("pre_micro_compact", "before_compact"),
    ("pre_auto_compact", "before_compact"), ("before_compaction", "before_compact"),
    ("post_compact", "after_compact"), ("on_after_compress", "after_compact"), ("post_context_compact", "after_compact"),
    ("post_micro_compact", "after_compact"), ("post_auto_compact", "after_compact"), ("after_compaction", "after_compact"),
    ("notification", "on_notification"), ("error_occurred", "on_error"), ("on_agent_error", "on_error"),
    ("config_change", "on_config_change"),
    ("message_received", "on_message_received"), ("message_sending", "before_message_send"),
    ("message_sent", "on_message_sent"), ("gateway_start", "on_service_start"), ("gateway_stop", "on_service_stop"),
    ("session_compact_before", "before_compact"), ("session_compact_after", "after_compact"),
    ("gateway_startup", "on_service_start"), ("gateway_shutdown", "on_service_stop"),
];

#[cfg(test)]
mod tests {
    use lineside_core::json::Map;

    use super::{NAMES, meant, proposed};
    use crate::DIALECTS;
    use crate::hosts::Host;

    #[test]
    fn every_name_of_every_format_leads_to_its_point() {
        // Agent programs share names for moments that differ: a name of theirs stands for what its own page says.
        for dialect in DIALECTS.iter().filter(|dialect| Host::named(dialect.name()).is_none()) {
            for name in dialect.names() {
                let point = dialect.point(name, &Map::new());
                // What only one program has is no point of others.
                if point.is_none_or(|point| !point.name.starts_with("x.")) {
                    assert_eq!(meant(name), point, "{} {name}", dialect.name());
                }
            }
        }
        assert!(NAMES.iter().all(|(name, point)| meant(name).is_some_and(|meant| meant.name == *point)));
    }

    #[test]
    fn the_words_of_a_name_may_be_joined_in_any_way() {
        for (name, point) in [
            ("PreToolUse", "before_tool"),
            ("preToolUse", "before_tool"),
            ("pre-tool-use", "before_tool"),
            ("tool.execute.before", "before_tool"),
            ("beforeMCPExecution", "before_tool"),
            ("UserPromptSubmit", "before_prompt"),
            ("Stop", "before_stop"),
            ("SubagentStop", "after_subagent"),
            ("BeforeTool", "before_tool"),
            ("PostToolUseFailure", "after_tool_error"),
        ] {
            assert_eq!(meant(name).map(|point| point.name), Some(point), "{name}");
        }
        for name in ["", "x", "PreToolUses", "before", "_"] {
            assert_eq!(meant(name), None, "{name}");
        }
    }

    #[test]
    fn a_foreign_name_is_proposed_before_a_near_one() {
        let own = ["on_idle", "on_tool_call"];
        let point = |name: &str| meant(name);
        assert_eq!(proposed("PreToolUse", own.into_iter(), point), "on_tool_call");
        assert_eq!(proposed("on_idl", own.into_iter(), point), "on_idle");
        assert_eq!(proposed("preToolUs", own.into_iter(), point), "on_tool_call");
        assert_eq!(
            proposed("pre_micro_compac", ["pre_compact", "pre_micro_compact"].into_iter(), point),
            "pre_micro_compact"
        );
    }

    #[test]
    fn a_name_of_another_format_may_be_misspelt() {
        for (name, point) in [
            ("preToolUs", "before_tool"),
            ("PreToolUze", "before_tool"),
            ("post_tool_us", "after_tool"),
            ("SessionStrt", "before_session"),
            ("AfterAgent", "after_agent"),
            ("BeforeModelCall", "before_model"),
            ("UserPromptSumbit", "before_prompt"),
        ] {
            assert_eq!(super::likely(name).map(|point| point.name), Some(point), "{name}");
        }
        for name in ["", "x", "foo", "on_nothing", "stip"] {
            assert_eq!(super::likely(name), None, "{name}");
        }
    }
}
