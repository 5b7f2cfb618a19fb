//! A daemon on a machine of its own.

use lineside::Client;
use lineside::client::{Registration, Session};
use lineside::core::propagation::GRANT;
use lineside::dialects::native::ClusterSettings;
use lineside::dialects::{Places, Trust};
use lineside::json::Value;
use lineside::prelude::*;
use lineside_daemon::{Server, Settings};
use tempfile::TempDir;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::nats::LONG;

pub(crate) struct Machine {
    folder: TempDir,
    server: Option<Server>,
}

impl Machine {
    /// One that is together with the others on this server.
    pub(crate) async fn new(url: &str, name: &str) -> Self {
        Self::with(url, name, |cluster| cluster).await
    }

    pub(crate) async fn with(
        url: &str,
        name: &str,
        change: impl FnOnce(ClusterSettings) -> ClusterSettings,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        std::fs::create_dir_all(&project).unwrap();
        let home = folder.path().join("home").to_string_lossy().into_owned();
        let environment = [("HOME".to_owned(), home)].into();
        let places =
            Places { environment, project_root: Some(project.clone()), cwd: project, trust: Trust::Granted };
        let root = folder.path();
        let mut settings = Settings::new(root.join("run/lineside.sock"), root.join("state"), places);
        let cluster = ClusterSettings {
            servers: url.to_owned(),
            machine: Some(name.to_owned()),
            ..ClusterSettings::default()
        };
        settings.cluster = Some(change(cluster));
        let server = Server::start(settings).await.unwrap();
        assert!(server.notes().is_empty(), "{:?}", server.notes());
        let machine = Self { folder, server: Some(server) };
        machine.until(|status| status["cluster"]["together"] == json!(true)).await;
        machine
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.folder.path().join("run/lineside.sock"))
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
