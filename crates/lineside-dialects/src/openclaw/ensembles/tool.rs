//! Before a tool call: parameters and approvals (OC-49, OC-50).

use lineside_core::json::{Map, Value};
use lineside_core::{AnyEvent, Verdict};

use super::member::{Given, Member, Merge};

/// Under which name an approval goes to the host.
const APPROVAL: &str = "openclaw.approval";

/// The handlers of `before_tool_call`.
#[derive(Debug, Default)]
pub(super) struct ToolCalls;

impl Merge for ToolCalls {
    fn merge(&self, event: &AnyEvent, members: &[(usize, Member)], given: &mut Given) {
        let object = |member: &Member, field: &str| member.fields.get(field)?.as_object().cloned();
        let approval = members.iter().find_map(|(place, member)| {
            Some((*place, member.plugin.clone(), object(member, "requireApproval")?))
        });
        // What a person was asked about does not change any more.
        let last = approval.as_ref().map_or(usize::MAX, |(place, ..)| *place);
        let standing = members.iter().filter(|(place, _)| *place <= last);
        let params =
            standing.filter_map(|(place, member)| Some((*place, object(member, "params")?))).next_back();
        if let Some((place, params)) = params {
            given.amend(place, "tool_input", merged(event, params));
        }
        if let Some((place, plugin, mut approval)) = approval
            && let Some(answer) = given.at(place)
        {
            answer.verdict = Verdict::ask(reason(&approval));
            approval.insert("pluginId".to_owned(), plugin.into());
            answer.extra.insert(APPROVAL.to_owned(), approval.into());
        }
    }
}

/// The fields of the tool input, replaced and completed by those given, one level deep.
fn merged(event: &AnyEvent, params: Map) -> Value {
    match event.payload().value("tool_input") {
        Some(Value::Object(original)) => {
            let mut merged = original.clone();
            merged.extend(params);
            merged.into()
        }
        _ => params.into(),
    }
}

/// The question to the user: the title and the description of the request (OC-50).
fn reason(approval: &Map) -> String {
    let text = |name: &str| approval.get(name)?.as_str().filter(|text| !text.trim().is_empty());
    match (text("title"), text("description")) {
        (Some(title), Some(description)) => format!("{title}: {description}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "Plugin approval required".to_owned(),
    }
}

#[cfg(test)]
mod tests;
