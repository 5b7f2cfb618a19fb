//! The machines of a cluster, as they say that they are there.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::settings::Token;

/// How often a machine says that it is there.
pub(crate) const BEAT: Duration = Duration::from_secs(3);
/// After how long without a word it is away.
const LIFE: Duration = Duration::from_secs(10);
/// How many machines are remembered.
const MOST: usize = 4_096;

/// A machine of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its name.
    pub machine: String,
    /// Which life of it.
    pub life: String,
    /// When it was heard last.
    pub heard: Instant,
    /// Whether it is there.
    pub is_there: bool,
    /// Whether it is this one.
    pub is_self: bool,
}

/// What a machine says of itself: which life it is, and whether it comes, is there, or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Come,
    Here,
    Go,
}

impl Word {
    pub(crate) fn text(self, life: &Token) -> String {
        let word = match self {
            Self::Come => "come",
            Self::Here => "here",
            Self::Go => "go",
        };
        format!("{word} {life}")
    }

    pub(crate) fn read(text: &[u8]) -> Option<(Self, &str)> {
        let (word, life) = std::str::from_utf8(text).ok()?.split_once(' ')?;
        let word = match word {
            "come" => Self::Come,
            "here" => Self::Here,
            "go" => Self::Go,
            _ => return None,
        };
        Some((word, life))
    }
}

/// Those that were heard.
#[derive(Debug, Default)]
pub(crate) struct Members(HashMap<String, Heard>);

#[derive(Debug)]
struct Heard {
    life: String,
    /// The one before it.
    earlier: Option<String>,
    at: Instant,
    has_gone: bool,
}

impl Heard {
    fn is_away(&self, now: Instant) -> bool {
        self.has_gone || now.duration_since(self.at) > LIFE
    }
}

impl Members {
    /// A machine has said this. Where as many are remembered as may be, the one gives way that is away for longest.
    /// Tells whether a life goes on after another one was heard.
    pub(crate) fn hear(&mut self, machine: &str, (word, life): (Word, &str), now: Instant) -> bool {
        let mut heard = Heard { life: life.to_owned(), earlier: None, at: now, has_gone: word == Word::Go };
        if let Some(known) = self.0.get_mut(machine) {
            let is_same = known.life == life;
            let earlier = if is_same { known.earlier.take() } else { Some(known.life.clone()) };
            let goes_on = !is_same && !heard.has_gone && known.earlier.as_deref() == Some(life);
            heard.earlier = earlier;
            *known = heard;
            return goes_on;
        }
        if self.0.len() >= MOST {
            let away = self.0.iter().filter(|(_, heard)| heard.is_away(now));
            let Some(longest) = away.min_by_key(|(_, heard)| heard.at).map(|(name, _)| name.clone()) else {
                return false;
            };
            self.0.remove(&longest);
        }
        self.0.insert(machine.to_owned(), heard);
        false
    }

    /// Since when a machine is away; `None` for one that is there, or was never heard.
    pub(crate) fn away_since(&self, machine: &str, now: Instant) -> Option<Instant> {
        let heard = self.0.get(machine)?;
        heard.is_away(now).then_some(heard.at)
    }

    /// Whether a machine has said that it leaves.
    pub(crate) fn has_left(&self, machine: &str) -> bool {
        self.0.get(machine).is_some_and(|heard| heard.has_gone)
    }

    /// Whether it has said so in this life.
    pub(crate) fn is_over(&self, machine: &str, life: &str) -> bool {
        self.0.get(machine).is_some_and(|heard| heard.has_gone && heard.life == life)
    }

    /// All of them, by name.
    pub(crate) fn list(&self, own: &Token, now: Instant) -> Vec<Member> {
        let member = |(machine, heard): (&String, &Heard)| Member {
            is_there: !heard.is_away(now),
            is_self: machine == own.as_str(),
            life: heard.life.clone(),
            heard: heard.at,
            machine: machine.clone(),
        };
        let mut all: Vec<_> = self.0.iter().map(member).collect();
        all.sort_by(|one, other| one.machine.cmp(&other.machine));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_away_when_it_says_so_or_says_nothing() {
        let (mut members, now) = (Members::default(), Instant::now());
        assert_eq!(members.away_since("a", now), None, "it was never heard");
        members.hear("a", (Word::Here, "1"), now);
        assert_eq!(members.away_since("a", now + LIFE), None);
        assert_eq!(members.away_since("a", now + LIFE + BEAT), Some(now));
        members.hear("a", (Word::Go, "1"), now);
        assert_eq!(members.away_since("a", now), Some(now));
        members.hear("a", (Word::Come, "1"), now);
        assert_eq!(members.away_since("a", now), None);
        let list = members.list(&Token::new("a").unwrap(), now);
        assert!(list.len() == 1 && list[0].is_there && list[0].is_self);
    }

    #[test]
    fn of_very_many_machines_the_one_that_is_away_for_longest_gives_way_to_a_new_one() {
        let (mut members, now) = (Members::default(), Instant::now());
        let here = |members: &mut Members, machine: &str, at| members.hear(machine, (Word::Here, "1"), at);
        for number in 0..MOST {
            here(&mut members, &number.to_string(), now);
        }
        here(&mut members, "too many", now + LIFE);
        assert!(!members.0.contains_key("too many"), "all of them are there");
        members.hear("7", (Word::Go, "1"), now);
        here(&mut members, "new", now + LIFE);
        assert!(members.0.contains_key("new") && !members.0.contains_key("7"));
        for number in 0..100 {
            here(&mut members, &format!("later {number}"), now + LIFE * 3);
        }
        assert_eq!((members.0.len(), members.0.contains_key("later 99")), (MOST, true));
    }

    #[test]
    fn what_machines_say_is_read_as_it_is_written() {
        let life = Token::new("17").unwrap();
        for word in [Word::Come, Word::Here, Word::Go] {
            assert_eq!(Word::read(word.text(&life).as_bytes()), Some((word, "17")));
        }
        assert_eq!(Word::read(b"here"), None);
        assert_eq!(Word::read(b"x 17"), None);
    }
}
