//! Panics of hooks, caught, and how many hooks have failed.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use lineside_core::failure::drop_payload;
use lineside_core::{Failure, FailureKind};
use lineside_redact::redact_head;

/// A future on the heap.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How much of a panic's message is kept, in characters.
const LONGEST_PANIC: usize = 500;

/// How many hooks have failed. Clones are the same count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failures(Arc<AtomicU64>);

impl Failures {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Calls what an interceptor does beside answering; a panic is counted, and its value is the failure.
    ///
    /// # Errors
    /// It has panicked.
    pub(crate) fn caught<T>(&self, beside: impl FnOnce() -> T) -> Result<T, Failure> {
        catch_unwind(AssertUnwindSafe(beside)).map_err(|panic| self.of_panic(panic))
    }

    /// The same of what takes time.
    ///
    /// # Errors
    /// It has panicked.
    pub(crate) async fn caught_later<T>(&self, beside: impl FnOnce() -> BoxFuture<T>) -> Result<T, Failure> {
        let future = self.caught(beside)?;
        caught(future).await.map_err(|panic| self.of_panic(panic))
    }

    fn of_panic(&self, panic: Box<dyn Any + Send>) -> Failure {
        self.count();
        let failure = panicked(panic);
        tracing::warn!(detail = %failure.detail, "a hook failed beside its answer");
        failure
    }
}

/// The failure that a panic is.
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    // Redacted before the line ends are gone and before it is cut: both are a part of how secrets look.
    let text = redact_head(text, 4 * LONGEST_PANIC);
    let line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_PANIC).collect();
    drop_payload(panic);
    Failure::new(FailureKind::Panic, format!("panicked: {line}"))
}

/// Runs a future to its end and catches its panics.
pub(crate) async fn caught<T>(mut future: BoxFuture<T>) -> Result<T, Box<dyn Any + Send>> {
    std::future::poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
