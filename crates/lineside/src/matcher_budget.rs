//! How long the conditions of all hooks together may take for one event. A hook whose condition is not looked at any
//! more runs, as one that is in doubt, unless it is for what is certain alone.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lineside_core::hook::{Select, Selected};
use lineside_core::{AnyEvent, EventId, SkipReason};

/// A condition that takes less is not counted: most take less than a thousandth of it.
const NOTICEABLE: Duration = Duration::from_millis(5);

/// What the conditions for one event may take.
const MOST: Duration = Duration::from_secs(2);

/// For how many events, of those under way, it is known what their conditions have taken.
const EVENTS: usize = 256;

/// Counts what conditions take. Clones count together.
#[derive(Clone, Default)]
pub(crate) struct MatcherBudget(Arc<Spent>);

#[derive(Default)]
struct Spent {
    /// Whether anything was ever counted.
    any: AtomicBool,
    events: Mutex<VecDeque<(EventId, Duration)>>,
}

impl MatcherBudget {
    /// The same condition, whose time is counted.
    pub(crate) fn over(&self, select: Arc<dyn Select>) -> Arc<dyn Select> {
        Arc::new(Counted { select, patience: self.clone() })
    }

    fn is_over(&self, event: EventId) -> bool {
        self.0.any.load(Ordering::Relaxed)
            && self.0.events().iter().any(|(counted, spent)| *counted == event && *spent > MOST)
    }

    fn spend(&self, event: EventId, took: Duration) {
        if took < NOTICEABLE {
            return;
        }
        self.0.any.store(true, Ordering::Relaxed);
        let mut events = self.0.events();
        match events.iter_mut().find(|(counted, _)| *counted == event) {
            Some((_, spent)) => *spent += took,
            None => {
                if events.len() == EVENTS {
                    events.pop_front();
                }
                events.push_back((event, took));
            }
        }
    }
}

impl Spent {
    fn events(&self) -> MutexGuard<'_, VecDeque<(EventId, Duration)>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Counted {
    select: Arc<dyn Select>,
    patience: MatcherBudget,
}

impl Select for Counted {
    fn select(&self, event: &AnyEvent) -> Selected {
        let id = event.envelope().id;
        if self.patience.is_over(id) {
            if self.is_certain() {
                return Selected::Skipped(SkipReason::Filter);
            }
            return Selected::InDoubt(
                "the conditions of other hooks have taken too long; its own counts as met".into(),
            );
        }
        let began = Instant::now();
        let selected = self.select.select(event);
        self.patience.spend(id, began.elapsed());
        selected
    }

    fn tools(&self) -> Option<&[String]> {
        self.select.tools()
    }

    fn is_certain(&self) -> bool {
        self.select.is_certain()
    }

    fn describe(&self) -> String {
        self.select.describe()
    }

    fn fit(&self, event: &AnyEvent) -> Option<String> {
        self.select.fit(event)
    }

    fn misfit(&self, event: &AnyEvent) -> String {
        self.select.misfit(event)
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::Verdict;
    use lineside_core::json::json;
    use lineside_points::BeforeTool;

    use super::*;

    struct Never;

    impl Select for Never {
        fn select(&self, _: &AnyEvent) -> Selected {
            Selected::Skipped(SkipReason::Filter)
        }

        fn describe(&self) -> String {
            "never".to_owned()
        }
    }

    #[tokio::test]
    async fn what_has_taken_too_long_for_one_event_is_looked_at_for_the_next() {
        let session = lineside_bus::Bus::new().session("s").open().await.unwrap();
        session.intercept::<BeforeTool>("g").gate(async |_, _| Verdict::Continue).unwrap();
        let event = async || {
            let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
            decision.receipt().unwrap().event.clone()
        };
        let (first, second) = (event().await, event().await);
        let patience = MatcherBudget::default();
        let [one, other] = [(); 2].map(|()| patience.over(Arc::new(Never)));
        let skipped = Selected::Skipped(SkipReason::Filter);
        assert_eq!(one.select(&first), skipped);
        for _ in 0..21 {
            assert_eq!(other.select(&first), skipped);
            patience.spend(first.envelope().id, Duration::from_millis(100));
        }
        let certain = lineside_core::matcher::tool("Shell").compile().unwrap().certain();
        assert_eq!(patience.over(Arc::new(certain)).select(&first), skipped, "what is certain alone");
        for select in [&one, &other] {
            assert!(matches!(select.select(&first), Selected::InDoubt(_)));
            assert_eq!(select.select(&second), skipped);
        }
        for _ in 0..EVENTS {
            let id = event().await.envelope().id;
            patience.spend(id, NOTICEABLE);
        }
        assert!(patience.0.events().len() <= EVENTS);
    }
}
