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
    /// The session before a `/`, with none of its own, so that no other session has the same key.
    WholeSession,
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
    /// The same for the hooks of one place: no key of another place is equal to one of these.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.parts.insert(0, Part::Text(format!("{place}:").into()));
        self
    }

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
        for next in 1..parts.len() {
            if matches!(&parts[next], Part::Text(text) if text.starts_with('/'))
                && parts[next - 1] == Part::Envelope(Field::Session)
            {
                parts[next - 1] = Part::WholeSession;
            }
        }
        Ok(Self { text: text.into(), parts })
    }

    /// What concerns the same agent of the same session.
    #[must_use]
    pub fn of_agent() -> Self {
        let parts = vec![Part::WholeSession, Part::Text("/".into()), Part::Envelope(Field::Agent)];
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
                Part::WholeSession => whole_session(event.envelope().source.session.as_str(), key),
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
            // The prefix is what is forgotten most.
            let first = name.split('.').next().unwrap_or_default();
            let is_unprefixed = points.iter().any(|point| point.field(first).is_some());
            let nearest = if is_unprefixed {
                Some(format!("payload.{name}"))
            } else {
                suggestion(name, known.iter().map(String::as_str)).map(str::to_owned)
            };
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

fn whole_session(session: &str, key: &mut String) {
    for character in session.chars() {
        match character {
            '%' => key.push_str("%25"),
            '/' => key.push_str("%2F"),
            other => key.push(other),
        }
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::envelope::{Agent, SessionId, Source};
    use crate::json::json;
    use crate::sample::{BATCH, DECLARED, TOOL, event, event_of};

    fn rendered(template: &KeyTemplate, event: &AnyEvent) -> String {
        let mut key = String::new();
        template.render(event, &mut key);
        key
    }

    fn key(text: &str, event: &AnyEvent) -> String {
        rendered(&KeyTemplate::read(text, &[event.point()]).unwrap(), event)
    }

    #[test]
    fn a_field_of_the_envelope_is_empty_where_the_event_lacks_it() {
        let source = Source {
            root_session: "root".into(),
            parent_session: Some(SessionId::from("parent")),
            agent: Agent { id: "a1".into(), ..Agent::subagent("reviewer") },
            project_root: Some("/p".into()),
            cwd: Some("/p/src".into()),
            host: Some("kimi".into()),
            ..Source::root("s")
        };
        let all = event_of(source, Some(7), &TOOL, json!({}));
        let few = event(&TOOL, json!({}));
        for (field, of_all, of_few) in [
            ("session", "s", "s"),
            ("root_session", "root", "s"),
            ("parent_session", "parent", ""),
            ("agent", "a1", "main"),
            ("agent_kind", "subagent", "main"),
            ("agent_type", "reviewer", ""),
            ("project_root", "/p", ""),
            ("cwd", "/p/src", ""),
            ("host", "kimi", ""),
            ("point", "before_sample", "before_sample"),
            ("turn", "7", ""),
        ] {
            let text = format!("<{{ {field} }}>");
            assert_eq!(key(&text, &all), format!("<{of_all}>"), "{field}");
            assert_eq!(key(&text, &few), format!("<{of_few}>"), "{field}");
        }
    }

    #[test]
    fn a_field_of_the_payload_is_its_text_or_its_json() {
        let input = json!({"path": "a.rs", "line": 3, "more": {"x": [1, "y"]}, "none": null});
        let event = event(&TOOL, json!({"tool_name": "Edit", "tool_input": input}));
        for (field, expected) in [
            ("tool_name", "Edit"),
            ("tool_name.of", ""),
            ("tool_input.path", "a.rs"),
            ("tool_input.line", "3"),
            ("tool_input.more", r#"{"x":[1,"y"]}"#),
            ("tool_input.more.x", r#"[1,"y"]"#),
            ("tool_input.none", ""),
            ("tool_input.not.at.all", ""),
            ("paths", ""),
        ] {
            assert_eq!(key(&format!("{{payload.{field}}}"), &event), expected, "{field}");
        }
    }

    #[test]
    fn texts_and_fields_stand_in_their_order() {
        let event = event(&TOOL, json!({"tool_name": "Edit"}));
        for (text, expected) in [
            ("lint", "lint"),
            ("{session}", "s"),
            ("a{session}b{agent}c", "asbmainc"),
            ("{session}{agent}", "smain"),
            ("{{{session}}}", "{s}"),
            ("{{session}}", "{session}"),
            ("a}}{{b{payload.tool_name}", "a}{bEdit"),
        ] {
            assert_eq!(key(text, &event), expected, "{text}");
        }
    }

    #[test]
    fn a_brace_alone_is_found_at_its_place() {
        for (text, at) in [
            ("}", 0),
            ("a}b", 1),
            ("a{session", 1),
            ("ä{", 2),
            ("{session}ab}", 11),
            ("{{}}{agent}ü{x", 13),
            ("{a{session}", 0),
            ("{{{", 2),
        ] {
            assert_eq!(KeyTemplate::read(text, &[&TOOL]), Err(TemplateError::Brace { at }), "{text}");
        }
    }

    #[test]
    fn a_template_says_more_than_blanks() {
        for text in ["", " ", "\t\n"] {
            assert_eq!(KeyTemplate::read(text, &[&TOOL]), Err(TemplateError::Blank), "{text:?}");
        }
    }

    #[test]
    fn a_field_is_one_that_the_events_of_every_point_have() {
        let read = |field: &str, points: &[&PointInfo]| KeyTemplate::read(&format!("{{{field}}}"), points);
        let lacks = |field: &str, point| Err(TemplateError::Lacks { field: field.to_owned(), point });
        let (tool, calls) = ("payload.tool_name", "payload.tool_calls.0");
        for (field, points) in [
            (tool, &[&TOOL] as &[&PointInfo]),
            (calls, &[&BATCH]),
            (tool, &[&DECLARED]),
            (tool, &[&DECLARED, &TOOL]),
            ("session", &[&TOOL, &BATCH, &DECLARED]),
        ] {
            assert_eq!(read(field, points).unwrap().text(), format!("{{{field}}}"));
        }
        assert_eq!(read(tool, &[&TOOL, &BATCH]), lacks(tool, BATCH.name));
        assert_eq!(read(calls, &[&TOOL, &BATCH]), lacks(calls, TOOL.name));
        assert_eq!(read(tool, &[&DECLARED, &BATCH]), lacks(tool, BATCH.name));
        assert_eq!(
            read(tool, &[&TOOL, &BATCH]).unwrap_err().to_string(),
            "events of after_sample have no field `payload.tool_name`, and are to have the same keys"
        );
    }

    #[test]
    fn a_field_that_no_event_has_is_refused_with_the_nearest() {
        for (field, points, told) in [
            ("sesion", &[&TOOL] as &[&PointInfo], "there is no field `sesion`; the nearest is `session`"),
            (
                "paylod.tool_name",
                &[&TOOL],
                "there is no field `paylod.tool_name`; the nearest is `payload.tool_name`",
            ),
            ("tool_name", &[&TOOL], "there is no field `tool_name`; the nearest is `payload.tool_name`"),
            (
                "tool_input.path",
                &[&BATCH, &TOOL],
                "there is no field `tool_input.path`; the nearest is `payload.tool_input.path`",
            ),
            ("payload.prompt", &[&BATCH], "there is no field `payload.prompt`"),
            ("payload", &[&DECLARED], "there is no field `payload`"),
            ("q", &[], "there is no field `q`"),
        ] {
            let error = KeyTemplate::read(&format!("{{{field}}}"), points).unwrap_err();
            assert_eq!(error.to_string(), told);
        }
    }

    #[test]
    fn two_sessions_have_two_keys_whatever_their_ids_are() {
        let of = |session: &str, agent: &str| {
            let source = Source {
                agent: Agent { id: agent.into(), ..Agent::subagent("any") },
                ..Source::root(session)
            };
            rendered(&KeyTemplate::of_agent(), &event_of(source, None, &TOOL, json!({})))
        };
        assert_eq!(of("s", "a/b"), "s/a/b");
        assert_eq!(of("s/a", "b"), "s%2Fa/b");
        assert_eq!(of("s%2Fa", "b"), "s%252Fa/b");
    }

    #[test]
    fn a_template_that_is_not_read_has_its_text_too() {
        let event = event(&TOOL, json!({}));
        let agent = KeyTemplate::of_agent();
        assert_eq!(agent, KeyTemplate::read(agent.text(), &[&TOOL]).unwrap());
        let line = KeyTemplate::of_event("line");
        assert_eq!(line.text(), "line:");
        assert_eq!(rendered(&line, &event), format!("line:{}", event.envelope().id));
        let text = KeyTemplate::of_text("a{b}");
        assert_eq!((text.text(), &*rendered(&text, &event)), ("a{b}", "a{b}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_text_whose_braces_are_doubled_is_its_own_key(text in "[a{} ä]{0,12}") {
            let doubled = text.replace('{', "{{").replace('}', "}}");
            let event = event(&TOOL, json!({}));
            match KeyTemplate::read(&doubled, &[&TOOL]) {
                Ok(template) => {
                    prop_assert_eq!(template.text(), &doubled);
                    prop_assert_eq!(rendered(&template, &event), text);
                }
                Err(error) => {
                    prop_assert_eq!(error, TemplateError::Blank);
                    prop_assert!(text.trim().is_empty());
                }
            }
        }
    }
}
