//! For which events a hook runs (JC-12, JC-14).

use lineside_core::hook::{Select, Selected};
use lineside_core::{AnyEvent, SkipReason};

use super::events::{Compaction, Event};
use super::input;

/// The conditions of `filter`; all that are given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    tool: Option<Tool>,
    model_prefix: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tool {
    Name(String),
    Matcher(String),
}

impl Tool {
    fn is(&self, tool: &str) -> bool {
        match self {
            Self::Name(name) => name == tool,
            Self::Matcher(names) => names.split('|').any(|name| name.trim() == tool),
        }
    }
}

impl Conditions {
    /// The conditions of these fields.
    pub(super) fn new(
        tool_name: Option<&str>,
        tool_matcher: Option<&str>,
        model_prefix: Option<&str>,
    ) -> Self {
        let name = tool_name.map(|name| Tool::Name(name.to_owned()));
        // The name makes the matcher be ignored.
        let tool = name.or_else(|| tool_matcher.map(|names| Tool::Matcher(names.to_owned())));
        Self { tool, model_prefix: model_prefix.map(str::to_owned) }
    }

    /// Whether there is an event of that kind for which they hold.
    pub(super) fn can_hold(&self, event: &Event) -> bool {
        self.tool.is_none() || event.has_tool()
    }

    fn hold(&self, event: &AnyEvent) -> bool {
        let tool = match &self.tool {
            None => true,
            Some(tool) => event.payload().text("tool_name").is_some_and(|name| tool.is(name)),
        };
        tool && match &self.model_prefix {
            None => true,
            Some(prefix) => input::model(event).is_some_and(|model| model.starts_with(prefix.as_str())),
        }
    }
}

/// The conditions at one point.
#[derive(Debug)]
pub(super) struct Filter {
    /// The events of the hook that stand for the point.
    events: Vec<&'static Event>,
    conditions: Conditions,
}

impl Filter {
    /// A filter, unless it would leave nothing out.
    pub(super) fn new(events: &[&'static Event], conditions: &Conditions) -> Option<Self> {
        let whole = events.iter().any(|event| event.compaction == Compaction::Any);
        let needed = !whole || *conditions != Conditions::default();
        needed.then(|| Self { events: events.to_vec(), conditions: conditions.clone() })
    }
}

impl Select for Filter {
    fn select(&self, event: &AnyEvent) -> Selected {
        let meant = self.events.iter().any(|own| own.is_about(event) && self.conditions.can_hold(own));
        if meant && self.conditions.hold(event) {
            Selected::Runs
        } else {
            Selected::Skipped(SkipReason::Filter)
        }
    }

    fn describe(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let has = |compaction| self.events.iter().any(|event| event.compaction == compaction);
        match (has(Compaction::Micro), has(Compaction::Full)) {
            (false, false) => {}
            (true, false) => parts.push("kind=micro".to_owned()),
            (false, true) => parts.push("kind=auto|manual".to_owned()),
            (true, true) => parts.push("kind=micro|auto|manual".to_owned()),
        }
        parts.extend(self.conditions.tool.as_ref().map(|tool| match tool {
            Tool::Name(name) => format!("tool_name={name}"),
            Tool::Matcher(names) => format!("tool_matcher={names}"),
        }));
        parts.extend(self.conditions.model_prefix.as_ref().map(|prefix| format!("model_prefix={prefix}")));
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests;
