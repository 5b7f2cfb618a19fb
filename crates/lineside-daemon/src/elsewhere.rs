//! Sessions that are on another machine: what stands in for one here takes no events.

use lineside::Session;

use crate::problem::Problem;

/// The machine that a session is on, if that is another one.
pub(crate) fn machine(session: &Session) -> Option<&str> {
    session.source().machine()
}

/// That a session is on this machine.
///
/// # Errors
/// It is on another one.
pub(crate) fn is_here(session: Session) -> Result<Session, Problem> {
    match machine(&session) {
        None => Ok(session),
        Some(machine) => {
            let detail = format!(
                "session `{}` is on machine `{machine}`; what is done in it is done there, and here in sessions below it",
                session.id()
            );
            Err(Problem::conflict("session-elsewhere", "The session is on another machine", detail).blocks())
        }
    }
}
