//! TOML to values with their lines.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::toml_text;
use crate::tree::{Content, Entry, Node};

/// The values of a text.
///
/// # Errors
/// It is not TOML; with the line.
pub(super) fn toml(text: &str) -> Result<Node, (u32, String)> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line = |at: usize| {
        let lines = ends.partition_point(|end| *end < at);
        u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1)
    };
    let table = toml_text::read(text).map_err(|(at, error)| (line(at), error))?;
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

    /// What is wrong with a text, read on a stack as a thread of the daemon has it.
    fn wrong(text: String) -> Option<String> {
        let small = std::thread::Builder::new().stack_size(2 << 20);
        let read = move || toml(&text).err().map(|(_, error)| error);
        small.spawn(read).unwrap().join().unwrap()
    }

    #[test]
    fn tables_within_tables_are_refused_before_they_are_read_where_they_are_too_deep() {
        // Levels of tables within one another, each below a key of some parts.
        let nested = |levels: usize, parts: usize| {
            let key = vec!["a"; parts].join(".");
            format!("{}1{}", format!("{key} = {{ ").repeat(levels), " }".repeat(levels))
                .replacen("{ 1", "{ a = 1", 1)
        };
        assert_eq!(wrong(nested(21, 3)), None);
        assert_eq!(wrong(format!("[{}]\n{}", vec!["a"; 64].join("."), nested(21, 3))), None);
        for text in [nested(79, 79), nested(22, 3), format!("a = {}1{}", "[".repeat(65), "]".repeat(65))] {
            assert!(wrong(text).unwrap().contains("64 levels"));
        }
        // What only looks like it.
        assert_eq!(wrong(format!("a = '{}'\n# {}\nb = 1.5\n", "{a.".repeat(99), "[".repeat(99))), None);
        assert_eq!(
            wrong("a.b.c = 1\nx = [1.5, 2.5, {a.b = 1}, ]\n".to_owned() + &"[[t]]\na.b = 1\n".repeat(99)),
            None
        );
    }

    #[test]
    fn a_file_with_too_many_values_is_refused_and_lines_are_found_at_once() {
        let list = |values: usize| format!("a = [{}]", "0,".repeat(values));
        assert_eq!(wrong(list(99_990)), None);
        assert!(wrong(list(100_000)).unwrap().contains("100000 values"));
        assert_eq!(wrong("a = 'x'\n".to_owned() + &"\n".repeat(8 << 20) + "b = 1"), None);
        let lines: String = (0..20_000).map(|line| format!("a{line} = '{}'\n", "x".repeat(500))).collect();
        assert_eq!(toml(&lines).unwrap().entry("a19999").unwrap().0.line, 20_000);
    }
}
