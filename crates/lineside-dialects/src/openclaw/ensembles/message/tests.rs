//! The content of a message and what goes with it.

use lineside_core::Ensemble as _;
use lineside_core::json::json;

use super::super::member::Merged;
use super::super::samples::{amendments, said};
use super::Sending;
use crate::openclaw::samples::event;

#[test]
fn the_last_content_and_the_last_metadata_win() {
    // OC-51
    let event = event("before_message_send", json!({ "content": "hi" }));
    let settled = Merged(Sending).finalize(
        &event,
        vec![
            said(0, "message_sending", "a", json!({ "content": "a", "metadata": { "n": 1 } })),
            said(1, "message_sending", "b", json!({ "content": "", "cancel": false })),
            said(2, "message_sending", "c", json!({ "metadata": { "n": 2 } })),
        ],
    );
    assert_eq!(amendments(&settled), [(1, json!({ "content": "" }))]);
    assert!(settled[0].what.extra.is_empty());
    assert_eq!(settled[2].what.extra.get("openclaw.metadata"), Some(&json!({ "n": 2 })));
}
