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

impl Host {
    /// Its name, as `lineside hook` and the envelope of an event have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Kimi => "kimi",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen",
        }
    }

    /// Returns whether this build has its files and its hook command: whether the feature of its name is on.
    #[must_use]
    pub fn is_supported(self) -> bool {
        match self {
            Self::Claude => cfg!(feature = "claude"),
            Self::Codex => cfg!(feature = "codex"),
            Self::Copilot => cfg!(feature = "copilot"),
            Self::Cursor => cfg!(feature = "cursor"),
            Self::Gemini => cfg!(feature = "gemini"),
            Self::Kimi => cfg!(feature = "kimi"),
            Self::Opencode => cfg!(feature = "opencode"),
            Self::Qwen => cfg!(feature = "qwen"),
        }
    }

    /// The host of that name, whether its feature is on or not.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SERVED.into_iter().find(|host| host.name() == name)
    }

    /// The name of the program.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Copilot => "Copilot",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini CLI",
            Self::Kimi => "Kimi",
            Self::Opencode => "OpenCode",
            Self::Qwen => "Qwen Code",
        }
    }

    /// How many blocks in a row may keep its agent working (HO-33).
    pub(super) fn cap(self) -> u32 {
        match self {
            Self::Claude | Self::Codex | Self::Copilot | Self::Gemini | Self::Qwen => 8,
            Self::Cursor => 5,
            // Its end cannot be blocked.
            Self::Kimi | Self::Opencode => 1,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
