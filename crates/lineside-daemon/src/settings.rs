//! The settings that a daemon starts with: where its files lie, what it listens on, and its limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use lineside::core::Diagnostic;
use lineside::core::journal::Durability;
use lineside::dialects::native::{ApprovalSettings, ClusterSettings, ObserveSettings};
use lineside::dialects::{Dialect, Places};
use lineside::log::{self, Log, Retention};
use lineside::protection::Protection;

/// The settings of a daemon.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use lineside::dialects::{Places, Trust};
/// use lineside_daemon::Settings;
///
/// let places = Places {
///     environment: BTreeMap::new(),
///     project_root: None,
///     cwd: "/".into(),
///     trust: Trust::Withheld,
/// };
/// let settings = Settings::new("/run/l/lineside.sock".into(), "/var/lib/l".into(), places);
/// assert_eq!(settings.journal(), std::path::Path::new("/var/lib/l/journal"));
/// assert_eq!(settings.http, None);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The Unix socket. Its folder is made with mode 0700 when it is absent.
    pub socket: PathBuf,
    /// The folder of everything that outlives the daemon: journals, the token, the switch. One daemon has it at a time.
    pub state: PathBuf,
    /// A loopback address for HTTP; none unless asked for. Port 0 takes any free port.
    pub http: Option<SocketAddr>,
    /// What accepted work survives.
    pub durability: Durability,
    /// Where hooks are looked for.
    pub places: Places,
    /// A project that is loaded at the start, and not only when its first session comes.
    pub project: Option<PathBuf>,
    /// The formats that hooks are looked for in.
    pub dialects: Vec<&'static dyn Dialect>,
    /// What the decision log in the state folder keeps; `None` where there is to be none.
    pub log: Option<Retention>,
    /// Which questions of hooks wait for a person; none where it is `None`.
    pub approvals: Option<ApprovalSettings>,
    /// The cluster of machines that it joins; none where it is `None`. Needs the feature `nats`.
    pub cluster: Option<ClusterSettings>,
    /// Keeps agents from changing what decides about them, where it is on; nothing does where it is `None`.
    pub protection: Option<Protection>,
    /// What hears everything that is decided.
    pub observe: Vec<ObserveSettings>,
    /// Whether nothing but hooks is started by this process, as by `lineside serve`: what comes from those is no person then. A
    /// program that holds a daemon within itself may have started anything.
    pub starts_hooks_alone: bool,
    /// What was found to be wrong before it was started, as in a file of settings; the status names it.
    pub findings: Vec<Diagnostic>,
    /// The bounds of what strangers can make it hold.
    pub limits: Limits,
}

/// Bounds of requests, connections and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest body, in bytes; 64 MiB. A longer one is refused with status 413.
    pub body: usize,
    /// How much memory bodies may take together, in bytes, about: so much while they are read, and as much again as the
    /// values that they become; 512 MiB. Further ones wait, and bodies of less than 64 KiB have no part in it.
    pub memory: usize,
    /// How many connections each door serves at once; 4,096. Further ones wait in the system's queue.
    pub connections: usize,
    /// How many sessions are open at once, 65,536, and how many bytes of ids, paths and other texts they have together,
    /// 64 MiB. A tree of sessions, below one that a person started, has an eighth of that.
    pub sessions: usize,
    /// See [`sessions`](Self::sessions).
    pub session_bytes: usize,
    /// How long the head of a request may take, 10 s, and the whole of its body, counted from its head, 60 s.
    pub head: Duration,
    /// See [`head`](Self::head).
    pub whole: Duration,
    /// How long an answer waits for a client that does not read; 60 s. Its connection is closed then.
    pub unread: Duration,
    /// How long a decision waits for the records of the background work that it claims; 5 s. It calls that unavailable
    /// then.
    pub keeping: Duration,
    /// How many requests go on at once without their publishers, which have left: those of events that have happened; 1,024.
    /// Further ones are given up, which is counted and signalled.
    pub left_behind: usize,
    /// How many jobs of automations run at once; 64. Further ones wait, or run on another machine of the cluster where they
    /// may.
    pub running: usize,
    /// How many receipts are kept in memory for those who ask; 1,024.
    pub receipts: usize,
    /// How many signals can be resumed after an interruption; 4,096.
    pub signals: usize,
    /// How many bytes the receipts that are kept may take, and the signals as many; 32 MiB. The last of either is kept
    /// whatever it takes.
    pub lately: usize,
    /// How long a delivery of context waits to be accepted before it goes back to the mailbox; 60 s.
    pub delivery: Duration,
    /// After how long without a call a session of an agent program ends whose process is not known; 24 h, which is longer
    /// than a person leaves a question of an agent open. The others end with their process.
    pub silent: Duration,
    /// How long the end of the daemon waits for what is under way; 10 s.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            memory: 512 << 20,
            connections: 4_096,
            sessions: 65_536,
            session_bytes: 64 << 20,
            head: Duration::from_secs(10),
            whole: Duration::from_secs(60),
            unread: Duration::from_secs(60),
            keeping: Duration::from_secs(5),
            left_behind: 1_024,
            running: 64,
            receipts: 1_024,
            signals: 4_096,
            lately: 32 << 20,
            delivery: Duration::from_secs(60),
            silent: Duration::from_secs(24 * 60 * 60),
            drain: Duration::from_secs(10),
        }
    }
}

impl Settings {
    /// The usual settings for a socket, a state folder, and the places of hooks: no HTTP, work kept on the disk, all
    /// dialects.
    #[must_use]
    pub fn new(socket: PathBuf, state: PathBuf, places: Places) -> Self {
        Self {
            socket,
            state,
            http: None,
            durability: Durability::Disk,
            places,
            project: None,
            dialects: lineside::dialects::DIALECTS.to_vec(),
            log: Some(Retention::default()),
            approvals: None,
            cluster: None,
            protection: None,
            observe: Vec::new(),
            starts_hooks_alone: false,
            findings: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// The folder of its journals, within the state folder.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.state.join("journal")
    }

    /// The file of its decision log, within the state folder.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.state.join(log::FILE)
    }

    /// Opens it, where there is to be one; a thread that cannot be started is a finding.
    pub(crate) fn open_log(&mut self) -> Option<Log> {
        let options = log::Options::default().retention(self.log?);
        match Log::open(&self.log_file(), options) {
            Ok(log) => Some(log),
            Err(error) => {
                let text = format!("{error}; there is no decision log");
                self.findings.push(Diagnostic::warning(None, text));
                None
            }
        }
    }

    /// Listens on this address as well.
    #[must_use]
    pub fn http(mut self, address: SocketAddr) -> Self {
        self.http = Some(address);
        self
    }

    /// With these limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Only hooks of these formats.
    #[must_use]
    pub fn only(mut self, dialects: Vec<&'static dyn Dialect>) -> Self {
        self.dialects = dialects;
        self
    }

    /// Accepted work survives this.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }
}
