//! The plugins in force: from what was found to what a worker is to load (OC-9 to OC-15, OC-59, OC-60, OC-73).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lineside_core::Layer;
use lineside_core::invocation::{Environment, Inherit, Program};
use lineside_core::json::{Map, Value, json};
use lineside_core::worker::{WorkerPlugin, WorkerSpec};
use lineside_files::Boundary;

use super::config::{self, Config, Native};
use super::entry::{self, Choice};
use super::findings::{About, Findings};
use super::package::{self, Manifest};
use super::packs::{self, Pack};
use super::places::{self, Candidate, CandidateKind, absolute, installed};
use super::{content, safety, schema};
use crate::dialect::{Inert, Places, Trust, Why};

/// What a worker is not told of the runtime (OC-60).
const WITHHELD: [&str; 3] = ["LINESIDE_SOCKET", "LINESIDE_SESSION", "LINESIDE_GRANT"];

/// A plugin that is to be loaded.
#[derive(Debug, Clone)]
pub(super) struct Plugin {
    pub(super) id: String,
    pub(super) layer: Layer,
    /// The file that is loaded.
    pub(super) file: PathBuf,
    worker: WorkerPlugin,
}

impl Plugin {
    pub(super) fn about(&self) -> About {
        About::plugin(&self.id, &self.file)
    }

    /// Whether it is a hook pack (OC-31).
    pub(super) fn is_pack(&self) -> bool {
        self.worker.load.contains_key("pack")
    }
}

/// What was found.
pub(super) struct Set {
    /// In load order.
    pub(super) plugins: Vec<Plugin>,
    pub(super) config: Config,
    pub(super) inert: Vec<Inert>,
}

/// A candidate whose id is known.
struct Draft {
    id: String,
    layer: Layer,
    /// The plugin directory, or the file.
    path: PathBuf,
    kind: CandidateKind,
    contents: Result<(PathBuf, Manifest), Vec<String>>,
    about: About,
    /// What it registers its function for, if it is a hook pack (OC-31).
    pack: Option<Value>,
}

/// Finds the plugins that are enabled, trusted and sound.
pub(super) fn find(places: &Places, native: &Native, findings: &mut Findings) -> Set {
    let config = config::read(places, native, findings);
    let mut set = Set { plugins: Vec::new(), config, inert: Vec::new() };
    if !set.config.is_on() {
        return set;
    }
    let places::Found { candidates, lost } = places::find(places, &set.config, findings);
    set.inert.extend(lost.into_iter().map(|(layer, path)| nameless(layer, &path)));
    let mut known = BTreeSet::new();
    let mut drafts: Vec<Draft> = Vec::new();
    for candidate in &candidates {
        match read(candidate, places.boundary(candidate.layer), &mut known, findings) {
            Read::Drafts(found) => drafts.extend(found),
            Read::Nameless => set.inert.push(nameless(candidate.layer, &candidate.path)),
        }
    }
    let root = absolute(places.work_dir());
    drafts.extend(packs::find(places, &set.config.upstream, findings).into_iter().filter_map(|found| {
        match found {
            packs::Found::Chosen(pack) => Some(Draft::of_pack(*pack)),
            packs::Found::Left(inert) => {
                set.inert.push(inert);
                None
            }
        }
    }));
    set.config.check_ids(&known, &root.join(".openclaw/lineside.json"), findings);
    let mut kept: BTreeMap<String, PathBuf> = BTreeMap::new();
    for draft in drafts {
        let kinds = draft.contents.as_ref().map_or(&[][..], |(_, manifest)| &manifest.kinds);
        // OC-14
        let is_on = set.config.enables(&draft.id, draft.layer) && set.config.chooses(&draft.id, kinds);
        if draft.pack.is_none() && !is_on {
            set.inert.push(draft.inert(Why::Disabled));
            continue;
        }
        // OC-11
        if let Some(by) = kept.get(&draft.id) {
            let (id, path, by) = (&draft.id, draft.path.display(), by.display());
            let what = format!("duplicate plugin id detected: {id}; {path} is overridden by {by}");
            findings.error(&draft.about, what);
            set.inert.push(draft.inert(Why::Error));
            continue;
        }
        kept.insert(draft.id.clone(), draft.path.clone());
        match draft.accept(&root, places.trust, &set.config, &known, findings) {
            Accepted::Plugin(plugin) => set.plugins.push(*plugin),
            Accepted::Refused => set.inert.push(draft.inert(Why::Error)),
            Accepted::Untrusted => {}
        }
    }
    set
}

