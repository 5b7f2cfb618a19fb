//! The conditions of Claude Code's handlers: `Tool` or `Tool(pattern)` (CL-19 to CL-21).

use std::borrow::Cow;
use std::path::Path;

use lineside_core::json::Value;
use lineside_core::{AnyEvent, tool_class};

use super::matcher::{Fit, Matcher};
use crate::hosts::tools::named_paths;
use crate::hosts::tools::{Seen, class};

/// How many substitutions within one another are looked at.
const DEEPEST: usize = 64;

/// The longest path that the system takes, in bytes.
const LONGEST_PATH: usize = 4_096;

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    tool: String,
    pattern: Option<String>,
    home: Option<String>,
}

impl Condition {
    /// Reads one.
    pub(crate) fn read(text: &str, home: Option<&Path>) -> Self {
        let home = home.map(|home| home.to_string_lossy().into_owned());
        match text.trim().split_once('(') {
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')').unwrap_or(rest).to_owned();
                Self { tool: tool.trim().to_owned(), pattern: Some(pattern), home }
            }
            None => Self { tool: text.trim().to_owned(), pattern: None, home },
        }
    }

    /// Whether it holds for an event about a tool.
    pub(crate) fn holds(&self, seen: Seen<'_>, event: &AnyEvent) -> bool {
        if !seen.any(|name| name == self.tool) {
            return false;
        }
        let Some(pattern) = &self.pattern else { return true };
        let input = event.payload().value("tool_input").unwrap_or(&Value::Null);
        match class(event) {
            // Which of several commands, paths or texts the tool takes is not known, so each counts.
            Some("shell") => {
                let mut lines = commands(input);
                if lines.is_empty() {
                    lines.push(String::new());
                }
                lines.iter().any(|line| shell(pattern, line))
            }
            _ => {
                let source = &event.envelope().source;
                let cwd = source.cwd.as_deref().or(source.project_root.as_deref()).unwrap_or("/");
                let name = event.payload().text("tool_name").unwrap_or_default();
                let paths = named_paths(name, input);
                if paths.is_empty() {
                    let mut texts =
                        input.as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str());
                    texts.any(|text| covers(pattern, text)) || covers(pattern, "")
                } else {
                    paths.iter().any(|path| file(pattern, path, cwd, self.home.as_deref()))
                }
            }
        }
    }

    /// For people to read.
    pub(crate) fn describe(&self) -> String {
        match &self.pattern {
            Some(pattern) => format!("{}({pattern})", self.tool),
            None => self.tool.clone(),
        }
    }
}

/// The command lines in an input. A word with blanks may be one that a shell is handed.
fn commands(input: &Value) -> Vec<String> {
    let mut lines: Vec<String> =
        tool_class::commands(input, |words| words.join(" ")).map(Cow::into_owned).collect();
    let lists = tool_class::COMMANDS.into_iter().filter_map(|field| input.get(field)?.as_array());
    let words = lists.flatten().filter_map(Value::as_str).filter(|word| word.contains(char::is_whitespace));
    lines.extend(words.map(str::to_owned));
    lines
}

/// Whether a pattern in which `*` stands for any text covers a text.
fn covers(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether a pattern covers a part of a command line, or the line cannot be divided (CL-20).
fn shell(pattern: &str, command: &str) -> bool {
    let Some(parts) = parts(command, DEEPEST) else { return true };
    let bare = pattern.strip_suffix(" *");
    let fits = |part: &str| covers(pattern, part) || bare.is_some_and(|bare| covers(bare, part));
    if parts.iter().any(|part| fits(part)) {
        return true;
    }
    let says_more = bare.unwrap_or(pattern).split_whitespace().count() > 1;
    says_more && has_substitution(command)
}

/// Whether a shell would put something else in the place of a part of a command.
fn has_substitution(command: &str) -> bool {
    let after_dollar = command.split('$').skip(1).filter_map(|rest| rest.chars().next());
    command.contains('`')
        || after_dollar
            .into_iter()
            .any(|next| next == '(' || next == '_' || next == '{' || next.is_ascii_alphabetic())
}

/// The commands of a line, without the assignments before them; `None` when it cannot be split, or has more substitutions
/// within one another than so many.
fn parts(command: &str, deepest: usize) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut inner = Vec::new();
    let (mut quote, mut depth) = (None, 0_usize);
    let mut characters = command.chars().peekable();
    while let Some(character) = characters.next() {
        let part = parts.last_mut()?;
        match (character, quote) {
            ('\\', None | Some('"')) => {
                part.push(character);
                part.extend(characters.next());
                continue;
            }
            ('\'' | '"', None) => quote = Some(character),
            (closing, Some(open)) if closing == open => quote = None,
            ('$', None | Some('"')) if characters.peek() == Some(&'(') => {
                characters.next();
                let text = balanced(&mut characters)?;
                part.push_str(&format!("$({text})"));
                inner.push(text);
                continue;
            }
            ('`', None | Some('"')) => {
                let mut text = String::new();
                loop {
                    match characters.next()? {
                        '`' => break,
                        other => text.push(other),
                    }
                }
                part.push_str(&format!("`{text}`"));
                inner.push(text);
                continue;
            }
            ('(' | '{', None) => depth += 1,
            (')' | '}', None) => depth = depth.checked_sub(1)?,
            ('&' | '|' | ';' | '\n' | '\r', None) => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    if quote.is_some() || depth > 0 {
        return None;
    }
    let mut all: Vec<String> = parts.iter().map(|part| without_assignments(part)).collect();
    for text in inner {
        all.extend(self::parts(&text, deepest.checked_sub(1)?)?);
    }
    all.retain(|part| !part.is_empty());
    Some(all)
}

/// The text up to the bracket that closes the one before it.
fn balanced(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let (mut text, mut depth, mut quote) = (String::new(), 0_usize, None);
    loop {
        let character = characters.next()?;
        match (character, quote) {
            ('\\', None | Some('"')) => {
                text.push(character);
                text.push(characters.next()?);
                continue;
            }
            ('\'' | '"', None) => quote = Some(character),
            (closing, Some(open)) if closing == open => quote = None,
            ('(', None) => depth += 1,
            (')', None) if depth == 0 => return Some(text),
            (')', None) => depth -= 1,
            _ => {}
        }
        text.push(character);
    }
}

/// A command without the `NAME=value` words before it, brackets around it and blanks.
fn without_assignments(part: &str) -> String {
    let mut rest =
        part.trim_matches(|character: char| character.is_whitespace() || "(){}".contains(character));
    loop {
        let word = first_word(rest);
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            let mut characters = name.chars();
            characters.next().is_some_and(|first| first == '_' || first.is_ascii_alphabetic())
                && characters.all(|character| character == '_' || character.is_ascii_alphanumeric())
        });
        if !is_assignment {
            return rest.to_owned();
        }
        rest = rest[word.len()..].trim_start();
    }
}

