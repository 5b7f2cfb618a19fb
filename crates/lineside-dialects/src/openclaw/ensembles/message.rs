//! Before a message is sent: its content and what goes with it (OC-51).

use lineside_core::ensemble::Sees;
use lineside_core::json::Value;
use lineside_core::receipt::By;
use lineside_core::{Answer, AnyEvent, Ensemble};

use super::member::Given;

/// Under which name the metadata of a message goes to the host.
const METADATA: &str = "openclaw.metadata";

/// The handlers of `message_sending`.
#[derive(Debug, Default)]
pub(super) struct Sending;

impl Ensemble for Sending {
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn judges_again(&self) -> bool {
        false
    }

    fn finalize(&self, _event: &AnyEvent, given: Vec<By<Answer>>) -> Vec<By<Answer>> {
        let mut given = match Given::read(given) {
            Ok(given) => given,
            Err(blocked) => return blocked,
        };
        let members = std::mem::take(&mut given.members);
        let last = |field: &str, fits: fn(&Value) -> bool| {
            let said = members.iter().rev();
            said.filter_map(|(place, member)| Some((*place, member.fields.get(field)?.clone())))
                .find(|(_, value)| fits(value))
        };
        if let Some((place, content)) = last("content", Value::is_string)
            && let Some(answer) = given.at(place)
        {
            let amendment = std::mem::take(&mut answer.amendment);
            answer.amendment = amendment.with("content", content);
        }
        if let Some((place, metadata)) = last("metadata", Value::is_object)
            && let Some(answer) = given.at(place)
        {
            answer.extra.insert(METADATA.to_owned(), metadata);
        }
        given.answers
    }
}

#[cfg(test)]
mod tests;
