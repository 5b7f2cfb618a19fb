//! The prompt of an `llm` hook: a text with variables, filled in one pass (JC-43).

use lineside_core::json::{Map, Value};

/// The variables: fields of the hook's input.
pub(super) const VARIABLES: [&str; 11] = [
    "event", "cwd", "user_input", "assistant_output", "tool_name", "tool_arguments", "tool_result",
    "tool_error", "system_prompt", "model", "session_id",
];

/// A text with variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(&'static str),
    /// What stands between braces and is no variable.
    Unknown(String),
}

impl Template {
    /// Reads a text.
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(end) = rest.find("}}") {
            let (before, after) =
                (rest.get(..end).unwrap_or_default(), rest.get(end + 2..).unwrap_or_default());
            match before.rsplit_once("{{") {
                Some((text, name)) => {
                    parts.push(Part::Text(text.to_owned()));
                    parts.push(match VARIABLES.iter().find(|variable| **variable == name) {
                        Some(variable) => Part::Variable(variable),
                        None => Part::Unknown(name.to_owned()),
                    });
                }
                None => parts.push(Part::Text(format!("{before}}}}}"))),
            }
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Self(parts)
    }

    /// What stands between braces and is no variable, each once, in order.
    pub(super) fn unknown(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for part in &self.0 {
            if let Part::Unknown(name) = part
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
        names
    }

    /// The text with the fields that there are; a variable without a field is replaced by nothing.
    pub(super) fn render(&self, fields: &Map) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(name) => {
                    text.push_str(fields.get(name).and_then(Value::as_str).unwrap_or_default());
                }
                Part::Unknown(name) => {
                    text.push_str("{{");
                    text.push_str(name);
                    text.push_str("}}");
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::{Map, Value, json};
    use proptest::prelude::*;

    use super::Template;

    fn fields(fields: Value) -> Map {
        let Value::Object(fields) = fields else { panic!() };
        fields
    }

    #[test]
    fn variables_are_filled_in_one_pass() {
        // JC-43
        let fields = fields(json!({"event": "stop", "user_input": "{{model}} {{event}}", "model": "m"}));
        for (text, expected, unknown) in [
            ("{{event}}: {{user_input}}.", "stop: {{model}} {{event}}.", vec![]),
            ("{{tool_name}}|{{tool_error}}", "|", vec![]),
            (
                "{{ event }} {{oops}} {{oops}} {{}}",
                "{{ event }} {{oops}} {{oops}} {{}}",
                vec![" event ", "oops", ""],
            ),
            ("{{{event}}} {\"a\":{\"b\":1}} {{", "{stop} {\"a\":{\"b\":1}} {{", vec![]),
            ("{{ {{model}} }}", "{{ m }}", vec![]),
            ("", "", vec![]),
        ] {
            let template = Template::new(text);
            assert_eq!(template.render(&fields), expected, "{text}");
            assert_eq!(template.unknown(), unknown, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_without_variables_stays_as_it_is(text in "([{}]|[a-d ü\n]){0,40}") {
            prop_assert_eq!(Template::new(&text).render(&Map::new()), text);
        }
    }
}
