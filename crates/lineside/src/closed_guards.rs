//! Guards of a project that stand closed on one session, where what was trusted of them elsewhere cannot be run.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use lineside_bus::register::{RegisterHookError, Registration};
use lineside_bus::{Installed, Session};
use lineside_core::PointInfo;
use lineside_core::hook::NATIVE;
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
    /// Takes them away. Events under way end with them.
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

impl Assembly {
    /// Has the guards of the project with this root stand closed on a session, for everything below it as well; at every
    /// point of something that has not happened yet where they are not known. `why` says what to do about it.
    ///
    /// # Errors
    /// The session is closed. None of them is registered then.
    pub fn close_guards(
        &self,
        session: &Session,
        root: &Path,
        guards: Option<&[Guard]>,
        why: &str,
    ) -> Result<ClosedGuards, RegisterHookError> {
        let of_all = if guards.is_none() { unknown(root) } else { Vec::new() };
        let mut all = ClosedGuards(Vec::new());
        for found in closed(root, guards.unwrap_or(&of_all), why) {
            let run = Arc::new(Foreign::new(&found, self.outside.clone(), None));
            for point in &found.points {
                let installed = Installed { point, hook: found.hook.clone(), run: Arc::clone(&run) as _ };
                match session.of_dialect(found.hook.dialect).add(installed) {
                    Ok(registration) => all.0.push(registration),
                    Err(error) => {
                        all.remove();
                        return Err(error);
                    }
                }
            }
        }
        Ok(all)
    }
}
