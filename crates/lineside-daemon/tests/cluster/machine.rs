//! A daemon on a machine of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside::client::{Registration, Session};
use lineside::core::propagation::GRANT;
use lineside::dialects::native::ClusterSettings;
use lineside::dialects::{Places, Trust};
use lineside::json::Value;
use lineside::prelude::*;
use lineside::trust::{Reach, Store};
use lineside::{Assembly, Bus, Client};
use lineside_daemon::{Server, Settings};
use tempfile::TempDir;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::nats::LONG;

pub(crate) struct Machine {
    folder: TempDir,
    settings: Settings,
    server: Option<Server>,
}

impl Machine {
    /// One that is together with the others on this server.
    pub(crate) async fn new(url: &str, name: &str) -> Self {
        Self::with(url, name, |cluster| cluster).await
    }

    /// One from which messages are out for this long.
    pub(crate) async fn with_deliveries(url: &str, name: &str, out: Duration) -> Self {
        Self::set(url, name, |cluster| cluster, |settings| settings.limits.delivery = out).await
    }

    /// One that has room for this many sessions in all.
    pub(crate) async fn with_sessions(url: &str, name: &str, sessions: usize) -> Self {
        Self::set(url, name, |cluster| cluster, |settings| settings.limits.sessions = sessions).await
    }

    /// One that keeps so many signals for readers that come late.
    pub(crate) async fn with_signals(url: &str, name: &str, signals: usize) -> Self {
        Self::set(url, name, |cluster| cluster, |settings| settings.limits.signals = signals).await
    }

    /// One that runs so many jobs at once.
    pub(crate) async fn with_running(url: &str, name: &str, running: usize) -> Self {
        Self::set(url, name, |cluster| cluster, |settings| settings.limits.running = running).await
    }

    /// The same machine in its next life.
    pub(crate) async fn again(mut self) -> Self {
        self.server.take().unwrap().end().await;
        self.server = Some(Server::start(self.settings.clone()).await.unwrap());
        self.until(|status| status["cluster"]["together"] == json!(true)).await;
        self
    }

    pub(crate) async fn with(
        url: &str,
        name: &str,
        change: impl FnOnce(ClusterSettings) -> ClusterSettings,
    ) -> Self {
        Self::set(url, name, change, |_| ()).await
    }

    async fn set(
        url: &str,
        name: &str,
        change: impl FnOnce(ClusterSettings) -> ClusterSettings,
        also: impl FnOnce(&mut Settings),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("project")).unwrap();
        let places = places(folder.path(), Trust::Granted);
        let root = folder.path();
        let mut settings = Settings::new(root.join("run/lineside.sock"), root.join("state"), places);
        let cluster = ClusterSettings {
            servers: url.to_owned(),
            machine: Some(name.to_owned()),
            ..ClusterSettings::default()
        };
        settings.cluster = Some(change(cluster));
        also(&mut settings);
        let server = Server::start(settings.clone()).await.unwrap();
        assert!(server.notes().is_empty(), "{:?}", server.notes());
        let machine = Self { folder, settings, server: Some(server) };
        machine.until(|status| status["cluster"]["together"] == json!(true)).await;
        machine
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.socket())
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("run/lineside.sock")
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// A client as a process has it that was started under a session of any machine.
    pub(crate) fn below(&self, session: &Session) -> Client {
        self.client().granted(session.environment().get(GRANT).unwrap())
    }

    pub(crate) async fn status(&self) -> Value {
        self.client().get("/v1/status").await.unwrap()
    }

    /// Waits until its status is so.
    pub(crate) async fn until(&self, so: impl Fn(&Value) -> bool) -> Value {
        let found = async {
            loop {
                let status = self.status().await;
                if so(&status) {
                    return status;
                }
                yield_now().await;
            }
        };
        timeout(LONG, found).await.expect("its status is so in time")
    }

    pub(crate) async fn end(mut self) {
        self.server.take().unwrap().end().await;
    }
}

fn places(folder: &Path, trust: Trust) -> Places {
    let project = folder.join("project");
    let home = folder.join("home").to_string_lossy().into_owned();
    let environment = [("HOME".to_owned(), home)].into();
    Places { environment, project_root: Some(project.clone()), cwd: project, trust }
}

/// Refuses what has this word in it, and says who it is.
pub(crate) async fn guard(session: &Session, name: &str, word: &'static str) -> Registration {
    let gate = session.intercept::<BeforeTool>(name.to_owned()).matching(tool("Shell"));
    let gate = gate.gate(move |call, _cx| {
        std::future::ready(match call.command().as_deref() {
            Some(command) if command.contains(word) => Verdict::block(format!("no {word}")),
            _ => Verdict::Continue,
        })
    });
    gate.await.unwrap()
}

/// Why a command is refused in a session; `None` where it is not.
pub(crate) async fn reason(session: &Session, command: &str) -> Option<String> {
    let decision = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await.unwrap();
    decision.reason().filter(|_| decision.is_refused()).map(|reason| reason.as_str().to_owned())
}

/// Waits until a command comes to this in a session.
pub(crate) async fn comes_to(session: &Session, command: &str, so: impl Fn(Option<&str>) -> bool) {
    let found = async {
        while !so(reason(session, command).await.as_deref()) {
            yield_now().await;
        }
    };
    timeout(LONG, found).await.expect("it comes to that in time");
}

/// A guard that refuses commands with this word in them.
pub(crate) fn refusing(word: &str) -> String {
    format!("#!/bin/sh\ngrep -q '\"{word}\"' && {{ echo 'no {word}' >&2; exit 2; }}\nexit 0\n")
}

impl Machine {
    /// A project on this machine with one guard, which is this script.
    pub(crate) fn project(&self, name: &str, guard: &str) -> PathBuf {
        let root = self.folder.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(root.join(".lineside")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        let hooks =
            "hooks: [{name: guard, on: before_tool, on_failure: block, command: [./.lineside/guard.sh]}]\n";
        fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
        let script = root.join(".lineside/guard.sh");
        fs::write(&script, guard).unwrap();
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        root
    }

    /// A person trusts a project on this machine.
    pub(crate) fn trust(&self, root: &Path) {
        let user = places(self.folder.path(), Trust::Withheld);
        let read = Assembly::new(Bus::new()).of_project(root).read_project(root, &user, None);
        let store = Store::of(&self.folder.path().join("state"));
        store.trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
    }
}
