//! What one member of an ensemble said, and who it is: an ensemble is only given places in a plan.

use lineside_core::ensemble::Sees;
use lineside_core::json::{Map, Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, AnyEvent, Ensemble, Layer};

use super::super::catalogue::{self, Kind};

/// What a handler said.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Member {
    /// The hook.
    pub(in super::super) kind: Kind,
    /// The id of its plugin.
    pub(in super::super) plugin: String,
    /// Its name.
    pub(in super::super) handler: String,
    pub(in super::super) layer: Layer,
    /// The fields of its answer.
    pub(in super::super) fields: Map,
}

impl Member {
    pub(in super::super) fn into_json(self, hook: &str) -> Value {
        json!({
            "hook": hook, "plugin": self.plugin, "handler": self.handler, "layer": self.layer,
            "fields": self.fields,
        })
    }

    fn from_json(value: Value) -> Option<Self> {
        let Value::Object(mut own) = value else { return None };
        let mut text = |name: &str| match own.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let kind = catalogue::find(&text("hook")?)?.kind;
        let (plugin, handler) = (text("plugin")?, text("handler")?);
        let layer = lineside_core::json::from_value(&own.remove("layer")?).ok()?;
        match own.remove("fields")? {
            Value::Object(fields) => Some(Self { kind, plugin, handler, layer, fields }),
            _ => None,
        }
    }

    /// A field that is there and is a text.
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }
}

/// A dispatch: what was given, without what was said, and what was said, by place.
pub(super) struct Given {
    pub(super) answers: Vec<FromHook<Answer>>,
    pub(super) members: Vec<(usize, Member)>,
}

impl Given {
    /// Takes apart what an ensemble is given; the blocking answer alone when there is one (OC-42).
    pub(super) fn read(given: Vec<FromHook<Answer>>) -> Result<Self, Vec<FromHook<Answer>>> {
        let mut given = given;
        if let Some(last) = given.pop() {
            if last.what.verdict.strength().is_final() {
                return Err(vec![FromHook { what: Answer { own: None, ..last.what }, ..last }]);
            }
            given.push(last);
        }
        let mut members = Vec::new();
        for (place, by) in given.iter_mut().enumerate() {
            let own = by.what.own.take();
            if let Some(member) = own.and_then(|own| Member::from_json(*own)) {
                members.push((place, member));
            }
        }
        Ok(Self { answers: given, members })
    }

    /// Amends a field in the name of the handler at a place.
    pub(super) fn amend(&mut self, place: usize, field: &str, value: Value) {
        if let Some(answer) = self.at(place) {
            answer.amendment = std::mem::take(&mut answer.amendment).with(field, value);
        }
    }

    /// The answer at a place, to be added to.
    pub(super) fn at(&mut self, place: usize) -> Option<&mut Answer> {
        self.answers.get_mut(place).map(|by| &mut by.what)
    }
}

/// What the answers of the handlers of one hook come to.
pub(super) trait Merge: Send + Sync {
    /// Puts it into the answers. `members` are those that said anything, each with its place among them.
    fn merge(&self, event: &AnyEvent, members: &[(usize, Member)], given: &mut Given);
}

/// Handlers that are each shown the event as it was for the first of them and are not asked again; an answer that
/// blocks stands alone (OC-42).
#[derive(Debug, Default)]
pub(in super::super) struct Merged<M>(pub(super) M);

impl<M: Merge> Ensemble for Merged<M> {
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn judges_again(&self) -> bool {
        false
    }

    fn finalize(&self, event: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        match Given::read(given) {
            Ok(mut given) => {
                let members = std::mem::take(&mut given.members);
                self.0.merge(event, &members, &mut given);
                given.answers
            }
            Err(blocked) => blocked,
        }
    }
}
