//! Policies: files of hooks in lineside's own format, used by their names.
//!
//! A policy says what is usually to be stopped, why, and what to do instead. It is text like any file of hooks, so that it
//! can be printed, copied and changed; what reads it is the reader of such files.
//!
//! ```
//! let policy = lineside_policies::named("no-force-push").unwrap();
//! assert!(policy.text.contains("verdict: block"));
//! ```

/// A policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyFile {
    /// Its name, as `use` has it.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
    /// Its tests, as `lineside test` runs them.
    pub cases: &'static str,
}

macro_rules! policies {
    ($($name:literal,)*) => {
        &[$(PolicyFile {
            name: $name,
            text: include_str!(concat!("../", $name, ".yaml")),
            cases: include_str!(concat!("../cases/", $name, ".cases.yaml")),
        }),*]
    };
}

/// Every policy.
pub const ALL: &[PolicyFile] = policies![
    "no-destructive-shell", "stay-in-project", "protect-secrets", "no-exfiltration", "no-remote-code",
    "git-safety", "no-force-push", "no-hook-bypass", "no-privilege-escalation", "no-system-changes",
    "package-safety", "database-safety", "infrastructure-safety", "protect-guards", "legible-commands",
];

/// The name that stands for the policies that are advised for every account.
pub const STANDARD_NAME: &str = "standard";

/// The names of the policies that are advised for every account.
pub const STANDARD: &[&str] = &[
    "no-destructive-shell", "stay-in-project", "protect-secrets", "no-exfiltration", "git-safety",
    "no-force-push", "no-hook-bypass", "database-safety", "infrastructure-safety", "protect-guards",
];

/// The policy of a name.
#[must_use]
pub fn named(name: &str) -> Option<&'static PolicyFile> {
    ALL.iter().find(|policy| policy.name == name)
}
