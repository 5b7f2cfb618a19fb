//! Which hook it is, in a text that is the same in another life of the process as long as the hook is.

use std::fmt;
use std::sync::Arc;

/// Everything by which a hook of a dialect is known again.
///
/// ```
/// use lineside_automation::HookId;
///
/// let id = HookId {
///     dialect: "jcli".into(),
///     content: "9f2c".into(),
///     line: 7,
///     file: "/home/me/hooks.json".into(),
///     trigger: "Stop".into(),
///     name: "tests".into(),
/// };
/// assert_eq!(id.to_string(), "foreign:jcli:9f2c:7:/home/me/hooks.json/Stop/tests");
/// assert_eq!(HookId::read(&id.to_string()), Some(id));
/// ```
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

/// What the names of hooks begin with, and those of automations do not.
const SCHEME: &str = "foreign:";
/// What stands before the name of an automation that would begin with either of the two.
const OF_PROGRAM: &str = "program:";

/// Whose work a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// An automation of the program, or of a file.
    Automation,
    /// A hook of a dialect.
    Hook,
}

impl Owner {
    /// The owner that records name so.
    pub(crate) fn of(name: &str) -> Self {
        if name.starts_with(SCHEME) { Self::Hook } else { Self::Automation }
    }

    /// The name of an automation, from its place and what the program calls it.
    pub(crate) fn name_of_automation(name: String) -> Arc<str> {
        let is_taken = [SCHEME, OF_PROGRAM].iter().any(|scheme| name.starts_with(scheme));
        if is_taken { Arc::from(format!("{OF_PROGRAM}{name}")) } else { Arc::from(name) }
    }
}

/// Whether an automation is declared in a file: its place is a path, and that of any other is one part or none.
pub(crate) fn is_of_file(id: &str) -> bool {
    Owner::of(id) == Owner::Automation && id.rsplitn(3, '/').nth(2).is_some_and(|place| place.contains('/'))
}

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

    /// The hook of an automation; `None` when it is not one of a hook.
    ///
    /// ```
    /// use lineside_automation::HookId;
    ///
    /// // The id of a program's automation is not one of a hook.
    /// assert_eq!(HookId::read("s1/on_idle/tidy"), None);
    /// ```
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

/// The id of an automation: its place, which is one part or a file, its point and its name.
///
/// ```
/// use lineside_automation::hook_id::{automation_id, name_of};
///
/// let id = automation_id("s1", "on_idle", "tidy/all");
/// assert_eq!(id, "s1/on_idle/tidy%2Fall");
/// assert_eq!(name_of(&id), "tidy/all");
/// ```
#[must_use]
pub fn automation_id(place: &str, point: &str, name: &str) -> String {
    format!("{place}/{point}/{}", escaped(name))
}

/// The name in the id of an automation, or of a hook.
#[must_use]
pub fn name_of(id: &str) -> String {
    HookId::read(id).map_or_else(|| plain(id.rsplit('/').next().unwrap_or_default()), |hook| hook.name)
}

/// Without the character that stands between parts.
///
/// ```
/// use lineside_automation::hook_id::escaped;
///
/// assert_eq!(escaped("50% of a/b"), "50%25 of a%2Fb");
/// ```
#[must_use]
pub fn escaped(part: &str) -> String {
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
    fn the_name_of_an_automation_is_its_own_and_no_hooks() {
        let names =
            ["s/p/a", "foreign:s/p/a", "program:s/p/a", "program:foreign:s/p/a", "foreign:1:2:3:4/p/a"];
        let own: Vec<_> = names.iter().map(|name| Owner::name_of_automation((*name).to_owned())).collect();
        assert!(own.iter().all(|name| Owner::of(name) == Owner::Automation), "{own:?}");
        assert!(own.iter().all(|name| HookId::read(name).is_none()), "{own:?}");
        assert_eq!(own.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
        assert_eq!(&*own[0], "s/p/a");
        assert_eq!(Owner::of(&HookId::in_memory("chord", "a").to_string()), Owner::Hook);
    }

    #[test]
    fn an_automation_of_the_program_is_no_hook() {
        assert_eq!(HookId::read("s1/after_tool_batch/lint"), None);
        assert_eq!(HookId::read("foreign:/after_tool_batch/lint"), None);
    }
}
