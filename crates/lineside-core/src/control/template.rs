//! The text from which the key of an event is made: `lint:{project_root}`.
//!
//! Which fields there are is known when the automation is registered, so a field that no event has is an error then.

use std::fmt::Write as _;

use crate::json::Value;

use crate::event::AnyEvent;
use crate::nearest::suggestion;
use crate::point::{PointInfo, Slot};

/// A template of keys. A field that an event does not have is empty in its key.
///
/// ```
/// use lineside_core::control::{KeyTemplate, TemplateError};
///
/// assert_eq!(KeyTemplate::of_text("deploy").text(), "deploy");
/// assert_eq!(KeyTemplate::read(" ", &[]), Err(TemplateError::Blank));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTemplate {
    text: Box<str>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Envelope(Field),
    /// The event itself.
    Event,
    /// A field of the payload, and what is below it.
    Payload(Vec<Box<str>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Session,
    RootSession,
    ParentSession,
    Agent,
    AgentKind,
    AgentType,
    ProjectRoot,
    Cwd,
    Host,
    Point,
    Turn,
}

const FIELDS: [(&str, Field); 11] = [
    ("session", Field::Session),
    ("root_session", Field::RootSession),
    ("parent_session", Field::ParentSession),
    ("agent", Field::Agent),
    ("agent_kind", Field::AgentKind),
    ("agent_type", Field::AgentType),
    ("project_root", Field::ProjectRoot),
    ("cwd", Field::Cwd),
    ("host", Field::Host),
    ("point", Field::Point),
    ("turn", Field::Turn),
];

/// Why a text is not a template of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It is blank, so that all events would share one key unintentionally.
    #[error("it is blank")]
    Blank,
    /// A brace without its other one. `{{` and `}}` stand for the braces themselves.
    #[error("the brace at {at} has no other one")]
    Brace {
        /// Where, in bytes from the beginning.
        at: usize,
    },
    /// Events of one point have this field, and those of another do not, whose key is to be the same.
    #[error("events of {point} have no field `{field}`, and are to have the same keys")]
    Lacks {
        /// The field.
        field: String,
        /// The point that lacks it.
        point: &'static str,
    },
    /// No event of the point has this field.
    #[error("there is no field `{field}`{}", proposal(nearest.as_deref()))]
    UnknownField {
        /// The field.
        field: String,
        /// The one that may have been meant.
        nearest: Option<String>,
    },
}

impl KeyTemplate {
    /// Reads a template for events of these points.
    ///
    /// # Errors
    /// It is blank, its braces do not fit, or it names a field that events of one of the points do not have.
    pub fn read(text: &str, points: &[&PointInfo]) -> Result<Self, TemplateError> {
        if text.trim().is_empty() {
            return Err(TemplateError::Blank);
        }
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(brace) = rest.find(['{', '}']) {
            let at = text.len() - rest.len() + brace;
            plain.push_str(&rest[..brace]);
            let (this, after) = rest[brace..].split_at(1);
            if let Some(after) = after.strip_prefix(this) {
                plain.push_str(this);
                rest = after;
                continue;
            }
            let inside = if this == "{" { after.split_once('}') } else { None };
            let Some((name, after)) = inside.filter(|(name, _)| !name.contains('{')) else {
                return Err(TemplateError::Brace { at });
            };
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain).into()));
            }
            parts.push(field(name.trim(), points)?);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain.into()));
        }
        Ok(Self { text: text.into(), parts })
    }

    /// What concerns the same agent of the same session.
    #[must_use]
    pub fn of_agent() -> Self {
        let parts =
            vec![Part::Envelope(Field::Session), Part::Text("/".into()), Part::Envelope(Field::Agent)];
        Self { text: "{session}/{agent}".into(), parts }
    }

    /// A key for what is done one after another for each event; others of the same name do it in the same line.
    #[must_use]
    pub fn of_event(name: &str) -> Self {
        let name: Box<str> = format!("{name}:").into();
        Self { text: name.clone(), parts: vec![Part::Text(name), Part::Event] }
    }

    /// The same key for every event.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self { text: text.into(), parts: vec![Part::Text(text.into())] }
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds the key of an event to a text.
    pub fn render(&self, event: &AnyEvent, key: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => key.push_str(text),
                Part::Envelope(field) => envelope(*field, event, key),
                Part::Event => {
                    write!(key, "{}", event.envelope().id).ok();
                }
                Part::Payload(path) => payload(path, event, key),
            }
        }
    }
}

fn field(name: &str, points: &[&PointInfo]) -> Result<Part, TemplateError> {
    if let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) {
        return Ok(Part::Envelope(*field));
    }
    let path: Option<Vec<Box<str>>> =
        name.strip_prefix("payload.").map(|path| path.split('.').map(Box::from).collect());
    // What a vendor declares may have any fields.
    let lacks =
        |point: &&&PointInfo, first: &str| point.slot != Slot::Declared && point.field(first).is_none();
    match path {
        Some(path) if !points.iter().any(|point| lacks(&point, &path[0])) => Ok(Part::Payload(path)),
        Some(path) if !points.iter().all(|point| lacks(&point, &path[0])) => {
            let point = points.iter().find(|point| lacks(point, &path[0])).map_or("", |point| point.name);
            Err(TemplateError::Lacks { field: name.to_owned(), point })
        }
        _ => {
            let own =
                points.iter().flat_map(|point| point.fields).map(|field| format!("payload.{}", field.name));
            let known: Vec<String> = FIELDS.iter().map(|(known, _)| (*known).to_owned()).chain(own).collect();
            let nearest = suggestion(name, known.iter().map(String::as_str)).map(str::to_owned);
            Err(TemplateError::UnknownField { field: name.to_owned(), nearest })
        }
    }
}

fn proposal(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; the nearest is `{nearest}`"))
}

fn envelope(field: Field, event: &AnyEvent, key: &mut String) {
    let envelope = event.envelope();
    let source = &envelope.source;
    let text: &str = match field {
        Field::Session => source.session.as_str(),
        Field::RootSession => source.root_session.as_str(),
        Field::ParentSession => source.parent_session.as_ref().map_or("", |parent| parent.as_str()),
        Field::Agent => &source.agent.id,
        Field::AgentKind => source.agent.kind.as_str(),
        Field::AgentType => source.agent.role.as_deref().unwrap_or_default(),
        Field::ProjectRoot => source.project_root.as_deref().unwrap_or_default(),
        Field::Cwd => source.cwd.as_deref().unwrap_or_default(),
        Field::Host => source.host.as_deref().unwrap_or_default(),
        Field::Point => event.point().name,
        Field::Turn => {
            if let Some(turn) = envelope.turn {
                // Writing to a text does not fail.
                write!(key, "{turn}").ok();
            }
            return;
        }
    };
    key.push_str(text);
}

fn payload(path: &[Box<str>], event: &AnyEvent, key: &mut String) {
    let Some((first, below)) = path.split_first() else { return };
    if let (Some(text), []) = (event.payload().text(first), below) {
        key.push_str(text);
        return;
    }
    let mut value = event.payload_json().get(first);
    for name in below {
        value = value.and_then(|value| value.get(&**name));
    }
    match value {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => key.push_str(text),
        Some(other) => {
            write!(key, "{other}").ok();
        }
    }
}