/// What came of reading a candidate.
enum Read {
    /// Its plugins; none when it is no plugin.
    Drafts(Vec<Draft>),
    /// A plugin whose id cannot be read. What is wrong with it is reported.
    Nameless,
}

/// What stands for a plugin whose id is not known: it has the name of its directory or file.
fn nameless(layer: Layer, path: &Path) -> Inert {
    Inert::of_file(places::name_of(path), layer, path.to_owned(), Why::Error)
}

/// The plugins of a candidate; what is wrong while no id is known is reported.
fn read(
    candidate: &Candidate,
    boundary: Boundary<'_>,
    known: &mut BTreeSet<(String, Layer)>,
    findings: &mut Findings,
) -> Read {
    let Candidate { layer, path, kind } = candidate.clone();
    let draft = |id: String, file: &Path, contents| Draft {
        about: About::plugin(&id, file),
        id,
        layer,
        path: path.clone(),
        kind,
        contents,
        pack: None,
    };
    let drafts = match kind {
        CandidateKind::Standalone => {
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            vec![draft(id, &path, Ok((path.clone(), Manifest::default())))]
        }
        CandidateKind::Directory => {
            let Some(package) = package::read(&path, boundary) else {
                return Read::Drafts(Vec::new());
            };
            let about = About::Directory(path.clone());
            match (package.id, package.contents) {
                (None, contents) => {
                    for fault in contents.err().into_iter().flatten() {
                        findings.error(&about, fault);
                    }
                    return Read::Nameless;
                }
                (Some(id), Err(faults)) => vec![draft(id, &package.manifest_file, Err(faults))],
                (Some(id), Ok(contents)) => {
                    known.insert((id, layer));
                    let manifest = contents.manifest;
                    let mut drafts: Vec<Draft> = Vec::new();
                    for entry in contents.entries {
                        let contents = match entry.fault {
                            None => Ok((entry.file.clone(), manifest.clone())),
                            Some(fault) => Err(vec![fault]),
                        };
                        // Of entries that collide none is left, and one finding says so.
                        if contents.is_err() && drafts.iter().any(|other| other.id == entry.id) {
                            continue;
                        }
                        drafts.push(draft(entry.id, &entry.file, contents));
                    }
                    drafts
                }
            }
        }
    };
    known.extend(drafts.iter().map(|draft| (draft.id.clone(), layer)));
    Read::Drafts(drafts)
}

enum Accepted {
    Plugin(Box<Plugin>),
    Refused,
    Untrusted,
}

impl Draft {
    fn of_pack(pack: Pack) -> Self {
        let id = pack.id();
        let manifest = Manifest { description: pack.description, ..Manifest::default() };
        Self {
            about: About::plugin(&id, &pack.handler),
            id,
            layer: pack.layer,
            path: pack.directory,
            kind: CandidateKind::Directory,
            contents: Ok((pack.handler, manifest)),
            pack: Some(json!({ "events": pack.events, "export": pack.export })),
        }
    }

    fn inert(&self, why: Why) -> Inert {
        let inert = Inert::of_file(self.id.clone(), self.layer, self.path.clone(), why);
        Inert { origin: inert.origin.filter(|_| why == Why::Error), ..inert }
    }

    fn accept(
        &self,
        project: &Path,
        trust: Trust,
        config: &Config,
        known: &BTreeSet<(String, Layer)>,
        findings: &mut Findings,
    ) -> Accepted {
        let (entry, manifest) = match &self.contents {
            Ok(contents) => contents,
            Err(faults) => {
                for fault in faults {
                    findings.error(&self.about, fault);
                }
                return Accepted::Refused;
            }
        };
        let root = self.root();
        let choice = entry::choose(root, entry);
        let directory = (self.kind == CandidateKind::Directory).then_some(root);
        let within = (self.layer == Layer::Project).then_some(project);
        if let Err(blocked) = safety::check(directory, choice.file(), within) {
            findings.error(&self.about, blocked);
            return Accepted::Refused;
        }
        // OC-12
        if self.layer == Layer::Project && trust == Trust::Withheld {
            let what = format!("plugin \"{}\" is not trusted: nothing of it was loaded", self.id);
            findings.warning(&self.about, what);
            return Accepted::Untrusted;
        }
        for other in manifest.requires.iter().filter(|other| !known.iter().any(|(id, _)| id == *other)) {
            findings.warning(&self.about, format!("plugin \"{}\" requires plugin \"{other}\"", self.id));
        }
        let said = config.entry(&self.id, self.layer);
        let given = said.config.clone().unwrap_or_default();
        let checked = match &manifest.schema {
            Some(schema) => schema::check(schema, given),
            None => Ok(Value::Object(given)),
        };
        let plugin_config = match checked {
            Ok(checked) => checked,
            Err(faults) => {
                for fault in faults {
                    findings.error(&self.about, fault);
                }
                return Accepted::Refused;
            }
        };
        let load = self.load(&choice, manifest, &said, &plugin_config);
        let of_project = (self.layer == Layer::Project).then(|| config.of_project(&self.id)).flatten();
        let beside = of_project.map_or_else(String::new, |entry| format!("{entry:?}"));
        let most = if self.layer == Layer::Project { content::MOST } else { u64::MAX };
        let of_file = self.kind == CandidateKind::Standalone && choice.file() != self.path;
        let of_file = of_file.then(|| content::digest(choice.file(), "", most));
        let digests = content::digest(&self.path, &beside, most).zip(of_file.unwrap_or(Some(String::new())));
        let Some((mut content, of_file)) = digests else {
            findings.error(&self.about, "the plugin has more files or bytes than can be trusted; move what is not its own out of its folder");
            return Accepted::Refused;
        };
        content.push_str(&of_file);
        Accepted::Plugin(Box::new(Plugin {
            id: self.id.clone(),
            layer: self.layer,
            file: choice.file().to_owned(),
            worker: WorkerPlugin { id: self.id.clone(), load, content },
        }))
    }

