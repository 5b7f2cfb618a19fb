//! Hooks that the host registers for one session and one event (JC-6).

use std::sync::Arc;
use std::time::Duration;

use lineside_core::hook::Standby;
use lineside_core::{Layer, PointInfo};

use super::Declaration;
use super::chain::Chain;
use super::definition::{Definition, OnError, Run};
use super::events::{self, EVENTS};
use super::filter::Conditions;
use super::handler::Runtime;
use super::template::Template;
use crate::dialect::{ForeignHook, Places};
use crate::names;

/// A hook that a host registers: the keys of a `HOOK.yaml` less `events`. What is not set has its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHook {
    /// What it runs.
    pub ask: Ask,
    /// How long one attempt may take: 10 s for a command, 30 s for a prompt.
    pub timeout: Option<Duration>,
    /// How often it is started again when it has failed: never for a command, once for a prompt.
    pub retry: Option<u32>,
    /// Whether its failure ends the chain.
    pub stops_on_error: bool,
    /// The tool that it is for.
    pub tool_name: Option<String>,
    /// The tools that it is for, with `|` between them; ignored beside `tool_name`.
    pub tool_matcher: Option<String>,
    /// How the name of the model begins that it is for.
    pub model_prefix: Option<String>,
}

/// What a hook asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A shell command.
    Command(String),
    /// The judge.
    Prompt {
        /// The prompt, with variables.
        prompt: String,
        /// In place of the judge's model.
        model: Option<String>,
    },
}

impl SessionHook {
    /// A hook with the defaults of what it runs.
    #[must_use]
    pub fn new(ask: Ask) -> Self {
        Self {
            ask,
            timeout: None,
            retry: None,
            stops_on_error: false,
            tool_name: None,
            tool_matcher: None,
            model_prefix: None,
        }
    }

    fn definition(self) -> Result<Definition, RegisterSessionHookError> {
        let (run, timeout, retry) = match self.ask {
            Ask::Command(command) if command.trim().is_empty() => {
                return Err(RegisterSessionHookError::Blank("command"));
            }
            Ask::Command(command) => (Run::Command(command), 10, 0),
            Ask::Prompt { prompt, .. } if prompt.trim().is_empty() => {
                return Err(RegisterSessionHookError::Blank("prompt"));
            }
            Ask::Prompt { prompt, model } => (Run::Prompt { prompt: Template::new(&prompt), model }, 30, 1),
        };
        let timeout = self.timeout.unwrap_or(Duration::from_secs(timeout));
        if timeout.is_zero() {
            return Err(RegisterSessionHookError::NoTime);
        }
        let [tool_name, tool_matcher, model_prefix] =
            [&self.tool_name, &self.tool_matcher, &self.model_prefix].map(Option::as_deref);
        Ok(Definition {
            run,
            timeout,
            retry: self.retry.unwrap_or(retry),
            on_error: if self.stops_on_error { OnError::Stop } else { OnError::Skip },
            filter: Conditions::new(tool_name, tool_matcher, model_prefix),
        })
    }
}

/// The point of an event.
///
/// # Errors
/// No such event.
pub fn point_of(event: &str) -> Result<&'static PointInfo, RegisterSessionHookError> {
    events::find(event).map(|event| event.point).ok_or_else(|| unknown(event))
}

fn unknown(event: &str) -> RegisterSessionHookError {
    RegisterSessionHookError::Event { event: event.to_owned(), nearest: names::proposed_row(&EVENTS, event) }
}

/// The hook to be installed on a session. Its name is `session:<index>`; the caller gives an index that no other hook of
/// the session has at the point of the event.
///
/// # Errors
/// No such event, nothing to run, or no time to do so.
pub fn session_hook(
    event: &str,
    index: usize,
    hook: SessionHook,
    places: &Places,
) -> Result<ForeignHook, RegisterSessionHookError> {
    let unknown = || unknown(event);
    let event = events::find(event).ok_or_else(unknown)?;
    let declaration = Declaration {
        name: format!("session:{index}").into(),
        layer: Layer::Session,
        origin: None,
        folder: None,
        standby: Standby::Ready,
        definition: Arc::new(hook.definition()?),
    };
    let (runtime, chain) = (Arc::new(Runtime::of(places)), Chain::of(places));
    declaration.hook(vec![event], &runtime, &chain).ok_or_else(unknown)
}

/// Why a hook cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterSessionHookError {
    /// There is no such event.
    #[error("unknown event '{event}'; the nearest is '{nearest}'")]
    Event {
        /// What was given.
        event: String,
        /// The nearest event.
        nearest: &'static str,
    },
    /// What it runs is blank.
    #[error("the {0} is blank")]
    Blank(&'static str),
    /// Its timeout is zero.
    #[error("the timeout is zero")]
    NoTime,
}

#[cfg(test)]
mod tests;
