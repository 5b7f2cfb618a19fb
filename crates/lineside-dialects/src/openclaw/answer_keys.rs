//! The fields of an answer, by hook (OC-47 to OC-53), so that one that is passed over and looks like one of them is
//! remarked.
//!
//! The worker reads the fields; what it has passed over it hands on by name.

use crate::near_keys::AnswerKeys;

/// The fields of a hook's answer; none where it goes to the host as it is.
pub(super) fn of(hook: &str) -> AnswerKeys {
    let (names, decides): (&[_], _) = match hook {
        "before_agent_start" => (&["systemPrompt", "prependContext"], ""),
        "before_prompt_build" => (
            &[
                "systemPrompt", "prependContext", "appendContext", "prependSystemContext",
                "appendSystemContext", "toolsAllow",
            ],
            "",
        ),
        "before_tool_call" => (&["params", "block", "blockReason", "requireApproval"], "block"),
        "message_sending" => (&["content", "cancel", "cancelReason", "metadata"], "cancel"),
        "before_agent_finalize" => (&["action", "reason", "retry"], "action"),
        "tool_result_persist" => (&["message"], ""),
        "before_model_resolve" => (&["modelOverride", "providerOverride"], ""),
        "agent_turn_prepare" | "heartbeat_prompt_contribution" => (&["prependContext", "appendContext"], ""),
        "before_agent_run" => (&["outcome", "reason", "message", "category", "metadata"], "outcome"),
        "before_message_write" => (&["message", "block"], "block"),
        "reply_payload_sending" => (&["payload", "cancel", "reason"], "cancel"),
        "before_install" => (&["findings", "block", "blockReason"], "block"),
        _ => (&[], ""),
    };
    AnswerKeys { names, decides, ..AnswerKeys::default() }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::of;

    #[test]
    fn they_are_those_that_the_worker_reads() {
        let worker = include_str!("worker/answers.mjs");
        let (_, fields) = worker.split_once("const FIELDS = {\n").unwrap();
        let (fields, _) = fields.split_once("\n};").unwrap();
        let of_hook = |hook: &str| {
            let (_, rest) = fields.split_once(&format!("  {hook}: {{"))?;
            // The next hook begins at the same indentation.
            Some(rest.split("\n  before_").next().unwrap_or(rest))
        };
        for row in catalogue::rows() {
            let keys = of(row.name);
            assert_eq!(keys.names.is_empty(), of_hook(row.name).is_none(), "{}", row.name);
            for key in keys.names {
                let read = of_hook(row.name).unwrap();
                assert!(read.contains(&format!("{key}:")) || read.contains(&format!(" {key} }}")), "{key}");
            }
            assert!(keys.decides.is_empty() || keys.names.contains(&keys.decides), "{}", row.name);
        }
    }
}
