//! Telling those who wait for a group, beside the writer when they are many.
//!
//! To wake a task from outside its runtime takes about a microsecond; for hundreds of them that is as long as the disk
//! takes for the next group. A few are notified by the writer itself, since to wake another thread takes longer.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use lineside_core::journal::Durability;

use crate::group::Group;

/// More than so many are many.
const FEW: usize = 8;
/// How many groups may wait for notification. When there are more, the writer helps.
const WAITING: usize = 16;

/// A group, and how durable it is.
type News = (Arc<Group>, Durability);

/// A thread that tells.
pub(crate) struct Notifier {
    news: Option<SyncSender<News>>,
    thread: Option<JoinHandle<()>>,
}

impl Notifier {
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, receiver) = sync_channel::<News>(WAITING);
        let thread = thread::Builder::new().name("lineside-notifier".to_owned());
        let tell = move || receiver.into_iter().for_each(|(group, durability)| group.reached(durability));
        Ok(Self { news: Some(sender), thread: Some(thread.spawn(tell)?) })
    }

    /// Tells the group, in which there are so many appends.
    pub(crate) fn tell(&self, group: Arc<Group>, appends: usize, durability: Durability) {
        let many = self.news.as_ref().filter(|_| appends > FEW);
        let Some(news) = many else { return group.reached(durability) };
        match news.try_send((group, durability)) {
            Ok(()) => {}
            Err(TrySendError::Full((group, _)) | TrySendError::Disconnected((group, _))) => {
                group.reached(durability);
            }
        }
    }
}

impl Drop for Notifier {
    /// Waits until all waiters are notified.
    fn drop(&mut self) {
        drop(self.news.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing in it that panics but the wakers of others.
            drop(thread.join());
        }
    }
}
