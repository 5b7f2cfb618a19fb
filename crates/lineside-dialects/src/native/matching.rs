//! `match` to a matcher, by the table of filters that the builder in Rust has as well.

use lineside_core::matcher::{Filter, Patterns};
use lineside_core::nearest::edit_distance;
use lineside_core::{Matcher, MatcherDraft, PointInfo, tool_class};

use super::findings::{LoadError, LoadWarning};
use super::values::Values;

/// One pattern and where it stands.
struct Written<'a> {
    filter: Filter,
    /// The key of the tool's input, for an argument.
    key: &'a str,
    pattern: &'a str,
    line: u32,
}

/// Reads the mapping `match`, whose keys a finding shows behind `within`, for events of these points. `None` when
/// everything matches, or when something is wrong, of which `values` knows then.
pub(super) fn read(
    values: &mut Values<'_, '_>,
    within: &'static str,
    points: &[&'static PointInfo],
) -> Option<Matcher> {
    let known = Filter::ALL.map(Filter::as_str);
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
    if let Err(error) = draft.compile() {
        let (filter, pattern) = error.place();
        let place = written.iter().find(|one| one.filter.as_str() == filter && one.pattern == pattern);
        let (key, line) = place.map_or_else(
            || (String::new(), inner.line(filter).unwrap_or(1)),
            |one| (one.key.to_owned(), one.line),
        );
        let dot = if key.is_empty() { "" } else { "." };
        inner.error(line, &LoadError::Pattern { key: format!("{within}{filter}{dot}{key}"), error });
    }
    for one in written.iter().filter(|one| one.filter == Filter::Tool) {
        let (key, pattern) = (format!("{within}{}", one.filter.as_str()), one.pattern.to_owned());
        if let Some(warning) = doubtful_tool(key, pattern) {
            inner.warning(one.line, &warning);
        }
    }
    for one in written.iter().filter(|one| matches!(one.filter.patterns(), Patterns::OneOf)) {
        let why = match one.pattern.chars().next() {
            Some('!') => "a pattern cannot exclude, name what is meant",
            Some('~') => "the home is not put in its place, write the whole path",
            _ => continue,
        };
        let (key, pattern) = (format!("{within}{}", one.filter.as_str()), one.pattern.to_owned());
        inner.warning(one.line, &LoadWarning::NoSuchGlob { key, pattern, why });
    }
    for filter in draft.filters() {
        for point in points.iter().filter(|point| !filter.has_candidates(point)) {
            let line = inner.line(filter.as_str()).unwrap_or(1);
            let key = format!("{within}{}", filter.as_str());
            inner.warning(line, &LoadWarning::NeverMatches { key, point: point.name });
        }
    }
    let sound = inner.sound;
    values.sound &= sound;
    // A mapping without patterns leaves nothing out.
    if draft.filters().next().is_none() { None } else { draft.compile().ok() }
}

/// The tools of most programs, by the names that most hooks are written for.
const TOOLS: [&str; 10] =
    ["Shell", "Bash", "WriteFile", "Write", "StrReplaceFile", "Edit", "ReadFile", "Read", "Task", "Agent"];

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
        tool.eq_ignore_ascii_case(&pattern) || (distance == 1 && pattern.len() > 4)
    };
    let near = TOOLS.into_iter().find(is_near)?;
    Some(LoadWarning::NearTool { key, pattern, near })
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
