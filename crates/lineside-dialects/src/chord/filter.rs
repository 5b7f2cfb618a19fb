//! When a hook runs (CH-13, CH-17 to CH-24).

use std::collections::HashSet;

use lineside_core::hook::{Select, Selected};
use lineside_core::json::Value;
use lineside_core::{AgentKind, AnyEvent, SkipReason};

use super::data::{self, Data};
use super::glob::{Glob, MOST_STEPS};
use super::points::{ChordPoint, Kind};
use lineside_search::Search;

mod paths;

/// The filters of a hook.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// The point of the hook.
    pub(super) point: &'static ChordPoint,
    /// Names of tools (CH-18).
    pub(super) tools: Vec<Glob>,
    /// Paths of the call (CH-19).
    pub(super) paths: Vec<Glob>,
    /// Names of agents (CH-20).
    pub(super) agents: Vec<Glob>,
    /// Whether the agent is the main one or a subagent (CH-21).
    pub(super) kinds: Vec<AgentKind>,
    /// Names of models (CH-22).
    pub(super) models: Vec<Glob>,
    /// How many files must have changed (CH-23).
    pub(super) count: Count,
    /// Whether the tool must have failed (CH-24).
    pub(super) only_on_error: bool,
}

/// How many changed files there must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    /// It does not matter.
    Any,
    /// So many in the event.
    OfEvent(usize),
    /// So many in the burst, once it is complete (CH-26).
    OfBurst(usize),
    /// So many where there are none: it never runs.
    Never,
}

impl Filter {
    /// Whether there is an event that passes.
    pub(super) fn can_pass(&self) -> bool {
        self.count != Count::Never
    }

    /// Whether what a burst came to passes (CH-54).
    pub(super) fn passes_burst(&self, event: &AnyEvent) -> bool {
        match self.count {
            Count::OfBurst(least) => changed_files(&data::of(self.point.kind, event)) >= least,
            Count::Any | Count::OfEvent(_) | Count::Never => true,
        }
    }

    fn passes(&self, event: &AnyEvent, share: &mut Share) -> bool {
        self.count != Count::Never
            && self.passes_session(event)
            && self.passes_agent(event, share)
            && (!self.reads_data() || self.passes_data(event, &data::of(self.point.kind, event), share))
    }

    /// Only a main session begins and ends, and a compaction is no beginning (CH-13).
    fn passes_session(&self, event: &AnyEvent) -> bool {
        let is_root = event.envelope().source.depth == 0;
        match self.point.kind {
            Kind::SessionStart => is_root && event.payload().text("source") != Some("compact"),
            Kind::SessionEnd => is_root,
            _ => true,
        }
    }

    fn passes_agent(&self, event: &AnyEvent, share: &mut Share) -> bool {
        let source = &event.envelope().source;
        let agent = &source.agent;
        let main = (agent.kind == AgentKind::Main).then_some("main");
        let names = [Some(&*agent.id), agent.role.as_deref(), main].into_iter().flatten();
        let model = source.model.as_ref();
        let selected = model.and_then(|model| model.selected.as_deref()).unwrap_or_default();
        let running = model.and_then(|model| model.running.as_deref()).unwrap_or_default();
        passes(&self.agents, names, share)
            && (self.kinds.is_empty() || self.kinds.contains(&agent.kind))
            && passes(&self.models, [selected, running], share)
    }

    fn reads_data(&self) -> bool {
        let counts = matches!(self.count, Count::OfEvent(_));
        counts || self.only_on_error || !self.tools.is_empty() || !self.paths.is_empty()
    }

    fn passes_data(&self, event: &AnyEvent, data: &Data, share: &mut Share) -> bool {
        let counted = match self.count {
            Count::OfEvent(least) => changed_files(data) >= least,
            Count::Any | Count::OfBurst(_) | Count::Never => true,
        };
        let root = event.envelope().source.project_root.as_deref();
        counted
            && (!self.only_on_error || has_error(data))
            && passes(&self.tools, tools(data), share)
            && (self.paths.is_empty()
                || paths::sources(data).any(|source| {
                    let candidates = paths::candidates(source, root);
                    passes(&self.paths, candidates.iter().map(|candidate| &**candidate), share)
                }))
    }
}

impl Select for Filter {
    fn select(&self, event: &AnyEvent) -> Selected {
        let mut share = Share { left: MOST_STEPS, in_doubt: false };
        match self.passes(event, &mut share) {
            false => Selected::Skipped(SkipReason::Filter),
            true if share.in_doubt => Selected::InDoubt(
                format!(
                    "the search of its globs was given up after {MOST_STEPS} steps and counts as a match"
                )
                .into(),
            ),
            true => Selected::Runs,
        }
    }

    fn describe(&self) -> String {
        let globs = |name: &str, globs: &[Glob]| {
            let globs: Vec<_> = globs.iter().map(ToString::to_string).collect();
            (!globs.is_empty()).then(|| format!("{name}={}", globs.join("|")))
        };
        let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        let least = match self.count {
            Count::Any => None,
            Count::OfEvent(least) | Count::OfBurst(least) => Some(format!("min_changed_files={least}")),
            Count::Never => Some("never".to_owned()),
        };
        let root = matches!(self.point.kind, Kind::SessionStart | Kind::SessionEnd);
        [
            root.then(|| "root session".to_owned()),
            globs("tools", &self.tools),
            globs("paths", &self.paths),
            globs("agents", &self.agents),
            (!kinds.is_empty()).then(|| format!("agent_kinds={}", kinds.join("|"))),
            globs("models", &self.models),
            least,
            self.only_on_error.then(|| "only_on_error".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
    }
}

/// What the searches for one event may still take.
struct Share {
    left: usize,
    /// Whether one of them was given up, which counts as a match.
    in_doubt: bool,
}

/// Whether one of the patterns matches one of the candidates; without a pattern everything passes (CH-17).
fn passes<'a>(globs: &[Glob], candidates: impl IntoIterator<Item = &'a str>, share: &mut Share) -> bool {
    let mut is_match = |glob: &Glob, candidate| match glob.search(candidate, &mut share.left) {
        Search::Found => true,
        Search::Absent => false,
        Search::Exhausted => {
            share.in_doubt = true;
            true
        }
    };
    globs.is_empty()
        || candidates.into_iter().any(|candidate| globs.iter().any(|glob| is_match(glob, candidate)))
}

fn tools(data: &Data) -> Vec<&str> {
    match data.get("tool_name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => vec![name],
        _ => texts_of(data, "tool_calls", "tool_name").collect(),
    }
}

/// The strings under one name in the objects of a list.
fn texts_of<'a>(data: &'a Data, list: &str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let elements = data.get(list).and_then(Value::as_array).into_iter().flatten();
    elements.filter_map(move |element| element.get(name)?.as_str())
}

/// Different ones: one file may have been changed by several calls.
fn changed_files(data: &Data) -> usize {
    texts_of(data, "changed_files", "path").filter(|path| !path.is_empty()).collect::<HashSet<_>>().len()
}

fn has_error(data: &Data) -> bool {
    let own = data.get("error").and_then(Value::as_str);
    own.into_iter().chain(texts_of(data, "tool_calls", "error")).any(|error| !error.trim().is_empty())
}

#[cfg(test)]
mod tests;
