//! The environment of the process, read once, and what a daemon inherits of it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Parts of names whose values may be secret.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"];
/// Its name has one of these parts, and its value is the path of a socket.
const NO_SECRET: &str = "SSH_AUTH_SOCK";
/// What the variables of hosts and of their models begin with.
const OF_HOSTS: [&str; 11] = [
    "ANTHROPIC_", "CLAUDE", "CODEX_", "COPILOT_", "CURSOR_", "GEMINI_", "GOOGLE_", "KIMI_", "OPENAI_",
    "OPENCODE_", "QWEN_",
];
/// What belongs to one session of a daemon, or to the service that a host is.
const OF_ANOTHER: [&str; 9] = [
    "LINESIDE_SOCKET", "LINESIDE_SESSION", "LINESIDE_GRANT", "TRACEPARENT", "LISTEN_FDS", "LISTEN_FDNAMES",
    "LISTEN_PID", "NOTIFY_SOCKET", "WATCHDOG_USEC",
];

/// The environment of a process.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// The value of a variable that holds an absolute path; any other counts as not set.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// What a daemon inherits that is started here: nothing that may be secret, nothing of a host, and nothing of the
    /// session or the service that this process is under.
    pub(crate) fn of_a_daemon(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let kept = self.0.iter().filter(|(name, _)| is_inherited(name));
        kept.map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

fn is_inherited(name: &OsStr) -> bool {
    let name = String::from_utf8_lossy(name.as_bytes());
    if name == NO_SECRET {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    let is_secret = SECRET.iter().any(|part| upper.contains(part));
    let is_of_a_host = OF_HOSTS.iter().any(|prefix| name.starts_with(prefix));
    !is_secret && !is_of_a_host && !OF_ANOTHER.contains(&&*name)
}

#[cfg(test)]
mod tests {
    use super::Environment;

    #[test]
    fn a_daemon_inherits_no_secret_and_nothing_of_a_host() {
        let names = [
            "HOME", "PATH", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "LANG", "MY_API_KEY", "github_token",
            "Client_Secret", "PGPASSWORD", "AWS_CREDENTIAL_FILE", "PROXY_AUTHORIZATION", "CLAUDECODE",
            "CLAUDE_PROJECT_DIR", "GOOGLE_CLOUD_PROJECT", "QWEN_PROJECT_DIR", "LINESIDE_GRANT",
            "LINESIDE_SESSION", "TRACEPARENT", "NOTIFY_SOCKET",
        ];
        let environment: Environment = names.map(|name| (name, "x")).into_iter().collect();
        let kept: Vec<_> = environment.of_a_daemon().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(kept, ["HOME", "PATH", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "LANG"]);
    }

    #[test]
    fn ho_72_every_word_of_a_secret_in_any_case_and_every_prefix_of_a_host_is_left_out() {
        let left_out = |name: &str| {
            let environment: Environment = [(name, "x")].into_iter().collect();
            environment.of_a_daemon().next().is_none()
        };
        for part in ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"] {
            let lower = part.to_lowercase();
            for name in [part.to_owned(), format!("A_{part}S"), format!("a{lower}"), format!("{lower}_b")] {
                assert!(left_out(&name), "{name}");
            }
        }
        let hosts = "ANTHROPIC_ CLAUDE CODEX_ COPILOT_ CURSOR_ GEMINI_ GOOGLE_ KIMI_ OPENAI_ OPENCODE_ QWEN_";
        for prefix in hosts.split(' ') {
            assert!(left_out(&format!("{prefix}X")) && !left_out(&format!("X{prefix}")), "{prefix}");
        }
        for kept in ["SSH_AUTH_SOCK", "GOOGLE", "codex_home", "PATH"] {
            assert!(!left_out(kept), "{kept}");
        }
    }

    #[test]
    fn a_path_that_is_not_absolute_counts_as_not_set() {
        let environment: Environment = [("A", "/a"), ("B", "b"), ("C", "")].into_iter().collect();
        let found = ["A", "B", "C", "D"].map(|name| environment.path(name).is_some());
        assert_eq!(found, [true, false, false, false]);
    }
}
