//! Connections at the HTTP door that have not shown the token yet. There are few of them, and one too many ends the one
//! that came first: a client that has the token shows it at once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// How many there are at once.
pub(crate) const MOST: usize = 64;

/// The longest head of a request at this door, and as much as is read of a body at once, in bytes.
pub(crate) const LONGEST_HEAD: usize = 16 << 10;

/// All of them, the oldest first.
pub(crate) struct Strangers {
    waiting: Mutex<(u64, VecDeque<(u64, CancellationToken)>)>,
    most: usize,
}

/// One of them, until it is known or dropped.
pub(crate) struct Stranger {
    of: Arc<Strangers>,
    number: u64,
    /// Cancelled when it gives way.
    pub(crate) gives_way: CancellationToken,
}

impl Strangers {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), most: most.clamp(1, MOST) })
    }

    /// One more comes.
    pub(crate) fn come(self: &Arc<Self>) -> Stranger {
        let gives_way = CancellationToken::new();
        let mut waiting = self.waiting();
        let (last, waiting) = &mut *waiting;
        *last += 1;
        waiting.push_back((*last, gives_way.clone()));
        if waiting.len() > self.most
            && let Some((_, oldest)) = waiting.pop_front()
        {
            oldest.cancel();
        }
        Stranger { of: Arc::clone(self), number: *last, gives_way }
    }

    fn waiting(&self) -> MutexGuard<'_, (u64, VecDeque<(u64, CancellationToken)>)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.of.waiting().1.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_many_ends_the_one_that_came_first_and_none_that_is_known() {
        let strangers = Strangers::new(2);
        let [first, second, third] = [(); 3].map(|()| strangers.come());
        let give_way =
            |all: &[&Stranger]| all.iter().map(|one| one.gives_way.is_cancelled()).collect::<Vec<_>>();
        assert_eq!(give_way(&[&first, &second, &third]), [true, false, false]);
        let known = second.gives_way.clone();
        drop(second);
        let fourth = strangers.come();
        assert_eq!(give_way(&[&third, &fourth]), [false, false]);
        let fifth = strangers.come();
        assert!(third.gives_way.is_cancelled() && !known.is_cancelled());
        drop((fourth, fifth));
        assert!(strangers.waiting().1.is_empty());
        let many: Vec<Stranger> = (0..20).map(|_| strangers.come()).collect();
        let stay: Vec<bool> = many.iter().map(|one| !one.gives_way.is_cancelled()).collect();
        assert!(stay.iter().enumerate().all(|(number, stays)| *stays == (number >= 18)), "{stay:?}");
    }
}