    /// The plugin directory.
    fn root(&self) -> &Path {
        match self.kind {
            CandidateKind::Directory => &self.path,
            CandidateKind::Standalone => self.path.parent().unwrap_or(&self.path),
        }
    }

    /// The frame that has the worker load a plugin (OC-73).
    fn load(&self, choice: &Choice, manifest: &Manifest, said: &config::Entry, config: &Value) -> Map {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let loader = match choice {
            Choice::Import(_) => "import",
            Choice::TypeScript(_) => "typescript",
        };
        let mut frame = Map::new();
        let mut put = |name: &str, value: Value| frame.insert(name.to_owned(), value);
        put("id", self.id.clone().into());
        put("root", text(self.root()).into());
        put("entry", text(choice.file()).into());
        put("loader", loader.into());
        for (name, value) in
            [("name", &manifest.name), ("version", &manifest.version), ("description", &manifest.description)]
        {
            if let Some(value) = value {
                put(name, value.clone().into());
            }
        }
        put("config", config.clone());
        put("standalone", (self.kind == CandidateKind::Standalone).into());
        put("allowPromptInjection", said.allow_prompt_injection.unwrap_or(true).into());
        put("allowConversationAccess", said.allow_conversation_access.unwrap_or(true).into());
        if let Some(pack) = &self.pack {
            put("pack", pack.clone());
        }
        frame
    }
}

impl Set {
    /// The worker. The path of its script is put behind the arguments when it is started.
    pub(super) fn worker(&self, places: &Places) -> WorkerSpec {
        let config = &self.config;
        let root = absolute(places.work_dir());
        let mut hello = Map::new();
        hello.insert("projectRoot".to_owned(), root.to_string_lossy().into_owned().into());
        if let Some(home) = places.home() {
            hello.insert("home".to_owned(), home.to_string_lossy().into_owned().into());
        }
        if let Some(cache) = cache(places) {
            hello.insert("cache".to_owned(), cache.to_string_lossy().into_owned().into());
        }
        let installed: Vec<_> =
            installed(places).iter().map(|root| root.to_string_lossy().into_owned()).collect();
        hello.insert("installed".to_owned(), json!(installed));
        hello.insert("download".to_owned(), config.downloads().into());
        hello.insert("config".to_owned(), json!(config.upstream));
        hello.insert("reserved".to_owned(), config.reserved());
        WorkerSpec {
            program: Program::argv([
                OsString::from(config.node()),
                format!("--max-old-space-size={}", config.memory_mb()).into(),
            ]),
            environment: Environment {
                inherit: Inherit::All,
                remove: WITHHELD.map(OsString::from).to_vec(),
                set: Vec::new(),
            },
            working_directory: Some(root),
            hello,
            plugins: self.plugins.iter().map(|plugin| plugin.worker.clone()).collect(),
            bounds: config.bounds(),
        }
    }
}

/// Where the worker keeps what it takes from a registry, and what it has made of TypeScript.
fn cache(places: &Places) -> Option<PathBuf> {
    let named = places.variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = named.or_else(|| places.home().map(|home| home.join(".cache")))?;
    Some(caches.join("lineside"))
}

#[cfg(test)]
mod tests;
