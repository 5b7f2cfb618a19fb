//! `lineside install` and `lineside uninstall`: our entries in the files of agent programs, and out of them again.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use lineside::dialects::native::daemon_settings;
use lineside::dialects::{Managed, Places};
use lineside::hosts::install::{Act, Level, Program, alone, install, uninstall};
use lineside::hosts::{Host, SERVED};
use lineside::json::{Map, Value, json};
use lineside::trust::Standing;

use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::hosts::finding::Finding;
use crate::hosts::machine;
use crate::on_path::{OnPath, own_command, own_path};
use crate::painter::one_line;
use crate::person::refuse_agents;
use crate::places::{environment, granted_places, shown};
use crate::project::{find, of_user};
use crate::style::{Style, Styles, Tone, count, print, print_json, print_unbroken, tell};

mod difference;
mod everything;
mod judged;
mod tried;

/// Every host, as an argument.
const ALL: &str = "all";

/// Put lineside into an agent program; `uninstall` takes it out.
///
/// Adds one entry for each event of the program, which starts `lineside hook`, and changes no other byte of its settings.
/// Ends by trying one entry.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    which: WhichArgs,

    /// An event that gets no entry otherwise; may be given several times.
    #[arg(long = "event", value_name = "NAME")]
    events: Vec<String>,

    /// Do not try an entry at the end.
    #[arg(long)]
    untried: bool,
}

/// Take lineside out of an agent program's settings again.
///
/// A file that no other program has changed since has its old bytes again; otherwise the entries of lineside go and the rest stays.
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    which: WhichArgs,

    /// Remove all of lineside: entries of every program and project, units, hooks, settings, state, and the programs.
    #[arg(long, exclusive = true)]
    everything: bool,
}

#[derive(Debug, Args)]
struct WhichArgs {
    /// The agent programs, or `all` that are on this machine.
    #[arg(value_name = "HOST", value_parser = host, required = true)]
    hosts: Vec<Chosen>,

    /// For all of your agents; this is the default.
    #[arg(long, conflicts_with = "project")]
    user: bool,

    /// For the agents of a project, the one in the current directory if none is named.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    project: Option<PathBuf>,

    /// Print what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    daemon: DaemonArgs,
}

impl InstallArgs {
    /// The daemon of the entries that are changed, if any are.
    pub(crate) fn changes(&self) -> Option<&DaemonArgs> {
        self.which.changes()
    }
}

impl UninstallArgs {
    /// As [`InstallArgs::changes`].
    pub(crate) fn changes(&self) -> Option<&DaemonArgs> {
        self.which.changes()
    }
}

/// One host or all.
#[derive(Debug, Clone, Copy)]
enum Chosen {
    One(Host),
    All,
}

fn host(name: &str) -> Result<Chosen, String> {
    // As `demo` names the programs.
    let host =
        Host::named(name).or_else(|| Host::named(name.trim_end_matches("-cli").trim_end_matches("-code")));
    match host {
        Some(host) => Ok(Chosen::One(host)),
        None if name == ALL => Ok(Chosen::All),
        None => Err(format!("there are {} and {ALL}", SERVED.map(Host::name).join(", "))),
    }
}

/// What is done to the files of one host.
struct Done {
    host: Host,
    acts: Vec<Act>,
    tried: Option<tried::Tried>,
}

impl WhichArgs {
    fn changes(&self) -> Option<&DaemonArgs> {
        (!self.dry_run).then_some(&self.daemon)
    }

    /// Refuses what stands below an agent of a daemon that the entries of a project name: those of the user are looked at
    /// wherever guards are taken off.
    async fn refuse_agents(&self, hosts: &[Host], places: &Places) -> Result<()> {
        let named = |host: &Host| machine::recorded(*host, self.level(), places);
        for daemon in hosts.iter().filter_map(named).filter(|_| !self.dry_run) {
            let paths = DaemonPaths { socket: daemon.socket, state: daemon.state };
            refuse_agents(&DaemonArgs::at(&paths)).await?;
        }
        Ok(())
    }

