//! How many bytes the events of jobs take: unsettled ones bound what is accepted, the others what is
//! kept of them.

/// The bytes of all events, in two parts.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Of unsettled jobs.
    pub(super) live: usize,
    /// Of those that have.
    pub(super) at_rest: usize,
}

impl Weights {
    /// What a job is among.
    pub(super) fn part(&mut self, is_at_rest: bool) -> &mut usize {
        if is_at_rest { &mut self.at_rest } else { &mut self.live }
    }
}
