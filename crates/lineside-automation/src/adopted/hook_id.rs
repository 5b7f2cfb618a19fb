//! Which hook it is, in a text that is the same in another life of the process as long as the hook is.

use std::fmt;

/// Everything by which a hook of a dialect is known again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookId {
    /// Its format.
    pub dialect: String,
    /// The digest of what declares it, in hexadecimal. With another content it is another hook.
    pub content: String,
    /// The line that declares it.
    pub line: u32,
    /// The file.
    pub file: String,
    /// What its format calls what it waits for.
    pub trigger: String,
    /// Its name.
    pub name: String,
}

/// Tells hooks from automations, which begin with a point or a session.
const SCHEME: &str = "foreign:";

impl fmt::Display for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dialect, content, line, file, trigger, name } = self;
        write!(f, "{SCHEME}{dialect}:{content}:{line}:{file}/{}/{}", escaped(trigger), escaped(name))
    }
}

impl HookId {
    /// A hook of no file.
    #[must_use]
    pub fn in_memory(dialect: &str, name: &str) -> Self {
        let (dialect, name) = (dialect.to_owned(), name.to_owned());
        let (content, file, trigger) = (String::new(), String::new(), String::new());
        Self { dialect, content, line: 0, file, trigger, name }
    }

    /// Whether an automation is a hook.
    #[must_use]
    pub fn names(automation: &str) -> bool {
        automation.starts_with(SCHEME)
    }

    /// The hook of an automation; `None` when it is not one of a hook.
    #[must_use]
    pub fn read(automation: &str) -> Option<Self> {
        let mut parts = automation.strip_prefix(SCHEME)?.splitn(4, ':');
        let (dialect, content) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let line = parts.next()?.parse().ok()?;
        let mut parts = parts.next()?.rsplitn(3, '/');
        let (name, trigger) = (plain(parts.next()?), plain(parts.next()?));
        Some(Self { dialect, content, line, file: parts.next()?.to_owned(), trigger, name })
    }
}

/// Without the character that stands between parts.
fn escaped(part: &str) -> String {
    part.replace('%', "%25").replace('/', "%2F")
}

fn plain(part: &str) -> String {
    part.replace("%2F", "/").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            file in "[/a-z:.% ]{0,12}", trigger in "[a-z_/%]{0,8}", name in "\\PC{0,12}", line in 0_u32..99
        ) {
            let (dialect, content) = ("chord".to_owned(), "0af9".to_owned());
            let id = HookId { dialect, content, line, file, trigger, name };
            prop_assert_eq!(HookId::read(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn an_automation_of_the_program_is_no_hook() {
        assert_eq!(HookId::read("s1/after_tool_batch/lint"), None);
        assert_eq!(HookId::read("foreign:/after_tool_batch/lint"), None);
    }
}
