//! A real server of NATS.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::timeout;

/// How long anything may take here that takes milliseconds where nothing else runs.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Nats {
    folder: TempDir,
    process: Option<Child>,
    more: String,
    pub(crate) port: u16,
}

impl Nats {
    /// Started, with this at the end of its settings.
    pub(crate) async fn with(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut nats = Self { folder, process: None, more: more.to_owned(), port: 0 };
        nats.start().await;
        nats
    }

    pub(crate) async fn new() -> Self {
        Self::with("").await
    }

    /// Starts it, at its port from the second time on.
    pub(crate) async fn start(&mut self) {
        let program =
            std::env::var_os("LINESIDE_NATS_SERVER").expect("LINESIDE_NATS_SERVER names nats-server");
        let folder = self.folder.path();
        let settings = folder.join("nats.conf");
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let mut file = std::fs::File::create(&settings).unwrap();
        let store = folder.join("store");
        let more = &self.more;
        writeln!(file, "listen: \"127.0.0.1:{port}\"\njetstream: {{store_dir: {store:?}}}\n{more}").unwrap();
        let mut child = Command::new(program)
            .arg("-c")
            .arg(&settings)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = child.stderr.take().unwrap();
        // It says that it is ready, and goes on to say more.
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let (mut ready, mut port) = (Some(ready), 0);
            for line in std::io::BufRead::lines(std::io::BufReader::new(errors)).map_while(Result::ok) {
                if let Some((_, listens)) = line.split_once("client connections on 127.0.0.1:") {
                    port = listens.trim().parse().unwrap();
                }
                if let Some(ready) = ready.take_if(|_| line.contains("Server is ready")) {
                    ready.send(port).ok();
                }
            }
        });
        self.port = timeout(LONG, is_ready).await.expect("the server is ready").expect("the server runs");
        self.process = Some(child);
    }

    /// Ends it at once, as a kill does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// What it has on the disk is gone.
    pub(crate) fn lose_everything(&self) {
        std::fs::remove_dir_all(self.folder.path().join("store")).unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}
