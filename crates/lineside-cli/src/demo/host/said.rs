//! What was said to a host, as far as a person wants to see it: refused, asked, rewritten, with context, or nothing.

use lineside::json::{Map, Value};

use crate::style::Tone;

/// What an answer comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Said {
    Nothing,
    Context,
    Rewritten,
    Asked,
    Refused,
}

impl Said {
    /// That of what the hook command has printed, and how it has ended.
    pub(super) fn of(exit: Option<i32>, stdout: &str) -> Self {
        if exit != Some(0) {
            return Self::Refused;
        }
        let Ok(document) = lineside::json::from_str::<Map>(stdout.trim()) else {
            return if stdout.trim().is_empty() { Self::Nothing } else { Self::Context };
        };
        let mut said = Self::Nothing;
        look(&document, &mut said);
        said
    }

    /// The mark of a line.
    pub(super) fn mark(self) -> (Tone, &'static str) {
        match self {
            Self::Nothing => (Tone::Good, "✓"),
            Self::Context => (Tone::Good, "+"),
            Self::Rewritten => (Tone::Warning, "~"),
            Self::Asked => (Tone::Asked, "?"),
            Self::Refused => (Tone::Bad, "✗"),
        }
    }
}

/// The words of an answer that a person wants to read: a reason, a command, a hint; all of it where it has none of them.
pub(super) fn words(answer: &str) -> String {
    const NAMES: [&str; 11] = [
        "permissionDecisionReason", "throw", "reason", "message", "user_message", "additionalContext",
        "additional_context", "updatedInput", "modifiedArgs", "tool_input", "command",
    ];
    fn find(value: &Value) -> Option<String> {
        let members = value.as_object()?;
        NAMES
            .iter()
            .find_map(|name| match members.get(name)? {
                Value::String(text) => Some(text.clone()),
                other => find(other),
            })
            .or_else(|| members.values().find_map(find))
    }
    let document = lineside::json::from_str::<Value>(answer.trim()).ok();
    document.and_then(|document| find(&document)).unwrap_or_else(|| answer.trim().to_owned())
}

fn look(document: &Map, said: &mut Said) {
    for (name, value) in document {
        let text = value.as_str().unwrap_or_default();
        let found = match name.as_str() {
            "permissionDecision" | "permission" | "decision" | "behavior" => match text {
                "deny" | "block" => Said::Refused,
                "ask" => Said::Asked,
                _ => Said::Nothing,
            },
            "continue" if *value == Value::Bool(false) => Said::Refused,
            "followup_message" | "throw" => Said::Refused,
            "updatedInput" | "updated_input" | "modifiedArgs" | "tool_input" | "modifiedPrompt" | "args" => {
                Said::Rewritten
            }
            "additionalContext" | "additional_context" => Said::Context,
            _ => Said::Nothing,
        };
        *said = found.max(*said);
        if let Some(inner) = value.as_object().filter(|_| found == Said::Nothing) {
            look(inner, said);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Said, words};

    #[test]
    fn of_an_answer_its_reason_command_or_hint_is_shown() {
        for (answer, expected) in [
            (
                r#"{"hookSpecificOutput":{"hookEventName":"E","permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
                "no",
            ),
            (r#"{"hookSpecificOutput":{"updatedInput":{"command":"ls"}}}"#, "ls"),
            ("refused\n", "refused"),
            ("{}", "{}"),
        ] {
            assert_eq!(words(answer), expected);
        }
    }

    #[test]
    fn an_answer_is_what_its_strongest_word_says() {
        for (exit, stdout, expected) in [
            (0, "", Said::Nothing),
            (0, "{}", Said::Nothing),
            (0, r#"{"permission":"allow"}"#, Said::Nothing),
            (0, "a hint\n", Said::Context),
            (2, "", Said::Refused),
            (0, r#"{"hookSpecificOutput":{"additionalContext":"x","updatedInput":{}}}"#, Said::Rewritten),
            (0, r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#, Said::Refused),
            (0, r#"{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}"#, Said::Refused),
            (0, r#"{"throw":"no"}"#, Said::Refused),
            (0, r#"{"args":{"command":"ls"}}"#, Said::Rewritten),
            (0, r#"{"modifiedArgs":{"decision":"block"}}"#, Said::Rewritten),
        ] {
            assert_eq!(Said::of(Some(exit), stdout), expected, "{stdout}");
        }
    }
}
