//! The two files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::Layer;
use lineside_core::hook::Mode;
use lineside_core::invocation::Inherit;
use lineside_files::Boundary;
use lineside_guards::Account;

use crate::dialect::Places;
pub(super) use crate::dialect::absolute;
use crate::layers::Managed;

/// A file in which hooks are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Whose it is.
    pub(super) layer: Layer,
    /// Its absolute path.
    pub(super) file: PathBuf,
    /// What its hooks inherit of our environment, unless they say otherwise.
    pub(super) inherit: Inherit,
    /// Whose commands its filters are about.
    pub(super) account: Arc<Account>,
    /// Whether its hooks count that do not say it themselves.
    pub(super) mode: Mode,
    /// The program that its hook lives in, where it stands in no file.
    pub(super) seat: Option<Seat>,
    /// Whose it has to be, if that is not the user.
    pub(super) owner: Option<u32>,
}

impl Place {
    /// Where its file may lie, and who may have written it.
    pub(super) fn boundary<'a>(&self, places: &'a Places) -> Boundary<'a> {
        self.owner.map_or_else(|| places.boundary(self.layer), Boundary::Of)
    }

    /// Whether what stands in it was written by the user or above.
    pub(super) fn is_above_projects(&self) -> bool {
        self.layer <= Layer::User
    }
}

/// Which hook of which program it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    /// The number by which its program is found.
    pub(super) number: u64,
    /// What it is called there.
    pub(super) called: String,
}

/// Files that are there, are not read, and have nearly the name of one that is; and that one.
pub(super) fn near(places: &Places) -> Vec<(PathBuf, PathBuf)> {
    let all = all(places);
    let mut near: Vec<_> =
        all.iter().map(|place| (place.file.with_extension("yml"), place.file.clone())).collect();
    let user = all.iter().find(|place| place.layer == Layer::User);
    if let (Some(user), Some(home)) = (user, places.home()) {
        let at_home = ["hooks.yaml", "hooks.yml"].map(|name| home.join(".lineside").join(name));
        near.extend(at_home.into_iter().map(|file| (file, user.file.clone())));
    }
    let is_read = |file: &PathBuf| all.iter().any(|place| place.file == *file);
    near.retain(|(file, _)| !is_read(file) && file.is_file());
    near.dedup_by(|one, other| one.0 == other.0);
    near
}

/// The file of the user, then that of the project. Hooks of a project see no key of the user's that is not named.
pub(super) fn all(places: &Places) -> Vec<Place> {
    let account = account(places);
    let of_user = Arc::clone(&account);
    let user = places.configuration().map(|folder| folder.join("lineside/hooks.yaml")).map(|file| Place {
        layer: Layer::User,
        file,
        inherit: Inherit::All,
        account: of_user,
        mode: Mode::Enforced,
        seat: None,
        owner: None,
    });
    let root = absolute(places.work_dir());
    let account = match root.to_str() {
        Some(root) => Arc::new(Account::clone(&account).within(root)),
        None => account,
    };
    let file = root.join(".lineside/hooks.yaml");
    user.into_iter()
        .chain([Place {
            layer: Layer::Project,
            file,
            inherit: Inherit::minimal_and([]),
            account,
            mode: Mode::Enforced,
            seat: None,
            owner: None,
        }])
        .collect()
}

/// Whose commands the filters of all files are about.
pub(super) fn account(places: &Places) -> Arc<Account> {
    let home = places.home().and_then(Path::to_str);
    Arc::new(home.map_or_else(Account::of_process, Account::at))
}

/// The file of the machine.
pub(super) fn managed(managed: &Managed, places: &Places) -> Place {
    Place {
        layer: Layer::Managed,
        file: managed.folder.join("hooks.yaml"),
        inherit: Inherit::All,
        account: account(places),
        mode: Mode::Enforced,
        seat: None,
        owner: Some(managed.owner),
    }
}
