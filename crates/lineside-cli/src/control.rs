//! `lineside status`, `stop`, `reload`, `off` and `on`: looking at the daemon and steering it. `status`, `off` and `on`
//! work with the daemon dead.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::Client;
use lineside::client::RequestError;
use lineside::json::{Map, Value, json};
use lineside_daemon::switch::Switch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::UnixStream;

use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::painter::one_line;
use crate::past_places;
use crate::project::Found;
use crate::style::{Style, Styles, Tone, count, print, print_json, tell};
use crate::{cluster, excerpt, places, project};

/// How long a request of a person waits for its answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How long `stop` waits for the end, and how often it looks.
const END: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// The daemon that is asked, and the form of its answer.
#[derive(Debug, Args)]
pub(crate) struct ControlArgs {
    #[command(flatten)]
    daemon: DaemonArgs,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl ControlArgs {
    pub(crate) fn daemon(&self) -> &DaemonArgs {
        &self.daemon
    }

    /// Whether programs read the answer.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}

/// Say how the daemon stands, and if hooks are off; see `top`, `cluster`.
///
/// Exit status: 0 the daemon answers and its hook files are sound, 1 they are not, 3 there is no daemon.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    control: ControlArgs,
}

/// End the daemon; `reload` has it load hooks anew.
///
/// Waits until it has ended.
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) control: ControlArgs,
}

impl StopArgs {
    /// To end this daemon.
    pub(crate) fn of(daemon: DaemonArgs) -> Self {
        Self { control: ControlArgs { daemon, json: false } }
    }
}

/// Have the daemon load all hook files anew.
///
/// Events under way end with the hooks that they began with.
#[derive(Debug, Args)]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    pub(crate) control: ControlArgs,
}

/// Switch all hooks of this user off; `on` switches them on.
///
/// The daemon lets every event pass then, and says so in each decision. Works without a daemon.
#[derive(Debug, Args)]
pub(crate) struct OffArgs {
    #[command(flatten)]
    pub(crate) control: ControlArgs,
}

/// Switch hooks on again.
///
/// Works without a daemon.
#[derive(Debug, Args)]
pub(crate) struct OnArgs {
    #[command(flatten)]
    control: ControlArgs,
}

/// There is no daemon, as `systemctl status` has it.
pub(crate) const NO_DAEMON: u8 = 3;

