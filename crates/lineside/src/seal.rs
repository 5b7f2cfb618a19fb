//! What is looked at in the moment before something of a project is started: whether its files are those that were
//! trusted.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside_trust::{Content, Copies, Item, Kind, Marks, OfFolder, Store, Wanted};

/// How the names of files end that are run by others.
const SCRIPTS: [&str; 14] =
    ["R", "bash", "cjs", "fish", "js", "lua", "mjs", "php", "pl", "ps1", "py", "rb", "sh", "ts"];

/// Whether a file has the name of one that others run.
pub(crate) fn is_script(file: &Path) -> bool {
    file.extension().is_some_and(|end| SCRIPTS.iter().any(|script| end == *script))
}

/// Whether a file may be executed.
pub(crate) fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// The content that was trusted, with the state that it had when it was read last.
pub(crate) struct Seal {
    root: PathBuf,
    digest: String,
    wanted: Vec<Wanted>,
    /// Those of its files, and of its folders, in which another file may come to lie; none when it is to be read again in any
    /// case.
    marks: Mutex<Option<Arc<Marks>>>,
    /// The home of the user.
    home: String,
    /// From where its files are run.
    pub(crate) copies: Copies,
    /// The names of its files.
    names: BTreeSet<String>,
    /// Of those that are run.
    run: BTreeSet<String>,
}

impl Seal {
    /// The seal of a content, as long as it is what is there; `None` when it has changed since it was read.
    pub(crate) fn of(store: &Store, content: &Content, wanted: Vec<Wanted>, home: &str) -> Option<Self> {
        let root = content.root().to_path_buf();
        let name = |item: &Item| Some(Path::new(&item.path).file_name()?.to_str()?.to_owned());
        let names = content.items().iter().filter_map(name).collect();
        let is_run = |item: &&Item| item.kind == Kind::Program || is_script(Path::new(&item.path));
        let run = content.items().iter().filter(is_run).filter_map(name).collect();
        let (digest, copies) = (content.digest(), store.copies(content));
        let marks = Mutex::new(settled(content));
        content.marks().hold().then(|| Self {
            root,
            digest,
            wanted,
            marks,
            home: home.to_owned(),
            copies,
            names,
            run,
        })
    }

    /// Whether the files are those that were trusted: as they were when they were read last, or read again and the same.
    ///
    /// # Errors
    /// They are not, with what to do.
    pub(crate) fn check(&self) -> Result<(), String> {
        let marks = self.marks().clone();
        if marks.is_some_and(|marks| marks.hold()) { Ok(()) } else { self.renew() }
    }

    /// The digest of what was trusted.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// The root of the project.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The home of the user.
    pub(crate) fn home(&self) -> &str {
        &self.home
    }

    /// Whether the project names all that a glob may find among what is run that its hooks do not name: that may be run where
    /// it lies.
    pub(crate) fn loads(&self, found: &Path) -> bool {
        self.wanted.iter().any(|wanted| wanted.loads(&self.root, found))
    }

    /// Whether it names anything of that kind.
    pub(crate) fn loads_any(&self) -> bool {
        self.wanted.iter().any(|wanted| matches!(wanted.of_folder, OfFolder::Loaded(_)))
    }

    /// Whether a word has the name of one of its files.
    pub(crate) fn is_named_in(&self, word: &str) -> bool {
        self.names.iter().any(|name| word.contains(name))
    }

    /// Whether a word of a line may name one of its files that are run.
    pub(crate) fn has_run(&self, word: &str) -> bool {
        let is_of_name = |sign: char| sign.is_alphanumeric() || "_-.+@%".contains(sign);
        word.split(|sign: char| !is_of_name(sign)).any(|name| self.run.contains(name))
    }

    /// Whether what is at a path of the project is run that a line names: as its first word, or as what others run.
    pub(crate) fn is_run_in(&self, path: &Path, is_first: bool) -> bool {
        path.starts_with(&self.root)
            && ((is_first && !path.is_dir()) || (path.is_file() && (is_script(path) || is_program(path))))
    }

    fn marks(&self) -> MutexGuard<'_, Option<Arc<Marks>>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the content again, and takes its state if it is what was trusted.
    fn renew(&self) -> Result<(), String> {
        let content = self.read()?;
        if content.digest() != self.digest {
            return Err(format!("a file of the project is not what was trusted; {}", self.remedy()));
        }
        *self.marks() = settled(&content);
        Ok(())
    }

    fn read(&self) -> Result<Content, String> {
        let wrong =
            |error| format!("a file of the project cannot be read any more: {error}; {}", self.remedy());
        Content::read(&self.root, &self.wanted).map_err(wrong)
    }

    fn remedy(&self) -> String {
        format!("look at it and say: {}", lineside_trust::command(&self.root))
    }
}

/// The state of a content by which a further change would show.
fn settled(content: &Content) -> Option<Arc<Marks>> {
    let marks = content.marks();
    (!marks.are_fresh()).then(|| Arc::new(marks.clone()))
}
