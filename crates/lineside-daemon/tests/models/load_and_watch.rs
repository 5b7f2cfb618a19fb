//! What is in force is what the files say once they rest, also where the client of a reload has left in the middle of it.

use std::sync::Arc;

use shuttle::future;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::{Mutex, Notify};

use crate::explored;
use crate::in_force::InForce;

/// The files, as one number, and the hooks that were read from them.
#[derive(Default)]
struct World {
    files: AtomicU32,
    hooks: AtomicU32,
    changed: Notify,
    loaded: Mutex<InForce<u32>>,
}

impl World {
    /// Starts what plugins need, which takes its time, and puts the hooks in force.
    async fn install(&self, files: u32) -> Result<(), ()> {
        future::yield_now().await;
        self.hooks.store(files, Ordering::SeqCst);
        Ok(())
    }

    /// A client's reload: always.
    async fn reload(&self) {
        let mut loaded = self.loaded.lock().await;
        let files = self.files.load(Ordering::SeqCst);
        loaded.put(files, self.install(files)).await.unwrap();
    }

    /// The watcher's: where the files have changed.
    async fn reload_changed(&self) {
        let mut loaded = self.loaded.lock().await;
        let files = self.files.load(Ordering::SeqCst);
        if !loaded.is(&files) {
            loaded.put(files, self.install(files)).await.unwrap();
        }
    }
}

#[test]
fn hooks_follow_their_files_though_the_client_of_a_reload_leaves() {
    explored(|| {
        let world = Arc::new(World::default());
        let client = future::spawn({
            let world = Arc::clone(&world);
            async move { world.reload().await }
        });
        let watcher = future::spawn({
            let world = Arc::clone(&world);
            async move {
                for _ in 0..2 {
                    world.changed.notified().await;
                    world.reload_changed().await;
                }
            }
        });
        future::block_on(async {
            for files in 1..=2 {
                world.files.store(files, Ordering::SeqCst);
                world.changed.notify_one();
                future::yield_now().await;
            }
            client.abort();
            // Two notices may have become one; a last one comes when the files rest.
            world.changed.notify_one();
            future::yield_now().await;
            world.reload_changed().await;
            watcher.abort();
            assert_eq!(world.hooks.load(Ordering::SeqCst), 2);
        });
    });
}
