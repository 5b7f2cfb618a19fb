//! Keys for what is no job: a gate that has a concurrency key waits for it in the same line as the jobs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::Engine;
use super::automations::Automations;
use crate::machine::job::ClaimId;
use crate::machine::{Effect, Input};

/// A place in the line for a key; a future that resolves when the key is there. Dropping it gives up the place.
#[derive(Debug)]
pub struct KeyClaim {
    waits: Option<oneshot::Receiver<()>>,
    held: Option<HeldKey>,
}

/// A key that is held. Dropping it hands the key to the next one.
pub struct HeldKey {
    engine: Arc<Engine>,
    claim: ClaimId,
}

impl std::fmt::Debug for HeldKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldKey").field("claim", &self.claim).finish_non_exhaustive()
    }
}

impl Automations {
    /// Takes a place in the line for a key, now and not when it is first polled. The line is that of the jobs: as long
    /// as one has the key no other one has it, and places are given in the order in which they were asked for.
    ///
    /// Once everything is left to the next life, no job gets it any more; otherwise it is the same.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use lineside_automation::Automations;
    /// use lineside_bus::Bus;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let automations = Automations::of(&Bus::new())?;
    /// let key = Arc::from("deploy");
    /// let held = automations.claim(&key).await;
    /// let next = automations.claim(&key);
    /// // Jobs with this key, and other claims of it, wait for this one.
    /// drop(held);
    /// drop(next.await);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the place is given up when it is dropped"]
    pub fn claim(&self, key: &Arc<str>) -> KeyClaim {
        let claim = ClaimId(self.engine.next_registration());
        let (granted, waits) = oneshot::channel();
        let mut core = self.engine.core();
        core.claims.insert(claim, granted);
        let is_granted = self.engine.step_in(core, Input::Claim(claim, Arc::clone(key)), |effects| {
            effects.iter().any(|effect| matches!(effect, Effect::Granted(own) if *own == claim))
        });
        let held = HeldKey { engine: Arc::clone(&self.engine), claim };
        let waits = (!is_granted).then_some(waits);
        KeyClaim { waits, held: Some(held) }
    }
}

impl Future for KeyClaim {
    type Output = HeldKey;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<HeldKey> {
        if let Some(waits) = &mut self.waits {
            // What tells it is kept until it has the key.
            if !matches!(Pin::new(waits).poll(cx), Poll::Ready(Ok(()))) {
                return Poll::Pending;
            }
        }
        match self.held.take() {
            Some(held) => Poll::Ready(held),
            // It was polled after it had given the key.
            None => Poll::Pending,
        }
    }
}

impl Drop for HeldKey {
    fn drop(&mut self) {
        let mut core = self.engine.core();
        core.claims.remove(&self.claim);
        self.engine.step_in(core, Input::GiveUp(self.claim), |_| ());
    }
}
