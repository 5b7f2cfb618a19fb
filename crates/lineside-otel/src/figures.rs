//! What is measured. The SDK bounds the number of series of each instrument, and has one for all further ones.

use lineside_bus::Signal;
use lineside_core::Outcome;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use crate::weight::named;

/// The bounds of the buckets, in seconds: from what a guard takes to the time after which most formats give a hook up.
const BOUNDS: [f64; 14] = [1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0];

/// The instruments.
#[derive(Debug)]
pub(crate) struct Figures {
    decisions: Histogram<f64>,
    hooks: Histogram<f64>,
    asked: Counter<u64>,
}

impl Figures {
    pub(crate) fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, text: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(text);
            histogram.with_boundaries(BOUNDS.to_vec()).build()
        };
        Self {
            decisions: seconds(
                "lineside.decision.duration",
                "From the publication of an event to its decision.",
            ),
            hooks: seconds("lineside.hook.duration", "How long hooks ran, those in the background as well."),
            asked: meter
                .u64_counter("lineside.approvals")
                .with_description("Questions that have waited for a person.")
                .build(),
        }
    }

    pub(crate) fn hear(&self, signal: &Signal) {
        match signal {
            Signal::Decided(receipt) => {
                let attributes = [
                    KeyValue::new("lineside.point", receipt.event.point().name),
                    KeyValue::new("lineside.verdict", receipt.verdict.strength().as_str()),
                ];
                self.decisions.record(receipt.took.as_secs_f64(), &attributes);
                receipt.runs.each(|hook, took, outcome| {
                    self.hook(receipt.name(hook), took.as_secs_f64(), outcome);
                });
            }
            Signal::DetachedFinished { hook, outcome, took, .. } => {
                self.hook(&hook.name, took.as_secs_f64(), outcome);
            }
            Signal::ApprovalAsked { .. } => self.asked.add(1, &[]),
            _ => {}
        }
    }

    fn hook(&self, name: &str, took: f64, outcome: &Outcome) {
        let Some(verdict) = outcome.verdict() else { return };
        let mut attributes = vec![
            named("lineside.hook", name),
            KeyValue::new("lineside.verdict", verdict.strength().as_str()),
        ];
        if let Outcome::Failed { failure, .. } = outcome {
            attributes.push(KeyValue::new("error.type", failure.kind.as_str()));
        }
        self.hooks.record(took, &attributes);
    }
}
