//! The public items of a source, as text: declarations without bodies, comments and private parts.
//!
//! It is read from the source, so that a stable toolchain and no tool are enough. What macros expand to is not seen;
//! the text that they are called with is listed in its place.

use super::code;

/// A declaration up to its body, its attributes, and the body.
struct Statement<'a> {
    attributes: Vec<String>,
    head: String,
    body: Option<&'a str>,
}

/// The public items of a source, one a line, the parts of an item indented below it. `is_public` knows the public types
/// of the crate, whose implementations of traits are listed.
pub(super) fn items(source: &str, is_public: impl Fn(&str) -> bool) -> Vec<String> {
    let code = without_comments(source);
    let mut lines = Vec::new();
    list(&code, &is_public, &mut lines);
    lines
}

/// The source with blanks for comments and without the tests at its end.
fn without_comments(source: &str) -> String {
    let bare = code::bare(source);
    let kept = code::without_tests(&bare).chars().count();
    let chars = source.chars().zip(bare.chars()).take(kept);
    chars.map(|(char, bare)| if bare == ' ' { ' ' } else { char }).collect()
}

fn list(code: &str, is_public: &impl Fn(&str) -> bool, lines: &mut Vec<String>) {
    for statement in statements(code) {
        let Statement { attributes, head, body } = &statement;
        if attributes.iter().any(|attribute| attribute.contains("cfg(test)")) {
            continue;
        }
        if let Some(declared) = head.strip_prefix("pub ") {
            push(lines, "", attributes, declared_head(head));
            match (declared.split(' ').next(), body) {
                (Some("struct"), Some(body)) => list_parts(body, |field| field.starts_with("pub "), lines),
                (Some("enum"), Some(body)) => list_parts(body, |_| true, lines),
                (Some("trait"), Some(body)) => list_members(body, |_| true, lines),
                (Some("mod"), Some(body)) => list(body, is_public, lines),
                _ => {}
            }
        } else if let Some((_, of)) = head.split_once(" for ").filter(|_| is_impl(head)) {
            if is_public(type_name(of)) {
                push(lines, "", attributes, head);
            }
        } else if let Some(body) = body.filter(|_| is_impl(head)) {
            let mut members = Vec::new();
            list_members(body, |member| member.starts_with("pub "), &mut members);
            if !members.is_empty() {
                push(lines, "", attributes, head);
                lines.extend(members);
            }
        } else if let (Some(body), "pin_project!") = (body, head.as_str()) {
            // It declares what it is called with.
            list(body, is_public, lines);
        } else if let (Some(body), true) = (body, is_call_of_macro(head)) {
            push(lines, "", attributes, head);
            lines.extend(
                body.lines().map(collapsed).filter(|line| !line.is_empty()).map(|line| format!("    {line}")),
            );
        }
    }
}

fn list_members(body: &str, is_listed: impl Fn(&str) -> bool, lines: &mut Vec<String>) {
    for Statement { attributes, head, .. } in statements(body) {
        if is_listed(&head) && !head.contains('!') {
            push(lines, "    ", &attributes, declared_head(&head));
        }
    }
}

/// The fields or variants of a body.
fn list_parts(body: &str, is_listed: impl Fn(&str) -> bool, lines: &mut Vec<String>) {
    let (mut depth, mut before) = (0_i32, ' ');
    let parts = body.split(|char| {
        depth += match char {
            '>' if before == '-' => 0,
            '{' | '(' | '[' | '<' => 1,
            '}' | ')' | ']' | '>' => -1,
            _ => 0,
        };
        before = char;
        char == ',' && depth == 0
    });
    for part in parts {
        let part = part.trim();
        let (attributes, rest) = take_attributes(part);
        let head = collapsed(rest);
        if !head.is_empty() && is_listed(&head) {
            push(lines, "    ", &attributes, &head);
        }
    }
}

fn push(lines: &mut Vec<String>, indent: &str, attributes: &[String], head: &str) {
    let told = |attribute: &&String| {
        ["#[derive", "#[non_exhaustive", "#[cfg", "#[must_use"]
            .iter()
            .any(|start| attribute.starts_with(start))
    };
    let attributes = attributes.iter().filter(told).map(|attribute| match attribute.split_once(" = ") {
        Some(("#[must_use", _)) => "#[must_use] ".to_owned(),
        _ => format!("{attribute} "),
    });
    lines.push(format!("{indent}{}{head}", attributes.collect::<String>()));
}

/// Values are no part of a declaration.
fn declared_head(head: &str) -> &str {
    let has_value = ["pub const ", "pub static ", "const "].iter().any(|start| head.starts_with(start));
    match head.split_once(" = ") {
        Some((declared, _)) if has_value && !head.contains("fn ") => declared,
        _ => head,
    }
}

fn is_impl(head: &str) -> bool {
    head.starts_with("impl ") || head.starts_with("impl<")
}

