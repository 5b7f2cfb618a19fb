//! What stands in the place of posts in a build without the feature `http`: every post is unreachable, and says why.

use lineside_core::exchange::{Post, Posted};

/// A client that reaches nothing, because the feature `http` is not on.
#[derive(Debug, Clone, Default)]
pub struct HttpClient(());

impl HttpClient {
    /// A client that reaches nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives [`Posted::Unreachable`].
    pub async fn post(&self, _post: &Post) -> Posted {
        Posted::Unreachable { why: "lineside was built without its feature `http`".to_owned() }
    }

    /// Closes the connections that are kept, of which there are none.
    pub fn drain(&self) {}
}
