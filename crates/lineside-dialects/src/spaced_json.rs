//! JSON on one line with a blank after every `:` and `,`, as Python's `json.dumps` writes it.
//!
//! Scripts search this text with `grep`; so it is fixed to the byte. Characters outside ASCII stay as they are.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

/// Writes a value. Numbers keep their digits, objects their order.
#[must_use]
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = Vec::with_capacity(512);
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Spaced);
    // JSON values, the only ones that are written here, always have a text.
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => String::from("null"),
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::to_string;

    #[test]
    fn a_blank_follows_colons_and_commas_outside_of_strings() {
        let value: Value = serde_json::from_str(
            r#"{"command":"a:b,c{\"d\":1}","list":[1,2,[]],"obj":{"k":null,"e":{}},"n":1.10,"big":12345678901234567890123,"s":"é 😀 \u0001\u007f\n</tag>/"}"#,
        )
        .unwrap();
        assert_eq!(
            to_string(&value),
            "{\"command\": \"a:b,c{\\\"d\\\":1}\", \"list\": [1, 2, []], \"obj\": {\"k\": null, \"e\": {}}, \
             \"n\": 1.10, \"big\": 12345678901234567890123, \"s\": \"é 😀 \\u0001\u{7f}\\n</tag>/\"}"
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|number| json!(number)),
            ".*".prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                prop::collection::vec((".*", inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in any_json()) {
            let text = to_string(&value);
            prop_assert!(!text.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
