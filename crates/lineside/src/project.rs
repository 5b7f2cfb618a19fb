//! Projects: which folder is the one of a session, what its hooks are made of, and how they are put in force or stand
//! closed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::control::Scope;
use lineside_core::hook::{Hook, NATIVE, Tighter};
use lineside_core::invocation::{Environment, Program};
use lineside_core::json::Value;
use lineside_core::point::{Phase, PointRole};
use lineside_core::worker::WorkerReach;
use lineside_core::{Diagnostic, OnFailure, Origin, Part, PointInfo};
use lineside_dialects::{
    DIALECTS, Dialect, ForeignHook, Loaded, Places, Start, Tightening, Trust, Watched, closed_guard,
};
use lineside_points::CATALOGUE;
use lineside_trust::{Change, Content, Guard, Item, OfFolder, ReadContentError, Standing, Store, Wanted};

mod place;

pub use place::{find, find_or_known, find_own, nearest, nearest_below, passed_by};

use crate::assembly::{Assembly, HookFiles};
use crate::seal::{Seal, is_program, is_script};

/// A project as it lies on the disk.
pub struct Project {
    /// Its root, without links.
    pub root: PathBuf,
    /// Its hooks. Nothing of them is in force.
    pub files: HookFiles,
    /// What they are made of.
    pub content: Result<Content, ReadContentError>,
    /// Its guards: they stand closed when the content is another one.
    pub guards: Vec<Guard>,
    wanted: Vec<Wanted>,
}

/// The places of the project with this root, for a user of these places.
#[must_use]
pub fn places_of(user: &Places, root: &Path, trust: Trust) -> Places {
    let environment = user.environment.clone();
    Places { environment, project_root: Some(root.to_path_buf()), cwd: root.to_path_buf(), trust }
}

/// The places of no project: of one without files, what is left is the user's.
pub(crate) fn places_of_no_project(user: &Places) -> Places {
    places_of(user, Path::new("/dev/null"), Trust::Withheld)
}

impl Assembly {
    /// Reads a project: its hooks, and what these are made of. Nothing is started, and nothing is put in force.
    ///
    /// Of a project that was trusted, files that its hooks name and do not run count as far as they were `before`: hooks
    /// write files as well. It is for the assembly of the project, which [`of_project`](Self::of_project) gives.
    #[must_use]
    pub fn read_project(&self, root: &Path, user: &Places, before: Option<&[Item]>) -> Project {
        let places = places_of(user, root, Trust::Granted);
        let files = self.read(&places);
        let mut looks = LOOKS;
        let wanted = wanted(root, &self.watched(&places), &files, before, &mut looks);
        let content = match looks {
            0 => Err(ReadContentError::TooMuch(root.to_path_buf())),
            _ => Content::read(root, &wanted),
        };
        let of = |(_, loaded): &(&'static dyn Dialect, Loaded)| {
            let of_plugins = loaded.plugins.iter().flat_map(|plugins| &plugins.may_refuse);
            let own = loaded.hooks.iter().chain(of_plugins).flat_map(|found| guards(root, found));
            let asked = loaded.tightenings.iter().flat_map(|asked| guards_of_asked(root, asked));
            own.chain(asked).collect::<Vec<_>>()
        };
        let guards = files.loaded.iter().flat_map(of).collect::<BTreeSet<_>>().into_iter().collect();
        Project { root: root.to_path_buf(), guards, content, wanted, files }
    }
}

impl Assembly {
    /// Reads the hooks of a user together with those of one project, for a process that is in no other: what of the project
    /// holds is what a person has trusted, and its guards stand closed where it is another one.
    #[must_use]
    pub fn read_with_project(
        &self,
        user: &Places,
        project: Project,
        standing: &Standing,
        store: &Store,
    ) -> HookFiles {
        let root = project.root.clone();
        let (guards, why) = match standing {
            Standing::Never => return self.read(&places_of(user, &root, Trust::Withheld)),
            Standing::Trusted(record) => {
                let content =
                    project.content.as_ref().ok().filter(|content| content.digest() == record.digest);
                let seal = content.and_then(|content| Seal::of(store, content, project.wanted.clone()));
                let mut files = self.read(&places_of(user, &root, Trust::Granted));
                // What was read meanwhile is of what was trusted.
                if let Some(seal) = seal.filter(|seal| seal.check().is_ok()) {
                    files.seal = Some(Arc::new(seal));
                    return files;
                }
                (&*record.guards, "the project is changing".to_owned())
            }
            Standing::Changed { record, changes, unreadable } => (
                &*record.guards,
                format!("the project is not what was trusted: {}", told(changes, unreadable.as_deref())),
            ),
            Standing::Lost { guards, why } => (&**guards, why.clone()),
        };
        let mut files = self.read(user);
        let closed = project.closed(Some(guards).filter(|guards| !guards.is_empty()), &why);
        for (dialect, loaded) in closed.loaded {
            let of_user = files.loaded.iter_mut().find(|(own, _)| own.name() == dialect.name());
            if let Some((_, own)) = of_user {
                own.append(loaded);
            }
        }
        files
    }
}

