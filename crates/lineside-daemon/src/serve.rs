//! The daemon from its start to its end: folders, journals, hooks, doors, and the drain.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside::automation::engine::OpenError;
use lineside::automation::jobs::WhichState;
use lineside::automation::machine::Bounds;
use lineside::bus::DrainReport;
use lineside::bus::register::RegisterHookError;
use lineside::durable::OpenDurableError;
use lineside::{Assembly, Durable};
use tokio::net::TcpListener;

use crate::api;
use crate::boxed::apart;
use crate::cluster;
use crate::connections::Tasks;
use crate::daemon::Daemon;
use crate::door::{Door, Lock};
use crate::heritage::Heritage;
use crate::pages;
use crate::settings::{Limits, Settings};
use crate::socket::{BindSocketError, Socket, private_folder};
use crate::token::Token;

/// A daemon that listens.
pub struct Server {
    pub(crate) daemon: Arc<Daemon>,
    tasks: Tasks,
    http: Option<SocketAddr>,
    notes: Vec<String>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("socket", &self.daemon.settings.socket).finish_non_exhaustive()
    }
}

/// What the end of a daemon found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// What the bus found.
    pub drained: DrainReport,
    /// Jobs that the next daemon goes on with.
    pub left: usize,
}

/// Why a daemon does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A folder or the socket cannot be used.
    #[error(transparent)]
    Socket(#[from] BindSocketError),
    /// The journals cannot be opened; another daemon may have them.
    #[error(transparent)]
    Journal(#[from] OpenDurableError),
    /// What an earlier daemon has left cannot be taken up.
    #[error("failed to take up the work that was kept")]
    Automations(#[source] OpenError),
    /// The hooks cannot be installed.
    #[error("failed to load hooks")]
    Hooks(#[source] RegisterHookError),
    /// The address is not a loopback address.
    #[error("{0} is not a loopback address; HTTP is served on 127.0.0.1 or [::1] alone")]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("failed to listen on {address}")]
    Http {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The token cannot be read or made.
    #[error("failed to prepare the token in {}", path.display())]
    Token {
        /// The state folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Server {
    /// One in a folder, for a test of something within it.
    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(crate) async fn in_folder(root: &Path) -> Self {
        use lineside::dialects::{Places, Trust};
        let cwd = root.to_owned();
        let places = Places { environment: [].into(), project_root: None, cwd, trust: Trust::Withheld };
        let settings = Settings::new(root.join("run/lineside.sock"), root.join("state"), places);
        Self::start(settings).await.unwrap()
    }

    /// Starts a daemon: it answers when this returns.
    ///
    /// The state folder is made with mode 0700 or verified to be the user's own. Opening its journals is what keeps a
    /// second daemon out: it is refused with the process that has them. Hooks are loaded before the first request.
    ///
    /// Must be called within a tokio runtime with I/O and time. Not cancel safe: a dropped call may leave hook processes
    /// to be ended by the next start.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use lineside::dialects::{Places, Trust};
    /// use lineside_daemon::serve::Server;
    /// use lineside_daemon::settings::Settings;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let folder = tempfile::tempdir()?;
    /// let places = Places {
    ///     environment: BTreeMap::new(),
    ///     project_root: None,
    ///     cwd: folder.path().to_owned(),
    ///     trust: Trust::Withheld,
    /// };
    /// let settings = Settings::new(folder.path().join("run/socket"), folder.path().join("state"), places);
    /// let server = Server::start(settings).await?;
    /// assert!(server.socket().exists());
    /// server.end().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`ServeError`]. Nothing listens then, and the journals are free.
    pub async fn start(settings: Settings) -> Result<Self, ServeError> {
        Self::start_on(settings, None).await
    }

    /// As [`start`](Self::start), on the socket that a supervisor has bound and hands over, in the place of the one of
    /// the settings. It is not taken away at the end.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_on(
        mut settings: Settings,
        handed_over: Option<UnixListener>,
    ) -> Result<Self, ServeError> {
        if let Some(address) = settings.http.filter(|address| !address.ip().is_loopback()) {
            return Err(ServeError::NotLoopback(address));
        }
        private_folder(&settings.state)?;
        let handed_over = handed_over.map(Socket::handed_over).transpose()?;
        if let Some(socket) = &handed_over {
            settings.socket = socket.path().to_path_buf();
        }
        let durable = Durable::open_with(settings.journal(), settings.durability)?;
        let Limits { sessions, session_bytes, running, .. } = settings.limits;
        let bus = durable.context(lineside::Bus::builder()).sessions_at_most(sessions, session_bytes).build();
        let (automations, recovered) = durable
            .automations(&bus, Bounds { running, ..Bounds::default() })
            .map_err(ServeError::Automations)?;
        let mut notes: Vec<String> = durable.findings().iter().map(ToString::to_string).collect();
        notes.extend(recovered.findings.iter().map(ToString::to_string));
        let assembly = Assembly::new(bus).only(settings.dialects.iter().copied()).keeping_last_good();
        let limits = settings.limits;
        let daemon = Arc::new(Daemon::new(settings, assembly, automations, durable));
        Heritage::of(&daemon);
        let tasks = Tasks::new(limits.connections, &daemon);
        let mut server = Self { daemon, tasks, http: None, notes };
        match server.open(handed_over).await {
            Ok(()) => Ok(server),
            Err(error) => {
                // Its tasks have the journals, which the next start needs.
                server.end().await;
                Err(error)
            }
        }
    }

    /// Loads the hooks and opens the doors.
    async fn open(&mut self, handed_over: Option<Socket>) -> Result<(), ServeError> {
        let Self { daemon, tasks, http, notes } = self;
        let settings = &daemon.settings;
        tasks.feed(daemon);
        tasks.observe(daemon);
        tasks.put_back(daemon);
        tasks.look_after_agents(daemon);
        // Before hooks are loaded, as jobs of an earlier life begin then, which may need keys of the cluster.
        let cluster = settings.cluster.as_ref();
        notes.extend(cluster::begin(daemon, |daemon| &daemon.cluster, cluster, &settings.state).await);
        daemon.load_first().await.map_err(ServeError::Hooks)?;
        if let Some(project) = &settings.project {
            daemon.projects.load_at(project).await.map_err(ServeError::Hooks)?;
        }
        tasks.reload(daemon);
        daemon.projects.load_waited_for(&daemon.automations).await;
        daemon.automations.all_registered();
        let listened = match settings.http {
            None => None,
            Some(address) => match listen(address, &settings.state).await {
                // The program that has the port keeps no agent from the socket.
                Err(ServeError::Http { address, source }) => {
                    notes.push(format!(
                        "HTTP is not served, another program may have the port: {address}: {source}"
                    ));
                    None
                }
                listened => Some(listened?),
            },
        };
        let socket = match handed_over {
            Some(socket) => socket,
            None => Socket::bind(&settings.socket)?.or_at(settings.state.join("lineside.sock")),
        };
        tasks.accept(daemon, socket, api::router(daemon, Door::Socket));
        tasks.accept_later(daemon, daemon.dashboard.listeners(), pages::router(daemon));
        if let Some((listener, lock)) = listened {
            *http = Some(lock.address);
            tasks.accept(daemon, listener, api::router(daemon, Door::Http(Arc::new(lock))));
        }
        Ok(())
    }

    /// The socket that is served.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.daemon.settings.socket
    }

    /// Where HTTP is served, with the port that was taken.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// The bus: what a program that holds the daemon registers there is in force for all its sessions.
    #[must_use]
    pub fn bus(&self) -> &lineside::Bus {
        self.daemon.bus()
    }

    /// Waits until the other machines of the cluster on which something is below this session have its hooks as they are now,
    /// with those that this program has registered on it; for at most 2 seconds. Gives what is to be said of machines that
    /// have not confirmed it.
    ///
    /// Such a hook is in force here when it is registered, and there as soon as that is heard; without waiting for it, what
    /// a machine has not confirmed is announced as a notice of the bus.
    ///
    /// Cancel safe: the machines hear of it all the same.
    pub async fn hooks_shared(&self, session: &lineside::Session) -> Vec<String> {
        self.daemon.cluster.changed(&*self.daemon, session).await
    }

    /// What was found in the journals, for people.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What is wrong with its settings, and with the hook files that were loaded last.
    #[must_use]
    pub fn findings(&self) -> Vec<String> {
        let (settings, loaded) = (&self.daemon.settings.findings, self.daemon.loaded());
        settings.iter().chain(&loaded.report.diagnostics).map(ToString::to_string).collect()
    }

    /// Resolves when a request has asked for the end. Cancel safe.
    pub fn ending(&self) -> impl Future<Output = ()> + Send + use<> {
        self.daemon.ending.clone().cancelled_owned()
    }

    /// Ends the daemon: no connection is let in, what is under way comes to its end within the limit of the settings,
    /// and jobs that are not done are left to the next daemon.
    ///
    /// Not cancel safe: dropping the future leaves processes of hooks to be ended by the next start.
    pub async fn end(self) -> Report {
        let limit = self.daemon.settings.limits.drain;
        self.daemon.ending.cancel();
        self.tasks.wind_up();
        self.daemon.automations.leave();
        let drained = self.daemon.assembly.drain(limit).await;
        self.daemon.projects.end().await;
        self.daemon.cluster.leave().await;
        self.daemon.attachments.end().await;
        self.tasks.end(limit).await;
        self.tasks.write_down(&self.daemon, limit).await;
        let left = self.daemon.jobs(WhichState::Live);
        // A task that comes to its end late has the journals still, and the next daemon needs them.
        let durable = Arc::clone(&self.daemon.durable);
        if let Ok(Err(why)) = apart(move || durable.close()).await {
            tracing::warn!(%why, "ended without everything on the disk");
        }
        Report { drained, left }
    }
}

async fn listen(address: SocketAddr, state: &Path) -> Result<(TcpListener, Lock), ServeError> {
    let token = Token::of(state);
    let token = token.map_err(|source| ServeError::Token { path: state.to_path_buf(), source })?;
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, Lock { address, token }))
    };
    bound.await.map_err(|source| ServeError::Http { address, source })
}
