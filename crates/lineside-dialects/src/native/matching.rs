//! `match` to a matcher, by the table of filters that the builder in Rust has as well.

use std::sync::Arc;

use lineside_core::matcher::{Condition, Filter, Patterns};
use lineside_core::nearest::{edit_distance, suggestion};
use lineside_core::{Matcher, MatcherDraft, PointInfo, tool_class};
use lineside_guards::{Account, Acts, ReadActsError, Step, WhenUnclear, Wrong};

use super::findings::{LoadError, LoadNote, LoadWarning, UnknownKey};
use super::values::{Values, shown};
use crate::hosts::arguments;
use crate::yaml::{Content, Node, node_value};

/// One pattern and where it stands.
struct Written<'a> {
    filter: Filter,
    /// The key of the tool's input, for an argument.
    key: &'a str,
    pattern: &'a str,
    line: u32,
}

/// What filters over the doings of a call need to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    /// Whose commands they are.
    pub(super) account: &'a Arc<Account>,
    /// What counts where it is not known whether a call does what is asked for.
    pub(super) unclear: WhenUnclear,
}

/// What `match` says.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// All filters; absent when everything matches.
    pub(super) matcher: Option<Matcher>,
    /// Of them those over what a call does.
    pub(super) acts: Option<Acts>,
}

