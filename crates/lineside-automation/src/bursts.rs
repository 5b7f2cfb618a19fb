//! Events that are held until it is quiet: a pure state machine, given the time.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Add;
use std::time::{Duration, Instant};

use lineside_core::control::MOST_HELD;
use lineside_core::flow::Debounce;

/// The bursts of one hook, by key. `T` is a time: of the monotonic clock, or of a test.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_automation::bursts::Bursts;
/// use lineside_core::flow::Debounce;
///
/// // Times are durations since a start here; a program has those of its clock.
/// let secs = Duration::from_secs;
/// let mut bursts = Bursts::new(Debounce::quiet(secs(2)).at_most(secs(10)));
/// bursts.push("a.rs", "first", secs(0));
/// bursts.push("a.rs", "second", secs(1));
/// assert_eq!(bursts.due("a.rs"), Some(secs(3)));
/// assert_eq!(bursts.take_due("a.rs", secs(2)), None);
/// assert_eq!(bursts.take_due("a.rs", secs(3)), Some(vec!["first", "second"]));
/// ```
#[derive(Debug)]
pub struct Bursts<K, E, T = Instant> {
    pace: Debounce,
    most: usize,
    held: HashMap<K, Burst<E, T>>,
}

#[derive(Debug)]
struct Burst<E, T> {
    events: Vec<E>,
    first: T,
    last: T,
}

impl<E, T> Burst<E, T> {
    fn push(&mut self, now: T, event: impl FnOnce(&E) -> E) -> usize {
        // There is always one: a burst begins with its first.
        if let Some(last) = self.events.last() {
            let event = event(last);
            self.events.push(event);
            self.last = now;
        }
        self.events.len()
    }
}

/// Whether an event began a burst or joined one.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_automation::bursts::{Bursts, Pushed};
/// use lineside_core::flow::Debounce;
///
/// let secs = Duration::from_secs;
/// let mut bursts = Bursts::new(Debounce::quiet(secs(2)));
/// assert_eq!(bursts.push("a.rs", "first", secs(0)), Pushed::Began);
/// assert_eq!(bursts.push("a.rs", "second", secs(1)), Pushed::Joined);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It is the first; the caller has to wait for the end of the burst.
    Began,
    /// There were others before it.
    Joined,
}

impl<K: Hash + Eq + Clone, E, T: Copy + Ord + Add<Duration, Output = T>> Bursts<K, E, T> {
    /// No bursts yet.
    #[must_use]
    pub fn new(pace: Debounce) -> Self {
        Self { pace, most: MOST_HELD + 1, held: HashMap::new() }
    }

    /// A burst is also due when it holds this many events, if that is fewer than one burst may hold.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_automation::bursts::Bursts;
    /// use lineside_core::flow::Debounce;
    ///
    /// let secs = Duration::from_secs;
    /// let mut bursts = Bursts::new(Debounce::quiet(secs(60))).due_at(2);
    /// bursts.push("a.rs", "first", secs(0));
    /// bursts.push("a.rs", "second", secs(1));
    /// assert_eq!(bursts.due("a.rs"), Some(secs(1)));
    /// ```
    #[must_use]
    pub fn due_at(mut self, events: usize) -> Self {
        self.most = self.most.min(events);
        self
    }

    /// Another pace and another count from now on, also for what is held already; and no event counts as one that
    /// came after `now`, because the clock may have been put back since.
    pub fn change(&mut self, pace: Debounce, events: usize, now: T) {
        self.pace = pace;
        self.most = (MOST_HELD + 1).min(events);
        for burst in self.held.values_mut() {
            burst.first = burst.first.min(now);
            burst.last = burst.last.min(now);
        }
    }

    /// Holds an event.
    pub fn push(&mut self, key: K, event: E, now: T) -> Pushed {
        let mut began = None;
        self.push_with(&key.clone(), || began.insert(key).clone(), now, |_| event);
        if began.is_some() { Pushed::Began } else { Pushed::Joined }
    }

