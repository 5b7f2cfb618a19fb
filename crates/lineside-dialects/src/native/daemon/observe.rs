//! `observe` of `config.yaml`: what hears everything that the daemon decides.

use std::path::PathBuf;

use lineside_core::Origin;
use lineside_core::secret::{Secret, Template};

use super::{Reading, measured};
use crate::dialect::at_home;
use crate::web_address::is_web_address;
use crate::yaml::{Content, Node};

/// How large a file becomes before another one is begun, and how many earlier ones are kept.
const SIZE: u64 = 64 << 20;
const KEEP: u32 = 5;
/// How many are kept at most.
const MOST_KEPT: u32 = 100;

/// One that hears what is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserveSettings {
    /// Its name.
    pub name: String,
    /// What it hears, in the words of the decision log, which are not looked at here; everything where it is empty.
    pub query: String,
    /// Where that goes.
    pub to: ObserveTo,
    /// Where it is declared.
    pub origin: Origin,
}

/// Where what is heard goes, as lines of JSON; as a list to a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObserveTo {
    /// Into a file.
    File {
        /// Which.
        path: PathBuf,
        /// How large it becomes, in bytes, before another one is begun.
        bytes: u64,
        /// How many earlier ones are kept.
        keep: u32,
    },
    /// To the standard input of a program with these arguments.
    Command(Vec<String>),
    /// To that of one that is kept, and started again when it ends.
    Worker(Vec<String>),
    /// To a URL, with these headers.
    Post(String, Vec<(String, Secret)>),
}

/// Reads the value of a key.
type Read = fn(&mut Reading<'_>, &str, &Node) -> Option<ObserveTo>;

/// The keys that say where it goes, and how each is read.
const OUTLETS: [(&str, Read); 4] = [
    ("file", |reading, _, value| reading.file_of(value)),
    ("command", |reading, key, value| reading.words_of(key, value).map(ObserveTo::Command)),
    ("worker", |reading, key, value| reading.words_of(key, value).map(ObserveTo::Worker)),
    ("post", |reading, _, value| reading.post_of(value)),
];

impl Reading<'_> {
    pub(super) fn observers(&mut self, value: &Node) {
        match &value.content {
            Content::Null => {}
            Content::List(items) => items.iter().for_each(|item| self.observer(item)),
            _ => self.wrong(
                "observe",
                value,
                "a list of observers, such as [{name: audit, file: ~/audit.jsonl}]",
            ),
        }
    }

    fn observer(&mut self, item: &Node) {
        let keys = self.mapping("observe[]", item, &["name", "query", "file", "command", "worker", "post"]);
        let get = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        let is_name = |text: &&str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let name = get("name").unwrap_or(item);
        let Some(name) = name.text().filter(is_name).map(str::to_owned) else {
            return self.wrong("observe[].name", name, "a name of letters, digits, hyphens and underscores");
        };
        if self.settings.observe.iter().any(|other| other.name == name) {
            return self.wrong("observe[].name", item, "a name that no other observer has");
        }
        let query = match get("query") {
            None => String::new(),
            Some(query) => match query.written() {
                Some(text) => text.to_owned(),
                None => return self.wrong("observe[].query", query, "a query such as verdict:refused"),
            },
        };
        let to: Vec<_> = OUTLETS.iter().filter_map(|(key, read)| Some((key, read, get(key)?))).collect();
        let [(key, read, value)] = to[..] else {
            return self.wrong("observe[]", item, "one of `file`, `command`, `worker` and `post`");
        };
        let to = read(self, key, value);
        let Some(to) = to else { return };
        let origin = self.findings.origin(item.line);
        self.sets(&format!("observe.{name}"), item);
        self.settings.observe.push(ObserveSettings { name, query, to, origin });
    }

    fn file_of(&mut self, value: &Node) -> Option<ObserveTo> {
        let keys = match &value.content {
            Content::Mapping(_) => self.mapping("observe[].file", value, &["path", "size", "keep"]),
            _ => vec![("path".to_owned(), value)],
        };
        let get = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        let Some(at) = get("path") else {
            self.wrong("observe[].file", value, "a path, or a mapping with one");
            return None;
        };
        let named = |text: &str| at_home(text, self.places.home()).unwrap_or_else(|| text.into());
        let Some(path) = at.text().map(named).filter(|path: &PathBuf| path.is_absolute()) else {
            self.wrong("observe[].file.path", at, "an absolute path, or one that begins with `~/`");
            return None;
        };
        let size = |value: &Node| measured(value, &[("MiB", 1 << 20), ("GiB", 1 << 30)]);
        let number =
            |value: &Node| value.written()?.parse().ok().filter(|keep| (1..=MOST_KEPT).contains(keep));
        let bytes = self.or_usual("size", get("size"), SIZE, size, "a size such as 100MiB")?;
        let keep = self.or_usual("keep", get("keep"), KEEP, number, "a number from 1 to 100")?;
        Some(ObserveTo::File { path, bytes, keep })
    }

    /// A value of a file as it is read, or the usual one where it is not said.
    fn or_usual<T>(
        &mut self,
        key: &str,
        value: Option<&Node>,
        usual: T,
        read: impl Fn(&Node) -> Option<T>,
        expected: &str,
    ) -> Option<T> {
        let Some(value) = value else { return Some(usual) };
        let found = read(value);
        if found.is_none() {
            self.wrong(&format!("observe[].file.{key}"), value, expected);
        }
        found
    }

    fn words_of(&mut self, key: &str, value: &Node) -> Option<Vec<String>> {
        let words: Option<Vec<String>> = match &value.content {
            Content::List(words) => words.iter().map(|word| word.written().map(str::to_owned)).collect(),
            _ => None,
        };
        let words = words.filter(|words| {
            words.first().is_some_and(|program| program.starts_with('/') || !program.contains(['/', '~']))
        });
        if words.is_none() {
            self.wrong(
                &format!("observe[].{key}"),
                value,
                "a list of a program, by its name or its absolute path, and its arguments",
            );
        }
        words
    }

    fn post_of(&mut self, value: &Node) -> Option<ObserveTo> {
        let keys = match &value.content {
            Content::Mapping(_) => self.mapping("observe[].post", value, &["url", "headers", "secrets"]),
            _ => vec![("url".to_owned(), value)],
        };
        let get = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        let Some(url) = get("url").and_then(Node::text).filter(|url| is_web_address(url)) else {
            self.wrong("observe[].post", value, "an absolute http or https URL");
            return None;
        };
        let listed: Vec<&str> = match get("secrets").map(|value| &value.content) {
            Some(Content::List(names)) => names.iter().filter_map(Node::text).collect(),
            _ => Vec::new(),
        };
        let mut headers = Vec::new();
        for (name, text) in match get("headers").map(|value| &value.content) {
            Some(Content::Mapping(headers)) => headers.as_slice(),
            _ => &[],
        } {
            let variable =
                |name: &str| self.places.variable(name).filter(|text| !text.is_empty()).map(str::to_owned);
            let filled =
                text.written().and_then(|text| Template::read(text, &listed).ok()?.fill(variable).ok());
            match filled {
                Some(filled) => headers.push((name.label(), filled)),
                None => {
                    let expected =
                        "a text whose `${NAME}` are listed in `secrets` and set where the daemon runs";
                    self.wrong("observe[].post.headers", text, expected);
                    return None;
                }
            }
        }
        Some(ObserveTo::Post(url.to_owned(), headers))
    }
}
