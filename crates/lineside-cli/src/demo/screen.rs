//! Where the demo is shown: how wide it is, whether it has colours, whether a person watches.

use std::io::IsTerminal as _;

use crate::style::Style;

/// Where the demo is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) columns: usize,
    pub(crate) style: Style,
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
    pub(crate) fn stdout(columns: usize, style: Style, pace: Pace) -> Self {
        let watched = std::io::stdout().is_terminal();
        Self { columns, style, pace: if watched { pace } else { Pace::AtOnce } }
    }
}
