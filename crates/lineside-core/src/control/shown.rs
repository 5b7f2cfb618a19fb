//! Settings as people and programs read them: with the names of the builder, times in milliseconds.

use crate::answer::millis;
use crate::json::{Map, Value, json};

use super::{AtEnd, Control, Pause, Rate, Retry, Scope};

impl Control {
    /// All settings but the priority, in the order in which they take effect, as a file would have them; `null` for
    /// what is not there.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let rate = self.rate.as_ref().map(|Rate { starts, period, key, excess, scope }| {
            let rate = json!({"starts": starts, "period": millis(*period), "key": key, "excess": excess});
            with_scope(rate, *scope)
        });
        let held = |held: Value| with_scope(held, self.hold_scope);
        let debounce = self
            .debounce
            .map(|pace| held(json!({"quiet": millis(pace.quiet), "at_most": millis(pace.at_most)})));
        let batch =
            self.batch.map(|batch| held(json!({"count": batch.count, "within": millis(batch.within)})));
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
            ("scope", json!(self.scope)),
            ("where", json!(self.place)),
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

/// A setting with the machines that it holds for, where these are all of the cluster.
fn with_scope(mut setting: Value, scope: Scope) -> Value {
    if let (Scope::Cluster, Some(fields)) = (scope, setting.as_object_mut()) {
        fields.insert("scope".to_owned(), json!(scope));
    }
    setting
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::control::{Batch, OnBusy, Place};
    use crate::flow::{Debounce, RetryAfter};
    use crate::hook::Join;
    use crate::report::{Format, ResultRule, ResultWhen};

    const SECOND: Duration = Duration::from_secs(1);

    fn full() -> Control {
        Control {
            rate: Some(Rate::new(5, 60 * SECOND).per("{session}").dropping().across_cluster()),
            debounce: Some(Debounce::quiet(SECOND)),
            batch: Some(Batch { count: 3, within: 2 * SECOND }),
            hold_key: Some("{agent}".to_owned()),
            hold_scope: Scope::Cluster,
            priority: 9,
            concurrency: Some("lint".to_owned()),
            limit: 2,
            on_busy: OnBusy::Restart,
            scope: Scope::Cluster,
            place: Place::Anywhere,
            timeout: Duration::from_micros(1_500_999),
            retry: Retry::exponential(4, SECOND).after(RetryAfter::AnyButOutput),
            join: Join::BeforeNextModel,
            result: ResultRule {
                when: ResultWhen::Notify,
                format: Format::Full,
                lines: 1,
                bytes: 2,
                tokens: 3,
            },
            at_end: AtEnd::LeaveRunning,
        }
    }

    fn declared(control: &Control) -> Value {
        control.declared().into()
    }

    #[test]
    fn all_settings_are_shown_in_the_order_in_which_they_take_effect() {
        assert_eq!(
            Value::from(full().to_json()).to_string(),
            concat!(
                r#"{"rate":{"starts":5,"period":60000,"key":"{session}","excess":"drop","scope":"cluster"},"#,
                r#""debounce":{"quiet":1000,"at_most":10000,"scope":"cluster"},"#,
                r#""batch":{"count":3,"within":2000,"scope":"cluster"},"#,
                r#""hold_key":"{agent}","concurrency":"lint","limit":2,"on_busy":"restart","scope":"cluster","where":"anywhere","#,
                r#""timeout":1500,"#,
                r#""retry":{"attempts":4,"exponential":1000,"at_most":300000,"after":"any_but_output"},"#,
                r#""join":"before_next_model","#,
                r#""result":{"when":"notify","format":"full","lines":1,"bytes":2,"tokens":3},"#,
                r#""at_end":"leave_running"}"#,
            )
        );
        let shown = Control::default().to_json();
        assert_eq!(shown.keys().collect::<Vec<_>>(), full().to_json().keys().collect::<Vec<_>>());
        assert_eq!(shown["rate"], Value::Null);
        assert_eq!(shown["retry"], json!({"attempts": 1, "constant": 0, "after": "any_failure"}));
        assert_eq!(shown["at_end"], json!({"drain": 120_000}));
    }

    #[test]
    fn a_time_without_an_end_is_shown_as_the_longest() {
        let control = Control { timeout: Duration::MAX, ..Control::default() };
        assert_eq!(declared(&control), json!({"timeout": u64::MAX}));
    }

    #[test]
    fn what_is_as_if_nothing_were_said_is_not_declared() {
        assert!(Control::default().declared().is_empty());
        let control = Control { priority: 3, limit: 2, join: Join::Background, ..Control::default() };
        assert_eq!(declared(&control), json!({"limit": 2}));
        assert_eq!(full().declared(), full().to_json());
    }
}
