//! The configuration of a plugin held against its schema (OC-15): JSON Schema, draft 7, with defaults.

use jsonschema::{Draft, ValidationError};
use lineside_core::json::{Map, Value};

/// How deep defaults are looked for; a schema may refer to itself.
const DEEPEST: u8 = 32;
/// How many values defaults come to at most, each 64 bytes of a text counted as one more, and the looks that they take; and
/// how many looks a configuration takes.
const MOST: usize = 100_000;
/// How many schemas a look goes through that apply to one another.
const MOST_LEVELS: u8 = 255;
/// The most faults of one configuration that are reported.
const MOST_FAULTS: usize = 8;

/// The configuration with its defaults.
///
/// # Errors
/// The messages of OC-15.
pub(super) fn check(schema: &Value, config: Map) -> Result<Value, Vec<String>> {
    let invalid = |why: &str| vec![format!("invalid configSchema: {why}")];
    let mut config = Value::Object(config);
    fill(schema, schema, &mut config, DEEPEST, &mut { MOST })
        .ok_or_else(|| invalid("its defaults come to more than 100000 values"))?;
    looks(schema, schema, &config, MOST_LEVELS, &mut { MOST }).ok_or_else(|| {
        invalid("it refers to something else than a part of it, or a configuration is held against more than 100000 parts of it")
    })?;
    let validator = jsonschema::options()
        .with_draft(Draft::Draft7)
        .build(&plain(schema))
        .map_err(|error| invalid(&told(&error)))?;
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

/// The part of a schema that a reference is to.
fn part<'a>(whole: &'a Value, target: &Value) -> Option<&'a Value> {
    whole.pointer(target.as_str()?.strip_prefix('#')?)
}

/// Fills in the defaults of absent properties, at any depth; `None` where they come to more than is left.
fn fill(whole: &Value, schema: &Value, value: &mut Value, depth: u8, left: &mut usize) -> Option<()> {
    let Some(deeper) = depth.checked_sub(1) else {
        return Some(());
    };
    *left = left.checked_sub(1)?;
    if let Some(target) = schema.get("$ref") {
        // In draft 7 nothing counts beside a reference.
        return part(whole, target).map_or(Some(()), |schema| fill(whole, schema, value, deeper, left));
    }
    for schema in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        fill(whole, schema, value, deeper, left)?;
    }
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                if let Some(field) = fields.get_mut(name) {
                    fill(whole, schema, field, deeper, left)?;
                } else if let Some(default) = schema.get("default") {
                    count(default, left)?;
                    let mut default = default.clone();
                    fill(whole, schema, &mut default, deeper, left)?;
                    fields.insert(name.clone(), default);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema @ Value::Object(_)) = schema.get("items") {
                items.iter_mut().try_for_each(|item| fill(whole, schema, item, deeper, left))?;
            }
        }
        _ => {}
    }
    Some(())
}

/// Takes what a value counts as from what is left.
fn count(value: &Value, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1 + value.as_str().map_or(0, |text| text.len() / 64))?;
    within(value).into_iter().try_for_each(|value| count(value, left))
}

/// The items of a list, or the fields of an object.
fn within(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.iter().map(|(_, field)| field).collect(),
        _ => Vec::new(),
    }
}

/// Takes from what is left as many looks as a validator needs at most: one for each part of a schema that a value is held
/// against. `None` where that is too many, or a reference is not to a part of the schema.
fn looks(whole: &Value, schema: &Value, value: &Value, levels: u8, left: &mut usize) -> Option<()> {
    (*left, _) = (left.checked_sub(1)?, levels.checked_sub(1)?);
    let mut look = |schema: &Value, value: &Value| looks(whole, schema, value, levels - 1, left);
    if let Some(target) = schema.get("$ref") {
        return look(part(whole, target)?, value);
    }
    for (word, schema) in schema.as_object().into_iter().flatten() {
        match (word.as_str(), schema) {
            ("allOf" | "anyOf" | "oneOf" | "dependencies", _) => {
                within(schema).into_iter().try_for_each(|schema| look(schema, value))?;
            }
            ("not" | "if" | "then" | "else", _) => look(schema, value)?,
            ("properties", Value::Object(properties)) => {
                let fields = properties.iter().filter_map(|(name, schema)| Some((schema, value.get(name)?)));
                fields.into_iter().try_for_each(|(schema, field)| look(schema, field))?;
            }
            ("items", Value::Array(schemas)) => {
                schemas.iter().zip(within(value)).try_for_each(|(schema, item)| look(schema, item))?;
            }
            ("items" | "additionalItems" | "contains" | "additionalProperties" | "propertyNames", _) => {
                within(value).into_iter().try_for_each(|value| look(schema, value))?;
            }
            ("patternProperties", _) => {
                for schema in within(schema) {
                    within(value).into_iter().try_for_each(|value| look(schema, value))?;
                }
            }
            // From there on references would be to parts of that part.
            ("$id", Value::String(_)) if levels < MOST_LEVELS => return None,
            _ => {}
        }
    }
    Some(())
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

    /// What is wrong, found on a stack as a thread of the daemon has it.
    fn wrong(schema: Value, config: Value) -> Option<String> {
        let small = std::thread::Builder::new().stack_size(2 << 20);
        let check = move || checked(&schema, config).err().map(|faults| faults.join("; "));
        small.spawn(check).unwrap().join().unwrap()
    }

    #[test]
    fn defaults_that_have_no_end_and_schemas_that_take_too_many_looks_are_refused() {
        let endless = json!({ "$ref": "#", "default": {} });
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let fields: lineside_core::json::Map =
            names.into_iter().map(|name| (name.to_owned(), endless.clone())).collect();
        let itself = json!({ "$ref": "#" });
        let within = json!({ "properties": { "a": itself } });
        let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
        let mut halves = lineside_core::json::Map::new();
        for level in 0..40 {
            let next = json!({ "$ref": format!("#/definitions/d{}", level + 1) });
            halves.insert(format!("d{level}"), json!({ "anyOf": [next, next] }));
        }
        halves.insert("d40".to_owned(), json!({ "type": "string" }));
        for (schema, config) in [
            (json!({ "properties": fields }), json!({})),
            (json!({ "allOf": vec![&itself; 20] }), json!({})),
            (json!({ "anyOf": vec![&itself; 20] }), json!({})),
            (json!({ "not": itself }), json!({})),
            (json!({ "anyOf": vec![&within; 4] }), nested(40)),
            (
                json!({ "items": { "default": [] }, "properties": { "a": { "default": vec!["x".repeat(5000); 900], "items": itself } } }),
                json!({ "a": [{}, {}] }),
            ),
            (json!({ "definitions": &halves, "$ref": "#/definitions/d0" }), json!({})),
        ] {
            let text = schema.to_string();
            let wrong = wrong(schema, config);
            assert!(
                wrong.as_ref().is_some_and(|wrong| wrong.contains("configSchema")),
                "{text:.80}: {wrong:?}"
            );
        }
        assert_eq!(wrong(json!({ "properties": { "a": { "$ref": "#" } } }), nested(60)), None);
        let absent =
            json!({ "definitions": &halves, "properties": { "absent": { "$ref": "#/definitions/d0" } } });
        assert_eq!(wrong(absent, json!({})), None);
    }
}
