//! Tells the outside of questions: a command that is started, a URL that is posted to. Neither delays a question or an
//! answer, and what becomes of them changes nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside::core::exchange::{Addresses, Post, Posted};
use lineside::core::invocation::{Environment, Exit, Invocation, Limits, Program};
use lineside::dialects::native::ApprovalSettings;
use lineside::exec::{HttpClient, Runner};
use lineside::json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::view::View;

/// How long a notification may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How many are under way at once; a further question is not notified of.
const AT_ONCE: usize = 8;
/// How much is kept of what they answer.
const KEPT: usize = 4 << 10;

/// What is notified.
pub(super) struct Notifier {
    command: Vec<String>,
    post: Option<(String, Addresses)>,
    places: Arc<Semaphore>,
    runner: Runner,
    client: HttpClient,
    tracker: TaskTracker,
    ending: CancellationToken,
}

impl Notifier {
    pub(super) fn of(
        settings: Option<&ApprovalSettings>,
        tracker: &TaskTracker,
        ending: &CancellationToken,
    ) -> Self {
        Self {
            command: settings.map(|settings| settings.command.clone()).unwrap_or_default(),
            post: settings.and_then(|settings| settings.post.clone()),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            runner: Runner::new(),
            client: HttpClient::new(),
            tracker: tracker.clone(),
            ending: ending.clone(),
        }
    }

    /// A question waits, for as long as this.
    pub(super) fn tell(&self, view: &View, left: Duration) {
        if self.command.is_empty() && self.post.is_none() {
            return;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::warn!("of a question nothing was notified: {AT_ONCE} notifications are under way");
            return;
        };
        let text = Value::Object(view.to_json(left)).to_string().into_bytes();
        let (runner, client, ending) = (self.runner.clone(), self.client.clone(), self.ending.clone());
        let post = self.post.clone().map(|(url, addresses)| Post {
            url,
            addresses,
            headers: Vec::new(),
            body: text.clone(),
            timeout: LIMIT,
            body_bytes: KEPT,
        });
        let command = (!self.command.is_empty()).then(|| Invocation {
            program: Program::argv(&self.command),
            stdin: text,
            environment: Environment::default(),
            files: Vec::new(),
            working_directory: Some(PathBuf::from("/")),
            limits: Limits { timeout: LIMIT, stdout_bytes: KEPT, stderr_bytes: KEPT, ..Limits::default() },
        });
        self.tracker.spawn(async move {
            let all = async {
                tokio::join!(
                    async {
                        let Some(command) = &command else { return };
                        let ended = runner.run(command).await;
                        if ended.exit != Exit::Code(0) {
                            tracing::warn!(exit = ?ended.exit, "the command that is notified of questions has failed");
                        }
                    },
                    async {
                        let Some(post) = &post else { return };
                        let posted = client.post(post).await;
                        if !matches!(posted, Posted::Answered { status: 200..=299, .. }) {
                            tracing::warn!(?posted, "a question could not be posted");
                        }
                    }
                );
            };
            tokio::select! {
                () = all => {}
                () = ending.cancelled() => {}
            }
            runner.drain().await;
            drop(place);
        });
    }
}
