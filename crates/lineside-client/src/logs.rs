//! The decision logs of all machines of a cluster, as the daemon asks for them.

use lineside_core::json::Map;

use crate::client::Client;
use crate::request::RequestError;
use crate::segment::segment;

impl Client {
    /// What was decided on all machines of the daemon's cluster: an object with `machines`, as the API describes it. Of each
    /// machine at most this many decisions that a query finds, the latest; or everything about the event of this id.
    ///
    /// # Errors
    /// As [`get`](Self::get); the daemon is in no cluster, or the query is invalid.
    pub async fn logs_of_cluster(
        &self,
        query: &str,
        most: usize,
        event: Option<&str>,
    ) -> Result<Map, RequestError> {
        let event = event.map(|event| format!("&event={}", segment(event))).unwrap_or_default();
        self.get(&format!("/v1/cluster/log?query={}&most={most}{event}", segment(query))).await
    }
}
