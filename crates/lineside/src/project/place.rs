//! Where the project of a session is: its folder, and the trusted one above that, under whose hooks it stays.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use lineside_bus::Bus;
use lineside_dialects::hosts::Host;
use lineside_dialects::{DIALECTS, Dialect, Places, Trust, Watched};
use lineside_trust::{Standing, Store, ancestors, candidates};

use super::{is_any, places_of, places_of_no_project};
use crate::assembly::Assembly;

/// The root of the project of what works here: the nearest folder that has hooks of any format, or had some that were
/// trusted, as far up as the root of the repository's working tree, and not the user's home.
///
/// One that no person has trusted is none below a project that was: whatever lies in that stays under its hooks.
#[must_use]
pub fn find(work: &Path, user: &Places, store: &Store) -> Option<PathBuf> {
    find_or_known(work, user, store, |_| false)
}

/// The same; of a folder that is known to be a project nothing is read.
pub fn find_or_known(
    work: &Path,
    user: &Places,
    store: &Store,
    is_known: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let own = with_hooks(work, user, store, is_known);
    below_trusted(own, work, user, store, |own| {
        let files = Assembly::new(Bus::new()).of_project(own).read_project(own, user, None);
        // As another working tree of the same repository.
        matches!(store.judge(own, &files.content), Standing::Trusted(_))
    })
}

/// The nearest folder with hooks, whatever is above it: what a person looks at who trusts it.
#[must_use]
pub fn find_own(work: &Path, user: &Places, store: &Store) -> Option<PathBuf> {
    with_hooks(work, user, store, |_| false)
}

fn with_hooks(
    work: &Path,
    user: &Places,
    store: &Store,
    is_known: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let of_user = LazyCell::new(|| of_user_alone(user));
    let is_project = |root: &PathBuf| is_known(root) || store.knows(root) || has_hooks(root, user, &of_user);
    candidates(work, user.home()).into_iter().find(is_project)
}

/// The nearest folder that may be the project of what works here: one that is known to be, or has files in a place for hooks.
/// No file is read.
pub fn nearest(
    work: &Path,
    user: &Places,
    store: &Store,
    is_known: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let of_user = LazyCell::new(|| of_user_alone(user));
    let has_any =
        |root: &Path| has_files(root, &places_of(user, root, Trust::Granted), &of_user).next().is_some();
    let may_be = |root: &PathBuf| is_known(root) || store.knows(root) || has_any(root);
    let own = candidates(work, user.home()).into_iter().find(may_be);
    // One that is known, and has no trust of its own, was judged when it was read.
    below_trusted(own, work, user, store, |own| !is_known(own))
}

/// The nearest folder between a project and what works below it that has a file in a place for hooks. No file is read.
#[must_use]
pub fn nearest_below(work: &Path, user: &Places, root: &Path) -> Option<PathBuf> {
    let of_user = LazyCell::new(|| of_user_alone(user));
    let has_any =
        |own: &PathBuf| has_files(own, &places_of(user, own, Trust::Granted), &of_user).next().is_some();
    below(work, user, root).find(has_any)
}

/// The nearest folder between a project and what works below it that has hooks of its own, none of which run: the project of
/// what works there is the one above. One whose hooks are all in files of agent programs, which run them themselves, is none.
#[must_use]
pub fn passed_by(work: &Path, user: &Places, root: &Path) -> Option<PathBuf> {
    let of_user = of_user_alone(user);
    let has_own = |own: &PathBuf| {
        let places = places_of(user, own, Trust::Granted);
        let of_formats =
            has_files(own, &places, &of_user).filter(|dialect| Host::named(dialect.name()).is_none());
        of_formats.into_iter().any(|dialect| is_any(&dialect.load_of_project(&places)))
    };
    below(work, user, root).find(has_own)
}

fn below<'a>(work: &Path, user: &Places, root: &'a Path) -> impl Iterator<Item = PathBuf> + use<'a> {
    let all = candidates(work, user.home()).into_iter();
    all.take_while(move |own| own != root && own.starts_with(root))
}

/// The project, where it is trusted or lies below none that is; else the nearest one above it that is, unless it `stands` by
/// itself.
fn below_trusted(
    own: Option<PathBuf>,
    work: &Path,
    user: &Places,
    store: &Store,
    stands: impl FnOnce(&Path) -> bool,
) -> Option<PathBuf> {
    if own.as_ref().is_some_and(|own| store.knows(own)) {
        return own;
    }
    let real = ancestors(work, user.home());
    let written = as_written(work).filter(|_| real.first().is_none_or(|nearest| nearest != work));
    let all = real.iter().map(PathBuf::as_path).chain(written);
    match all.into_iter().find(|above| store.knows(above)).map(Path::to_path_buf) {
        Some(above) => own.filter(|own| stands(own)).or(Some(above)),
        None => own,
    }
}

