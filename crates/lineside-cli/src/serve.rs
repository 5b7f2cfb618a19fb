//! `lineside serve`: the daemon in the foreground, until a signal or a request ends it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use lineside::dialects::native::{ClusterSettings, DaemonSettings};
use lineside::durable::OpenDurableError;
use lineside::journal::OpenJournalError;
use lineside::log::Retention;
use lineside::protection::Protection;
use lineside_account::Named;
use lineside_daemon::settings::Limits;
use lineside_daemon::{Report, ServeError, Server, Settings};
use listenfd::ListenFd;
use sd_notify::NotifyState;

use crate::daemon_paths::{DaemonArgs, DaemonPaths, absolute};
use crate::interrupt::Interrupt;
use crate::painter::one_line;
use crate::places::PlaceArgs;
use crate::serve::below::Below;
use crate::style::{Styles, Tone, count, print, tell};
use crate::{past_places, project, trust};

mod below;
mod detached;
mod environment;
mod private;
mod resources;
pub(crate) mod unit;

/// How long the end waits unless it is said, in seconds: longer than most hooks take, and shorter than a supervisor waits.
const DRAIN: u64 = 10;

/// Hold the bus of agent programs; `stop` ends it, `dashboard` shows it.
///
/// Listens on a Unix socket that only this user can reach, and with --http on a loopback address as well, for clients that have
/// the token of the file `http-token` in the state folder. Prints one line when it is ready. SIGINT and SIGTERM end it:
/// what is under way comes to its end first, and background work that is not done is left to the next daemon.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    daemon: DaemonArgs,

    #[command(flatten)]
    places: PlaceArgs,

    /// The home, in which the user's hooks and settings are; without it `$HOME`, else that of the account. One that is named
    /// stands for the variables of other folders too.
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,

    /// The folder in which programs keep their settings; without it `$XDG_CONFIG_HOME`, else `.config` in the home.
    #[arg(long, value_name = "DIR")]
    config: Option<PathBuf>,

    /// Serve HTTP on this loopback address too; port 0 takes any free port.
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,

    /// Join a cluster of machines on these servers of NATS, such as nats://host:4222; several with commas.
    #[arg(long, value_name = "URL")]
    nats: Option<String>,

    /// With --nats: the file with the credentials.
    #[arg(long, value_name = "FILE", requires = "nats")]
    creds: Option<PathBuf>,

    /// With --nats: which cluster.
    #[arg(long, value_name = "NAME", requires = "nats")]
    cluster: Option<String>,

    /// How long the end waits for what is under way, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = DRAIN)]
    drain: u64,

    /// Start it in the background, and return when it answers: at once when one answers already.
    #[arg(long, conflicts_with = "install_unit")]
    detached: bool,

    /// Keep socket and state in a fresh folder, and end when standard input does: a daemon of the program that starts it, which
    /// it does not outlive. The folder goes with it.
    #[arg(long, conflicts_with_all = ["socket", "state", "detached", "install_unit", "as_detached"])]
    private: bool,

    /// As the one that `--detached` starts.
    #[arg(long, hide = true)]
    as_detached: bool,

    /// Write the unit that has the system start the daemon, instead of starting it: for systemd, or for launchd on macOS.
    #[arg(long)]
    install_unit: bool,

    /// With --install-unit: print the unit and where it would be written.
    #[arg(long, requires = "install_unit")]
    dry_run: bool,
}

impl ServeArgs {
    /// Whether another process is to be the daemon.
    pub(crate) fn is_detached(&self) -> bool {
        self.detached
    }

    /// Whether it is the start of the daemon that a call of an agent program makes: it names places alone.
    fn is_of_a_call(&self) -> bool {
        let Self { http, nats, creds, cluster, private, install_unit, .. } = self;
        let has_more = http.is_some() || nats.is_some() || creds.is_some() || cluster.is_some();
        let is_background = self.detached || self.as_detached;
        is_background
            && !has_more
            && !private
            && !install_unit
            && self.drain == DRAIN
            && self.places.is_empty()
    }

