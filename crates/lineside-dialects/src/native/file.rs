//! A file to its entries.

use std::collections::{HashMap, hash_map};
use std::sync::Arc;

use lineside_core::Layer;
use lineside_core::hook::Mode;
use lineside_core::invocation::Inherit;
use lineside_core::nearest::suggestion;
use lineside_guards::Account;
use lineside_search::{Searcher, within};

use super::entry::{self, Entry, MODE, MODES, USE};
use super::findings::{About, Findings, LoadError, LoadWarning, UnknownKey};
use super::guard::Guard;
use super::places::Place;
use super::run::{self, ENVIRONMENT};
use super::used::{self, Used};
use super::values::shown;
use crate::dialect::Places;
use crate::text;
use crate::yaml::{self, Content, Document, DuplicateKey, Node, UnknownEscapes};

/// The key of the programs that start others.
const WRAPPERS: &str = "wrappers";

/// The key of the files of a project that what its hooks start loads by itself.
const TRUSTS: &str = "trusts";

/// What stands in a file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The hooks; one that is broken is there without a definition.
    pub(super) entries: Vec<Entry>,
    /// What the user says that hooks inherit which do not say it themselves, also those of a project.
    pub(super) inherit: Option<Inherit>,
    /// Whose commands filters are about, also those of a project, where the user's file says something of it.
    pub(super) account: Option<Arc<Account>>,
    /// Files and globs of the project that what its hooks start loads by itself.
    pub(super) trusts: Vec<String>,
}

/// What the patterns of one file may compile to together, in bytes: some tenths of a second. A hook beyond that is broken.
const MOST_COMPILED: usize = 16 << 20;

/// Reads a file.
pub(super) fn read(place: &Place, places: &Places, findings: &mut Findings) -> Contents {
    let bytes = match lineside_files::read_if_there(&place.file, place.boundary(places), yaml::LONGEST) {
        None => return Contents::default(),
        Some(Err(error)) => {
            findings.error(1, LoadError::Unreadable(error.to_string()));
            lose(findings);
            return Contents::default();
        }
        Some(Ok(bytes)) => bytes,
    };
    contents(&bytes, place, places, findings)
}

/// What the user says that the hooks of every format inherit that do not say it themselves; the least where the file
/// that says it cannot be read.
pub(super) fn inherited(place: &Place, places: &Places) -> Option<Inherit> {
    let read = lineside_files::read_if_there(&place.file, place.boundary(places), yaml::LONGEST)?;
    let Ok(bytes) = read else { return Some(Inherit::minimal_and([])) };
    let mut findings = Findings::about(&place.file);
    match items(&bytes, place.layer, &mut findings) {
        Some(items) => items.inherit,
        None => String::from_utf8_lossy(&bytes).contains(ENVIRONMENT).then(|| Inherit::minimal_and([])),
    }
}

/// Whose commands the filters of all files are about, as the user's file says.
pub(super) fn account(place: &Place, places: &Places) -> Arc<Account> {
    let read = lineside_files::read_if_there(&place.file, place.boundary(places), yaml::LONGEST);
    let wrappers = read.and_then(Result::ok).and_then(|bytes| {
        let mut findings = Findings::about(&place.file);
        match items(&bytes, place.layer, &mut findings) {
            Some(items) => items.wrappers,
            None => wrappers_alone(&bytes, place.layer),
        }
    });
    wrappers.map_or_else(|| Arc::clone(&place.account), |wrappers| with_wrappers(&place.account, wrappers))
}

/// The wrappers of a file that is broken elsewhere: what stands between the line of that key and the next key. Filters of
/// other files are about the same commands as before then.
fn wrappers_alone(bytes: &[u8], layer: Layer) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(bytes);
    let from = text.lines().skip_while(|line| !line.starts_with(&format!("{WRAPPERS}:")));
    let is_of_key =
        |(at, line): &(usize, &str)| *at == 0 || line.starts_with([' ', '-', '#', ']']) || line.is_empty();
    let own: Vec<&str> = from.enumerate().take_while(is_of_key).map(|(_, line)| line).collect();
    items(own.join("\n").as_bytes(), layer, &mut Findings::about("".as_ref()))?.wrappers
}