/// The text up to the first blank outside of quotes, of `$( )` and of backticks.
fn first_word(text: &str) -> &str {
    let (mut quote, mut depth, mut is_escaped) = (None, 0_usize, false);
    let end = text.find(|character: char| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match (character, quote) {
            ('\\', None | Some('"')) => is_escaped = true,
            ('\'' | '"' | '`', None) => quote = Some(character),
            (closing, Some(open)) if closing == open => quote = None,
            ('(', None) => depth += 1,
            (')', None) => depth = depth.saturating_sub(1),
            (blank, None) => return depth == 0 && blank.is_whitespace(),
            _ => {}
        }
        false
    });
    &text[..end.unwrap_or(text.len())]
}

/// Whether a pattern covers a path (CL-21), or that is longer than any is that leads to a file.
fn file(pattern: &str, path: &str, cwd: &str, home: Option<&str>) -> bool {
    if path.len() > LONGEST_PATH {
        return true;
    }
    // A folder is everything below it.
    let below_folder = pattern.strip_suffix('/').filter(|folder| !folder.is_empty()).map(|folder| {
        let anywhere = if folder.contains('/') { "" } else { "**/" };
        format!("{anywhere}{folder}/**")
    });
    let pattern = below_folder.as_deref().unwrap_or(pattern);
    let absolute = normal(&if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") });
    let fits = |glob: &str, text: &str| {
        Matcher::javascript(&expression(glob)).is_ok_and(|matcher| matcher.fits(text) != Fit::No)
    };
    if let Some(rest) = pattern.strip_prefix("//") {
        return fits(rest, absolute.trim_start_matches('/'));
    }
    if let Some(rest) = pattern.strip_prefix("~/") {
        let below = home.and_then(|home| absolute.strip_prefix(&format!("{}/", home.trim_end_matches('/'))));
        return below.is_some_and(|below| fits(rest, below));
    }
    let below = absolute.strip_prefix(&format!("{}/", cwd.trim_end_matches('/')));
    if let Some(anywhere) = pattern.strip_prefix("**/") {
        let parts: Vec<&str> = absolute.split('/').filter(|part| !part.is_empty()).collect();
        return (0..parts.len()).any(|start| fits(anywhere, &parts[start..].join("/")));
    }
    if let Some(rest) = pattern.strip_prefix('/') {
        return below.is_some_and(|below| fits(rest, below));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if !pattern.contains('/') {
        return fits(pattern, absolute.rsplit('/').next().unwrap_or_default());
    }
    below.is_some_and(|below| fits(pattern, below))
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The expression of a pattern of an ignore file.
fn expression(glob: &str) -> String {
    let mut written = String::from("^");
    let mut characters = glob.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' if characters.peek() == Some(&'*') => {
                characters.next();
                if characters.peek() == Some(&'/') {
                    characters.next();
                    written.push_str("(?:.*/)?");
                } else {
                    written.push_str(".*");
                }
            }
            '*' => written.push_str("[^/]*"),
            '?' => written.push_str("[^/]"),
            '[' => match class_of(&mut characters) {
                Some(class) => written.push_str(&class),
                None => written.push_str("\\["),
            },
            '\\' => match characters.next() {
                Some(plain) if plain.is_alphanumeric() => written.push(plain),
                Some(sign) => written.extend(['\\', sign]),
                None => written.push_str("\\\\"),
            },
            other if other.is_alphanumeric() || matches!(other, '_' | '/' | '-' | ' ') => written.push(other),
            other => written.extend(['\\', other]),
        }
    }
    written.push('$');
    written
}

/// The class of characters that a bracket opens, without a path separator; `None` where it is not closed.
fn class_of(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut ahead = characters.clone();
    let is_negated = ahead.next_if(|first| matches!(first, '!' | '^')).is_some();
    let mut members = String::new();
    loop {
        match ahead.next()? {
            ']' if !members.is_empty() => break,
            '-' => members.push('-'),
            '\\' => members.extend(['\\', ahead.next()?]),
            '/' => return None,
            member if member.is_alphanumeric() => members.push(member),
            member => members.extend(['\\', member]),
        }
    }
    *characters = ahead;
    Some(format!("[{}{members}]", if is_negated { "^/" } else { "" }))
}

#[cfg(test)]
mod tests;
