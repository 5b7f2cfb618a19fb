//! Recorded sessions of agent programs: what each call of their hook command was given, in the order of the calls.
//!
//! Paths of the machine on which they were recorded stand as variables.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use lineside::json::{Map, Value};
use serde::Deserialize;

/// A recorded session of one program.
pub(super) struct Recording {
    /// The program, as the file calls it.
    pub(super) name: &'static str,
    text: &'static str,
}

macro_rules! recordings {
    ($($name:literal),* $(,)?) => {
        [$( Recording { name: $name, text: include_str!(concat!("../../../embedded/sessions/", $name, ".jsonl")) } ),*]
    };
}

/// All recordings.
pub(super) const RECORDINGS: [Recording; 8] = recordings![
    "claude-code", "codex", "copilot", "gemini-cli", "kimi-cli", "kimi-code", "opencode", "qwen-code"
];

/// What the first line says of the program.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) program: String,
    pub(super) version: String,
    /// The argument of the hook command.
    pub(super) host: String,
}

/// One call of the hook command.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    /// The argument of `--event`.
    pub(super) event: Option<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) stdin: Map,
}

impl Head {
    /// Whether the program has a plugin and no hook command.
    pub(super) fn has_plugin(&self) -> bool {
        self.host == "opencode"
    }
}

impl Recording {
    /// The recording of a program, by its name or by that of its host; the first that fits.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        let exact = RECORDINGS.iter().find(|recording| recording.name == name);
        let of_host = |recording: &&Self| recording.head().is_ok_and(|head| head.host == name);
        exact.or_else(|| RECORDINGS.iter().find(of_host))
    }

    fn head(&self) -> Result<Head> {
        let line = self.text.lines().next().context("it is empty")?;
        Ok(lineside::json::from_str(line)?)
    }

    /// The program and its calls, with these folders in the place of the variables.
    ///
    /// # Errors
    /// A line that is none of a recording.
    pub(super) fn read(&self, home: &Path, project: &Path) -> Result<(Head, Vec<Call>)> {
        let text = self.text.replace("$HOME", &home.to_string_lossy());
        let text = text.replace("$PROJECT", &project.to_string_lossy());
        let read = |(index, line)| {
            lineside::json::from_str(line).with_context(|| format!("line {} of the recording", index + 1))
        };
        let calls = text.lines().enumerate().skip(1).map(read).collect::<Result<_>>()?;
        Ok((self.head()?, calls))
    }
}

impl Call {
    /// The name of its event.
    pub(super) fn name(&self) -> &str {
        let named =
            ["hook_event_name", "hookEventName"].iter().find_map(|name| self.stdin.get(name)?.as_str());
        self.event.as_deref().or(named).unwrap_or("?")
    }

    /// What it is about: the command or the tool, the prompt, the subagent.
    pub(super) fn about(&self) -> String {
        let field = |names: &[&str]| names.iter().find_map(|name| self.stdin.get(name));
        let tool = field(&["tool_name", "toolName"]).and_then(Value::as_str);
        if let Some(tool) = tool {
            let input = field(&["tool_input", "toolArgs", "toolInput"]);
            let command = input.and_then(|input| input.get("command").or_else(|| input.get("cmd"))?.as_str());
            return command.map_or_else(|| tool.to_owned(), |command| format!("{tool}: {command}"));
        }
        let agent = field(&["agent_type", "agentName", "agent_name"]).and_then(Value::as_str);
        match field(&["prompt"]) {
            Some(Value::String(prompt)) => prompt.clone(),
            Some(Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                texts.collect::<Vec<_>>().join(" ")
            }
            _ => agent.unwrap_or_default().to_owned(),
        }
    }
}
