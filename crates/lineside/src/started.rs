//! Which files of a project a program starts that a hook names, as its words tell it, from the folder where it is started.
//!
//! What is shown to a person and trusted, and what is looked at before a start, are found by this alone. Nothing is started
//! and no file is opened: what a file starts in turn is said by that file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use lineside_commands::{Analysis, Shell, Surroundings, Unclear, Unknown, analyse, explain};
use lineside_core::invocation::Environment;

/// Where a program is started.
pub(crate) struct Setting<'a> {
    /// The root of the project, without links.
    pub(crate) root: &'a Path,
    /// The home of the user.
    pub(crate) home: &'a str,
    /// The folder in which it is started.
    pub(crate) folder: &'a Path,
    /// What the hook sets for it.
    pub(crate) environment: &'a Environment,
}

/// What a program starts of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Started {
    /// Files, by the paths that name them.
    pub(crate) files: Vec<PathBuf>,
    /// Below which folders of the project further ones lie, and why it is not known which.
    pub(crate) below: Vec<(String, PathBuf)>,
    /// Why it may be more than these, of which nothing else is known.
    pub(crate) unclear: Vec<String>,
}

impl Setting<'_> {
    /// What is started of the project.
    pub(crate) fn started(&self, argv: &[OsString]) -> Started {
        // What a hook sets may run files as well: `BASH_ENV`, `NODE_OPTIONS`.
        let is_name = |name: &str| {
            name != "PATH" && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let set = self.environment.set.iter().filter_map(|(name, value)| {
            let name = name
                .to_str()
                .filter(|name| is_name(name) && !name.starts_with(|c: char| c.is_ascii_digit()))?;
            Some(format!("{name}={}", quoted(&value.to_string_lossy())))
        });
        let words = argv.iter().map(|word| quoted(&word.to_string_lossy()));
        let line: Vec<_> = set.chain(words).collect();
        let analysis = self.read(|state| analyse(&line.join(" "), Shell::Bash, state));
        let scripts = analysis.scripts.iter().map(PathBuf::from).chain(self.in_path(&analysis));
        let files = scripts.filter_map(|path| self.within(path)).collect();
        let (below, unclear) = self.unclear(&analysis);
        Started { files, below, unclear }
    }

    /// The words of a line for a shell that name files of the project which it starts: where they stand, and the files. A
    /// word that another folder holds for each time is none.
    pub(crate) fn words(&self, shell: &str, line: &str) -> Vec<(Range<usize>, PathBuf)> {
        let (_, places) = self.read(|state| explain(line, Shell::named(shell), state));
        let mut words: BTreeMap<(usize, usize), Option<String>> = BTreeMap::new();
        for (place, path) in places.scripts {
            let Range { start, end } = place.range();
            let same = words.entry((start, end)).or_insert_with(|| Some(path.clone()));
            *same = same.take().filter(|known| *known == path);
        }
        let of_project =
            |((start, end), path): (_, Option<String>)| Some((start..end, self.within(path?.into())?));
        words.into_iter().filter_map(of_project).collect()
    }

    /// The path of the project that a path leads to, if it leads into it.
    fn within(&self, path: PathBuf) -> Option<PathBuf> {
        let path = if path.starts_with(self.root) { path } else { path.canonicalize().ok()? };
        path.starts_with(self.root).then_some(path)
    }

    fn read<T>(&self, read: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (root, folder) = (text(self.root), text(self.folder));
        let set = self.environment.set.iter().rev();
        let set: Vec<(String, String)> = set
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (&**name, &**value)).collect();
        let home = set.iter().find(|(name, _)| *name == "HOME").map_or(self.home, |(_, home)| home);
        let state = Surroundings { cwd: &folder, variables: &set, ..Surroundings::new(&root, home) };
        read(&state)
    }

    /// The programs that are found in a folder of the project, where the hook or its line says in which folders they are looked
    /// for.
    fn in_path(&self, analysis: &Analysis) -> Vec<PathBuf> {
        let set = self.environment.set.iter().rev().find(|(name, _)| name == "PATH");
        let set = set.map(|(_, path)| path.to_string_lossy().into_owned());
        let of_line =
            analysis.environment.iter().filter_map(|set| set.strip_prefix("PATH=").map(str::to_owned));
        let paths: Vec<String> = set.into_iter().chain(of_line).collect();
        let folders = paths.iter().flat_map(|path| path.split(':')).filter(|folder| !folder.is_empty());
        let folders: Vec<_> = folders.map(|folder| self.folder.join(folder)).collect();
        let names = analysis.programs.iter().filter_map(|program| program.known_name());
        let names = names.filter(|name| !name.contains('/'));
        let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        names.filter_map(find).collect()
    }

    /// Below which folders of the project files are run of which it is not known which, and what else is not known.
    fn unclear(&self, analysis: &Analysis) -> (Vec<(String, PathBuf)>, Vec<String>) {
        let cut = analysis.is_cut.then(|| "it is not read to its end".to_owned());
        let is_open = |unclear: &&Unclear| unclear.what == Unknown::Program && !unclear.is_of_sourced();
        let unknown = analysis.unclear.iter().filter(is_open).map(|unclear| unclear.reason.clone());
        let mut unknown: Vec<String> = cut.into_iter().chain(unknown).collect();
        let mut below = Vec::new();
        for script in &analysis.unclear_scripts {
            let why = format!("which file it runs is not known: `{script}`");
            match self.below(script) {
                Some(folder) => below.push((why, folder)),
                None => unknown.push(why),
            }
        }
        (below, unknown)
    }

    /// The folder of the project in which a file lies of which a glob is known.
    fn below(&self, script: &str) -> Option<PathBuf> {
        let known = script.split(['*', '?', '[']).next().unwrap_or_default();
        let folder = known.rsplit_once('/').map(|(folder, _)| folder)?;
        self.within(PathBuf::from(folder)).filter(|_| folder.starts_with('/'))
    }
}

/// A word as it stands in a line for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
