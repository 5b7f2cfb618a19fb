//! Before a message is sent: its content and what goes with it (OC-51).

use lineside_core::AnyEvent;
use lineside_core::json::Value;

use super::member::{Given, Member, Merge};

/// Under which name the metadata of a message goes to the host.
const METADATA: &str = "openclaw.metadata";

/// The handlers of `message_sending`.
#[derive(Debug, Default)]
pub(super) struct Sending;

impl Merge for Sending {
    fn merge(&self, _event: &AnyEvent, members: &[(usize, Member)], given: &mut Given) {
        let last = |field: &str, fits: fn(&Value) -> bool| {
            let said = members.iter().rev();
            said.filter_map(|(place, member)| Some((*place, member.fields.get(field)?.clone())))
                .find(|(_, value)| fits(value))
        };
        if let Some((place, content)) = last("content", Value::is_string) {
            given.amend(place, "content", content);
        }
        if let Some((place, metadata)) = last("metadata", Value::is_object)
            && let Some(answer) = given.at(place)
        {
            answer.extra.insert(METADATA.to_owned(), metadata);
        }
    }
}

#[cfg(test)]
mod tests;
