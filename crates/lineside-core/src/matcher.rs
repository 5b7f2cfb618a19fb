//! When a native hook runs: filters over tool, paths, agent, kind of agent, model and payload text.
//!
//! Every populated filter must match; of the patterns of one filter, one. A populated filter without a candidate does
//! not match. Foreign formats have rules of their own and bring their own [`Select`].

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::Regex;
use serde_json::Value;

use crate::envelope::AgentKind;
use crate::event::AnyEvent;
use crate::hook::{Select, Selected};
use crate::json::any_string;
use crate::receipt::SkipReason;

/// Filters as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatcherDraft {
    tools: Vec<String>,
    paths: Vec<String>,
    agents: Vec<String>,
    kinds: Vec<AgentKind>,
    models: Vec<String>,
    text: Option<String>,
}

/// Runs for this tool: a name, or a glob such as `mcp__*`. Case counts.
pub fn tool(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().tool(pattern)
}

/// Runs when one of the event's paths matches this glob, e.g. `src/**/*.rs`; `*` stops at `/`.
pub fn path(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().path(pattern)
}

/// Runs for agents whose id or type matches this glob.
pub fn agent(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().agent(pattern)
}

/// Runs when some string in the payload, or the payload's compact JSON, contains a match of this regular expression.
pub fn text(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().text(pattern)
}

impl MatcherDraft {
    /// One more tool.
    #[must_use]
    pub fn tool(mut self, pattern: impl Into<String>) -> Self {
        self.tools.push(pattern.into());
        self
    }

    /// One more path glob.
    #[must_use]
    pub fn path(mut self, pattern: impl Into<String>) -> Self {
        self.paths.push(pattern.into());
        self
    }

    /// One more agent, by id or type.
    #[must_use]
    pub fn agent(mut self, pattern: impl Into<String>) -> Self {
        self.agents.push(pattern.into());
        self
    }

    /// One more kind of agent.
    #[must_use]
    pub fn agent_kind(mut self, kind: AgentKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// One more model, selected or running.
    #[must_use]
    pub fn model(mut self, pattern: impl Into<String>) -> Self {
        self.models.push(pattern.into());
        self
    }

    /// The payload text; a second call replaces the first.
    #[must_use]
    pub fn text(mut self, pattern: impl Into<String>) -> Self {
        self.text = Some(pattern.into());
        self
    }

    /// Prepares the filters.
    ///
    /// # Errors
    /// A glob or regular expression that cannot be compiled, or one whose program would exceed 1 MiB.
    pub fn compile(&self) -> Result<Matcher, CompileMatcherError> {
        let text = match &self.text {
            Some(pattern) => Some(compile_text(pattern)?),
            None => None,
        };
        Ok(Matcher {
            tools: compile_globs("tool", &self.tools)?,
            paths: compile_globs("path", &self.paths)?,
            agents: compile_globs("agent", &self.agents)?,
            models: compile_globs("model", &self.models)?,
            text,
            draft: self.clone(),
        })
    }
}

/// Prepared filters.
#[derive(Debug, Clone)]
pub struct Matcher {
    tools: Names,
    paths: Names,
    agents: Names,
    models: Names,
    text: Option<Regex>,
    draft: MatcherDraft,
}

/// Patterns of one filter. Plain names, which are most of them, are compared; only real globs are searched.
#[derive(Debug, Clone)]
enum Names {
    Any,
    Plain(Vec<String>),
    Globs(GlobSet),
}

impl Names {
    fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    fn matches(&self, candidate: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Plain(names) => names.iter().any(|name| name == candidate),
            Self::Globs(globs) => globs.is_match(candidate),
        }
    }
}

impl Matcher {
    /// Whether all filters let the event through.
    #[must_use]
    pub fn matches(&self, event: &AnyEvent) -> bool {
        self.matches_tool(event)
            && self.matches_agent(event)
            && self.matches_paths(event)
            && self.matches_text(event)
    }

    fn matches_tool(&self, event: &AnyEvent) -> bool {
        if self.tools.is_any() {
            return true;
        }
        let mut found = false;
        each_tool(event, &mut |name| found = found || self.tools.matches(name));
        found
    }