    /// The places that it names.
    fn named(&self) -> Result<Named> {
        let absolute = |path: &Option<PathBuf>| path.as_deref().map(absolute).transpose();
        Ok(Named { home: absolute(&self.home)?, config: absolute(&self.config)?, ..Named::default() })
    }

    /// Whether nothing of it is about the guards of any agent: it prints, or it is the daemon of one program alone.
    fn is_apart(&self) -> bool {
        (self.private || self.dry_run) && !self.places.names_a_project()
    }

    /// The cluster that is joined: what stands on the command line takes the place of what a file says.
    fn cluster(&self, of_files: Option<ClusterSettings>) -> Result<Option<ClusterSettings>> {
        let Some(servers) = &self.nats else { return Ok(of_files) };
        let mut cluster = of_files.unwrap_or_default();
        cluster.servers.clone_from(servers);
        if let Some(creds) = &self.creds {
            cluster.credentials = Some(absolute(creds)?);
        }
        cluster.name = self.cluster.clone().or(cluster.name);
        Ok(Some(cluster))
    }

    /// What a daemon that the system starts is to be given as well, where it is not the default.
    fn lasting(&self, named: &Named) -> Vec<String> {
        let mut line = self.places.words();
        for (option, place) in [("--home", &named.home), ("--config", &named.config)] {
            line.extend(place.iter().flat_map(|place| [option.to_owned(), place.display().to_string()]));
        }
        line.extend(self.http.into_iter().flat_map(|address| ["--http".to_owned(), address.to_string()]));
        let creds =
            self.creds.as_ref().and_then(|file| absolute(file).ok()).map(|file| file.display().to_string());
        for (option, value) in [("--nats", &self.nats), ("--creds", &creds), ("--cluster", &self.cluster)] {
            line.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
        }
        if self.drain != DRAIN {
            line.extend(["--drain".to_owned(), self.drain.to_string()]);
        }
        line
    }
}

/// Runs the command.
///
/// # Errors
/// The daemon cannot start: a folder, a journal, a hook or an address cannot be used.
pub(crate) async fn run(args: &ServeArgs, styles: Styles) -> Result<ExitCode> {
    if !args.private {
        return serve(args, &args.daemon, styles).await;
    }
    // This program may begin anew with another environment, and what it has made until then stays.
    environment::settle(&args.named()?)?;
    let private = private::folder()?;
    let ended = serve(args, &DaemonArgs::within(private.path()), styles).await;
    private.close().context("failed to remove the private folder")?;
    ended
}

