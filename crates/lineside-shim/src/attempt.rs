//! The attempt to have a call answered: its steps in order, none of which has a limit of its own.

use std::io::{self, ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::environment::Environment;
use crate::exchange::exchange;
use crate::full_command::FullCommand;
use crate::gates::Host;
use crate::places::{self, Chosen};
use crate::progress::Progress;
use crate::start::start;
use crate::{Answer, Call, Closed, silent};

/// The longest document that is sent, in bytes; the daemon takes no longer one.
pub(crate) const LONGEST: usize = 64 << 20;

/// How long a connection may take, from the moment at which the document was read; the start of a daemon is part of it.
const CONNECTION: Duration = Duration::from_secs(2);

/// What the daemon has less than this process, so that its answer is here in time.
const FOR_THE_WAY: Duration = Duration::from_millis(200);

/// An attempt.
pub(crate) struct Attempt<'a> {
    pub(crate) host: Host,
    pub(crate) event: Option<&'a str>,
    /// The document, where it does not come on standard input.
    pub(crate) given: Option<&'a Arc<Vec<u8>>>,
    pub(crate) environment: &'a Environment,
    pub(crate) full: FullCommand,
    /// Whether hooks are switched off.
    pub(crate) is_off: bool,
    pub(crate) progress: &'a Progress,
}

impl Attempt<'_> {
    /// Makes it, to its end. `limit` is the end of the whole call for a document.
    ///
    /// Gives the document as well.
    ///
    /// # Errors
    /// Why nothing was decided.
    pub(crate) fn run(&self, limit: impl FnOnce(&[u8]) -> Instant) -> (Arc<Vec<u8>>, Result<Answer, Closed>) {
        let document = self.given.map_or_else(|| Arc::new(document()), Arc::clone);
        let answer = self.answer(&document, limit(&document));
        (document, answer)
    }

    fn answer(&self, document: &Arc<Vec<u8>>, limit: Instant) -> Result<Answer, Closed> {
        self.progress.read(document, limit.min(Instant::now() + CONNECTION));
        let Self { host, event, environment, .. } = *self;
        let call = Call { host, event, stdin: document, environment };
        let is_too_long = document.len() > LONGEST;
        if is_too_long {
            // The host is still writing, and need not learn that nothing reads it.
            io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
        }
        if self.is_off {
            return Ok(silent(&call));
        }
        if is_too_long {
            return Err(Closed::Unreadable);
        }
        let mut stream = self.connected().ok_or(Closed::Unreachable)?;
        self.progress.until(limit);
        let within = limit.saturating_duration_since(Instant::now());
        exchange(&mut stream, &call, within.saturating_sub(FOR_THE_WAY))
    }

    fn connected(&self) -> Option<UnixStream> {
        let socket = places::socket(self.environment)?;
        match UnixStream::connect(&socket.path) {
            Ok(stream) if !socket.is_open_to_others() => return Some(stream),
            Ok(_) => return None,
            // Nothing listens there.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            Err(_) => return None,
        }
        if socket.chosen == Chosen::ByName || !start(&self.full, self.environment) {
            return None;
        }
        let stream = UnixStream::connect(&socket.path).ok()?;
        (!socket.is_open_to_others()).then_some(stream)
    }
}

/// Standard input to its end, or one byte more than is sent.
fn document() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 << 10);
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(1);
    // What cannot be read to its end is no document, and treated as what is there of it.
    io::stdin().lock().take(most).read_to_end(&mut bytes).ok();
    bytes
}
