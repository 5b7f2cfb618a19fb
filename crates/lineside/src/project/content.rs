//! Which files and folders a project is made of: those of its formats, and those that its hooks start or name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lineside_core::Origin;
use lineside_core::invocation::{Environment, Program};
use lineside_core::json::Value;
use lineside_core::worker::WorkerReach;
use lineside_dialects::{Dialect, ForeignHook, Loaded, Start, Watched};
use lineside_trust::{Item, OfFolder, Wanted};

use crate::handler_runtime::inherits;
use crate::seal::{is_program, is_script};
use crate::started::{Setting, settled};

/// How many looks are taken, for all hooks of a project, at paths that what they start may name. A project with
/// more cannot be trusted.
pub(super) const LOOKS: usize = 1 << 18;

/// The longest path that the system takes, in bytes.
const LONGEST_PATH: usize = 4_096;

/// What is known of the user for whom a project is read.
pub(super) struct OfUser<'a> {
    pub(super) home: &'a str,
    /// What hooks inherit here. The daemon may have another one: of what this leads to only that counts which was there when
    /// the project was trusted.
    pub(super) environment: &'a BTreeMap<String, String>,
}

/// Everything that the hooks of a project are made of: the files that are read for them, those that declare them, with
/// the folder where a hook is a folder, and those that they name.
pub(super) fn wanted(
    user: &OfUser<'_>,
    root: &Path,
    watched: &[Watched],
    hooks: &[(&'static dyn Dialect, Loaded)],
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
    for (_, loaded) in hooks {
        loaded.hooks.iter().for_each(|found| declared(&found.hook.origin));
        loaded.inert.iter().for_each(|inert| declared(&inert.origin));
    }
    for (_, loaded) in hooks {
        for plugin in loaded.plugins.iter().flat_map(|plugins| &plugins.worker.plugins) {
            let text = |name: &str| plugin.load.get(name).and_then(Value::as_str).map(PathBuf::from);
            let is_alone = plugin.load.get("standalone").and_then(Value::as_bool) == Some(true);
            wanted.extend(text("entry").map(|entry| (entry, false)));
            wanted.extend(text("root").filter(|_| !is_alone).map(|folder| (folder, true)));
        }
        for found in &loaded.hooks {
            for named in started(user, root, found, looks) {
                match named {
                    Named::Run(file) => wanted.extend(with_its_folder(root, file)),
                    Named::Data(file) if before.is_none() => drop(wanted.insert((file, false))),
                    Named::Data(_) => {}
                }
            }
        }
    }
    wanted.extend(before.into_iter().flatten().map(|item| (root.join(&item.path), false)));
    let of_folder = |whole| if whole { OfFolder::Everything } else { OfFolder::Nothing };
    let loaded = hooks.iter().flat_map(|(_, loaded)| &loaded.trusts);
    let loaded = loaded.map(|named| Wanted::loaded(root, named));
    wanted
        .into_iter()
        .map(|(path, whole)| Wanted { path, of_folder: of_folder(whole) })
        .chain(loaded)
        .collect()
}

/// A named file; with it everything beside it and below, where that is a folder of hooks: one within a folder whose name
/// begins with a dot, and that is no environment of Python, in which links lead to what is installed.
fn with_its_folder(root: &Path, file: PathBuf) -> impl Iterator<Item = (PathBuf, bool)> {
    let below = file.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let is_of_hooks = below.is_some_and(|below| {
        let mut steps = below.iter();
        steps.next().is_some_and(|first| first.as_encoded_bytes().starts_with(b".")) && steps.next().is_some()
    });
    let is_environment = || file.ancestors().nth(2).is_some_and(|above| above.join("pyvenv.cfg").is_file());
    let folder =
        file.parent().filter(|_| is_of_hooks && !is_environment()).map(|folder| (folder.to_path_buf(), true));
    std::iter::once((file, false)).chain(folder)
}

/// The programs that a hook starts, each with its environment and folder.
pub(crate) fn programs(
    root: &Path,
    found: &ForeignHook,
) -> Vec<(Program, Option<Environment>, Option<PathBuf>)> {
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
fn started(user: &OfUser<'_>, root: &Path, found: &ForeignHook, looks: &mut usize) -> Vec<Named> {
    let mut files = Vec::new();
    for (program, environment, working_directory) in programs(root, found) {
        let environment = &environment.unwrap_or_default();
        let folder = working_directory.as_deref().unwrap_or(root);
        let setting = Setting { root, home: user.home, folder, environment, inherited: None };
        files.extend(setting.started(&program.argv).files.into_iter().map(Named::Run));
        let inherited =
            |name: &str| user.environment.get(name).filter(|_| inherits(environment, name)).cloned();
        let setting = Setting { inherited: Some(&inherited), ..setting };
        // What leads out of the project by a link is not of it.
        let led = setting.started(&program.argv).files.into_iter();
        let led = led.filter(|file| file.canonicalize().is_ok_and(|file| file.starts_with(root)));
        files.extend(led.map(Named::Data));
        let bases = [working_directory.unwrap_or_else(|| root.to_path_buf()), root.to_path_buf()];
        let script = program.below_working_directory().map(|script| settled(&bases[0].join(script)));
        files.extend(script.filter(|script| script.starts_with(root)).map(Named::Run));
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
    /// It is read, or written: what the hook itself writes is no part of what it is. Or a variable of the user leads to it.
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
            let path = settled(&path);
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
