//! Tests of the content of a project.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use std::collections::BTreeSet;

use super::*;

#[test]
fn a_glob_that_may_find_more_than_is_loaded_is_not_loaded() {
    for (named, found, expected) in [
        ("guards", "guards/**/*", true),
        ("guards", "guards/*.sh", true),
        ("guards/**", "guards/*", true),
        ("guards/**/*.sh", "guards/*.sh", true),
        ("**/*.sh", "guards/*.sh", true),
        ("guards/*.sh", "guards/*.sh", true),
        ("guards/*.sh", "guards/**/*.sh", false),
        ("guards/*.sh", "guards/*", false),
        ("guards/**/*.py", "guards/*.sh", false),
        ("**/*.md", "guards/*", false),
        ("data/words.txt", "guards/*", false),
        ("guards/sub", "guards/*", false),
    ] {
        let root = Path::new("/p");
        assert_eq!(Wanted::loaded(root, named).loads(root, &root.join(found)), expected, "{named} {found}");
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn stage() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("project");
    fs::create_dir(&root).unwrap();
    (folder, root)
}

fn read(root: &Path, wanted: &[(&str, bool)]) -> Result<Content, ReadContentError> {
    let wanted: Vec<_> = wanted
        .iter()
        .map(|(path, whole)| Wanted { path: root.join(path), of_folder: of_folder(*whole) })
        .collect();
    Content::read(root, &wanted)
}

fn of_folder(whole: bool) -> OfFolder {
    if whole { OfFolder::Everything } else { OfFolder::Nothing }
}

fn paths(content: &Content) -> Vec<&str> {
    content.items().iter().map(|item| &*item.path).collect()
}

#[test]
fn every_byte_every_name_and_the_right_to_execute_are_part_of_the_digest() {
    let (_folder, root) = stage();
    write(&root, ".lineside/hooks.yaml", "hooks: []\n");
    write(&root, ".lineside/guard.sh", "exit 2\n");
    let digest = || read(&root, &[(".lineside", true), ("absent", false)]).unwrap().digest();
    let mut seen = vec![digest()];
    assert_eq!(digest(), seen[0]);
    write(&root, ".lineside/guard.sh", "exit 0\n");
    seen.push(digest());
    fs::set_permissions(root.join(".lineside/guard.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    seen.push(digest());
    fs::rename(root.join(".lineside/guard.sh"), root.join(".lineside/gate.sh")).unwrap();
    seen.push(digest());
    write(&root, "absent", "");
    seen.push(digest());
    let different: BTreeSet<_> = seen.iter().collect();
    assert_eq!(different.len(), seen.len());
}

#[test]
fn a_link_is_followed_within_the_project_and_refused_out_of_it() {
    let (folder, root) = stage();
    write(&root, "shared/hooks/guard.sh", "exit 2\n");
    symlink("shared", root.join(".lineside")).unwrap();
    symlink(root.join("shared/hooks/guard.sh"), root.join("absolute.sh")).unwrap();
    let content = read(&root, &[(".lineside/hooks", true), ("absolute.sh", false)]).unwrap();
    assert_eq!(paths(&content), [".lineside", "absolute.sh", "shared/hooks/guard.sh"]);
    fs::write(folder.path().join("outside.sh"), "exit 0\n").unwrap();
    for target in ["../outside.sh", "/etc/passwd", "/proc/self/root/etc/passwd", "shared/../../outside.sh"] {
        fs::remove_file(root.join("absolute.sh")).unwrap();
        symlink(target, root.join("absolute.sh")).unwrap();
        let refused = read(&root, &[("absolute.sh", false)]).unwrap_err();
        assert!(refused.to_string().contains("leads out of the project"), "{target}: {refused}");
    }
    for round in ["round", "./round"] {
        symlink(round, root.join("round")).unwrap();
        assert!(matches!(
            read(&root, &[("round", false)]),
            Err(ReadContentError::Open { source: OpenFileError::Circle, .. })
        ));
        fs::remove_file(root.join("round")).unwrap();
    }
}

#[test]
fn what_others_may_write_is_refused_with_the_remedy() {
    let (_folder, root) = stage();
    write(&root, ".lineside/guard.sh", "exit 2\n");
    for (path, remedy) in [(".lineside/guard.sh", "chmod o-w"), (".lineside", "chmod o-w"), ("", "chmod o-w")]
    {
        let path = root.join(path);
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(before.mode() | 0o002)).unwrap();
        let refused = read(&root, &[(".lineside", true)]).unwrap_err();
        assert!(refused.to_string().contains(remedy), "{refused}");
        fs::set_permissions(&path, before).unwrap();
    }
    assert!(read(&root, &[(".lineside", true)]).is_ok());
}

#[test]
fn a_pipe_and_too_many_files_are_refused_without_waiting() {
    let (_folder, root) = stage();
    write(&root, "hooks/a", "");
    for number in 0..FILES {
        write(&root, &format!("many/{number}"), "");
    }
    assert!(matches!(read(&root, &[("many", true), ("hooks", true)]), Err(ReadContentError::TooMuch(_))));
    let listener = std::os::unix::net::UnixListener::bind(root.join("hooks/socket")).unwrap();
    assert!(matches!(read(&root, &[("hooks", true)]), Err(ReadContentError::Open { .. })));
    drop(listener);
}

#[test]
fn what_has_changed_is_told_by_path() {
    let (_folder, root) = stage();
    write(&root, "hooks/kept", "1");
    write(&root, "hooks/changed", "1");
    write(&root, "hooks/gone", "1");
    let before = read(&root, &[("hooks", true)]).unwrap();
    write(&root, "hooks/changed", "2");
    write(&root, "hooks/new", "1");
    fs::remove_file(root.join("hooks/gone")).unwrap();
    let changes = read(&root, &[("hooks", true)]).unwrap().since(before.items());
    let told: Vec<_> = changes.iter().map(|change| (&*change.path, change.verb())).collect();
    assert_eq!(told, [("hooks/changed", "changed"), ("hooks/gone", "removed"), ("hooks/new", "added")]);
}

#[test]
fn what_is_loaded_is_content_as_far_as_a_glob_fits_it_and_what_comes_to_fit_as_well() {
    let (_folder, root) = stage();
    for path in ["lib/a.py", "lib/deep/b.py", "lib/readme.md", "lib/.git/c.py", "one.py", "other/d.py"] {
        write(&root, path, path);
    }
    let read = |named: &[&str]| {
        let wanted: Vec<_> = named.iter().map(|named| Wanted::loaded(&root, named)).collect();
        Content::read(&root, &wanted).unwrap()
    };
    for (named, expected) in [
        ("lib/**/*.py", &["lib/a.py", "lib/deep/b.py"][..]),
        ("lib/*.py", &["lib/a.py"]),
        ("lib", &["lib/a.py", "lib/deep/b.py", "lib/readme.md"]),
        ("one.py", &["one.py"]),
        ("absent/*.py", &[]),
        ("*/d.py", &["other/d.py"]),
    ] {
        assert_eq!(paths(&read(&[named])), expected, "{named}");
    }
    let before = read(&["lib/**/*.py"]);
    assert!(before.folders().contains(&root.join("lib/deep")));
    write(&root, "lib/deep/notes.md", "");
    assert_eq!(read(&["lib/**/*.py"]).digest(), before.digest());
    write(&root, "lib/deep/json.py", "");
    assert_ne!(read(&["lib/**/*.py"]).digest(), before.digest());
    // All of a folder is content, whichever of two that name it is read first.
    for named in [["lib/*.md", "lib"], ["lib", "lib/*.md"]] {
        assert_eq!(paths(&read(&named)).len(), 5, "{named:?}");
    }
}

/// Makes a folder below another one, step by step: a path may be longer than one that the system takes at once.
fn deep(root: &Path, levels: usize) -> PathBuf {
    let below = "a/".repeat(levels);
    fs::create_dir_all(root.join(&below)).unwrap();
    root.join(below)
}

/// Reads in a thread with the stack that a thread of the daemon has.
fn on_a_small_stack(root: &Path, wanted: Wanted) -> Result<Content, ReadContentError> {
    let root = root.to_path_buf();
    let small = std::thread::Builder::new().stack_size(2 << 20);
    small.spawn(move || Content::read(&root, &[wanted])).unwrap().join().unwrap()
}

#[test]
fn folders_within_folders_are_read_however_deep_they_are() {
    let (_folder, root) = stage();
    fs::write(deep(&root.join(".claude/hooks"), 1_800).join("f"), "x").unwrap();
    let path = root.join(".claude/hooks");
    for of_folder in [OfFolder::Everything, OfFolder::Loaded("**".into())] {
        let content = on_a_small_stack(&root, Wanted { path: path.clone(), of_folder }).unwrap();
        assert_eq!(content.items().len(), 1);
        assert_eq!(content.folders().len(), 1_801);
    }
}

#[test]
fn more_folders_than_there_may_be_files_are_too_much() {
    let (_folder, root) = stage();
    let folder = |number: usize| root.join(format!(".claude/hooks/{number}"));
    (0..FILES).for_each(|number| fs::create_dir_all(folder(number)).unwrap());
    for fits in [false, true] {
        if fits {
            fs::remove_dir(folder(0)).unwrap();
        }
        for of_folder in [OfFolder::Everything, OfFolder::Loaded("**".into())] {
            let read = Content::read(&root, &[Wanted { path: root.join(".claude/hooks"), of_folder }]);
            assert_eq!(read.is_ok(), fits, "{read:?}");
            assert!(fits || read.unwrap_err().to_string().contains("4096 files"));
        }
    }
}

#[test]
fn what_is_looked_at_for_what_is_loaded_has_a_bound_however_many_globs_look_there() {
    let (_folder, root) = stage();
    (0..256).for_each(|number| fs::write(root.join(number.to_string()), "").unwrap());
    for (globs, fits) in [(1_024, true), (1_025, false)] {
        let wanted: Vec<_> = (0..globs).map(|number| Wanted::loaded(&root, &format!("*x{number}"))).collect();
        assert_eq!(Content::read(&root, &wanted).is_ok(), fits, "{globs}");
    }
}
