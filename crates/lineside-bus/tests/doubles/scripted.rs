//! A hook that runs what a test gives it, and has nothing to say.

use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Cx, Interceptor};
use lineside_core::{AnyEvent, Failure, Response, Verdict};

/// A hook that runs this and has nothing to say.
pub(crate) fn scripted<F, Fut>(run: F) -> Arc<dyn Interceptor>
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    struct Scripted<F>(F);
    impl<F, Fut> Interceptor for Scripted<F>
    where
        F: Fn() -> Fut + Send + Sync,
        Fut: Future<Output = ()> + Send + 'static,
    {
        fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
            let run = (self.0)();
            Box::pin(async move {
                run.await;
                Ok(Verdict::Continue.into())
            })
        }
    }
    Arc::new(Scripted(run))
}
