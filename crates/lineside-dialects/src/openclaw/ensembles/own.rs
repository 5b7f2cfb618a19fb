//! Hooks at points of their own: what their answers come to is handed to the program that has published the event.

use lineside_core::json::{Map, Value, json};
use lineside_core::{AnyEvent, Append, Verdict};

use super::member::{Given, Member, Merge};

/// Under which name what handlers have answered goes to the host.
pub(in super::super) const RESULT: &str = "openclaw.result";

/// Fields of which the first that is given counts.
const FIRST: [&str; 3] = ["modelOverride", "providerOverride", "origin"];
/// Fields that become messages for the context.
const CONTEXTS: [&str; 2] = ["prependContext", "appendContext"];
/// Fields whose lists are put behind one another.
const LISTS: [&str; 1] = ["findings"];
/// The hook whose answers stand beside one another.
const EVALUATE: &str = "skill_proposal_evaluate";

/// What an answer amounts to. One that has handled the event itself refuses it to every handler after it.
pub(in super::super) fn verdict(hook: &str, member: &Member) -> Verdict {
    let is = |field: &str| member.fields.get(field) == Some(&Value::Bool(true));
    let refuses = is("block") || is("cancel") || member.text("outcome") == Some("block");
    if refuses && hook != EVALUATE {
        let reasons = ["blockReason", "cancelReason", "reason", "message"];
        let reason =
            reasons.into_iter().filter_map(|field| member.text(field)).find(|text| !text.trim().is_empty());
        return Verdict::block(reason.map_or_else(|| format!("blocked by {hook}"), str::to_owned));
    }
    if is("handled") {
        return Verdict::block(format!("handled by plugin \"{}\"", member.plugin));
    }
    Verdict::Continue
}

/// The handlers of a hook at a point of its own.
#[derive(Debug, Default)]
pub(super) struct OwnGates;

impl Merge for OwnGates {
    fn merge(&self, event: &AnyEvent, members: &[(usize, Member)], given: &mut Given) {
        for (place, member) in members {
            let texts =
                CONTEXTS.into_iter().filter_map(|field| member.text(field)).filter(|text| !text.is_empty());
            let messages: Vec<Append> = texts.map(Append::system).collect();
            if let Some(answer) = given.at(*place) {
                answer.context.extend(messages);
            }
        }
        let Some((place, _)) = members.last() else { return };
        let result =
            if event.point().name.ends_with(EVALUATE) { evaluated(members) } else { merged(members).into() };
        if let Some(answer) = given.at(*place) {
            for field in event.point().amendable() {
                if let Some(value) = result.get(field) {
                    answer.amendment = std::mem::take(&mut answer.amendment).with(field, value.clone());
                }
            }
            if result != Value::Object(Map::new()) {
                answer.extra.insert(RESULT.to_owned(), result);
            }
        }
    }
}

fn merged(members: &[(usize, Member)]) -> Map {
    let mut merged = Map::new();
    let fields = members.iter().flat_map(|(_, member)| &member.fields).filter(|(_, value)| !value.is_null());
    for (name, value) in fields.filter(|(name, _)| !CONTEXTS.contains(&name.as_str())) {
        match (merged.get_mut(name), value) {
            (Some(_), _) if FIRST.contains(&name.as_str()) => {}
            (Some(Value::Array(items)), Value::Array(more)) if LISTS.contains(&name.as_str()) => {
                items.extend(more.iter().cloned());
            }
            _ => {
                merged.insert(name.clone(), value.clone());
            }
        }
    }
    merged
}

/// Each with its author.
fn evaluated(members: &[(usize, Member)]) -> Value {
    let of = |member: &Member| json!({ "evaluatorId": member.plugin, "pluginId": member.plugin, "status": "completed", "result": member.fields });
    Value::Array(members.iter().map(|(_, member)| of(member)).collect())
}

#[cfg(test)]
mod tests;
