//! `use`: policies by their names, each with another verdict, in shadow, or without what is excepted.

use lineside_core::nearest::suggestion;
use lineside_policies::{ALL, STANDARD, STANDARD_NAME, named};

use super::entry::{MODE, MODES};
use super::findings::{Findings, LoadError, UnknownKey};
use super::rule::VERDICTS;
use super::values::shown;
use crate::yaml::{self, Content, Node, UnknownEscapes};

/// A policy that a file uses.
#[derive(Debug)]
pub(super) struct Used {
    /// Its name.
    pub(super) name: String,
    /// The line that names it.
    pub(super) line: u32,
    /// Its hooks as they are to be read; absent when something is wrong with how it is used.
    pub(super) hooks: Option<Vec<Node>>,
}

/// What is said of a policy beside its name.
#[derive(Debug, Clone, Copy, Default)]
struct Said<'a> {
    verdict: Option<&'a Node>,
    mode: Option<&'a Node>,
    except: Option<&'a (Node, Node)>,
}

/// Reads the value of `use`. What stands by its own name counts before what `standard` stands for.
pub(super) fn read(value: &Node, findings: &mut Findings) -> Vec<Used> {
    let items = match &value.content {
        Content::Null => return Vec::new(),
        Content::List(items) => &items[..],
        _ => std::slice::from_ref(value),
    };
    let mut used: Vec<(Used, bool)> = Vec::new();
    for item in items {
        let Some((name, line, said)) = entry(item, findings) else {
            let (name, line) = (shown(item), item.line);
            used.push((Used { name, line, hooks: None }, true));
            continue;
        };
        let is_set = name == STANDARD_NAME;
        let names = if is_set { STANDARD.to_vec() } else { vec![name.as_str()] };
        for name in names {
            let one = Used { name: name.to_owned(), line, hooks: hooks(name, line, said, findings) };
            match used.iter_mut().find(|(other, _)| other.name == name) {
                None => used.push((one, !is_set)),
                Some((_, true)) if is_set => {}
                Some(place @ (_, false)) => *place = (one, !is_set),
                Some((_, true)) => findings.error(line, LoadError::PolicyTwice(name.to_owned())),
            }
        }
    }
    used.into_iter().map(|(used, _)| used).collect()
}

/// The name, its line, and what is said beside it.
fn entry<'a>(item: &'a Node, findings: &mut Findings) -> Option<(String, u32, Said<'a>)> {
    const EXPECTED: &str = "the name of a policy, or one name with a verdict, with `shadow`, or with {verdict: …, mode: …, except: …}";
    let wrong = |findings: &mut Findings, found: &Node, key: &str, expected: &str| {
        let (key, found_as, expected) = (key.to_owned(), shown(found), expected.to_owned());
        findings.error(found.line, LoadError::Value { key, found: found_as, expected });
        None
    };
    let (name, value) = match &item.content {
        Content::Text(name) => return Some((name.clone(), item.line, Said::default())),
        Content::Mapping(keys) => match &keys[..] {
            [(name, value)] => (name, value),
            _ => return wrong(findings, item, "use[]", EXPECTED),
        },
        _ => return wrong(findings, item, "use[]", EXPECTED),
    };
    let mut said = Said::default();
    let (verdicts, modes) = ("block, ask or stop", MODES.map(|(word, _)| word).join(" or "));
    let is_mode = |node: &Node| node.text().is_some_and(|text| MODES.iter().any(|(word, _)| *word == text));
    let is_verdict = |node: &Node| {
        node.text().is_some_and(|text| text != "allow" && VERDICTS.iter().any(|(word, _)| *word == text))
    };
    match &value.content {
        Content::Null => {}
        Content::Text(_) if is_verdict(value) => said.verdict = Some(value),
        Content::Text(_) if is_mode(value) => said.mode = Some(value),
        Content::Mapping(keys) => {
            for pair @ (key, value) in keys {
                match key.written() {
                    Some("verdict") if is_verdict(value) => said.verdict = Some(value),
                    Some("verdict") => return wrong(findings, value, "use[].verdict", verdicts),
                    Some(MODE) if is_mode(value) => said.mode = Some(value),
                    Some(MODE) => return wrong(findings, value, "use[].mode", &modes),
                    Some("except") => said.except = Some(pair),
                    _ => {
                        let (known, label) = (["verdict", MODE, "except"], key.label());
                        let near = suggestion(&label, known);
                        let nearest = known.into_iter().find(|known| near == Some(known));
                        let key_of = format!("use[].{}.{label}", name.label());
                        findings.error(key.line, LoadError::UnknownKey(UnknownKey { key: key_of, nearest }));
                        return None;
                    }
                }
            }
        }
        _ => return wrong(findings, value, &format!("use[].{}", name.label()), "block, ask, stop or shadow"),
    }
    Some((name.label(), name.line, said))
}

/// The hooks of a policy, with what is said of them.
fn hooks(name: &str, line: u32, said: Said<'_>, findings: &mut Findings) -> Option<Vec<Node>> {
    let Some(policy) = named(name) else {
        let known = ALL.iter().map(|policy| policy.name).chain([STANDARD_NAME]);
        let near = suggestion(name, known.clone());
        let nearest = known.into_iter().find(|known| near == Some(known));
        findings.error(line, LoadError::Policy { wrong: name.to_owned(), nearest });
        return None;
    };
    let document = yaml::read(policy.text, 1, UnknownEscapes::Refuse).and_then(|mut document| {
        document.root.merge_all_keys()?;
        Ok(document)
    });
    let root = document.map_err(|error| findings.error(line, LoadError::Yaml { error })).ok()?.root;
    let Content::Mapping(keys) = root.content else { return None };
    let (_, hooks) = keys.into_iter().find(|(key, _)| key.written() == Some("hooks"))?;
    let Content::List(mut hooks) = hooks.content else { return None };
    for hook in &mut hooks {
        let Content::Mapping(keys) = &mut hook.content else { return None };
        if let Some(mode) = said.mode {
            let key = Node { content: Content::Text(MODE.to_owned()), ..mode.clone() };
            keys.push((key, mode.clone()));
        }
        for (key, value) in keys {
            match (key.written(), said.verdict, said.except, &mut value.content) {
                (Some("verdict"), Some(verdict), ..) => *value = verdict.clone(),
                (Some("match"), _, Some(except), Content::Mapping(filters)) => filters.push(except.clone()),
                _ => {}
            }
        }
    }
    Some(hooks)
}

#[cfg(test)]
mod tests;
