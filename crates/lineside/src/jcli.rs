//! Hooks of jcli that a programme registers for one session (JC-6).
//!
//! They run after those of the files, in the order of their registration, and end with the session. Numbers such as
//! JC-6 are those of the dialect's specification.
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
    /// from 0 for each point.
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
        let before = registered.list().iter().filter(|(other, _)| *other == point).count();
        let found = session_hook(event, before, hook, places)?;
        let run = Foreign::new(&found, self.outside.clone(), None).in_memory(&found, self.bus());
        Ok(registered.add(Installed { point, hook: found.hook, run: Arc::new(run) })?)
    }
}