/// Reads the mapping `match`, whose keys a finding shows behind `within`, for events of these points. Nothing when
/// everything matches, or when something is wrong, of which `values` knows then.
pub(super) fn read(
    values: &mut Values<'_, '_>,
    within: &'static str,
    points: &[&'static PointInfo],
    scene: Scene<'_>,
) -> Matching {
    mapping(values, within, points, scene).unwrap_or_default()
}

fn mapping(
    values: &mut Values<'_, '_>,
    within: &'static str,
    points: &[&'static PointInfo],
    scene: Scene<'_>,
) -> Option<Matching> {
    let known: Vec<&'static str> =
        Filter::ALL.map(Filter::as_str).into_iter().chain(lineside_guards::KEYS).collect();
    let keys = values.mapping("match", &format!("a mapping with some of {}", known.join(", ")))?;
    let mut inner = values.inside(keys, within);
    inner.strictly(&known);
    let written: Vec<Written<'_>> =
        Filter::ALL.into_iter().flat_map(|filter| patterns(&mut inner, filter)).collect();
    let mut draft = MatcherDraft::default();
    for Written { filter, key, pattern, line } in &written {
        match draft.clone().with(*filter, key, pattern) {
            Ok(with) => draft = with,
            Err(error) => {
                let (key, found) = (format!("{within}{}", filter.as_str()), format!("{pattern:?}"));
                let expected = error.to_string().trim_start_matches("not ").to_owned();
                inner.error(*line, &LoadError::Value { key, found, expected });
            }
        }
    }
    let compiled = draft.compile();
    if let Err(error) = &compiled {
        let (filter, pattern) = error.place();
        let place = written.iter().find(|one| one.filter.as_str() == filter && one.pattern == pattern);
        let (key, line) = place.map_or_else(
            || (String::new(), inner.line(filter).unwrap_or(1)),
            |one| (one.key.to_owned(), one.line),
        );
        let dot = if key.is_empty() { "" } else { "." };
        let key = format!("{within}{filter}{dot}{key}");
        inner.error(line, &LoadError::Pattern { key, error: error.clone() });
    }
    for one in written.iter().filter(|one| one.filter == Filter::Tool) {
        let (key, pattern) = (format!("{within}{}", one.filter.as_str()), one.pattern.to_owned());
        if let Some(everywhere) =
            class_of(&pattern).filter(|class| !written.iter().any(|w| w.pattern == *class))
        {
            inner.note(one.line, &LoadNote::ToolOfSome { key, tool: pattern, everywhere });
        } else if let Some(warning) = doubtful_tool(key, pattern) {
            inner.warning(one.line, &warning);
        }
    }
    for one in written.iter().filter(|one| matches!(one.filter.patterns(), Patterns::OneOf)) {
        let why = match (one.pattern.chars().next(), one.filter) {
            (Some('!'), _) => "a pattern cannot exclude, name what is meant",
            (Some('~'), _) => "the home is not put in its place, write the whole path",
            (Some('/' | '*' | '{' | '['), Filter::Project) => continue,
            (_, Filter::Project) => "the root of a project is an absolute path",
            _ => continue,
        };
        let (key, pattern) = (format!("{within}{}", one.filter.as_str()), one.pattern.to_owned());
        inner.warning(one.line, &LoadWarning::NoSuchGlob { key, pattern, why });
    }
    for (line, warning) in strange_arguments(&written, within) {
        inner.warning(line, &warning);
    }
    let acts = acts(&mut inner, within, scene);
    let mut matcher = compiled.ok();
    if let Some(root) = &scene.account.project {
        matcher = matcher.map(|matcher| matcher.within(root));
    }
    if let Some(acts) = &acts {
        let condition = Arc::new(acts.clone()) as Arc<dyn Condition>;
        matcher = matcher.and_then(|matcher| matcher.and(condition).ok());
        let key = lineside_guards::KEYS.into_iter().find(|key| inner.get(key).is_some()).unwrap_or_default();
        without_candidates(&mut inner, key, points, |point| acts.has_candidates(point));
    }
    if scene.unclear == WhenUnclear::Skip {
        matcher = matcher.map(Matcher::certain);
    }
    let is_empty = draft.is_empty() && acts.is_none();
    for filter in draft.filters() {
        without_candidates(&mut inner, filter.as_str(), points, |point| filter.has_candidates(point));
    }
    let sound = inner.sound;
    values.sound &= sound;
    // A mapping without patterns leaves nothing out.
    Some(Matching { matcher: matcher.filter(|_| !is_empty), acts })
}

/// Says at which points a filter looks at what no event has. Where there is no other point, the hook would never run.
fn without_candidates(
    values: &mut Values<'_, '_>,
    key: &str,
    points: &[&'static PointInfo],
    has: impl Fn(&PointInfo) -> bool,
) {
    let (line, key) = (values.line(key).unwrap_or(1), format!("{}{key}", values.within));
    let never: Vec<&'static str> =
        points.iter().filter(|point| !has(point)).map(|point| point.name).collect();
    if !never.is_empty() && never.len() == points.len() {
        values.error(line, &LoadError::NeverMatches { key, points: never.join(", ") });
        return;
    }
    for point in never {
        values.warning(line, &LoadWarning::NeverMatches { key: key.clone(), point });
    }
}

/// The filters over what a call does.
fn acts(values: &mut Values<'_, '_>, within: &str, scene: Scene<'_>) -> Option<Acts> {
    let is_own =
        |(key, _): &&(Node, Node)| key.written().is_some_and(|key| lineside_guards::KEYS.contains(&key));
    let mut written = lineside_core::json::Map::new();
    for (key, value) in values.keys.iter().filter(is_own).filter(|(_, value)| !value.is_null()) {
        match node_value(value) {
            Ok(value) => {
                written.insert(key.label(), value);
            }
            Err(error) => values.error(error.line, &LoadError::Yaml { error }),
        }
    }
    match Acts::read(&written, scene.unclear, scene.account) {
        Ok(None) => {
            let about = ["except", "unclear"].into_iter().find_map(|key| Some((key, values.line(key)?)));
            // A filter whose key is misspelt has an error already.
            if let Some((key, line)) = about.filter(|_| values.sound) {
                values.error(line, &LoadError::NothingAsked(format!("{within}{key}")));
            }
            None
        }
        Ok(acts) => {
            for (key, value) in values.keys.iter().filter(is_own) {
                let mut found = Vec::new();
                regexes(value, false, &mut vec![key.label()], &mut found);
                for (line, place, text, why) in found {
                    let key = format!("{within}{place}");
                    values.warning(line, &LoadWarning::RegexAsGlob { key, text, why });
                }
            }
            acts
        }
        Err(errors) => {
            for error in errors {
                refused(values, within, error);
            }
            None
        }
    }
}

/// What is wrong with one of them, at its line.
fn refused(values: &mut Values<'_, '_>, within: &str, error: ReadActsError) {
    let place = error.place();
    let (line, found) = found_at(values.keys, &error.path);
    let key = format!("{within}{place}");
    let error = match error.wrong {
        Wrong::Key { nearest } => LoadError::UnknownKey(UnknownKey { key, nearest }),
        Wrong::Word { nearest: None } if error.path.last() == Some(&Step::Key("unclear".to_owned())) => {
            LoadError::Value { key, found, expected: "match or skip".to_owned() }
        }
        Wrong::Word { nearest } => LoadError::Word { key, found, nearest },
        Wrong::Value(expected) => LoadError::Value { key, found, expected: expected.to_owned() },
        Wrong::Regex(detail) => LoadError::Regex { key, detail },
        Wrong::Never { text, why } => LoadError::MatchesNothing { key, text, why },
    };
    values.error(line, &error);
}

/// Globs below a key that are written as regular expressions, with the line, the place, and what would be right. Under `text` there is
/// one.
fn regexes(
    node: &Node,
    of_program: bool,
    place: &mut Vec<String>,
    found: &mut Vec<(u32, String, String, &'static str)>,
) {
    match &node.content {
        Content::List(items) => items.iter().for_each(|item| regexes(item, of_program, place, found)),
        Content::Mapping(keys) => {
            for (key, value) in keys.iter().filter(|(key, _)| key.written() != Some("text")) {
                place.push(key.label());
                regexes(value, key.written() == Some("program"), place, found);
                place.pop();
            }
        }
        Content::Text(text) => {
            let is_program = of_program || place.last().is_some_and(|key| key == "runs");
            let why = if is_program && text.contains('|') {
                "several names are a list, such as [rm, unlink]"
            } else if is_program && text.contains(".*") {
                "what begins so is `rm*`"
            } else if is_program && text.ends_with('$')
                || text.starts_with('^') && (is_program || text.ends_with('$'))
                || text.contains("\\b")
            {
                "it is compared with the whole anyway"
            } else {
                return;
            };
            found.push((node.line, place.join("."), text.clone(), why));
        }
        _ => {}
    }
}

/// The line and the value of what a path leads to.
fn found_at(keys: &[(Node, Node)], path: &[Step]) -> (u32, String) {
    let (mut line, mut found, mut keys) = (1, String::new(), keys);
    let mut items: &[Node] = &[];
    for step in path {
        let node = match step {
            Step::Key(name) => match keys.iter().find(|(key, _)| key.label() == *name) {
                Some((key, value)) => {
                    line = key.line;
                    value
                }
                None => break,
            },
            Step::Item(number) => match items.get(*number) {
                Some(item) => {
                    line = item.line;
                    item
                }
                None => break,
            },
        };
        found = shown(node);
        (keys, items) = match &node.content {
            Content::Mapping(inner) => (&inner[..], &[][..]),
            Content::List(inner) => (&[][..], &inner[..]),
            _ => (&[][..], &[][..]),
        };
    }
    (line, found)
}

/// The tools of most programs, by the names that most hooks are written for.
const TOOLS: [&str; 10] =
    ["Shell", "Bash", "WriteFile", "Write", "StrReplaceFile", "Edit", "ReadFile", "Read", "Task", "Agent"];

/// The name that stands for a tool in every program.
fn class_of(tool: &str) -> Option<&'static str> {
    tool_class::of(tool).and_then(tool_class::name)
}

/// What is said of a tool that is most likely meant otherwise: a guard for it would never be asked.
fn doubtful_tool(key: String, pattern: String) -> Option<LoadWarning> {
    if pattern.contains(['|', '^', '$', '(', '\\']) || pattern.contains(".*") {
        return Some(LoadWarning::NotAGlob { key, pattern });
    }
    if tool_class::of(&pattern).is_some() {
        return None;
    }
    let is_near = |tool: &&str| {
        let distance = edit_distance(&pattern, tool);
        tool.eq_ignore_ascii_case(&pattern) || (distance == 1 && pattern.len() > 3)
    };
    if pattern.contains(['*', '?', '[']) {
        return None;
    }
    let near = TOOLS.into_iter().find(is_near)?;
    Some(LoadWarning::NearTool { key, pattern, near })
}

/// The arguments that none of the tools which are asked for has, as far as these are known.
fn strange_arguments(written: &[Written<'_>], within: &str) -> Vec<(u32, LoadWarning)> {
    let tools: Vec<&str> =
        written.iter().filter(|one| one.filter == Filter::Tool).map(|one| one.pattern).collect();
    let Some(known) = arguments(tools.iter().copied()) else { return Vec::new() };
    let strange = written.iter().filter_map(|one| {
        let name = one
            .key
            .split('.')
            .next()
            .filter(|name| one.filter == Filter::Argument && !known.contains(name))?;
        let near = suggestion(name, known.iter().copied());
        let nearest = known.iter().copied().find(|known| near == Some(*known));
        let (key, tool) = (format!("{within}argument.{}", one.key), tools.join("`, `"));
        Some((one.line, LoadWarning::NoSuchArgument { key, tool, nearest }))
    });
    strange.collect()
}

/// The patterns of one filter.
fn patterns<'a>(values: &mut Values<'a, '_>, filter: Filter) -> Vec<Written<'a>> {
    let (name, expected) = (filter.as_str(), filter.expected());
    match filter.patterns() {
        Patterns::OneOf => {
            let all = values.one_or_more(name, expected).unwrap_or_default();
            all.into_iter().map(|(line, pattern)| Written { filter, key: "", pattern, line }).collect()
        }
        Patterns::One => {
            let pattern = values.text(name, expected, |text| !text.is_empty());
            let line = values.line(name).unwrap_or(1);
            pattern.map(|pattern| Written { filter, key: "", pattern, line }).into_iter().collect()
        }
        Patterns::ForEachKey => {
            let is_key = |key: &str| key.split('.').all(|part| !part.is_empty());
            let all = values.pairs(name, expected, is_key);
            if let (true, Some((key, value))) = (all.is_empty(), values.get(name))
                && values.sound
            {
                values.wrong(key.line, name, value, expected);
            }
            all.into_iter().map(|(line, key, pattern)| Written { filter, key, pattern, line }).collect()
        }
    }
}

#[cfg(test)]
mod tests;
