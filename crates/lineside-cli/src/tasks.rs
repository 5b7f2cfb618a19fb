//! The task owner of the crate: what goes on beside the command is started here, and ends when its holder is dropped.

use tokio::task::JoinHandle;

/// Something that goes on until it is dropped.
pub(crate) struct Beside(JoinHandle<()>);

impl Beside {
    /// Starts it.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn start(what: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(what))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.abort();
    }
}