fn with_wrappers(account: &Account, wrappers: Vec<String>) -> Arc<Account> {
    Arc::new(Account { wrappers, ..account.clone() })
}

/// Nothing is known of the hooks of the file, and what guards something has to be closed.
fn lose(findings: &mut Findings) {
    findings.lose_file(Guard::everywhere().named(), true);
}

/// The contents of a text, whose patterns compile to a bounded size together.
pub(super) fn contents(bytes: &[u8], place: &Place, places: &Places, findings: &mut Findings) -> Contents {
    within(MOST_COMPILED, || entries(bytes, place, places, findings)).0
}

fn entries(bytes: &[u8], place: &Place, places: &Places, findings: &mut Findings) -> Contents {
    let Some(Items { items, used, wrappers, trusts, duplicates, inherit, mode, lost }) =
        items(bytes, place.layer, findings)
    else {
        // Of a file in which nothing stands nothing is wrong.
        if !findings.diagnostics.is_empty() {
            lose(findings);
        }
        let wrappers = wrappers_alone(bytes, place.layer);
        let account = wrappers.map(|wrappers| with_wrappers(&place.account, wrappers));
        return Contents { account, ..Contents::default() };
    };
    if lost {
        lose(findings);
    }
    let account = wrappers.map(|wrappers| with_wrappers(&place.account, wrappers));
    let place = &Place {
        inherit: inherit.clone().unwrap_or_else(|| place.inherit.clone()),
        account: account.clone().unwrap_or_else(|| Arc::clone(&place.account)),
        mode,
        ..place.clone()
    };
    let mut of_line: HashMap<u32, Vec<&DuplicateKey>> = HashMap::new();
    for twice in &duplicates {
        match owner(&items, twice.line) {
            Some(line) => of_line.entry(line).or_default().push(twice),
            // It stands in a policy that is used, and which of the two was meant is not known.
            None => {
                findings.error(twice.line, LoadError::Duplicate(twice.key.clone()));
                lose(findings);
            }
        }
    }
    let mut reading =
        Reading { place, places, found: Vec::with_capacity(items.len()), names: HashMap::new() };
    for Used { name, line, hooks } in used {
        match hooks {
            Some(hooks) => {
                for hook in &hooks {
                    reading.entry(name.clone(), hook, Some(line), &[], findings);
                }
            }
            None => {
                let error = findings.repair_of(line);
                findings.lose(Guard::of_tools().broken(&name, line, error));
            }
        }
    }
    for (number, item) in items.iter().enumerate() {
        let twice = of_line.get(&item.line).map(Vec::as_slice).unwrap_or_default();
        reading.entry(format!("hooks[{number}]"), item, None, twice, findings);
    }
    Contents { entries: reading.found, inherit, account, trusts }
}

/// Entries of one file, which have different names.
struct Reading<'a> {
    place: &'a Place,
    places: &'a Places,
    found: Vec<Entry>,
    /// Where the first hook of a name stands, as what is found of a second one.
    names: HashMap<String, LoadError>,
}

impl Reading<'_> {
    /// Reads an entry. One of a policy stands on the line that uses it.
    fn entry(
        &mut self,
        unnamed: String,
        item: &Node,
        line: Option<u32>,
        twice: &[&DuplicateKey],
        findings: &mut Findings,
    ) {
        let since = findings.diagnostics.len();
        let mut entry = entry::read(unnamed, item, self.place, self.places, findings);
        entry.line = line.unwrap_or(entry.line);
        for twice in twice {
            findings.hook_error(twice.line, About(&entry.name), LoadError::Duplicate(twice.key.clone()));
            entry.definition = None;
        }
        match self.names.entry(entry.name.clone()) {
            hash_map::Entry::Vacant(first) => {
                first.insert(line.map_or(LoadError::SameName(entry.line), LoadError::NameOfPolicy));
            }
            hash_map::Entry::Occupied(first) => {
                findings.hook_error(entry.line, About(&entry.name), first.get().clone());
                entry.definition = None;
            }
        }
        if entry.definition.is_none() && entry.tightens.is_none() {
            let error = findings.repair(since, About(&entry.name));
            // Of a sound entry nothing is compiled a second time.
            let guard = entry.guard.take().unwrap_or_else(|| match &item.content {
                Content::Mapping(keys) => Guard::of(keys, &self.place.account, self.place.mode),
                _ => Guard::everywhere(),
            });
            findings.lose(guard.broken(&entry.name, entry.line, error));
        }
        self.found.push(entry);
    }
}