/// How many looks are taken, for all hooks of a project, at paths that what they start may name. A project with
/// more cannot be trusted.
const LOOKS: usize = 1 << 18;

/// The longest path that the system takes, in bytes.
const LONGEST_PATH: usize = 4_096;

/// How many changes are named.
const NAMED: usize = 3;

/// What has changed of a project, in a few words; or why it cannot be read.
#[must_use]
pub fn told(changes: &[Change], unreadable: Option<&str>) -> String {
    if let Some(why) = unreadable {
        return format!("it cannot be read: {why}");
    }
    let named = changes.iter().take(NAMED).map(|change| format!("{} {}", change.path, change.verb()));
    let more = changes.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

impl Project {
    /// Whether there is any hook.
    #[must_use]
    pub fn has_hooks(&self) -> bool {
        self.files.loaded.iter().any(|(_, loaded)| is_any(loaded))
    }

    /// The formats that it has hooks of.
    #[must_use]
    pub fn dialects(&self) -> Vec<&'static str> {
        let some = self.files.loaded.iter().filter(|(_, loaded)| is_any(loaded));
        some.map(|(dialect, _)| dialect.name()).collect()
    }

    /// What its hooks would run, one line for each: the hook with its format, its points, its time and what its failure
    /// means, and what it starts. The text of files is in it as it stands there.
    #[must_use]
    pub fn runs(&self) -> Vec<String> {
        let hooks = self.files.loaded.iter().flat_map(|(_, loaded)| &loaded.hooks);
        let mut runs: Vec<String> = hooks.map(|found| run(&self.root, found)).collect();
        for (dialect, loaded) in &self.files.loaded {
            let plugins = loaded.plugins.iter().flat_map(|plugins| &plugins.worker.plugins);
            runs.extend(
                plugins.map(|plugin| format!("plugin \"{}\" ({}): its code", plugin.id, dialect.name())),
            );
            runs.extend(loaded.tightenings.iter().map(|asked| {
                let Tighter { timeout, on_failure } = asked.asked;
                let timeout = timeout.map(|timeout| format!("at most {} s", timeout.as_secs_f64()));
                let failure = on_failure.map(|_| "blocks on failure".to_owned());
                let asked_for: Vec<_> = timeout.into_iter().chain(failure).collect();
                format!("tightens \"{}\" of the layers above: {}", asked.name, asked_for.join(", "))
            }));
        }
        runs.dedup();
        runs
    }

    /// What a load of it has to watch beside the places of the formats.
    #[must_use]
    pub fn watched(&self) -> Vec<Watched> {
        let items = self.content.as_ref().map(Content::items).unwrap_or_default();
        let of_items = items.iter().map(|item| self.root.join(&item.path));
        let wanted = self.wanted.iter().map(|wanted| wanted.path.clone());
        let paths: BTreeSet<PathBuf> = of_items.chain(wanted).collect();
        let files = paths.into_iter().map(|path| Watched { path, levels: 0, ends: &[] });
        let folders = self.content.as_ref().map(Content::folders).unwrap_or_default();
        let folders = folders.iter().map(|path| Watched { path: path.clone(), levels: 1, ends: &[""] });
        files.chain(folders).collect()
    }

    /// Its hooks, of which none is started when the content is another one than now, and whose files are run from the copies
    /// of this store; `None` when it has changed already.
    #[must_use]
    pub fn sealed(self, store: &Store) -> Option<HookFiles> {
        let seal = Seal::of(store, self.content.as_ref().ok()?, self.wanted)?;
        let mut files = self.files;
        files.seal = Some(Arc::new(seal));
        Some(files)
    }

    /// What stands for its hooks while a person has to look at it: these guards, closed, and those that it has now where
    /// none are known.
    #[must_use]
    pub fn closed(self, guards: Option<&[Guard]>, why: &str) -> HookFiles {
        let Self { root, mut files, guards: own, .. } = self;
        let remedy = format!("{why}; look at it and say: lineside trust {}", root.display());
        for (dialect, loaded) in &mut files.loaded {
            *loaded = Loaded::default();
            let name = dialect.name();
            let guards = guards.unwrap_or(&own).iter().filter(|guard| guard.dialect == name);
            loaded.hooks.extend(closed(&root, guards, &remedy));
        }
        if let Some((_, loaded)) = files.loaded.first_mut() {
            loaded.diagnostics.push(Diagnostic::error(Origin::new(root, 1), remedy));
        }
        files
    }
}

