//! Members and what they said, for the tests of this folder.

use lineside_core::json::Value;
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, Layer};

use super::super::catalogue;
use super::super::samples::object;
use super::Member;

/// What a handler of the plugin `plugin`, of the layer of the user, said at its place in the plan.
pub(super) fn said(place: u32, hook: &str, plugin: &str, fields: Value) -> FromHook<Answer> {
    said_in(Layer::User, place, hook, plugin, fields)
}

/// The same of another layer.
pub(super) fn said_in(layer: Layer, place: u32, hook: &str, plugin: &str, fields: Value) -> FromHook<Answer> {
    let member = Member {
        kind: catalogue::find(hook).unwrap().kind,
        plugin: plugin.to_owned(),
        handler: format!("{plugin}:{hook}"),
        layer,
        fields: object(fields),
    };
    let own = Some(Box::new(member.into_json(hook)));
    FromHook { hook: place, what: Answer { own, ..Answer::default() } }
}

/// A member that said nothing.
pub(super) fn nothing(place: u32) -> FromHook<Answer> {
    FromHook { hook: place, what: Answer::default() }
}

/// The amendments, each with its author.
pub(super) fn amendments(settled: &[FromHook<Answer>]) -> Vec<(u32, Value)> {
    let amending = settled.iter().filter(|by| !by.what.amendment.is_empty());
    amending.map(|by| (by.hook, by.what.amendment.fields().clone().into())).collect()
}

/// The messages for the context, each with its author.
pub(super) fn contexts(settled: &[FromHook<Answer>]) -> Vec<(u32, &str)> {
    settled
        .iter()
        .flat_map(|by| by.what.context.iter().map(|append| (by.hook, append.text.as_str())))
        .collect()
}
