//! What the dashboard keeps: its door, who may look, and the model of what agents do now. How it is asked over HTTP is for
//! `api`.
//!
//! Nothing is kept and no port is open before a person has asked for it, and nothing follows the signals while no page is
//! open.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::OnceLock;

use tokio::net::TcpListener;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

pub(crate) mod keys;
pub(crate) mod live;
pub(crate) mod peer;

use keys::Keys;
use live::Live;

/// The dashboard of a daemon.
#[derive(Default)]
pub(crate) struct Dashboard {
    pub(crate) keys: Keys,
    pub(crate) live: Live,
    address: OnceLock<SocketAddr>,
    opening: AsyncMutex<()>,
    /// Where a listener goes, to be served by the owner of the daemon's tasks.
    listeners: OnceLock<mpsc::Sender<TcpListener>>,
}

impl Dashboard {
    /// Where listeners come out that are to be served; there is one at most.
    pub(crate) fn listeners(&self) -> mpsc::Receiver<TcpListener> {
        let (sender, receiver) = mpsc::channel(1);
        // Only the first one is served.
        self.listeners.set(sender).ok();
        receiver
    }

    /// The address of its door, once that is open.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// Opens its door, unless that is open: a port of the system's choice, on loopback.
    ///
    /// # Errors
    /// There is no port, or the daemon is ending.
    pub(crate) async fn open(&self) -> io::Result<SocketAddr> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(address) = self.address() {
            return Ok(address);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let ending = || io::Error::other("the daemon is ending");
        let listeners = self.listeners.get().ok_or_else(ending)?;
        listeners.send(listener).await.map_err(|_| ending())?;
        Ok(*self.address.get_or_init(|| address))
    }
}