/// The folders above what works here as they are written: a link within a trusted project, or in the place of one, leads out
/// of none.
fn as_written(work: &Path) -> impl Iterator<Item = &Path> {
    let is_plain = !work.components().any(|part| part == Component::ParentDir);
    work.ancestors().filter(move |_| is_plain)
}

/// Whether a folder has hooks of its own. Nothing is started.
fn has_hooks(root: &Path, user: &Places, of_user: &HashSet<PathBuf>) -> bool {
    let places = places_of(user, root, Trust::Granted);
    has_files(root, &places, of_user).any(|dialect| is_any(&dialect.load_of_project(&places)))
}

/// The formats that have a file in a folder, of which these are the places.
fn has_files<'a>(
    root: &'a Path,
    places: &'a Places,
    of_user: &'a HashSet<PathBuf>,
) -> impl Iterator<Item = &'static dyn Dialect> + use<'a> {
    // What is the user's is none of a folder above the home.
    let is_own = move |found: &Watched| found.path.starts_with(root) && !of_user.contains(&found.path);
    let has_one = move |dialect: &&dyn Dialect| {
        dialect.watched(places).iter().any(|found| is_own(found) && found.path.exists())
    };
    DIALECTS.iter().copied().filter(has_one)
}

/// Where the user's hooks are looked for, wherever one works.
fn of_user_alone(user: &Places) -> HashSet<PathBuf> {
    let places = places_of_no_project(user);
    DIALECTS.iter().flat_map(|dialect| dialect.watched(&places)).map(|watched| watched.path).collect()
}

#[cfg(test)]
mod tests {
    use lineside_trust::Reach;

    use super::*;

