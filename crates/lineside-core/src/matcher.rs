//! When a native hook runs: filters over tool, arguments, paths, agent, kind of agent, model, project and payload text.
//!
//! Every populated filter must match; of the patterns of one filter, one. A populated filter without a candidate does
//! not match. Foreign formats have rules of their own and bring their own [`Select`].

use std::path::Path;
use std::sync::{Arc, OnceLock};

use self::compile::{compile_globs, compile_text};
use self::condition::Kept;
use self::paths::normal;
use crate::envelope::AgentKind;
use crate::event::AnyEvent;
use crate::hook::{Select, Selected};
use crate::json::{Map, Value, any_string};
use crate::outcome::SkipReason;
use crate::tool_class;
use lineside_search::{Effort, Searcher};

mod compile;
mod condition;
mod filter;
mod paths;
mod written;

pub use compile::CompileMatcherError;
pub use condition::Condition;
pub use filter::{Filter, Patterns, UnknownAgentKindError};

/// Filters as they were written.
///
/// ```
/// use lineside_core::matcher::tool;
///
/// let matcher = tool("Shell").argument("command", r"\brm\b").compile()?;
/// assert_eq!(matcher.draft(), &tool("Shell").argument("command", r"\brm\b"));
/// assert!(tool("Shell").text("(").compile().is_err());
/// # Ok::<_, lineside_core::matcher::CompileMatcherError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatcherDraft {
    tools: Vec<String>,
    paths: Vec<String>,
    agents: Vec<String>,
    kinds: Vec<AgentKind>,
    models: Vec<String>,
    projects: Vec<String>,
    arguments: Vec<(String, String)>,
    text: Option<String>,
    conditions: Vec<Kept>,
}

/// Runs for this tool: a name, or a glob such as `mcp__*`. Case counts. `Shell`, `WriteFile`, `StrReplaceFile`,
/// `ReadFile` and `Task` stand for the tools of that class in every agent program, whatever it calls them.
///
/// ```
/// use lineside_core::hook::Select as _;
/// use lineside_core::matcher::tool;
///
/// // Two patterns of one filter are alternatives.
/// let matcher = tool("Shell").tool("mcp__*").compile()?;
/// assert_eq!(matcher.describe(), "tool=Shell|mcp__*");
/// # Ok::<_, lineside_core::matcher::CompileMatcherError>(())
/// ```
pub fn tool(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().tool(pattern)
}

/// Runs when one of the event's paths matches this glob, e.g. `src/**/*.rs`; `*` stops at `/`.
///
/// ```
/// use lineside_core::hook::Select as _;
/// use lineside_core::matcher::path;
///
/// let matcher = path("src/**/*.rs").path("Cargo.toml").compile()?;
/// assert_eq!(matcher.describe(), "path=src/**/*.rs|Cargo.toml");
/// assert!(path("src/[").compile().is_err());
/// # Ok::<_, lineside_core::matcher::CompileMatcherError>(())
/// ```
pub fn path(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().path(pattern)
}

/// Runs for agents whose id or type matches this glob.
///
/// ```
/// use lineside_core::AgentKind;
/// use lineside_core::hook::Select as _;
/// use lineside_core::matcher::agent;
///
/// let matcher = agent("review*").agent_kind(AgentKind::Subagent).compile()?;
/// assert_eq!(matcher.describe(), "agent=review* agent_kind=subagent");
/// # Ok::<_, lineside_core::matcher::CompileMatcherError>(())
/// ```
pub fn agent(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().agent(pattern)
}

/// Runs when the tool is called with a value of this key that contains a match of this regular expression.
///
/// ```
/// use lineside_core::hook::Select as _;
/// use lineside_core::matcher::argument;
///
/// let matcher = argument("command", r"\bgit push\b").tool("Shell").compile()?;
/// assert_eq!(matcher.describe(), r"tool=Shell argument.command=/\bgit push\b/");
/// # Ok::<_, lineside_core::matcher::CompileMatcherError>(())
/// ```
pub fn argument(key: impl Into<String>, pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().argument(key, pattern)
}

/// Runs in projects whose root matches this glob; `*` stops at `/`.
pub fn project(pattern: impl Into<String>) -> MatcherDraft {
    MatcherDraft::default().project(pattern)
}

