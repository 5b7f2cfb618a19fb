//! The two files (CH-4, CH-5, CH-8).

use super::entry::{Declared, about, shown};
use super::points::{ChordPoint, POINTS};
use crate::findings::Findings;
use crate::listed::{Listed, Listing};
use crate::text;
use crate::tree::{Content, Node};
use crate::yaml::{self, ReadYamlError, UnknownEscapes};

/// An entry of a file.
pub(super) type Entry = Listed<ChordPoint, Declared>;

/// The first document of a file, a mapping whose key `hooks` has a list for each point. A key that occurs twice costs the whole
/// file.
pub(super) const CONFIG: Listing<ChordPoint> = Listing {
    rows: POINTS,
    largest: yaml::LONGEST,
    parse: |bytes, findings| {
        root(bytes, findings).map_err(|(line, error)| findings.error(line, error)).ok().flatten()
    },
    text: Node::written,
    shown,
    about,
    misspelt: "unknown key `{key}`, did you mean `hooks`?",
    no_mapping: "`hooks` is {found}, not a mapping",
    unknown: "there is no point `{key}`, did you mean `{near}`?",
    no_list: "`{key}` is {found}, not a list of hooks",
    hooks_twice: "",
    twice: "",
};

/// The mapping that a file holds, its merge keys taken over; an error is a line and what is wrong there.
fn root(bytes: &[u8], findings: &mut Findings) -> Result<Option<Node>, (u32, String)> {
    let malformed = |error: ReadYamlError| (error.line, format!("malformed YAML: {error}"));
    let text = text::of_file(bytes).ok_or_else(|| (1, "the file is not valid UTF-8".to_owned()))?;
    let mut document = yaml::read_first(text, UnknownEscapes::Refuse).map_err(malformed)?;
    document.root.merge_keys().map_err(malformed)?;
    for twice in &document.duplicates {
        findings.error(twice.line, format_args!("key `{}` occurs twice in a mapping", twice.key));
    }
    match &mut document.root.content {
        _ if !document.duplicates.is_empty() => return Ok(None),
        Content::Null => return Ok(None),
        Content::Mapping(entries) => {
            let hooks = entries.iter_mut().find(|(key, _)| key.text() == Some("hooks"));
            hooks.map_or(Ok(()), |(_, hooks)| hooks.merge_all_keys()).map_err(malformed)?;
        }
        _ => return Err((1, "the file is not a mapping".to_owned())),
    }
    Ok(Some(document.root))
}