    #[test]
    fn a_folder_above_the_home_is_no_project_by_what_the_user_has() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let hooks = root.join("home/.config/agents/hooks/mine");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(hooks.join("HOOK.md"), "---\nname: mine\n---\n").unwrap();
        std::fs::create_dir(root.join("work")).unwrap();
        let home = root.join("home").display().to_string();
        let environment = [("HOME".to_owned(), home)].into();
        let user = Places { environment, project_root: None, cwd: "/".into(), trust: Trust::Withheld };
        let store = Store::of(&root.join("state"));
        let found = |work: &str| nearest(&root.join(work), &user, &store, |_| false);
        assert_eq!(found("work"), None);
        // What lies there itself has it be one.
        std::fs::create_dir_all(root.join(".lineside")).unwrap();
        std::fs::write(root.join(".lineside/hooks.yaml"), "hooks: []\n").unwrap();
        assert_eq!(found("work"), Some(root.clone()));
    }

    /// A trusted project, and a folder below it.
    fn room() -> (tempfile::TempDir, PathBuf, Places, Store) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let environment = [("HOME".to_owned(), root.join("home").display().to_string())].into();
        let user = Places { environment, project_root: None, cwd: "/".into(), trust: Trust::Withheld };
        let store = Store::of(&root.join("state"));
        let outer = root.join("outer");
        for below in ["home", "outer/.git", "outer/.lineside", "outer/src/deep"] {
            std::fs::create_dir_all(root.join(below)).unwrap();
        }
        std::fs::write(outer.join(".lineside/hooks.yaml"), GUARD).unwrap();
        trust(&outer, &user, &store);
        (folder, outer, user, store)
    }

    const GUARD: &str = "hooks: [{name: g, on: before_tool, verdict: block, reason: no}]\n";

    fn trust(root: &Path, user: &Places, store: &Store) {
        let read = Assembly::new(Bus::new()).of_project(root).read_project(root, user, None);
        store.trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
    }

    #[test]
    fn a_link_within_a_trusted_project_or_in_its_place_leads_out_of_none() {
        let (folder, outer, user, store) = room();
        let root = folder.path().canonicalize().unwrap();
        let elsewhere = root.join("elsewhere");
        std::fs::create_dir_all(elsewhere.join("deep")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, outer.join("out")).unwrap();
        let of = |work: PathBuf| [find(&work, &user, &store), nearest(&work, &user, &store, |_| false)];
        let under = [Some(outer.clone()), Some(outer.clone())];
        assert_eq!(of(outer.join("out")), under);
        assert_eq!(of(outer.join("out/deep")), under);
        assert_eq!(of(outer.join("src/../../elsewhere")), [None, None], "its name says that it is beside it");
        assert_eq!(of(elsewhere.clone()), [None, None]);
        std::fs::rename(&outer, root.join("moved")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &outer).unwrap();
        assert_eq!(of(outer.clone()), under);
    }

    #[tokio::test]
    async fn what_is_made_below_a_trusted_project_does_not_leave_it() {
        type Make = fn(&Path);
        let makes: [(&str, Make); 6] = [
            ("a repository", |src| std::fs::create_dir(src.join(".git")).unwrap()),
            ("a file", |src| std::fs::write(src.join(".git"), "gitdir: x").unwrap()),
            ("a link", |src| std::os::unix::fs::symlink(".", src.join(".git")).unwrap()),
            ("a hook", |src| {
                std::fs::create_dir_all(src.join(".agents/hooks/x")).unwrap();
                let text = "---\nname: x\ndescription: d\ntrigger: before_tool\n---\n";
                std::fs::write(src.join(".agents/hooks/x/HOOK.md"), text).unwrap();
            }),
            ("a plugin", |src| {
                let plugin = src.join(".openclaw/plugins/x");
                std::fs::create_dir_all(&plugin).unwrap();
                std::fs::write(plugin.join("openclaw.plugin.json"), "{\"id\": \"x\", \"configSchema\": {}}")
                    .unwrap();
            }),
            ("both", |src| {
                std::fs::create_dir_all(src.join(".lineside")).unwrap();
                std::fs::create_dir(src.join(".git")).unwrap();
                std::fs::write(
                    src.join(".lineside/hooks.yaml"),
                    "hooks: [{name: own, on: before_tool, command: [x]}]\n",
                )
                .unwrap();
            }),
        ];
        for (what, make) in makes {
            let (_folder, outer, user, store) = room();
            let src = outer.join("src");
            make(&src);
            for work in [&src, &src.join("deep"), &src.join("gone")] {
                assert_eq!(find(work, &user, &store), Some(outer.clone()), "{what}");
                let found = nearest(work, &user, &store, |_| true);
                assert!(found == Some(outer.clone()), "{what}: {found:?}");
            }
            // A person may trust it, and it is a project of its own from then on.
            if let Some(own) = find_own(&src, &user, &store).filter(|own| *own == src) {
                trust(&own, &user, &store);
                assert_eq!(find(&src.join("deep"), &user, &store), Some(src.clone()), "{what}");
                assert_eq!(nearest(&src, &user, &store, |_| false), Some(src), "{what}");
            }
        }
    }

    #[test]
    fn hooks_within_a_trusted_project_that_do_not_run_are_found_by_their_folder() {
        let (_folder, outer, user, _store) = room();
        let inner = outer.join("src");
        let within = |work: &Path| passed_by(work, &user, &outer);
        assert_eq!((within(&inner.join("deep")), nearest_below(&inner, &user, &outer)), (None, None));
        let write = |file: &str, text: &str| {
            std::fs::create_dir_all(inner.join(file).parent().unwrap()).unwrap();
            std::fs::write(inner.join(file), text).unwrap();
        };
        let stop = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#;
        write(".claude/settings.json", stop);
        assert_eq!(within(&inner), None, "its program runs those itself");
        write(".lineside/hooks.yaml", GUARD);
        for work in [&inner, &inner.join("deep"), &inner.join("gone")] {
            assert_eq!(within(work), Some(inner.clone()));
            assert_eq!(nearest_below(work, &user, &outer), Some(inner.clone()));
        }
        std::fs::create_dir(inner.join(".git")).unwrap();
        assert_eq!(within(&inner.join("deep")), Some(inner.clone()), "a repository of its own");
        assert_eq!(within(&outer), None);
    }

    #[tokio::test]
    async fn another_working_tree_of_a_trusted_repository_is_a_project_of_its_own_as_long_as_it_is_the_same()
    {
        let (_folder, outer, user, store) = room();
        let inner = outer.join("trees/inner");
        let own = outer.join(".git/worktrees/inner");
        for folder in [&own, &inner.join(".lineside")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        std::fs::write(own.join("gitdir"), format!("{}\n", inner.join(".git").display())).unwrap();
        std::fs::write(inner.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        std::fs::write(inner.join(".lineside/hooks.yaml"), GUARD).unwrap();
        assert_eq!(find(&inner, &user, &store), Some(inner.clone()));
        std::fs::write(inner.join(".lineside/hooks.yaml"), "hooks: []\n").unwrap();
        assert_eq!(find(&inner, &user, &store), Some(outer));
    }
}
