//! A daemon in folders of its own, and bare requests to it.

use std::path::PathBuf;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use lineside::Client;
use lineside::dialects::{Places, Trust};
use lineside::json::Value;
use lineside_daemon::settings::Limits;
use lineside_daemon::{Server, Settings};
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};

/// A daemon and its folders.
pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) server: Server,
}

/// The folders of a daemon that does not run.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The settings of a daemon in a folder, with hooks of the project `project` within it.
pub(crate) fn settings(folder: &TempDir) -> Settings {
    let (root, project) = (folder.path(), folder.path().join("project"));
    std::fs::create_dir_all(&project).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let home = root.join("home").to_string_lossy().into_owned();
    let environment = [("HOME".to_owned(), home), ("PATH".to_owned(), path)].into();
    let places =
        Places { environment, project_root: Some(project.clone()), cwd: project, trust: Trust::Granted };
    Settings::new(root.join("run/lineside.sock"), root.join("state"), places)
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(|settings| settings).await
    }

    pub(crate) async fn with(change: impl FnOnce(Settings) -> Settings) -> Self {
        let folder = folder();
        let server = Server::start(change(settings(&folder))).await.unwrap();
        Self { folder, server }
    }

    /// With a native hook file in the project.
    pub(crate) async fn hooked(yaml: &str) -> Self {
        let folder = folder();
        let settings = settings(&folder);
        let hooks = folder.path().join("project/.lineside");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(hooks.join("hooks.yaml"), yaml).unwrap();
        let server = Server::start(settings).await.unwrap();
        Self { folder, server }
    }

    /// With another daemon in the place of the first, which has ended.
    pub(crate) async fn again(self) -> Self {
        let Self { folder, server } = self;
        server.end().await;
        Self { server: Server::start(settings(&folder)).await.unwrap(), folder }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("run/lineside.sock")
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.socket())
    }

    /// A request with a JSON body, to its status and its JSON.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = json_request(method, path, body.to_string().into_bytes());
        read(self.request(request).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, &Value::Null).await
    }

    /// Any request, over a connection of its own.
    pub(crate) async fn request(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let stream = UnixStream::connect(self.socket()).await.unwrap();
        exchange(TokioIo::new(stream), request).await
    }

    /// Any request over HTTP.
    pub(crate) async fn http(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let stream = TcpStream::connect(self.server.http().unwrap()).await.unwrap();
        exchange(TokioIo::new(stream), request).await
    }
}

pub(crate) fn json_request(method: Method, path: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    let builder = Request::builder().method(method).uri(path).header("host", "lineside");
    builder.header("content-type", "application/json").body(Full::new(body.into())).unwrap()
}

/// Few bytes and little time, for tests of the bounds.
pub(crate) fn small(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

pub(crate) async fn read(response: Response<Incoming>) -> (u16, Value) {
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, lineside::json::from_slice(&bytes).unwrap_or(Value::Null))
}

async fn exchange<T>(io: TokioIo<T>, request: Request<Full<Bytes>>) -> Response<Incoming>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = handshake(io).await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request).await.unwrap()
}
