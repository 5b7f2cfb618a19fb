//! The configuration of a plugin held against its schema (OC-15): JSON Schema, draft 7, with defaults.

use jsonschema::{Draft, ValidationError};
use lineside_core::json::{Map, Value};

/// How deep defaults are looked for; a schema may refer to itself.
const DEEPEST: u8 = 32;
/// The most faults of one configuration that are reported.
const MOST_FAULTS: usize = 8;

/// The configuration with its defaults.
///
/// # Errors
/// The messages of OC-15.
pub(super) fn check(schema: &Value, config: Map) -> Result<Value, Vec<String>> {
    let validator = jsonschema::options()
        .with_draft(Draft::Draft7)
        .build(&plain(schema))
        .map_err(|error| vec![format!("invalid configSchema: {}", told(&error))])?;
    let mut config = Value::Object(config);
    fill(schema, schema, &mut config, DEEPEST);
    let faults: Vec<String> = validator
        .iter_errors(&plain(&config))
        .take(MOST_FAULTS)
        // A configuration may hold secrets, and a diagnostic may be shown to others.
        .map(|error| format!("invalid config: {}: {}", place(&error), error.masked()))
        .collect();
    if faults.is_empty() { Ok(config) } else { Err(faults) }
}

/// The value as the validator knows it: without the order of keys, and numbers beyond `u64` and `i64` as `f64`.
fn plain(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => number
            .as_u64()
            .map(Into::into)
            .or_else(|| number.as_i64().map(Into::into))
            .unwrap_or_else(|| number.as_f64().into()),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
    }
}

fn place(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    if place.is_empty() { "/".to_owned() } else { place }
}

fn told(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
}

/// Fills in the defaults of absent properties, at any depth.
fn fill(whole: &Value, schema: &Value, value: &mut Value, depth: u8) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = target.strip_prefix('#').and_then(|pointer| whole.pointer(pointer));
        // In draft 7 nothing counts beside a reference.
        return pointer.into_iter().for_each(|schema| fill(whole, schema, value, deeper));
    }
    for schema in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        fill(whole, schema, value, deeper);
    }
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                if let Some(field) = fields.get_mut(name) {
                    fill(whole, schema, field, deeper);
                } else if let Some(default) = schema.get("default") {
                    let mut default = default.clone();
                    fill(whole, schema, &mut default, deeper);
                    fields.insert(name.clone(), default);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema @ Value::Object(_)) = schema.get("items") {
                items.iter_mut().for_each(|item| fill(whole, schema, item, deeper));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::{Value, json};

    use super::check;

    fn checked(schema: &Value, config: Value) -> Result<Value, Vec<String>> {
        let Value::Object(config) = config else { panic!() };
        check(schema, config)
    }

    #[test]
    fn defaults_are_filled_in_at_any_depth() {
        // OC-15
        let schema = json!({
            "properties": {
                "mode": { "default": "strict" },
                "inner": { "default": {}, "properties": { "n": { "default": 1 } } },
                "list": { "items": { "properties": { "x": { "default": 2 } } } },
                "ref": { "$ref": "#/definitions/r" },
            },
            "required": ["mode"],
            "definitions": { "r": { "properties": { "y": { "default": 3 }, "again": { "$ref": "#/definitions/r" } } } },
        });
        assert_eq!(
            checked(&schema, json!({ "list": [{}, { "x": 9 }], "ref": { "again": {} } })),
            Ok(json!({
                "list": [{ "x": 2 }, { "x": 9 }], "ref": { "again": { "y": 3 }, "y": 3 },
                "mode": "strict", "inner": { "n": 1 },
            }))
        );
    }

    #[test]
    fn what_does_not_validate_is_told_without_its_value() {
        // OC-15
        let schema = json!({ "properties": { "a": { "properties": { "key": { "type": "number" } } } } });
        let faults = checked(&schema, json!({ "a": { "key": "hunter2" } })).unwrap_err();
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("invalid config: /a/key: "), "{faults:?}");
        assert!(!faults[0].contains("hunter2"), "{faults:?}");
        let closed = json!({ "additionalProperties": false });
        assert!(checked(&closed, json!({ "b": 1 })).unwrap_err()[0].starts_with("invalid config: /: "));
    }

    #[test]
    fn a_schema_that_is_none_is_told() {
        // OC-15
        for schema in [json!({ "type": "nothing" }), json!({ "$ref": "https://example.org/schema.json" })] {
            let faults = checked(&schema, json!({})).unwrap_err();
            assert!(faults[0].starts_with("invalid configSchema: "), "{faults:?}");
        }
    }
}
