//! Tests of the copies from where trusted files are run.

use super::*;
use crate::content::{OfFolder, Wanted};
use crate::store::Reach;

/// A trusted project of these files, and of links where a text begins with `->`; what is wanted ends with `/` for a folder of
/// which everything is content.
fn trusted(files: &[(&str, &str)], wanted: &[&str]) -> (tempfile::TempDir, PathBuf, Copies) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("project");
    for (path, text) in files {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        match text.strip_prefix("->") {
            Some(target) => symlink(target, root.join(path)).unwrap(),
            None => fs::write(root.join(path), text).unwrap(),
        }
    }
    let wanted: Vec<_> = wanted
        .iter()
        .map(|path| match path.strip_prefix("loaded:") {
            Some(named) => Wanted::loaded(&root, named),
            None => {
                let whole = path.ends_with('/');
                let of_folder = if whole { OfFolder::Everything } else { OfFolder::Nothing };
                Wanted { path: root.join(path.trim_end_matches('/')), of_folder }
            }
        })
        .collect();
    let content = Content::read(&root, &wanted).unwrap();
    let store = Store::of(&folder.path().join("state"));
    store.trust(&content, Vec::new(), Reach::Project).unwrap();
    let copies = store.copies(&content);
    (folder, root, copies)
}

#[test]
fn what_a_script_loads_over_a_link_or_from_another_folder_that_was_trusted_is_there() {
    let (_folder, root, copies) = trusted(
        &[
            (".x/hooks/guard.sh", "guard"),
            (".x/hooks/common.sh", "->../../shared/common.sh"),
            ("shared/common.sh", "common"),
            (".x/hooks/deep/more.sh", "more"),
            ("src/lib/words.txt", "words"),
            ("lib", "->src/lib"),
        ],
        &[".x/hooks/", "loaded:lib/words.txt"],
    );
    let copy = |path: &str| copies.path(&root.join(path)).unwrap().unwrap();
    let deep = copy(".x/hooks/deep/more.sh");
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    assert_eq!(read(deep.with_file_name("../guard.sh")), "guard", "of the folder above");
    let guard = copy(".x/hooks/guard.sh");
    assert_eq!(read(guard.with_file_name("common.sh")), "common", "over a link");
    assert_eq!(read(copies.folder().join("lib/words.txt")), "words", "in a folder that is a link");
}

#[test]
fn a_script_that_is_a_link_is_run_by_the_name_of_the_link_beside_which_its_files_lie() {
    let (_folder, root, copies) = trusted(
        &[
            (".x/hooks/guard.sh", "->../../tools/guard.sh"),
            (".x/hooks/common.sh", "common"),
            ("tools/guard.sh", "guard"),
            ("sub/there", ""),
        ],
        &[".x/hooks/"],
    );
    for named in [".x/hooks/guard.sh", "sub/../.x/hooks/guard.sh"] {
        let copy = copies.path(&root.join(named)).unwrap().unwrap();
        assert_eq!(copy, copies.folder().join(".x/hooks/guard.sh"), "{named}");
        assert_eq!(fs::read_to_string(&copy).unwrap(), "guard");
        assert_eq!(fs::read_to_string(copy.with_file_name("common.sh")).unwrap(), "common");
    }
}

#[test]
fn no_name_of_a_trusted_file_is_in_the_way_of_the_copy_of_another() {
    for second in ["hooks/check.new", "hooks/check.new/more"] {
        let (_folder, root, copies) = trusted(&[("hooks/check.sh", "check"), (second, "new")], &["hooks/"]);
        let copy = copies.path(&root.join("hooks/check.sh")).unwrap().unwrap();
        assert_eq!(fs::read_to_string(copy).unwrap(), "check");
        assert_eq!(fs::read_to_string(copies.folder().join(second)).unwrap(), "new", "{second}");
    }
}
