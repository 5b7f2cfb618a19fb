//! What each hook file had when it was last without an error: of a file that is broken, what is sound is in force as it is
//! written now, and everything else as it was before, until the file is repaired.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::{Diagnostic, Origin, Severity};
use lineside_dialects::{ForeignHook, Inert, Loaded, Tightening, tighten};

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
    tightenings: Vec<Tightening>,
}

impl LastGood {
    /// Puts what a file had when it was last sound in the place of what is found broken in it now, or missing, with a finding
    /// for each such file, and remembers what is in force.
    ///
    /// A file is broken when a finding of severity error is about it, or about a folder that it lies in. One that was
    /// never sound, and one that is gone, stay as they were found.
    pub(crate) fn keep(&mut self, dialect: &'static str, loaded: &mut Loaded) {
        let files = self.0.entry(dialect).or_default();
        let errors = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        let errors: Vec<Origin> = errors.filter_map(|error| error.origin.clone()).collect();
        let mut first: HashMap<&Path, usize> = HashMap::new();
        for (at, error) in errors.iter().enumerate() {
            first.entry(error.file.as_path()).or_insert(at);
        }
        let about = |file: &Path| {
            if first.is_empty() {
                return None;
            }
            let of_file = file.ancestors().filter_map(|place| first.get(place));
            of_file.min().and_then(|at| errors.get(*at)).cloned()
        };
        for (file, error) in files.sound.keys().filter_map(|file| Some((file, about(file)?))) {
            let before = files.sound.get(file).cloned().unwrap_or_default();
            let place = place(&loaded.hooks, file, &files.order);
            let is_of = |origin: &Option<Origin>| file_of(origin) == Some(file);
            let found = loaded.hooks.extract_if(.., |hook| is_of(&hook.hook.origin)).collect();
            let inert = loaded.inert.extract_if(.., |inert| is_of(&inert.origin)).collect();
            let is_said =
                |asked: &Tightening, name: &str| *asked.name == *name && *asked.origin.file == *file;
            let unsaid = before
                .tightenings
                .iter()
                .filter(|before| !loaded.tightenings.iter().any(|asked| is_said(asked, &before.name)));
            let unsaid: Vec<_> = unsaid.cloned().collect();
            loaded.tightenings.extend(unsaid);
            let together = before.with(Sound { hooks: found, inert, ..Sound::default() });
            loaded.diagnostics.extend(together.said(&error, file));
            loaded.hooks.splice(place..place, together.all.hooks);
            loaded.inert.extend(together.all.inert);
        }
        // As strict as before, of what the broken files do not say any more.
        tighten(loaded);
        let mut found: BTreeMap<PathBuf, Sound> = BTreeMap::new();
        for asked in &loaded.tightenings {
            found.entry(asked.origin.file.to_path_buf()).or_default().tightenings.push(asked.clone());
        }
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
        let is_kept = |file: &PathBuf| about(file).is_none() || before.contains_key(file);
        files.sound = found.into_iter().filter(|(file, _)| is_kept(file)).collect();
        // What had no hook goes on having none.
        let left = before.into_iter().filter(|(file, _)| about(file).is_some());
        for (file, _) in left {
            files.sound.entry(file).or_default();
        }
    }
}

/// What is in force of a broken file.
struct Together {
    all: Sound,
    /// The hooks that are as they were before the error.
    kept: Vec<ForeignHook>,
    /// The hooks that are broken, and were not there before.
    lost: Vec<Arc<str>>,
}

impl Sound {
    /// What holds of a file that had this, and has that in it now that it is broken.
    fn with(self, now: Self) -> Together {
        let is_sound = |hook: &&ForeignHook| !hook.closed;
        let names_one = |hooks: &[ForeignHook]| {
            let mut seen = HashSet::new();
            let places =
                hooks.iter().flat_map(|hook| hook.points.iter().map(|point| (&*hook.hook.name, point.name)));
            places.into_iter().all(|place| seen.insert(place))
        };
        // Where a name is that of several hooks, it is not known which of them is broken.
        let has_sound = now.hooks.iter().any(|hook| !hook.closed);
        let names = |hook: &ForeignHook| Arc::clone(&hook.hook.name);
        if !has_sound || !names_one(&self.hooks) || !names_one(&now.hooks) {
            let sound: Vec<_> = now.hooks.iter().filter(is_sound).map(names).collect();
            let has = |name: &Arc<str>| self.hooks.iter().any(|hook| hook.hook.name == *name);
            let lost = sound.into_iter().filter(|name| !has(name)).collect();
            return Together { kept: self.hooks.clone(), all: self, lost };
        }
        let mut kept = self.hooks;
        for sound in now.hooks.iter().filter(is_sound) {
            for before in kept.iter_mut().filter(|before| before.hook.name == sound.hook.name) {
                before.points.retain(|point| sound.points.iter().all(|other| other.name != point.name));
            }
        }
        kept.retain(|before| !before.points.is_empty());
        let is_kept = |name: &str| kept.iter().any(|before| *before.hook.name == *name);
        let broken = now.hooks.iter().filter(|hook| hook.closed && !is_kept(&hook.hook.name));
        let lost = broken.map(names).collect();
        let inert = now.inert.into_iter().filter(|inert| !is_kept(&inert.name)).collect();
        let sound = now.hooks.into_iter().filter(|hook| !hook.closed);
        let hooks = kept.iter().cloned().chain(sound).collect();
        Together { all: Self { hooks, inert, ..Self::default() }, kept, lost }
    }
}

