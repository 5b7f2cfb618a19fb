//! The agent programs that are spoken with, by name.

use std::fmt;

/// An agent program.
///
/// ```
/// use lineside_dialects::hosts::{HOSTS, Host};
///
/// assert_eq!(Host::named("claude"), Some(Host::Claude));
/// assert_eq!(Host::Gemini.title(), "Gemini CLI");
/// assert!(HOSTS.iter().all(|host| Host::named(host.name()) == Some(*host)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Copilot: the command line program, the cloud agent and VS Code.
    Copilot,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// Kimi CLI and Kimi Code.
    Kimi,
    /// OpenCode, which has plugins and no hook command.
    Opencode,
    /// Qwen Code.
    Qwen,
}

/// All hosts with a hook command, in alphabetical order.
pub const HOSTS: [Host; 7] =
    [Host::Claude, Host::Codex, Host::Copilot, Host::Cursor, Host::Gemini, Host::Kimi, Host::Qwen];

/// All hosts that are served, in alphabetical order: those with a hook command, and those with a plugin.
pub const SERVED: [Host; 8] = [
    Host::Claude,
    Host::Codex,
    Host::Copilot,
    Host::Cursor,
    Host::Gemini,
    Host::Kimi,
    Host::Opencode,
    Host::Qwen,
];

/// What is known of a host by its name alone.
struct Facts {
    name: &'static str,
    title: &'static str,
    cap: u32,
    /// Whether it tells its model that a text is a hook's.
    labels_context: bool,
    /// How long it may let a hook command run, in seconds.
    longest: u32,
    /// The entries of another program that it runs beside its own (HO-39).
    runs: Option<Foreign>,
    is_supported: bool,
}

/// The entries of another program.
#[derive(Debug, Clone, Copy)]
enum Foreign {
    /// It is answered in the words of that one.
    InTheirWords,
    /// Its own words contain those of this one.
    InItsOwn(Host),
}

impl Host {
    fn facts(self) -> Facts {
        const DAY: u32 = 24 * 60 * 60;
        let (name, title, cap, labels_context, longest, runs, is_supported) = match self {
            Self::Claude => ("claude", "Claude Code", 8, true, DAY, None, cfg!(feature = "claude")),
            Self::Codex => ("codex", "Codex", 8, false, DAY, None, cfg!(feature = "codex")),
            Self::Copilot => {
                let runs = Some(Foreign::InItsOwn(Self::Claude));
                ("copilot", "Copilot", 8, false, DAY, runs, cfg!(feature = "copilot"))
            }
            Self::Cursor => {
                let runs = Some(Foreign::InTheirWords);
                ("cursor", "Cursor", 5, false, DAY, runs, cfg!(feature = "cursor"))
            }
            Self::Gemini => ("gemini", "Gemini CLI", 8, true, DAY, None, cfg!(feature = "gemini")),
            // The end of these two cannot be blocked. Kimi refuses a file with a longer time (KI-10).
            Self::Kimi => ("kimi", "Kimi", 1, false, 600, None, cfg!(feature = "kimi")),
            Self::Opencode => ("opencode", "OpenCode", 1, false, DAY, None, cfg!(feature = "opencode")),
            Self::Qwen => ("qwen", "Qwen Code", 8, false, DAY, None, cfg!(feature = "qwen")),
        };
        Facts { name, title, cap, labels_context, longest, runs, is_supported }
    }

    /// Its name, as `lineside hook` and the envelope of an event have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns whether this build has its files and its hook command: whether the feature of its name is on.
    #[must_use]
    pub fn is_supported(self) -> bool {
        self.facts().is_supported
    }

    /// The host of that name, whether its feature is on or not.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SERVED.into_iter().find(|host| host.name() == name)
    }

    /// The name of the program.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// Whether the program tells its model that a text is a hook's. Where it does not, the text itself has to.
    #[must_use]
    pub fn labels_context(self) -> bool {
        self.facts().labels_context
    }

    /// How long the program may let a hook command run, in seconds.
    pub(super) fn longest(self) -> u32 {
        self.facts().longest
    }

    /// In whose words its events are answered through an entry of this host (HO-44).
    pub(super) fn answered_by(self, entry: Self) -> Self {
        match self.facts().runs {
            Some(Foreign::InItsOwn(other)) if other == entry => self,
            _ => entry,
        }
    }

    /// Whether one event of it may come through the entries of another program as well.
    pub(super) fn comes_twice(self) -> bool {
        self.facts().runs.is_some()
    }

    /// How many blocks in a row may keep its agent working (HO-33).
    pub(super) fn cap(self) -> u32 {
        self.facts().cap
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
