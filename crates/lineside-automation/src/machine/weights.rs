//! How many bytes the events of jobs take: unsettled ones bound what is accepted, the others what is
//! kept of them.

/// The bytes of all events, in two parts.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Of unsettled jobs.
    pub(super) live: usize,
    /// Of those that have.
    pub(super) all_settled: usize,
    /// Of the keys of rates.
    pub(super) rates: usize,
}

/// What a rate keeps of a key, about, beside the key and its one copy.
const OF_KEY: usize = 256;

/// What the key of a rate takes.
pub(super) fn of_rate(key: &str) -> usize {
    OF_KEY + 2 * key.len()
}

impl Weights {
    /// What a job is among.
    pub(super) fn part(&mut self, is_at_rest: bool) -> &mut usize {
        if is_at_rest { &mut self.all_settled } else { &mut self.live }
    }
}