impl Together {
    /// What is said of it: what holds as before, and what does not hold.
    fn said(&self, error: &Origin, file: &Path) -> Vec<Diagnostic> {
        let warning = |text: String| Diagnostic::warning(Origin::new(file, error.line), text);
        let stays = (!self.kept.is_empty() || self.all.hooks.is_empty()).then(|| warning(stays(&self.kept)));
        let names: BTreeSet<_> = self.lost.iter().map(|name| format!("`{name}`")).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let lost = (!self.lost.is_empty())
            .then(|| warning(format!("{names} not in force until the file is repaired")));
        stays.into_iter().chain(lost).collect()
    }
}

fn stays(hooks: &[ForeignHook]) -> String {
    let declared: BTreeSet<_> = hooks.iter().map(|hook| (&hook.hook.origin, &hook.hook.name)).collect();
    let what = match declared.len() {
        0 => "no hook, as before the error,".to_owned(),
        1 => "1 hook from before the error".to_owned(),
        many => format!("{many} hooks from before the error"),
    };
    format!("{what} in force until the file is repaired")
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

pub(crate) fn file_of(origin: &Option<Origin>) -> Option<&Path> {
    origin.as_ref().map(|origin| origin.file.as_path())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lineside_core::{OnFailure, Severity};
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

    /// The findings about the daemon's own doing.
    fn said(loaded: &Loaded) -> Vec<String> {
        let warnings = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Warning);
        warnings.map(|finding| finding.text.to_string()).collect()
    }

    #[test]
    fn of_a_file_that_breaks_what_is_sound_is_in_force_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mut last_good) = (folder.path(), LastGood::default());
        write(root, USER, &hooks(&["first", "second", "third"]));
        load(root, &mut last_good);
        let broken = |name: &str| format!("  - {{name: {name}, on: befor_tool, command: [\"true\"]}}\n");
        // One that was there is broken, one is gone, one is new and one is new and broken.
        write(root, USER, &(hooks(&["first", "new"]) + &broken("second") + &broken("wrong")));
        let loaded = load(root, &mut last_good);
        assert_eq!(names(&loaded), ["second", "third", "first", "new"]);
        assert!(loaded.hooks.iter().all(|hook| !hook.closed));
        let [stays, lost] = &said(&loaded)[..] else { panic!("{:?}", said(&loaded)) };
        assert!(stays.contains("2 hooks from before the error"), "{stays}");
        assert!(lost.contains("`wrong` not in force until the file is repaired"), "{lost}");
        // What came into force meanwhile is no less what was before.
        write(root, USER, "hooks: [");
        assert_eq!(names(&load(root, &mut last_good)), ["second", "third", "first", "new"]);
        write(root, USER, &hooks(&["new"]));
        assert_eq!(names(&load(root, &mut last_good)), ["new"]);
    }

    #[test]
    fn a_hook_that_waits_for_more_than_before_is_in_force_once_at_each_point() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mut last_good) = (folder.path(), LastGood::default());
        let on = |points: &str| format!("hooks:\n  - {{name: one, on: {points}, command: [\"true\"]}}\n");
        write(root, USER, &on("[before_tool, before_prompt]"));
        load(root, &mut last_good);
        let broken = "  - {name: other, on: befor_tool, command: [\"true\"]}\n";
        write(root, USER, &(on("[before_tool, after_tool]") + broken));
        let loaded = load(root, &mut last_good);
        let points = loaded.hooks.iter().flat_map(|hook| &hook.points).map(|point| point.name);
        assert_eq!(points.collect::<Vec<_>>(), ["before_prompt", "before_tool", "after_tool"]);
    }

    #[test]
    fn what_a_file_has_tightened_stays_as_strict_when_it_breaks() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mut last_good) = (folder.path(), LastGood::default());
        write(
            root,
            USER,
            "hooks:
  - {name: user, on: before_tool, command: [x], on_failure: continue}
",
        );
        let mut failure = |text: &str| {
            write(root, PROJECT, text);
            let loaded = load(root, &mut last_good);
            assert!(loaded.tightenings.len() <= 1);
            loaded.hooks.iter().find(|found| &*found.hook.name == "user").unwrap().hook.on_failure
        };
        let asked = "hooks:
  - {name: user, on_failure: block}
";
        assert_eq!(["hooks: []", asked].map(&mut failure), [OnFailure::Continue, OnFailure::Block]);
        let broken = [
            "hooks: [",
            "hooks: [",
            "hooks:
  - {name: x, on: befor_tool, command: [x]}
",
        ];
        assert_eq!(broken.map(&mut failure), [OnFailure::Block; 3]);
        assert_eq!(failure("hooks: []"), OnFailure::Continue);
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
