//! Tests of the store of what was trusted.

use super::*;
use crate::content::{OfFolder, Wanted};

struct Stage {
    folder: tempfile::TempDir,
    store: Store,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of(&folder.path().join("state"));
        let stage = Self { folder, store };
        stage.write("project", "exit 2\n");
        stage
    }

    fn root(&self, project: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(project)
    }

    fn write(&self, project: &str, text: &str) {
        fs::create_dir_all(self.root(project)).unwrap();
        fs::write(self.root(project).join("guard.sh"), text).unwrap();
    }

    fn content(&self, project: &str) -> Result<Content, ReadContentError> {
        let root = self.root(project);
        Content::read(&root, &[Wanted { path: root.join("guard.sh"), of_folder: OfFolder::Nothing }])
    }

    fn standing(&self, project: &str) -> Standing {
        self.store.judge(&self.root(project), &self.content(project))
    }

    fn trust(&self, project: &str, reach: Reach) -> Record {
        let guard = Guard {
            hook: "guard".to_owned(),
            dialect: "native".to_owned(),
            point: "before_tool".to_owned(),
            file: "hooks.yaml".to_owned(),
            line: 2,
        };
        self.store.trust(&self.content(project).unwrap(), vec![guard], reach).unwrap()
    }

    fn record(&self) -> PathBuf {
        self.store.file(&self.root("project"))
    }
}

#[test]
fn a_project_is_trusted_as_long_as_its_content_is_what_was_trusted() {
    let stage = Stage::new();
    assert!(matches!(stage.standing("project"), Standing::Never));
    stage.trust("project", Reach::Project);
    assert!(matches!(stage.standing("project"), Standing::Trusted(_)));
    stage.write("project", "exit 0\n");
    let Standing::Changed { record, changes, unreadable: None } = stage.standing("project") else { panic!() };
    assert_eq!((changes.len(), changes[0].verb(), record.guards.len()), (1, "changed", 1));
    let before = stage.store.bytes(&changes[0].before.as_ref().unwrap().digest).unwrap();
    assert_eq!(before, b"exit 2\n");
    stage.write("project", "exit 2\n");
    assert!(matches!(stage.standing("project"), Standing::Trusted(_)));
    fs::remove_file(stage.root("project").join("guard.sh")).unwrap();
    assert!(matches!(stage.standing("project"), Standing::Changed { .. }));
    assert!(stage.store.untrust(&stage.root("project")).unwrap());
    assert!(matches!(stage.standing("project"), Standing::Never));
    assert!(!stage.store.untrust(&stage.root("project")).unwrap());
}

