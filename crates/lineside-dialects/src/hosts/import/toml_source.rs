//! TOML to values with their lines.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::tree::{Content, Entry, Node};

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
    Ok(Node::new(1, Content::Mapping(entries(table.get_ref(), &line))))
}

fn entries(table: &DeTable<'_>, line: &dyn Fn(usize) -> u32) -> Vec<Entry> {
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let name = Content::Text(key.get_ref().to_string());
        (Node::new(line(key.span().start), name), node(value, line))
    };
    table.iter().map(entry).collect()
}

fn node(value: &Spanned<DeValue<'_>>, line: &dyn Fn(usize) -> u32) -> Node {
    let at = line(value.span().start);
    let content = match value.get_ref() {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Boolean(value) => Content::Boolean(*value),
        DeValue::Array(items) => Content::List(items.iter().map(|item| node(item, line)).collect()),
        DeValue::Table(table) => Content::Mapping(entries(table, line)),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => return Node::of_number(at, &number.into()),
            Err(_) => Content::Text(number.to_string()),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => return Node::of_number(at, &number),
            Err(_) => Content::Text(number.to_string()),
        },
        DeValue::Datetime(time) => Content::Text(time.to_string()),
    };
    Node::new(at, content)
}

#[cfg(test)]
mod tests {
    use super::toml;
    use crate::tree::Content;

    #[test]
    fn toml_has_lines() {
        let node = toml("a = 1\n\n[[hooks]]\nevent = \"x\"\ntimeout = 1.5\n").unwrap();
        let hooks = node.entry("hooks").unwrap();
        let Content::List(items) = &hooks.1.content else { panic!("a list") };
        assert_eq!(items[0].entry("event").unwrap().0.line, 4);
        assert_eq!(items[0].value("timeout").unwrap().json_label(), "1.5");
        assert_eq!(toml("a = 1\nb = = 2").unwrap_err().0, 2);
    }

    #[test]
    fn the_values_of_toml_are_those_of_json() {
        let text = "t = 'x'\nb = true\nl = [1, 'y']\nd = 2026-01-01\nn = 0x10\nm = -1_000\nf = inf\ng = 1.50\n[o]\nk = {}\n";
        let node = toml(text).unwrap();
        let labels: Vec<(&str, String)> = ["t", "b", "l", "d", "n", "m", "f", "g", "o"]
            .map(|key| (key, node.value(key).unwrap().json_label()))
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
        assert_eq!(node.value("o").unwrap().entry("k").unwrap().0.line, 10);
    }
}
