//! Keys that hold on more machines than this one: a port, which a program that has joined others fills. The line of jobs here
//! comes first: of each key this machine asks for one at a time.

use std::fmt;

use lineside_bus::interceptor::BoxFuture;

/// Runs under keys of which other machines know.
///
/// ```
/// use lineside_automation::shared_keys::{LostKeyError, RunUnderKey, SharedKeys};
/// use lineside_bus::interceptor::BoxFuture;
///
/// /// Keys of a cluster of one machine.
/// struct Alone;
///
/// impl SharedKeys for Alone {
///     fn under(&self, _key: &str, run: RunUnderKey) -> BoxFuture<Result<(), LostKeyError>> {
///         Box::pin(async move {
///             run(1).await;
///             Ok(())
///         })
///     }
/// }
/// # fn is_shared(_: impl SharedKeys) {}
/// # is_shared(Alone);
/// ```
pub trait SharedKeys: Send + Sync {
    /// Waits for a key, for as long as it takes, has this run under it, and gives it back. What runs is given the fencing token
    /// of the key: one that is greater than that of every run before it on any machine.
    ///
    /// Dropping the future gives up what runs, and the key.
    ///
    /// # Errors
    /// The key may have been another machine's before the run had ended, which was given up then; what it came to is not
    /// to count.
    fn under(&self, key: &str, run: RunUnderKey) -> BoxFuture<Result<(), LostKeyError>>;
}

/// What runs under a key, of which it is given the fencing token.
pub type RunUnderKey = Box<dyn FnOnce(u64) -> BoxFuture<()> + Send>;

/// A key may have been another machine's before its run had ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostKeyError(
    /// How it was lost.
    pub String,
);

impl fmt::Display for LostKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key was lost while this ran: {}", self.0)
    }
}

impl std::error::Error for LostKeyError {}
