//! Connections to the socket: HTTP/1.1, kept open and used again. The task owner of the crate.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use lineside_core::propagation::HEADER;
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

use crate::client::RequestError;

/// How many idle connections are kept.
const IDLE: usize = 64;

/// The connections to one daemon, and what is shown there.
#[derive(Clone)]
pub(crate) struct Wire {
    inner: Arc<Inner>,
    grant: Option<Arc<str>>,
}

struct Inner {
    socket: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    _driver: AbortOnDropHandle<()>,
}

impl Wire {
    pub(crate) fn to(socket: &Path) -> Self {
        let inner = Inner { socket: socket.to_path_buf(), idle: Mutex::default() };
        Self { inner: Arc::new(inner), grant: None }
    }

    /// The same connections, with a grant.
    pub(crate) fn granted(&self, grant: String) -> Self {
        Self { inner: Arc::clone(&self.inner), grant: Some(grant.into()) }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.inner.socket
    }

    /// One request to its answer. It is sent once: a connection that breaks is not tried again, because the request may
    /// have arrived. Dropping the future closes its connection, which cancels the request at the daemon.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), RequestError> {
        let mut connection = match self.idle() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let broken = |source| RequestError::Broken { source };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "lineside")
            .header(header::CONTENT_TYPE, "application/json");
        let request = match &self.grant {
            Some(grant) => request.header(HEADER, &**grant),
            None => request,
        };
        let request =
            request.body(Full::new(Bytes::from(body))).map_err(|_| RequestError::BadPath(path.to_owned()))?;
        connection.sender.ready().await.map_err(broken)?;
        let response = connection.sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(broken)?.to_bytes();
        self.give_back(connection);
        Ok((status, body))
    }

    /// A connection that is open still.
    fn idle(&self) -> Option<Connection> {
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(|connection| !connection.sender.is_closed())
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE && !connection.sender.is_closed() {
            idle.push(connection);
        }
    }

    async fn connect(&self) -> Result<Connection, RequestError> {
        let stream = UnixStream::connect(self.socket())
            .await
            .map_err(|source| RequestError::NoDaemon { socket: self.socket().to_path_buf(), source })?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|source| RequestError::Broken { source })?;
        let driver = tokio::spawn(async move {
            // What goes wrong is the error of the request concerned.
            connection.await.ok();
        });
        Ok(Connection { sender, _driver: AbortOnDropHandle::new(driver) })
    }
}
