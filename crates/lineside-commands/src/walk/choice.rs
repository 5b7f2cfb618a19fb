//! Variables that the command does not set: they may have any value or none. It is read as if each had one, and where that
//! makes a difference once more as if none had.

use super::{Choice, Walk};
use crate::analysis::Touch;
use crate::places::{Place, Places};

impl Walk<'_> {
    /// Whether what stands in the place of a value that is not known is taken, as in `${x:-word}`.
    pub(crate) fn takes_default(&mut self) -> bool {
        if self.choice == Choice::Unknown {
            self.choice = Choice::Met;
        }
        self.choice == Choice::Defaults
    }

    /// Adds what another reading of the same text has found.
    pub(super) fn add(&mut self, other: Walk<'_>) {
        let of = other.trail.map(|trail| trail.found).unwrap_or_default();
        let mut unseen = Places::default();
        let at = self.trail.as_mut().map_or(&mut unseen, |trail| &mut trail.found);
        let (all, other) = (&mut self.analysis, other.analysis);
        let places = (&mut at.programs, of.programs);
        let programs = join(&mut all.programs, other.programs, Some(places));
        let own = |touch: Touch| Touch { program: touch.program.map(|program| programs[program]), ..touch };
        let touches: Vec<Touch> = other.touches.into_iter().map(own).collect();
        join(&mut all.touches, touches, Some((&mut at.touches, of.touches)));
        join::<_, Place>(&mut all.mentions, other.mentions.into_iter().map(own).collect(), None);
        join(&mut all.elsewhere, other.elsewhere, Some((&mut at.elsewhere, of.elsewhere)));
        join(&mut all.unclear, other.unclear, Some((&mut at.unclear, of.unclear)));
        join(&mut all.traits, other.traits, Some((&mut at.traits, of.traits)));
        join::<_, Place>(&mut all.scripts, other.scripts, None);
        join::<_, Place>(&mut all.linked, other.linked, None);
        join::<_, Place>(&mut all.environment, other.environment, None);
        join::<_, Place>(&mut at.values, of.values, None);
        all.is_cut |= other.is_cut;
    }
}

/// Adds what is not there yet, with its places; answers where each stands.
fn join<T: PartialEq, P>(
    all: &mut Vec<T>,
    others: Vec<T>,
    places: Option<(&mut Vec<P>, Vec<P>)>,
) -> Vec<usize> {
    let (mut at, of) = places.map_or((None, Vec::new()), |(at, of)| (Some(at), of));
    let mut of = of.into_iter();
    let mut indices = Vec::with_capacity(others.len());
    for other in others {
        let place = of.next();
        let known = all.iter().position(|one| *one == other);
        indices.push(known.unwrap_or(all.len()));
        if known.is_none() {
            all.push(other);
            if let (Some(at), Some(place)) = (&mut at, place) {
                at.push(place);
            }
        }
    }
    indices
}
