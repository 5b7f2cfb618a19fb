//! Which files of a project a program starts that a hook names, as its words tell it, from the folder where it is started.
//!
//! What is shown to a person and trusted, and what is looked at before a start, are found by this alone. Nothing is started
//! and no file is opened: what a file starts in turn is said by that file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use lineside_commands::{Analysis, CommandProgram, Shell, Surroundings, Unclear, Unknown, analyse, explain};
use lineside_core::invocation::Environment;

/// The value that a program inherits by a name; none where the variable is not set.
pub(crate) type Inherited<'a> = &'a dyn Fn(&str) -> Option<String>;

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
    /// What it inherits beside that; none where that is not known.
    pub(crate) inherited: Option<Inherited<'a>>,
}

/// What a program starts of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Started {
    /// Files, by the paths that name them.
    pub(crate) files: Vec<PathBuf>,
    /// The globs of paths in the project that further ones fit, and why it is not known which.
    pub(crate) below: Vec<(String, PathBuf)>,
    /// Why it may be more than these, of which nothing else is known.
    pub(crate) unclear: Vec<String>,
    /// Whether nothing else is started than what runs nothing of the words that it is given, beside these files and shells.
    pub(crate) is_plain: bool,
    /// The variables that it inherits and uses, as far as nothing else can have set them.
    pub(crate) inherited: Variables,
}

/// Programs that run nothing of what they are given or read, and write it nowhere.
const READERS: [&str; 24] = [
    "basename", "cat", "cmp", "comm", "cut", "date", "diff", "dirname", "egrep", "fgrep", "grep", "head",
    "jq", "ls", "realpath", "sha256sum", "shellcheck", "shfmt", "sleep", "sort", "stat", "tail", "tr", "wc",
];

/// Places of words, each with the file of the project that it names, if it is one.
pub(crate) type Words = Vec<(Range<usize>, Option<PathBuf>)>;

/// Variables, each with its value, or none where it is not set.
type Variables = Vec<(String, Option<String>)>;

/// The variable that names a file which any bash runs first.
const BASH_ENV: &str = "BASH_ENV";