/// Runs when some string in the payload, or the payload's compact JSON, contains a match of this regular expression.
///
/// ```
/// use lineside_core::hook::Select as _;
/// use lineside_core::matcher::text;
///
/// let matcher = text("(?i)password").compile()?;
/// assert_eq!(matcher.describe(), "text=/(?i)password/");
/// # Ok::<_, lineside_core::matcher::CompileMatcherError>(())
/// ```
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

    /// One more project, by the path of its root.
    #[must_use]
    pub fn project(mut self, pattern: impl Into<String>) -> Self {
        self.projects.push(pattern.into());
        self
    }

    /// One more argument, all of which have to match: a key of the tool's input, with dots between the keys of nested
    /// objects, and a regular expression. Of a value that is not a string its compact JSON is searched. Of a batch of
    /// calls one has to match together with the tool.
    #[must_use]
    pub fn argument(mut self, key: impl Into<String>, pattern: impl Into<String>) -> Self {
        self.arguments.push((key.into(), pattern.into()));
        self
    }

    /// The payload text; a second call replaces the first.
    #[must_use]
    pub fn text(mut self, pattern: impl Into<String>) -> Self {
        self.text = Some(pattern.into());
        self
    }

    /// One more condition, of a kind that the core does not know. It is asked only for events that all filters let
    /// through.
    #[must_use]
    pub fn and(mut self, condition: impl Into<Arc<dyn Condition>>) -> Self {
        self.conditions.push(Kept(condition.into()));
        self
    }

    /// The conditions that are of no filter.
    pub fn conditions(&self) -> impl Iterator<Item = &dyn Condition> {
        self.conditions.iter().map(|kept| &*kept.0)
    }

    /// Whether it lets every event through.
    ///
    /// ```
    /// use lineside_core::MatcherDraft;
    /// use lineside_core::matcher::tool;
    ///
    /// assert!(MatcherDraft::default().is_empty());
    /// assert!(!tool("Shell").is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.filters().next().is_none()
    }

    /// Prepares the filters.
    ///
    /// # Errors
    /// A glob or regular expression that cannot be compiled, or one whose program would exceed 1 MiB; an invalid
    /// condition.
    pub fn compile(&self) -> Result<Matcher, CompileMatcherError> {
        if let Some(detail) = self.conditions().find_map(Condition::fault) {
            return Err(CompileMatcherError::Condition { detail });
        }
        let text = match &self.text {
            Some(pattern) => Some(compile_text(Filter::Text, pattern)?),
            None => None,
        };
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for (key, pattern) in &self.arguments {
            let path = key.split('.').map(Box::from).collect();
            arguments.push((path, compile_text(Filter::Argument, pattern)?));
        }
        Ok(Matcher {
            tools: compile_globs(Filter::Tool, &self.tools)?,
            paths: compile_globs(Filter::Path, &self.paths)?,
            agents: compile_globs(Filter::Agent, &self.agents)?,
            models: compile_globs(Filter::Model, &self.models)?,
            projects: compile_globs(Filter::Project, &self.projects)?,
            arguments,
            text,
            draft: self.clone(),
            root: None,
            is_certain: false,
            parts: OnceLock::new(),
        })
    }
}

impl MatcherDraft {
    /// Its filters, each for people to read and as a draft that has no other.
    fn parts(&self, told: impl Fn(&dyn Condition) -> String) -> Vec<(String, Self)> {
        let (none, mut parts) = (Self::default, Vec::new());
        let mut names = |name: &str, patterns: &[String], alone: Self| {
            if !patterns.is_empty() {
                parts.push((format!("{name}={}", patterns.join("|")), alone));
            }
        };
        names("tool", &self.tools, Self { tools: self.tools.clone(), ..none() });
        names("path", &self.paths, Self { paths: self.paths.clone(), ..none() });
        names("agent", &self.agents, Self { agents: self.agents.clone(), ..none() });
        names("model", &self.models, Self { models: self.models.clone(), ..none() });
        names("project", &self.projects, Self { projects: self.projects.clone(), ..none() });
        let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
        names("agent_kind", &kinds, Self { kinds: self.kinds.clone(), ..none() });
        for (key, pattern) in &self.arguments {
            let alone = Self { arguments: vec![(key.clone(), pattern.clone())], ..none() };
            parts.push((format!("argument.{key}=/{pattern}/"), alone));
        }
        if let Some(text) = &self.text {
            parts.push((format!("text=/{text}/"), Self { text: Some(text.clone()), ..none() }));
        }
        for kept in &self.conditions {
            parts.push((told(&*kept.0), Self { conditions: vec![kept.clone()], ..none() }));
        }
        parts
    }
}

