//! Guards of a project that stand closed on one session, where what was trusted of them elsewhere cannot be run.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use lineside_bus::interceptor::Interceptor;
use lineside_bus::register::{RegisterHookError, Registration};
use lineside_bus::{Installed, Session};
use lineside_core::PointInfo;
use lineside_core::hook::{Hook, NATIVE};
use lineside_core::point::{Phase, PointRole};
use lineside_points::CATALOGUE;
use lineside_trust::Guard;

use crate::assembly::Assembly;
use crate::foreign::Foreign;
use crate::project::closed;

/// Guards that stand closed on a session and below it: each refuses what it would have judged.
pub struct ClosedGuards(Vec<Registration>);

impl fmt::Debug for ClosedGuards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClosedGuards").field(&self.0.len()).finish()
    }
}

impl ClosedGuards {
    /// Removes them. Events under way end with them.
    pub fn remove(self) {
        self.0.iter().for_each(|registration| {
            registration.remove();
        });
    }
}

/// The guards of a project of which no guard is known: one at each point of something that has not happened yet.
fn unknown(root: &Path) -> Vec<Guard> {
    let is_gate = |point: &&&'static PointInfo| point.role == PointRole::None && point.phase == Phase::Before;
    let guard = |point: &&'static PointInfo| Guard {
        hook: format!("hooks of {}", root.display()),
        dialect: NATIVE.to_owned(),
        point: point.name.to_owned(),
        file: String::new(),
        line: 1,
    };
    CATALOGUE.iter().filter(is_gate).map(guard).collect()
}

/// Guards as they stand closed, ready for any number of sessions. Clones are the same.
#[derive(Clone)]
pub struct PreparedGuards(Arc<[Prepared]>);

struct Prepared {
    point: &'static PointInfo,
    hook: Hook,
    run: Arc<dyn Interceptor>,
}

impl fmt::Debug for PreparedGuards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PreparedGuards").field(&self.0.len()).finish()
    }
}

impl PreparedGuards {
    /// Has them stand closed on a session, and for everything below it as well.
    ///
    /// # Errors
    /// The session is closed. None of them is registered then.
    pub fn close(&self, session: &Session) -> Result<ClosedGuards, RegisterHookError> {
        let mut all = ClosedGuards(Vec::with_capacity(self.0.len()));
        for Prepared { point, hook, run } in &*self.0 {
            let installed = Installed { point, hook: hook.clone(), run: Arc::clone(run) };
            match session.of_dialect(hook.dialect).attach(installed) {
                Ok(registration) => all.0.push(registration),
                Err(error) => {
                    all.remove();
                    return Err(error);
                }
            }
        }
        Ok(all)
    }
}

impl Assembly {
    /// The guards of the project with this root as they stand closed: one at every point of something that has not happened
    /// yet where they are not known. `why` says what to do about it.
    ///
    /// ```
    /// use std::path::Path;
    /// use lineside::Assembly;
    /// use lineside::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bus = Bus::new();
    /// let root = Path::new("/home/me/project");
    /// let guards = Assembly::new(bus.clone()).of_project(root).prepare_guards(root, None, "trust it again");
    /// let session = bus.session("s1").open().await?;
    /// let closed = guards.close(&session)?;
    /// let call = || BeforeTool::new("Shell", json!({"command": "ls"}));
    /// assert!(session.publish(call()).await?.is_refused());
    /// closed.remove();
    /// assert!(!session.publish(call()).await?.is_refused());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn prepare_guards(&self, root: &Path, guards: Option<&[Guard]>, why: &str) -> PreparedGuards {
        let of_all = if guards.is_none() { unknown(root) } else { Vec::new() };
        let prepared = closed(root, guards.unwrap_or(&of_all), why).flat_map(|found| {
            let run: Arc<dyn Interceptor> = Arc::new(Foreign::new(&found, self.outside.clone(), None));
            let points = found.points.into_iter();
            points.map(move |point| Prepared { point, hook: found.hook.clone(), run: Arc::clone(&run) })
        });
        PreparedGuards(prepared.collect())
    }
}

#[cfg(test)]
mod tests {
    use lineside_bus::Bus;
    use lineside_core::json::json;
    use lineside_points::BeforeTool;

    use super::*;

    #[tokio::test]
    async fn guards_that_are_ready_stand_closed_on_each_session_until_they_are_removed_there() {
        let assembly = Assembly::new(Bus::new());
        let guards = assembly.prepare_guards(Path::new("/p"), None, "look at it");
        let reason = async |session: &Session| {
            let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
            decision.is_refused().then(|| decision.verdict().to_string())
        };
        let mut all = Vec::new();
        for id in ["a", "b"] {
            let session = assembly.bus().session(id).open().await.unwrap();
            all.push((guards.close(&session).unwrap(), session));
        }
        for (_, session) in &all {
            let reason = reason(session).await.unwrap();
            assert!(reason.contains("hooks of /p") && reason.contains("look at it"), "{reason}");
        }
        assert!(guards.0.iter().all(|one| Arc::strong_count(&one.run) > 2), "both have the same");
        let (closed, session) = all.remove(0);
        closed.remove();
        assert_eq!(reason(&session).await, None);
        assert!(reason(&all[0].1).await.is_some(), "the other session's stay");
        session.close().await;
        guards.close(&session).unwrap_err();
        assert!(!session.has_own_hooks());
    }
}
