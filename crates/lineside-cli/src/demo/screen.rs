//! Where the demo is shown: how wide it is, whether it has colours, whether somebody watches.

use std::io::IsTerminal as _;

use crate::page::ink::Colour;

/// Where the demo is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) columns: usize,
    pub(crate) colour: Colour,
    pub(crate) pace: Pace,
}

/// Whether there are rests between the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A person sees the session play.
    Played,
    /// As fast as the hooks are.
    AtOnce,
}

impl Screen {
    /// Standard output, of so many columns. Only a terminal gets rests.
    pub(crate) fn stdout(columns: usize, colour: Colour, pace: Pace) -> Self {
        let watched = std::io::stdout().is_terminal();
        Self { columns, colour, pace: if watched { pace } else { Pace::AtOnce } }
    }
}
