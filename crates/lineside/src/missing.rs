//! The place in a plan of a hook that could not be loaded, so that receipts tell of it.

use std::sync::Arc;
use std::time::Duration;

use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_bus::{Cx, Installed};
use lineside_core::hook::{Hook, Standby};
use lineside_core::{AnyEvent, Failure, OnFailure, Part, PointInfo, Response};
use lineside_dialects::Inert;

/// What is installed for something that was found and could not be loaded: one hook at each point where it is missed.
pub(crate) fn missing(dialect: &'static str, inert: &Inert) -> Vec<Installed> {
    let at = |point: &'static PointInfo, remark: &Arc<str>| {
        // Where nothing can be refused only a post-decision hook may be installed.
        let part = if point.phase.may_intercept() { Part::Gate } else { Part::PostDecision };
        let hook = Hook::native(inert.name.as_str(), part)
            .source(Arc::from(dialect))
            .dialect(dialect)
            .origin(inert.origin.clone())
            .layer(inert.layer)
            .on_failure(OnFailure::Continue)
            .timeout(Duration::from_secs(1))
            .standby(Standby::NotLoaded(Arc::clone(remark)));
        Installed { point, hook, run: Arc::new(Nothing) }
    };
    let missed = inert.missed.iter();
    missed.flat_map(|missed| missed.points.iter().map(|point| at(point, &missed.remark))).collect()
}

/// Is never asked, for its hook is in no plan ready.
struct Nothing;

impl Interceptor for Nothing {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(std::future::ready(Ok(Response::default())))
    }
}
