//! Stands between a client and the daemon: it can cut all connections, be away, and hold the answers back.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    pub(crate) path: PathBuf,
    generation: watch::Sender<u64>,
    held: watch::Sender<bool>,
}

impl Proxy {
    pub(crate) fn before(daemon: &Path, path: PathBuf) -> Self {
        let listener = UnixListener::bind(&path).unwrap();
        let (generation, watching) = watch::channel(0);
        let (held, holding) = watch::channel(false);
        let daemon = daemon.to_path_buf();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (daemon, mut watching, mut holding) = (daemon.clone(), watching.clone(), holding.clone());
                watching.mark_unchanged();
                tokio::spawn(async move {
                    let Ok(far) = UnixStream::connect(daemon).await else { return };
                    let ((mut near_read, mut near_write), (mut far_read, mut far_write)) =
                        (near.into_split(), far.into_split());
                    let back = async move {
                        let mut buffer = vec![0; 8 << 10];
                        while let Ok(read) = far_read.read(&mut buffer).await {
                            holding.wait_for(|held| !held).await.unwrap();
                            if read == 0 || near_write.write_all(&buffer[..read]).await.is_err() {
                                return;
                            }
                        }
                    };
                    tokio::select! {
                        _ = copy(&mut near_read, &mut far_write) => {}
                        () = back => {}
                        _ = watching.changed() => {}
                    }
                });
            }
        });
        Self { path, generation, held }
    }

    pub(crate) fn cut(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Nothing is given back until it is let go.
    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// No connection is let in, and those that were are cut.
    pub(crate) fn leave(&self) {
        fs::rename(&self.path, self.path.with_extension("away")).unwrap();
        self.cut();
    }

    pub(crate) fn come_back(&self) {
        fs::rename(self.path.with_extension("away"), &self.path).unwrap();
    }
}
