//! The filters by name: the one table that every format of our own is read with.

use crate::envelope::AgentKind;
use crate::matcher::MatcherDraft;
use crate::point::{PointInfo, Slot};

/// A filter of a matcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The tool, by a glob.
    Tool,
    /// What the tool is called with: a regular expression for each key.
    Argument,
    /// The event's paths, by a glob.
    Path,
    /// The agent's id or type, by a glob.
    Agent,
    /// Main agent or subagent.
    AgentKind,
    /// The model, by a glob.
    Model,
    /// The root of the project, by a glob.
    Project,
    /// Any string of the payload, by a regular expression.
    Text,
}

/// What the value of a filter is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patterns {
    /// One pattern, or a list of which one has to match.
    OneOf,
    /// One pattern.
    One,
    /// A pattern for each key, all of which have to match.
    ForEachKey,
}

/// A word that is no kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not main or subagent")]
pub struct UnknownAgentKindError;

impl Filter {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Tool,
        Self::Argument,
        Self::Path,
        Self::Agent,
        Self::AgentKind,
        Self::Model,
        Self::Project,
        Self::Text,
    ];

    /// Its name, which is that of the builder's function as well.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Argument => "argument",
            Self::Path => "path",
            Self::Agent => "agent",
            Self::AgentKind => "agent_kind",
            Self::Model => "model",
            Self::Project => "project",
            Self::Text => "text",
        }
    }

    /// The filter of this name; `None` when there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filter| filter.as_str() == name)
    }

    /// What its value is in a file.
    #[must_use]
    pub fn patterns(self) -> Patterns {
        match self {
            Self::Argument => Patterns::ForEachKey,
            Self::Text => Patterns::One,
            _ => Patterns::OneOf,
        }
    }

    /// What its value is in a file, in words that complete "is not …".
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Tool => "the name of a tool, a glob, or a list of them",
            Self::Argument => "a mapping from keys of the tool's input to regular expressions",
            Self::Path => "a glob of paths, or a list of them",
            Self::Agent => "the id or type of an agent, a glob, or a list of them",
            Self::AgentKind => "main or subagent, or a list of them",
            Self::Model => "the name of a model, a glob, or a list of them",
            Self::Project => "the path of a project, a glob, or a list of them",
            Self::Text => "a regular expression",
        }
    }

    /// Whether events of the point have something that the filter looks at.
    #[must_use]
    pub fn has_candidates(self, point: &PointInfo) -> bool {
        let has = |fields: &[&str]| {
            point.slot == Slot::Declared || fields.iter().any(|field| point.field(field).is_some())
        };
        match self {
            Self::Tool => has(&["tool_name", "tool_calls"]),
            Self::Argument => has(&["tool_input", "tool_calls"]),
            Self::Path => has(&["paths", "changed_files", "tool_input"]),
            Self::Agent | Self::AgentKind | Self::Model | Self::Project | Self::Text => true,
        }
    }
}

impl MatcherDraft {
    /// One more pattern of a filter, as the function of that name adds it; for arguments `key` is the key, which no
    /// other filter looks at.
    ///
    /// # Errors
    /// Unknown agent kind.
    pub fn with(self, filter: Filter, key: &str, pattern: &str) -> Result<Self, UnknownAgentKindError> {
        Ok(match filter {
            Filter::Tool => self.tool(pattern),
            Filter::Argument => self.argument(key, pattern),
            Filter::Path => self.path(pattern),
            Filter::Agent => self.agent(pattern),
            Filter::AgentKind => {
                match [AgentKind::Main, AgentKind::Subagent].into_iter().find(|kind| kind.as_str() == pattern)
                {
                    Some(kind) => self.agent_kind(kind),
                    None => return Err(UnknownAgentKindError),
                }
            }
            Filter::Model => self.model(pattern),
            Filter::Project => self.project(pattern),
            Filter::Text => self.text(pattern),
        })
    }

    /// Which filters are populated.
    pub fn filters(&self) -> impl Iterator<Item = Filter> {
        let of = |filter: &Filter| match filter {
            Filter::Tool => !self.tools.is_empty(),
            Filter::Argument => !self.arguments.is_empty(),
            Filter::Path => !self.paths.is_empty(),
            Filter::Agent => !self.agents.is_empty(),
            Filter::AgentKind => !self.kinds.is_empty(),
            Filter::Model => !self.models.is_empty(),
            Filter::Project => !self.projects.is_empty(),
            Filter::Text => self.text.is_some(),
        };
        Filter::ALL.into_iter().filter(of)
    }
}