    fn matches_agent(&self, event: &AnyEvent) -> bool {
        let source = &event.envelope().source;
        let agent = &source.agent;
        if !self.draft.kinds.is_empty() && !self.draft.kinds.contains(&agent.kind) {
            return false;
        }
        if !self.agents.is_any()
            && !self.agents.matches(&agent.id)
            && !agent.role.as_ref().is_some_and(|role| self.agents.matches(role))
        {
            return false;
        }
        self.models.is_any()
            || source.model.as_ref().is_some_and(|model| {
                [&model.selected, &model.running].into_iter().flatten().any(|name| self.models.matches(name))
            })
    }

    fn matches_paths(&self, event: &AnyEvent) -> bool {
        if self.paths.is_any() {
            return true;
        }
        let root = event.envelope().source.project_root.as_deref();
        let mut found = false;
        event.payload().each_path(&mut |path| {
            let below = root.and_then(|root| path.strip_prefix(root)?.strip_prefix('/'));
            found = found || self.paths.matches(path) || below.is_some_and(|path| self.paths.matches(path));
        });
        found
    }

    fn matches_text(&self, event: &AnyEvent) -> bool {
        let Some(regex) = &self.text else { return true };
        let payload = event.payload_json();
        payload.values().any(|value| any_string(value, &mut |text| regex.is_match(text)))
            || regex.is_match(event.payload_text())
    }
}

/// Calls `visit` for the tool of an event, or for that of each of its tool calls.
pub fn each_tool<'a>(event: &'a AnyEvent, visit: &mut dyn FnMut(&'a str)) {
    if let Some(name) = event.payload().text("tool_name") {
        visit(name);
    } else if let Some(Value::Array(calls)) = event.payload_json().get("tool_calls") {
        calls.iter().filter_map(|call| call.get("tool_name")?.as_str()).for_each(visit);
    }
}

impl Select for Matcher {
    fn tools(&self) -> Option<&[String]> {
        match &self.tools {
            Names::Plain(names) => Some(names),
            Names::Any | Names::Globs(_) => None,
        }
    }

    fn select(&self, event: &AnyEvent) -> Selected {
        if self.matches(event) { Selected::Runs } else { Selected::Skipped(SkipReason::Filter) }
    }

    fn describe(&self) -> String {
        let draft = &self.draft;
        let mut parts = Vec::new();
        for (name, patterns) in [
            ("tool", &draft.tools),
            ("path", &draft.paths),
            ("agent", &draft.agents),
            ("model", &draft.models),
        ] {
            if !patterns.is_empty() {
                parts.push(format!("{name}={}", patterns.join("|")));
            }
        }
        if !draft.kinds.is_empty() {
            let kinds: Vec<_> = draft.kinds.iter().map(|kind| kind.as_str()).collect();
            parts.push(format!("agent_kind={}", kinds.join("|")));
        }
        parts.extend(draft.text.iter().map(|text| format!("text=/{text}/")));
        parts.join(" ")
    }
}

/// Why filters cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileMatcherError {
    /// A glob that is none.
    #[error("the {filter} pattern `{pattern}` is not a glob: {detail}")]
    Glob {
        /// The filter.
        filter: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A regular expression that is none, or is too large.
    #[error("the text pattern `{pattern}` is not a regular expression: {detail}")]
    Text {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        detail: String,
    },
}

fn compile_globs(filter: &'static str, patterns: &[String]) -> Result<Names, CompileMatcherError> {
    if patterns.is_empty() {
        return Ok(Names::Any);
    }
    if patterns.iter().all(|pattern| !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])) {
        return Ok(Names::Plain(patterns.to_vec()));
    }
    let error = |pattern: &str, detail: &globset::Error| CompileMatcherError::Glob {
        filter,
        pattern: pattern.to_owned(),
        detail: detail.kind().to_string(),
    };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
        set.add(glob.map_err(|detail| error(pattern, &detail))?);
    }
    set.build().map(Names::Globs).map_err(|detail| error(&patterns.join(", "), &detail))
}

fn compile_text(pattern: &str) -> Result<Regex, CompileMatcherError> {
    regex::RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(|detail| {
        CompileMatcherError::Text { pattern: pattern.to_owned(), detail: detail.to_string() }
    })
}
