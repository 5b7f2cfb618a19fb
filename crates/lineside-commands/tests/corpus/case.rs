//! A command of the corpus, and whether its analysis fits.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lineside_commands::{
    Access, Analysis, Argument, CommandProgram, Links, Shell, Surroundings, Unknown, analyse,
};
use serde_json::Value;

/// The collections of commands, by their names: those with whose sight the tables were written, and those that were
/// written before they were run.
static CORPORA: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
    let files = [
        ("commands", include_str!("../../../../tests/commands/commands.json")),
        ("fresh", include_str!("../../../../tests/commands/fresh.json")),
        ("fresh, second", include_str!("../../../../tests/commands/fresh-second.json")),
        ("fresh, third", include_str!("../../../../tests/commands/fresh-third.json")),
        ("fresh, fourth", include_str!("../../../../tests/commands/fresh-fourth.json")),
        ("fresh, fifth", include_str!("../../../../tests/commands/fresh-fifth.json")),
        ("fresh, sixth", include_str!("../../../../tests/commands/fresh-sixth.json")),
    ];
    files.into_iter().map(|(name, text)| (name, serde_json::from_str(text).unwrap_or_default())).collect()
});

pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) contested: bool,
    pub(crate) policies: Vec<String>,
    shell: Shell,
    value: &'static Value,
    links: LinksOf,
}

/// Each collection with its commands.
pub(crate) fn corpora() -> Vec<(&'static str, Vec<Case>)> {
    let cases = |corpus: &'static Value| corpus["cases"].as_array().into_iter().flatten().map(Case::new);
    CORPORA.iter().map(|(name, corpus)| (*name, cases(corpus).collect())).collect()
}

/// The links that a case is run with.
struct LinksOf(BTreeMap<String, String>);

impl Links for LinksOf {
    fn resolve(&self, path: &str, last: bool) -> Option<String> {
        self.0.iter().find_map(|(link, target)| {
            let rest = path.strip_prefix(link.as_str())?;
            (rest.starts_with('/') || rest.is_empty() && last).then(|| format!("{target}{rest}"))
        })
    }
}

impl Case {
    fn new(value: &'static Value) -> Case {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let files = value["files"].as_object();
        let links = files.into_iter().flatten().filter_map(|(path, file)| {
            let target = file["link"].as_str()?;
            let target = if target.starts_with('/') { target.to_owned() } else { format!("/proj/{target}") };
            Some((path.clone(), target))
        });
        Case {
            id: text("id"),
            command: text("command"),
            contested: value["contested"].as_bool().unwrap_or(false),
            policies: strings(&value["policies"]),
            shell: value["shell"].as_str().map_or(Shell::Bash, Shell::named),
            value,
            links: LinksOf(links.collect()),
        }
    }

    pub(crate) fn analyse(&self) -> (Analysis, Surroundings<'_>) {
        let state = Surroundings { links: Some(&self.links), ..Surroundings::new("/proj", "/home/dev") };
        (analyse(&self.command, self.shell, &state), state)
    }

    /// Whether exactly the programs of the case are listed, in any order.
    pub(crate) fn fits_programs(&self, analysis: &Analysis) -> bool {
        let Some(expected) = self.value["runs"].as_array() else {
            return analysis.is_unclear(Unknown::Program);
        };
        // What is also read with a word that is not known is one program.
        let is_covered = |one: &CommandProgram, by: &CommandProgram| {
            let words = |program: &CommandProgram| -> Vec<Argument> {
                std::iter::once(&program.name).chain(&program.args).cloned().collect()
            };
            let (one, by) = (words(one), words(by));
            let is_known = |word: &Argument| !matches!(word, Argument::Any | Argument::Like(_));
            one.len() == by.len()
                && one != by
                && std::iter::zip(&one, &by).all(|(one, by)| one == by || !is_known(one) && is_known(by))
        };
        let all = &analysis.programs;
        let mut left: Vec<&CommandProgram> =
            all.iter().filter(|one| !all.iter().any(|by| is_covered(one, by))).collect();
        for program in expected {
            let fits = |listed: &&CommandProgram| {
                word_fits(&program["program"], &listed.name)
                    && args_fit(program["args"].as_array().map_or(&[], Vec::as_slice), &listed.args)
            };
            match left.iter().position(fits) {
                Some(at) => drop(left.remove(at)),
                None => return false,
            }
        }
        left.is_empty()
    }

    /// Whether the paths that the case names are those that are listed.
    pub(crate) fn fits_paths(&self, analysis: &Analysis) -> Vec<(&'static str, bool)> {
        let kinds = [("deletes", Access::Delete), ("reads", Access::Read), ("writes", Access::Write)];
        let named = kinds.into_iter().filter(|(name, _)| self.value[*name].is_array());
        named
            .map(|(name, access)| {
                let mut expected = strings(&self.value[name]);
                let touches = analysis.paths(access).filter(|touch| touch.path.starts_with('/'));
                let mut listed: Vec<String> = touches
                    .flat_map(|touch| [Some(touch.path.clone()), touch.target.clone()])
                    .flatten()
                    .collect();
                expected.sort();
                listed.sort();
                listed.dedup();
                (name, expected == listed)
            })
            .collect()
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

fn word_fits(expected: &Value, word: &Argument) -> bool {
    match expected {
        Value::String(text) => *word == Argument::Text(text.clone()),
        Value::Object(kind) => {
            let pattern = |name: &str| kind.get(name).and_then(Value::as_str);
            match (pattern("glob"), pattern("like")) {
                (Some(glob), _) => *word == Argument::Glob(glob.to_owned()),
                (_, Some(like)) => match word {
                    Argument::Like(text) => {
                        text == like || like.strip_suffix('*').is_some_and(|front| text.starts_with(front))
                    }
                    _ => false,
                },
                _ => {
                    matches!(word, Argument::Any | Argument::Like(_) | Argument::Glob(_) | Argument::Text(_))
                }
            }
        }
        _ => false,
    }
}

fn args_fit(expected: &[Value], words: &[Argument]) -> bool {
    let Some((first, rest)) = expected.split_first() else { return words.is_empty() };
    if first.get("many").is_some() {
        return words.first() == Some(&Argument::Many) && args_fit(rest, &words[1..]);
    }
    !words.is_empty() && word_fits(first, &words[0]) && args_fit(rest, &words[1..])
}
