//! Hooks that live in no program which attaches here: where they are, and how they are asked, is for who has them.

use std::fmt;
use std::pin::Pin;

use lineside_core::worker::{HookCall, WorkerEnded};

/// Where a hook is called that lives in no program which attaches here, such as on another machine.
pub trait Elsewhere: fmt::Debug + Send + Sync {
    /// Calls the hook, and says how that ended: within the time of the call, and at once where it cannot be asked.
    ///
    /// Dropping the future cancels the call. How many calls are under way at once is bounded by who implements this.
    fn call(&self, call: HookCall) -> Pin<Box<dyn Future<Output = WorkerEnded> + Send + '_>>;
}
