//! Before an agent's turn: contexts joined, the system prompt put together (OC-47, OC-48).

use lineside_core::{Answer, AnyEvent, Append, Notice};

use super::super::catalogue::Kind;
use super::member::{Given, Member, Merge};
use super::recent::Recent;

/// So many sessions and handlers are remembered as told.
const MOST_TOLD: usize = 4096;

/// The handlers of `before_agent_start` and `before_prompt_build`.
#[derive(Debug)]
pub(super) struct BeforeAgent {
    /// Sessions and handlers whose `toolsAllow` was reported.
    told: Recent<(String, String), bool>,
}

impl Default for BeforeAgent {
    fn default() -> Self {
        Self { told: Recent::new(MOST_TOLD) }
    }
}

impl Merge for BeforeAgent {
    fn merge(&self, event: &AnyEvent, members: &[(usize, Member)], given: &mut Given) {
        self.system_prompt(event, members, given);
        contexts(members, given);
        self.tools(event, members, given);
    }
}

/// The texts of a field, in run order and without empty ones, and the places of those who gave them.
struct Joined {
    text: String,
    places: Vec<usize>,
}

fn joined(members: &[(usize, Member)], field: &str) -> Joined {
    let given = members.iter().filter_map(|(place, member)| Some((*place, member.text(field)?)));
    let (places, texts): (Vec<_>, Vec<_>) = given.filter(|(_, text)| !text.is_empty()).unzip();
    Joined { text: texts.join("\n\n"), places }
}

impl BeforeAgent {
    fn system_prompt(&self, event: &AnyEvent, members: &[(usize, Member)], given: &mut Given) {
        let of = |kind| {
            let said = members.iter().filter(move |(_, member)| member.kind == kind);
            said.filter_map(|(place, member)| Some((*place, member.text("systemPrompt")?)))
        };
        // The first of the one replaces the last of the other.
        let build = of(Kind::BeforePromptBuild).next();
        let replaced = build.or_else(|| of(Kind::BeforeAgentStart).next_back());
        let (before, after) =
            (joined(members, "prependSystemContext"), joined(members, "appendSystemContext"));
        let contributors = before.places.iter().chain(&after.places);
        let Some(author) = replaced.map(|(place, _)| place).or(contributors.min().copied()) else {
            return;
        };
        let own = event.payload().text("system_prompt").unwrap_or_default();
        let middle = replaced.map_or(own, |(_, text)| text);
        let parts = [before.text.as_str(), middle, after.text.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let mut places = [vec![author], before.places.clone(), after.places.clone()].concat();
        places.sort_unstable();
        places.dedup();
        if let Some(answer) = given.at(author) {
            let amendment = std::mem::take(&mut answer.amendment);
            answer.amendment = amendment.with("system_prompt", parts.join("\n\n").into());
            origins(answer, "the system prompt", &places, members);
        }
    }

    /// OC-48: once for each handler and session.
    fn tools(&self, event: &AnyEvent, members: &[(usize, Member)], given: &mut Given) {
        let session = event.envelope().source.session.as_str();
        for (place, member) in members.iter().filter(|(_, member)| member.fields.contains_key("toolsAllow")) {
            let key = (session.to_owned(), member.handler.clone());
            let told = self.told.with(key, || false, |told| std::mem::replace(told, true));
            if let (false, Some(answer)) = (told, given.at(*place)) {
                let text = format!("toolsAllow of {} is not supported", member.handler);
                answer.notices.push(Notice::warning(text));
            }
        }
    }
}

/// One message before the prompt, then one after it.
fn contexts(members: &[(usize, Member)], given: &mut Given) {
    let messages = [
        ("the context before the prompt", joined(members, "prependContext")),
        ("the context after the prompt", joined(members, "appendContext")),
    ];
    // Both in the name of the same handler, so that their order is that of this list.
    let first = messages.iter().flat_map(|(_, message)| &message.places).min().copied();
    let Some(answer) = first.and_then(|place| given.at(place)) else {
        return;
    };
    for (what, message) in messages.into_iter().filter(|(_, message)| !message.places.is_empty()) {
        answer.context.push(Append::system(message.text));
        origins(answer, what, &message.places, members);
    }
}

/// OC-48: who contributed, when that was more than one handler.
fn origins(answer: &mut Answer, what: &str, places: &[usize], members: &[(usize, Member)]) {
    if places.len() > 1 {
        let of = members.iter().filter(|(place, _)| places.contains(place));
        let names: Vec<&str> = of.map(|(_, member)| member.handler.as_str()).collect();
        answer.remarks.push(format!("{what} is of {}", names.join(", ")).into());
    }
}

#[cfg(test)]
mod tests;