/// What stands for guards while a person has to look at them: those of one format, or those of all without one. Unknown
/// formats and points are passed over.
pub(crate) fn closed<'a>(
    root: &'a Path,
    guards: impl IntoIterator<Item = &'a Guard>,
    remedy: &'a str,
) -> impl Iterator<Item = ForeignHook> {
    guards.into_iter().filter_map(move |guard| {
        let dialect = DIALECTS.iter().find(|dialect| dialect.name() == guard.dialect)?;
        let point = lineside_points::find(&guard.point).ok()?;
        let origin = Origin::new(root.join(&guard.file), guard.line);
        closed_guard(dialect.name(), &guard.hook, point, &origin, &format!("{remedy} ({origin})"))
    })
}

fn run(root: &Path, found: &ForeignHook) -> String {
    let Hook { name, dialect, timeout, on_failure, .. } = &found.hook;
    let points: Vec<&str> = found.points.iter().map(|point| point.name).collect();
    let failure = if *on_failure == OnFailure::Block { "blocks" } else { "continues" };
    let starts = programs(root, found).into_iter().map(|(program, environment, folder)| {
        let set = environment.map(|environment| environment.set).unwrap_or_default().into_iter();
        let set =
            set.map(|(name, value)| format!("{}={:?} ", name.to_string_lossy(), value.to_string_lossy()));
        let argv: Vec<_> = program.argv.iter().map(|word| format!("{:?}", word.to_string_lossy())).collect();
        let folder = folder.unwrap_or_else(|| root.to_path_buf());
        format!("{}{} in {}", set.collect::<String>(), argv.join(" "), folder.display())
    });
    let starts: Vec<String> = starts.collect();
    let starts = if starts.is_empty() { "what its file says".to_owned() } else { starts.join("; ") };
    let points = points.join(", ");
    let seconds = timeout.as_secs_f64();
    format!("\"{name}\" ({dialect}) at {points}, {seconds} s, {failure} on failure: {starts}")
}

fn is_any(loaded: &Loaded) -> bool {
    !loaded.hooks.is_empty()
        || !loaded.inert.is_empty()
        || loaded.plugins.is_some()
        || !loaded.tightenings.is_empty()
}

/// Has no key of the background work of a project be one of another place. One that holds over machines, on which the project
/// lies elsewhere, is that of every project whose folder has the name.
pub(crate) fn keep_keys_within(root: &Path, loaded: &mut Loaded) {
    let (name, root) = (root.file_name().unwrap_or_default().to_string_lossy(), root.display().to_string());
    for found in &mut loaded.hooks {
        found.key = found.key.take().map(|key| format!("{root}:{key}").into());
        let Some(automation) = &mut found.automation else { continue };
        let mut rules = (*automation.rules).clone();
        let place = if rules.scope == Scope::Cluster { &*name } else { &root };
        rules.concurrency = rules.concurrency.map(|(key, limit)| (key.within(place), limit));
        if rules.hold.is_some_and(|hold| hold.scope == Scope::Cluster) {
            rules.hold_key = rules.hold_key.within(&name);
        }
        rules.rate = rules.rate.map(|(rate, key)| match rate.scope {
            Scope::Cluster => (rate, key.within(&name)),
            Scope::Machine => (rate, key),
        });
        automation.rules = Arc::new(rules);
    }
}

