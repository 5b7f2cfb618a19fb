//! The typed handle on which events of one point are published and heard.

use std::marker::PhantomData;
use std::sync::Arc;

use lineside_core::payload::{Intercept, Point};

use crate::api::decision::Decision;
use crate::api::publish::PublishError;
use crate::api::register::{Intercepting, Observing};
use crate::hook::state::Session;

/// The channel of the point `P` in one session.
pub struct Channel<P> {
    session: Session,
    point: PhantomData<fn() -> P>,
}

impl<P> Clone for Channel<P> {
    fn clone(&self) -> Self {
        Self::new(self.session.clone())
    }
}

impl<P> Channel<P> {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, point: PhantomData }
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }
}

impl<P: Point> Channel<P> {
    /// Publishes an event and waits for the decision; see [`Session::publish`].
    ///
    /// # Errors
    /// As [`Session::publish`].
    pub async fn publish(&self, payload: P) -> Result<Decision<P>, PublishError> {
        self.session.publish(payload).await
    }

    /// Registers an observer; see [`Session::observe`].
    pub fn observe(&self, name: impl Into<Arc<str>>) -> Observing<P> {
        self.session.observe(name)
    }
}

impl<P: Intercept> Channel<P> {
    /// Registers an interceptor; see [`Session::intercept`].
    pub fn intercept(&self, name: impl Into<Arc<str>>) -> Intercepting<P> {
        self.session.intercept(name)
    }
}
