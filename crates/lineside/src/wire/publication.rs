//! From an event that was read to one that is about to be published.

use std::sync::Arc;

use lineside_bus::Session;
use lineside_bus::publish::Publication;
use lineside_core::Payload;
use lineside_core::envelope::Cause;

use super::EventDraft;

/// An event of this session with everything that its draft says. What the draft repeats of the session is not said
/// again. Its id is a new one, and that of the draft is handed on as `publisher_id` of `extra`: the log, what that keeps and
/// its queries by time rely on ids that are the only ones and of the bus's clock.
///
/// ```
/// use lineside::dialects::DIALECTS;
/// use lineside::prelude::*;
/// use lineside::wire::{EventDraft, Vocabulary, publication};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// let line = br#"{"point": "before_prompt", "turn": 3, "payload": {"prompt": "hello"}}"#;
/// let draft = EventDraft::parse(line, &Vocabulary::new(DIALECTS))?;
/// let receipt = publication(&session, draft).publish_any().await?;
/// assert_eq!(receipt.event.envelope().turn, Some(3));
/// # Ok(())
/// # }
/// ```
pub fn publication(session: &Session, draft: EventDraft) -> Publication<Arc<dyn Payload>> {
    let source = session.source();
    let mut publication = session.any_event(draft.payload);
    if let Some(time) = draft.time {
        publication = publication.time(time);
    }
    if let Some(event) = draft.cause {
        publication = publication.cause(Cause { event, depth: 0 });
    }
    if let Some(turn) = draft.turn {
        publication = publication.turn(turn);
    }
    if let Some(agent) = draft.agent.filter(|agent| *agent != source.agent) {
        publication = publication.agent(agent);
    }
    if let Some(root) = draft.project_root.filter(|root| source.project_root.as_deref() != Some(root)) {
        publication = publication.project_root(root);
    }
    if let Some(cwd) = draft.cwd.filter(|cwd| source.cwd.as_deref() != Some(cwd)) {
        publication = publication.cwd(cwd);
    }
    if let Some(model) = draft.model {
        publication = publication.model(model);
    }
    if let Some(traceparent) = draft.traceparent {
        publication = publication.traceparent(traceparent);
    }
    if let Some(coverage) = draft.coverage {
        publication = publication.expect_coverage(coverage);
    }
    let mut extra = draft.extra;
    // The program that publishes is a matter of the session; another one is handed on beside it.
    if let Some(host) = draft.host.filter(|host| source.host.as_deref() != Some(host)) {
        extra.get_or_insert_with("host", || host.into());
    }
    if let Some(id) = draft.id {
        extra.get_or_insert_with("publisher_id", || id.to_string().into());
    }
    publication.extra(extra)
}
