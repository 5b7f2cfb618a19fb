//! The hooks in Codex's files: JSON and TOML, handlers and documents (CX-10 to CX-19).

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use lineside_core::json::Value;
use lineside_core::outcome::FromHook;
use lineside_core::{Amendment, Answer, AnyEvent, Failure, Layer};

use super::{ROWS, answer};
use crate::dialect::Places;
use crate::hosts::import::{
    At, Document, Entry, Fields, Format, Handler, Heard, Matcher, Profile, Refused, Run, Shape, Source,
    Subject, Switches,
};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::Column;
use crate::tree::Node;

/// What is fixed of the format.
static PROFILE: Profile = Profile {
    no_events: &["state"],
    foreign_variables: &["CURSOR_", "COPILOT_", "GEMINI_", "CLAUDE_"],
    ..Profile::new(Host::Codex, &[ROWS], Shape::Groups)
};

/// The hooks in the files.
pub(crate) struct Files;

impl Format for Files {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn sources(&self, places: &Places) -> Vec<Source> {
        let user = places.folder("CODEX_HOME", ".codex");
        let project = places.work_dir().join(".codex");
        let of = |folder: PathBuf, label: &str, layer| {
            [
                Source::json(label, folder.join("hooks.json"), layer),
                Source::toml(format!("{label}-toml"), folder.join("config.toml"), layer),
            ]
        };
        let user = user.into_iter().flat_map(|folder| of(folder, "user", Layer::User));
        user.chain(of(project, "project", Layer::Project)).collect()
    }

    /// What the configuration switches off (CX-12).
    fn switches(&self, files: &[(Source, Node)]) -> Switches {
        let of = |label: &str| {
            let (_, node) = files.iter().find(|(source, _)| source.label == label)?;
            let features = node.value("features")?;
            ["hooks", "codex_hooks"].iter().find_map(|key| features.value(key)?.boolean())
        };
        let off = of("project-toml").or_else(|| of("user-toml")) == Some(false);
        Switches::files(files, |_, _| off)
    }

    /// Warns where a folder has hooks in both of its files (CX-10).
    fn warning(&self, files: &[(Source, Node)], at: usize) -> Option<String> {
        let has_hooks = |node: &Node| {
            let hooks = node.value("hooks").and_then(Node::mapping).unwrap_or_default();
            hooks.iter().any(|(event, _)| event.text() != Some("state"))
        };
        let (toml, node) = files.get(at)?;
        let label = toml.label.strip_suffix("-toml")?;
        let (json, other) = files.iter().find(|(source, _)| source.label == label)?;
        let both = has_hooks(node) && has_hooks(other);
        both.then(|| {
            format!("hooks stand in {} and in {}; all of them run", json.file.display(), toml.file.display())
        })
    }

    fn handler(&self, fields: Fields<'_>, at: &At<'_>) -> Result<Handler, Refused> {
        match fields.text("type")?.as_deref() {
            Some("command") => {}
            Some(other) => return Err(Refused::Type(other.to_owned())),
            None => return Err(Refused::Error("the required field `type` is missing".to_owned())),
        }
        let line = fields.required("command")?;
        let shell = at.places.variable("SHELL").filter(|shell| !shell.is_empty()).unwrap_or("sh").to_owned();
        let given = fields.time_from("timeout", Duration::from_secs(1))?;
        let timeout = given.unwrap_or(Duration::from_secs(600));
        let short = matches!(at.event, "SessionEnd" | "Interrupt");
        Run::shell(line.clone()).of_others()?;
        Ok(Handler {
            run: Run::Shell { shell: vec![shell, "-lc".to_owned()], line },
            timeout: if short { timeout.min(Duration::from_secs(3)) } else { timeout },
            is_async: fields.flag("async")?,
            ..Handler::default()
        })
    }

    /// A list of names or an expression (CX-14).
    fn matcher(&self, _at: &At<'_>, text: &str) -> Result<Matcher, String> {
        if text == "*" {
            return Ok(Matcher::All);
        }
        if text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '|')) {
            return Ok(Matcher::names(text, &['|']));
        }
        Matcher::simple(text)
    }

    /// CX-19: a block by any of them drops every amendment.
    fn merged(&self, _point: &str, _event: &AnyEvent, given: &[FromHook<Answer>]) -> Option<Amendment> {
        given.iter().any(|by| by.what.verdict.strength().is_final()).then(Amendment::default)
    }

    /// What of an event a matcher is tested on; a patch has several names (CX-15, CX-16).
    fn subject<'a>(&self, entry: &Entry, _row: &Row, event: &'a AnyEvent) -> Subject<'a> {
        match entry.event {
            "PreToolUse" | "PermissionRequest" | "PostToolUse" => match Subject::tool(Column::Codex, event) {
                Subject::Any(mut names) => {
                    if names.iter().any(|name| name == "apply_patch") {
                        names.extend(["Edit", "Write"].map(Cow::Borrowed));
                    }
                    Subject::Any(names)
                }
                other => other,
            },
            "SessionStart" => Subject::field(event, "source", "source"),
            "SubagentStart" | "SubagentStop" => Subject::field(event, "agent_type", "agent_type"),
            "PreCompact" | "PostCompact" => Subject::field(event, "kind", "trigger"),
            "SessionEnd" => Subject::field(event, "reason", "reason"),
            _ => Subject::Ignored,
        }
    }

    /// What a hook reads (CX-18).
    fn document(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> Vec<u8> {
        let source = &event.envelope().source;
        let name = entry.event;
        let mut document = Document::default();
        document.put("session_id", source.root_session.as_str());
        if !matches!(name, "SessionStart" | "SessionEnd") {
            document.put_known(event, "turn_id", "");
        }
        document.put_known(event, "transcript_path", Value::Null);
        document.put("cwd", source.cwd.as_deref().unwrap_or_default());
        document.put("hook_event_name", name);
        if name != "SessionEnd" {
            let model = source
                .model
                .as_ref()
                .and_then(|model| model.running.as_deref().or(model.selected.as_deref()));
            document.put("model", model.unwrap_or_default());
        }
        if !matches!(name, "SessionEnd" | "PreCompact" | "PostCompact") {
            document.put_known(event, "permission_mode", "default");
        }
        document.agent(event);
        document.fields(row, Column::Codex, event);
        document.stop_and_child(name, event);
        document.compact(event)
    }

    fn read(&self, entry: &Entry, _row: &Row, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure> {
        answer::read(entry, event, heard)
    }
}