#[test]
fn a_trust_that_is_taken_back_in_part_is_none() {
    let stage = Stage::new();
    stage.trust("project", Reach::Project);
    // The list cannot be written, as with a full disk.
    let lock = stage.store.folder().join("lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert!(stage.store.untrust(&stage.root("project")).is_err());
    let Standing::Lost { guards, .. } = stage.standing("project") else { panic!("it is trusted still") };
    assert_eq!(guards.len(), 1);
    fs::remove_dir(&lock).unwrap();
    assert!(stage.store.untrust(&stage.root("project")).unwrap());
    assert!(matches!(stage.standing("project"), Standing::Never));
}

#[test]
fn t08_a_record_is_bound_to_its_root_and_what_is_damaged_is_not_believed() {
    let stage = Stage::new();
    stage.trust("project", Reach::Project);
    stage.write("copy", "exit 2\n");
    assert!(matches!(stage.standing("copy"), Standing::Never), "by its path, and not by its content alone");
    fs::copy(stage.record(), stage.store.file(&stage.root("copy"))).unwrap();
    let Standing::Lost { why, .. } = stage.standing("copy") else { panic!() };
    assert!(why.contains("it is the record of"), "{why}");
    let text = fs::read_to_string(stage.record()).unwrap();
    let other = text.replace("\"owner\":", "\"owner\":1");
    for damaged in ["", "{}", &text[..text.len() / 2], &other] {
        fs::write(stage.record(), damaged).unwrap();
        let Standing::Lost { guards, why } = stage.standing("project") else { panic!("{damaged}") };
        assert!(why.contains("damaged") && guards.len() == 1, "{why}");
    }
    fs::remove_file(stage.record()).unwrap();
    let Standing::Lost { guards, why } = stage.standing("project") else { panic!() };
    assert!(why.contains("is gone") && guards.len() == 1, "{why}");
    for damaged in [Some("x"), None] {
        match damaged {
            Some(text) => fs::write(stage.store.index(), text).unwrap(),
            None => fs::remove_file(stage.store.index()).unwrap(),
        }
        let Standing::Lost { why, .. } = stage.standing("project") else { panic!("{damaged:?}") };
        assert!(why.contains("the list of trusted projects cannot be read"), "{why}");
        assert_eq!(stage.store.finding().as_ref(), Some(&why));
    }
}

#[test]
fn a_store_whose_folder_is_gone_closes_what_it_had_trusted() {
    let stage = Stage::new();
    stage.trust("project", Reach::Project);
    fs::remove_dir_all(stage.store.folder()).unwrap();
    let Standing::Lost { guards, .. } = stage.standing("project") else { panic!() };
    assert_eq!(guards.len(), 1);
}

#[test]
fn a_record_of_another_version_or_user_is_not_believed() {
    let stage = Stage::new();
    let record = stage.trust("project", Reach::Project);
    let write = |record: &Record| fs::write(stage.record(), sealed(record).unwrap()).unwrap();
    write(&Record { schema: 2, ..record.clone() });
    let Standing::Lost { why, .. } = stage.standing("project") else { panic!() };
    assert!(why.contains("another version"), "{why}");
    write(&Record { owner: record.owner + 1, ..record.clone() });
    let Standing::Lost { why, .. } = stage.standing("project") else { panic!() };
    assert!(why.contains("another user"), "{why}");
    let mut emptied = record.clone();
    emptied.items.clear();
    write(&emptied);
    assert!(matches!(stage.standing("project"), Standing::Lost { .. }));
    write(&record);
    assert!(matches!(stage.standing("project"), Standing::Trusted(_)));
}

#[test]
fn a_store_that_others_may_write_is_not_believed() {
    let stage = Stage::new();
    stage.trust("project", Reach::Project);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(&stage.store.folder()), mode(&stage.record()), mode(&stage.store.index())),
        (0o700, 0o600, 0o600)
    );
    for path in [stage.store.folder(), stage.record()] {
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(before.mode() | 0o022)).unwrap();
        assert!(matches!(stage.standing("project"), Standing::Lost { .. }), "{}", path.display());
        fs::set_permissions(&path, before).unwrap();
    }
    assert!(matches!(stage.standing("project"), Standing::Trusted(_)));
}

#[test]
fn the_same_content_elsewhere_is_trusted_in_a_working_tree_of_the_repository_or_where_a_person_says_anywhere()
{
    let stage = Stage::new();
    let (main, tree) = (stage.root("project"), stage.root("tree"));
    stage.write("tree", "exit 2\n");
    stage.write("clone", "exit 2\n");
    let own = main.join(".git/worktrees/tree");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    stage.trust("project", Reach::Project);
    assert!(matches!(stage.standing("tree"), Standing::Trusted(_)));
    assert!(matches!(stage.standing("clone"), Standing::Never));
    stage.write("tree", "exit 0\n");
    assert!(
        matches!(stage.standing("tree"), Standing::Never),
        "by its content, and not by the repository alone"
    );
    stage.trust("project", Reach::Anywhere);
    assert!(matches!(stage.standing("clone"), Standing::Trusted(_)));
    stage.write("clone", "exit 1\n");
    assert!(matches!(stage.standing("clone"), Standing::Never));
}

#[test]
fn no_changed_byte_of_a_record_is_trusted() {
    let stage = Stage::new();
    stage.trust("project", Reach::Project);
    let bytes = fs::read(stage.record()).unwrap();
    for at in 0..bytes.len() {
        for change in [1, 0x20, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            fs::write(stage.record(), damaged).unwrap();
            assert!(matches!(stage.standing("project"), Standing::Lost { .. }), "byte {at}");
        }
    }
}
