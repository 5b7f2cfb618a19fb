//! How a connection comes about: look up, check, connect to what was checked, speak TLS with the name.
//!
//! A name is looked up once for a connection. All of its addresses are checked, and the connection is made to one of
//! them by number: the name is not resolved again in between. `Host` and the name in TLS stay those of the URL.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::{Arc, OnceLock};

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use lineside_core::exchange::Addresses;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::addresses::{Kind, check};
use super::error::PostError;
use super::proxy::Proxy;
use super::target::{Host, Target};
use super::wire::{Stream, Wire};

/// Makes connections.
#[derive(Clone, Default)]
pub(super) struct Connector {
    pub(super) names: Names,
    pub(super) proxy: Option<Proxy>,
    /// Read from the system at the first `https` post.
    pub(super) tls: Arc<OnceLock<Result<TlsConnector, String>>>,
}

/// Who knows which addresses a name has.
#[derive(Clone, Default)]
pub(super) enum Names {
    /// The system.
    #[default]
    System,
    /// A test: each look-up has the next of these answers.
    #[cfg(test)]
    Scripted(Arc<std::sync::Mutex<std::collections::VecDeque<Vec<SocketAddr>>>>),
}

impl Connector {
    /// A new connection to the target. The time is shared among the addresses that it has.
    pub(super) async fn connect(
        &self,
        target: &Target,
        allowed: Addresses,
        by: Instant,
    ) -> Result<Wire, PostError> {
        let resolved = Instant::now();
        let proxy = self.proxy.as_ref().filter(|_| goes_through_a_proxy(&target.host));
        let (host, port) = proxy.map_or((&target.host, target.port), Proxy::place);
        let found = self.resolve(host, port).await?;
        // Where the proxy is, is its owner's business.
        check(host, &found, if proxy.is_some() { Addresses::Any } else { allowed })?;
        let tcp = open(host, &found, by).await?;
        let refused = |source| PostError::Connect { host: host.to_string(), source };
        let socket = tcp.as_fd().try_clone_to_owned().map_err(refused)?.into();
        let mut stream: Box<dyn Stream> = Box::new(tcp);
        let mut prefix = None;
        if proxy.is_some() {
            if target.tls {
                stream = tunnel(stream, target).await?;
            } else {
                prefix = Some(format!("http://{}", target.authority));
            }
        }
        if target.tls {
            stream = self.encrypted(stream, target).await?;
        }
        Wire::over(stream, socket, prefix, resolved).await
    }

    async fn resolve(&self, host: &Host, port: u16) -> Result<Vec<SocketAddr>, PostError> {
        let name = match host {
            Host::Address(address) => return Ok(vec![SocketAddr::new(*address, port)]),
            Host::Name(name) => name,
        };
        match &self.names {
            Names::System => match lookup_host((name.as_str(), port)).await {
                Ok(found) => Ok(found.collect()),
                Err(source) => Err(PostError::Name { host: name.clone(), source }),
            },
            #[cfg(test)]
            Names::Scripted(answers) => Ok(answers.lock().unwrap().pop_front().unwrap_or_default()),
        }
    }

    async fn encrypted(
        &self,
        stream: Box<dyn Stream>,
        target: &Target,
    ) -> Result<Box<dyn Stream>, PostError> {
        let tls = self.tls.get_or_init(of_the_system).clone().map_err(|why| PostError::Roots { why })?;
        let failed = |source| PostError::Tls { host: target.host.to_string(), source };
        let name = match &target.host {
            Host::Address(address) => ServerName::from(*address),
            Host::Name(name) => ServerName::try_from(name.clone())
                .map_err(|error| failed(Error::new(ErrorKind::InvalidInput, error)))?,
        };
        Ok(Box::new(tls.connect(name, stream).await.map_err(failed)?))
    }
}

/// What has no address of its own in public is not behind a proxy.
fn goes_through_a_proxy(host: &Host) -> bool {
    match host {
        Host::Address(address) => Kind::of(*address) == Kind::Public,
        Host::Name(_) => !host.is_localhost(),
    }
}

async fn open(host: &Host, found: &[SocketAddr], by: Instant) -> Result<TcpStream, PostError> {
    let mut last = Error::from(ErrorKind::AddrNotAvailable);
    for (left, address) in (1..=found.len()).rev().zip(found) {
        let share = by.saturating_duration_since(Instant::now()) / u32::try_from(left).unwrap_or(u32::MAX);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => match stream.set_nodelay(true) {
                Ok(()) => return Ok(stream),
                Err(error) => last = error,
            },
            Ok(Err(error)) => last = error,
            Err(_) => last = ErrorKind::TimedOut.into(),
        }
    }
    Err(PostError::Connect { host: host.to_string(), source: last })
}

/// Has a proxy connect us to the target.
async fn tunnel(stream: Box<dyn Stream>, target: &Target) -> Result<Box<dyn Stream>, PostError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(PostError::Broken)?;
    let place = format!("{}:{}", target.host, target.port);
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.method_mut() = Method::CONNECT;
    let wrong = |why: String| PostError::Url { url: place.clone(), why };
    *request.uri_mut() = place.parse().map_err(|error| wrong(format!("{error}")))?;
    request.headers_mut().insert(HOST, place.parse().map_err(|error| wrong(format!("{error}")))?);
    let asked = async {
        let response = sender.send_request(request).await.map_err(PostError::Broken)?;
        if response.status() != StatusCode::OK {
            let status = response.status().as_u16();
            return Err(PostError::Proxy { host: target.host.to_string(), status });
        }
        hyper::upgrade::on(response).await.map_err(PostError::Broken)
    };
    tokio::pin!(asked);
    tokio::select! {
        biased;
        upgraded = &mut asked => return Ok(Box::new(TokioIo::new(upgraded?))),
        _ = connection.with_upgrades() => {}
    }
    Ok(Box::new(TokioIo::new(asked.await?)))
}

fn of_the_system() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string));
    }
    Ok(trusting(roots))
}

pub(super) fn trusting(roots: RootCertStore) -> TlsConnector {
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}