/// The line of the items that a line is of: that of the last one that has begun by then.
fn owner(items: &[Node], line: u32) -> Option<u32> {
    items.iter().rev().find(|item| item.line <= line).map(|item| item.line)
}

/// What stands below the keys of a file.
struct Items {
    items: Vec<Node>,
    /// The policies that it uses.
    used: Vec<Used>,
    /// The programs that the user names as ones that start others.
    wrappers: Option<Vec<String>>,
    /// The files of the project that are loaded by what its hooks start.
    trusts: Vec<String>,
    /// The keys that occur twice in the items.
    duplicates: Vec<DuplicateKey>,
    inherit: Option<Inherit>,
    /// Whether its hooks count that do not say it themselves.
    mode: Mode,
    /// Whether there are others that cannot be read.
    lost: bool,
}

/// Nothing, when an error costs the whole file.
fn items(bytes: &[u8], layer: Layer, findings: &mut Findings) -> Option<Items> {
    let Document { root, duplicates, .. } = document(bytes, findings)?;
    let keys = match root.content {
        Content::Null => return None,
        Content::Mapping(keys) => keys,
        _ => {
            findings.error(root.line, LoadError::RootType);
            return None;
        }
    };
    let at_top: Vec<u32> = keys.iter().map(|(key, _)| key.line).collect();
    let (of_file, of_hooks): (Vec<_>, Vec<_>) =
        duplicates.into_iter().partition(|twice| at_top.contains(&twice.line) && named(&keys, &twice.key));
    let twice = |name| of_file.iter().find(|twice| twice.key == name);
    if let Some(DuplicateKey { line, key, .. }) = twice("hooks") {
        findings.error(*line, LoadError::Duplicate(key.clone()));
        return None;
    }
    // What stands first counts as well, as far as it can; of words for all hooks the strictest does.
    for DuplicateKey { line, key } in &of_file {
        findings.error(*line, LoadError::Duplicate(key.clone()));
    }
    let mut hooks = None;
    let (mut inherit, mut wrappers) = (None, None);
    let (mut used, mut trusts) = (Vec::new(), Vec::new());
    let mut mode = Mode::Enforced;
    let mut lost = false;
    for (key, value) in keys {
        let name = key.label();
        if name == "hooks" {
            hooks = Some((key, value));
        } else if name == USE {
            used.extend(used::read(&value, findings));
        } else if name == WRAPPERS && layer <= Layer::User {
            wrappers = names_of(key.line, &value, findings);
        } else if name == WRAPPERS {
            let why = "only the user's file says which programs start others";
            findings.warning(key.line, &LoadWarning::NoEffect { key: WRAPPERS, why });
        } else if name == TRUSTS && layer == Layer::Project {
            trusts = named_files(&value, findings);
        } else if name == TRUSTS {
            let why = "it names files of a project, and stands in its file";
            findings.warning(key.line, &LoadWarning::NoEffect { key: TRUSTS, why });
        } else if name == MODE {
            mode = of_all(&key, &value, findings);
        } else if name == ENVIRONMENT && layer <= Layer::User {
            inherit = for_all(key.line, &value, findings);
        } else if name == ENVIRONMENT {
            let why = "only the user's file has one for all hooks; here it stands in a hook";
            findings.warning(key.line, &LoadWarning::NoEffect { key: ENVIRONMENT, why });
        } else {
            let known = ["hooks", USE, WRAPPERS, TRUSTS, MODE, ENVIRONMENT];
            let near = suggestion(&name, known);
            let nearest = known.into_iter().find(|known| near == Some(known));
            if nearest == Some("hooks") && matches!(value.content, Content::List(_) | Content::Mapping(_)) {
                // Its author takes its hooks for loaded.
                findings.error(key.line, LoadError::HooksKey(name));
                lost = true;
            } else {
                findings.warning(key.line, LoadWarning::UnknownKey(UnknownKey { key: name, nearest }));
            }
        }
    }
    let items = match hooks {
        Some((_, Node { content: Content::List(items), .. })) => items,
        None | Some((_, Node { content: Content::Null, .. })) => Vec::new(),
        Some((key, value)) => {
            let error = match of_program(&value) {
                Some(point) => LoadError::HooksOfProgram(point),
                None => LoadError::HooksType(shown(&value)),
            };
            findings.error(key.line, error);
            lost = true;
            Vec::new()
        }
    };
    if twice(ENVIRONMENT).is_some() && layer <= Layer::User {
        inherit = Some(Inherit::minimal_and([]));
    }
    if twice(MODE).is_some() {
        mode = Mode::Enforced;
    }
    Some(Items { items, used, wrappers, trusts, duplicates: of_hooks, inherit, mode, lost })
}

