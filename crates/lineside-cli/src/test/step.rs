//! A step of a case: what is done, and what is expected of it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use lineside::core::Agent;
use lineside::hosts::{HOSTS, Host, HostCall};
use lineside::json::{Map, Value};
use lineside::wire::FIELDS;

use super::expect::Expect;
use super::fields::Fields;
use crate::lineage::SESSION;

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) act: Act,
    pub(super) expect: Expect,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Act {
    /// Loads the hooks.
    Load,
    /// Publishes one event.
    Publish(Map),
    /// Publishes events without waiting between them.
    PublishAll(Vec<Map>),
    /// Opens a child session.
    Subagent { parent: String, session: String, agent: Option<Agent> },
    /// Lets time pass.
    Advance(Duration),
    /// Takes what the agent would take before its next model call.
    Collect { session: String, joins: bool },
    /// Ends a session.
    Close { session: String },
    /// What an agent program does when it runs `lineside hook` as its hook command, in this environment.
    Host(HostCall, BTreeMap<String, String>),
}

/// The names of the steps.
const ACTS: [&str; 8] =
    ["load", "publish", "publish_all", "subagent", "advance_ms", "collect", "close", "host"];

impl Step {
    /// Reads a step.
    ///
    /// # Errors
    /// It does nothing or two things, or names what no step has.
    pub(super) fn read(value: &Value) -> Result<Self> {
        let mut fields = Fields::of("the step", value)?;
        let mut acts = Vec::new();
        for name in ACTS {
            acts.extend(fields.value(name).map(|value| (name, value)));
        }
        let expect = fields.value("expect");
        fields.finish()?;
        let [(name, value)] = acts[..] else { bail!("a step is one of {}", ACTS.join(", ")) };
        let act = Act::read(name, value)?;
        let expect = match expect {
            Some(expect) => Expect::read(expect, &act)?,
            None => Expect::default(),
        };
        Ok(Self { act, expect })
    }
}

impl Act {
    fn read(name: &'static str, value: &Value) -> Result<Self> {
        match (name, value) {
            ("load", Value::Bool(true)) => return Ok(Self::Load),
            ("load", _) => bail!("`load` is true"),
            ("publish", value) => return event(value).map(Self::Publish),
            ("publish_all", Value::Array(events)) => {
                return events.iter().map(event).collect::<Result<_>>().map(Self::PublishAll);
            }
            ("publish_all", _) => bail!("`publish_all` is a list of events"),
            ("advance_ms", value) => {
                let Some(millis) = value.as_u64() else { bail!("`advance_ms` is a number of milliseconds") };
                return Ok(Self::Advance(Duration::from_millis(millis)));
            }
            _ => {}
        }
        let mut fields = Fields::of(format!("`{name}`"), value)?;
        let act = match name {
            "host" => {
                let (call, environment) = call(&mut fields)?;
                Self::Host(call, environment)
            }
            "subagent" => Self::Subagent {
                parent: fields.optional("parent")?.unwrap_or_else(|| SESSION.to_owned()),
                session: fields.required("session")?,
                agent: fields.optional("agent")?,
            },
            "collect" => Self::Collect {
                session: fields.optional("session")?.unwrap_or_else(|| SESSION.to_owned()),
                joins: fields.optional("join")?.unwrap_or_default(),
            },
            _ => Self::Close { session: fields.optional("session")?.unwrap_or_else(|| SESSION.to_owned()) },
        };
        fields.finish()?;
        Ok(act)
    }

    /// What it is called in a report.
    pub(super) fn describe(&self) -> String {
        let point = |event: &Map| event.get("point").and_then(Value::as_str).unwrap_or_default().to_owned();
        match self {
            Self::Load => "load".to_owned(),
            Self::Publish(event) => format!("publish {}", point(event)),
            Self::PublishAll(events) => format!("publish {} events", events.len()),
            Self::Subagent { session, .. } => format!("subagent {session}"),
            Self::Advance(time) => format!("advance {} ms", time.as_millis()),
            Self::Collect { session, .. } => format!("collect {session}"),
            Self::Close { session } => format!("close {session}"),
            Self::Host(call, _) => match &call.event {
                Some(event) => format!("host {} {event}", call.host),
                None => format!("host {}", call.host),
            },
        }
    }
}

/// A call of `lineside hook`: an object is written as JSON, a text as it is.
fn call(fields: &mut Fields<'_>) -> Result<(HostCall, BTreeMap<String, String>)> {
    let name: String = fields.required("name")?;
    let names = HOSTS.map(Host::name).join(", ");
    let host = Host::named(&name).with_context(|| format!("`name` is one of {names}, not {name:?}"))?;
    let stdin = match fields.value("stdin") {
        None => Vec::new(),
        Some(Value::String(text)) => text.clone().into_bytes(),
        Some(value) => value.to_string().into_bytes(),
    };
    let environment = fields.optional("env")?.unwrap_or_default();
    Ok((HostCall { host, event: fields.optional("event")?, stdin }, environment))
}

/// An event's fields are those of the envelope and nothing else; its payload may have fields that its point has not.
fn event(value: &Value) -> Result<Map> {
    let mut fields = Fields::of("the event", value)?;
    for known in FIELDS {
        fields.value(known);
    }
    let _: String = fields.required("point")?;
    fields.finish()?;
    Ok(value.as_object().cloned().unwrap_or_default())
}
