//! The attempt to have a call answered: its steps in order, on a thread that may be left behind at any of them.

use std::io::{self, ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use crate::environment::Environment;
use crate::exchange::exchange;
use crate::full_command::FullCommand;
use crate::gates::Host;
use crate::places::{self, Chosen};
use crate::start::start;
use crate::{Answer, Call, Closed, silent};

/// The longest document that is sent, in bytes; the daemon takes no longer one.
const LONGEST: usize = 64 << 20;

/// How far an attempt has come.
#[derive(Debug)]
pub(crate) enum Step {
    /// The document was read.
    Read(Arc<Vec<u8>>),
    /// There is a connection.
    Connected,
    /// It has ended.
    Ended(Result<Answer, Closed>),
}

/// How many steps an attempt has at most.
pub(crate) const STEPS: usize = 3;

/// An attempt.
pub(crate) struct Attempt {
    pub(crate) host: Host,
    pub(crate) event: Option<String>,
    pub(crate) environment: Arc<Environment>,
    pub(crate) full: FullCommand,
    /// Whether hooks are switched off.
    pub(crate) is_off: bool,
    pub(crate) steps: SyncSender<Step>,
}

impl Attempt {
    /// Makes it, to its end.
    pub(crate) fn run(self, limit: impl FnOnce(&[u8]) -> Instant) {
        let ended = self.ended(limit);
        self.tell(Step::Ended(ended));
    }

    fn ended(&self, limit: impl FnOnce(&[u8]) -> Instant) -> Result<Answer, Closed> {
        let document = Arc::new(document());
        self.tell(Step::Read(Arc::clone(&document)));
        let call = Call {
            host: self.host,
            event: self.event.as_deref(),
            stdin: &document,
            environment: &self.environment,
        };
        if self.is_off {
            return Ok(silent(&call));
        }
        if document.len() > LONGEST {
            // The host is still writing, and need not learn that nothing reads it.
            io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
            return Err(Closed::Unreadable);
        }
        let mut stream = self.connected().ok_or(Closed::Unreachable)?;
        self.tell(Step::Connected);
        let within = limit(&document).saturating_duration_since(Instant::now());
        exchange(&mut stream, &call, within.saturating_sub(FOR_THE_WAY))
    }

    fn connected(&self) -> Option<UnixStream> {
        let socket = places::socket(&self.environment)?;
        match UnixStream::connect(&socket.path) {
            Ok(stream) if !socket.is_open_to_others() => return Some(stream),
            Ok(_) => return None,
            // Nothing listens there.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            Err(_) => return None,
        }
        if socket.chosen == Chosen::ByName || !start(&self.full, &self.environment) {
            return None;
        }
        let stream = UnixStream::connect(&socket.path).ok()?;
        (!socket.is_open_to_others()).then_some(stream)
    }

    fn tell(&self, step: Step) {
        // There is room for every step; a process that is about to exit reads no step.
        self.steps.send(step).ok();
    }
}

/// What the daemon has less than this process, so that its answer is here in time.
const FOR_THE_WAY: Duration = Duration::from_millis(200);

/// Standard input to its end, or one byte more than is sent.
fn document() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 << 10);
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(1);
    // What cannot be read to its end is no document, and treated as what is there of it.
    io::stdin().lock().take(most).read_to_end(&mut bytes).ok();
    bytes
}