/// The first key of a mapping whose values are lists, as the hooks of Claude Code and its like are written.
fn of_program(value: &Node) -> Option<String> {
    let Content::Mapping(keys) = &value.content else { return None };
    let is_list = |(_, value): &(Node, Node)| matches!(value.content, Content::List(_));
    keys.first().filter(|_| keys.iter().all(is_list)).map(|(key, _)| key.label())
}

/// Whether all hooks count that do not say it themselves; they do, when what is written means nothing.
fn of_all(key: &Node, value: &Node, findings: &mut Findings) -> Mode {
    let mode = MODES.iter().find(|(word, _)| value.text() == Some(word)).map(|(_, mode)| *mode);
    mode.unwrap_or_else(|| {
        let expected = MODES.map(|(word, _)| word).join(" or ");
        findings.error(key.line, LoadError::Value { key: MODE.to_owned(), found: shown(value), expected });
        Mode::Enforced
    })
}

/// What all hooks inherit that do not say it themselves; the least, when what is written means nothing.
fn for_all(line: u32, value: &Node, findings: &mut Findings) -> Option<Inherit> {
    if value.is_null() {
        return None;
    }
    Some(run::inherited(line, value).unwrap_or_else(|(line, error)| {
        findings.error(line, error);
        Inherit::minimal_and([])
    }))
}

/// Files and globs, from the root of the project; each that is none is an error.
fn named_files(value: &Node, findings: &mut Findings) -> Vec<String> {
    let items = match &value.content {
        Content::Null => &[],
        Content::List(items) => &items[..],
        _ => std::slice::from_ref(value),
    };
    let is_within = |text: &str| {
        !text.is_empty()
            && !text.starts_with(['/', '~', '!'])
            && text.split('/').all(|step| !matches!(step, "" | "." | ".."))
            && Searcher::of_globs([text]).is_ok()
    };
    let mut named = Vec::new();
    for item in items {
        match item.text().filter(|text| is_within(text)) {
            Some(text) => named.push(text.to_owned()),
            None => {
                let expected =
                    "a path or a glob from the root of the project, such as lib/**/*.py".to_owned();
                let (key, found) = (TRUSTS.to_owned(), shown(item));
                findings.error(item.line, LoadError::Value { key, found, expected });
            }
        }
    }
    named
}

/// Names of programs.
fn names_of(line: u32, value: &Node, findings: &mut Findings) -> Option<Vec<String>> {
    let items = match &value.content {
        Content::Null => return None,
        Content::List(items) => &items[..],
        _ => std::slice::from_ref(value),
    };
    let name =
        |item: &Node| item.text().filter(|name| !name.is_empty() && !name.contains('/')).map(str::to_owned);
    let names: Option<Vec<String>> = items.iter().map(name).collect();
    if names.is_none() {
        let (key, expected) = (WRAPPERS.to_owned(), "a list of names of programs".to_owned());
        findings.error(line, LoadError::Value { key, found: shown(value), expected });
    }
    names
}

fn named(keys: &[(Node, Node)], name: &str) -> bool {
    keys.iter().any(|(key, _)| key.label() == name)
}

/// A text as a document, with what its aliases stand for.
pub(super) fn document(bytes: &[u8], findings: &mut Findings) -> Option<Document> {
    let Some(text) = text::of_file(bytes) else {
        findings.error(1, LoadError::NotUtf8);
        return None;
    };
    let read = yaml::read(text, 1, UnknownEscapes::Refuse).and_then(|mut document| {
        document.root.merge_all_keys()?;
        Ok(document)
    });
    read.map_err(|error| findings.error(error.line, LoadError::Yaml { error })).ok()
}