/// Prepared filters.
#[derive(Debug, Clone)]
pub struct Matcher {
    tools: Names,
    paths: Names,
    agents: Names,
    models: Names,
    projects: Names,
    /// The keys from the outermost in, and what is searched for in the value.
    arguments: Vec<(Vec<Box<str>>, Searcher)>,
    text: Option<Searcher>,
    draft: MatcherDraft,
    /// The root of the project whose hook it is.
    root: Option<Box<str>>,
    is_certain: bool,
    /// Its filters one by one, prepared when it is first asked which of them does not fit.
    parts: OnceLock<Vec<(String, Option<Self>)>>,
}

/// Patterns of one filter. Plain names, which are most of them, are compared; only real globs are searched.
#[derive(Debug, Clone)]
enum Names {
    Any,
    Plain(Vec<String>),
    Globs(Searcher),
}

impl Names {
    fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    fn matches(&self, candidate: &str, effort: &mut Effort) -> bool {
        match self {
            Self::Any => true,
            Self::Plain(names) => names.iter().any(|name| name == candidate),
            Self::Globs(globs) => globs.is_match(candidate, effort),
        }
    }
}

impl Matcher {
    /// Whether all filters let the event through. What would take too long to find out counts as a match.
    #[must_use]
    pub fn matches(&self, event: &AnyEvent) -> bool {
        self.matches_within(event, &mut Effort::default())
            && !matches!(self.asked(event), Selected::Skipped(_))
    }

    /// What the conditions say of an event that all filters let through.
    fn asked(&self, event: &AnyEvent) -> Selected {
        let mut all = Selected::Runs;
        for condition in self.draft.conditions() {
            match (condition.select(event), &all) {
                (Selected::Skipped(why), _) => return Selected::Skipped(why),
                (doubt, Selected::Runs) => all = doubt,
                _ => {}
            }
        }
        all
    }

    fn matches_within(&self, event: &AnyEvent, effort: &mut Effort) -> bool {
        self.matches_call(event, effort)
            && self.matches_agent(event, effort)
            && self.matches_project(event, effort)
            && self.matches_paths(event, effort)
            && self.matches_text(event, effort)
    }

    /// One more condition, as [`MatcherDraft::and`] adds it. What is prepared is not prepared again.
    ///
    /// # Errors
    /// The condition is invalid.
    pub fn and(mut self, condition: impl Into<Arc<dyn Condition>>) -> Result<Self, CompileMatcherError> {
        let condition = condition.into();
        if let Some(detail) = condition.fault() {
            return Err(CompileMatcherError::Condition { detail });
        }
        self.draft = self.draft.and(condition);
        self.parts = OnceLock::new();
        Ok(self)
    }

    /// The same for a hook that runs only where its filters are known to match: a search that was given up counts as no
    /// match then.
    #[must_use]
    pub fn certain(self) -> Self {
        Self { is_certain: true, ..self }
    }

    /// The same for a hook of the project with this root, absolute: what is relative in `path` lies in that, in whatever folder an
    /// agent has begun.
    #[must_use]
    pub fn within(self, root: &str) -> Self {
        Self { root: Some(root.into()), ..self }
    }

    /// The filters as they were written.
    #[must_use]
    pub fn draft(&self) -> &MatcherDraft {
        &self.draft
    }

    /// Tool and arguments, which of a batch have to be those of one call.
    fn matches_call(&self, event: &AnyEvent, effort: &mut Effort) -> bool {
        if self.tools.is_any() && self.arguments.is_empty() {
            return true;
        }
        let mut found = false;
        each_call(event, tool_class::of_call, &mut |name, input| {
            found = found || self.tools.matches(name, effort) && self.matches_arguments(input, effort);
        });
        found
    }

    fn matches_arguments(&self, input: Option<&Value>, effort: &mut Effort) -> bool {
        self.arguments.iter().all(|(path, regex)| {
            let mut value = input;
            for key in path {
                value = value.and_then(|value| value.get(&**key));
            }
            // A command is one under each of its names, and as words too.
            if let ([only], Some(input)) = (&path[..], input)
                && &**only == "command"
                && tool_class::commands(input, |words| words.join(" "))
                    .any(|command| regex.is_match(&command, effort))
            {
                return true;
            }
            match value {
                None | Some(Value::Null) => false,
                Some(Value::String(text)) => regex.is_match(text, effort),
                Some(other) => regex.is_match(&other.to_string(), effort),
            }
        })
    }

    /// An agent may have begun in a folder of the project that is meant.
    fn matches_project(&self, event: &AnyEvent, effort: &mut Effort) -> bool {
        let source = &event.envelope().source;
        let root = || source.project_root.as_deref().or(source.cwd.as_deref()).into_iter();
        let above = || root().flat_map(|root| Path::new(root).ancestors().filter_map(Path::to_str));
        self.projects.is_any() || above().any(|root| self.projects.matches(root, effort))
    }