async fn serve(args: &ServeArgs, daemon: &DaemonArgs, styles: Styles) -> Result<ExitCode> {
    let named = args.named()?;
    let all = daemon.places(named.clone())?;
    let below = match args.is_apart() {
        true => Below::Person,
        false => below::judge(daemon, args.is_of_a_call(), &named, &all).await?,
    };
    let paths = DaemonPaths { socket: all.socket.clone(), state: all.state.clone() };
    let (places, dialects) = args.places.of_daemon();
    let named_project = args.places.named()?;
    if let Some(root) = named_project.as_deref().filter(|_| !args.dry_run && !args.as_detached) {
        // Naming it is an answer for what was never asked, and none for what has changed since.
        if let Some(note) = project::consent(root, &places, &paths)? {
            tell(&format!("{}: {}", styles.err.paint(Tone::Warning, "warning"), one_line(&note)));
        }
        if args.detached {
            trust::reload(&paths).await;
        }
    }
    if args.install_unit {
        return unit::install(&paths, &args.lasting(&named), args.dry_run);
    }
    let (of_files, findings) = environment::settle(&named)?;
    if args.detached {
        return detached::start(&paths, below.login(&all.home));
    }
    if args.as_detached {
        if let Some(login) = below.login(&all.home) {
            environment::refuse_more(login, &of_files)?;
        }
        detached::leave_the_session()?;
        resources::of_its_own()?;
    }
    let mut interrupt = Interrupt::watch()?;
    let mut limits = Limits::default();
    if let Some(descriptors) = resources::descriptors() {
        // Neither door takes what the other one, files and the processes of hooks need.
        limits.connections = limits.connections.min(descriptors / 4);
    }
    limits.drain = Duration::from_secs(args.drain);
    let mut settings = Settings::new(paths.socket.clone(), paths.state, places).only(dialects).limits(limits);
    settings.http = args.http;
    settings.project = named_project;
    settings.starts_hooks_alone = true;
    settings.findings = findings;
    settings.protection = Some(Protection::of(&of_files, &settings.state, &settings.socket));
    let DaemonSettings { log, approvals, observe, cluster, .. } = of_files;
    settings.cluster = args.cluster(cluster)?;
    settings.approvals = approvals;
    settings.observe = observe;
    settings.log = settings.log.filter(|_| !log.is_off).map(|usual| Retention {
        age: log.age.unwrap_or(usual.age),
        bytes: log.bytes.unwrap_or(usual.bytes),
    });
    let handed_over = ListenFd::from_env().take_unix_listener(0);
    let handed_over = handed_over.context("failed to take the socket that was handed over")?;
    let server = match Server::start_on(settings, handed_over).await {
        Err(ServeError::Journal(OpenDurableError {
            path,
            source: OpenJournalError::Locked { holder, .. },
        })) => {
            let who = holder.map_or("another process".to_owned(), |pid| format!("process {pid}"));
            bail!(
                "a daemon runs already ({who}), with the journal {}; `lineside status` shows it, `lineside stop` ends it",
                path.display()
            );
        }
        server => server?,
    };
    if !args.private {
        past_places::remember(&all);
    }
    let warning = styles.err.paint(Tone::Warning, "warning");
    for note in server.notes().iter().chain(&server.findings()) {
        tell(&format!("{warning}: {}", one_line(note)));
    }
    let http = server.http().map(|address| format!(" and http://{address}")).unwrap_or_default();
    let ready = format!("ready: {}{http}", server.socket().display());
    print([one_line(&ready)]).context("failed to say that the daemon is ready")?;
    if args.as_detached {
        detached::let_go_of_the_starter()?;
    }
    // Without a supervisor there is nothing to notify.
    sd_notify::notify(&[NotifyState::Ready]).ok();
    let ending = server.ending();
    let signal = tokio::select! {
        signal = interrupt.next() => Some(signal),
        () = ending => None,
        () = private::starter_is_gone(), if args.private => None,
    };
    sd_notify::notify(&[NotifyState::Stopping]).ok();
    let report = tokio::select! {
        report = server.end() => report,
        signal = interrupt.next() => {
            tell("lineside: ended at once");
            return Ok(ExitCode::from(signal.exit_status()));
        }
    };
    tell(&told(&report));
    Ok(match signal {
        _ if report.drained.is_clean() => ExitCode::SUCCESS,
        Some(signal) => ExitCode::from(signal.exit_status()),
        None => ExitCode::FAILURE,
    })
}

/// The last line: what the end has found.
fn told(report: &Report) -> String {
    let drained = &report.drained;
    let mut parts = vec![format!("ended with {} open", count(drained.sessions, "session"))];
    let more = [
        (report.left, "job", "left to the next daemon"),
        (drained.undecided, "event", "undecided"),
        (usize::try_from(drained.detached_cut_short).unwrap_or(usize::MAX), "background hook", "cut short"),
        (drained.context_waiting, "context message", "waiting"),
    ];
    for (number, what, how) in more {
        if number > 0 {
            parts.push(format!("{} {how}", count(number, what)));
        }
    }
    format!("lineside: {}", parts.join(", "))
}
