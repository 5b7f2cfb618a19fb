//! What each hook file had when it was last without an error: it stays in force while the file is broken.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use lineside_core::{Diagnostic, Origin, Severity};
use lineside_dialects::{ForeignHook, Inert, Loaded};

/// The hooks of the files of each dialect.
#[derive(Default)]
pub(crate) struct LastGood(HashMap<&'static str, Files>);

/// The files of one dialect, and the order in which their hooks stood.
#[derive(Default)]
struct Files {
    sound: BTreeMap<PathBuf, Sound>,
    order: Vec<PathBuf>,
}

/// What was found in a file without an error.
#[derive(Clone, Default)]
struct Sound {
    hooks: Vec<ForeignHook>,
    inert: Vec<Inert>,
}

impl LastGood {
    /// Puts what a file had when it was last sound in the place of what is found in it now that it is broken, with a
    /// finding for each such file, and remembers the files that are sound.
    ///
    /// A file is broken when a finding of severity error is about it, or about a folder that it lies in. One that was
    /// never sound, and one that is gone, stay as they were found.
    pub(crate) fn keep(&mut self, dialect: &'static str, loaded: &mut Loaded) {
        let files = self.0.entry(dialect).or_default();
        let errors = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        let errors: Vec<Origin> = errors.filter_map(|error| error.origin.clone()).collect();
        let about = |file: &Path| errors.iter().find(|error| file.starts_with(&**error.file)).cloned();
        for (file, error) in files.sound.keys().filter_map(|file| Some((file, about(file)?))) {
            let Sound { hooks, inert } = files.sound.get(file).cloned().unwrap_or_default();
            loaded.diagnostics.push(stays(&error, file, &hooks));
            let place = place(&loaded.hooks, file, &files.order);
            loaded.hooks.retain(|hook| file_of(&hook.hook.origin) != Some(file));
            loaded.inert.retain(|inert| file_of(&inert.origin) != Some(file));
            loaded.hooks.splice(place..place, hooks);
            loaded.inert.extend(inert);
        }
        let mut found: BTreeMap<PathBuf, Sound> = BTreeMap::new();
        for hook in &loaded.hooks {
            if let Some(file) = file_of(&hook.hook.origin) {
                found.entry(file.to_path_buf()).or_default().hooks.push(hook.clone());
            }
        }
        for inert in &loaded.inert {
            if let Some(file) = file_of(&inert.origin) {
                found.entry(file.to_path_buf()).or_default().inert.push(inert.clone());
            }
        }
        files.order = order(&loaded.hooks);
        let before = std::mem::take(&mut files.sound);
        files.sound = found.into_iter().filter(|(file, _)| about(file).is_none()).collect();
        files.sound.extend(before.into_iter().filter(|(file, _)| about(file).is_some()));
    }
}

fn stays(error: &Origin, file: &Path, hooks: &[ForeignHook]) -> Diagnostic {
    let declared: BTreeSet<_> = hooks.iter().map(|hook| (&hook.hook.origin, &hook.hook.name)).collect();
    let what = match declared.len() {
        0 => "no hook, as before the error,".to_owned(),
        1 => "1 hook from before the error".to_owned(),
        many => format!("{many} hooks from before the error"),
    };
    let origin = Origin::new(file, error.line);
    Diagnostic::warning(origin, format!("{what} in force until the file is repaired"))
}

/// Where hooks of a file stand: where something of it stands now, else behind the files that it stood behind before.
///
/// Hooks of the file that stand before the place are taken away, so it is counted without them.
fn place(hooks: &[ForeignHook], file: &Path, before: &[PathBuf]) -> usize {
    if let Some(place) = hooks.iter().position(|hook| file_of(&hook.hook.origin) == Some(file)) {
        return place;
    }
    let earlier = before.iter().take_while(|other| *other != file);
    let earlier: BTreeSet<&Path> = earlier.map(PathBuf::as_path).collect();
    let last = hooks
        .iter()
        .rposition(|hook| file_of(&hook.hook.origin).is_some_and(|other| earlier.contains(other)));
    last.map_or(0, |last| last + 1)
}

fn order(hooks: &[ForeignHook]) -> Vec<PathBuf> {
    let mut order: Vec<PathBuf> = Vec::new();
    for file in hooks.iter().filter_map(|hook| file_of(&hook.hook.origin)) {
        if order.last().is_none_or(|last| last != file) {
            order.push(file.to_path_buf());
        }
    }
    order
}

fn file_of(origin: &Option<Origin>) -> Option<&Path> {
    origin.as_ref().map(|origin| origin.file.as_path())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lineside_dialects::native::Native;
    use lineside_dialects::{Dialect as _, Loaded, Places, Trust};

    use super::LastGood;

    const USER: &str = "home/.config/lineside/hooks.yaml";
    const PROJECT: &str = "project/.lineside/hooks.yaml";

    fn load(root: &Path, last_good: &mut LastGood) -> Loaded {
        let home = root.join("home").to_string_lossy().into_owned();
        let project = root.join("project");
        let places = Places {
            environment: [("HOME".to_owned(), home)].into(),
            project_root: Some(project.clone()),
            cwd: project,
            trust: Trust::Granted,
        };
        let mut loaded = Native.load(&places);
        last_good.keep(Native.name(), &mut loaded);
        loaded
    }

    fn write(root: &Path, file: &str, text: &str) {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn hooks(names: &[&str]) -> String {
        let hook = |name: &&str| format!("  - {{name: {name}, on: before_tool, command: [\"true\"]}}\n");
        format!("hooks:\n{}", names.iter().map(hook).collect::<String>())
    }

    fn names(loaded: &Loaded) -> Vec<&str> {
        loaded.hooks.iter().map(|hook| &*hook.hook.name).collect()
    }

    #[test]
    fn a_file_that_breaks_keeps_its_last_good_hooks_in_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mut last_good) = (folder.path(), LastGood::default());
        write(root, USER, &hooks(&["user"]));
        write(root, PROJECT, &hooks(&["one", "two"]));
        assert_eq!(names(&load(root, &mut last_good)), ["user", "one", "two"]);
        for broken in ["hooks: [", "hooks:\n  - {name: one, on: befor_tool, command: [\"true\"]}\n"] {
            write(root, USER, broken);
            let loaded = load(root, &mut last_good);
            assert_eq!(names(&loaded), ["user", "one", "two"], "{broken}");
            assert!(loaded.hooks.iter().all(|hook| !hook.closed));
            let findings: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
            assert!(findings.last().unwrap().contains("1 hook from before the error"), "{findings:?}");
        }
        write(root, PROJECT, &hooks(&["three"]));
        assert_eq!(names(&load(root, &mut last_good)), ["user", "three"], "the other file is read anew");
        write(root, USER, &hooks(&["mended"]));
        assert_eq!(names(&load(root, &mut last_good)), ["mended", "three"]);
        std::fs::remove_file(root.join(USER)).unwrap();
        assert_eq!(names(&load(root, &mut last_good)), ["three"], "what is gone is gone");
    }

    #[test]
    fn a_file_that_was_never_sound_stands_closed() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mut last_good) = (folder.path(), LastGood::default());
        write(root, PROJECT, "hooks: [");
        for _ in 0..2 {
            let loaded = load(root, &mut last_good);
            assert!(!loaded.hooks.is_empty() && loaded.hooks.iter().all(|hook| hook.closed));
        }
    }
}
