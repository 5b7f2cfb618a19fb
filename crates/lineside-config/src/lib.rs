//! What may stand in lineside's own files, as types: `hooks.yaml` and `config.yaml`.
//!
//! The types describe; the files are read by their formats, which know the line of each key and what is wrong with it.
//! From the types come the JSON Schemas by which editors complete the files.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod hooks;
mod settings;

use schemars::{Schema, schema_for};

pub use hooks::HooksFile;
pub use settings::SettingsFile;

/// One of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `hooks.yaml`: the hooks of the machine, of a user or of a project.
    Hooks,
    /// `config.yaml`: the settings of the machine or of a user.
    Config,
}

impl File {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Hooks, Self::Config];

    /// Its name without the end.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::Config => "config",
        }
    }

    /// The file of the schema beside the one that it describes, which names it in its first line.
    #[must_use]
    pub fn schema_file(self) -> String {
        format!("{}.schema.json", self.name())
    }

    fn described(self) -> Schema {
        match self {
            Self::Hooks => schema_for!(HooksFile),
            Self::Config => schema_for!(SettingsFile),
        }
    }

    /// The JSON Schema (draft 2020-12) of the file, as it is committed and printed.
    ///
    /// ```
    /// use lineside_config::File;
    ///
    /// assert!(File::Hooks.schema().contains("\"on_failure\""));
    /// ```
    #[must_use]
    pub fn schema(self) -> String {
        let mut text = serde_json::to_string_pretty(self.described().as_value()).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_committed_schemas_are_current() {
        for file in File::ALL {
            let committed = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../docs/reference/schema")
                .join(file.schema_file());
            let text = fs::read_to_string(&committed).unwrap_or_default();
            let name = file.name();
            assert!(
                text == file.schema(),
                "run: cargo run -p lineside-cli -- schema {name} > {}",
                committed.display()
            );
        }
    }

    fn is_valid(file: File, text: &Value) -> bool {
        jsonschema::validator_for(file.described().as_value()).unwrap().is_valid(text)
    }

    #[test]
    fn a_schema_takes_what_the_files_may_say_and_no_word_that_is_none() {
        let hook = |more: Value| {
            let mut hook = json!({"name": "a", "on": "before_tool", "command": "x"});
            hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"hooks": [hook]})
        };
        for more in [
            json!({}),
            json!({"on": ["before_tool", "after_*"], "command": ["./guard.sh", "--strict"], "priority": -5}),
            json!({"match": {"tool": ["Shell", "mcp__*"], "argument": {"command": "rm"}, "agent_kind": "main"}}),
            json!({"match": {"runs": {"program": "git", "subcommand": "push", "operand": ["main", 1]}, "unclear": "skip"}}),
            json!({"match": {"any": [{"runs": ["dd", {"program": "rm", "flags": "-r|-R"}]}, {"deletes": "~/**"}]},
                "verdict": "block", "reason": "x", "command": null}),
            json!({"match": {"reads": {"secret": true, "not": "a"}, "not": {"does": "sends_secret"}}, "verdict": "ask"}),
            json!({"worker": {"program": ["python3", "p.py"], "start": "ahead", "idle": 60000}}),
            json!({"post": {"url": "https://a.example", "headers": {"A": "b"}, "secrets": ["T"]}}),
            json!({"on": null, "command": null, "on_failure": "block", "required": true}),
            json!({"environment": ["API_KEY"], "env": {"A": 1}, "async": true, "timeout": null}),
            json!({"automate": {"debounce": {"quiet": 300, "at_most": 5000, "scope": "cluster"}, "concurrency": "{session}", "limit": 2, "scope": "machine",
                "retry": {"attempts": 3, "constant": 200}, "join": "background", "result": "ignore",
                "at_end": {"drain": 100}, "cancelled_by": {"on": "before_prompt"}}}),
        ] {
            assert!(is_valid(File::Hooks, &hook(more.clone())), "{more}");
        }
        for wrong in [
            json!({"on_failure": "deny"}),
            json!({"timeout": "5s"}),
            json!({"match": {"agent_kind": "robot"}}),
            json!({"match": {"runs": {"programm": "git"}}}),
            json!({"match": {"deletes": {"outside": "home"}}}),
            json!({"verdict": "deny"}),
            json!({"worker": {"program": "python3"}}),
            json!({"automate": {"on_busy": "wait"}}),
            json!({"automate": {"concurrency": "k", "scope": "world"}}),
            json!({"priority": 1.5}),
        ] {
            assert!(!is_valid(File::Hooks, &hook(wrong.clone())), "{wrong}");
        }
        assert!(!is_valid(File::Hooks, &json!({"hooks": [{"on": "before_tool"}]})), "no name");
        assert!(is_valid(
            File::Config,
            &json!({"daemon": {"path": ["~/bin"], "environment": {"A": "b", "C": 1}}})
        ));
        assert!(!is_valid(File::Config, &json!({"daemon": {"path": "/bin"}})));
        assert!(is_valid(
            File::Config,
            &json!({"approvals": {"wait": "10min", "for": ["codex"], "notify": {"command": ["tell"]}}})
        ));
        assert!(!is_valid(File::Config, &json!({"approvals": {"default": "allow"}})));
    }
}
