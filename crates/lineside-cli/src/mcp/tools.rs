//! The tools: one row each, with what it takes and what answers.

use std::path::PathBuf;
use std::pin::Pin;

use anyhow::{Context as _, Error, Result, bail};
use lineside::core::nearest::suggestion;
use lineside::json::{self, Map, Value};
use lineside::log::{FILE, Look, Query};
use lineside::{Assembly, Bus};
use rmcp::model::JsonObject;

use super::drafts;
use crate::daemon_paths::DaemonPaths;
use crate::explain::ExplainedSubject;
use crate::log::line::{Lines, Order};
use crate::log::{nothing_found, now, written};
use crate::new_hook::read_alone;
use crate::style::Style;
use crate::tasks::apart;
use crate::why::{Asked, the_one, whose};
use crate::{list, loading};

/// How wide pages are; no terminal shows them.
const COLUMNS: usize = 110;

/// How many events are shown when nothing is said, and at most.
const LIMIT: u64 = 20;
const MOST: u64 = 200;

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) takes: &'static [Field],
    pub(super) answer: fn(Arguments, DaemonPaths) -> Answer,
}

/// An answer on its way.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<String>> + Send>>;

/// What a tool takes.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    pub(super) about: &'static str,
}

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Flag,
    Object,
}

impl Kind {
    /// The word of JSON Schema for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "integer",
            Self::Flag => "boolean",
            Self::Object => "object",
        }
    }

    fn is_of(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.as_u64().is_some(),
            Self::Flag => value.is_boolean(),
            Self::Object => value.is_object(),
        }
    }
}

/// What was given, as far as the tool takes it.
pub(super) struct Arguments(Map);

const fn may(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, required: false, about }
}

const fn needs(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, required: true, about }
}

/// All of them.
pub(super) const TOOLS: [Tool; 7] = [
    Tool {
        name: "list_hooks",
        about: "The hooks that are in force here: of the user and of the project, in the order in which they are asked.",
        takes: &[],
        answer: |_, paths| Box::pin(list_hooks(paths)),
    },
    Tool {
        name: "explain_command",
        about: "What a shell command runs, reads, writes and deletes, and which hooks would refuse it. Nothing is run.",
        takes: &[
            // No `command`: guards take one of any server for a command that is run.
            needs("line", Kind::Text, "The command, as the shell would read it."),
            may("shell", Kind::Text, "The shell: bash when nothing is said; sh, zsh, fish, powershell."),
        ],
        answer: |arguments, paths| Box::pin(explain_command(arguments, paths)),
    },
    Tool {
        name: "explain_event",
        about: "Which hooks would run for an event, and why the others would not. Nothing is run.",
        takes: &[needs(
            "event",
            Kind::Object,
            "The event: `point`, and `payload` with the fields of that point.",
        )],
        answer: |arguments, paths| Box::pin(explain_event(arguments, paths)),
    },
    Tool {
        name: "why",
        about: "One decision as a page: the event, every hook with its answer, what was changed, where the hook is declared. \
                Without arguments the last refusal of your session or project.",
        takes: &[
            may("id", Kind::Text, "The id of an event, as `tail` shows it, or its beginning or end."),
            may("query", Kind::Text, "The last event that this finds, such as `session:s1 tool:Shell`."),
            may("refused", Kind::Flag, "Only events that were refused; with a query."),
        ],
        answer: |arguments, paths| Box::pin(why(arguments, paths)),
    },
    Tool {
        name: "tail",
        about: "The latest events that were decided, a line each.",
        takes: &[
            may("query", Kind::Text, "What to look for, such as `verdict:refused since:2h \"rm -rf\"`."),
            may("limit", Kind::Number, "How many, 20 when nothing is said, at most 200."),
        ],
        answer: |arguments, paths| Box::pin(tail(arguments, paths)),
    },
    Tool {
        name: "validate",
        about: "Whether the text of a hooks.yaml is right, with what is wrong and where. Nothing is run, and nothing is kept.",
        takes: &[needs("text", Kind::Text, "The text of the file.")],
        answer: |arguments, _| Box::pin(validate(arguments)),
    },
    Tool {
        name: "propose_hook",
        about: "Leaves the draft of a hook for a person. Nothing of it is in force until a person puts it there.",
        takes: &[
            needs("name", Kind::Text, "The name of the draft: letters, digits, `-` and `_`."),
            needs("text", Kind::Text, "The text of a hooks.yaml with the hook, as `validate` takes it."),
            needs("reason", Kind::Text, "What the hook is for, for the person who looks at it."),
        ],
        answer: |arguments, paths| Box::pin(propose_hook(arguments, paths)),
    },
];

impl Tool {
    /// What was given, if it is what the tool takes.
    ///
    /// # Errors
    /// Something is missing, is of another kind, or is not taken.
    pub(super) fn arguments(&self, given: &JsonObject) -> Result<Arguments> {
        // The values of the protocol's library are others than ours, which keep digits.
        let given: Map = json::from_str(&serde_json::to_string(given)?)?;
        for (name, value) in given.iter() {
            let Some(field) = self.takes.iter().find(|field| field.name == name.as_str()) else {
                let near = suggestion(name, self.takes.iter().map(|field| field.name));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                bail!("`{}` takes no `{name}`{near}", self.name);
            };
            if !field.kind.is_of(value) {
                bail!("`{name}` of `{}` is to be of the type {}", self.name, field.kind.as_str());
            }
        }
        if let Some(field) = self.takes.iter().find(|field| field.required && !given.contains_key(field.name))
        {
            bail!("`{}` needs `{}`: {}", self.name, field.name, field.about);
        }
        Ok(Arguments(given))
    }
}

