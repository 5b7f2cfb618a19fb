//! Hooks of jcli that a programme registers for one session (JC-6).
//!
//! They run after those of the files, in the order of their registration, and end with the session. Numbers such as
//! JC-6 are those of `docs/rules/jcli.md`.
//!
//! ```
//! use lineside::Assembly;
//! use lineside::dialects::{Places, Trust};
//! use lineside::jcli::{Ask, SessionHook};
//! use lineside::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bus = Bus::new();
//! let assembly = Assembly::new(bus.clone());
//! let session = bus.session("s1").open().await?;
//! let places = Places {
//!     environment: std::env::vars().collect(),
//!     project_root: None,
//!     cwd: std::env::current_dir()?,
//!     trust: Trust::Withheld,
//! };
//! let skip = Ask::Command(r#"echo '{"action": "skip"}'"#.to_owned());
//! assembly.jcli_hook(&session, "pre_tool_execution", SessionHook::new(skip), &places)?;
//!
//! let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
//! assert!(decision.is_refused());
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

use lineside_bus::register::RegisterHookError;
use lineside_bus::{Installed, Registration, Session};
use lineside_dialects::Places;
use lineside_dialects::jcli::{self, DIALECT, session_hook};

pub use lineside_dialects::jcli::{Ask, RegisterSessionHookError, SessionHook};

use crate::assembly::Assembly;
use crate::foreign::Foreign;

/// Why a hook cannot be registered for a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterJcliHookError {
    /// What is asked for is no hook.
    #[error(transparent)]
    Hook(#[from] RegisterSessionHookError),
    /// The bus does not take it.
    #[error(transparent)]
    Bus(#[from] RegisterHookError),
}

impl Assembly {
    /// Registers a hook for one session and one event, in the words of jcli; its name is `session:<number>`, counted
    /// from 0 for each point, and one more than the greatest that the session has there.
    ///
    /// # Errors
    /// No such event, nothing to run, no time to do so, or more hooks than can be numbered.
    pub fn jcli_hook(
        &self,
        session: &Session,
        event: &str,
        hook: SessionHook,
        places: &Places,
    ) -> Result<Registration, RegisterJcliHookError> {
        let registered = session.of_dialect(DIALECT);
        let point = jcli::point_of(event)?;
        let hooks = registered.list();
        let here = hooks.iter().filter(|(other, _)| *other == point);
        let numbers = here.filter_map(|(_, hook)| hook.name.strip_prefix("session:")?.parse::<usize>().ok());
        let number = numbers.max().map_or(0, |last| last.saturating_add(1));
        let found = session_hook(event, number, hook, places)?;
        let run = Foreign::new(&found, self.outside.clone(), None).in_memory(&found, self.bus());
        Ok(registered.attach(Installed { point, hook: found.hook, run: Arc::new(run) })?)
    }
}

#[cfg(test)]
mod tests {
    use lineside_bus::Bus;
    use lineside_dialects::Trust;

    use super::*;

    #[tokio::test]
    async fn no_two_hooks_that_a_session_has_at_a_point_share_a_name() {
        // JC-6
        let bus = Bus::new();
        let assembly = Assembly::new(bus.clone());
        let session = bus.session("s").open().await.unwrap();
        let places = Places {
            environment: [].into(),
            project_root: None,
            cwd: "/nowhere".into(),
            trust: Trust::Withheld,
        };
        let register = |event| {
            let hook = SessionHook::new(Ask::Command("true".to_owned()));
            assembly.jcli_hook(&session, event, hook, &places).unwrap()
        };
        let first = register("pre_micro_compact");
        let _kept = [register("pre_auto_compact"), register("stop")];
        assert!(first.remove());
        let _again = register("pre_micro_compact");
        let hooks = session.of_dialect(DIALECT).list();
        let mut names: Vec<_> = hooks.iter().map(|(point, hook)| (point.name, &*hook.name)).collect();
        names.sort_unstable();
        let expected =
            [("before_compact", "session:1"), ("before_compact", "session:2"), ("before_stop", "session:0")];
        assert_eq!(names, expected);
    }
}
