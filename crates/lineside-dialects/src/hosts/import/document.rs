//! The document that a hook of a host reads: the fields of its event under the host's names, then what the publisher
//! has sent beside them (HO-11).

use std::borrow::Cow;

use lineside_core::AnyEvent;
use lineside_core::json::{Map, Value, json};

use crate::hosts::table::{Field, Kind, Row, renamed};
use crate::hosts::tools::{Column, Seen};

/// A document being written.
#[derive(Debug, Default)]
pub(crate) struct Document(pub(crate) Map);

/// What the publisher has sent beside the payload, under the host's name.
pub(crate) fn known<'a>(event: &'a AnyEvent, name: &str) -> Option<&'a Value> {
    event.envelope().extra.as_ref()?.get(name)
}

/// The id of the subagent whose session this is, within its parent's.
pub(crate) fn child_id<'a>(event: &AnyEvent, session: &'a str) -> &'a str {
    let own = event.envelope().source.session.as_str();
    session.strip_prefix(own).and_then(|rest| rest.strip_prefix('/')).unwrap_or(session)
}

/// The root of the project of an event, else its directory.
pub(crate) fn project_root(event: &AnyEvent) -> Cow<'_, str> {
    let source = &event.envelope().source;
    Cow::Borrowed(source.project_root.as_deref().or(source.cwd.as_deref()).unwrap_or_default())
}

impl Document {
    /// Sets a field.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Sets a field to what the publisher has sent under this name, else to this.
    pub(crate) fn put_known(&mut self, event: &AnyEvent, name: &str, or: impl Into<Value>) {
        // What another host sends as null is not known (CL-26, CX-18).
        let value = known(event, name).filter(|value| !value.is_null());
        let value = value.cloned().unwrap_or_else(|| or.into());
        self.0.insert(name.to_owned(), value);
    }

    /// Sets a field at a path whose parts are joined by `.`.
    fn put_at(&mut self, path: &str, value: Value) {
        let mut at = &mut self.0;
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                at.insert(part.to_owned(), value);
                return;
            }
            let inner = at.get_or_insert_with(part, || Value::Object(Map::new()));
            let Value::Object(inner) = inner else { return };
            at = inner;
        }
    }

    /// The fields of the event that the table has.
    pub(crate) fn fields(&mut self, row: &Row, column: Column, event: &AnyEvent) {
        let payload = event.payload_json();
        for field in row.fields {
            let Some(theirs) = field.theirs.first() else {
                self.members(field, payload);
                continue;
            };
            if field.ours == "tool_name" {
                self.tool(theirs, field.kind, column, event);
                continue;
            }
            let Some(value) = payload.get(field.ours) else { continue };
            match field.kind {
                Kind::Own(_) | Kind::Members(_) | Kind::Fixed(_) | Kind::Null | Kind::True => {}
                Kind::Parsed => self.put(theirs, value.to_string()),
                Kind::Flag(text) => self.put_at(theirs, json!(value == text)),
                Kind::Items(names) => {
                    let theirs_of =
                        |name: &str| names.iter().find(|(ours, _)| *ours == name).map(|(_, of)| *of);
                    self.put_at(theirs, renamed(value, theirs_of).unwrap_or_default());
                }
                _ => self.put_at(theirs, value.clone()),
            }
        }
    }

    /// The subagent whose session the event is of.
    pub(crate) fn agent(&mut self, event: &AnyEvent) {
        let source = &event.envelope().source;
        if source.depth > 0 {
            self.put("agent_id", &*source.agent.id);
            self.put("agent_type", source.agent.role.as_deref().unwrap_or_default());
        }
    }

    /// Whether a stop was refused before, and the subagent that the event is about.
    pub(crate) fn stop_and_child(&mut self, name: &str, event: &AnyEvent) {
        match name {
            "Stop" => {
                let active = event.payload_json().get("stop_active").cloned().unwrap_or_default();
                self.put("stop_hook_active", active);
            }
            "SubagentStop" => self.put_known(event, "stop_hook_active", false),
            _ => {}
        }
        if let Some(child) = event.payload().text("child_session") {
            self.put("agent_id", child_id(event, child));
        }
    }

    /// The name of the tool, followed by the publisher's where that is another one (HO-16).
    fn tool(&mut self, theirs: &str, kind: Kind, column: Column, event: &AnyEvent) {
        let Some(Seen { name, host_name }) = Seen::by(column, event) else { return };
        let name = match kind {
            Kind::Prefixed(prefix) => name.strip_prefix(prefix).unwrap_or(name),
            _ => name,
        };
        self.put(theirs, name);
        if let Some(host_name) = host_name {
            self.put("host_tool_name", host_name);
        }
    }

    fn members(&mut self, field: &Field, payload: &Map) {
        let (Kind::Members(members), Some(Value::Object(object))) = (field.kind, payload.get(field.ours))
        else {
            return;
        };
        for (ours, theirs) in members {
            if let Some(value) = object.get(ours) {
                self.put(theirs, value.clone());
            }
        }
    }

    /// The fields of a point that only one vendor has, as they are.
    pub(crate) fn own_fields(&mut self, row: &Row, event: &AnyEvent) {
        if row.point.starts_with("x.") && row.fields.is_empty() {
            for (name, value) in event.payload_json() {
                self.put(name, value.clone());
            }
        }
    }

    /// The document, ended by what the publisher has sent and the document does not have.
    pub(crate) fn with_extra(mut self, event: &AnyEvent) -> Map {
        for (name, value) in event.envelope().extra.iter().flat_map(|extra| extra.iter()) {
            self.0.get_or_insert_with(name, || value.clone());
        }
        self.0
    }

    /// The same as compact JSON; what the publisher has sent stands as it was written (HO-10).
    pub(crate) fn compact(self, event: &AnyEvent) -> Vec<u8> {
        let extra = event.envelope().extra.as_deref();
        let document = self.with_extra(event);
        let as_written = |name: &str, value: &Value| {
            extra.filter(|extra| extra.get(name) == Some(value)).and_then(|extra| extra.spelling(name))
        };
        if !document.iter().any(|(name, value)| as_written(name, value).is_some()) {
            return lineside_core::json::to_vec(&document).unwrap_or_default();
        }
        let mut written = String::from("{");
        for (name, value) in &document {
            if written.len() > 1 {
                written.push(',');
            }
            written.push_str(&Value::from(name.as_str()).to_string());
            written.push(':');
            match as_written(name, value) {
                Some(json) => written.push_str(json),
                None => written.push_str(&value.to_string()),
            }
        }
        written.push('}');
        written.into_bytes()
    }
}

#[cfg(test)]
mod tests;
