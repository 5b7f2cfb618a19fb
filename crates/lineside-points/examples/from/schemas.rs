//! The payloads as JSON Schemas, in the form in which an OpenAPI document has them among its components.

use lineside_core::json::{Map, Value, json};

use super::declarations::{Field, parts, points};

/// One object: a schema for each payload, and for what stands in payloads, by the names of their types.
pub(crate) fn types() -> String {
    let mut schemas = Map::new();
    let (parts, words) = parts();
    for list in &words {
        let about = format!("{} The program may have a word of its own.", list.about);
        let known = json!({"type": "string", "description": about, "examples": list.words});
        schemas.insert(list.name.clone(), known);
    }
    for part in &parts {
        schemas.insert(part.name.clone(), object(&part.about, &part.fields));
    }
    for point in &points() {
        let mut schema = object(&point.about, &point.fields);
        if let Value::Object(schema) = &mut schema {
            // In one key: further ones have no order in the description of the API.
            schema.insert("x-point".to_owned(), json!({"amendable": point.amendable, "name": point.name}));
        }
        schemas.insert(point.kind.clone(), schema);
    }
    let mut text = String::new();
    lines(&Value::Object(schemas), 0, &mut text);
    text.push('\n');
    text
}

fn object(about: &str, fields: &[Field]) -> Value {
    let mut schema = Map::new();
    let mut put = |key: &str, value: Value| schema.insert(key.to_owned(), value);
    put("type", json!("object"));
    put("description", json!(about));
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    if !required.is_empty() {
        put("required", json!(required));
    }
    let properties = fields.iter().map(|field| {
        let mut property = of(&field.kind);
        property.insert("description".to_owned(), json!(field.about));
        (field.name.clone(), Value::Object(property))
    });
    put("properties", Value::Object(properties.collect()));
    Value::Object(schema)
}

/// What a type of Rust is as a schema.
fn of(kind: &str) -> Map {
    let schema = match kind {
        "String" => json!({"type": "string"}),
        "bool" => json!({"type": "boolean"}),
        "u16" => json!({"type": "integer", "minimum": 0, "maximum": 65535}),
        "u64" => json!({"type": "integer", "format": "int64", "minimum": 0}),
        // Said in full, because not every reader of an OpenAPI document takes a schema without a type.
        "Value" => json!({"type": ["object", "array", "string", "number", "boolean", "null"]}),
        "SessionStart" | "CompactKind" | "Usage" | "ToolCall" | "ChangedFile" => {
            json!({"$ref": format!("#/components/schemas/{kind}")})
        }
        list if list.starts_with("Vec<") => {
            let item = of(list.trim_start_matches("Vec<").trim_end_matches('>'));
            json!({"type": "array", "items": item})
        }
        other => panic!("what is {other} as a schema?"),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// The text of a value with a line for each member of its objects down to the properties.
fn lines(value: &Value, depth: usize, text: &mut String) {
    let Value::Object(members) = value else {
        text.push_str(&value.to_string());
        return;
    };
    if depth > 2 || members.is_empty() {
        text.push_str(&value.to_string());
        return;
    }
    text.push_str("{\n");
    for (place, (key, member)) in members.iter().enumerate() {
        let end = if place + 1 == members.len() { "\n" } else { ",\n" };
        text.push_str(&"  ".repeat(depth + 1));
        text.push_str(&format!("{}: ", json!(key)));
        lines(member, depth + 1, text);
        text.push_str(end);
    }
    text.push_str(&"  ".repeat(depth));
    text.push('}');
}