/// Variables that shells set by themselves, and those that are set behind this look; and how names of such begin.
const OTHERS: [&str; 22] = [
    "COPROC", "DIRSTACK", "EUID", "FUNCNAME", "GROUPS", "HOME", "IFS", "LINENO", "LOGNAME", "MAPFILE",
    "OLDPWD", "PATH", "PIPESTATUS", "PPID", "PWD", "RANDOM", "REPLY", "SECONDS", "SHLVL", "TRACEPARENT",
    "UID", "USER",
];
const OTHER_BEGINNINGS: [&str; 8] = ["BASH", "COMP_", "EPOCH", "HIST", "HOST", "LINESIDE_", "OPT", "PS"];

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
        let first = self.inherits(BASH_ENV).map(|file| format!("{BASH_ENV}={}", quoted(&file)));
        let words = argv.iter().map(|word| quoted(&word.to_string_lossy()));
        let line = first.into_iter().chain(set).chain(words).collect::<Vec<_>>().join(" ");
        let mut inherited = self.used(&line);
        let mut analysis = self.read(&inherited, |state| analyse(&line, Shell::Bash, state));
        if !inherited.is_empty() && !is_sound(&analysis) {
            inherited.clear();
            analysis = self.read(&inherited, |state| analyse(&line, Shell::Bash, state));
        }
        let is_own = |name: &str| {
            let own = analysis.scripts.iter().filter(|path| Path::new(path).starts_with(self.root));
            own.into_iter().any(|path| path.rsplit('/').next() == Some(name))
        };
        let is_plain =
            |name: &str| READERS.contains(&name) || Shell::named(name) != Shell::Other || is_own(name);
        let mut programs = analysis.programs.iter().map(CommandProgram::known_name);
        let is_plain = analysis.elsewhere.is_empty() && programs.all(|name| name.is_some_and(is_plain));
        let scripts = analysis.scripts.iter().map(PathBuf::from).chain(self.in_path(&analysis));
        let files = scripts.filter_map(|path| self.within(&path)).collect();
        let (below, unclear) = self.unclear(&analysis);
        Started { files, below, unclear, is_plain, inherited }
    }

    /// What is inherited by a name, where the hook itself sets none.
    fn inherits(&self, name: &str) -> Option<String> {
        let is_set = self.environment.set.iter().any(|(set, _)| set == name);
        self.inherited.filter(|_| !is_set).and_then(|inherited| inherited(name))
    }

    /// The inherited variables that a line uses, and by whose names it does nothing else.
    fn used(&self, line: &str) -> Variables {
        if self.inherited.is_none() {
            return Vec::new();
        }
        let is_of_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        let mut names: BTreeMap<&str, bool> = BTreeMap::new();
        let mut at = 0;
        while let Some(start) = line[at..].find(is_of_name).map(|found| at + found) {
            at = line[start..].find(|sign| !is_of_name(sign)).map_or(line.len(), |end| start + end);
            let (before, behind) = (&line[..start], &line[at..]);
            let is_value = before.ends_with('$')
                || before.ends_with("${") && !["=", ":=", "["].iter().any(|sign| behind.starts_with(sign));
            *names.entry(&line[start..at]).or_insert(true) &= is_value;
        }
        let is_set = |name: &str| self.environment.set.iter().any(|(set, _)| set == name);
        let is_other = |name: &str| {
            OTHERS.contains(&name) || OTHER_BEGINNINGS.iter().any(|start| name.starts_with(start))
        };
        let is_usual = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_uppercase())
                && !name.contains(|sign: char| sign.is_ascii_lowercase())
        };
        let names = names.into_iter().filter(|(_, uses)| *uses).map(|(name, _)| name);
        let names = names.filter(|name| is_usual(name) && !is_other(name) && !is_set(name));
        names.map(|name| (name.to_owned(), self.inherits(name))).collect()
    }

    /// The words of a line for a shell that name files which it starts: where they stand, and the files, none of one that is not
    /// of the project. A word that another folder holds for each time is none.
    pub(crate) fn words(&self, shell: &str, line: &str, inherited: &Variables) -> Words {
        let (_, places) = self.read(inherited, |state| explain(line, Shell::named(shell), state));
        let mut words: BTreeMap<(usize, usize), Option<String>> = BTreeMap::new();
        for (place, path) in places.scripts {
            let Range { start, end } = place.range();
            let same = words.entry((start, end)).or_insert_with(|| Some(path.clone()));
            *same = same.take().filter(|known| *known == path);
        }
        let known =
            |((start, end), path): (_, Option<String>)| Some((start..end, self.within(Path::new(&path?))));
        words.into_iter().filter_map(known).collect()
    }

    /// The path of the project that a path leads to, if it leads into it.
    fn within(&self, path: &Path) -> Option<PathBuf> {
        let path = settled(path);
        let path = if path.starts_with(self.root) { path } else { real(&path)? };
        path.starts_with(self.root).then_some(path)
    }

    fn read<T>(&self, inherited: &Variables, read: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (root, folder) = (text(self.root), text(self.folder));
        let set = self.environment.set.iter().rev();
        let set: Vec<(String, String)> = set
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (&**name, &**value)).collect();
        let own = self.inherits("HOME");
        let own = own.as_deref().unwrap_or(self.home);
        let home = set.iter().find(|(name, _)| *name == "HOME").map_or(own, |(_, home)| home);
        let inherited: Vec<_> = inherited.iter().map(|(name, value)| (&**name, value.as_deref())).collect();
        let state = Surroundings {
            cwd: &folder,
            variables: &set,
            inherited: &inherited,
            ..Surroundings::new(&root, home)
        };
        read(&state)
    }

    /// The programs that are found in a folder of the project, where the hook, its line or what it inherits says in which
    /// folders they are looked for.
    fn in_path(&self, analysis: &Analysis) -> Vec<PathBuf> {
        let set = self.environment.set.iter().rev().find(|(name, _)| name == "PATH");
        let set = set.map(|(_, path)| path.to_string_lossy().into_owned());
        // Seldom is one of these in a project, and each is asked for each program.
        let is_of_project =
            |folder: &str| !folder.starts_with('/') || Path::new(folder).starts_with(self.root);
        let set = set.or_else(|| {
            let inherited = self.inherits("PATH")?;
            Some(inherited.split(':').filter(|folder| is_of_project(folder)).collect::<Vec<_>>().join(":"))
        });
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
                Some(found) => below.push((why, found)),
                None => unknown.push(why),
            }
        }
        (below, unknown)
    }

    /// A glob of files that lie in a folder of the project.
    fn below(&self, script: &str) -> Option<PathBuf> {
        let known = script.split(['*', '?', '[']).next().unwrap_or_default();
        let (folder, _) = known.rsplit_once('/').filter(|_| known.starts_with('/'))?;
        Some(self.within(Path::new(folder))?.join(&script[folder.len() + 1..]))
    }
}

/// A path in which nothing goes up: what stands before the last `..` is the folder that it leads to.
pub(crate) fn settled(path: &Path) -> PathBuf {
    let steps: Vec<Component<'_>> = path.components().collect();
    let Some(last) = steps.iter().rposition(|step| *step == Component::ParentDir) else {
        return path.to_path_buf();
    };
    let front: PathBuf = steps[..=last].iter().collect();
    let front = front.canonicalize().unwrap_or_else(|_| {
        steps[..=last].iter().fold(PathBuf::new(), |mut front, step| {
            match step {
                Component::ParentDir => {
                    front.pop();
                }
                step => front.push(step),
            }
            front
        })
    });
    steps[last + 1..].iter().fold(front, |path, step| path.join(step))
}

/// Where a path leads, also one to what is not there.
fn real(path: &Path) -> Option<PathBuf> {
    let folder = |above: &Path| {
        let rest = path.strip_prefix(above).ok()?;
        Some(rest.components().fold(above.canonicalize().ok()?, |path, step| path.join(step)))
    };
    path.ancestors().find_map(folder)
}

/// Whether a reading tells all that is started with the inherited variables as they are: nothing else can have set one.
fn is_sound(analysis: &Analysis) -> bool {
    let is_open = |unclear: &Unclear| unclear.what == Unknown::Program && !unclear.is_of_sourced();
    let is_open = analysis.unclear.iter().any(is_open) || !analysis.unclear_scripts.is_empty();
    !(analysis.is_cut || analysis.sets_any || is_open)
}

/// A word as it stands in a line for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
