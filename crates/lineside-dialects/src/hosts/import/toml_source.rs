//! TOML to values with their lines.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::lined_json::{Content, Entry, Node};

/// The values of a text.
///
/// # Errors
/// It is not TOML; with the line.
pub(super) fn toml(text: &str) -> Result<Node, (u32, String)> {
    let line = |at: usize| {
        let lines = text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1)
    };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (line(at), format!("it is not TOML: {}", error.message()))
    })?;
    Ok(Node { line: 1, content: Content::Object(entries(table.get_ref(), &line)) })
}

fn entries(table: &DeTable<'_>, line: &dyn Fn(usize) -> u32) -> Vec<Entry> {
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Entry {
        key: key.get_ref().to_string(),
        line: line(key.span().start),
        value: node(value, line),
    };
    table.iter().map(entry).collect()
}

fn node(value: &Spanned<DeValue<'_>>, line: &dyn Fn(usize) -> u32) -> Node {
    let content = match value.get_ref() {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Boolean(value) => Content::Boolean(*value),
        DeValue::Array(items) => Content::List(items.iter().map(|item| node(item, line)).collect()),
        DeValue::Table(table) => Content::Object(entries(table, line)),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Content::Number(number.into()),
            Err(_) => Content::Text(number.to_string()),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Content::Number(number),
            Err(_) => Content::Text(number.to_string()),
        },
        DeValue::Datetime(time) => Content::Text(time.to_string()),
    };
    Node { line: line(value.span().start), content }
}

#[cfg(test)]
mod tests {
    use super::toml;
    use crate::lined_json::Content;

    #[test]
    fn toml_has_lines() {
        let node = toml("a = 1\n\n[[hooks]]\nevent = \"x\"\ntimeout = 1.5\n").unwrap();
        let hooks = node.entry("hooks").unwrap();
        let Content::List(items) = &hooks.value.content else { panic!("a list") };
        assert_eq!(items[0].entry("event").unwrap().line, 4);
        assert_eq!(items[0].entry("timeout").unwrap().value.label(), "1.5");
        assert_eq!(toml("a = 1\nb = = 2").unwrap_err().0, 2);
    }

    #[test]
    fn the_values_of_toml_are_those_of_json() {
        let text = "t = 'x'\nb = true\nl = [1, 'y']\nd = 2026-01-01\nn = 0x10\nm = -1_000\nf = inf\ng = 1.50\n[o]\nk = {}\n";
        let node = toml(text).unwrap();
        let labels: Vec<(&str, String)> = ["t", "b", "l", "d", "n", "m", "f", "g", "o"]
            .map(|key| (key, node.entry(key).unwrap().value.label()))
            .into();
        let expected = [
            ("t", "\"x\""),
            ("b", "true"),
            ("l", "[…]"),
            ("d", "\"2026-01-01\""),
            ("n", "16"),
            ("m", "-1000"),
            ("f", "\"inf\""),
            ("g", "1.50"),
            ("o", "{…}"),
        ];
        assert_eq!(labels, expected.map(|(key, label)| (key, label.to_owned())));
        assert_eq!(node.entry("o").unwrap().value.entry("k").unwrap().line, 10);
    }
}
