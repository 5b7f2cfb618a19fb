//! The attempt to have a call answered: its steps in order, none of which has a limit of its own.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lineside_account::{Account, ConnectError, Named, Places, connect};

use crate::document::LONGEST;
use crate::environment::Environment;
use crate::exchange::exchange;
use crate::full_command::FullCommand;
use crate::gates::Host;
use crate::progress::Progress;
use crate::start::start;
use crate::{Answer, Call, Closed, silent};

/// How long a connection may take, from the moment at which the document was read; the start of a daemon is part of it.
const CONNECTION: Duration = Duration::from_secs(2);

/// How long a daemon may take to give a sign of life, however long its hooks take.
const SIGN: Duration = Duration::from_secs(1);

/// What the daemon has less than this process, so that its answer is here in time.
const FOR_THE_WAY: Duration = Duration::from_millis(200);

/// Where the state folder has the questions that wait for a person, each under the name of its call.
const WAITING: &str = "approvals/waiting";

/// How long a daemon that is there has while hooks are off, to take in whose process calls: nothing is decided.
const WHILE_OFF: Duration = Duration::from_millis(250);

/// How long is rested before a daemon is asked again that has gone away meanwhile.
const REST: Duration = Duration::from_millis(100);

/// An attempt.
pub(crate) struct Attempt<'a> {
    pub(crate) host: Host,
    pub(crate) event: Option<&'a str>,
    /// The document, where it does not come on standard input.
    pub(crate) given: Option<&'a Arc<Vec<u8>>>,
    pub(crate) environment: &'a Environment,
    /// What the entry names of the places.
    pub(crate) named: &'a Named,
    pub(crate) full: FullCommand,
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
        let account = Account::own();
        let places = Places::of(&account, self.named);
        self.progress.switch(places.as_ref().is_some_and(Places::is_off));
        let document = self.given.map_or_else(|| Arc::new(document()), Arc::clone);
        let answer = self.answer(&document, limit(&document), &account, places.as_ref());
        (document, answer)
    }

    fn answer(
        &self,
        document: &Arc<Vec<u8>>,
        limit: Instant,
        account: &Account,
        places: Option<&Places>,
    ) -> Result<Answer, Closed> {
        self.progress.read(document, limit.min(Instant::now() + CONNECTION));
        let Self { host, event, environment, .. } = *self;
        let grant = environment.get("LINESIDE_GRANT").filter(|grant| !grant.is_empty());
        let call = Call { host, event, stdin: document, grant };
        let is_too_long = document.len() > LONGEST;
        if is_too_long {
            // The host is still writing, and need not learn that nothing reads it.
            io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
        }
        let name = name();
        if self.progress.is_off() {
            let limit = limit.min(Instant::now() + WHILE_OFF);
            self.progress.until(limit, Closed::Silent);
            if let Some(places) = places.filter(|_| !is_too_long) {
                self.ask(&call, &name, limit, (account, places)).ok();
            }
            return Ok(silent(&call));
        }
        if is_too_long {
            return Err(Closed::Unreadable);
        }
        let places = places.ok_or(Closed::NoHome)?;
        let waiting = places.state.join(WAITING).join(&name);
        let mut answer = self.ask(&call, &name, limit, (account, places));
        // What waits for a person is on record there: the next daemon goes on with it.
        while matches!(answer, Err(Closed::Unreachable)) && waiting.exists() {
            thread::sleep(REST);
            self.progress.until(limit.min(Instant::now() + CONNECTION), Closed::Unreachable);
            answer = self.ask(&call, &name, limit, (account, places));
        }
        answer
    }

    fn ask(
        &self,
        call: &Call<'_>,
        name: &str,
        limit: Instant,
        (account, places): (&Account, &Places),
    ) -> Result<Answer, Closed> {
        let mut stream = self.connected(account, places)?;
        let now = Instant::now();
        self.progress.until(limit.min(now + SIGN), Closed::Silent);
        let within = limit.saturating_duration_since(now);
        let lives = || self.progress.until(limit, Closed::Unreachable);
        exchange(&mut stream, (call, name), within.saturating_sub(FOR_THE_WAY), lives)
    }

    fn connected(&self, account: &Account, places: &Places) -> Result<UnixStream, Closed> {
        let socket = &places.socket;
        let inherited = self.environment.get("LINESIDE_SOCKET").filter(|inherited| !inherited.is_empty());
        let other = places.other_socket(account);
        let mut both = std::iter::once(socket).chain(&other);
        if inherited.is_some_and(|inherited| !both.any(|place| is_same(Path::new(inherited), place))) {
            return Err(Closed::OtherDaemon);
        }
        // The runtime folder may have come, or gone, since the daemon was started.
        for place in std::iter::once(socket).chain(&other) {
            match connect(place) {
                Err(ConnectError::Absent) => {}
                connected => return connected.map_err(|error| refused(&error)),
            }
        }
        if self.progress.is_off() || !start(self.full, account, places, self.named) {
            return Err(Closed::Unreachable);
        }
        connect(socket).map_err(|error| refused(&error))
    }
}

/// What this call is known by to a further daemon. It has to be another one for each call, and need not be hard to guess: it
/// is worth something for the same call of the same session alone.
fn name() -> String {
    let process = std::process::id();
    // Its keys are made anew in each process.
    format!("{process}-{:x}", RandomState::new().hash_one(process))
}

/// Whether two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}

fn refused(error: &ConnectError) -> Closed {
    match error {
        ConnectError::Foreign => Closed::Foreign,
        _ => Closed::Unreachable,
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
