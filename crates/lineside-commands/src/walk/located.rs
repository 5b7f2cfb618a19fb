//! Places, where they are asked for: without a trail all of this is a test for its absence.

use super::Walk;
use crate::analysis::{Trait, Unknown};
use crate::places::Place;
use crate::value::{Value, spelt};

impl Walk<'_> {
    pub(crate) fn is_located(&self) -> bool {
        self.trail.is_some()
    }

    /// Where a part of the text at hand stands.
    pub(crate) fn place(&self, part: &str) -> Place {
        self.trail.as_ref().map_or_else(Place::default, |trail| trail.place(part))
    }

    /// Notes which word is read.
    pub(crate) fn reads(&mut self, word: &str) {
        if let Some(trail) = &mut self.trail {
            trail.now = trail.place(word);
        }
    }

    /// Does what is about a place, if that is known.
    pub(crate) fn at<T>(&mut self, place: Place, run: impl FnOnce(&mut Self) -> T) -> T {
        let Some(trail) = &mut self.trail else { return run(self) };
        let before = trail.now;
        trail.now = place.or(before);
        let done = run(self);
        self.comes_back(Some(before));
        done
    }

    /// Notes that the body of a function is run; answers what was before.
    pub(crate) fn goes_into(&mut self, body: &str) -> Option<Place> {
        let trail = self.trail.as_mut()?;
        let before = trail.now;
        trail.body(body);
        Some(before)
    }

    pub(crate) fn comes_back(&mut self, before: Option<Place>) {
        if let (Some(trail), Some(before)) = (&mut self.trail, before) {
            trail.now = before;
        }
    }

    pub(crate) fn does(&mut self, one: Trait) {
        self.analysis.does(one);
        if let Some(trail) = &mut self.trail {
            trail.found.traits.resize(self.analysis.traits.len(), trail.now);
        }
    }

    pub(crate) fn cannot_tell(&mut self, what: Unknown, reason: &str) {
        self.analysis.cannot_tell(what, reason);
        if let Some(trail) = &mut self.trail {
            trail.found.unclear.resize(self.analysis.unclear.len(), trail.now);
        }
    }

    pub(crate) fn locate_program(&mut self, words: &[Value]) {
        if let Some(trail) = &mut self.trail {
            trail.found.programs.push(places(words, trail.now));
        }
    }

    pub(crate) fn locate_touch(&mut self, place: Place) {
        if let Some(trail) = &mut self.trail {
            trail.found.touches.push(place.or(trail.now));
        }
    }

    pub(crate) fn locate_value(&mut self, name: &str, values: Option<&[Value]>) {
        let (Some(trail), Some([value])) = (&mut self.trail, values) else { return };
        trail.used(name, spelt(&value.text), value.place);
    }

    /// Forgets the places of what is listed no longer.
    pub(crate) fn forget_places(&mut self) {
        if let Some(trail) = &mut self.trail {
            trail.found.programs.truncate(self.analysis.programs.len());
            trail.found.touches.truncate(self.analysis.touches.len());
            trail.found.unclear.truncate(self.analysis.unclear.len());
        }
    }
}

/// The places of a program's words; one that the command does not spell has that of what is run.
fn places(words: &[Value], now: Place) -> Vec<Place> {
    words.iter().map(|word| word.place.or(now)).collect()
}
