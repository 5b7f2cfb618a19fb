//! Variables that the command does not set: they may have any value or none. It is read as if each had one, and where that
//! makes a difference once more as if none had.

use super::{Choice, Walk};

impl Walk<'_> {
    /// Whether what stands in the place of a value that is not known is taken, as in `${x:-word}`.
    pub(crate) fn takes_default(&mut self) -> bool {
        if self.choice == Choice::Unknown {
            self.choice = Choice::Met;
        }
        self.choice == Choice::Defaults
    }

    /// Leaves out what has been found once more behind the first programs.
    pub(super) fn drop_twins(&mut self, first: usize) {
        let all = &mut self.analysis;
        let twin = |at: usize| all.programs[..first.min(at)].iter().position(|one| *one == all.programs[at]);
        let twins: Vec<Option<usize>> = (0..all.programs.len()).map(twin).collect();
        let place = |at: usize| {
            twins
                .iter()
                .take(twins.get(at).copied().flatten().unwrap_or(at))
                .filter(|twin| twin.is_none())
                .count()
        };
        for touch in all.touches.iter_mut().chain(&mut all.mentions) {
            touch.program = touch.program.map(place);
        }
        let known = |at: usize| all.touches[..at].contains(&all.touches[at]);
        let known: Vec<bool> = (0..all.touches.len()).map(known).collect();
        keep(&mut all.programs, |at| twins.get(at).is_none_or(Option::is_none));
        keep(&mut all.touches, |at| known.get(at) != Some(&true));
        if let Some(trail) = &mut self.trail {
            keep(&mut trail.found.programs, |at| twins.get(at).is_none_or(Option::is_none));
            keep(&mut trail.found.touches, |at| known.get(at) != Some(&true));
        }
    }
}

fn keep<T>(list: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
    let mut at = 0..;
    list.retain(|_| at.next().is_some_and(&is_kept));
}
