//! The decision log as the daemon reads it: on a thread of its own.

use lineside::log::{Log, Look, LookError};

use crate::boxed::apart;

/// Asks the log; `None` where there is none, or nothing in it so far.
///
/// # Errors
/// It cannot be read: why.
pub(crate) async fn ask<T: Send + 'static>(
    log: Option<&Log>,
    ask: impl FnOnce(&Look) -> Result<T, LookError> + Send + 'static,
) -> Result<Option<T>, String> {
    let Some(log) = log else { return Ok(None) };
    let (path, is_new) = (log.path().to_path_buf(), log.state().written == 0);
    let asked = apart(move || ask(&Look::open(&path)?)).await.map_err(|error| error.to_string())?;
    match asked {
        Ok(found) => Ok(Some(found)),
        // It is made with its first record.
        Err(LookError::NotThere(_) | LookError::Version(_)) if is_new => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