fn is_call_of_macro(head: &str) -> bool {
    head.ends_with('!') && !head.starts_with("macro_rules") && head != "thread_local!"
}

/// The last name of a type before its parameters.
fn type_name(of: &str) -> &str {
    let path = of.trim_start_matches(['&', ' ']).split(['<', ' ']).next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or(path)
}

/// The statements of a body.
fn statements(mut code: &str) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    loop {
        let (attributes, rest) = take_attributes(code);
        let Some((end, opens)) = end_of_head(rest) else { return found };
        let head = collapsed(&rest[..end]);
        let (body, after) = if opens {
            let close = matching(&rest[end..]).map_or(rest.len(), |length| end + length);
            (Some(&rest[end + 1..close.max(end + 1)]), rest.get(close + 1..).unwrap_or_default())
        } else {
            (None, &rest[end + 1..])
        };
        if !head.is_empty() {
            found.push(Statement { attributes, head, body });
        }
        code = after;
    }
}

/// Where a head ends, and whether a body begins there. The braces of an import are no body.
fn end_of_head(code: &str) -> Option<(usize, bool)> {
    let is_import = code.trim_start().starts_with("pub use ") || code.trim_start().starts_with("use ");
    let mut depth = 0_i32;
    for (at, char) in code.char_indices() {
        match char {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if !is_import && depth == 0 => return Some((at, true)),
            ';' if depth == 0 => return Some((at, false)),
            _ => {}
        }
    }
    None
}

/// The distance from an opening brace to the one that closes it.
fn matching(code: &str) -> Option<usize> {
    let mut depth = 0_i32;
    let bare = code::bare(code);
    for ((at, _), bare) in code.char_indices().zip(bare.chars()) {
        match bare {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn take_attributes(mut code: &str) -> (Vec<String>, &str) {
    let mut attributes = Vec::new();
    loop {
        code = code.trim_start();
        if !code.starts_with("#[") && !code.starts_with("#![") {
            return (attributes, code);
        }
        let mut depth = 0_i32;
        let end = code.find(|char| {
            depth += i32::from(char == '[') - i32::from(char == ']');
            char == ']' && depth == 0
        });
        let Some(end) = end else { return (attributes, "") };
        attributes.push(collapsed(&code[..=end]));
        code = &code[end + 1..];
    }
}

/// The text in one line.
fn collapsed(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("( ", "(")
        .replace(", )", ")")
        .replace(" )", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(source: &str) -> Vec<String> {
        items(source, |name| name == "Bus")
    }

    #[test]
    fn public_declarations_stand_without_bodies_and_comments() {
        let source = "//! x\nuse a::{B, C};\npub use d::{E, F};\n\n/// A bus.\n#[derive(Clone)]\npub struct Bus {\n    /// Its name.\n    \
            pub name: Option<(u8, u8)>,\n    hidden: Box<dyn Fn(u8, u8) -> u8>,\n    pub last: u8,\n}\n\npub(crate) fn own() { f(\"}\", '}') }\n\nimpl Bus {\n    /// New.\n    #[must_use = \"x\"]\n    \
            pub fn new(\n        name: &str,\n    ) -> Self {\n        Self { name }\n    }\n\n    fn hidden() {}\n}\n\npub const MOST: usize = 3;\n";
        assert_eq!(
            listed(source),
            [
                "pub use d::{E, F}",
                "#[derive(Clone)] pub struct Bus",
                "    pub name: Option<(u8, u8)>",
                "    pub last: u8",
                "impl Bus",
                "    #[must_use] pub fn new(name: &str) -> Self",
                "pub const MOST: usize",
            ]
        );
    }

    #[test]
    fn variants_members_of_traits_and_implementations_of_public_types_are_listed() {
        let source = "pub enum Kind {\n    One,\n    Two { a: u8, b: u8 },\n}\npub trait Run<T> {\n    fn run(&self) -> T {\n        x\n    }\n    fn end(self);\n}\n\
            impl fmt::Debug for Bus {\n    fn fmt() {}\n}\nimpl Drop for Own {}\npoints! {\n    A = \"a\", Gate {}\n}\nmacro_rules! points {\n}\n\n\
            #[cfg(test)]\nmod tests {\n    pub fn x() {}\n}\n";
        assert_eq!(
            listed(source),
            [
                "pub enum Kind", "    One", "    Two { a: u8, b: u8 }", "pub trait Run<T>",
                "    fn run(&self) -> T", "    fn end(self)", "impl fmt::Debug for Bus", "points!",
                "    A = \"a\", Gate {}",
            ]
        );
    }

    #[test]
    fn what_a_macro_projects_is_listed_if_it_is_public() {
        let source = "pin_project! {\n    struct Own {\n        #[pin]\n        a: u8,\n    }\n}\n\
            pin_project! {\n    pub struct Shown {\n        pub a: u8,\n        b: u8,\n    }\n}\n";
        assert_eq!(listed(source), ["pub struct Shown", "    pub a: u8"]);
    }
}
