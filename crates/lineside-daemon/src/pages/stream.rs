//! What has changed since, again and again, as server-sent events. There is no queue: a frame is made when the connection
//! takes one, and has everything since the one before.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use tokio::time::{Instant, sleep_until};

use super::gate::refused;
use super::views::{Filter, sessions};
use crate::body::Query;
use crate::boxed::apart;
use crate::daemon::Daemon;
use crate::dashboard::live::TICK;

/// How often a connection shows that it lives.
const QUIET: Duration = Duration::from_secs(15);
/// How often the log is asked what a filter finds, at most; and no more than this part of the time.
const ASK: Duration = Duration::from_secs(2);
const PART: u32 = 10;

/// The frames of the fleet, at most ten a second.
pub(super) async fn frames(State(daemon): State<Arc<Daemon>>, Query(filter): Query<Filter>) -> Response {
    if let Err(wrong) = filter.query(&daemon) {
        return refused(StatusCode::BAD_REQUEST, "No query", &wrong);
    }
    let now = Instant::now();
    let reader = Reader { daemon, filter, since: 0, heard: 0, next: now, told: now, asks: now, only: None };
    let pieces = unfold(reader, async |mut reader| {
        let text = reader.next().await?;
        Some((Ok::<_, Infallible>(text), reader))
    });
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (head, Body::from_stream(pieces)).into_response()
}

/// One page that is open.
struct Reader {
    daemon: Arc<Daemon>,
    filter: Filter,
    /// What it has seen: the version of the model, and how many signals that had heard.
    since: u64,
    heard: u64,
    next: Instant,
    told: Instant,
    /// When the log is asked again, and what it has found.
    asks: Instant,
    only: Option<HashSet<String>>,
}

impl Reader {
    /// The next frame; `None` when the daemon ends. Cancel safe.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                () = self.daemon.ending.cancelled() => return None,
                () = sleep_until(self.next) => {}
            }
            let now = Instant::now();
            self.next = now + TICK;
            let is_asked = !self.filter.q.trim().is_empty() && now >= self.asks;
            if is_asked {
                let found = sessions(&self.daemon, &self.filter).await.unwrap_or_default();
                self.asks = Instant::now() + ASK.max(now.elapsed() * PART);
                self.only = Some(found);
            }
            let (seen, only) = ((self.since, self.heard), if is_asked { self.only.clone() } else { None });
            let daemon = Arc::clone(&self.daemon);
            let look = move || frame(&daemon, seen, only.as_ref());
            // What has happened since may be thousands of events, which no request is to wait for.
            let frame = apart(look).await.ok()?;
            match frame {
                Some((frame, version, heard)) => {
                    (self.since, self.heard, self.told) = (version.max(1), heard, now);
                    return Some(Bytes::from(format!("event: frame\ndata: {frame}\n\n")));
                }
                None if now.duration_since(self.told) >= QUIET => {
                    self.told = now;
                    return Some(Bytes::from_static(b":\n\n"));
                }
                None => {}
            }
        }
    }
}

/// What is new for a page that has seen this, with the version and how many signals were heard.
fn frame(
    daemon: &Daemon,
    (since, heard): (u64, u64),
    only: Option<&HashSet<String>>,
) -> Option<(String, u64, u64)> {
    daemon.dashboard.live.look(daemon.for_pages(), |model, _| {
        let is_news = only.is_some() || model.version() > since || model.heard() > heard || since == 0;
        is_news.then(|| (model.frame(since, only), model.version(), model.heard()))
    })
}
