//! The setters of a builder that paces an automation, written once for those that register it in a process and those
//! that register it at a daemon.

/// The setters of a builder with a field `control: Control`, one for each of its settings.
#[doc(hidden)]
#[macro_export]
macro_rules! control_setters {
    () => {
        /// At most this many starts in a period; no bound by default.
        pub fn rate(mut self, rate: $crate::control::Rate) -> Self {
            self.control.rate = Some(rate);
            self
        }

        /// Events are held until it is quiet, and there is one run for all of them.
        pub fn debounce(mut self, pace: $crate::flow::Debounce) -> Self {
            self.control.debounce = Some(pace);
            self
        }

        /// Events are held until there are enough, and there is one run for all of them. With a debounce as well, whichever
        /// is over first.
        pub fn batch(mut self, batch: $crate::control::Batch) -> Self {
            self.control.batch = Some(batch);
            self
        }

        /// What is held together, as a template of keys; what concerns the same agent of the same session when this is not
        /// called.
        pub fn hold_per(mut self, key: impl Into<String>) -> Self {
            self.control.hold_key = Some(key.into());
            self
        }

        /// Of which machines events are held together; of this one by default. With the scope of the cluster, what
        /// is held together is all of the automation unless [`hold_per`](Self::hold_per) says otherwise.
        pub fn hold_scope(mut self, scope: $crate::control::Scope) -> Self {
            self.control.hold_scope = scope;
            self
        }

        /// Greater goes first where several wait; 0 by default.
        pub fn priority(mut self, priority: i32) -> Self {
            self.control.priority = priority;
            self
        }

        /// Runs with the same key go one at a time, in order, also with those of other automations; a template such as
        /// `lint:{project_root}`. No key by default.
        pub fn concurrency(mut self, key: impl Into<String>) -> Self {
            self.control.concurrency = Some(key.into());
            self
        }

        /// This many runs with the same key at a time instead of one.
        pub fn limit(mut self, limit: u32) -> Self {
            self.control.limit = limit;
            self
        }

        /// What happens when the key is taken; it waits in order by default.
        pub fn on_busy(mut self, on_busy: $crate::control::OnBusy) -> Self {
            self.control.on_busy = on_busy;
            self
        }

        /// How far the key holds; on this machine by default.
        pub fn scope(mut self, scope: $crate::control::Scope) -> Self {
            self.control.scope = scope;
            self
        }

        /// Where it may run; on the machine that its event came from by default. What lives in a program runs
        /// there in any case.
        pub fn place(mut self, place: $crate::control::Place) -> Self {
            self.control.place = place;
            self
        }

        /// How long one attempt may take; two minutes by default.
        pub fn timeout(mut self, timeout: ::std::time::Duration) -> Self {
            self.control.timeout = timeout;
            self
        }

        /// How often a run that failed is tried; once by default.
        pub fn retry(mut self, retry: $crate::control::Retry) -> Self {
            self.control.retry = retry;
            self
        }

        /// Whether the next model call waits for it; it does not by default.
        pub fn join(mut self, join: $crate::hook::Join) -> Self {
            self.control.join = join;
            self
        }

        /// What becomes of its report; the end of what is not in order goes to the context by default.
        pub fn result(mut self, result: $crate::report::ResultRule) -> Self {
            self.control.result = result;
            self
        }

        /// What becomes of its work when the session ends; it is drained, for two minutes at most, by default.
        pub fn at_end(mut self, at_end: $crate::control::AtEnd) -> Self {
            self.control.at_end = at_end;
            self
        }

        /// All settings at once, in the place of earlier ones.
        pub fn control(mut self, control: $crate::control::Control) -> Self {
            self.control = control;
            self
        }
    };
}