    fn matches_agent(&self, event: &AnyEvent, effort: &mut Effort) -> bool {
        let source = &event.envelope().source;
        let agent = &source.agent;
        if !self.draft.kinds.is_empty() && !self.draft.kinds.contains(&agent.kind) {
            return false;
        }
        if !self.agents.is_any()
            && !self.agents.matches(&agent.id, effort)
            && !agent.role.as_ref().is_some_and(|role| self.agents.matches(role, effort))
        {
            return false;
        }
        self.models.is_any()
            || source.model.as_ref().is_some_and(|model| {
                [&model.selected, &model.running]
                    .into_iter()
                    .flatten()
                    .any(|name| self.models.matches(name, effort))
            })
    }

    fn matches_paths(&self, event: &AnyEvent, effort: &mut Effort) -> bool {
        if self.paths.is_any() {
            return true;
        }
        let source = &event.envelope().source;
        let cwd = source.cwd.as_deref().or(source.project_root.as_deref());
        // A session may name the project by a link, so that both count where it has not begun in a folder of that.
        let begun = source.project_root.as_deref().or(cwd);
        let own = self.root.as_deref();
        let is_below = own.zip(begun).is_some_and(|(own, begun)| Path::new(begun).starts_with(own));
        let roots = [own, begun.filter(|_| !is_below)];
        let mut found = false;
        event.payload().each_path(&mut |path| {
            let mut fits = |path: &str| {
                let below = |root: &&str| path.strip_prefix(root)?.strip_prefix('/');
                let mut below = roots.iter().flatten().filter_map(below);
                self.paths.matches(path, effort) || below.any(|path| self.paths.matches(path, effort))
            };
            let is_whole = path.starts_with('/') && !path.contains("/.") && !path.contains("//");
            found = found || fits(path) || !is_whole && cwd.is_some_and(|cwd| fits(&normal(cwd, path)));
        });
        found
    }

    fn matches_text(&self, event: &AnyEvent, effort: &mut Effort) -> bool {
        let Some(regex) = &self.text else { return true };
        let payload = event.payload_json();
        payload.values().any(|value| any_string(value, &mut |text| regex.is_match(text, effort)))
            || regex.is_match(event.payload_text(), effort)
    }
}

/// Calls `visit` for the tool of an event, or for that of each of its tool calls. One of no known class is visited as
/// `Shell` too, whether it is called with a command or not: an amendment may give it one.
pub fn each_tool<'a>(event: &'a AnyEvent, visit: &mut dyn FnMut(&'a str)) {
    each_call(event, |name, _| tool_class::of(name).or(Some("shell")), &mut |name, _| visit(name));
}

/// The same with what the tool is called with, where the event has that. A call of a known class is visited by the name
/// of that class as well; the class is the one that the event states, else that of the call.
fn each_call<'a>(
    event: &'a AnyEvent,
    class_of: impl Fn(&'a str, Option<&'a Value>) -> Option<&'static str>,
    visit: &mut dyn FnMut(&'a str, Option<&'a Value>),
) {
    let mut call = |name: &'a str, class: Option<&str>, input| {
        visit(name, input);
        let class = class.or_else(|| class_of(name, input));
        if let Some(of_class) = class.and_then(tool_class::name).filter(|of_class| *of_class != name) {
            visit(of_class, input);
        }
    };
    let payload = event.payload();
    if let Some(name) = payload.text("tool_name") {
        call(name, payload.text("tool_class"), payload.value("tool_input"));
    } else if let Some(Value::Array(calls)) = event.payload_json().get("tool_calls") {
        for of_batch in calls {
            let text = |key| of_batch.get(key).and_then(Value::as_str);
            if let Some(name) = text("tool_name") {
                call(name, text("tool_class"), of_batch.get("tool_input"));
            }
        }
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
        let mut effort = Effort::default();
        match self.matches_within(event, &mut effort) {
            false => Selected::Skipped(SkipReason::Filter),
            true if self.is_certain && effort.is_exhausted() => Selected::Skipped(SkipReason::Filter),
            true => match self.asked(event) {
                Selected::Runs if effort.is_exhausted() => Selected::InDoubt(GIVEN_UP.into()),
                selected => selected,
            },
        }
    }

    fn is_certain(&self) -> bool {
        self.is_certain
    }

    fn describe(&self) -> String {
        self.draft
            .parts(|condition| condition.describe())
            .into_iter()
            .map(|(text, _)| text)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn declared(&self) -> Option<Map> {
        // Several conditions need not be those of one call here.
        (self.draft.conditions().count() < 2).then(|| self.draft.to_json())
    }

    fn fit(&self, event: &AnyEvent) -> Option<String> {
        let fits: Vec<String> =
            self.draft.conditions().filter_map(|condition| condition.fit(event)).collect();
        Some(fits.join("; ")).filter(|fits| !fits.is_empty())
    }

    fn misfit(&self, event: &AnyEvent) -> String {
        let parts = self.parts.get_or_init(|| {
            let parts = self.draft.parts(|condition| condition.brief()).into_iter();
            let prepared = |part: MatcherDraft| {
                part.compile().ok().map(|alone| Self { root: self.root.clone(), ..alone })
            };
            parts.map(|(text, part)| (text, prepared(part))).collect()
        });
        let fits = |part: &Option<Self>| part.as_ref().is_some_and(|alone| alone.matches(event));
        let misfits: Vec<&str> =
            parts.iter().filter(|(_, part)| !fits(part)).map(|(text, _)| text.as_str()).collect();
        // The calls of a batch may have together what none of them has alone.
        if misfits.is_empty() { self.describe() } else { misfits.join(" ") }
    }
}

