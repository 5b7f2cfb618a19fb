//! A document as a value of JSON, for files that may be written in either.

use lineside_core::json::{Map, Number, Value};

use super::{Content, Node, ReadYamlError, UnknownEscapes, read};

/// Reads one YAML document (1.2, core schema) as the value that the same JSON would be; JSON itself is such a document
/// in almost every case.
///
/// Numbers keep their digits where JSON has such a number.
///
/// # Errors
/// What is wrong and its line: no YAML, more than 1 MiB, 100,000 values or 64 levels, a key that is there twice or is
/// not a scalar, or a number that is not finite.
pub fn yaml_value(text: &str) -> Result<Value, ReadYamlError> {
    let document = read(text, 1, UnknownEscapes::Refuse)?;
    match document.duplicates.first() {
        Some(twice) => Err(ReadYamlError::new(format!("duplicate key `{}`", twice.key), twice.line)),
        None => node_value(&document.root),
    }
}

/// A value as that of JSON.
///
/// # Errors
/// A key that is no scalar, or a number that JSON has not, and its line.
pub(crate) fn node_value(node: &Node) -> Result<Value, ReadYamlError> {
    Ok(match &node.content {
        Content::Null => Value::Null,
        Content::Boolean(flag) => (*flag).into(),
        Content::Integer(_) | Content::Float(_) => Value::Number(number(node)?),
        Content::Text(text) => text.as_str().into(),
        Content::List(items) => Value::Array(items.iter().map(node_value).collect::<Result<_, _>>()?),
        Content::Mapping(entries) => {
            let mut map = Map::new();
            for (key, item) in entries {
                let Some(name) = key.written() else {
                    return Err(ReadYamlError::new("a key must be a text", key.line));
                };
                map.insert(name.to_owned(), node_value(item)?);
            }
            Value::Object(map)
        }
    })
}

fn number(node: &Node) -> Result<Number, ReadYamlError> {
    let written = node.written().and_then(|text| text.parse().ok());
    let read = written.or_else(|| match node.content {
        Content::Integer(value) => value.to_string().parse().ok(),
        Content::Float(value) => Number::from_f64(value),
        _ => None,
    });
    read.ok_or_else(|| ReadYamlError::new(format!("`{}` is no number of JSON", node.label()), node.line))
}

#[cfg(test)]
mod tests {
    use lineside_core::json::json;

    use super::*;

    #[test]
    fn a_document_is_the_value_that_its_json_would_be() {
        let text = "a: [1, 0x1F, -2.50, 1e400, ~, yes, true]\n7: |\n  #!/bin/sh\n  exit 2\n\"b\": {c: 'd'}\n";
        let value = yaml_value(text).unwrap();
        assert_eq!(
            lineside_core::json::to_string(&value).unwrap(),
            r##"{"a":[1,31,-2.50,1e400,null,"yes",true],"7":"#!/bin/sh\nexit 2\n","b":{"c":"d"}}"##
        );
        assert_eq!(yaml_value(&value.to_string()).unwrap(), value);
        assert_eq!(yaml_value("").unwrap(), json!(null));
    }

    #[test]
    fn what_json_cannot_say_is_an_error_with_its_line() {
        for (text, line, part) in [
            ("a: 1\na: 2", 2, "duplicate key `a`"),
            ("a:\n  b: .inf", 2, "no number"),
            ("a: 1\n[b]: 2", 2, "a key must be a text"),
            ("a: 1\n b: 2", 2, ""),
        ] {
            let error = yaml_value(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.detail.contains(part), "{text}: {error}");
        }
    }
}
