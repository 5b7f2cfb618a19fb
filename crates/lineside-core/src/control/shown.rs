//! Settings as people and programs read them: with the names of the builder, times in milliseconds.

use crate::json::{Map, json};

use super::{AtEnd, Control, Pause, Rate, Retry};

impl Control {
    /// All settings but the priority, in the order in which they take effect, as a file would have them; `null` for
    /// what is not there.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let rate = self.rate.as_ref().map(|Rate { starts, period, key, excess }| {
            json!({"starts": starts, "period": millis(*period), "key": key, "excess": excess})
        });
        let debounce =
            self.debounce.map(|pace| json!({"quiet": millis(pace.quiet), "at_most": millis(pace.at_most)}));
        let batch = self.batch.map(|batch| json!({"count": batch.count, "within": millis(batch.within)}));
        let Retry { attempts, pause, after } = self.retry;
        let retry = match pause {
            Pause::Constant(pause) => {
                json!({"attempts": attempts, "constant": millis(pause), "after": after})
            }
            Pause::Exponential { first, at_most } => json!({
                "attempts": attempts, "exponential": millis(first), "at_most": millis(at_most), "after": after,
            }),
        };
        let at_end = match self.at_end {
            AtEnd::Drain(limit) => json!({"drain": millis(limit)}),
            AtEnd::LeaveRunning => json!("leave_running"),
        };
        let settings = [
            ("rate", json!(rate)),
            ("debounce", json!(debounce)),
            ("batch", json!(batch)),
            ("hold_key", json!(self.hold_key)),
            ("concurrency", json!(self.concurrency)),
            ("limit", json!(self.limit)),
            ("on_busy", json!(self.on_busy)),
            ("timeout", json!(millis(self.timeout))),
            ("retry", retry),
            ("join", json!(self.join)),
            ("result", json!(self.result)),
            ("at_end", at_end),
        ];
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The settings that are not what they are when nothing is said.
    #[must_use]
    pub fn declared(&self) -> Map {
        let unsaid = Self::default().to_json();
        self.to_json().into_iter().filter(|(name, value)| unsaid.get(name) != Some(value)).collect()
    }
}
