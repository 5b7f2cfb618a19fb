//! How often a hook has kept the agent of each session working (CU-12).

use std::sync::{Mutex, PoisonError};

/// How many sessions are remembered; beyond that the one that was silent longest begins anew.
const MOST: usize = 1024;

/// The follow-ups of one hook, by session; the session that had the last one stands at the end.
#[derive(Debug, Default)]
pub(crate) struct FollowUps(Mutex<Vec<(String, u32)>>);

impl FollowUps {
    /// Counts one more; `false` when the hook has given as many as it may.
    pub(super) fn one_more(&self, session: &str, at_most: u32) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counts.iter().position(|(known, _)| known == session);
        let count = known.map_or(0, |at| counts.remove(at).1);
        let is_within = count < at_most;
        if counts.len() >= MOST {
            counts.remove(0);
        }
        counts.push((session.to_owned(), count + u32::from(is_within)));
        is_within
    }
}

#[cfg(test)]
mod tests {
    use super::{FollowUps, MOST};

    #[test]
    fn each_session_has_its_own_count() {
        let counts = FollowUps::default();
        assert!(counts.one_more("a", 2) && counts.one_more("b", 2) && counts.one_more("a", 2));
        assert!(!counts.one_more("a", 2) && counts.one_more("b", 2) && !counts.one_more("b", 2));
        assert!(!counts.one_more("c", 0));
        for session in 0..MOST {
            counts.one_more(&session.to_string(), 1);
        }
        assert!(counts.one_more("a", 2), "it was silent longest");
    }
}