    /// Holds an event that is made beside the one before it, under a key that is only made for the first; gives how
    /// many are held now.
    pub fn push_with<Q: Hash + Eq + ?Sized>(
        &mut self,
        key: &Q,
        begin: impl FnOnce() -> K,
        now: T,
        event: impl FnOnce(Option<&E>) -> E,
    ) -> usize
    where
        K: Borrow<Q>,
    {
        if let Some(burst) = self.held.get_mut(key) {
            return burst.push(now, |last| event(Some(last)));
        }
        let event = event(None);
        self.held.insert(begin(), Burst { events: vec![event], first: now, last: now });
        1
    }

    /// Holds an event, made beside the one before it, if others of its key are held; returns how many are held now.
    pub fn join<Q: Hash + Eq + ?Sized>(
        &mut self,
        key: &Q,
        now: T,
        event: impl FnOnce(&E) -> E,
    ) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        Some(self.held.get_mut(key)?.push(now, event))
    }

    /// When the burst of a key is due: when it has been quiet for long enough or holds as many as it may, and at the
    /// latest so long after its first event; `None` when there is no burst.
    #[must_use]
    pub fn due<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<T>
    where
        K: Borrow<Q>,
    {
        let burst = self.held.get(key)?;
        if burst.events.len() >= self.most {
            return Some(burst.last);
        }
        Some((burst.last + self.pace.quiet).min(burst.first + self.pace.at_most))
    }

    /// The events of a burst, in order, if it is due by now.
    pub fn take_due<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, now: T) -> Option<Vec<E>>
    where
        K: Borrow<Q>,
    {
        if self.due(key)? > now {
            return None;
        }
        self.take(key)
    }

    /// The events of a burst, in order, if this holds of them, due or not.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_automation::bursts::Bursts;
    /// use lineside_core::flow::Debounce;
    ///
    /// let secs = Duration::from_secs;
    /// let mut bursts = Bursts::new(Debounce::quiet(secs(2)));
    /// bursts.push("a.rs", "first", secs(0));
    /// assert_eq!(bursts.take_if("a.rs", |events| events.len() > 1), None);
    /// assert_eq!(bursts.take_if("a.rs", |events| events.len() == 1), Some(vec!["first"]));
    /// ```
    pub fn take_if<Q: Hash + Eq + ?Sized>(
        &mut self,
        key: &Q,
        wanted: impl FnOnce(&[E]) -> bool,
    ) -> Option<Vec<E>>
    where
        K: Borrow<Q>,
    {
        wanted(self.held(key)?).then(|| self.take(key))?
    }

    /// Keeps those events of a burst for which this holds; without any there is no burst.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_automation::bursts::Bursts;
    /// use lineside_core::flow::Debounce;
    ///
    /// let secs = Duration::from_secs;
    /// let mut bursts = Bursts::new(Debounce::quiet(secs(2)));
    /// bursts.push("a.rs", 1, secs(0));
    /// bursts.push("a.rs", 2, secs(1));
    /// bursts.retain("a.rs", |event| *event > 1);
    /// assert_eq!(bursts.held("a.rs"), Some(&[2][..]));
    /// bursts.retain("a.rs", |_| false);
    /// assert_eq!(bursts.held("a.rs"), None);
    /// ```
    pub fn retain<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, keep: impl FnMut(&E) -> bool)
    where
        K: Borrow<Q>,
    {
        let Some(burst) = self.held.get_mut(key) else { return };
        burst.events.retain(keep);
        if burst.events.is_empty() {
            self.held.remove(key);
        }
    }

    /// The events of a burst, due or not.
    #[must_use]
    pub fn held<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&[E]>
    where
        K: Borrow<Q>,
    {
        self.held.get(key).map(|burst| &*burst.events)
    }

    /// When the first and the last event of a burst came.
    #[must_use]
    pub fn since<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(T, T)>
    where
        K: Borrow<Q>,
    {
        self.held.get(key).map(|burst| (burst.first, burst.last))
    }

    fn take<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<Vec<E>>
    where
        K: Borrow<Q>,
    {
        self.held.remove(key).map(|burst| burst.events)
    }

    /// The keys of the bursts for which this holds.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_automation::bursts::Bursts;
    /// use lineside_core::flow::Debounce;
    ///
    /// let secs = Duration::from_secs;
    /// let mut bursts = Bursts::new(Debounce::quiet(secs(2)));
    /// bursts.push("a.rs", 1, secs(0));
    /// bursts.push("b.md", 2, secs(0));
    /// assert_eq!(bursts.keys(|key| key.ends_with(".rs")), ["a.rs"]);
    /// ```
    pub fn keys(&self, which: impl Fn(&K) -> bool) -> Vec<K> {
        self.held.keys().filter(|key| which(key)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const PACE: Debounce =
        Debounce { quiet: Duration::from_millis(100), at_most: Duration::from_millis(1000) };

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn with_another_pace_a_burst_holds_as_many_as_before() {
        let start = Instant::now();
        let mut bursts = Bursts::new(PACE);
        bursts.change(PACE, usize::MAX, start);
        for number in 0..MOST_HELD {
            bursts.push("k", number, start);
        }
        assert_eq!(bursts.take_due(&"k", start), None);
        bursts.push("k", MOST_HELD, start);
        assert_eq!(bursts.take_due(&"k", start).map(|events| events.len()), Some(MOST_HELD + 1));
    }

    #[test]
    fn each_event_starts_the_quiet_time_anew() {
        // CH-53
        let start = Instant::now();
        let mut bursts = Bursts::new(PACE);
        assert_eq!(bursts.push("k", 1, start), Pushed::Began);
        assert_eq!(bursts.push("k", 2, at(start, 90)), Pushed::Joined);
        assert_eq!(bursts.take_due(&"k", at(start, 100)), None);
        assert_eq!(bursts.due(&"k"), Some(at(start, 190)));
        assert_eq!(bursts.take_due(&"k", at(start, 190)), Some(vec![1, 2]));
        assert_eq!(bursts.due(&"k"), None);
    }

    #[test]
    fn a_burst_postpones_only_up_to_its_longest_wait() {
        // CH-53
        let start = Instant::now();
        let mut bursts = Bursts::new(PACE);
        for number in 0..20 {
            bursts.push("k", number, at(start, number * 50));
        }
        assert_eq!(bursts.due(&"k"), Some(at(start, 1000)));
    }

    #[test]
    fn a_burst_that_is_too_large_is_due_at_once() {
        let start = Instant::now();
        let mut bursts = Bursts::new(PACE);
        for number in 0..=MOST_HELD {
            bursts.push("k", number, start);
        }
        assert_eq!(bursts.due(&"k"), Some(start));
    }

    proptest! {
        /// Whatever comes when: nothing is lost or doubled, order is kept within a key, and nothing waits longer than
        /// it may.
        #[test]
        fn every_event_comes_out_once_in_order_and_in_time(
            gaps in prop::collection::vec((0u64..400, 0usize..3), 1..60)
        ) {
            let start = Instant::now();
            let mut bursts = Bursts::new(PACE);
            let mut now = 0;
            let mut taken: Vec<Vec<u64>> = vec![Vec::new(); 3];
            let mut pushed: Vec<Vec<u64>> = vec![Vec::new(); 3];
            let drain = |bursts: &mut Bursts<usize, (u64, u64)>, now: u64, taken: &mut Vec<Vec<u64>>| {
                for (key, taken) in taken.iter_mut().enumerate() {
                    if let Some(events) = bursts.take_due(&key, at(start, now)) {
                        // Looked at every millisecond, so it comes out when it is due.
                        assert!(events.iter().all(|(when, _)| now - when <= 1000));
                        taken.extend(events.iter().map(|(_, id)| *id));
                    }
                }
            };
            for (id, (gap, key)) in gaps.iter().enumerate() {
                for _ in 0..*gap {
                    now += 1;
                    drain(&mut bursts, now, &mut taken);
                }
                bursts.push(*key, (now, id as u64), at(start, now));
                pushed[*key].push(id as u64);
            }
            for _ in 0..1000 {
                now += 1;
                drain(&mut bursts, now, &mut taken);
            }
            prop_assert_eq!(taken, pushed);
        }
    }
}