impl Arguments {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A text that the tool needs.
    fn needed(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }
}

async fn list_hooks(paths: DaemonPaths) -> Result<String> {
    Ok(list::of_daemon(&paths, COLUMNS).await?.join("\n"))
}

async fn explain_command(arguments: Arguments, paths: DaemonPaths) -> Result<String> {
    let shell = arguments.text("shell").unwrap_or("bash");
    let explained = ExplainedSubject::of_command(arguments.needed("line"), shell, &paths).await?;
    Ok(explained.lines(Some(COLUMNS), Style::PLAIN).join("\n"))
}

async fn explain_event(arguments: Arguments, paths: DaemonPaths) -> Result<String> {
    let event = arguments.0.get("event").map(Value::to_string).unwrap_or_default();
    let explained = ExplainedSubject::of_event(&event, &paths).await?;
    Ok(explained.lines(Some(COLUMNS), Style::PLAIN).join("\n"))
}

async fn why(arguments: Arguments, paths: DaemonPaths) -> Result<String> {
    written(&paths).await;
    let id = arguments.text("id").map(str::to_owned);
    let query = Query::parse(arguments.needed("query"), now())?;
    let is_of_query = arguments.0.contains_key("query");
    let is_any = is_of_query && !arguments.0.get("refused").and_then(Value::as_bool).unwrap_or_default();
    let page = move || {
        let asked = match &id {
            Some(id) => Asked::Id(id),
            None if is_any => Asked::Last(query),
            None if is_of_query => Asked::Last(query.refused()),
            None => whose(&paths, true)?,
        };
        let why = the_one(&look(&paths)?, &asked)?.map_err(Error::msg)?;
        Ok(asked.page(&why, COLUMNS, Style::PLAIN).join("\n"))
    };
    apart(page).await?
}

async fn tail(arguments: Arguments, paths: DaemonPaths) -> Result<String> {
    written(&paths).await;
    let query = Query::parse(arguments.needed("query"), now())?;
    let limit = arguments.0.get("limit").and_then(Value::as_u64).unwrap_or(LIMIT).min(MOST);
    let lines = move || {
        let look = look(&paths)?;
        let found = look.decisions(&query, usize::try_from(limit)?)?;
        if found.is_empty() {
            return Ok(nothing_found(&look)?.to_owned());
        }
        let mut text = Lines::new(COLUMNS, Order::ByTime, Style::PLAIN).of(&found).join("\n");
        text.push_str("\n\nids, for `why`:");
        for decision in &found {
            text.push_str(&format!("\n  {} {} {}", decision.id, decision.session, decision.point));
        }
        Ok(text)
    };
    apart(lines).await?
}

fn look(paths: &DaemonPaths) -> Result<Look> {
    let file: PathBuf = paths.state.join(FILE);
    Look::open(&file).context("the log cannot be read; the daemon writes it")
}

/// What is wrong with a text, and how many hooks it has. That something keeps it from being loaded is what was asked for.
async fn validate(arguments: Arguments) -> Result<String> {
    Ok(found_in(arguments.needed("text")).await?.unwrap_or_else(|wrong| wrong))
}

async fn found_in(text: &str) -> Result<Result<String, String>> {
    let folder = tempfile::tempdir()?;
    let files = read_alone(text, folder.path(), true)?;
    let (names, errors) = (files.names(), files.errors());
    let report = Assembly::new(Bus::new()).install(files).await?;
    let shown = folder.path().canonicalize()?.display().to_string() + "/.lineside/";
    let findings = report.diagnostics.iter().map(|found| loading::finding(found, Style::PLAIN));
    let findings = findings.map(|line| line.replace(&shown, "")).collect::<Vec<_>>().join("\n");
    if errors > 0 {
        return Ok(Err(findings));
    }
    if names.is_empty() {
        return Ok(Err("it declares no hook: hooks stand in a list below `hooks:`".to_owned()));
    }
    let hooks = format!("it loads; hooks: {}", names.join(", "));
    Ok(Ok(if findings.is_empty() { hooks } else { format!("{hooks}\n{findings}") }))
}

async fn propose_hook(arguments: Arguments, paths: DaemonPaths) -> Result<String> {
    let text = arguments.needed("text");
    let found = found_in(text).await?.map_err(Error::msg)?;
    let file = drafts::keep(&paths, arguments.needed("name"), arguments.needed("reason"), text)?;
    Ok(format!(
        "{found}\nThe draft is {}. Nothing of it is in force. Tell the person to read it, and to add what is right to \
         .lineside/hooks.yaml of the project, followed by `lineside trust`, or to their own hooks.yaml, which \
         `lineside check` looks at.",
        file.display()
    ))
}
