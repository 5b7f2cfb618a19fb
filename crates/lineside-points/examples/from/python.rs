//! The payloads as classes of Python.
//!
//! A payload is a dictionary, so that it is JSON as it stands, with its fields as attributes for people and for checkers of
//! types.

use std::fmt::Write as _;

use super::declarations::{Field, Point, parts, points};

const HEAD: &str = r#""""The payloads of the points, as the crate `lineside-points` declares them.

Made by its example `payloads`; a test keeps it current.
"""

from __future__ import annotations

from typing import Any, Optional, TypedDict, Union

from ._payload import Payload

Json = Union[None, bool, int, float, str, "list[Any]", "dict[str, Any]"]
"""Any JSON. What a program gives as it likes has to be looked at before it is used."""
"#;

/// How long a line may be.
const WIDTH: usize = 120;

pub(crate) fn types() -> String {
    let mut text = HEAD.to_owned();
    let (parts, words) = parts();
    for list in &words {
        let known: Vec<String> = list.words.iter().map(|word| format!("`{word}`")).collect();
        let about = format!("{} {}, or the program's own word.", list.about, known.join(", "));
        write!(text, "\n{} = str\n\"\"\"{about}\"\"\"\n", list.name).unwrap();
    }
    for part in &parts {
        let (required, optional): (Vec<&Field>, _) = part.fields.iter().partition(|field| field.required);
        let more =
            if part.is_open { "\n\n    What else the program counts stands beside these.\n    " } else { "" };
        let base = if required.is_empty() { "TypedDict".to_owned() } else { format!("_{}", part.name) };
        if !required.is_empty() {
            write!(text, "\n\nclass {base}(TypedDict):\n").unwrap();
            members(&mut text, &required, Python::Key);
        }
        write!(text, "\n\nclass {}({base}, total=False):\n", part.name).unwrap();
        write!(text, "    \"\"\"{}{more}\"\"\"\n\n", part.about).unwrap();
        members(&mut text, &optional, Python::Key);
    }
    let points = points();
    for point in &points {
        class(&mut text, point);
    }
    text.push_str("\n\nPOINTS: dict[str, type[Payload]] = {\n    kind.point: kind\n    for kind in (\n");
    for point in &points {
        writeln!(text, "        {},", point.kind).unwrap();
    }
    text.push_str("    )\n}\n\"\"\"The class of each point, by the name of the point.\"\"\"\n");
    text
}

/// Where a name stands.
#[derive(Clone, Copy)]
enum Python {
    /// A key of a dictionary.
    Key,
    /// An attribute or an argument.
    Name,
}

fn class(text: &mut String, point: &Point) {
    write!(text, "\n\nclass {}(Payload):\n    \"\"\"{}\"\"\"\n\n", point.kind, point.about).unwrap();
    writeln!(text, "    point = \"{}\"", point.name).unwrap();
    let list = |names: Vec<&str>| match names.as_slice() {
        [] => "()".to_owned(),
        [one] => format!("(\"{one}\",)"),
        many => format!("(\"{}\")", many.join("\", \"")),
    };
    writeln!(text, "    amendable = {}", list(point.amendable.iter().map(String::as_str).collect())).unwrap();
    writeln!(text, "    fields = {}", list(point.fields.iter().map(|field| field.name.as_str()).collect()))
        .unwrap();
    if point.fields.is_empty() {
        return;
    }
    let all: Vec<&Field> = point.fields.iter().collect();
    members(text, &all, Python::Name);
    let (required, optional): (Vec<&Field>, _) = point.fields.iter().partition(|field| field.required);
    let mut arguments = vec!["self".to_owned()];
    let argument = |field: &Field| format!("{}: {}", named(&field.name, Python::Name), of(&field.kind));
    arguments.extend(required.iter().map(|field| argument(field)));
    arguments.extend((!optional.is_empty()).then(|| "*".to_owned()));
    arguments.extend(
        optional.iter().map(|field| {
            format!("{}: Optional[{}] = None", named(&field.name, Python::Name), of(&field.kind))
        }),
    );
    let line = format!("    def __init__({}) -> None:", arguments.join(", "));
    match line.len() {
        ..=WIDTH => write!(text, "\n{line}\n").unwrap(),
        _ => {
            let lines = arguments.join(",\n        ");
            write!(text, "\n    def __init__(\n        {lines},\n    ) -> None:\n").unwrap();
        }
    }
    for field in &required {
        writeln!(text, "        self[\"{}\"] = {}", field.name, named(&field.name, Python::Name)).unwrap();
    }
    if !optional.is_empty() {
        let pairs = optional.iter().map(|field| {
            let name = named(&field.name, Python::Name);
            format!("\"{}\": {name}", field.name)
        });
        let pairs: Vec<String> = pairs.collect();
        writeln!(text, "        self._add({{{}}})", pairs.join(", ")).unwrap();
    }
}

fn members(text: &mut String, fields: &[&Field], place: Python) {
    for Field { name, kind, required, about } in fields.iter().copied() {
        let name = named(name, place);
        let kind = match (place, required) {
            (Python::Name, false) => format!("Optional[{}]", of(kind)),
            _ => of(kind),
        };
        writeln!(text, "    {name}: {kind}\n    \"\"\"{about}\"\"\"").unwrap();
    }
}

/// A name that Python or its dictionaries have taken has an underscore behind it.
fn named(name: &str, place: Python) -> String {
    match (place, name) {
        (Python::Name, "from" | "keys") => format!("{name}_"),
        _ => name.to_owned(),
    }
}

/// What a type of Rust is in Python.
fn of(kind: &str) -> String {
    match kind {
        "String" => "str".to_owned(),
        "bool" => "bool".to_owned(),
        "u16" | "u64" => "int".to_owned(),
        "Value" => "Json".to_owned(),
        "SessionStart" | "CompactKind" | "Usage" | "ToolCall" | "ChangedFile" => kind.to_owned(),
        list if list.starts_with("Vec<") => {
            format!("list[{}]", of(list.trim_start_matches("Vec<").trim_end_matches('>')))
        }
        other => panic!("what is {other} in Python?"),
    }
}