/// The places at which a hook may refuse what has not happened yet: all where its failure refuses, and otherwise those at
/// which a tool, a permission and their like are decided. A stop is let go, for an agent that cannot stop is worse.
fn guards(root: &Path, found: &ForeignHook) -> Vec<Guard> {
    let Hook { part, on_failure, name, dialect, origin, .. } = &found.hook;
    let is_awaited = matches!(part, Part::Gate | Part::Amender) && found.automation.is_none();
    let closes = |point: &&&'static PointInfo| {
        let may_close = point.role == PointRole::None
            || (*on_failure == OnFailure::Block && point.role != PointRole::Stop);
        is_awaited && point.phase == Phase::Before && may_close
    };
    let file = origin.as_ref().map(|origin| origin.file.strip_prefix(root).unwrap_or(&origin.file));
    let guard = |point: &&'static PointInfo| Guard {
        hook: name.to_string(),
        dialect: (*dialect).to_owned(),
        point: point.name.to_owned(),
        file: file.map(|file| file.to_string_lossy().into_owned()).unwrap_or_default(),
        line: origin.as_ref().map_or(1, |origin| origin.line),
    };
    found.points.iter().filter(closes).map(guard).collect()
}

/// What stands closed where a project has asked that a failure of a hook above it refuses: everything that such a hook may
/// judge.
fn guards_of_asked(root: &Path, asked: &Tightening) -> Vec<Guard> {
    let Tightening { name, asked, origin, .. } = asked;
    let is_gate = |point: &&&'static PointInfo| {
        asked.on_failure.is_some() && point.role == PointRole::None && point.phase == Phase::Before
    };
    let guard = |point: &&'static PointInfo| Guard {
        hook: name.to_string(),
        dialect: NATIVE.to_owned(),
        point: point.name.to_owned(),
        file: origin.file.strip_prefix(root).unwrap_or(&origin.file).to_string_lossy().into_owned(),
        line: origin.line,
    };
    CATALOGUE.iter().filter(is_gate).map(guard).collect()
}

/// Everything that the hooks of a project are made of: the files that are read for them, those that declare them, with
/// the folder where a hook is a folder, and those that they name.
fn wanted(
    root: &Path,
    watched: &[Watched],
    files: &HookFiles,
    before: Option<&[Item]>,
    looks: &mut usize,
) -> Vec<Wanted> {
    let mut wanted: BTreeSet<(PathBuf, bool)> = BTreeSet::new();
    let own = watched.iter().filter(|watched| watched.path.starts_with(root));
    wanted.extend(
        own.clone().filter(|watched| watched.levels == 0).map(|watched| (watched.path.clone(), false)),
    );
    let folders: Vec<&Path> =
        own.filter(|watched| watched.levels > 1).map(|watched| watched.path.as_path()).collect();
    let mut declared = |origin: &Option<Origin>| {
        let Some(file) = origin.as_ref().map(|origin| origin.file.as_path()) else { return };
        wanted.insert((file.to_path_buf(), false));
        let folder = folders
            .iter()
            .find_map(|folder| Some(folder.join(file.strip_prefix(folder).ok()?.iter().next()?)));
        wanted.extend(folder.map(|folder| (folder, true)));
    };
    for (_, loaded) in &files.loaded {
        loaded.hooks.iter().for_each(|found| declared(&found.hook.origin));
        loaded.inert.iter().for_each(|inert| declared(&inert.origin));
    }
    for (_, loaded) in &files.loaded {
        for plugin in loaded.plugins.iter().flat_map(|plugins| &plugins.worker.plugins) {
            let text = |name: &str| plugin.load.get(name).and_then(Value::as_str).map(PathBuf::from);
            let is_alone = plugin.load.get("standalone").and_then(Value::as_bool) == Some(true);
            wanted.extend(text("entry").map(|entry| (entry, false)));
            wanted.extend(text("root").filter(|_| !is_alone).map(|folder| (folder, true)));
        }
        for found in &loaded.hooks {
            for named in started(root, found, looks) {
                match named {
                    Named::Run(file) => wanted.extend(with_its_folder(root, file)),
                    Named::Data(file) if before.is_none_or(|before| has(before, root, &file)) => {
                        wanted.insert((file, false));
                    }
                    Named::Data(_) => {}
                }
            }
        }
    }
    let of_folder = |whole| if whole { OfFolder::Everything } else { OfFolder::Nothing };
    let loaded = files.loaded.iter().flat_map(|(_, loaded)| &loaded.trusts);
    let loaded = loaded.map(|named| Wanted::loaded(root, named));
    wanted
        .into_iter()
        .map(|(path, whole)| Wanted { path, of_folder: of_folder(whole) })
        .chain(loaded)
        .collect()
}

/// Whether a file was part of a content.
fn has(content: &[Item], root: &Path, file: &Path) -> bool {
    file.strip_prefix(root).is_ok_and(|path| content.iter().any(|item| Path::new(&item.path) == path))
}

