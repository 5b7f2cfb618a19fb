//! Tells the outside of questions: a command that is started, a URL that is posted to. Neither delays a question or an
//! answer, and what becomes of them changes nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lineside::dialects::native::ApprovalSettings;
use lineside::json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::view::View;
use crate::boxed::spawn;
use crate::outlet::Outlet;

/// How many are under way at once; a further question is not notified of.
const AT_ONCE: usize = 8;

/// What is notified.
pub(super) struct Notifier {
    outlets: Arc<[Outlet]>,
    places: Arc<Semaphore>,
    tracker: TaskTracker,
    ending: CancellationToken,
}

impl Notifier {
    pub(super) fn of(
        settings: Option<&ApprovalSettings>,
        tracker: &TaskTracker,
        ending: &CancellationToken,
    ) -> Self {
        let command = settings.map(|settings| &*settings.command).filter(|words| !words.is_empty());
        let post = settings.and_then(|settings| settings.post.as_ref());
        let outlets = command.map(Outlet::command).into_iter();
        let posts = post.map(|(url, addresses)| Outlet::post(url, *addresses, Vec::new()));
        Self {
            outlets: outlets.chain(posts).collect(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            tracker: tracker.clone(),
            ending: ending.clone(),
        }
    }

    /// A question waits, for as long as this.
    pub(super) fn tell(&self, view: &View, left: Duration) {
        if self.outlets.is_empty() {
            return;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::warn!("of a question nothing was notified: {AT_ONCE} notifications are under way");
            return;
        };
        let text = Value::Object(view.to_json(left)).to_string().into_bytes();
        let (outlets, ending) = (Arc::clone(&self.outlets), self.ending.clone());
        spawn(&self.tracker, async move {
            let all = join_all(outlets.iter().map(async |outlet| {
                if let Err(why) = outlet.take(text.clone()).await {
                    tracing::warn!(why, "a question could not be notified of");
                }
            }));
            tokio::select! {
                _ = all => {}
                () = ending.cancelled() => {}
            }
            join_all(outlets.iter().map(Outlet::end)).await;
            drop(place);
        });
    }
}