    fn level(&self) -> Level {
        if self.project.is_some() { Level::Project } else { Level::User }
    }

    fn hosts(&self, places: &Places) -> Result<Vec<Host>> {
        let found = self.chosen(|| machine::found(places));
        if found.is_empty() {
            bail!("no agent program is on this machine: none was found on PATH or in {}", machine::places());
        }
        Ok(found)
    }

    /// The hosts that are named, each once, with these for `all`.
    fn chosen(&self, all: impl Fn() -> Vec<Host>) -> Vec<Host> {
        let mut chosen: Vec<Host> = Vec::new();
        for one in &self.hosts {
            let named = match one {
                Chosen::One(host) => vec![*host],
                Chosen::All => all(),
            };
            chosen.extend(named.into_iter().filter(|host| !chosen.contains(host)).collect::<Vec<_>>());
        }
        chosen
    }

    /// Whether one that cannot be served does not keep the others from it.
    fn is_all(&self) -> bool {
        self.hosts.iter().any(|chosen| matches!(chosen, Chosen::All))
    }

    /// Keeps other installations away, where something is changed.
    fn alone(&self, state: &Path, makes: bool) -> Result<Option<File>> {
        Ok(if self.dry_run { None } else { alone(state, makes)? })
    }

    /// Where a file of the project may be, and that of the user.
    fn places(&self) -> Result<Places> {
        granted_places(self.project.as_deref())
    }
}

