//! A decision as one line of JSON.

use anyhow::Result;
use lineside::claims::{self, Claim};
use lineside::core::Receipt;
use lineside::json::Value;
use lineside::wire;

use crate::painter::json_line;

/// What earlier events have led to by now.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// Messages that the agent takes into its context at this event, of hooks that were not waited for.
    pub(super) delivered: Vec<Value>,
    /// What else those hooks did that is reported.
    pub(super) background: Vec<Value>,
}

/// The line: the decision, with everything else that the receipt holds when the `whole` of it is wanted, and what
/// earlier events have led to.
///
/// # Errors
/// None that are known: what is in a receipt can be written as JSON.
pub(super) fn line(receipt: &Receipt, accepted: &[Claim], later: Later, whole: bool) -> Result<String> {
    let mut map = wire::decision(receipt, whole);
    claims::put(accepted, &mut map);
    let Later { delivered, background } = later;
    for (name, list) in [("delivered", delivered), ("background", background)] {
        if !Vec::is_empty(&list) {
            map.insert(name.to_owned(), Value::Array(list));
        }
    }
    Ok(json_line(&map)?)
}
