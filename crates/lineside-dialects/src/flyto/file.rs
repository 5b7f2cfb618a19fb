//! The files of settings and of plugins (FL-3, FL-5).

use lineside_files::OpenFileError;

use super::catalogue::{HookType, TYPES};
use crate::dialect::CONFIGURATION as LONGEST;
use crate::findings::Findings;
use crate::lined_json;
use crate::listed::Listing;
use crate::names;
use crate::tree::Node;

/// A JSON object whose key `hooks` has a list for each type.
pub(super) const SETTINGS: Listing<HookType> = Listing {
    rows: &TYPES,
    largest: LONGEST,
    parse: |bytes, findings| root(bytes).map_err(|(line, error)| findings.error(line, error)).ok(),
    text: Node::text,
    shown: Node::json_label,
    about: |_, name| format!("hook \"{name}\""),
    misspelt: "unknown key '{key}', did you mean 'hooks'?",
    no_mapping: "'hooks' must be an object, not {found}",
    unknown: "unknown hook type '{key}', its hooks are not loaded; did you mean '{near}'?",
    no_list: "the hooks of '{key}' must be a list, not {found}",
    hooks_twice: "the key 'hooks' occurs twice, the last one counts",
    twice: "the hooks of '{key}' are declared twice, the last list counts",
};

/// The plugins in a place cannot be found.
pub(super) fn lose_plugins(error: &OpenFileError, findings: &mut Findings) {
    findings.error(1, format_args!("no plugins can be looked for: {error}"));
    findings.lose_file(names::gates(&TYPES), true);
}

/// The object that a file holds; an error is a line and what is wrong there.
fn root(bytes: &[u8]) -> Result<Node, (u32, String)> {
    if bytes.len() > LONGEST {
        return Err((1, format!("the file cannot be read: it is larger than {LONGEST} bytes")));
    }
    let not_json = |line, why: &str| (line, format!("the file is not JSON: {why}"));
    let text = str::from_utf8(bytes).map_err(|_| not_json(1, "it is not UTF-8"))?;
    let read = lined_json::read(text).map_err(|error| not_json(lined_json::line_of(&error), error.detail()));
    let root = read?.root;
    match root.mapping() {
        Some(_) => Ok(root),
        None => Err((root.line, format!("the file must hold a JSON object, not {}", root.json_label()))),
    }
}
