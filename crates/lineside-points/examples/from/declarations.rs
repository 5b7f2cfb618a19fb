//! The points and the parts of their payloads, as the sources of the crate declare them.
#![allow(dead_code, reason = "each of those that read the declarations needs a part of them")]

use std::path::Path;

use lineside_points::CATALOGUE;

/// The files in which points are declared, in the order of the page.
const FILES: [&str; 9] =
    ["session", "prompt", "model", "tool", "subagent", "stop", "compact", "message", "fact"];

/// A point.
pub(crate) struct Point {
    pub(crate) name: String,
    /// The name of its type.
    pub(crate) kind: String,
    pub(crate) about: String,
    pub(crate) amendable: Vec<String>,
    pub(crate) fields: Vec<Field>,
}

/// A field of a payload, or of a part of one.
pub(crate) struct Field {
    pub(crate) name: String,
    /// Its type in Rust, without the `Option` around an optional one.
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) about: String,
}

/// An object within payloads.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) fields: Vec<Field>,
    /// Whether a program may add fields of its own that count.
    pub(crate) is_open: bool,
}

/// A text with known words, beside which a program may have its own.
pub(crate) struct Words {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) words: Vec<String>,
}

/// The points, in the order of the page.
pub(crate) fn points() -> Vec<Point> {
    let declared: Vec<Point> = FILES.iter().flat_map(|file| of_source(&source(file))).collect();
    assert_eq!(declared.len(), CATALOGUE.len(), "a file with points is not named");
    declared
}

fn source(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/{file}.rs"));
    std::fs::read_to_string(path).unwrap()
}

/// The points that a file declares.
fn of_source(source: &str) -> Vec<Point> {
    let (mut points, mut about, mut required) = (Vec::<Point>::new(), String::new(), false);
    let declared = source.split_once("points! {").unwrap().1;
    for line in declared.lines().take_while(|line| *line != "}").map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            about.push_str(if about.is_empty() { text.trim_start() } else { text });
        } else if let Some((kind, rest)) = line.split_once(" = \"") {
            let (name, rest) = rest.split_once('"').unwrap();
            let amended = rest.split_once('[').map_or("", |(_, list)| list.split(']').next().unwrap());
            let amendable =
                amended.split(',').filter_map(|one| Some(one.split_once(':')?.0.trim().to_owned()));
            points.push(Point {
                name: name.to_owned(),
                kind: kind.to_owned(),
                about: std::mem::take(&mut about),
                amendable: amendable.collect(),
                fields: Vec::new(),
            });
        } else if line.starts_with("needs {") || line.starts_with("may {") {
            required = line.starts_with("needs");
        } else if let Some((name, kind)) = line.strip_suffix(';').and_then(|line| line.split_once(": ")) {
            let about = std::mem::take(&mut about);
            let (name, kind) = (name.to_owned(), kind.to_owned());
            points.last_mut().unwrap().fields.push(Field { name, kind, required, about });
        }
    }
    points
}

/// The objects and the words within payloads.
pub(crate) fn parts() -> (Vec<Part>, Vec<Words>) {
    let (mut parts, mut words) = (Vec::<Part>::new(), Vec::<Words>::new());
    let (mut about, mut is_list, mut is_flat) = (String::new(), false, false);
    for line in source("parts").lines() {
        is_list &= line != "}";
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            // What follows an empty line is an example.
            let ends = text.is_empty() || about.ends_with('\n');
            about.push_str(if ends { "\n" } else { text });
        } else if line == "words! {" {
            is_list = true;
        } else if line.starts_with("impl ") {
            about.clear();
        } else if let Some(name) = line.strip_prefix("pub struct ").and_then(|rest| rest.strip_suffix(" {")) {
            let (name, about) = (name.to_owned(), first(&mut about));
            parts.push(Part { name, about, fields: Vec::new(), is_open: false });
        } else if line == "#[serde(flatten)]" {
            is_flat = true;
        } else if let Some(field) = line.strip_prefix("pub ").and_then(|rest| rest.strip_suffix(',')) {
            let (name, kind) = field.split_once(": ").unwrap();
            let about = first(&mut about);
            let part = parts.last_mut().unwrap();
            if std::mem::take(&mut is_flat) {
                part.is_open = true;
                continue;
            }
            let inner = kind.strip_prefix("Option<").and_then(|kind| kind.strip_suffix('>'));
            let (required, kind) = (inner.is_none(), inner.unwrap_or(kind).to_owned());
            part.fields.push(Field { name: name.to_owned(), kind, required, about });
        } else if is_list && let Some((_, word)) = line.split_once(" = \"") {
            words.last_mut().unwrap().words.push(word.trim_end_matches("\",").to_owned());
            about.clear();
        } else if is_list && let Some(name) = line.strip_suffix(" {") {
            words.push(Words { name: name.to_owned(), about: first(&mut about), words: Vec::new() });
        }
    }
    assert!(
        parts.iter().all(|part| !part.fields.is_empty()) && words.iter().all(|list| !list.words.is_empty())
    );
    (parts, words)
}

/// The first paragraph of a text, which is taken.
fn first(about: &mut String) -> String {
    std::mem::take(about).trim().split('\n').next().unwrap_or_default().to_owned()
}
