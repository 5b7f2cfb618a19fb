//! Merge keys: `<<` takes over the entries of other mappings.
//!
//! They are no part of YAML 1.2; a format that knows them asks for them.

use std::collections::HashSet;

use super::{Content, Node, ReadYamlError};

impl Node {
    /// Takes over what the key `<<` of this mapping names, and the key out of it. Its own entries go before those of
    /// others, and an earlier mapping of a list before a later one.
    ///
    /// # Errors
    /// A value of `<<` that is neither a mapping nor a list of mappings.
    pub(crate) fn merge_keys(&mut self) -> Result<(), ReadYamlError> {
        let Content::Mapping(entries) = &mut self.content else { return Ok(()) };
        let Some(at) = entries.iter().position(|(key, _)| key.text() == Some("<<")) else { return Ok(()) };
        let (_, value) = entries.remove(at);
        let line = value.line;
        let taken = match value.content {
            Content::List(items) => items,
            content @ Content::Mapping(_) => vec![Self { content, ..value }],
            _ => return Err(ReadYamlError::new("`<<` is not a mapping", line)),
        };
        let mut known: HashSet<String> = entries.iter().map(|(key, _)| key.label()).collect();
        for mut mapping in taken {
            mapping.merge_keys()?;
            let Content::Mapping(others) = mapping.content else {
                return Err(ReadYamlError::new("`<<` has an element that is not a mapping", line));
            };
            entries.extend(others.into_iter().filter(|(key, _)| known.insert(key.label())));
        }
        Ok(())
    }

    /// The same for every mapping in it.
    ///
    /// # Errors
    /// Those of [`Node::merge_keys`].
    pub(crate) fn merge_all_keys(&mut self) -> Result<(), ReadYamlError> {
        self.merge_keys()?;
        match &mut self.content {
            Content::List(items) => items.iter_mut().try_for_each(Self::merge_all_keys),
            Content::Mapping(entries) => entries.iter_mut().try_for_each(|(_, value)| value.merge_all_keys()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::yaml::{Content, Node, UnknownEscapes, read_first};

    fn shown(node: &Node) -> String {
        match &node.content {
            Content::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Content::Mapping(entries) => {
                let entry = |(key, value): &(Node, Node)| format!("{}:{}", shown(key), shown(value));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
            }
            _ => node.label(),
        }
    }

    fn check(text: &str, expected: Result<&str, (&str, u32)>) {
        let mut root = read_first(text, UnknownEscapes::Refuse).unwrap().root;
        match (root.merge_all_keys(), expected) {
            (Ok(()), Ok(expected)) => assert_eq!(shown(&root), expected, "{text}"),
            (Err(error), Err((part, line))) => {
                assert!(error.detail.contains(part), "{error}");
                assert_eq!(error.line, line, "{text}");
            }
            (got, expected) => panic!("{text}: {got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn own_entries_go_before_merged_ones() {
        check("a: &a {x: 1, y: 2}\nb: {y: 3, <<: *a, z: 4}", Ok("{a:{x:1 y:2} b:{y:3 z:4 x:1}}"));
        check(
            "- &a {x: 1}\n- &b {x: 2, y: 2, <<: {w: 0}}\n- <<: [*a, *b]\n",
            Ok("[{x:1} {x:2 y:2 w:0} {x:1 y:2 w:0}]"),
        );
        check("a: 1\n<<: {a: 2, b: [{<<: {c: 3}}]}", Ok("{a:1 b:[{c:3}]}"));
        check("a:\n  <<: 5", Err(("not a mapping", 2)));
        check("a:\n  <<:\n  - {}\n  - 5", Err(("not a mapping", 3)));
        check("plain", Ok("plain"));
    }

    #[test]
    fn what_follows_the_first_document_is_not_looked_at() {
        check("a: 1\n---\nb: [", Ok("{a:1}"));
        check("a: 1\n...\nb", Ok("{a:1}"));
        check("", Ok("null"));
    }

    #[test]
    fn a_scalar_is_known_as_it_is_written() {
        let root = read_first("[0x1F, 1.50, yes, 'yes', null, true, !!str 5, {}]", UnknownEscapes::Refuse);
        let Content::List(items) = root.unwrap().root.content else { panic!() };
        let written: Vec<_> = items.iter().map(|item| (item.written(), item.is_plain())).collect();
        assert_eq!(
            written,
            [
                (Some("0x1F"), true),
                (Some("1.50"), true),
                (Some("yes"), true),
                (Some("yes"), false),
                (None, true),
                (Some("true"), true),
                (Some("5"), true),
                (None, false),
            ]
        );
    }
}
