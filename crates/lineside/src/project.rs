//! Projects: which folder is the one of a session, what its hooks are made of, and how they are put in force or stand
//! closed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::control::Scope;
use lineside_core::hook::{Hook, NATIVE, Tighter};
use lineside_core::point::{Phase, PointRole};
use lineside_core::{Diagnostic, OnFailure, Origin, Part, PointInfo};
use lineside_dialects::{
    DIALECTS, Dialect, ForeignHook, Loaded, Places, Start, Tightening, Trust, Watched, closed_guard,
};
use lineside_points::CATALOGUE;
use lineside_trust::{Change, Content, Guard, Item, ReadContentError, Standing, Store, Wanted};

mod content;
mod place;

pub use place::{find, find_or_known, find_own, nearest, nearest_below, passed_by};

pub(crate) use self::content::programs;
use self::content::{LOOKS, OfUser, wanted};
use crate::assembly::{Assembly, HookFiles};
use crate::handler_runtime::inherits;
use crate::seal::Seal;
use crate::sealed_program;
use crate::started::Inherited;

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
    /// The home of the user.
    home: String,
    /// The variables that its hooks inherit, as far as they are known where it is read.
    environment: BTreeMap<String, String>,
}

/// The places of the project with this root, for a user of these places.
///
/// ```
/// use std::path::Path;
///
/// use lineside::dialects::{Places, Trust};
/// use lineside::project::places_of;
///
/// let user = Places {
///     environment: Default::default(),
///     project_root: None,
///     cwd: "/home/me".into(),
///     trust: Trust::Withheld,
/// };
/// let places = places_of(&user, Path::new("/home/me/project"), Trust::Granted);
/// assert_eq!(places.project_root.as_deref(), Some(Path::new("/home/me/project")));
/// ```
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
        let home = user.home().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
        let of_user = OfUser { home: &home, environment: &user.environment };
        let wanted = wanted(&of_user, root, &self.watched(&places), &files.loaded, before, &mut looks);
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
        Project {
            root: root.to_path_buf(),
            guards,
            content,
            wanted,
            files,
            home,
            environment: user.environment.clone(),
        }
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
                let seal = content
                    .and_then(|content| Seal::of(store, content, project.wanted.clone(), &project.home));
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
    let told = named.chain(more).collect::<Vec<_>>().join(", ");
    // Another version may look at more of the same files.
    match changes.iter().all(|change| change.before.is_none()) {
        true => format!("{told}, or looked at for the first time; everything else is as it was trusted"),
        false => told,
    }
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

    /// Of each hook that would not be run, were the project trusted as it is: why, and what to do. Of each other one of which it
    /// is not known all that it runs: why.
    #[must_use]
    pub fn unsealed(&self, store: &Store) -> Vec<Diagnostic> {
        let seal = self
            .content
            .as_ref()
            .ok()
            .and_then(|content| Seal::of(store, content, self.wanted.clone(), &self.home));
        let Some(seal) = seal else { return Vec::new() };
        let finding = |found: &ForeignHook| {
            let (name, origin) = (&found.hook.name, found.hook.origin.clone());
            programs(&self.root, found).into_iter().find_map(|(program, environment, folder)| {
                let environment = environment.unwrap_or_default();
                let inherited = |name: &str| {
                    self.environment.get(name).filter(|_| inherits(&environment, name)).cloned()
                };
                let surroundings = (&environment, Some(&inherited as Inherited<'_>));
                match sealed_program::look(&seal, program, surroundings, folder.as_deref()) {
                    Err(why) => {
                        let text = format!("hook \"{name}\" would not be run: {why}");
                        Some(Diagnostic::error(origin.clone(), text))
                    }
                    Ok(more) => more.map(|why| {
                        let text = format!(
                            "hook \"{name}\" may run more than is looked at here: {why}; what it runs of the project that is not \
                             among the files below is run as it is then"
                        );
                        Diagnostic::warning(origin.clone(), text)
                    }),
                }
            })
        };
        let hooks = self.files.loaded.iter().flat_map(|(_, loaded)| &loaded.hooks);
        hooks.filter_map(finding).collect()
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
        let seal = Seal::of(store, self.content.as_ref().ok()?, self.wanted, &self.home)?;
        let mut files = self.files;
        files.seal = Some(Arc::new(seal));
        Some(files)
    }

    /// What stands for its hooks while a person has to look at it: these guards, closed, and those that it has now where
    /// none are known.
    #[must_use]
    pub fn closed(self, guards: Option<&[Guard]>, why: &str) -> HookFiles {
        let Self { root, mut files, guards: own, .. } = self;
        let remedy = format!("{why}; look at it and say: {}", lineside_trust::command(&root));
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
    let mut starts: Vec<String> = starts.collect();
    // A worker is among both: what its hook starts, and what is kept.
    starts.dedup();
    if let Some(Start::Post(address)) = found.handler.start(root) {
        starts.push(format!("a request to {address}"));
    }
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