/// What the receipt tells of a hook that runs because its filters could not be decided in time.
const GIVEN_UP: &str = "a search of its filters would have taken too long and counts as a match";

#[cfg(test)]
mod tests {
    use super::compile::MOST_GLOB_BYTES;
    use super::*;

    #[test]
    fn only_the_filters_that_keep_an_event_out_are_named() {
        let call = crate::json::json!({"tool_name": "Shell", "tool_input": {"command": "ls"}});
        let event = crate::sample::event(&crate::sample::TOOL, call);
        let hook = tool("Shell").argument("command", "rm").path("*.rs").compile().unwrap();
        assert_eq!(hook.describe(), "tool=Shell path=*.rs argument.command=/rm/");
        assert_eq!(hook.misfit(&event), "path=*.rs argument.command=/rm/");
    }

    #[test]
    fn what_is_relative_lies_in_the_project_of_the_hook_wherever_an_agent_has_begun() {
        let event = |path: &str| {
            let input = crate::json::json!({"tool_name": "WriteFile", "tool_input": {"path": path}});
            let event = crate::sample::event(&crate::sample::TOOL, input);
            let mut envelope = event.envelope().clone();
            let begun: Arc<str> = "/p/sub".into();
            let source = crate::Source::clone(&envelope.source);
            envelope.source =
                Arc::new(crate::Source { project_root: Some(begun.clone()), cwd: Some(begun), ..source });
            event.with_envelope(envelope)
        };
        let conf = path("conf/*.yaml").compile().unwrap();
        let of_project = conf.clone().within("/p");
        for (path, is_of_project, is_of_event) in [
            ("/p/conf/a.yaml", true, false),
            ("../conf/a.yaml", true, false),
            ("/p/sub/../conf/./a.yaml", true, false),
            ("/p//conf/a.yaml", true, false),
            ("/p/sub/conf/a.yaml", false, true),
            ("/q/conf/a.yaml", false, false),
        ] {
            let event = event(path);
            assert_eq!(
                (of_project.matches(&event), conf.matches(&event)),
                (is_of_project, is_of_event),
                "{path}"
            );
        }
        for (root, is_in) in
            [("/p", true), ("/*", true), ("/p/sub", true), ("/p/other", false), ("sub", false)]
        {
            assert_eq!(project(root).compile().unwrap().matches(&event("a")), is_in, "{root}");
        }
    }

    #[test]
    fn globs_are_bounded_and_names_are_not() {
        let half = "**/*a".repeat(MOST_GLOB_BYTES / 10);
        assert!(path(half.clone()).path("b").compile().is_ok());
        let error = path(half.clone()).path(half.clone()).path(half).compile().unwrap_err();
        assert_eq!(error, CompileMatcherError::TooLong { filter: "path" });
        assert_eq!(error.place(), ("path", ""));
        // Exactly as many bytes as there may be, and one more.
        let most = || {
            (0..MOST_GLOB_BYTES / 8)
                .fold(MatcherDraft::default(), |draft, number| draft.path(format!("*{number:07}")))
        };
        assert!(most().compile().is_ok());
        assert!(most().path("b").compile().is_err());
        let names =
            (0..50_000).fold(MatcherDraft::default(), |draft, number| draft.tool(format!("t{number}")));
        assert!(names.compile().is_ok());
    }
}
