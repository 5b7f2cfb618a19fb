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
    is_supported: bool,
}

impl Host {
    fn facts(self) -> Facts {
        let (name, title, cap, labels_context, is_supported) = match self {
            Self::Claude => ("claude", "Claude Code", 8, true, cfg!(feature = "claude")),
            Self::Codex => ("codex", "Codex", 8, false, cfg!(feature = "codex")),
            Self::Copilot => ("copilot", "Copilot", 8, false, cfg!(feature = "copilot")),
            Self::Cursor => ("cursor", "Cursor", 5, false, cfg!(feature = "cursor")),
            Self::Gemini => ("gemini", "Gemini CLI", 8, true, cfg!(feature = "gemini")),
            // The end of these two cannot be blocked.
            Self::Kimi => ("kimi", "Kimi", 1, false, cfg!(feature = "kimi")),
            Self::Opencode => ("opencode", "OpenCode", 1, false, cfg!(feature = "opencode")),
            Self::Qwen => ("qwen", "Qwen Code", 8, false, cfg!(feature = "qwen")),
        };
        Facts { name, title, cap, labels_context, is_supported }
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
