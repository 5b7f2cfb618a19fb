//! What the hooks in force were read from.

/// It is remembered once it is in force, and not before: what a load has read that was left in between is read again.
#[derive(Default)]
pub(crate) struct InForce<F>(F);

impl<F: PartialEq> InForce<F> {
    /// Whether what is in force was read from this.
    pub(crate) fn is(&self, from: &F) -> bool {
        self.0 == *from
    }

    /// Puts what was read from this in force. Dropping the future leaves what was before.
    ///
    /// # Errors
    /// It cannot be put in force.
    pub(crate) async fn put<T, E>(
        &mut self,
        from: F,
        put: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let done = put.await?;
        self.0 = from;
        Ok(done)
    }
}
