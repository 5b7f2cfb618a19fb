//! What serde's types become, and what becomes of them, next to what `serde_json` makes of them.

use std::cmp::Ordering;
use std::fmt;

use serde::de::value::BytesDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed as _, Deserializer, IntoDeserializer, Visitor};
use serde::{Serializer, forward_to_deserialize_any};

use super::*;
use crate::json::{AtMost, Error};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Metres(f64);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(i8, f32);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(transparent)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// A number that can be a key.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Real(f64);

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[test]
fn types_are_written_and_read_as_serde_json_does() {
    fn check<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug>(value: &T) {
        let text = serde_json::to_string(value).unwrap();
        assert_eq!(to_string(value).unwrap(), text);
        assert_eq!(to_value(value).unwrap().to_string(), text);
        assert_eq!(from_str::<T>(&text).unwrap(), *value);
        assert_eq!(from_value::<T>(&text.parse().unwrap()).unwrap(), *value);
    }
    check(&0.1_f32);
    check(&f32::MAX);
    check(&-0.1_f64);
    check(&Metres(1.5));
    check(&Pair(-1, 2.5));
    check(&i128::MIN);
    check(&u128::MAX);
    check(&(i128::from(i64::MIN), 7_i128, 7_u128));
    check(&Bytes(vec![0, 255]));
    check(&Bytes(Vec::new()));
    check(&((), Unit, None::<u8>, Some(1)));
    check(&('é', "a \"b\"".to_owned()));
    check(&BTreeMap::from([(i128::MIN, true), (7, false)]));
    check(&BTreeMap::from([(u128::MAX, 'a'), (7, 'b')]));
    check(&BTreeMap::from([(Real(-0.5), 'a'), (Real(1.25), 'b')]));
    check(&BTreeMap::from([(false, Unit), (true, Unit)]));
    assert!(from_str::<BTreeMap<u128, u8>>(r#"{"-1":1}"#).is_err());
    assert!(from_str::<BTreeMap<i128, u8>>(r#"{"1.0":1}"#).is_err());
}

#[test]
fn what_a_type_leaves_out_may_be_any_json() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct One {
        a: u8,
    }
    for rest in ["1e999", "-1", "[1e999,{\"b\":-0}]", "\"\\u00e9\"", "null", "true"] {
        let text = format!("{{\"rest\":{rest},\"a\":1}}");
        assert_eq!(from_str::<One>(&text).unwrap(), One { a: 1 }, "{text}");
        assert_eq!(from_value::<One>(&text.parse().unwrap()).unwrap(), One { a: 1 }, "{text}");
    }
    for rest in ["1.", "[1", "nul", "\"\\x\"", ""] {
        assert!(from_str::<One>(&format!("{{\"rest\":{rest},\"a\":1}}")).is_err(), "{rest}");
    }
}

#[test]
fn a_variant_is_a_text_or_an_object_of_one_entry() {
    for text in ["{}", r#"{"New":1,"Unit":null}"#, "[]", "1", "null"] {
        assert!(from_str::<Kind>(text).is_err(), "{text}");
        let error = from_value::<Kind>(&text.parse().unwrap()).unwrap_err();
        assert!(error.detail().contains("expected a text or an object of one entry"), "{text}: {error}");
    }
}

#[test]
fn at_most_so_many_levels_are_taken_from_any_format() {
    let nested = |levels: usize| match levels % 2 {
        0 => format!("{}1{}", "[{\"a\":".repeat(levels / 2), "}]".repeat(levels / 2)),
        _ => format!("[{}1{}]", "{\"a\":[".repeat(levels / 2), "]}".repeat(levels / 2)),
    };
    for bound in 0..5 {
        for levels in 0..8 {
            // A second item is as deep as the first.
            let text = format!("[{0},{0}]", nested(levels));
            let levels = levels + 1;
            let of_ours = AtMost::levels(bound).deserialize(&from_str::<Value>(&text).unwrap());
            let of_theirs = AtMost::levels(bound).deserialize(&mut serde_json::Deserializer::from_str(&text));
            if levels <= usize::from(bound) {
                assert_eq!(of_ours.unwrap().to_string(), text);
                assert_eq!(of_theirs.unwrap().to_string(), text);
            } else {
                let refused = format!("nested more than {bound} levels deep");
                assert_eq!(of_ours.unwrap_err().to_string(), refused);
                assert!(of_theirs.unwrap_err().to_string().starts_with(&refused));
            }
        }
    }
    let scalar = AtMost::levels(0).deserialize(&mut serde_json::Deserializer::from_str("1.5"));
    assert_eq!(scalar.unwrap(), 1.5);
}

/// A format that says of each value whether it is there, as some binary ones do.
struct Optional(Option<f64>);

impl<'de> Deserializer<'de> for Optional {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(value) => visitor.visit_some(value.into_deserializer()),
            None => visitor.visit_none(),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[test]
fn a_value_is_taken_from_whatever_a_format_has() {
    fn check<'de>(from: impl IntoDeserializer<'de, Error>, expected: Result<&str, &str>) {
        let value = Value::deserialize(from.into_deserializer());
        assert_eq!(
            value.map(|value| value.to_string()).map_err(|error| error.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned)
        );
    }
    check(true, Ok("true"));
    check('é', Ok("\"é\""));
    check("a".to_owned(), Ok("\"a\""));
    check((), Ok("null"));
    check(-7_i8, Ok("-7"));
    check(i128::MIN, Ok("-170141183460469231731687303715884105728"));
    check(u128::MAX, Ok("340282366920938463463374607431768211455"));
    check(1.5_f64, Ok("1.5"));
    check(f64::NAN, Err("a number that is not finite"));
    check(vec![1_u8, 2], Ok("[1,2]"));
    check(BTreeMap::from([("a", 1_u8)]), Ok("{\"a\":1}"));
    check(BytesDeserializer::<Error>::new(b"1.10"), Ok("1.10"));
    check(BytesDeserializer::<Error>::new(b"1.10 "), Err("invalid type: byte array, expected a JSON value"));
    assert_eq!(Value::deserialize(Optional(Some(1.5))).unwrap(), 1.5);
    assert_eq!(Value::deserialize(Optional(None)).unwrap(), Value::Null);
    assert_eq!(Number::deserialize(Optional(Some(1.5))).unwrap().to_string(), "1.5");
    let no_number = Number::deserialize(Optional(None)).unwrap_err();
    assert_eq!(no_number.to_string(), "expected a number instead of null");
    let no_object = from_value::<Map>(&json!([])).unwrap_err();
    assert_eq!(no_object.to_string(), "invalid type: sequence, expected a JSON object");
}
