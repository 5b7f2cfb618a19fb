//! What came of a published event, as far as a host is told of it.

use lineside_core::json::Map;
use lineside_core::{Receipt, Strength, Verdict};

/// What came of an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The payload as it was published.
    pub before: Map,
    /// The payload as the hooks have left it.
    pub after: Map,
    /// The names of the hooks that have amended it.
    pub amenders: Vec<String>,
    /// Texts for the context of the agent.
    pub context: Vec<String>,
    /// Texts for the user.
    pub notices: Vec<String>,
}

impl Outcome {
    /// That of a receipt.
    #[must_use]
    pub fn of(receipt: &Receipt) -> Self {
        let mut amenders: Vec<String> = Vec::new();
        for change in &receipt.changes {
            let name = receipt.name(change.hook);
            if !amenders.iter().any(|known| known == name) {
                amenders.push(name.to_owned());
            }
        }
        Self {
            verdict: receipt.verdict.clone(),
            before: receipt.event.original().to_json(),
            after: receipt.event.payload_json().clone(),
            amenders,
            context: receipt.context.iter().map(|by| by.what.text.clone()).collect(),
            notices: receipt.notices.iter().map(|by| by.what.text.clone()).collect(),
        }
    }

    /// Takes in what came of an event that was derived from this one, as if it had come from this one (HO-5).
    pub fn fold(&mut self, derived: Self) {
        if derived.verdict.strength() > self.verdict.strength() {
            self.verdict = derived.verdict;
        }
        for (field, value) in derived.after {
            // It was given the value that this event had, so a difference is an amendment.
            if self.after.contains_key(&field) && derived.before.get(&field) != Some(&value) {
                self.after.insert(field, value);
            }
        }
        self.amenders.extend(derived.amenders);
        self.context.extend(derived.context);
        self.notices.extend(derived.notices);
    }

    /// Whether it must not happen.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.verdict.strength().is_final()
    }

    pub(super) fn strength(&self) -> Strength {
        self.verdict.strength()
    }

    pub(super) fn reason(&self) -> &str {
        self.verdict.reason().map_or("", |reason| reason.as_str())
    }
}