/// A named file; with it everything beside it and below, where that is a folder of hooks: one within a folder whose name
/// begins with a dot.
fn with_its_folder(root: &Path, file: PathBuf) -> impl Iterator<Item = (PathBuf, bool)> {
    let below = file.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let is_of_hooks = below.is_some_and(|below| {
        let mut steps = below.iter();
        steps.next().is_some_and(|first| first.as_encoded_bytes().starts_with(b".")) && steps.next().is_some()
    });
    let folder = file.parent().filter(|_| is_of_hooks).map(|folder| (folder.to_path_buf(), true));
    std::iter::once((file, false)).chain(folder)
}

/// The programs that a hook starts, each with its environment and folder.
fn programs(root: &Path, found: &ForeignHook) -> Vec<(Program, Option<Environment>, Option<PathBuf>)> {
    let mut programs = Vec::new();
    if let Some(Start::Program { program, environment, working_directory }) = found.handler.start(root) {
        programs.push((program, Some(environment), Some(working_directory)));
    }
    if let Some(worker) = found.handler.worker(root)
        && let WorkerReach::Program { program, environment, working_directory } = worker.reach
    {
        programs.push((program, Some(environment), working_directory));
    }
    programs
}

/// The files of the project that a hook names in what it starts: those that it runs, also where they are not there, and
/// what else is there.
fn started(root: &Path, found: &ForeignHook, looks: &mut usize) -> Vec<Named> {
    let mut files = Vec::new();
    for (program, _, working_directory) in programs(root, found) {
        let bases = [working_directory.unwrap_or_else(|| root.to_path_buf()), root.to_path_buf()];
        let run = program.below_working_directory().map(|script| Named::Run(bases[0].join(script)));
        files.extend(run);
        for word in program.argv.iter().filter_map(|word| word.to_str()) {
            files.extend(named(root, &bases, word, looks).into_iter().map(Named::of));
        }
    }
    files
}

/// A file that a hook names.
enum Named {
    /// It is run, or may be.
    Run(PathBuf),
    /// It is read, or written: what the hook itself writes is no part of what it is.
    Data(PathBuf),
}

impl Named {
    /// Of a file that is there.
    fn of(file: PathBuf) -> Self {
        if is_script(&file) || is_program(&file) { Self::Run(file) } else { Self::Data(file) }
    }
}

/// The files of a project that a word or a line of a shell may mean. What stands for the root or another folder in it,
/// such as a variable, is passed over: what follows may be a path from the root. Each look at a path is counted, and none is
/// taken at what is longer than any path.
fn named(root: &Path, bases: &[PathBuf], text: &str, looks: &mut usize) -> Vec<PathBuf> {
    let is_between = |letter: char| letter.is_whitespace() || "\"'`;|&()<=,".contains(letter);
    let words = text.split('>').enumerate().flat_map(|(part, text)| {
        // What stands behind `>` is written.
        text.split(is_between).filter(|word| !word.is_empty()).skip(usize::from(part > 0))
    });
    let mut files = Vec::new();
    for word in std::iter::once(text).chain(words) {
        let end = &word[word.ceil_char_boundary(word.len().saturating_sub(LONGEST_PATH))..];
        let from = bases.iter().filter(|_| end.len() == word.len()).map(|base| base.join(word));
        let later = end.match_indices('/').map(|(at, _)| root.join(end[at..].trim_start_matches('/')));
        for path in from.chain(later).take(*looks) {
            *looks -= 1;
            if path.starts_with(root) && path.is_file() {
                files.push(path);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_looked_at_as_far_as_they_may_be_paths_and_no_longer_than_there_may_be_looks() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a/x.sh"), "").unwrap();
        let look = |text: &str, looks: usize| {
            let mut left = looks;
            (named(&root, std::slice::from_ref(&root), text, &mut left).len(), looks - left)
        };
        assert_eq!(look("sh a/x.sh", LOOKS), (1, 5));
        assert_eq!(look("a/x.sh", 1), (1, 1));
        let long = format!("{}a/x.sh", "b/".repeat(8 << 20));
        let (found, looks) = look(&long, LOOKS);
        // The text is its only word, which is looked at as a whole and once more.
        assert!(found == 2 && looks <= LONGEST_PATH, "{found} {looks}");
        assert_eq!(look(&"b/b ".repeat(LOOKS), LOOKS).1, LOOKS);
    }
}
