//! A cut between a member and its server: a proxy that can be stopped, and goes on.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    is_whole: Arc<watch::Sender<bool>>,
}

impl Proxy {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (is_whole, whole) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((mut inner, _)) = listener.accept().await {
                let mut whole = whole.clone();
                tokio::spawn(async move {
                    if !*whole.borrow_and_update() {
                        return;
                    }
                    let Ok(mut outer) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut inner, &mut outer) => {}
                        _ = whole.wait_for(|is_whole| !is_whole) => {}
                    }
                });
            }
        });
        Self { address, is_whole: Arc::new(is_whole) }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Breaks all connections, and lets none through.
    pub(crate) fn cut(&self) {
        self.is_whole.send_replace(false);
    }

    pub(crate) fn heal(&self) {
        self.is_whole.send_replace(true);
    }
}
