//! A hook that is a function: called with the variables, bounded, its panics caught (FL-35).

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use lineside_automation::{Automations, HookJobSpec, HookJobs};
use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_bus::{BackgroundRuns, Bus, Cx};
use lineside_core::failure::seconds;
use lineside_core::{AnyEvent, Failure, FailureKind, Hook, Response};
use lineside_dialects::flyto::{FlytoHook, HookResult};
use lineside_redact::redact;

use super::definition::Function;
use crate::foreign::is_background;

/// A function with what is known of it as a hook.
pub(super) struct Called {
    pub(super) hook: FlytoHook,
    pub(super) function: Function,
    /// Has its runs that no publisher waits for, which are jobs.
    pub(super) adopted: Option<Arc<HookJobs>>,
}

/// A hook of the programme as one whose runs are jobs without records, if no publisher waits for it.
pub(super) fn adopted(bus: &Bus, hook: &Hook) -> Option<Arc<HookJobs>> {
    let automations = is_background(hook).then(|| Automations::of(bus).ok()).flatten()?;
    Some(automations.hook_jobs().adopt(HookJobSpec::in_memory(hook)))
}

impl Interceptor for Called {
    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        self.adopted.clone().map(|adopted| adopted as _)
    }

    // The bus would catch a panic and keep the time too; it does not know what they mean at `stop` (FL-25).
    fn intercept(&self, event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let (hook, function) = (self.hook.clone(), self.function.clone());
        Box::pin(async move {
            let variables = hook.variables(&event);
            let result = tokio::time::timeout(hook.timeout(), async {
                let running = catch_unwind(AssertUnwindSafe(|| function(hook.hook_type(), variables)));
                let mut running = running.map_err(|panic| panicked(&*panic))?;
                poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
                    Ok(polled) => polled.map(Ok::<Option<HookResult>, Failure>),
                    Err(panic) => Poll::Ready(Err(panicked(&*panic))),
                })
                .await
            });
            let failed = match result.await {
                Ok(Ok(result)) => return hook.returned(&event, result).map(Response::from),
                Ok(Err(panic)) => panic,
                Err(_) => {
                    let detail = format!("timed out after {} s", seconds(hook.timeout()));
                    Failure::new(FailureKind::Timeout, detail)
                }
            };
            Err(hook.failed(failed))
        })
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    let text = redact(text);
    let line = text.lines().next().unwrap_or_default();
    Failure::new(FailureKind::Panic, format!("panicked: {line}"))
}
