//! The entries of a frontmatter: the first of a key, and whether they say that the hook is not waited for.

use crate::yaml::{Content, Draft, Node};

/// The first entry of that key, unless its value is null, which is as good as absent (AH-11).
pub(super) fn entry<'a>(entries: &'a [(Node, Node)], key: &str) -> Option<(u32, &'a Node)> {
    let (key, value) = entries.iter().find(|(name, _)| name.text() == Some(key))?;
    (!value.is_null()).then_some((key.line, value))
}

/// What `async` says, which counts where both of its keys are there (AH-11), with its line. It may be that this cannot be
/// read (AH-12).
pub(super) fn is_async(draft: &Draft) -> Option<(u32, Option<bool>)> {
    let (line, value) = entry(&draft.entries, "async").or_else(|| entry(&draft.entries, "async_"))?;
    let said = match &value.content {
        Content::Boolean(value) => Some(*value),
        Content::Integer(1) => Some(true),
        Content::Integer(0) => Some(false),
        Content::Text(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    };
    Some((line, said))
}
