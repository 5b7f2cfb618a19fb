//! What of a call made a filter match, for people.

use std::fmt;

use lineside_commands::filter::Match;
use lineside_commands::{Access, Trait};

use crate::calls::Call;

/// What made a filter match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The command, where the call has one.
    pub command: Option<String>,
    /// The program.
    pub program: Option<String>,
    /// The programs that lead to it, outermost first.
    pub way: Vec<String>,
    /// The path, and how it is touched.
    pub path: Option<(Access, String)>,
    /// What else the command does.
    pub does: Option<Trait>,
    /// Why it is not known whether it matches, where it counts as a match for that.
    pub doubt: Option<String>,
}

impl Found {
    /// What stands in the place of something that is not known.
    pub(crate) fn unknown(&self, what: &'static str) -> &'static str {
        match (&self.doubt, what) {
            (None, _) => "",
            (Some(_), "a program") => "a program that is not known",
            (Some(_), _) => "a path that is not known",
        }
    }

    pub(crate) fn of(call: &Call, found: Match) -> Self {
        let analysis = &call.analysis;
        let program = found.program.and_then(|index| analysis.programs.get(index));
        let touch = found.touch.and_then(|index| analysis.touches.get(index));
        Self {
            command: call.command.as_deref().map(str::to_owned),
            program: program.map(|program| program.name.to_string()),
            way: program.map(|program| program.way.clone()).unwrap_or_default(),
            path: touch.map(|touch| (touch.access, touch.path.clone())),
            does: found.does,
            doubt: found.unclear,
        }
    }
}

/// The short form: `rm, by sudo → bash: /etc is deleted`.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(doubt) = &self.doubt {
            return f.write_str(doubt);
        }
        let mut parts = Vec::new();
        if let Some(program) = &self.program {
            let by =
                if self.way.is_empty() { String::new() } else { format!(", by {}", self.way.join(" → ")) };
            parts.push(format!("{program}{by}"));
        }
        if let Some((access, path)) = &self.path {
            parts.push(format!("{path} {}", access.passive()));
        } else if let Some(does) = self.does {
            parts.push(does.active().to_owned());
        }
        f.write_str(&parts.join(": "))
    }
}