/// `lineside status`.
///
/// # Errors
/// The daemon answers something else than its status.
pub(crate) async fn status(args: &StatusArgs, styles: Styles) -> Result<ExitCode> {
    let ControlArgs { daemon, json } = &args.control;
    let paths = daemon.paths()?;
    if let Some(other) = daemon.of_other_account()? {
        tell(&format!("{}: {other}", styles.err.paint(Tone::Warning, "warning")));
    }
    let switch = paths.switch();
    let answer = ask(&paths, async |client| client.get::<Map>("/v1/status").await).await;
    let mut status = match answer {
        Ok(status) => status,
        Err(error) if is_no_daemon(&error) => {
            return no_daemon(&paths, &switch, *json, styles.out);
        }
        Err(error) => return Err(error),
    };
    status.insert("socket".to_owned(), json!(paths.socket));
    // Another one than the account's, where the daemon was started with it.
    status.insert(
        "state".to_owned(),
        json!(past_places::at(&paths.socket).map_or_else(|| paths.state.clone(), |last| last.state)),
    );
    let here = here(&paths);
    let is_held = here.as_ref().is_none_or(|found| found.is_of_programs_alone() || found.is_trusted());
    let sound = is_held && !findings(&status).any(|finding| finding["severity"] == "error");
    if *json {
        let here = here.map(|found| json!({"root": found.root(), "stands": found.word()}));
        status.insert("here".to_owned(), json!(here));
        print_json(&status)?;
    } else {
        print(page(&status, here.as_ref(), styles.out))?;
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `lineside stop`.
///
/// # Errors
/// The daemon does not end in time.
pub(crate) async fn stop(args: &StopArgs) -> Result<ExitCode> {
    let ControlArgs { daemon, json } = &args.control;
    let paths = daemon.paths()?;
    let asked = ask(&paths, async |client| {
        let status = client.get::<Map>("/v1/status").await?;
        // Named before it is asked to end, so that the number is not another's.
        let process = process(&status);
        client.post::<Map>("/v1/stop", &Map::new()).await.map(|ending| (ending, process))
    });
    let (ending, process) = match asked.await {
        Ok(asked) => asked,
        Err(error) if is_no_daemon(&error) => {
            say(*json, &json!({"status": "no daemon"}), "no daemon runs")?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => return Err(error),
    };
    let pid = ending.get("pid").and_then(Value::as_u64).unwrap_or_default();
    // Where it runs, its number may mean nothing here.
    let is_there = || {
        process
            .as_ref()
            .map_or_else(|| paths.socket.symlink_metadata().is_ok(), |process| !has_ended(process))
    };
    let ended = async {
        while is_there() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let ended = tokio::time::timeout(END, ended).await;
    ended.with_context(|| format!("the daemon (process {pid}) has not ended within {} s", END.as_secs()))?;
    say(*json, &json!({"status": "ended", "pid": pid}), &format!("the daemon (process {pid}) has ended"))?;
    Ok(ExitCode::SUCCESS)
}

/// The daemon's process.
fn process(status: &Map) -> Option<OwnedFd> {
    let pid = status.get("pid").and_then(Value::as_u64)?;
    pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()
}

/// Also where its parent has not looked at how it ended.
fn has_ended(process: &OwnedFd) -> bool {
    let now = Timespec::default();
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

/// `lineside reload`.
///
/// # Errors
/// There is no daemon, or the hooks cannot be loaded.
pub(crate) async fn reload(args: &ReloadArgs, styles: Styles) -> Result<ExitCode> {
    let ControlArgs { daemon, json } = &args.control;
    let paths = daemon.paths()?;
    let empty = Map::new();
    let reloaded = ask(&paths, async |client| client.post::<Map>("/v1/reload", &empty).await).await?;
    tell_findings(&reloaded, styles.err);
    let number = |field: &str| reloaded.get(field).and_then(Value::as_u64).unwrap_or_default();
    let hooks = count(usize::try_from(number("hooks")).unwrap_or_default(), "hook");
    let text = format!("generation {}: {hooks} in force", number("generation"));
    let sound = !findings(&reloaded).any(|finding| finding["severity"] == "error");
    say(*json, &Value::Object(reloaded), &text)?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `lineside off`.
///
/// # Errors
/// The file of the switch cannot be made.
pub(crate) async fn off(args: &OffArgs) -> Result<ExitCode> {
    let ControlArgs { daemon, json } = &args.control;
    let paths = daemon.paths()?;
    let switch = paths.switch();
    let changed = switch.off("hooks are switched off; `lineside on` switches them on again");
    let changed = changed.with_context(|| {
        let path = switch.path().display().to_string();
        format!(
            "failed to make {path}, so hooks are on; make its folder writable, or take lineside out of the agent \
             programs: lineside uninstall all"
        )
    })?;
    see(&paths).await;
    let path = switch.path().display().to_string();
    let text = if changed { "hooks are off" } else { "hooks were off already" };
    say(
        *json,
        &json!({"off": true, "changed": changed, "file": path}),
        &format!("{text} ({})", one_line(&path)),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// `lineside on`.
///
/// # Errors
/// The file of the switch cannot be removed.
pub(crate) async fn on(args: &OnArgs) -> Result<ExitCode> {
    let ControlArgs { daemon, json } = &args.control;
    let paths = daemon.paths()?;
    let switch = paths.switch();
    let path = switch.path().display().to_string();
    let changed = switch.on().with_context(|| format!("failed to remove {path}"))?;
    see(&paths).await;
    let text = if changed { "hooks are on" } else { "hooks were on already" };
    say(*json, &json!({"off": false, "changed": changed, "file": path}), text)?;
    Ok(ExitCode::SUCCESS)
}

/// Has the daemon see that hooks were switched, so that its log says when; without one nothing says it.
async fn see(paths: &DaemonPaths) {
    ask(paths, async |client| client.get::<Map>("/v1/status").await).await.ok();
}

/// Says on standard error that hooks are off, where they are.
pub(crate) fn tell_off(paths: Result<DaemonPaths>, style: Style) {
    if paths.is_ok_and(|paths| paths.switch().is_off()) {
        tell(&format!("{}: {OFF}", style.paint(Tone::Warning, "warning")));
    }
}

/// What is to be known of what hooks would do.
pub(crate) const OFF: &str = "hooks are off, so that every event passes; `lineside on` switches them on";

/// Asks the daemon something that it answers at once.
///
/// # Errors
/// There is no daemon, it does not answer in time, or it refuses.
pub(crate) async fn ask<T>(
    paths: &DaemonPaths,
    request: impl AsyncFnOnce(Client) -> Result<T, RequestError>,
) -> Result<T> {
    let client = Client::new(&paths.socket);
    let answer = tokio::time::timeout(PATIENCE, request(client)).await;
    let late = || {
        format!(
            "the daemon at {} does not answer within {} s; `lineside doctor` says what to do",
            paths.socket.display(),
            PATIENCE.as_secs()
        )
    };
    Ok(answer.with_context(late)??)
}

/// How a person ends a daemon that answers nothing: by the number of the process that listens at its socket.
pub(crate) async fn to_end(socket: &Path) -> String {
    let connected = tokio::time::timeout(PATIENCE, UnixStream::connect(socket)).await;
    let pid = connected.ok().and_then(|stream| stream.ok()?.peer_cred().ok()?.pid());
    pid.map_or_else(|| "end its process".to_owned(), |pid| format!("end its process: kill -9 {pid}"))
}

pub(crate) fn is_no_daemon(error: &anyhow::Error) -> bool {
    error.downcast_ref::<RequestError>().is_some_and(RequestError::is_no_daemon)
}

fn no_daemon(paths: &DaemonPaths, switch: &Switch, json: bool, style: Style) -> Result<ExitCode> {
    let off = switch.is_off();
    let object = json!({"status": "no daemon", "off": off, "socket": paths.socket, "state": paths.state});
    let state = style.paint(Tone::Warning, "no daemon");
    let hooks = if off { style.paint(Tone::Bad, "off") } else { "on".to_owned() };
    let socket = one_line(&paths.socket.display().to_string());
    let text = format!("{state}\n  socket  {socket}\n  hooks   {hooks}\n\nlineside serve  starts one");
    say(json, &object, &text)?;
    Ok(ExitCode::from(NO_DAEMON))
}

fn findings(status: &Map) -> impl Iterator<Item = &Value> {
    status.get("findings").and_then(Value::as_array).into_iter().flatten()
}

/// Reports what is wrong with hook files.
pub(crate) fn tell_findings(status: &Map, style: Style) {
    for finding in findings(status) {
        tell(&finding_line(finding, style));
        let text = finding["text"].as_str().unwrap_or_default();
        excerpt::of_text(text, style).iter().for_each(|line| tell(line));
    }
}

fn finding_line(finding: &Value, style: Style) -> String {
    let severity = finding["severity"].as_str().unwrap_or_default();
    let tone = match severity {
        "error" => Tone::Bad,
        "note" => Tone::Bold,
        _ => Tone::Warning,
    };
    let text = one_line(finding["text"].as_str().unwrap_or_default());
    format!("{}: {text}", style.paint(tone, severity))
}

/// The project of the current folder.
fn here(paths: &DaemonPaths) -> Option<Found> {
    let here = std::env::current_dir().ok()?;
    project::find(&here, &project::of_user(places::environment()), paths)
}

/// How the project of this folder stands, and the others that sessions work in.
fn projects(status: &Map, here: Option<&Found>, style: Style) -> Vec<String> {
    let own = match here {
        None => "none here: no folder up to the root of the working tree has hooks".to_owned(),
        Some(found) => {
            let root = one_line(&found.root().display().to_string());
            match found.wrong() {
                None => format!("{root}, {}", found.word()),
                Some(_) if found.is_of_programs_alone() => format!("{root}, {}", found.word()),
                Some((what, remedy)) => {
                    let sign = style.paint(Tone::Bad, "✗");
                    format!("{sign} {}; {}", one_line(&what), one_line(&remedy))
                }
            }
        }
    };
    let mut lines = vec![format!("  project   {own}")];
    for project in status.get("projects").and_then(Value::as_array).into_iter().flatten() {
        let [root, stands] =
            ["root", "stands"].map(|field| one_line(project[field].as_str().unwrap_or_default()));
        let number =
            |field: &str| usize::try_from(project[field].as_u64().unwrap_or_default()).unwrap_or_default();
        let (hooks, sessions) = (count(number("hooks"), "hook"), count(number("sessions"), "session"));
        lines.push(format!("            {root}: {stands}, {hooks} in force, {sessions} open"));
    }
    if let Some(root) = status.get("project").and_then(Value::as_str) {
        lines.push(format!("            {}: of every session", one_line(root)));
    }
    lines
}

/// The status as people read it.
fn page(status: &Map, here: Option<&Found>, style: Style) -> Vec<String> {
    let text = |field: &str| match status.get(field) {
        Some(Value::String(text)) => one_line(text),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let number = |field: &str| {
        status.get(field).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or_default()
    };
    let off = status.get("off").and_then(Value::as_bool).unwrap_or_default();
    let hooks = if off {
        style.paint(Tone::Bad, "off: every event passes; `lineside on` switches them on")
    } else {
        format!("{} in force, generation {}", number("hooks"), text("generation"))
    };
    let uptime = Duration::from_millis(status.get("uptime_ms").and_then(Value::as_u64).unwrap_or_default());
    let state = style.paint(Tone::Good, if text("status") == "ok" { "running" } else { "ending" });
    let mut lines = vec![
        format!("{state}  process {}, version {}, for {}", text("pid"), text("version"), span(uptime)),
        format!("  socket    {}", text("socket")),
        format!("  state     {}", text("state")),
        format!("  hooks     {hooks}"),
    ];
    lines.extend(projects(status, here, style));
    lines.extend([
        format!("  sessions  {} open", number("sessions")),
        format!(
            "  jobs      {} live, {} dead, kept {}",
            number("live_jobs"),
            number("dead_jobs"),
            match &*text("durability") {
                "disk" => "on the disk".to_owned(),
                kept => format!("in {kept}"),
            }
        ),
        format!("  failures  {} of hooks", number("failures")),
    ]);
    lines.extend(status.get("cluster").and_then(Value::as_object).map(|of| cluster::summary(of, style)));
    let failing = status.get("failing").and_then(Value::as_array).into_iter().flatten();
    lines.extend(failing.map(|failing| format!("            {}", one_line(&failing_line(failing)))));
    let of_process = misplaced(status).map(|(text, remedy)| format!("{text}; {remedy}"));
    let of_process = of_process.map(|text| json!({"severity": "warning", "text": text}));
    let of_process: Vec<Value> = of_process.collect();
    lines.extend(findings(status).chain(&of_process).map(|finding| finding_line(finding, style)));
    lines
}

/// What of the process of a daemon is not as a person expects, and what to do.
pub(crate) fn misplaced(status: &Map) -> impl Iterator<Item = (String, &'static str)> {
    let outlived = outlived(status).map(|text| (text, ANOTHER));
    let process = status.get("pid").and_then(Value::as_u64);
    let apart = process.and_then(|process| apart(&process.to_string())).map(|text| (text, HERE));
    outlived.into_iter().chain(apart)
}

/// That the daemon is in another network than this command, as in a sandbox whose agent has begun it.
fn apart(process: &str) -> Option<String> {
    let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
    (network(process)? != network("self")?).then(|| {
        "the daemon has been started within another network, as that of a sandbox: its dashboard cannot be reached from \
         here, and its hooks reach no address that is here alone"
            .to_owned()
    })
}

/// What has a daemon where a person is.
const HERE: &str = "lineside stop, then: lineside serve --detached";

/// That the daemon runs a program in whose place another one lies by now, as after an upgrade.
fn outlived(status: &Map) -> Option<String> {
    let process = status.get("pid").and_then(Value::as_u64)?;
    let program = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let program = program.to_str()?.strip_suffix(" (deleted)")?;
    Path::new(program)
        .exists()
        .then(|| format!("the daemon has run since before {program} was replaced, and is what that was then"))
}

/// What ends a daemon of an earlier program.
pub(crate) const ANOTHER: &str = "lineside stop, and the next event starts another";

/// Which hook has failed of late, how often and how.
pub(crate) fn failing_line(failing: &Value) -> String {
    let text = |field: &str| failing[field].as_str().unwrap_or_default();
    let times = match failing["times"].as_u64() {
        Some(1) | None => "once".to_owned(),
        Some(times) => format!("{times} times"),
    };
    let last = format!("last at {} ({}): {}", text("point"), text("failed"), text("detail"));
    format!("hook \"{}\" has failed {times} within the last hour, {last}", text("hook"))
}

/// A span of time as people say it.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

fn say(json: bool, object: &Value, text: &str) -> Result<()> {
    if json {
        print_json(object)?;
    } else {
        print(text.lines())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_daemon_in_another_network_is_found_out() {
        assert_eq!(apart("self"), None);
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", "echo; read line"]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return };
        let mut line = String::new();
        let answered = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
        // Not every system lets a user make a network.
        if answered.is_ok_and(|length| length > 0) {
            assert!(apart(&child.id().to_string()).is_some_and(|text| text.contains("another network")));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
