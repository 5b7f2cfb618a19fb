//! What a program takes of a settings file that we could edit: a file that it rejects as a whole would have our entries and run
//! none of them.

use jsonc_parser::{CollectOptions, parse_to_ast};

use super::super::import::Syntax;
use super::super::program::Host;
use super::super::quirks;
use super::super::quirks::{Quirks, Type};
use super::piece::{Content, EditError, Piece, line, options};

/// The byte order mark.
const MARK: char = '\u{feff}';

/// Whether a program takes a file, whose text was read to this tree.
///
/// # Errors
/// It rejects the file; the place and why.
pub(super) fn check(host: Host, text: &str, syntax: Syntax, root: &Piece) -> Result<(), EditError> {
    let strictness = &quirks(host).settings.strictness;
    let rejected =
        |at: usize, detail: String| Err(EditError::Rejected { line: line(text, at), detail, host });
    let body = text.trim_start_matches(MARK);
    let start = text.len() - body.len();
    if start > 0 && !strictness.mark {
        return rejected(0, "it begins with a byte order mark".to_owned());
    }
    if syntax == Syntax::Json
        && let Err(error) =
            parse_to_ast(body, &CollectOptions::default(), &options(strictness.comments, false))
    {
        return rejected(start + error.range().start, error.kind().to_string());
    }
    let of_settings = strictness.types.iter().filter_map(|(key, must)| wrong(root, key, *must));
    let hooks = root.member("hooks").filter(|_| strictness.whole).map(|hooks| &hooks.value);
    match of_settings.chain(hooks.and_then(|hooks| wrong_in(hooks, host))).next() {
        Some((at, detail)) => rejected(at, detail),
        None => Ok(()),
    }
}

/// The place of a member that has another type, and which it must have.
fn wrong(piece: &Piece, key: &str, must: Type) -> Option<(usize, String)> {
    let value = &piece.member(key)?.value;
    let (is_right, name) = match (must, &value.content) {
        (_, Content::Other(other)) if other == "null" => (true, ""),
        (Type::Boolean, content) => {
            (matches!(content, Content::Other(other) if other == "true" || other == "false"), "true or false")
        }
        (Type::Number, content) => {
            (matches!(content, Content::Other(other) if other.parse::<f64>().is_ok()), "a number")
        }
        (Type::Object, content) => (matches!(content, Content::Object(_)), "an object"),
        (Type::Text, content) => (matches!(content, Content::Text(_)), "a text"),
    };
    (!is_right).then(|| (value.span.start, format!("`{key}` must be {name}")))
}

/// The same of the first hook that has another shape.
fn wrong_in(hooks: &Piece, host: Host) -> Option<(usize, String)> {
    const TEXTS: [&str; 4] = ["event", "matcher", "type", "command"];
    let in_handler = |handler: &Piece| match &handler.content {
        Content::Object(_) => {
            let mut texts = TEXTS.iter().filter_map(|key| wrong(handler, key, Type::Text));
            texts.next().or_else(|| wrong(handler, "timeout", Type::Number))
        }
        _ => Some((handler.span.start, "a hook must be an object".to_owned())),
    };
    let in_list = |list: &Piece| match &list.content {
        Content::List(elements) => elements.iter().find_map(|element| {
            let group = element.member("hooks").into_iter().flat_map(|group| group.value.elements());
            in_handler(element).or_else(|| group.into_iter().find_map(in_handler))
        }),
        _ => Some((list.span.start, "the hooks of an event must be a list".to_owned())),
    };
    let Quirks { entries, settings, .. } = quirks(host);
    if entries.is_one_list {
        return in_list(hooks);
    }
    let no_event = settings.strictness.no_event;
    let events = hooks.members().iter().filter(|event| !no_event.contains(&&*event.key));
    events.into_iter().find_map(|event| in_list(&event.value))
}

#[cfg(test)]
mod tests {
    use super::super::piece::read;
    use super::*;

    fn checked(host: Host, syntax: Syntax, text: &str) -> Option<String> {
        let root = read(text, syntax).unwrap();
        check(host, text, syntax, &root).err().map(|error| error.to_string())
    }

    #[test]
    fn what_a_program_rejects_as_a_whole_is_named_with_its_line() {
        for (host, text, expected) in [
            (Host::Claude, "{\n  // mine\n  \"a\": 1\n}", "line 2: "),
            (Host::Claude, "{\n  \"a\": [1,\n  ],\n}", "line "),
            (
                Host::Claude,
                "{\n\"disableAllHooks\": \"true\"}",
                "line 2: `disableAllHooks` must be true or false",
            ),
            (Host::Claude, "{\"permissions\": []}", "line 1: `permissions` must be an object"),
            (Host::Codex, "\u{feff}{}", "line 1: it begins with a byte order mark"),
            (Host::Codex, "{/* a */}", "line 1: "),
            (Host::Codex, "{\"hooks\": {\n\"Stop\": {}}}", "line 2: the hooks of an event must be a list"),
            (
                Host::Cursor,
                "{\"hooks\": {\"stop\": [\n{\"command\": 5}]}}",
                "line 2: `command` must be a text",
            ),
            (
                Host::Codex,
                "{\"hooks\": {\"Stop\": [{\"hooks\": [\n\"x\"]}]}}",
                "line 2: a hook must be an object",
            ),
            (Host::Gemini, "\u{feff}{}", "line 1: it begins with a byte order mark"),
            (Host::Qwen, "{\"a\": [1,]}", "line 1: "),
        ] {
            let said = checked(host, Syntax::Json, text).unwrap_or_default();
            assert!(said.starts_with(expected) && said.contains(host.title()), "{host} {text}: {said}");
        }
        for (host, text) in [
            (Host::Claude, "\u{feff}{\"model\": \"x\", \"hooks\": {\"Stop\": {}}}"),
            (Host::Gemini, "{ // mine\n\"hooks\": {\"enabled\": true}}"),
            (Host::Qwen, "{/* a */\"disableAllHooks\": false}"),
            (
                Host::Cursor,
                "{\"hooks\": {\"stop\": [{\"type\": \"prompt\", \"timeout\": 5, \"matcher\": null}]}}",
            ),
        ] {
            assert_eq!(checked(host, Syntax::Json, text), None, "{host} {text}");
        }
    }

    #[cfg(feature = "toml")]
    #[test]
    fn what_codex_writes_down_of_trusted_hooks_is_no_event() {
        let trusted =
            "[hooks.state]\n[hooks.state.\"/h/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"x\"\n";
        assert_eq!(checked(Host::Codex, Syntax::Toml, trusted), None);
        let events = format!("{trusted}[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 5\n");
        let said = checked(Host::Codex, Syntax::Toml, &events).unwrap_or_default();
        assert!(said.starts_with("line 6: `command` must be a text"), "{said}");
    }

    #[cfg(feature = "toml")]
    #[test]
    fn one_hook_of_a_wrong_type_costs_the_file_of_kimi() {
        let of = |text: &str| checked(Host::Kimi, Syntax::Toml, text);
        assert_eq!(of("# mine\n[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\ntimeout = 5\n"), None);
        let said = of("a = 1\n[[hooks]]\nevent = \"Stop\"\ncommand = 5\n").unwrap_or_default();
        assert!(said.starts_with("line 4: `command` must be a text"), "{said}");
        assert!(of("\u{feff}a = 1\n").is_some());
    }
}
