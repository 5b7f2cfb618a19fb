//! TLS: the server has to be the one that was meant.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::exchange::{Addresses, Posted};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::super::HttpClient;
use super::super::connect::trusting;
use super::{answered, post, reach, unreachable};

/// Who signs, and a server that proves to have these names.
pub(super) fn signed(names: &[&str]) -> (TlsAcceptor, RootCertStore) {
    let mut issuing = CertificateParams::new(Vec::<String>::new()).unwrap();
    issuing.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(issuing, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    (TlsAcceptor::from(Arc::new(config)), roots)
}

/// A client that trusts these, and to whom every name is here.
fn client(roots: RootCertStore, here: SocketAddr) -> HttpClient {
    let client = reach::told([[here], [here]]);
    assert!(client.connector.tls.set(Ok(trusting(roots))).is_ok());
    client
}

/// Serves one connection: how many requests it had, and the name that was asked for.
async fn serve(listener: &TcpListener, acceptor: &TlsAcceptor) -> (usize, Option<String>) {
    let (stream, _) = listener.accept().await.unwrap();
    let Ok(mut stream) = acceptor.accept(stream).await else { return (0, None) };
    let name = stream.get_ref().1.server_name().map(str::to_owned);
    let (mut read, mut requests) = (Vec::new(), 0);
    loop {
        let mut chunk = [0; 1024];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return (requests, name),
            Ok(count) => read.extend_from_slice(&chunk[..count]),
        }
        if read.ends_with(b"{\"a\":1}") {
            read.clear();
            requests += 1;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine").await.unwrap();
            stream.flush().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_server_that_proves_its_name_is_spoken_to_and_its_connection_kept() {
    let (acceptor, roots) = signed(&["hooks.example"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(roots, listener.local_addr().unwrap());
    let mut post = post("https://hooks.example/x");
    post.addresses = Addresses::Any;
    let posts = async {
        for _ in 0..50 {
            assert_eq!(answered(&client.post(&post).await), (200, "fine".to_owned(), 0));
        }
        client.drain();
    };
    let ((), (requests, name)) = tokio::join!(posts, serve(&listener, &acceptor));
    assert_eq!((requests, name.as_deref()), (50, Some("hooks.example")));
}

#[tokio::test]
async fn a_server_that_is_somebody_else_gets_nothing() {
    for names in [&["other.example"][..], &["127.0.0.1"], &["*.hooks.example"]] {
        let (acceptor, roots) = signed(names);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client(roots, listener.local_addr().unwrap());
        let mut post = post("https://hooks.example/x");
        post.addresses = Addresses::Any;
        let (posted, (requests, _)) = tokio::join!(client.post(&post), serve(&listener, &acceptor));
        unreachable(&posted, "cannot speak TLS with hooks.example");
        assert_eq!(requests, 0);
    }
}

#[tokio::test]
async fn a_server_whose_issuer_is_unknown_gets_nothing() {
    let (acceptor, _) = signed(&["hooks.example"]);
    let (_, roots) = signed(&["hooks.example"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(roots, listener.local_addr().unwrap());
    let mut post = post("https://hooks.example/x");
    post.addresses = Addresses::Any;
    let (posted, (requests, _)) = tokio::join!(client.post(&post), serve(&listener, &acceptor));
    unreachable(&posted, "cannot speak TLS with hooks.example");
    assert_eq!(requests, 0);
}

#[tokio::test]
async fn an_address_has_to_be_in_the_certificate_too() {
    for (names, fine) in [(&["127.0.0.1"][..], true), (&["127.0.0.2"], false), (&["localhost"], false)] {
        let (acceptor, roots) = signed(names);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let client = client(roots, here);
        let post = post(format!("https://{here}/x"));
        let posts = async {
            let posted = client.post(&post).await;
            client.drain();
            posted
        };
        let (posted, (requests, _)) = tokio::join!(posts, serve(&listener, &acceptor));
        assert_eq!(matches!(posted, Posted::Answered { status: 200, .. }), fine, "{names:?}: {posted:?}");
        assert_eq!(requests, usize::from(fine));
    }
}

#[tokio::test]
async fn p01_a_stalled_handshake_is_out_of_time() {
    let (_, roots) = signed(&["hooks.example"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(roots, listener.local_addr().unwrap());
    let mut post = post("https://hooks.example/x");
    (post.addresses, post.timeout) = (Addresses::Any, Duration::from_millis(200));
    assert_eq!(client.post(&post).await, Posted::TimedOut { after: post.timeout });
}