/// `lineside install`.
///
/// # Errors
/// Nothing could be installed at all.
pub(crate) async fn run(args: &InstallArgs, styles: Styles) -> Result<ExitCode> {
    let which = &args.which;
    let (places, paths) = (which.places()?, which.daemon.paths()?);
    let OnPath { program, remark } = own_command()?;
    let program = asking(program, &which.daemon)?;
    let hosts = which.hosts(&places)?;
    which.refuse_agents(&hosts, &places).await?;
    let mut report = Report::new(which, places.clone(), styles);
    if let Some(remark) = &remark {
        report.remark(remark);
    }
    if let Some(Finding { text, remedy, .. }) = machine::preloaded() {
        report.remark(&format!("{text}; {remedy}"));
    }
    let (mut failed, mut done) = (false, Vec::new());
    for host in hosts {
        let level = which.level();
        let alone = which.alone(&paths.state, true)?;
        let acts = install(host, level, &places, &paths.state, &program, &args.events);
        let is_one_of_all = which.is_all();
        let acts = match performed(acts, which.dry_run, &paths.state) {
            Ok(acts) => acts,
            Err(error) if is_one_of_all && level == Level::Project && reads_no_project(host, &places) => {
                let is_covered = machine::recorded(host, Level::User, &places).is_some();
                report.remark(&match is_covered {
                    true => {
                        format!("{host} reads no hooks from a project; its entry of the user covers this one")
                    }
                    false => format!("{error:#}: until then its agents here are not covered"),
                });
                continue;
            }
            Err(error) if is_one_of_all => {
                tell_of(host, &error, styles);
                failed = true;
                continue;
            }
            Err(error) => return Err(error),
        };
        drop(alone);
        if !is_one_of_all && !machine::found(&places).contains(&host) {
            report.remark(&format!("{} was not found on this machine", host.title()));
        }
        let tried = match acts.last().filter(|_| !which.dry_run && !args.untried) {
            Some(act) => tried::try_entry(act, &places.cwd).await,
            None => None,
        };
        failed |= tried.as_ref().is_some_and(|tried| !tried.works());
        if level == Level::Project && done.is_empty() {
            report.remark(
                "the entries start a program of this machine by its path: where the files are shared, as by a commit, \
                 each call of others' agents is refused until they have run `lineside install` with --project themselves",
            );
        }
        done.push(host);
        report.installed(&Done { host, acts, tried })?;
        for Finding { text, remedy, .. } in machine::obstacles(host, &places) {
            report.remark(&format!("{text}; {remedy}"));
            failed = true;
        }
    }
    for remark in judged::remarks(&places, &done).await? {
        report.remark(&remark);
    }
    report.closed(&paths);
    report.end()?;
    Ok(if failed || done.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The program of entries with the daemon that they ask: the one that this process would ask.
fn asking(program: Program, daemon: &DaemonArgs) -> Result<Program> {
    let text = |path: OsString| {
        path.into_string().map_err(|path| anyhow!("a path of the daemon is not UTF-8: {path:?}"))
    };
    let places = daemon.recorded()?.arguments().into_iter().map(text).collect::<Result<_>>()?;
    let DaemonPaths { socket, state } = daemon.paths()?;
    let own = text(own_path()?.into())?;
    let program = program.of_daemon(places, text(socket.into())?, text(state.into())?).at(own);
    // What is wrong with the settings is for `doctor`, and for the daemon when it starts.
    let (settings, _) = daemon_settings(&of_user(environment()), &Managed::default());
    Ok(settings.approvals.iter().fold(program, Program::waiting))
}

/// `lineside uninstall`.
///
/// # Errors
/// A file cannot be read, edited or written.
pub(crate) async fn run_uninstall(args: &UninstallArgs, styles: Styles) -> Result<ExitCode> {
    let which = &args.which;
    if args.everything {
        return everything::run(styles).await;
    }
    let (places, paths) = (which.places()?, which.daemon.paths()?);
    // A program that is gone may have left its settings.
    let hosts = which.chosen(|| SERVED.to_vec());
    which.refuse_agents(&hosts, &places).await?;
    let mut report = Report::new(which, places.clone(), styles);
    let mut failed = false;
    for host in hosts {
        let recorded = machine::recorded(host, which.level(), &places);
        let state = recorded.map_or_else(|| paths.state.clone(), |daemon| daemon.state);
        let _alone = which.alone(&state, false)?;
        let acts = uninstall(host, which.level(), &places, &state);
        match performed(acts, which.dry_run, &state) {
            Ok(acts) => {
                report.uninstalled(&Done { host, acts, tried: None }, which.is_all())?;
            }
            Err(_)
                if which.is_all() && which.level() == Level::Project && reads_no_project(host, &places) => {}
            Err(error) if which.is_all() => {
                tell_of(host, &error, styles);
                failed = true;
            }
            Err(error) => return Err(error),
        }
    }
    report.closed(&paths);
    report.end()?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says what is wrong with one of several hosts; the others go on.
fn tell_of(host: Host, error: &anyhow::Error, styles: Styles) {
    let mark = styles.err.paint(Tone::Bad, "error");
    tell(&format!("{mark}: {host}: {}", one_line(&format!("{error:#}"))));
}

fn reads_no_project(host: Host, places: &Places) -> bool {
    lineside::hosts::install::files(host, Level::Project, places).is_err()
}

fn performed(
    acts: Result<Vec<Act>, lineside::hosts::install::InstallError>,
    dry_run: bool,
    state: &Path,
) -> Result<Vec<Act>> {
    let acts = acts?;
    if !dry_run {
        for act in &acts {
            act.perform(state)?;
        }
    }
    Ok(acts)
}

/// What people or programs read of it.
struct Report {
    is_json: bool,
    is_dry: bool,
    level: Level,
    places: Places,
    style: Style,
    remarks: Vec<String>,
    hosts: Vec<Value>,
}

impl Report {
    fn new(which: &WhichArgs, places: Places, styles: Styles) -> Self {
        let (is_json, is_dry, level) = (which.json, which.dry_run, which.level());
        Self { is_json, is_dry, level, places, style: styles.out, remarks: Vec::new(), hosts: Vec::new() }
    }

    fn remark(&mut self, remark: &str) {
        if self.is_json {
            self.remarks.push(remark.to_owned());
        } else {
            tell(&format!("note: {}", one_line(remark)));
        }
    }

    /// Says that the project is not what was trusted, as its settings belong to that, and what to do.
    fn closed(&mut self, paths: &DaemonPaths) {
        if self.is_dry || self.level != Level::Project {
            return;
        }
        let found = find(&self.places.cwd, &of_user(environment()), paths);
        let closed = found.filter(|found| !matches!(found.standing, Standing::Never));
        if let Some((what, remedy)) = closed.and_then(|found| found.wrong()) {
            self.remark(&format!("{what}; look at it and say: {remedy}"));
        }
    }

    fn installed(&mut self, done: &Done) -> Result<()> {
        if self.is_json {
            self.hosts.push(self.object(done));
            return Ok(());
        }
        let mut lines = Vec::new();
        for act in &done.acts {
            let what = match (&act.before, act.is_change()) {
                (_, false) => self.style.paint(Tone::Dim, "was installed already"),
                (None, true) => self.style.paint(Tone::Good, "created"),
                (Some(_), true) => self.style.paint(Tone::Good, "edited"),
            };
            lines.extend(self.head(act, if self.is_dry { "" } else { &what }));
            if self.is_dry {
                lines.extend(difference::lines(act, &self.places, self.style));
            } else {
                lines.push(format!("  {}  {}", count(act.events.len(), "event"), act.events.join(", ")));
            }
        }
        if let Some(tried) = &done.tried {
            lines.push(format!("  {}", tried.line(self.style)));
        }
        let is_new = done.acts.iter().any(Act::is_change);
        if let Some(left) = machine::left_to_do(done.host).filter(|_| is_new) {
            lines.push(format!("  {}", self.style.paint(Tone::Warning, left)));
        }
        self.tell(&lines)
    }

    /// The lines of a diff stand as they are.
    fn tell(&self, lines: &[String]) -> Result<()> {
        let told = if self.is_dry { print_unbroken(lines) } else { print(lines) };
        Ok(told?)
    }

    fn uninstalled(&mut self, done: &Done, is_quiet: bool) -> Result<()> {
        if self.is_json {
            self.hosts.push(self.object(done));
            return Ok(());
        }
        let mut lines = Vec::new();
        for act in &done.acts {
            let what = match (&act.after, act.is_change()) {
                (_, false) if is_quiet => continue,
                (_, false) => self.style.paint(Tone::Dim, "has no entry of lineside"),
                (None, true) => self.style.paint(Tone::Good, "removed"),
                (Some(_), true) => self.style.paint(Tone::Good, "taken out"),
            };
            lines.extend(self.head(act, if self.is_dry { "" } else { &what }));
            if self.is_dry {
                lines.extend(difference::lines(act, &self.places, self.style));
            }
        }
        self.tell(&lines)
    }

    fn head(&self, act: &Act, what: &str) -> Vec<String> {
        let title = self.style.paint(Tone::Bold, act.host.title());
        let file = one_line(&shown(&act.file, &self.places));
        let link = act.leads_to().map(|real| format!(" -> {}", one_line(&shown(real, &self.places))));
        vec![format!("{title}  {file}{}  {what}", link.unwrap_or_default()).trim_end().to_owned()]
    }

    fn object(&self, done: &Done) -> Value {
        let files: Vec<Value> = done
            .acts
            .iter()
            .map(|act| {
                let change = match (act.is_change(), &act.before, &act.after) {
                    (false, ..) => "none",
                    (true, None, _) => "created",
                    (true, _, None) => "removed",
                    (true, ..) => "edited",
                };
                let mut file = Map::new();
                file.insert("file".to_owned(), json!(act.file));
                if let Some(real) = act.leads_to() {
                    file.insert("leads_to".to_owned(), json!(real));
                }
                file.insert("change".to_owned(), change.into());
                file.insert("events".to_owned(), json!(act.events));
                if self.is_dry {
                    file.insert("diff".to_owned(), difference::text(act).into());
                }
                Value::Object(file)
            })
            .collect();
        let mut object = json!({"host": done.host.name(), "level": self.level.name(), "files": files});
        if let Some(tried) = &done.tried {
            object["tried"] = tried.object();
        }
        object
    }

    fn end(self) -> Result<()> {
        if self.is_json {
            let all = json!({"dry_run": self.is_dry, "notes": self.remarks, "hosts": self.hosts});
            print_json(&all)?;
        }
        Ok(())
    }
}
